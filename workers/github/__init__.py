"""The way to GitHub: PyGithub behind the port, tokens for one repository at a time."""
