"""Decisions, their outcomes and the feedback on them, and the versions of the policy that learns from these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple


class TaskKind(StrEnum):
    REPAIR = "repair"
    REVIEW = "review"
    ISSUE = "issue"


EMBEDDED = "embedded"
"""The strategy of a repair that hands it to the embedded engine, whose own choices are decisions of the same task."""

REPLAY = "replay"
"""The strategy of the embedded engine that makes learned edits again."""

EVERYTHING = "everything"
"""The strategy of the embedded engine that tries all candidates, best first, for all the time that is left."""

STOP = "stop"
"""The choice to end a repair without a fix. It is worth nothing and costs nothing."""

ENDING = frozenset({EVERYTHING, STOP})
"""What leaves nothing to choose after it."""


class Arm(StrEnum):
    """Whether a task may use what was learned, or serves as the yardstick."""

    LEARNED = "learned"
    CONTROL = "control"


class Permission(StrEnum):
    """An account's role on one repository, as GitHub reports it."""

    ADMIN = "admin"
    MAINTAIN = "maintain"
    WRITE = "write"
    TRIAGE = "triage"
    READ = "read"
    NONE = "none"


class SignalKind(StrEnum):
    """One thing that a user can do about a decision. Silence is no signal.

    An edited fix was merged after a user put another edit in the place of ours; a reverted one was merged and taken out.

    Those of findings follow from the code of a later push: a change of its lines ended it, a change of other lines did, a
    comment silenced the tool, the lines or the file went for other reasons; or it was still there at the merge.
    """

    FIX_MERGED = "fix_merged"
    FIX_CLOSED = "fix_closed"
    FIX_EDITED = "fix_edited"
    FIX_REVERTED = "fix_reverted"
    SUGGESTION_APPLIED = "suggestion_applied"
    THREAD_RESOLVED = "thread_resolved"
    REACTION_UP = "reaction_up"
    REACTION_DOWN = "reaction_down"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    FINDING_FIXED = "finding_fixed"
    FINDING_FIXED_ELSEWHERE = "finding_fixed_elsewhere"
    FINDING_SILENCED = "finding_silenced"
    FINDING_REWRITTEN = "finding_rewritten"
    FINDING_GONE = "finding_gone"
    FINDING_LEFT = "finding_left"


class Factor(StrEnum):
    """What the table learns about a strategy; its value is the product of both."""

    PROOF = "proof"
    ACCEPTANCE = "acceptance"


class AttemptEffect(StrEnum):
    """What the last attempt did to the failure; `BROKE` where an edit passed the failing tests and was not proven."""

    SAME = "same"
    MOVED = "moved"
    FEWER = "fewer"
    BROKE = "broke"
    TIMED_OUT = "timed_out"


PERIOD = timedelta(days=90)
"""Evidence of one such stretch of time is summed together, and decays together."""


def period_of(at: datetime) -> int:
    """The number of the period that a time lies in, since 1970."""
    return int(at.timestamp()) // int(PERIOD.total_seconds())


class Level(NamedTuple):
    """One row key of the table: `scope` names the level, `key` its subject. A tuple: a choice looks up hundreds."""

    scope: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the policy sees.

    `label` is the error type of a failure or the rule of a finding, `family` its family or category, `place` what the file
    of a finding is for; `tried` the strategies that this episode has used up, `after` what the last of them did to the
    failure, an AttemptEffect; empty at first.
    """

    kind: TaskKind
    repository: str
    label: str
    family: str
    tried: tuple[str, ...] = ()
    place: str = ""
    after: str = ""

    @property
    def here(self) -> Level:
        """The row of this label in this repository."""
        return Level(scope="repository", key=f"{self.kind}|{self.repository}|{self.label}")

    @property
    def everywhere(self) -> Level:
        """The row of this label in all repositories."""
        return Level(scope="label", key=f"{self.kind}|{self.label}")

    @property
    def effect_level(self) -> Level | None:
        """The row of what the last attempt did, over all labels; None at first."""
        return Level(scope="after", key=f"{self.kind}|{self.after}") if self.after else None

    def rows(self) -> tuple[Level, ...]:
        """All rows that inform a choice here, and that its results are added to.

        They follow from kind, repository, label, family, place and after alone: a rebuild groups the ledger by these.
        """
        return (*self.levels(), *((self.effect_level,) if self.effect_level else ()))

    def levels(self) -> tuple[Level, ...]:
        """The rows of the failure or the finding, most specific first; each is the prior of the one before it."""
        there = Level(scope="place", key=f"{self.kind}|{self.repository}|{self.label}|{self.place}")
        return (
            *((there,) if self.place else ()),
            self.here,
            self.everywhere,
            Level(scope="family", key=f"{self.kind}|{self.family}"),
            Level(scope="global", key=f"{self.kind}"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One randomised choice, with everything needed to explain and to re-weigh it.

    `probabilities` have the order of `available` and sum to 1; every one is above 0.
    `subject` is the fingerprint of the finding decided upon, empty for a repair. `chosen` can be drawn again: it is what
    a generator seeded with `seed` picks. `features` is what else the policy saw or expected, by name.
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
    seed: int = 0
    features: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def period(self) -> int:
        """The period that it was made in. Its results count for this one, however late they come."""
        return period_of(self.created_at)

    @property
    def probability(self) -> float:
        return self.probabilities[self.available.index(self.chosen)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The test result of a decision.

    `components` are the named parts of the reward, each within [-1, 1]; `target` is the shaped reward within [0, 1] that
    they gave at the time, kept so that the table is a sum over the ledger. Where the edit that was proven is one of another
    strategy than the chosen one, that is `credited` with `credit`, the share of an observation that it counts for.
    """

    decision_id: str
    components: Mapping[str, float]
    target: float
    weights_version: str
    created_at: datetime
    credited: str = ""
    credit: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """An account. The id identifies it; the login is for reading."""

    id: int
    login: str
    is_bot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One thing that a user did about a decision.

    `source` names the event behind it ("reaction:81", "comment:9") and is unique together with the decision and kind:
    the same event seen twice is one signal. A signal whose `retracts` holds another's id undoes that one:
    `actor` is then still who gave it, and `by` who retracts it.
    `limited` marks a weight of 0 because this actor is over the daily limit.
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
    by: Actor | None = None
    limited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What ledger entries add to one cell of the table, in millionths, so that sums do not depend on their order.

    `repository` and `teacher` are the contributor, whose evidence it is. Tests have no teacher: theirs is empty. `period` is
    that of the decision.
    """

    level: Level
    strategy: str
    factor: Factor
    weight: int
    value: int
    repository: str
    teacher: str = ""
    period: int = 0


class Cell(NamedTuple):
    """One cell of the table: the summed weight of its evidence (about: how many observations) and their mean in [0, 1].

    `repositories` is how many repositories this evidence comes from.
    """

    weight: float
    mean: float
    repositories: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDecision:
    """A decision with its test result, if there is one, and the feedback on it that is not retracted."""

    decision: Decision
    outcome: Outcome | None = None
    signals: tuple[Signal, ...] = ()


class PolicyEventKind(StrEnum):
    """How a version of the policy came to be the one in use."""

    ROLLED_BACK = "rolled_back"
    REINSTATED = "reinstated"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEvent:
    """From `created_at` on `version` is in use instead of `instead_of`; `newest` was the newest that there was then.

    `reason` is a line for users, with the figures behind it.
    """

    id: str
    kind: PolicyEventKind
    version: str
    instead_of: str
    newest: str
    reason: str
    created_at: datetime
