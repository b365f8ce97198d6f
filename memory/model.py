"""The nouns of Apprentice: frozen values, standard library only.

Everything that crosses a room of the house is one of these. Times are aware UTC datetimes,
paths are POSIX and relative to the repository's root, lines count from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class TaskKind(StrEnum):
    """What was asked for."""

    REPAIR = "repair"
    REVIEW = "review"


class Arm(StrEnum):
    """Whether a task may use what was learned, or serves as the yardstick."""

    LEARNED = "learned"
    CONTROL = "control"


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


class Severity(StrEnum):
    """How much harm a finding can do, worst last."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


class Action(StrEnum):
    """What review can do with a finding, loudest first."""

    INLINE_SUGGESTION = "inline_suggestion"
    INLINE = "inline"
    SUMMARY = "summary"
    HOLD = "hold"


class Permission(StrEnum):
    """An account's role on one repository, as GitHub reports it."""

    ADMIN = "admin"
    MAINTAIN = "maintain"
    WRITE = "write"
    TRIAGE = "triage"
    READ = "read"
    NONE = "none"


class SignalKind(StrEnum):
    """One thing that somebody can do about a decision. Silence is none of them."""

    FIX_MERGED = "fix_merged"
    FIX_CLOSED = "fix_closed"
    SUGGESTION_APPLIED = "suggestion_applied"
    THREAD_RESOLVED = "thread_resolved"
    REACTION_UP = "reaction_up"
    REACTION_DOWN = "reaction_down"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class Factor(StrEnum):
    """What the table learns about a strategy; its value is the product of both."""

    PROOF = "proof"
    ACCEPTANCE = "acceptance"


