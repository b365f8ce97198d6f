"""Runs code that nobody trusts, and says in a typed report what it did."""
