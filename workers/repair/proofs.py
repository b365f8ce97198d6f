"""Put plausible candidates to the proof, best first, and keep the best that is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.model import Failure, Proof
from workers.ports import Limits, Sandbox
from workers.repair.candidates import Candidate
from workers.repair.prove import Unproven, prove
from workers.repair.reproduce import Reproduction
from workers.sandbox.project import Project

PROOFS = 4
"""So many candidates of one attempt are put to the proof."""

REPEATS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """A candidate and what was shown about it."""

    candidate: Candidate
    proof: Proof

    def left_failing(self) -> int:
        """How many tests failed before and still do."""
        return len(self.proof.failed_before) - len(self.proof.passed_after)


class Prover:
    """Proves candidates for one failure. `runs` counts how often tests were run for that."""

    def __init__(
        self, sandbox: Sandbox, project: Project, reproduction: Reproduction, failure: Failure, limits: Limits | None
    ) -> None:
        self._sandbox = sandbox
        self._project = project
        self._reproduction = reproduction
        self._failure = failure
        self._limits = limits
        self.runs = 0

    def begin(self, seed: int) -> Proofs:
        """The proofs of one attempt."""
        return Proofs(self, seed)

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
    """What was proven in one attempt. `objection` is what stood against the first candidate that was not proven."""

    def __init__(self, prover: Prover, seed: int) -> None:
        self._prover = prover
        self._seed = seed
        self.best: Proven | None = None
        self.objection = ""
        self.made = 0

    def take(self, candidates: Sequence[Candidate]) -> None:
        """Prove these in turn, until one repairs everything that failed, or enough were tried."""
        for candidate in candidates:
            if self.made >= PROOFS or (self.best is not None and not self.best.left_failing()):
                return
            self.made += 1
            self._add(candidate, self._prover.prove(candidate, self._seed))

    def finished(self) -> bool:
        """Whether there is no point in looking for more candidates."""
        return self.best is not None or self.made >= PROOFS

    def _add(self, candidate: Candidate, shown: Proof | Unproven) -> None:
        if isinstance(shown, Unproven):
            self.objection = self.objection or shown.reason
            return
        proven = Proven(candidate=candidate, proof=shown)
        if self.best is None or proven.left_failing() < self.best.left_failing():
            self.best = proven
