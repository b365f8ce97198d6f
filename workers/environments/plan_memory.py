"""What came of the plans of a repository: kept, and used to order the plans of the next time."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.model import Plan, PlanOutcome
from memory.store import Store
from memory.store.database import dump

GOOD = 0.5
"""A plan under which a smaller share of the tests passed is tried after those that were never tried."""


@dataclass(frozen=True, slots=True)
class PlanMemory:
    """The outcomes of one repository's plans. The last outcome of a plan counts: its requirements change with time."""

    store: Store
    repository: str

    def record(self, outcome: PlanOutcome) -> None:
        """Keep the outcome of a plan in the place of its earlier one."""
        key = f"{self.repository}:{_identity(outcome.read)}"
        self.store.plans.put(key, outcome, owner=self.repository, now=outcome.at)

    def outcomes(self) -> list[PlanOutcome]:
        """All outcomes, oldest first."""
        return self.store.plans.of(self.repository, PlanOutcome)

    def ordered(self, plans: Sequence[Plan]) -> tuple[Plan, ...]:
        """The plans in the order to try them, each with the mends that it needed before.

        First those that worked, by the share of tests that passed; then those never tried, in the given order; then
        those that did not work. What the repository changed since makes a new plan, never tried.
        """
        known = {_identity(outcome.read): outcome for outcome in self.outcomes()}
        tried = [known.get(_identity(plan)) for plan in plans]

        def rank(number: int) -> tuple[int, float, int]:
            outcome = tried[number]
            if outcome is None:
                return 1, 0.0, number
            return 0 if outcome.worth >= GOOD else 2, -outcome.worth, number

        chosen = [(plans[number], tried[number]) for number in sorted(range(len(plans)), key=rank)]
        # What was missing for one that did not work may be there today.
        return tuple(outcome.plan if outcome and outcome.worth >= GOOD else plan for plan, outcome in chosen)


def _identity(plan: Plan) -> str:
    """A digest of what a plan does, whatever it is called."""
    bare = replace(plan, source="", notes=(), mends=())
    return hashlib.sha256(dump(bare).encode()).hexdigest()[:16]
