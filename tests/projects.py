"""What the made-up projects of tests have in common."""

PYPROJECT = """[tool.pytest.ini_options]
addopts = "-p no:anyio -p no:platformdirs"
"""
"""Plug-ins of pytest that come with our dependencies stay out: no made-up project needs them, and they take a third of a start."""
