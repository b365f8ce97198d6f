"""What a request is refused with."""

from __future__ import annotations


class Refused(Exception):
    """The request is answered with an error in OpenAI's form. `retry_after` are seconds."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry_after = retry_after
