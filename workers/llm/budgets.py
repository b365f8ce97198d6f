"""The budgets that the settings name, and what is said when one is used up. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory.store import Exceeded, Limit, Scope, Unit
from workers.llm.errors import BudgetSpent
from workers.settings import PREFIX, WorkerSettings

_MICROS = 1_000_000
_NAMES = {Scope.RUN: "for one run", Scope.DAY: "a day", Scope.REPOSITORY_DAY: "a day for one repository"}
_WORDS = {Unit.TOKENS: "tokens", Unit.MICROS: "usd"}


def limits_of(settings: WorkerSettings) -> tuple[Limit, ...]:
    """The budgets that are set, the narrowest first."""
    given = [
        (Scope.RUN, settings.model_tokens_per_run, settings.model_usd_per_run),
        (Scope.REPOSITORY_DAY, settings.model_tokens_per_repository_day, settings.model_usd_per_repository_day),
        (Scope.DAY, settings.model_tokens_per_day, settings.model_usd_per_day),
    ]
    found = [Limit(scope=scope, unit=Unit.TOKENS, most=tokens) for scope, tokens, _ in given if tokens]
    money = [Limit(scope=scope, unit=Unit.MICROS, most=round(usd * _MICROS)) for scope, _, usd in given if usd]
    return (*found, *money)


def spent(exceeded: Exceeded, now: datetime) -> BudgetSpent:
    """The error for a budget that a call would exceed: which, how much, when it renews, what raises it."""
    limit = exceeded.limit
    setting = f"{PREFIX}MODEL_{_WORDS[limit.unit]}_PER_{limit.scope}".upper()
    figures = [_amount(number, limit.unit) for number in (limit.most, exceeded.taken, exceeded.wanted)]
    return BudgetSpent(
        "the model's budget of {} {} is used up: {} are taken, and the next call may take {}; ".format(
            figures[0], _NAMES[limit.scope], *figures[1:]
        )
        + f"{_renewal(limit.scope, now)}; {setting} raises it"
    )


def _renewal(scope: Scope, now: datetime) -> str:
    if scope is Scope.RUN:
        return "the next run has its own"
    tomorrow = now.astimezone(UTC).date() + timedelta(days=1)
    return f"it renews at {tomorrow:%Y-%m-%d} 00:00 UTC"


def _amount(number: int, unit: Unit) -> str:
    return f"{number} tokens" if unit is Unit.TOKENS else f"{number / _MICROS:.2f} US dollars"
