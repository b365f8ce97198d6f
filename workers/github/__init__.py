"""Accesses GitHub with PyGithub, and with tokens for one repository at a time."""
