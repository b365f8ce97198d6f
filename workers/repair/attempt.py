"""What is known of an attempt while it searches, and what it taught, in words."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from memory.model import AttemptOutcome, Failure
from memory.skills import tried_as
from workers.redaction import redact
from workers.repair.candidates import CRASH, TIMEOUT, Candidate, ScreenVerdict
from workers.repair.result import FirstPlausible
from workers.repair.time_allowance import Deadline
from workers.sandbox.report import shortened

LONGEST_MESSAGE, MAX_NAMED = 120, 3

RIVALS, MAX_PLAUSIBLE, THOROUGH = 300, 20, 150
"""The most candidates that are screened after a plausible one, the most plausible ones, and the fewest that are thorough."""

RIVAL_SHARE, RIVAL_SECONDS = 0.5, 20.0
"""The share of the time left that rivals may take, and the most. Their number is what should end the search for them,
as it does not depend on the machine."""

UNINFORMATIVE = frozenset({"", TIMEOUT, CRASH, "SyntaxError"})
"""Errors that say nothing about how near a candidate came."""


@dataclass(slots=True, kw_only=True)
class AttemptTally:
    """What is known so far about the candidates of an attempt. `nearest` is the verdict on the one that came closest.

    `tried` counts those up to the first plausible one, by template and by skill, `wasted` those whose tests never ended or
    ended their process. `rivals`, screened to tell whether a plausible one is the only one, are not among the `candidates`.
    """

    failure: Failure
    began: float = field(default_factory=time.monotonic)
    candidates: int = 0
    rivals: int = 0
    wasted: int = 0
    plausible: int = 0
    first: FirstPlausible | None = None
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
            self.first = FirstPlausible(candidates=self.candidates, seconds=time.monotonic() - self.began)

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
        return verdict.error_type not in UNINFORMATIVE and verdict.error_type != self.failure.error_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """Plausible candidates in the order of being found, the first of them included.

    `thorough` tells that enough others were screened for the absence of more to mean something.
    """

    candidates: tuple[Candidate, ...]
    thorough: bool


def shortlist(
    first: Candidate, verdicts: Iterator[ScreenVerdict], tally: AttemptTally, deadline: Deadline
) -> Shortlist:
    """The first plausible candidate and its rivals, from the verdicts on further candidates, until the deadline."""
    found = [first]
    before = tally.rivals
    for verdict in islice(verdicts, RIVALS):
        tally.add_rival(verdict)
        if verdict.plausible:
            found.append(verdict.candidate)
        if deadline() or len(found) == MAX_PLAUSIBLE:
            break
    return Shortlist(candidates=tuple(found), thorough=tally.rivals - before >= THOROUGH or not deadline.expired)


# ── What a search taught, in words ──


def reflection(
    tally: AttemptTally,
    strategies: Sequence[str],
    outcome: AttemptOutcome,
    *,
    proven: Candidate | None,
    cut: bool,
    objection: str,
) -> str:
    """What was tried, and what came closest. `cut` says that time ended the proof, `objection` why a plausible candidate
    is not proven."""
    shown = proven or tally.shown()
    where = f"{shown.template} at {shown.path}:{shown.line}" if shown else ""
    names = "/".join(strategies) if len(strategies) <= MAX_NAMED else "all strategies"
    tried = f"{names or 'replay'}: {_tried(tally, outcome, where, cut=cut)}"
    return f"{tried} {_lesson(tally, outcome, where, objection)}".strip()


def _tried(tally: AttemptTally, outcome: AttemptOutcome, where: str, *, cut: bool) -> str:
    number = tally.candidates
    count = f"{number} candidate{'s' * (number != 1)}"
    match outcome:
        case AttemptOutcome.PROVEN if cut:
            return f"{where} passes the failing tests after {count}; time ended before all tests ran with it."
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


_NOTHING_NEAR = "The fault needs another kind of edit, or lies on other lines."


def _lesson(tally: AttemptTally, outcome: AttemptOutcome, where: str, objection: str) -> str:
    nearest, failure = tally.nearest, tally.failure
    if outcome is AttemptOutcome.PROVEN:
        return ""
    if nearest is None or (not nearest.passed and failure.error_type == "AssertionError"):  # it is not reached any more
        found = "" if outcome is AttemptOutcome.OUT_OF_BUDGET else _NOTHING_NEAR
        return f"{objection[0].upper()}{objection[1:]}." if objection else found
    if objection:
        return f"Best was {where}: {objection}."
    wanted = len(failure.failing_tests)
    if nearest.passed == wanted:
        return f"{where} makes the failing tests pass, but {shortened(nearest.failed) or 'another test'} fails with it."
    if nearest.passed:
        return f"{where} repairs {nearest.passed} of {wanted} failing tests."
    if nearest.error_type == failure.error_type:
        return f"The failure stays {nearest.error_type}. {_NOTHING_NEAR}"
    return f"With {where} the failure becomes {nearest.error_type}{_quoted(nearest.message)}."


def _quoted(message: str) -> str:
    first = next((line.strip() for line in redact(message).splitlines() if line.strip()), "")
    return f" ({first[:LONGEST_MESSAGE]})" if first else ""
