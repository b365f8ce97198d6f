"""Practice: what repairs of planted bugs say about templates and strategies in a repository, before its real failures do.

Evidence of practice is of a kind of its own. In the table its rows are those of tasks of the kind practice; what templates
did is kept as one drill for each choice. Neither is an experience: nothing of a planted bug is recalled, replayed, shared
or counted as a repair. Real evidence always starts from the prior that practice gives, and soon outweighs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory.model import Factor, Family, State, TaskKind
from memory.policy.q_table import Cells, believe
from memory.store import Store
from memory.template_weights import relative_rates

WORTH = 0.25
"""What one drill counts of a real repair."""

MOST_DRILLS = 200
"""So many drills of a repository count, the latest: practice is worth fifty real attempts at most."""

MOST_WORTH = 5.0
"""So many observations the practice of one strategy is worth at most, against the prior that the search has without it."""

PRIOR_WORTH = 5.0
"""How many observations that prior is worth against practice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """One strategy tried at a planted bug; its id is the decision's. `template` made the right edit, empty without one."""

    id: str
    family: Family
    tried: Mapping[str, int] = field(default_factory=dict)
    template: str = ""
    created_at: datetime


def practised_weights(
    store: Store, repository: str, family: Family, prior: Mapping[str, float], worth: float = WORTH
) -> dict[str, float]:
    """What to multiply each template's prior by for what was practised here; templates without practice are left out."""
    drills = store.practice.latest(repository, MOST_DRILLS, Drill)
    everywhere = relative_rates(_tries(drills), prior, {}, worth=worth)
    return relative_rates(_tries(each for each in drills if each.family is family), prior, everywhere, worth=worth)


def _tries(drills: Iterable[Drill]) -> list[tuple[Mapping[str, int], str]]:
    return [(each.tried, each.template) for each in drills]


def practised_state(state: State) -> State:
    """The state that holds what was practised for another one."""
    return replace(state, kind=TaskKind.PRACTICE, tried=())


def practised_priors(state: State, priors: Mapping[str, float], cells: Cells, worth: float = WORTH) -> dict[str, float]:
    """The proof expected of each strategy before any real evidence; `cells` are those of `practised_state`."""
    return {name: _practised(practised_state(state), name, prior, cells, worth) for name, prior in priors.items()}


def _practised(state: State, strategy: str, prior: float, cells: Cells, worth: float) -> float:
    broadest = cells.get((state.levels()[-1], strategy, Factor.PROOF))
    counted = min(worth * broadest.weight, MOST_WORTH) if broadest else 0.0
    mean = believe(state, strategy, Factor.PROOF, cells, prior=prior).mean
    return (PRIOR_WORTH * prior + counted * mean) / (PRIOR_WORTH + counted)
