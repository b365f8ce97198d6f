"""The search as an engine of the loop: its strategies, what is expected of each, and a turn of one of them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice

from memory.model import EVERYTHING, REPLAY, Attempt, Decision, EditShape
from memory.reflections import reused
from memory.rewards import rejected
from memory.skills import current, fitting
from memory.template_weights import edit_weights, judged_edits, verdict_weights
from workers.repair.engines.engine import EngineUse, OpenStrategies, PreviousAttempts, RepairDeps, ReproducedFailure
from workers.repair.engines.search.candidate_order import CandidateQueue, put_off, restored
from workers.repair.engines.search.session import SearchSession
from workers.repair.engines.search.templates import STRATEGIES, all_templates
from workers.repair.judging.prove import reserved
from workers.repair.result import AttemptResult
from workers.repair.time_allowance import Deadline

REPLAY_PRIOR = 0.8
"""How often the learned edits repair a failure that one of them repaired before: exact past edits convert far better than
similar past fixes do."""

TURN_PRIOR = 0.2
"""How often a turn of the likeliest strategy finds a repair: it is a handful of candidates."""

EVERYTHING_PRIOR = 0.3

TURN_COST = EVERYTHING_COST = 0.02
"""What a turn of a strategy costs, and a search for all the time that is left, as shares of an accepted fix: minutes of a
machine, against the time of people. A turn takes seconds, and as much again of the time until a fix that others would find.
Learned edits cost the less, the fewer of them are tried."""

REPLAYED = 20
"""How many learned edits are tried in a turn where one repaired the very same failure: elsewhere, most of them fit nothing."""

SLICE = 0.25
"""The share of the time left that one strategy may use."""

MAX_EXPERIENCES = 2000
"""How many of the latest attempts say how well each kind of edit does."""

UNWANTED = 0.5
"""A learned edit whose template weighs less by maintainers' verdicts is not tried before the others."""


@contextmanager
def open_search(
    case: ReproducedFailure, deps: RepairDeps, previous: PreviousAttempts, seconds: float, share: float = 1.0
) -> Iterator[SearchEngine]:
    """The search for one case, for `seconds` with its proofs; its test runners are open within the context.

    No attempt begins, and none looks for a first edit, after a `share` of the search. What is found before may use all of it.
    """
    began = time.monotonic()
    proven_by = began + seconds
    searched_by = proven_by - reserved(seconds, case.reproduction)
    memory = _memory(case, deps) if case.remembers else SearchMemory()
    with deps.session(
        deps.sandbox,
        case.project,
        case.reproduction,
        case.failure,
        deps.progress,
        sources=case.sources,
        weights=memory.weights(),
        verdicts=memory.verdicts,
        limits=deps.limits,
        searched_by=searched_by,
        proven_by=proven_by,
    ) as session:
        yield SearchEngine(case, deps, previous, session, began + share * (searched_by - began), memory)


@dataclass(frozen=True, slots=True)
class SearchMemory:
    """What the search knows from before: factors of the templates' priors by tests and by verdicts, and rejected fixes."""

    tests: Mapping[str, float] = field(default_factory=dict)
    verdicts: Mapping[str, float] = field(default_factory=dict)
    rejected: frozenset[str] = frozenset()

    def weights(self) -> dict[str, float]:
        """Both factors together."""
        names = self.tests.keys() | self.verdicts.keys()
        return {name: self.tests.get(name, 1.0) * self.verdicts.get(name, 1.0) for name in names}


def _memory(case: ReproducedFailure, deps: RepairDeps) -> SearchMemory:
    """What is known for this kind of failure in this repository."""
    family, templates = case.failure.family, all_templates()
    known = deps.store.experiences.all(limit=MAX_EXPERIENCES)
    fixes = {each.id for each in (*known, *(found.experience for found in case.recalled)) if each.shape}
    signals = deps.store.ledger.live_signals(sorted(fixes))
    opposed = rejected(signals)
    return SearchMemory(
        tests=edit_weights(known, family, {each.name: each.prior_for(family) for each in templates}, opposed),
        verdicts=verdict_weights(
            judged_edits(known, signals),
            {each.name: each.strategy for each in templates},
            repository=case.task.repository,
            family=family,
            quorum=deps.learner.quorum,
        ),
        rejected=opposed,
    )


