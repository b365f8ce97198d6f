"""Which version of the policy is in use, and when to go back to another one.

The rule is pure. It compares the version in use with two others since it came into use: with the control arm, by the
shares of repairs that are fixed, and fixed and accepted; and with its former, on the very decisions that it made itself, by
what the former would have been worth there. Both are concurrent, so that harder times do not look like a worse policy. Intervals
are always valid, so the rule may be asked after every task: of all versions that are no worse, about `FALSE_ALARMS` are
ever gone back from.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.evaluation.control_arm import accepted, arm_difference, fixed, learned_ones, results
from memory.evaluation.off_policy import CLIP, MIN_EFFECTIVE, LoggedStep, LogReplay, of_version, replay
from memory.intervals import LEAST, ConfidenceSequence, Numbers, confidence_sequence, effective
from memory.model import Arm, LoggedDecision, PolicyEvent, PolicyEventKind, TaskKind
from memory.policy.q_table import CONTROL, PRESENT, VERSIONS, Parameters, former_of
from memory.store import Store
from memory.store.evidence import QUORUM

FALSE_ALARMS = 0.05
"""The chance that a version which is no worse is ever gone back from, over all looks and comparisons."""

COMPARISONS = 3
"""Each has an equal share of that chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveVersion:
    """The version that decides now, and since when; None: since it was first used."""

    version: str
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionComparison:
    """The version in use minus another one; no band where too little is known, and `unknown` says why."""

    against: str
    measure: str
    band: ConfidenceSequence | None
    unknown: str = ""

    @property
    def worse(self) -> bool:
        """Whether the version in use was shown to do worse."""
        return self.band is not None and self.band.high < 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionJudgement:
    """Whether the version in use stays, and which one to use from now on."""

    version: str
    comparisons: tuple[VersionComparison, ...]
    use: str

    @property
    def reason(self) -> str:
        """One line for people."""
        worse = (
            f"{each.measure}: {found.mean:+.3f} against {each.against} "
            f"(always-valid interval {found.low:+.3f} to {found.high:+.3f}, {found.n} tasks)"
            for each in self.comparisons
            if (found := each.band) is not None and each.worse
        )
        return "; ".join(worse) or "not shown to be worse than what it replaced"


def in_use(events: Sequence[PolicyEvent], versions: Mapping[str, Parameters] = VERSIONS) -> ActiveVersion:
    """The last event decides, until there is a newer version than it knew of: that one is used when it comes."""
    newest = list(versions)[-1]
    last = events[-1] if events else None
    if last is None or last.newest != newest:
        return ActiveVersion(version=newest)
    return ActiveVersion(version=last.version, since=last.created_at)


def judge(
    log: Sequence[LoggedDecision],
    used: ActiveVersion,
    versions: Mapping[str, Parameters] = VERSIONS,
    *,
    left: Collection[str] = (),
    quorum: int = QUORUM,
) -> VersionJudgement:
    """Compare the version in use with the control arm and with its former, by the decisions of repairs.

    A version that is worse gives way to the nearest one before it that is not in `left` (those gone back from before), or
    to control. Control is the reference and is not judged.
    """
    if used.version == CONTROL:
        return VersionJudgement(version=CONTROL, comparisons=(), use=CONTROL)
    former, each = former_of(used.version, versions), FALSE_ALARMS / COMPARISONS
    found = _with_control(log, used, each)
    worse = worse_than_control(*(comparison.band for comparison in found))
    if former != CONTROL:
        walked = replay(
            log, {"ours": of_version(versions[used.version]), "theirs": of_version(versions[former])}, quorum=quorum
        )
        found.append(_with_former(log, used, former, walked, each))
        worse = worse or found[-1].worse
    use, left = used.version, {*left, used.version}
    while worse and use in left and use != CONTROL:
        use = former_of(use, versions)
    return VersionJudgement(version=used.version, comparisons=tuple(found), use=use)


def worse_than_control(fixes: ConfidenceSequence | None, accepts: ConfidenceSequence | None) -> bool:
    """Whether fewer are fixed and accepted; or fewer fixed, which is known sooner, and acceptance does not make up for it."""
    if fixes is None or accepts is None:
        return False
    return accepts.high < 0.0 or (fixes.high < 0.0 and accepts.mean < 0.0)


