"""The result of a repair and of each of its attempts, as values, and what is learned from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from memory.model import (
    Attempt,
    AttemptEffect,
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
from workers.repair.classify import signature


class RepairStatus(StrEnum):
    """How a repair ended, in the words of `apprentice fix --json`.

    `undecided`: a change passes all tests, and others that behave otherwise, or might, pass the failing ones too.
    """

    FIXED = "fixed"
    UNDECIDED = "undecided"
    NOT_FIXED = "not_fixed"
    NOTHING_FAILING = "nothing_failing"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPlausible:
    """How many candidates were tried up to the first plausible one, and seconds since the start: of an attempt, or of all."""

    candidates: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """The result of trying one strategy. `patch` is a unified diff, empty unless proven; so are `shape` and `proof`.

    `candidates` are edits that were tried, or steps of a model; `effort` is the share of a model's steps, None for a search.
    `fixed` is the most failing tests that any candidate made pass, `moved` whether the nearest candidate led to another
    failure, `made_by` the strategy of the proven edit, `tried` the candidates up to the first plausible one by template, `wasted` those whose
    tests never ended or ended their process, `ruled_out` digests of failed candidates, `path` the file of the proven or
    nearest edit, `late` the unified diff of a plausible edit for whose proof no time was left. `counts` is false where the model was unavailable: such an attempt
    says nothing about its strategy.
    """

    outcome: AttemptOutcome
    candidates: int
    reflection: str
    rivals: int = 0
    fixed: int = 0
    path: str = ""
    nearest: NearMiss | None = None
    first: FirstPlausible | None = None
    tried: Mapping[str, int] = field(default_factory=dict)
    moved: bool = False
    wasted: int = 0
    ruled_out: tuple[str, ...] = ()
    patch: str = ""
    late: str = ""
    made_by: str = ""
    shape: EditShape | None = None
    proof: Proof | None = None
    effort: float | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEffort:
    """What a search without success did, its times in seconds. `whole` says that the suite was run to find what fails.

    `candidates` counts as in `Repaired`, without rivals.

    `exhausted` says that the search ended before its time did, so that more time does not help, `stopped` that what was
    left was not worth its time. `alone` is a test that an edit was sought for by itself, after all together.
    """

    candidates: int
    searching: float
    reproducing: float
    proving: float
    budget: float
    whole: bool
    exhausted: bool
    stopped: bool = False
    alone: str = ""

    def described(self) -> str:
        """The same in words."""
        tried = f"{self.candidates} candidate{'s' * (self.candidates != 1)}"
        more = " It ended before its time was up, so more time does not help." if self.exhausted else ""
        if self.stopped:
            more = " It stopped early: a longer search has hardly ever repaired such a failure here."
        return (
            f"{tried} tried in {self.searching:.0f} s, after "
            f"{self.reproducing:.0f} s to find what fails; {self.proving:.0f} s were for proofs.{more}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """The result of a repair. `tests` is how many there were at first, without those `set_aside`, `skipped` how many of them
    did not run, `flaky` those that are left out because they failed only once.

    `others` is how many tests failed beside the `failure`. `late` is the unified diff of an edit that passes the
    failing tests where none is proven, and no time was left for its proof.

    `proof_seconds` is the part of `seconds` for proofs; `effort` is there where a search found nothing; `set_aside` holds
    why nothing here can repair other failures, by test, and `note` says where the tests ran, if that is unusual;
    `environment_seconds`, beside `seconds`, went into finding or making it.
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
    set_aside: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    environment_seconds: float = 0.0
    first: FirstPlausible | None = None
    others: int = 0
    skipped: int = 0
    late: str = ""

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


def attempt_effect(result: AttemptResult) -> AttemptEffect:
    """What an attempt without a proof did to the failure."""
    if result.outcome is AttemptOutcome.UNPROVEN:
        return AttemptEffect.BROKE
    if result.fixed:
        return AttemptEffect.FEWER
    if result.moved:
        return AttemptEffect.MOVED
    return AttemptEffect.TIMED_OUT if 2 * result.wasted > result.candidates else AttemptEffect.SAME


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
