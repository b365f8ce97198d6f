"""Errors, named for what the caller does next."""

from workers.redaction import redact


class ApprenticeError(Exception):
    """Base of every error that we raise on purpose. Its text is one line for the user, with the remedy.

    It is shown, logged and stored, and may repeat what a server or a program answered: `str` gives it redacted.
    """

    def __str__(self) -> str:
        return redact(super().__str__())


class BadInput(ApprenticeError):
    """The user's input cannot work: show the error and stop (exit code 2)."""


class CannotRun(ApprenticeError):
    """The machine lacks something, or the project cannot run: show the error and stop (exit code 2)."""


class NoAccess(CannotRun):
    """The App does not have the repository any more, it is read-only, or the issue was deleted: stop, and post nothing there."""


class Forbidden(CannotRun):
    """GitHub refuses this action alone, as where the App lacks a permission: what needs it stops, and what does not goes on."""


class Retryable(ApprenticeError):
    """It may work later: return the job to the queue."""


class Unavailable(Retryable):
    """Something that we need is unavailable or asks to wait: return the job to the queue, for hours, and count no attempt.

    `seconds` is how long it asks to wait, 0 where it does not say.
    """

    def __init__(self, text: str, *, seconds: float = 0.0) -> None:
        super().__init__(text)
        self.seconds = seconds


class Limited(Unavailable):
    """GitHub limits an installation of the App: none of its jobs may go on before `seconds` are over."""


class TokenRefused(Unavailable):
    """GitHub refused our token: drop it, and mint another."""


class JobStopped(ApprenticeError):
    """Another worker has the job, or what it is about is gone: stop."""


class Gone(Retryable):
    """A commit or branch is not on the remote: continue without it, or wait for a push."""


class SandboxEnded(ApprenticeError):
    """The sandboxed process has ended."""
