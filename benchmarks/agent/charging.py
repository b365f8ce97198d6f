"""What a whole run may cost: every call is entered in the run's accounts before it is made, and ends the run if too dear."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from memory.store import Calls, Limit, Scope, Store, Unit
from workers.context import utc_now
from workers.llm.client import Client, Tiered, tiers_of
from workers.llm.errors import BudgetSpent, ModelUnavailable
from workers.llm.messages import Ask, Model, Reply, Tier
from workers.settings import WorkerSettings

RUN = "run"
"""The task that all of a run is to its accounts, so that the budget of a task is the run's."""


class Halted(Exception):
    """The run stops here, between two calls, and can be resumed. No error of the product's: nothing may live with it."""


@dataclass(frozen=True, slots=True)
class Charged:
    """Implements `Answers` by a model with accounts of its own: a repair's own budgets are kept by who asks here."""

    model: Model

    def answer(self, ask: Ask) -> Reply:
        """Raises Halted where the run's cap is met, and where the endpoint is gone: neither says anything of a case."""
        try:
            return self.model.reply(ask)
        except BudgetSpent:
            raise Halted("the next call may exceed the cap; give a higher one with --resume") from None
        except ModelUnavailable as gone:
            raise Halted(f"{gone}; give --resume once that is mended") from gone


def charged(settings: WorkerSettings, calls: Calls, limits: tuple[Limit, ...]) -> Mapping[Tier, Tiered]:
    """The models that the settings name, with the run's accounts before them."""
    tiers = tiers_of(settings)
    client = Client(
        tiers=tiers,
        calls=calls,
        limits=limits,
        task_id=RUN,
        repository=RUN,
        clock=utc_now,
        rng=random.Random(settings.seed),
    )
    return {tier: Tiered(endpoint=Charged(client), name=each.name, price=each.price) for tier, each in tiers.items()}


def caps(*, tokens: int, usd: float) -> tuple[Limit, ...]:
    """The run's budgets; 0 is none."""
    found = [Limit(scope=Scope.RUN, unit=Unit.TOKENS, most=tokens)] if tokens else []
    return (*found, *([Limit(scope=Scope.RUN, unit=Unit.MICROS, most=round(usd * 1e6))] if usd else []))


def paid(accounts: Store) -> tuple[int, int]:
    """Tokens and micros of all calls of a run that have ended, those of cases broken off among them."""
    found = next((each for each in accounts.calls.by_task() if each.task_id == RUN), None)
    return (found.tokens, found.micros) if found else (0, 0)
