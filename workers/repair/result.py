"""The result of a repair and of each of its attempts, as values, and what is learned from them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from memory.model import (
    Aftermath,
    Attempt,
    AttemptOutcome,
    Decision,
    EditShape,
    Experience,
    Failure,
    NearMiss,
    Proof,
    Task,
)
from memory.policy.learner import usual
from memory.rewards import repair_components
from memory.skills import tried_as
from workers.repair.classify import signature
from workers.repair.engines.search.candidates import CRASH, TIMEOUT, Candidate, ScreenVerdict

LONGEST_MESSAGE, MOST_NAMED = 120, 3


class RepairStatus(StrEnum):
    """How a repair ended, in the words of `apprentice fix --json`.

    `undecided`: a change passes all tests, and others that behave otherwise, or might, pass the failing ones too.
    """

    FIXED = "fixed"
    UNDECIDED = "undecided"
    NOT_FIXED = "not_fixed"
    NOTHING_FAILING = "nothing_failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """The first plausible candidate: after how many, itself included, and when by time.monotonic()."""

    candidates: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPlausible:
    """How many candidates were tried up to the first plausible one, over all attempts, and seconds since the start."""

    candidates: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """The result of trying one strategy. `patch` is a unified diff, empty unless proven; so are `shape` and `proof`.

    `candidates` are edits that were tried, or steps of a model; `effort` is the share of a model's steps, None for a search.
    `fixed` is the most failing tests that any candidate made pass, `moved` whether the nearest candidate led to another
    failure, `made_by` the strategy of the proven edit, `tried` the candidates up to the first plausible one by template, `wasted` those whose
    tests never ended or ended their process, `ruled_out` digests of failed candidates, `path` the file of the proven or
    nearest edit. `counts` is false where the model was unavailable: such an attempt
    says nothing about its strategy.
    """

    outcome: AttemptOutcome
    candidates: int
    reflection: str
    rivals: int = 0
    fixed: int = 0
    path: str = ""
    nearest: NearMiss | None = None
    first: First | None = None
    tried: Mapping[str, int] = field(default_factory=dict)
    moved: bool = False
    wasted: int = 0
    ruled_out: tuple[str, ...] = ()
    patch: str = ""
    made_by: str = ""
    shape: EditShape | None = None
    proof: Proof | None = None
    effort: float | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEffort:
    """What a search without success did, its times in seconds. `whole` says that the suite was run to find what fails.

    `candidates` counts as in `Repaired`, without rivals.

    `exhausted` says that no edit is left to try, so that more time does not help, `stopped` that what was left was
    not worth its time.
    """

    candidates: int
    searching: float
    reproducing: float
    proving: float
    budget: float
    whole: bool
    exhausted: bool
    stopped: bool = False

    def described(self) -> str:
        """The same in words."""
        tried = f"{self.candidates} candidate{'s' * (self.candidates != 1)}"
        more = " No edit is left to try, so more time does not help." if self.exhausted else ""
        if self.stopped:
            more = " It stopped early: a longer search has hardly ever repaired such a failure here."
        return (
            f"{tried} tried in {self.searching:.0f} s, after "
            f"{self.reproducing:.0f} s to find what fails; {self.proving:.0f} s were for proofs.{more}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """The result of a repair. `tests` is how many there were at first, `skipped` how many of them did not run, `flaky` those
    set aside because they failed only once.

    `others` is how many tests failed otherwise than the `failure`.

    `proof_seconds` is the part of `seconds` for proofs; `effort` is there where a search found nothing; `set_aside` names
    failures that nothing here can repair, each with the reason, and `note` says where the tests ran, if that is unusual.
    """

    status: RepairStatus
    failure: Failure | None
    attempts: tuple[Attempt, ...]
    tests: int
    flaky: tuple[str, ...]
    candidates: int
    test_runs: int
    seconds: float
    proof_seconds: float = 0.0
    effort: SearchEffort | None = None
    set_aside: tuple[str, ...] = ()
    note: str = ""
    first: FirstPlausible | None = None
    others: int = 0
    skipped: int = 0

    @property
    def proven(self) -> Attempt | None:
        """The attempt that carries a proof."""
        return next((a for a in self.attempts if a.outcome is AttemptOutcome.PROVEN), None)

    @property
    def settled(self) -> bool:
        """Whether there is a fix that can be applied as it is: proven, undisputed, and without anything unusual in it."""
        proof = self.proven.proof if self.proven else None
        return self.status is RepairStatus.FIXED and proof is not None and not proof.unusual


def attempt_of(decision: Decision, result: AttemptResult) -> Attempt:
    """The attempt as it is stored with its task."""
    return Attempt(
        decision_id=decision.id,
        strategy=decision.chosen,
        probability=decision.probability,
        candidates=result.candidates,
        rivals=result.rivals,
        outcome=result.outcome,
        reflection=result.reflection,
        patch=result.patch,
        shape=result.shape,
        proof=result.proof,
    )


def experience_of(task: Task, failure: Failure, decision: Decision, result: AttemptResult) -> Experience:
    """What the memory keeps of an attempt."""
    return Experience(
        id=decision.id,
        repository=task.repository,
        task_id=task.id,
        error_type=failure.error_type,
        family=failure.family,
        signature=signature(failure),
        path=result.path,
        strategy=decision.chosen,
        outcome=result.outcome,
        reflection=result.reflection,
        patch=result.patch,
        shape=result.shape,
        created_at=decision.created_at,
        tried=result.tried,
        usual=usual(decision),
        contested=result.proof is not None and result.proof.contested,
    )


def aftermath_of(result: AttemptResult) -> Aftermath:
    """What an attempt without a proof did to the failure."""
    if result.outcome is AttemptOutcome.UNPROVEN:
        return Aftermath.BROKE
    if result.fixed:
        return Aftermath.FEWER
    if result.moved:
        return Aftermath.MOVED
    return Aftermath.TIMED_OUT if 2 * result.wasted > result.candidates else Aftermath.SAME


# ── What an attempt is worth ───────────────────────────────────────────────────────────────────────────────────────


def components(failure: Failure, result: AttemptResult) -> dict[str, float]:
    """The parts of the reward of one strategy's attempt."""
    proven = result.outcome is AttemptOutcome.PROVEN
    found = repair_components(
        failing_before=len(failure.failing_tests),
        fixed=len(failure.failing_tests) if proven else result.fixed,
        broken=int(result.outcome is AttemptOutcome.UNPROVEN),
        moved=result.moved,
        proven=proven,
        patch_lines=_patch_lines(result.patch),
        candidates=result.candidates if result.effort is None else 0,
        wasted=result.wasted,
    )
    return found if result.effort is None else found | {"step_cost": -result.effort}


