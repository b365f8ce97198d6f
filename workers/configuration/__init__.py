"""A repository's own file, `.github/apprentice.yml`: its schema, and how it is read."""
