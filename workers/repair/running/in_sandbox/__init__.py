"""Runs inside the sandbox, in the project's own interpreter: Python 3.8+, the standard library and pytest only.

Loaded there as the top-level package `in_sandbox`; it imports nothing of ours from outside itself.
"""
