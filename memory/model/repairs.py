"""Failures, tasks with their attempts to repair them, what proves a change, and what attempts leave to later ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.model.learning import TaskKind


class Family(StrEnum):
    """Kinds of failure that share causes, and therefore remedies."""

    ASSERTION = "assertion"
    ATTRIBUTE = "attribute"
    NAME = "name"
    TYPE = "type"
    VALUE = "value"
    LOOKUP = "lookup"
    ARITHMETIC = "arithmetic"
    IMPORT = "import"
    ITERATION = "iteration"
    RECURSION = "recursion"
    SYNTAX = "syntax"
    IO = "io"
    TIMEOUT = "timeout"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One level of a traceback, inside the repository."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is wrong, as the test run itself reported it.

    `frames` runs from the test inwards to the line that raised; frames outside the repository are left out. `operands` are
    the values that the assertion compared, as Python writes them: the message abbreviates long ones.
    """

    error_type: str
    family: Family
    message: str
    frames: tuple[Frame, ...]
    failing_tests: tuple[str, ...]
    operands: tuple[str, ...] = ()


class AttemptOutcome(StrEnum):
    """How one strategy's attempt at a failure ended."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    NOTHING_PLAUSIBLE = "nothing_plausible"
    OUT_OF_BUDGET = "out_of_budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCount:
    """One whole run of a test suite."""

    passed: int
    failed: int
    skipped: int
    collected: int


MAJORITY = 0.55
"""The share of the weight of all plausible changes from which on one of them is proposed: near a half, every
second one was wrong."""


SETTLED = 0.6
"""The share from which on a disputed change is called a fix: of those above it 7 of 8 were right on HumanEvalFix, below it 6 of 12."""


class Confidence(StrEnum):
    """What other changes that pass the same tests show about a proven one.

    `unique`: there is no other, after an adequate search. `agreed`: they all behave alike on calls like the tests' own.
    `disputed`: they do not. `uncompared`: there are others, and no call to compare them by; or none were searched.
    """

    UNIQUE = "unique"
    AGREED = "agreed"
    DISPUTED = "disputed"
    UNCOMPARED = "uncompared"


class Doubt(StrEnum):
    """Why a change that nothing disputes is asked about all the same.

    `search_cut`: too few others were tried. `far_fetched`: it is an unlikely one. `prone`: of a kind that often fits the
    tests and nothing else. `silences`: of a kind that may silence a test. `coincides`: of a kind that
    fits a few values by chance, as when it adds a number.
    """

    NONE = ""
    SEARCH_CUT = "search_cut"
    FAR_FETCHED = "far_fetched"
    PRONE = "prone"
    SILENCES = "silences"
    COINCIDES = "coincides"


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinguishingCall:
    """A call that tells two changes apart, and what it gives with each; `patch` is the other one, a unified diff.

    Where no call tells them apart, all but the patch is empty.
    """

    call: str
    this: str
    other: str
    patch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was shown about a change by running code.

    `suite` is the last run of the whole suite (or, for a suggestion, of the covering tests) with the change in place,
    `before` the same run without it, `repeats` how often it was run with the change.
    `plausible` counts the changes found that pass the failing and the covering tests, `alike` those among them that behave
    like this one, `clusters` in how many ways they behave, `uncompared` of how many that is not known though it is of
    others, and `share`, within (0, 1], is the weight of this way in all; `telling` is there when these behave in different
    ways, or might.
    `perturbed` counts the failing functions that fail, as they must, where they expect something else; `canaries` says that
    each run reported rightly on two added tests; `plain` counts failing tests that pass without pytest too; `unusual` names
    what the change uses or does that has no place in a repair. Where the test command names a part of the tests, `rest` is
    a run of all with the change in place. `unrun` says why some tests did not run with it, `cut` that these are some of
    the suite's own, for which there was no time.
    """

    failed_before: tuple[str, ...]
    passed_after: tuple[str, ...]
    before: SuiteCount
    suite: SuiteCount
    repeats: int
    command: str
    confidence: Confidence = Confidence.UNCOMPARED
    doubt: Doubt = Doubt.NONE
    plausible: int = 1
    alike: int = 1
    clusters: int = 1
    uncompared: int = 0
    share: float = 1.0
    telling: DistinguishingCall | None = None
    perturbed: int = 0
    canaries: bool = False
    plain: int = 0
    unusual: tuple[str, ...] = ()
    rest: SuiteCount | None = None
    unrun: str = ""
    cut: bool = False

    @property
    def asked(self) -> bool:
        """Whether the change is posted as a question instead of a fix."""
        settled = self.confidence in (Confidence.UNIQUE, Confidence.AGREED)
        return not settled or self.doubt is not Doubt.NONE or bool(self.unusual)

    @property
    def contested(self) -> bool:
        """Whether the change is not called a fix: others behave otherwise, or might, and have much of the weight; or it is an
        unlikely one; or the time was too short for its proof."""
        uncompared = self.confidence is Confidence.UNCOMPARED and self.plausible > 1
        weak = self.confidence is Confidence.DISPUTED and self.share < SETTLED
        return weak or uncompared or self.unlikely or self.cut

    @property
    def unlikely(self) -> bool:
        """Whether it is a far-fetched change that no other agrees with, or of a kind that fits few values by chance."""
        far_fetched = self.doubt is Doubt.FAR_FETCHED and self.confidence is not Confidence.AGREED
        return far_fetched or self.doubt is Doubt.COINCIDES

    @property
    def undecided(self) -> bool:
        """Whether the change is shown and not proposed: too much of the weight is with changes that behave otherwise."""
        return self.contested and self.share < MAJORITY


