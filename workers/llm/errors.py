"""Errors of a model, named for what the caller does next. None of these fails a job: other engines continue."""

from workers.errors import ApprenticeError


class ModelError(ApprenticeError):
    """The model gave no usable answer: continue without it, and report that."""


class ModelUnavailable(ModelError):
    """The model cannot be reached, or fails repeatedly."""


class BudgetSpent(ModelError):
    """One of the budgets is used up: stop calling until it renews."""


class ContextOverflow(ModelError):
    """The request is longer than the model can read: shorten it and send it again."""


class BadReply(ModelError):
    """The reply does not match its schema, and neither does the corrected one."""


class ModelDeclined(ModelError):
    """The model declined to answer."""


class CallFailed(ModelError):
    """One call failed in a way that may pass: `workers.llm.client` decides about a retry.

    `charged` says whether the endpoint may charge the call; `retry_after` is its header `Retry-After`.
    """

    def __init__(self, line: str, *, charged: bool, retry_after: str = "") -> None:
        super().__init__(line)
        self.charged = charged
        self.retry_after = retry_after
