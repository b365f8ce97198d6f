"""Put plausible candidates to the proof, best first, and keep the best that is proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from memory.model import Failure, Proof, Telling
from workers.ports import Limits, Sandbox
from workers.repair.behaviour import telling
from workers.repair.candidates import Candidate
from workers.repair.prove import Unproven, prove
from workers.repair.ranking import Field, opinion
from workers.repair.reproduce import Reproduction
from workers.sandbox.project import Project

PROOFS = 4
"""So many candidates of one attempt are put to the proof."""

REPEATS = 2

Passing = Callable[[Sequence[Candidate], Sequence[str]], frozenset[Candidate]]
"""Which candidates pass the given tests too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """A candidate and what was shown about it."""

    candidate: Candidate
    proof: Proof

    def left_failing(self) -> int:
        """How many tests failed before and still do."""
        return _left_failing(self.proof)


class Prover:
    """Proves candidates for one failure. `runs` counts how often tests were run for that; `diff` shows an edit."""

    def __init__(
        self,
        sandbox: Sandbox,
        project: Project,
        reproduction: Reproduction,
        failure: Failure,
        limits: Limits | None,
        diff: Callable[[Candidate], str],
    ) -> None:
        self._sandbox = sandbox
        self._project = project
        self._reproduction = reproduction
        self._failure = failure
        self._limits = limits
        self.diff = diff
        self.runs = 0

    def begin(self, seed: int, passing: Passing) -> Proofs:
        """The proofs of one attempt."""
        return Proofs(self, seed, passing)

    def prove(self, candidate: Candidate, seed: int) -> Proof | Unproven:
        """Prove one candidate in fresh sandboxes."""
        shown = prove(
            self._sandbox,
            self._project,
            patch_overlay={candidate.path: candidate.source.encode()},
            before=self._reproduction.report,
            failing=self._failure.failing_tests,
            repeats=REPEATS,
            seed=seed,
            limits=self._limits,
        )
        self.runs += shown.runs if isinstance(shown, Unproven) else 1 + shown.repeats
        return shown


class Proofs:
    """What was proven in one attempt. `objection` is what stood against the first candidate that was not proven.

    `passing` is asked with the tests that a candidate breaks, and has those judge what is screened after it.
    """

    def __init__(self, prover: Prover, seed: int, passing: Passing) -> None:
        self._prover = prover
        self._seed = seed
        self._passing = passing
        self.best: Proven | None = None
        self.objection = ""
        self.made = 0

    def take(self, field: Field) -> None:
        """Prove the candidates of a field, best first, until one repairs everything that failed, or enough were tried.

        Candidates that turn out to break something leave the field: what they do differently disputes nothing.
        """
        shown: dict[Candidate, Proof] = {}
        left: Field | None = field
        while left is not None and (wanted := _next(left, shown)) is not None and self.made < PROOFS:
            candidate = left.candidates[wanted]
            self.made += 1
            proof = self._prover.prove(candidate, self._seed)
            if isinstance(proof, Unproven):
                self.objection = self.objection or proof.reason
                left = self._unbroken(left, candidate, proof.broken)
            else:
                shown[candidate] = proof
        if left is not None:
            self._settle(left, shown)

    def finished(self) -> bool:
        """Whether there is no point in looking for more candidates."""
        return self.best is not None or self.made >= PROOFS

    def _unbroken(self, field: Field, unproven: Candidate, tests: Sequence[str]) -> Field | None:
        """A field without one, and without those that break the same tests; None when nothing is left."""
        others = [candidate for candidate in field.candidates if candidate is not unproven]
        kept = self._passing(others, tests) if tests else frozenset(others)
        return field.only(kept) if kept else None

    def _settle(self, field: Field, shown: Mapping[Candidate, Proof]) -> None:
        """Keep the best of what was proven, with what the others say of it."""
        judged = opinion(field)
        proven = [number for number in judged.order if field.candidates[number] in shown]
        if not proven:
            return
        best = min(proven, key=lambda number: _left_failing(shown[field.candidates[number]]))
        candidate = field.candidates[best]
        rival = judged.rival if best == judged.order[0] else judged.order[0]
        proof = replace(
            shown[candidate],
            confidence=judged.confidence,
            doubt=judged.doubt,
            plausible=len(field.candidates),
            alike=judged.alike,
            clusters=judged.clusters,
            share=round(judged.share, 3),
            telling=self._telling(field, best, rival) if judged.clusters > 1 else None,
        )
        found = Proven(candidate=candidate, proof=proof)
        if self.best is None or found.left_failing() < self.best.left_failing():
            self.best = found

    def _telling(self, field: Field, best: int, rival: int | None) -> Telling | None:
        if rival is None:
            return None
        return telling(field.comparison, best, rival, self._prover.diff(field.candidates[rival]))


def _next(field: Field, shown: Mapping[Candidate, Proof]) -> int | None:
    """Whom to prove next: the best, one that leaves nothing failing, then the best that behaves otherwise."""
    judged = opinion(field)
    whole = [n for n in judged.order if (p := shown.get(field.candidates[n])) is not None and not _left_failing(p)]
    if not whole:
        return next((n for n in judged.order if field.candidates[n] not in shown), None)
    rival = judged.rival
    return rival if rival is not None and field.candidates[rival] not in shown else None


def _left_failing(proof: Proof) -> int:
    """How many tests failed before and still do."""
    return len(proof.failed_before) - len(proof.passed_after)
