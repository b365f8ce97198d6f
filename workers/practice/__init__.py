"""Practice: bugs planted in a repository's own code, and repaired, before its first real failure."""
