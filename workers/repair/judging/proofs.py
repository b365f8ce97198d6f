"""The best of several plausible candidates: proofs of one attempt, made until one repairs everything that failed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from memory.model import Proof
from workers.repair.candidates import Candidate
from workers.repair.judging.prove import Prover
from workers.repair.judging.ranking import PlausibleEdits, distinguishing_call, ranked
from workers.repair.judging.suite_runs import Unproven

PROOFS = 4
"""How many candidates of one attempt are proven, at most."""

Passing = Callable[[Sequence[Candidate], Mapping[str, float]], frozenset[Candidate]]
"""Which candidates pass the given tests too, by the seconds that each test needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """A candidate and what was shown about it."""

    candidate: Candidate
    proof: Proof


class Proofs:
    """What was proven in one attempt. `objection` is the reason why the first unproven candidate was not proven, `late`
    that candidate if no time was left for its proof.

    `passing` gets the tests that a candidate breaks, and screens later candidates by them too; `diff` shows an edit.
    """

    def __init__(self, prover: Prover, seed: int, passing: Passing, diff: Callable[[Candidate], str]) -> None:
        self._prover = prover
        self._seed = seed
        self._passing = passing
        self._diff = diff
        self.best: Proven | None = None
        self.objection = ""
        self.late: Candidate | None = None
        self.made = 0

    def prove(self, known: PlausibleEdits) -> None:
        """Prove these candidates, best first, until one repairs everything that failed, or enough were tried.

        Candidates that turn out to break something are left out: what they do differently disputes nothing.
        """
        shown: dict[Candidate, Proof] = {}
        left: PlausibleEdits | None = known
        while left is not None and (wanted := _next(left, shown)) is not None and self.made < PROOFS:
            candidate = left.edits[wanted].candidate
            self.made += 1
            proof = self._prover.prove({candidate.path: candidate.source.encode()}, self._seed)
            if isinstance(proof, Unproven):
                self.late = candidate if proof.late and not self.objection else self.late
                self.objection = self.objection or proof.reason
                left = self._unbroken(left, candidate, proof.broken, shown)
            else:
                shown[candidate] = proof
        if left is not None:
            self._settle(left, shown)

    def finished(self) -> bool:
        """Whether there is no point in looking for more candidates."""
        return self.best is not None or self.made >= PROOFS

    def _unbroken(
        self, known: PlausibleEdits, unproven: Candidate, tests: Mapping[str, float], shown: Mapping[Candidate, Proof]
    ) -> PlausibleEdits | None:
        """The others without one, and without those that break the same tests; None when nothing is left.

        What is proven passed these tests in the whole suite. Some of them fail where they are screened alone.
        """
        others = [edit.candidate for edit in known.edits if edit.candidate is not unproven]
        unshown = [candidate for candidate in others if candidate not in shown]
        kept = self._passing(unshown, tests) | shown.keys() if tests else frozenset(others)
        return known.only(kept) if kept else None

    def _settle(self, known: PlausibleEdits, shown: Mapping[Candidate, Proof]) -> None:
        """Keep the best of what was proven, with its rank among the others."""
        judged = ranked(known)
        proven = [number for number in judged.order if known.edits[number].candidate in shown]
        if not proven:
            return
        best = min(proven, key=lambda number: _left_failing(shown[known.edits[number].candidate]))
        candidate = known.edits[best].candidate
        rival = judged.rival if best == judged.order[0] else judged.order[0]
        apart = rival if judged.clusters + judged.uncompared > 1 else None
        proof = replace(
            shown[candidate],
            confidence=judged.confidence,
            doubt=judged.doubt,
            plausible=len(known.edits),
            alike=judged.alike,
            clusters=judged.clusters,
            uncompared=judged.uncompared,
            share=round(judged.share, 3),
            telling=None
            if apart is None
            else distinguishing_call(known, best, apart, self._diff(known.edits[apart].candidate)),
        )
        if self.best is None or _left_failing(proof) < _left_failing(self.best.proof):
            self.best = Proven(candidate=candidate, proof=proof)


def _next(known: PlausibleEdits, shown: Mapping[Candidate, Proof]) -> int | None:
    """The candidate to prove next: the best, one that leaves nothing failing, then the best that behaves otherwise."""
    judged = ranked(known)
    proofs = [shown.get(edit.candidate) for edit in known.edits]
    if not any(proof is not None and not _left_failing(proof) for proof in proofs):
        return next((number for number in judged.order if proofs[number] is None), None)
    rival = judged.rival
    return rival if rival is not None and proofs[rival] is None else None


def _left_failing(proof: Proof) -> int:
    return len(proof.failed_before) - len(proof.passed_after)
