"""Compare plausible edits on the same calls, group them by how they behave, and order groups and edits, with a confidence.

That plausible patches which agree on further inputs are right far more often than those that do not is measured in
docs/measurements.md; the idea is that of Xin and Reiss, Identifying Test-Suite-Overfitted Patches (ISSTA 2017). The score of an
edit is its place in the search, times the factor measured for its kind, times what docstring examples and annotations say
of it. The smallest edit is not the likeliest: ranking by size was measured to prefer overfitted ones.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from os.path import commonprefix

import msgspec

from memory.model import Confidence, DistinguishingCall, Doubt, Failure, Family
from workers.repair.attempt import Shortlist
from workers.repair.candidates import Candidate
from workers.repair.judging.overfit_signs import EditKind, kind_of
from workers.repair.outline import Outline, last_line
from workers.repair.running.forkserver import Observe, Observed, ObservedCall

FULL, OUTSIDE, RAISED_BEFORE = 1.0, 0.3, 0.3
"""What a difference counts on a call that keeps the invariants of the tests' calls, on one that does not, and, times that,
on one which already made the unedited code raise."""

DISTINGUISHES = 0.5
"""The weight from which one call is enough to tell edits apart."""

FURTHER_MEMBER = 0.6
"""What each further edit of a cluster adds to its weight, relative to the one before."""

BROKEN, MISTYPED = 0.1, 0.4
"""Factors of the score of an edit that breaks docstring examples that another keeps, or yields other types."""

EQUALLY_GOOD = 0.5
"""Of edits that behave alike, those with this share of the best score count as equally good."""

FAR_FETCHED = 0.2
"""An edit at the likeliest place with a lower score is unlikely: among all that come before it some pass by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlausibleEdit:
    """A plausible edit and what is known of it. `observed` is how it behaves, None where that is unknown.

    `size` is the length of its description. `weight` is what maintainers' verdicts multiply its score by.
    """

    candidate: Candidate
    observed: Observed | None
    kind: EditKind
    size: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlausibleEdits:
    """The plausible edits, in the order of being found. `unedited` is how the code behaves without any of them.

    `raising` says whether the failure to be repaired is an error that the code raises, so that raising says nothing of a
    call; `thorough`: the search for others was adequate; `suspicion` is the score of the likeliest place.
    """

    edits: tuple[PlausibleEdit, ...]
    unedited: Observed | None
    raising: bool
    thorough: bool
    suspicion: float

    def only(self, candidates: Collection[Candidate]) -> PlausibleEdits:
        """The same with these of them alone."""
        return replace(self, edits=tuple(edit for edit in self.edits if edit.candidate in candidates))

    def common(self) -> Mapping[str, float]:
        """The calls that every observed edit was put to, with the weight of a difference there."""
        seen = [_by_key(edit.observed) for edit in self.edits if edit.observed is not None]
        if not seen:
            return {}
        before = _by_key(self.unedited) if self.unedited else {}
        keys = [key for key in seen[0] if all(key in calls for calls in seen[1:])]
        raised_before = {key for key, call in before.items() if call.raised and not self.raising}
        return {
            key: (FULL if seen[0][key].inside else OUTSIDE) * (RAISED_BEFORE if key in raised_before else 1.0)
            for key in keys
        }

    def comparable(self) -> bool:
        """Whether there is any call to compare by."""
        return sum(edit.observed is not None for edit in self.edits) > 1 and bool(self.common())


def clusters(plausible: PlausibleEdits) -> list[list[int]]:
    """The edits, by position, grouped by behaviour; one of which nothing is known forms its own group."""
    weights = plausible.common()
    groups: dict[object, list[int]] = {}
    for number, edit in enumerate(plausible.edits):
        key: object = number if edit.observed is None or not weights else _signature(edit.observed, weights)
        groups.setdefault(key, []).append(number)
    return list(groups.values())


def _signature(observed: Observed, weights: Mapping[str, float]) -> tuple[str, ...]:
    calls = _by_key(observed)
    return tuple(calls[key].outcome for key, weight in weights.items() if weight >= DISTINGUISHES)


