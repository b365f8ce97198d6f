"""What can go wrong with a model, named for what the caller does next. None of these fails a job: other engines go on."""

from __future__ import annotations

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