@dataclass(frozen=True, slots=True, kw_only=True)
class EditShape:
    """An edit without its names: what kind of node became what, so that it can be tried elsewhere.

    `template` is the family that made it; `before` and `after` are source with names replaced by holes.
    """

    template: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One strategy's try at a failure.

    `candidates` were tried to find an edit, `rivals` beyond them to tell whether it is the only one.
    """

    decision_id: str
    strategy: str
    probability: float
    candidates: int
    outcome: AttemptOutcome
    rivals: int = 0
    reflection: str = ""
    patch: str = ""
    shape: EditShape | None = None
    proof: Proof | None = None

    @property
    def by_model(self) -> bool:
        """Whether a model wrote the patch."""
        return self.strategy.startswith("model:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A replacement for whole lines `start_line`..`end_line`, with what was shown about it.

    `safe` says whether the tool that made it applies it without being asked twice.
    """

    start_line: int
    end_line: int
    replacement: str
    proof: Proof | None
    safe: bool = True


class RetryMode(StrEnum):
    """What a repair is given of earlier attempts at the same failure."""

    NONE = "none"
    LAST_ATTEMPT = "last_attempt"
    REFLECTION = "reflection"
    BOTH = "last_attempt_and_reflection"


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """The candidate that came nearest: `edit` is its unified diff, `passed` counts the failing tests that it mended.

    `error_type` and `message` are what the first other one became.
    """

    path: str
    line: int
    template: str
    edit: str
    passed: int
    error_type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """What an attempt that proved nothing tried and saw; `id` is that of its experience.

    `ruled_out` are the candidates that failed, each as a short digest of what it replaced by what. `summary` is
    the same in a sentence or two.
    """

    id: str
    repository: str
    failing_tests: tuple[str, ...]
    outcome: AttemptOutcome
    ruled_out: tuple[str, ...]
    nearest: NearMiss | None
    summary: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """A failure, what was tried, its outcome, and what to remember. `tried` counts candidates by template and skill.

    `shape` is the proven edit without its names: what a skill is. `usual` is the mean of proof that the table gave the
    strategy when it was tried, where it was asked. `contested` says that the tests did not decide on the edit.
    """

    id: str
    repository: str
    task_id: str
    error_type: str
    family: Family
    signature: str
    path: str
    strategy: str
    outcome: AttemptOutcome
    reflection: str
    patch: str
    shape: EditShape | None
    created_at: datetime
    tried: Mapping[str, int] = field(default_factory=dict)
    usual: float | None = None
    contested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """A remembered experience and how near it is: `score` is a fused rank score, higher is nearer."""

    experience: Experience
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Work on one repository at one pinned commit. `number` is the issue or pull request, 0 for local use."""

    id: str
    kind: TaskKind
    repository: str
    sha: str
    number: int
    created_at: datetime
