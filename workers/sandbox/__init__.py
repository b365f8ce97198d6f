"""Runs untrusted code, and returns its results as a typed report."""
