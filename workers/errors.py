"""Errors, named for what the caller does next."""

from __future__ import annotations


class ApprenticeError(Exception):
    """Every error that we raise on purpose. Its text is one clear line for the user that says what to do."""


class BadInput(ApprenticeError):
    """The user gave something that cannot work: tell them and stop (exit code 2)."""


class CannotRun(ApprenticeError):
    """The machine lacks something, or the project cannot be run: tell the user and stop (exit code 2)."""


class Retryable(ApprenticeError):
    """It may work later: give the job back to the queue."""


class Gone(Retryable):
    """A commit or branch is not, or no longer, on the remote: do without it, or wait for a push."""


class LeaseLost(ApprenticeError):
    """Another worker has taken this job over: drop what was done and record nothing."""


class SandboxEnded(ApprenticeError):
    """The sandboxed process is gone."""
