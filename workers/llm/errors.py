"""What can go wrong with a model, named for what the caller does next. None of these fails a job: other engines go on."""

from __future__ import annotations

from dataclasses import dataclass

from workers.errors import ApprenticeError


class ModelError(ApprenticeError):
    """The model gave nothing that can be used: go on without it, and say so."""


class ModelUnavailable(ModelError):
    """It could not be reached, or failed again and again."""


class BudgetSpent(ModelError):
    """One of the budgets is used up: stop asking until it is renewed."""


class ContextOverflow(ModelError):
    """The request is longer than the model can read: shorten it and ask again."""


class BadReply(ModelError):
    """The reply is not what was asked for, and neither was the repaired one."""


class Refused(ModelError):
    """The model declined to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why one call failed: a clear line, whether it may have been charged, and the header `Retry-After` as it came."""

    said: str
    charged: bool
    retry_after: str = ""


class CallFailed(ModelError):
    """One call failed in a way that may pass: ask `workers.llm.client` whether to make it again."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.said)
        self.failure = failure