class AttemptOutcome(StrEnum):
    """How one strategy's attempt at a failure ended."""

    PROVEN = "proven"
    UNPROVEN = "unproven"
    NOTHING_PLAUSIBLE = "nothing_plausible"
    OUT_OF_BUDGET = "out_of_budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One level of a traceback, inside the repository."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is wrong, as the test run itself reported it.

    `frames` runs from the test inwards to the line that raised; frames outside the repository are left out.
    """

    error_type: str
    family: Family
    message: str
    frames: tuple[Frame, ...]
    failing_tests: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One row key of the table: `scope` names the level, `key` what it speaks of."""

    scope: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the policy sees.

    `label` is the error type of a failure or the rule of a finding, `family` its family or category,
    `tried` the strategies that this episode has used up.
    """

    kind: TaskKind
    repository: str
    label: str
    family: str
    tried: tuple[str, ...] = ()

    def levels(self) -> tuple[Level, ...]:
        """The rows that inform a choice here, most specific first; each is the prior of the one before it."""
        return (
            Level(scope="repository", key=f"{self.kind}|{self.repository}|{self.label}"),
            Level(scope="label", key=f"{self.kind}|{self.label}"),
            Level(scope="family", key=f"{self.kind}|{self.family}"),
            Level(scope="global", key=f"{self.kind}"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One randomised choice, with everything needed to explain and to re-weigh it.

    `probabilities` stand in the order of `available` and sum to 1; every one is above 0.
    `subject` is the fingerprint of the finding decided upon, empty for a repair.
    """

    id: str
    task_id: str
    state: State
    available: tuple[str, ...]
    probabilities: tuple[float, ...]
    chosen: str
    arm: Arm
    policy_version: str
    created_at: datetime
    subject: str = ""

    @property
    def probability(self) -> float:
        """The probability with which `chosen` was chosen."""
        return self.probabilities[self.available.index(self.chosen)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the tests said of a decision.

    `components` are the named parts of the reward, each within [-1, 1]; `target` is the Q-learning target within [0, 1]
    that they led to at the time (Watkins 1989), kept so that the table is a sum over the ledger.
    """

    decision_id: str
    components: Mapping[str, float]
    target: float
    weights_version: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """An account. The id identifies it; the login is for reading."""

    id: int
    login: str
    is_bot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One thing that somebody did about a decision.

    `source` names the event behind it ("reaction:81", "comment:9") and is unique together with the decision and kind:
    the same event seen twice is one signal. A signal whose `retracts` holds another's id takes that one back.
    """

    id: str
    decision_id: str
    kind: SignalKind
    actor: Actor
    permission: Permission
    source: str
    created_at: datetime
    weights_version: str
    weight: float
    retracts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What one ledger entry adds to one cell of the table, in millionths, so that sums do not depend on their order."""

    level: Level
    strategy: str
    factor: Factor
    weight: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of the table: the summed weight of its evidence (about: how many observations) and their mean in [0, 1]."""

    weight: float
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCount:
    """One whole run of a test suite."""

    passed: int
    failed: int
    skipped: int
    collected: int


MAJORITY = 0.5
"""The share of the weight of all plausible changes from which on one of them is proposed."""


class Confidence(StrEnum):
    """What other changes that pass the same tests say of a proven one.

    `unique`: there is no other, after an adequate search. `agreed`: they all behave alike on calls like the tests' own.
    `disputed`: they do not. `uncompared`: there are others, and no call to compare them by; or nobody looked for any.
    """

    UNIQUE = "unique"
    AGREED = "agreed"
    DISPUTED = "disputed"
    UNCOMPARED = "uncompared"


class Doubt(StrEnum):
    """Why a change that nothing disputes is asked about all the same.

    `search_cut`: too few others were tried. `far_fetched`: it is an unlikely one. `prone`: of a kind that often fits the
    tests and nothing else. `silences`: of a kind that may silence a test.
    """

    NONE = ""
    SEARCH_CUT = "search_cut"
    FAR_FETCHED = "far_fetched"
    PRONE = "prone"
    SILENCES = "silences"


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """A call that tells two changes apart, and what it gives with each; `patch` is the other one, a unified diff."""

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
    like this one, `clusters` in how many ways they behave, and `share`, within (0, 1], is the weight of this way in all;
    `telling` is there when these are disputed and a call shows it.
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
    share: float = 1.0
    telling: Telling | None = None

    @property
    def asked(self) -> bool:
        """Whether people are asked if the change is right, rather than told that it is."""
        settled = self.confidence in (Confidence.UNIQUE, Confidence.AGREED)
        return not settled or self.doubt is not Doubt.NONE

    @property
    def undecided(self) -> bool:
        """Whether the change is shown and not proposed: most of the weight is with changes that behave otherwise."""
        return self.confidence is Confidence.DISPUTED and self.share < MAJORITY


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A replacement for whole lines `start_line`..`end_line`, with what was shown about it."""

    start_line: int
    end_line: int
    replacement: str
    proof: Proof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What review saw. `fingerprint` survives shifted lines; `anchor` is the normalised source it stands on."""

    fingerprint: str
    path: str
    line: int
    end_line: int
    tool: str
    rule: str
    category: str
    severity: Severity
    message: str
    anchor: str
    suggestion: Suggestion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A finding as it was decided upon in one pull request: what keeps a later round from saying it again."""

    repository: str
    number: int
    sha: str
    decision_id: str
    finding: Finding
    action: Action
    created_at: datetime


class PostKind(StrEnum):
    """What we can put on GitHub that people answer to."""

    REVIEW_COMMENT = "review_comment"
    FIX_PULL = "fix_pull"
    ISSUE_COMMENT = "issue_comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Something that we put on GitHub, and the decisions it stands for.

    `number` is the issue or pull request it stands on; `github_id` the comment's id or the pull request's number.
    `watched` ends when nothing more is to be learned from it.
    """

    repository: str
    kind: PostKind
    number: int
    github_id: int
    decision_ids: tuple[str, ...]
    fingerprint: str = ""
    watched: bool = True
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """A failure, what was tried, what came of it, and what to remember. `tried` counts candidates by template."""

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
    attempts: tuple[Attempt, ...] = field(default=())