def choice_components(failure: Failure, attempts: Sequence[Attempt], *, fixed: int = 0) -> dict[str, float]:
    """The parts of the reward of a choice that some attempts followed from, of which the last one counts."""
    last, failing = attempts[-1], len(failure.failing_tests)
    proven = last.outcome is AttemptOutcome.PROVEN
    return repair_components(
        failing_before=failing,
        fixed=failing if proven else fixed,
        broken=int(last.outcome is AttemptOutcome.UNPROVEN),
        moved=False,
        proven=proven,
        patch_lines=_patch_lines(last.patch),
        candidates=sum(attempt.candidates for attempt in attempts),
    )


def _patch_lines(patch: str) -> int:
    return sum(line.startswith(("+", "-")) for line in patch.splitlines()[2:])


# ── What is known of an attempt while it runs ──

RIVALS, MOST_PLAUSIBLE, THOROUGH = 300, 20, 150
"""After a plausible candidate so many others are screened at most, until so many are plausible; fewer are not thorough."""

RIVAL_SHARE, RIVAL_SECONDS = 0.5, 20.0
"""The share of the time left that rivals may take, and the most. Their number is what should end the search for them,
as it does not depend on the machine."""

UNTELLING = frozenset({"", TIMEOUT, CRASH, "SyntaxError"})
"""Errors that say nothing about how near a candidate came."""


