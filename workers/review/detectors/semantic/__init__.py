"""Slips that a change made in the meaning of Python code, seen in its syntax trees alone. None is measured yet."""
