"""The result of a repair and of each of its attempts, as values, and what is learned from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from memory.model import (
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
from workers.ports import Image
from workers.repair.classify import signature

LONGEST_MESSAGE = 120


class RepairStatus(StrEnum):
    """How a repair ended, in the words of `apprentice fix --json`."""

    FIXED = "fixed"
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
    `fixed` is the most failing tests that any candidate made pass, `became` the failure that the nearest candidate led to
    (None if it stayed the same), `tried` the candidates up to the first plausible one by template, `wasted` those whose
    tests never ended or ended their process, `ruled_out` digests of failed candidates, `path` the file of the proven or
    nearest edit, `images` what the model was shown. `counts` is false where the model was unavailable: such an attempt
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
    became: Failure | None = None
    wasted: int = 0
    ruled_out: tuple[str, ...] = ()
    patch: str = ""
    shape: EditShape | None = None
    proof: Proof | None = None
    images: tuple[Image, ...] = ()
    effort: float | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """The result of a repair. `tests` is how many were collected, `flaky` those set aside because they failed only once."""

    status: RepairStatus
    failure: Failure | None
    attempts: tuple[Attempt, ...]
    tests: int
    flaky: tuple[str, ...]
    candidates: int
    test_runs: int
    seconds: float
    first: FirstPlausible | None = None

    @property
    def proven(self) -> Attempt | None:
        """The attempt that carries a proof."""
        return next((a for a in self.attempts if a.outcome is AttemptOutcome.PROVEN), None)


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
        images=tuple(image.digest for image in result.images),
    )


# ── What an attempt is worth ───────────────────────────────────────────────────────────────────────────────────────


def components(failure: Failure, result: AttemptResult) -> dict[str, float]:
    """The parts of the reward of one strategy's attempt."""
    proven = result.outcome is AttemptOutcome.PROVEN
    found = repair_components(
        failing_before=len(failure.failing_tests),
        fixed=len(failure.failing_tests) if proven else result.fixed,
        broken=int(result.outcome is AttemptOutcome.UNPROVEN),
        moved=result.became is not None,
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


# ── What a search taught, in words ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a search's attempt. `nearest` is the template of the candidate that came closest, at `path`:`line`.

    `passed` of the failing tests passed with it; `error_type` and `message` are what the first other one became.
    `objection` is why a plausible candidate was not proven.
    """

    strategies: tuple[str, ...]
    outcome: AttemptOutcome
    failure: Failure
    candidates: int
    plausible: int
    nearest: str = ""
    path: str = ""
    line: int = 0
    passed: int = 0
    error_type: str = ""
    message: str = ""
    objection: str = ""


def reflection(facts: Facts) -> str:
    """What was tried, what came closest, and what that suggests."""
    return f"{_tried(facts)} {_lesson(facts)}".strip()


def _tried(facts: Facts) -> str:
    what = "/".join(facts.strategies) or "replay"
    count = "no candidate" if not facts.candidates else f"{facts.candidates} candidate{'s' * (facts.candidates > 1)}"
    match facts.outcome:
        case AttemptOutcome.PROVEN:
            return f"{what}: {facts.nearest} at {facts.path}:{facts.line} is proven after {count}."
        case AttemptOutcome.OUT_OF_BUDGET:
            return f"{what}: time ran out after {count}."
        case AttemptOutcome.UNPROVEN:
            return f"{what}: {facts.plausible} of {count} looked right, and none is proven."
        case AttemptOutcome.NOTHING_PLAUSIBLE:
            return f"{what}: {count} tried, none makes the failing tests pass."


def _lesson(facts: Facts) -> str:
    where = f"{facts.nearest} at {facts.path}:{facts.line}"
    wanted = len(facts.failure.failing_tests)
    if facts.outcome is AttemptOutcome.PROVEN:
        return ""
    if facts.objection:
        return f"Best was {where}: {facts.objection}."
    if not facts.nearest:
        return "The fault needs another kind of edit, or lies on other lines."
    if facts.passed == wanted:
        return f"{where} repairs the failing tests but breaks a test that passed: right place, too broad an edit."
    if facts.passed:
        return f"{where} repairs {facts.passed} of {wanted} failing tests: the place matters, and more is wrong there."
    if facts.error_type == facts.failure.error_type:
        return f"The failure stays {facts.error_type}: the fault needs another kind of edit, or lies on other lines."
    return f"With {where} the failure becomes {facts.error_type}{_quoted(facts.message)}: that line takes part in it."


def _quoted(message: str) -> str:
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return f" ({first[:LONGEST_MESSAGE]})" if first else ""