def _ours(entry: LoggedDecision, used: ActiveVersion) -> bool:
    """Whether the version in use made this decision since it came into use."""
    decision = entry.decision
    return decision.policy_version == used.version and (used.since is None or decision.created_at >= used.since)


def _with_control(log: Sequence[LoggedDecision], used: ActiveVersion, alpha: float) -> list[VersionComparison]:
    """The two arms of the tasks since then. Control tasks carry the version in use at their time."""
    tasks = results([entry for entry in log if _ours(entry, used)])
    learned = learned_ones(tasks)
    counts = f"{learned.sum()} learned and {(~learned).sum()} control tasks, at least {LEAST} of each are needed"
    found = []
    for measure, outcomes in (("fixed", fixed(tasks)), ("fixed and accepted", accepted(tasks))):
        shown = confidence_sequence(arm_difference(learned, outcomes), alpha=alpha, two_sided=False)
        found.append(VersionComparison(against=CONTROL, measure=measure, band=shown, unknown="" if shown else counts))
    return found


def _with_former(
    log: Sequence[LoggedDecision], used: ActiveVersion, former: str, walked: LogReplay, alpha: float
) -> VersionComparison:
    """What each was worth at the decisions of the one in use, doubly robust, task by task."""
    made = {entry.decision.id for entry in log if _ours(entry, used) and entry.decision.arm is Arm.LEARNED}
    rows = zip(walked.steps, walked.chances["ours"], walked.chances["theirs"], strict=True)
    found, size = gains([row for row in rows if row[0].id in made])
    enough = size >= MIN_EFFECTIVE
    unknown = "" if enough else f"the log is worth {size:.0f} decisions, and {MIN_EFFECTIVE:.0f} are needed"
    return VersionComparison(
        against=former,
        measure="proof target",
        band=confidence_sequence(found, alpha=alpha, two_sided=False) if enough else None,
        unknown=unknown,
    )


def gains(rows: Iterable[tuple[LoggedStep, Numbers, Numbers]]) -> tuple[Numbers, float]:
    """By task, what the version that decided was worth more than another one; and the effective number of decisions.

    `rows` hold each decision with the odds of both. Doubly robust: where both would choose alike, nothing is left but
    what the model makes of the small difference in odds.
    """
    by_task: dict[str, list[float]] = {}
    weights = []
    for step, ours, theirs in rows:
        weight = min(theirs[step.chosen] / step.logged, CLIP)
        surprise = step.target - step.value[step.chosen]
        by_task.setdefault(step.task, []).append(float((ours - theirs) @ step.value + (1.0 - weight) * surprise))
        weights.append(weight)
    return np.array([np.mean(each) for each in by_task.values()]), effective(np.array(weights))


def current(store: Store) -> ActiveVersion:
    return in_use(store.policy_events.all())


def look(store: Store, log: Sequence[LoggedDecision], *, quorum: int = QUORUM) -> VersionJudgement:
    """Judge the version in use by `log`, the store's repair decisions."""
    events = store.policy_events.all()
    left = {each.instead_of for each in events if each.kind is PolicyEventKind.ROLLED_BACK}
    return judge(log, in_use(events), left=left, quorum=quorum)


def check(store: Store, now: datetime, event_id: str, *, quorum: int = QUORUM) -> PolicyEvent | None:
    """Judge the version in use, and go back where it is worse; the event, or None where nothing changes."""
    judged = look(store, store.ledger.logged(TaskKind.REPAIR), quorum=quorum)
    if judged.use == judged.version:
        return None
    event = _event(event_id, PolicyEventKind.ROLLED_BACK, judged.use, judged.version, judged.reason, now)
    return event if store.policy_events.append(event) else None


def reinstate(store: Store, version: str, now: datetime, event_id: str) -> PolicyEvent:
    """Use this version from now on, by order of the operator. Its earlier results no longer count for or against it.

    Raises KeyError for a version that does not exist.
    """
    if version != CONTROL and version not in VERSIONS:
        raise KeyError(version)
    instead_of = current(store).version
    event = _event(event_id, PolicyEventKind.REINSTATED, version, instead_of, "reinstated by the operator", now)
    store.policy_events.append(event)
    return event


def _event(
    event_id: str, kind: PolicyEventKind, version: str, instead_of: str, reason: str, now: datetime
) -> PolicyEvent:
    newest = PRESENT.version
    return PolicyEvent(
        id=event_id, kind=kind, version=version, instead_of=instead_of, newest=newest, reason=reason, created_at=now
    )
