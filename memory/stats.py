"""What was measured: repairs by arm, what learning was worth with its uncertainty, and acceptance by pattern."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from statistics import mean

import numpy as np

from memory.evaluation.control_arm import ArmDifference, Uplift, compared, results, unknown, uplift
from memory.evaluation.findings import ADDRESSED, AddressedShare, HiddenShare, addressed, suppression
from memory.evaluation.pooling import PooledUplift, UpliftCounts, pooled
from memory.evaluation.rollback import current
from memory.intervals import wilson
from memory.model import Action, Arm, AttemptOutcome, Decision, Factor, LoggedDecision, SignalKind, TaskKind
from memory.policy.q_table import CONTROL
from memory.rewards import PATTERN
from memory.skills import Skill
from memory.skills import current as skills
from memory.store import Store
from memory.store.calls import PurposeCost, TaskCost

_RESAMPLES = 2000
LIKED = frozenset({SignalKind.ACCEPTED, SignalKind.REACTION_UP})
ACCEPTED_FINDING = ADDRESSED | LIKED
ACCEPTED_FIX = frozenset({SignalKind.FIX_MERGED, SignalKind.SUGGESTION_APPLIED}) | LIKED


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmStats:
    """Repairs of one arm. The candidates are those tried up to and including the first proven patch, of fixed tasks."""

    arm: str
    tasks: int
    fixed: int
    rate: float | None
    rate_low: float
    rate_high: float
    mean_candidates: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleAcceptance:
    """Feedback on one rule: the summed weight of verdicts, their mean, and the number of repositories."""

    rule: str
    decisions: int
    verdicts: float
    acceptance: float
    repositories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedEarlier:
    """Findings first posted in a later round though an earlier one had their lines; `unread` where not all was read."""

    findings: int
    unread: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPerAccepted:
    """The total cost of one kind of task, and per accepted result; None each where nothing was accepted yet.

    `micros` are millionths of a US dollar, 0 where no price is set.
    """

    what: str
    tasks: int
    accepted: int
    tokens: int
    micros: int
    tokens_each: float | None
    micros_each: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Costs of calls to a model, by repository, purpose and tier, and by what was accepted."""

    calls: tuple[PurposeCost, ...]
    per_accepted: tuple[CostPerAccepted, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Everything `apprentice stats` shows. `version` is the policy in use, `since` why it is that one and not the newest."""

    arms: tuple[ArmStats, ...]
    fix_rate: ArmDifference
    candidates: ArmDifference
    uplift: tuple[Uplift, ...]
    pooled: PooledUplift | None
    addressed: tuple[AddressedShare, ...]
    suppression: tuple[HiddenShare, ...]
    version: str
    since: str
    patterns: tuple[RuleAcceptance, ...]
    skills: tuple[Skill, ...]
    missed: MissedEarlier
    actions: Mapping[str, int]
    signals: Mapping[str, int]
    costs: Costs | None = None

    def to_json(self) -> dict[str, object]:
        """Plain values that `json.dumps` takes; `costs` only where a model was called, `pooled` only with files of counts."""
        optional = {"costs", "pooled"}
        return {name: value for name, value in asdict(self).items() if value or name not in optional}


def stats(store: Store, control_share: float, files: Mapping[str, UpliftCounts] | None = None) -> Stats:
    """Count everything in the ledger; `files` are counts of other installations, by the name of their file."""
    repaired, reviewed = (store.ledger.logged(kind) for kind in (TaskKind.REPAIR, TaskKind.REVIEW))
    repairs = _repairs(store, repaired)
    by_arm = {arm: [found for one, found in repairs if one is arm] for arm in Arm}
    candidates = {arm: [float(n) for n in found if n is not None] for arm, found in by_arm.items()}
    reviews = [entry.decision for entry in reviewed]
    tasks = [each for each in results(repaired) if each.version != CONTROL]
    calls = [replace(each, repository=store.name_of(each.repository)) for each in store.calls.summary()]
    return Stats(
        arms=tuple(_arm_stats(arm, by_arm[arm]) for arm in Arm),
        fix_rate=rate_difference(
            len(candidates[Arm.LEARNED]),
            len(by_arm[Arm.LEARNED]),
            len(candidates[Arm.CONTROL]),
            len(by_arm[Arm.CONTROL]),
        ),
        candidates=mean_difference(candidates[Arm.LEARNED], candidates[Arm.CONTROL]),
        uplift=uplift(tasks, control_share),
        pooled=None if files is None else pooled(repaired, tasks, files),
        addressed=addressed(reviewed),
        suppression=suppression(reviewed),
        version=current(store).version,
        since=_since(store),
        patterns=_patterns(store, reviews),
        skills=tuple(
            replace(each, repositories=tuple(map(store.name_of, each.repositories))) for each in skills(store)
        ),
        missed=_missed(store, reviews),
        actions=dict(sorted(Counter(decision.chosen for decision in reviews).items())),
        signals={kind: count for kind, count in store.ledger.signal_counts().items() if count},
        costs=costs(calls, store.calls.by_task(), repaired, reviewed),
    )


def rate_difference(learned: int, of_learned: int, control: int, of_control: int) -> ArmDifference:
    """The difference of two proportions with its interval (Newcombe 1998, method 10)."""
    if not of_learned or not of_control:
        return unknown(of_learned, of_control)
    one, other = learned / of_learned, control / of_control
    (low1, high1), (low2, high2) = wilson(learned, of_learned), wilson(control, of_control)
    gap = one - other
    low = gap - sqrt((one - low1) ** 2 + (high2 - other) ** 2)
    high = gap + sqrt((high1 - one) ** 2 + (other - low2) ** 2)
    return compared(gap, low, high)


def mean_difference(learned: Sequence[float], control: Sequence[float]) -> ArmDifference:
    """The difference of two means with its bootstrap percentile interval (Efron 1979), from a fixed seed."""
    if len(learned) < 2 or len(control) < 2:
        return unknown(len(learned), len(control), least=2)
    generator = np.random.default_rng(0)
    resampled = [
        generator.choice(np.asarray(sample), size=(_RESAMPLES, len(sample))).mean(axis=1)
        for sample in (learned, control)
    ]
    low, high = np.percentile(resampled[0] - resampled[1], [2.5, 97.5]).tolist()
    gap = mean(learned) - mean(control)
    return compared(gap, low, high, better_when_higher=False)


def _repairs(store: Store, log: Sequence[LoggedDecision]) -> list[tuple[Arm, int | None]]:
    """For each repair task that tried anything: its arm, and the candidates up to the proven patch, None without one."""
    made, found = store.tasks.attempts_of_repairs(), list[tuple[Arm, int | None]]()
    for task_id, arm in {entry.decision.task_id: entry.decision.arm for entry in log}.items():
        if attempts := made.get(task_id):
            proven = any(attempt.outcome is AttemptOutcome.PROVEN for attempt in attempts)
            found.append((arm, sum(each.candidates for each in attempts) if proven else None))
    return found


def _arm_stats(arm: Arm, found: Sequence[int | None]) -> ArmStats:
    candidates = [n for n in found if n is not None]
    low, high = wilson(len(candidates), len(found))
    return ArmStats(
        arm=arm,
        tasks=len(found),
        fixed=len(candidates),
        rate=len(candidates) / len(found) if found else None,
        rate_low=low,
        rate_high=high,
        mean_candidates=mean(candidates) if candidates else None,
    )


def _patterns(store: Store, reviews: Sequence[Decision]) -> tuple[RuleAcceptance, ...]:
    """Rules with at least one verdict, the most judged first."""
    states = {decision.state.label: decision.state for decision in reviews}
    decided = Counter(decision.state.label for decision in reviews)
    cells = store.ledger.totals([state.everywhere for state in states.values()])
    patterns = (
        RuleAcceptance(
            rule=rule,
            decisions=decided[rule],
            verdicts=cell.weight,
            acceptance=cell.mean,
            repositories=cell.repositories,
        )
        for rule, state in sorted(states.items())
        if (cell := cells.get((state.everywhere, PATTERN, Factor.ACCEPTANCE))) is not None
    )
    return tuple(sorted(patterns, key=lambda pattern: -pattern.verdicts))


def _missed(store: Store, reviews: Sequence[Decision]) -> MissedEarlier:
    """Counted against the tool: a finding should be posted in the first round that could see it."""
    posted = [
        one for one in store.posts.sightings_of([each.id for each in reviews]).values() if one.action != Action.HOLD
    ]
    missed = [one for one in posted if one.missed_in]
    return MissedEarlier(findings=len(missed), unread=sum(1 for one in missed if one.missed_because), of=len(posted))


def _since(store: Store) -> str:
    """Why the version in use is that one; empty where it is the newest, unchanged."""
    used, events = current(store), store.policy_events.all()
    last = events[-1] if used.since else None
    return "" if last is None else f"{last.kind.replace('_', ' ')} from {last.instead_of}: {last.reason}"


def costs(
    calls: Sequence[PurposeCost],
    by_task: Sequence[TaskCost],
    repaired: Sequence[LoggedDecision],
    reviewed: Sequence[LoggedDecision],
) -> Costs | None:
    """The costs; None where no model was ever called. A fix counts once, however many decisions led to it."""
    if not calls:
        return None
    asked = {each.task_id for each in by_task}
    findings = [each for each in reviewed if each.decision.chosen != Action.HOLD and _has(each, ACCEPTED_FINDING)]
    fixes = {each.decision.task_id for each in repaired if _has(each, ACCEPTED_FIX)}
    return Costs(
        calls=tuple(calls),
        per_accepted=(
            _per("finding", TaskKind.REVIEW, by_task, sum(each.decision.task_id in asked for each in findings)),
            _per("fix", TaskKind.REPAIR, by_task, len(fixes & asked)),
        ),
    )


def _has(logged: LoggedDecision, kinds: frozenset[SignalKind]) -> bool:
    return any(signal.kind in kinds for signal in logged.signals)


def _per(what: str, kind: TaskKind, by_task: Sequence[TaskCost], accepted: int) -> CostPerAccepted:
    mine = [each for each in by_task if each.kind == kind]
    tokens, micros = sum(each.tokens for each in mine), sum(each.micros for each in mine)
    return CostPerAccepted(
        what=what,
        tasks=len(mine),
        accepted=accepted,
        tokens=tokens,
        micros=micros,
        tokens_each=tokens / accepted if accepted else None,
        micros_each=micros / accepted if accepted else None,
    )
