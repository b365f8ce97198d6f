"""Judging patches: the proof by tests, the comparison of plausible edits, and the files that no patch may change."""
