"""Slips as developers make them, each in a repository of its own, repaired by `apprentice fix` as a user would."""