class SearchEngine:
    """The search for one case until `deadline` (of time.monotonic)."""

    def __init__(
        self,
        case: ReproducedFailure,
        deps: RepairDeps,
        previous: PreviousAttempts,
        session: SearchSession,
        deadline: float,
        memory: SearchMemory,
    ) -> None:
        self._case = case
        self._memory = memory
        self._deps = deps
        self._previous = previous
        self._session = session
        self._deadline = Deadline(deadline)
        self._fitting = self._learned_edits()
        self._choice = previous.choose()
        self._hints = reused(self._choice.mode, previous.reflections())
        proposed = session.proposed(STRATEGIES, replay=self._fitting, seed=deps.rng.getrandbits(32))
        self._queue = CandidateQueue(put_off(proposed, self._hints.later, session.digest), tried=session.tried)
        nearest = (restored(miss, session.sources.get(miss.path)) for miss in self._hints.start)
        self._first = tuple(candidate for candidate in nearest if candidate is not None)

    def open_strategies(self, tried: tuple[str, ...]) -> OpenStrategies | None:
        """The open strategies with what is expected of a turn of each."""
        if EVERYTHING in tried or self._deadline.left() <= 0:
            return None
        # Near misses that earlier attempts left are worth what any other turn is.
        replaying = max(REPLAY_PRIOR * fitness(self._fitting), TURN_PRIOR if self._first else 0.0)
        known = priors(self._queue.near(), replay=replaying)
        left = {name: prior for name, prior in known.items() if name not in tried}
        costs = dict.fromkeys(left, TURN_COST)
        replay = max(replays(self._fitting), len(self._first)) / REPLAYED
        return OpenStrategies(priors=left, costs=costs | {REPLAY: TURN_COST * replay, EVERYTHING: EVERYTHING_COST})

    def attempt(self, decision: Decision) -> AttemptResult:
        """Try the likeliest candidates of one strategy, or all that is left of all of them."""
        chosen, seed = decision.chosen, self._deps.rng.getrandbits(32)
        session, left = self._session, self._deadline.left()
        end = time.monotonic() + left
        slice_end = end - left * (1 - SLICE)
        if chosen == EVERYTHING:
            resumed = bool(self._hints.start)
            everything = session.with_pairs(self._queue.rest(), self._fitting, resumed=resumed)
            return session.attempt(everything, strategies=STRATEGIES, deadline=end, seed=seed)
        if chosen == REPLAY:
            replayed = islice(session.proposed((), replay=self._fitting, seed=seed), replays(self._fitting))
            return session.attempt(chain(self._first, replayed), strategies=(), deadline=slice_end, seed=seed)
        return session.attempt(self._queue.of(chosen), strategies=(chosen,), deadline=slice_end, seed=seed)

    def learn(self, _decision: Decision, _attempt: Attempt, _result: AttemptResult) -> None:
        """Nothing: the repair loop keeps all that the search knows of an attempt."""

    def close(self, attempts: Sequence[Attempt]) -> EngineUse:
        """Conclude the choice of what to use of previous attempts."""
        self._previous.conclude(self._choice, attempts)
        return EngineUse(self._session.test_runs, self._session.prover.seconds)

    def _learned_edits(self) -> dict[EditShape, float]:
        """The edits of skills that fit this failure, each with how well."""
        if not self._case.remembers:
            return {}
        case, quorum = self._case, self._deps.learner.quorum
        family, repository = case.failure.family, case.task.repository
        skills = current(self._deps.store)
        recalled = [each for each in case.recalled if each.experience.id not in self._memory.rejected]
        found = fitting(skills, recalled, family=family, repository=repository, quorum=quorum)
        return replayable(found, self._memory.verdicts)


def priors(near: Mapping[str, float], *, replay: float) -> dict[str, float]:
    """The strategies with the proofs expected of each; `near` is how near each one comes to the likeliest.

    Learned edits are one when any fit, the search of everything always.
    """
    learned = {REPLAY: replay} if replay > 0.0 else {}
    turns = {strategy: TURN_PRIOR * nearness for strategy, nearness in near.items()}
    return {**learned, **turns, EVERYTHING: EVERYTHING_PRIOR}


def replayable(fitting: Mapping[EditShape, float], verdicts: Mapping[str, float]) -> dict[EditShape, float]:
    """Those of the fitting edits that a template makes, less what maintainers seldom accept of it."""
    liked = {template.name: min(verdicts.get(template.name, 1.0), 1.0) for template in all_templates()}
    return {
        shape: weight * liked[shape.template]
        for shape, weight in fitting.items()
        if liked.get(shape.template, 0.0) >= UNWANTED
    }


def fitness(learned: Mapping[EditShape, float]) -> float:
    """How well learned edits fit, within [0, 1]: the square of how well the best one does, as both have to be right, what
    is recalled and what was done about it.
    """
    return max(learned.values(), default=0.0) ** 2


def replays(learned: Mapping[EditShape, float]) -> int:
    """How many learned edits to try in their turn."""
    return math.ceil(REPLAYED * fitness(learned))