def distinguishing_call(plausible: PlausibleEdits, one: int, other: int, patch: str) -> DistinguishingCall:
    """The simplest of the calls that tell two edits apart most plainly, if any does; `patch` is that of `other`."""
    none = DistinguishingCall(call="", this="", other="", patch=patch)
    this, that = plausible.edits[one].observed, plausible.edits[other].observed
    if this is None or that is None:
        return none
    left, right, weights = _by_key(this), _by_key(that), plausible.common()
    differing = [key for key in weights if left[key].outcome != right[key].outcome]
    if not differing:
        return none

    def plainness(key: str) -> tuple[float, bool, int, int]:
        one, other = left[key], right[key]
        return -weights[key], one.text == other.text, one.raised + other.raised, len(one.call)

    best = min(differing, key=plainness)
    return DistinguishingCall(call=left[best].call, this=left[best].text, other=right[best].text, patch=patch)


def _by_key(observed: Observed) -> Mapping[str, ObservedCall]:
    return {call.key: call for call in observed.calls}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedEdits:
    """What to think of plausible edits: their positions best first, cluster by cluster. `rival` is the best of the second one,
    of those that were observed where any other was.

    `alike` counts the edits of the first cluster, `share` is its part of the weight of all. `uncompared` counts the edits
    that were not observed, each a cluster of its own, where others were; `clusters` are those that were.
    """

    order: tuple[int, ...]
    alike: int
    share: float
    confidence: Confidence
    doubt: Doubt
    clusters: int
    uncompared: int
    rival: int | None


def ranked(plausible: PlausibleEdits) -> RankedEdits:
    """Rank edits, of which there is one at least."""
    scores = edit_scores(plausible)
    found = [_best_first(group, scores, plausible) for group in clusters(plausible)]
    groups = sorted(found, key=lambda group: -_weight([scores[n] for n in group]))
    weights = [_weight([scores[n] for n in group]) for group in groups]
    best = groups[0][0]
    unknown = sum(edit.observed is None for edit in plausible.edits) if plausible.comparable() else 0
    rivals = sorted((group[0] for group in groups[1:]), key=lambda n: plausible.edits[n].observed is None)
    return RankedEdits(
        order=tuple(n for group in groups for n in group),
        alike=len(groups[0]),
        share=weights[0] / sum(weights) if sum(weights) else 1 / len(groups),
        confidence=_confidence(plausible, len(groups)),
        doubt=_doubt(plausible, best, scores[best]),
        clusters=len(groups) - unknown,
        uncompared=unknown,
        rival=rivals[0] if rivals else None,
    )


def edit_scores(plausible: PlausibleEdits) -> list[float]:
    known = [edit.observed for edit in plausible.edits if edit.observed is not None]
    least_broken = min((observed.broken for observed in known), default=0)
    least_mistyped = min((observed.mistyped for observed in known), default=0)
    found = []
    for edit in plausible.edits:
        value = edit.candidate.score * edit.kind.factor
        if edit.observed is not None and edit.observed.broken > least_broken:
            value *= BROKEN
        if edit.observed is not None and edit.observed.mistyped > least_mistyped:
            value *= MISTYPED
        found.append(value)
    return found


def _best_first(group: Sequence[int], scores: Sequence[float], plausible: PlausibleEdits) -> list[int]:
    """The edits of one cluster: they behave alike, so of those with about the same score the one that writes least is first.

    Those that verdicts make twice as likely to be accepted come before it, whatever their size.
    """
    least = EQUALLY_GOOD * max(scores[n] for n in group)

    def key(n: int) -> tuple[bool, int, int, float]:
        near, edit = scores[n] >= least, plausible.edits[n]
        return not near, -round(log2(edit.weight)) * near, edit.size * near, -scores[n]

    return sorted(group, key=key)


def _weight(scores: Sequence[float]) -> float:
    """The weight of a cluster: that of its best edit and, less and less, of the others."""
    return sum(value * FURTHER_MEMBER**place for place, value in enumerate(sorted(scores, reverse=True)))


def _confidence(plausible: PlausibleEdits, groups: int) -> Confidence:
    if len(plausible.edits) == 1:
        return Confidence.UNIQUE
    if not plausible.comparable():
        return Confidence.UNCOMPARED
    return Confidence.AGREED if groups == 1 else Confidence.DISPUTED


def _doubt(plausible: PlausibleEdits, best: int, best_score: float) -> Doubt:
    """The doubt about the best edit. Where others agree with it, its form says less."""
    kind = plausible.edits[best].kind
    alone = len(plausible.edits) == 1
    if kind.silences:
        return Doubt.SILENCES
    if kind.coincides:
        return Doubt.COINCIDES
    if alone and kind.prone:
        return Doubt.PRONE
    if best_score < FAR_FETCHED * plausible.suspicion * plausible.edits[best].weight:
        return Doubt.FAR_FETCHED
    return Doubt.SEARCH_CUT if alone and not plausible.thorough else Doubt.NONE


