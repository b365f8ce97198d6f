"""Finds the places in a repository that an issue in words is likely about."""
