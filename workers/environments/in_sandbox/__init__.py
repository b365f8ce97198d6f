"""Scripts that run in the sandbox, on a repository's own interpreter."""