class Clock:
    """Whether a point of time.monotonic() has passed; `rang` remembers a yes."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.rang = False

    def __call__(self) -> bool:
        self.rang = self.rang or time.monotonic() >= self._deadline
        return self.rang

    def left(self) -> float:
        """Seconds until then; below 0 afterwards."""
        return self._deadline - time.monotonic()

    def share(self, part: float, most: float) -> Clock:
        """A clock for a part of the time that is left, `most` seconds at most."""
        return Clock(time.monotonic() + min(most, part * max(0.0, self.left())))


@dataclass(slots=True, kw_only=True)
class AttemptTally:
    """What is known so far about the candidates of an attempt. `nearest` is the verdict on the one that came closest.

    `tried` counts those up to the first plausible one, by template and by skill, `wasted` those whose tests never ended or ended their
    process. `rivals`, screened to tell whether a plausible one
    is the only one, are not among the `candidates`.
    """

    failure: Failure
    candidates: int = 0
    rivals: int = 0
    wasted: int = 0
    plausible: int = 0
    first: First | None = None
    nearest: ScreenVerdict | None = None
    tried: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: ScreenVerdict) -> None:
        """Count a verdict; of equals the first one, which was the likeliest, stays nearest."""
        self.candidates += 1
        self.wasted += verdict.error_type in {TIMEOUT, CRASH}
        for name in (verdict.candidate.template, *map(tried_as, verdict.candidate.skills)):
            self.tried[name] += self.first is None
        self._judge(verdict)
        if verdict.plausible and self.first is None:
            self.first = First(candidates=self.candidates, at=time.monotonic())

    def add_rival(self, verdict: ScreenVerdict) -> None:
        """Count a verdict on one of the others."""
        self.rivals += 1
        self._judge(verdict)

    def _judge(self, verdict: ScreenVerdict) -> None:
        self.plausible += verdict.plausible
        if self._nearness(verdict) > (self._nearness(self.nearest) if self.nearest else (False, 0, False)):
            self.nearest = verdict

    def shown(self) -> Candidate | None:
        """The candidate that came nearest."""
        return self.nearest.candidate if self.nearest else None

    def moved(self) -> bool:
        """Whether the failure turned into another one with the nearest candidate."""
        return self.nearest is not None and self._moved(self.nearest)

    def _nearness(self, verdict: ScreenVerdict) -> tuple[bool, int, bool]:
        return verdict.plausible, verdict.passed, self._moved(verdict)

    def _moved(self, verdict: ScreenVerdict) -> bool:
        return verdict.error_type not in UNTELLING and verdict.error_type != self.failure.error_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """Plausible candidates in the order of being found, the first of them included.

    `thorough` tells that enough others were screened for the absence of more to mean something.
    """

    candidates: tuple[Candidate, ...]
    thorough: bool


def shortlist(first: Candidate, verdicts: Iterator[ScreenVerdict], tally: AttemptTally, clock: Clock) -> Shortlist:
    """The first plausible candidate and its rivals, from the verdicts on further candidates, until `clock` rings."""
    found = [first]
    before = tally.rivals
    for verdict in islice(verdicts, RIVALS):
        tally.add_rival(verdict)
        if verdict.plausible:
            found.append(verdict.candidate)
        if clock() or len(found) == MOST_PLAUSIBLE:
            break
    return Shortlist(candidates=tuple(found), thorough=tally.rivals - before >= THOROUGH or not clock.rang)


# ── What a search taught, in words ──


def reflection(
    tally: AttemptTally, strategies: Sequence[str], outcome: AttemptOutcome, *, proven: Candidate | None, objection: str
) -> str:
    """What was tried, what came closest, and what that suggests. `objection` is why a plausible candidate is not proven."""
    shown = proven or tally.shown()
    where = f"{shown.template} at {shown.path}:{shown.line}" if shown else ""
    names = "/".join(strategies) if len(strategies) <= MOST_NAMED else "all strategies"
    tried = f"{names or 'replay'}: {_tried(tally, outcome, where)}"
    return f"{tried} {_lesson(tally, outcome, where, objection)}".strip()


def _tried(tally: AttemptTally, outcome: AttemptOutcome, where: str) -> str:
    number = tally.candidates
    count = f"{number} candidate{'s' * (number != 1)}"
    match outcome:
        case AttemptOutcome.PROVEN:
            return f"{where} is proven after {count}."
        case AttemptOutcome.OUT_OF_BUDGET:
            return f"time ran out after {count}."
        case AttemptOutcome.UNPROVEN:
            return f"{tally.plausible} of {number + tally.rivals} edits pass the failing tests, and none is proven."
        case AttemptOutcome.NOTHING_PLAUSIBLE if not number:
            return "no candidate to try."
        case AttemptOutcome.NOTHING_PLAUSIBLE:
            return f"{count} tried, none makes the failing tests pass."


def _lesson(tally: AttemptTally, outcome: AttemptOutcome, where: str, objection: str) -> str:
    nearest, failure = tally.nearest, tally.failure
    if outcome is AttemptOutcome.PROVEN:
        return ""
    if nearest is None:
        return f"{objection or 'the fault needs another kind of edit, or lies on other lines'}.".capitalize()
    if objection:
        return f"Best was {where}: {objection}."
    wanted = len(failure.failing_tests)
    if nearest.passed == wanted:
        return f"{where} repairs the failing tests but breaks a test that passed: right place, too broad an edit."
    if nearest.passed:
        return (
            f"{where} repairs {nearest.passed} of {wanted} failing tests: the place matters, and more is wrong there."
        )
    if nearest.error_type == failure.error_type:
        return f"The failure stays {nearest.error_type}: the fault needs another kind of edit, or lies on other lines."
    return (
        f"With {where} the failure becomes {nearest.error_type}{_quoted(nearest.message)}: that line takes part in it."
    )


def _quoted(message: str) -> str:
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return f" ({first[:LONGEST_MESSAGE]})" if first else ""