# ── What is known of plausible edits, to be ranked by it ──


def description_length(before: str, after: str) -> int:
    """What it takes to say what an edit changes: the characters that it writes, and one for those that it removes, however many.

    `n - 1` → `n` is shorter than `n - 1` → `n + 1` (minimum description length, Rissanen 1978).
    """
    pairs = ((before, after), (before[::-1], after[::-1]))
    head, tail = (len(commonprefix(pair)) for pair in pairs)  # noqa: RUF071 - of any texts, by character
    kept = min(len(before), len(after), head + tail)
    return len(after) - kept + (len(before) > kept)


INPUTS, SECONDS = 240, 1.5
"""How many calls are made on each candidate, and the most seconds of processor time for them."""

CONSTANTS, LONGEST_CONSTANT, GREATEST = 24, 40, 10**6

Observing = Callable[[Candidate, Observe], Observed | None]
"""Observes how a candidate behaves; see RunnerPool.observed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparer:
    """Compares candidates for one failure.

    `suspicion` is the score of the likeliest place of the fault; `verdicts` is what maintainers' made of the scores, by
    template.
    """

    sources: Mapping[str, str]
    failure: Failure
    suspicion: float
    verdicts: Mapping[str, float]

    def compared(self, listed: Shortlist, observe: Observing, seed: int) -> PlausibleEdits:
        """What is known of these candidates; a single one is compared with nothing."""
        candidates = listed.candidates
        before = [self.sources.get(each.path, "") for each in candidates]
        observed: list[Observed | None] = [None] * len(candidates)
        unedited = None
        if len(candidates) > 1:
            wanted = _observe(candidates, seed)
            observed = [observe(candidate, wanted) for candidate in candidates]
            observed[0] = _repeated(observed[0], observe(candidates[0], wanted))
            unedited = observe(candidates[0], msgspec.structs.replace(wanted, unedited=True))
        edits = (
            PlausibleEdit(
                candidate=candidate,
                observed=seen,
                kind=kind_of(old, candidate.source),
                size=description_length(old, candidate.source),
                weight=self.verdicts.get(candidate.template, 1.0),
            )
            for candidate, old, seen in zip(candidates, before, observed, strict=True)
        )
        return PlausibleEdits(
            edits=tuple(edits),
            unedited=unedited,
            raising=self.failure.family is not Family.ASSERTION,
            thorough=listed.thorough,
            suspicion=self.suspicion,
        )


def _repeated(seen: Observed | None, again: Observed | None) -> Observed | None:
    """Without the calls that end otherwise when the same edit is observed again, and without all if these are most of them."""
    if seen is None or again is None:
        return seen
    ends = {(call.key, call.outcome) for call in again.calls}
    kept = tuple(call for call in seen.calls if (call.key, call.outcome) in ends)
    return msgspec.structs.replace(seen, calls=kept if 2 * len(kept) > len(seen.calls) else ())


def _observe(candidates: Sequence[Candidate], seed: int) -> Observe:
    places = {(candidate.path, candidate.function) for candidate in candidates}
    path, function = places.pop() if len(places) == 1 else ("", "")
    constants = constants_of(candidates)
    return Observe(path=path, function=function, seed=seed, inputs=INPUTS, seconds=SECONDS, constants=constants)


def constants_of(candidates: Sequence[Candidate]) -> tuple[int | str, ...]:
    """Numbers and texts in the edited functions, as they are with any of the edits: where behaviour may change."""
    found: dict[int | str, None] = {}
    for candidate in candidates:
        for node in ast.walk(_function(candidate)):
            value = node.value if isinstance(node, ast.Constant) else None
            if (isinstance(value, str) and len(value) <= LONGEST_CONSTANT) or (
                type(value) is int and abs(value) <= GREATEST
            ):
                found[value] = None
    return tuple(found)[:CONSTANTS]


def extent_of(candidate: Candidate) -> tuple[int, int]:
    """The first and the last line of the edited function; all lines when the edit is in none."""
    function = _function(candidate)
    if isinstance(function, ast.stmt):
        return function.lineno, last_line(function)
    return 1, candidate.source.count("\n") + 1


def _function(candidate: Candidate) -> ast.AST:
    """The edited function; of several of one name the first that the line of the edit lies in."""
    name = candidate.function.split(".")[-1]
    functions = [each for each in Outline(candidate.source).functions if each.name == name]
    around = [each for each in functions if each.lineno <= candidate.line <= last_line(each)]
    return next(iter(around or functions), ast.Module(body=[], type_ignores=[]))
