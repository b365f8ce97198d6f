"""Why something was decided: what led to it, what the table holds, and the results; as values and as text."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from memory.evaluation.rollback import current
from memory.model import (
    STOP,
    Action,
    Arm,
    AttemptEffect,
    Cell,
    Decision,
    Experience,
    Factor,
    Outcome,
    PlanOutcome,
    Signal,
    TaskKind,
)
from memory.policy import issue_policy, review_policy
from memory.policy.learner import Learner
from memory.policy.q_table import ACCEPTANCE_PRIOR, Belief, Cells, believe, values
from memory.retrieval.index import WordIndex, best, terms
from memory.rewards import MILLIONTHS, PATTERN, acceptance, advantage, contributions_of_outcome
from memory.store import Store
from memory.store.evidence import decay

NEIGHBOURS = 3

_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedOption:
    """One thing that could be chosen: its probability then, and what the table believes of it now.

    `proof` is None for review, where nothing is to be proven; a deviation is a standard deviation.
    """

    name: str
    probability: float
    proof: float | None
    proof_deviation: float | None
    acceptance: float
    acceptance_deviation: float
    value: float


@dataclass(frozen=True, slots=True)
class TableRow:
    """One cell of the table as it is now for this repository: `count` is the summed weight of its evidence, `mean`
    within [0, 1], `witnesses` how many repositories it comes from."""

    scope: str
    key: str
    strategy: str
    factor: str
    count: float
    mean: float
    witnesses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueUpdate:
    """What the result of a repair's decision did to the value of the choice, by the table as it is now.

    new = old + step * (reward - old), for the proof, times the acceptance; `following` is the value of the best other option,
    `best_next`, to which a failure leads; None where there was no other.
    """

    old: float
    reward: float
    step: float
    new: float
    best_next: str | None
    following: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedFeedback:
    signal: Signal
    retracted: bool

    def to_json(self) -> dict[str, object]:
        """Plain values; `limited` when it counts for nothing because of the daily limit."""
        given = self.signal
        return {
            **{name: getattr(given, name) for name in ("kind", "permission", "weight", "source", "limited")},
            "login": given.actor.login,
            "at": given.created_at.isoformat(),
            "retracted": self.retracted,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A decision with its causes and results. Numbers of the table are those of now, odds those of then.

    `repository` is what people call it; `advantage` is by how much it did better than the table expected when it was made; `neighbours` are the similar cases of
    the same repository.
    """

    decision: Decision
    repository: str
    policy_now: str
    reason: str
    options: tuple[ExplainedOption, ...]
    table: tuple[TableRow, ...]
    outcome: Outcome | None
    withdrawn: bool
    advantage: float | None
    signals: tuple[ReceivedFeedback, ...]
    neighbours: tuple[Experience, ...]
    update: ValueUpdate | None = None
    environments: tuple[PlanOutcome, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Plain values for `json.dumps`."""
        decision, state = self.decision, self.decision.state
        alike = ("id", "error_type", "strategy", "outcome", "reflection")
        return {
            "decision_id": decision.id,
            **{name: getattr(decision, name) for name in ("task_id", "subject", "chosen", "probability", "arm")},
            **{name: getattr(state, name) for name in ("kind", "label", "family", "tried")},
            **{name: getattr(self, name) for name in ("repository", "policy_now", "reason", "withdrawn", "advantage")},
            "policy_version": decision.policy_version,
            "seed": decision.seed,
            "features": dict(decision.features),
            "decided_at": decision.created_at.isoformat(),
            "options": [asdict(each) for each in self.options],
            "table": [asdict(each) for each in self.table],
            "components": dict(self.outcome.components) if self.outcome else {},
            "target": self.outcome.target if self.outcome else None,
            "update": asdict(self.update) if self.update else None,
            "signals": [each.to_json() for each in self.signals],
            "neighbours": [{name: getattr(each, name) for name in alike} for each in self.neighbours],
            "environments": [environment_json(each) for each in self.environments],
        }

    def text(self) -> str:
        """The explanation in lines for people."""
        return "\n".join(
            (*_heading(self), *_odds(self), *_evidence(self), *_results(self), *environment_lines(self.environments))
        )


def explain(store: Store, learner: Learner, reference: str, repository: str = "", pull: int = 0) -> Explanation | None:
    """The decision with this id, or the latest about the finding whose fingerprint it is or begins; None for neither.

    With a `repository`, only its own decisions; of a finding those of the pull request `pull` come first.
    """
    decision = _find(store, reference, repository, pull)
    if decision is None:
        return None
    outcome, cells = store.ledger.outcome(decision.id), learner.cells(decision.state)
    standing = acceptance(store.ledger.live_signals([decision.id]))
    withdrawn = outcome is not None and not store.ledger.judged(decision_id=decision.id)
    given = store.ledger.signals(decision.id)
    retracted = {signal.retracts for signal in given}
    counted = None if withdrawn else outcome
    before = _without(cells, decision, counted, learner.period)
    return Explanation(
        decision=decision,
        repository=store.name_of(decision.state.repository),
        policy_now=current(store).version,
        reason=_reason(store, decision, before),
        options=_options(store, decision, cells),
        table=_rows(decision, cells),
        outcome=outcome,
        withdrawn=withdrawn,
        advantage=advantage(decision, outcome.target if outcome else None, standing),
        signals=tuple(
            ReceivedFeedback(signal=each, retracted=each.id in retracted) for each in given if not each.retracts
        ),
        neighbours=_neighbours(store, decision),
        update=None if counted is None else _update(decision, counted, before, cells),
        environments=environments(store, decision.state.repository),
    )


def environments(store: Store, repository: str) -> tuple[PlanOutcome, ...]:
    """What came of each plan for the environment of a repository, the best first."""
    return tuple(sorted(store.plans.of(repository, PlanOutcome), key=lambda each: -each.worth))


def environment_lines(outcomes: Sequence[PlanOutcome]) -> list[str]:
    """What came of each plan, with what was changed in it; no line without any."""
    lines = ["Environments that were tried, by their plans:"] if outcomes else []
    for each in outcomes:
        count = f"{each.passed} tests passed, {each.failed} failed, {each.uncollected} files not collected"
        result = f"Python {each.python}, {count}, in {each.seconds:.0f} s" if each.built else "not built"
        lines.append(f"  {each.plan.source}: {result}{f' ({each.trouble})' if each.trouble else ''}")
        lines += [f"    {line}" for line in (*each.plan.mends, *each.plan.notes)]
    return lines


def environment_json(outcome: PlanOutcome) -> dict[str, object]:
    """Plain values for `json.dumps`."""
    counts = ("built", "python", "collected", "uncollected", "passed", "failed", "trouble", "seconds", "worth")
    plan = ("source", "requirements", "constraints", "project", "extras", "groups", "lock", "test_command", "directory")
    return {
        **{name: getattr(outcome, name) for name in counts},
        **{name: getattr(outcome.plan, name) for name in (*plan, "mends", "notes")},
        "at": outcome.at.isoformat(),
    }


def _find(store: Store, reference: str, repository: str, pull: int) -> Decision | None:
    decision = store.ledger.decision(reference)
    if decision is None and reference:
        sightings = store.posts.sighting_by_fingerprint(reference)  # forks have equal fingerprints
        seen = {each.decision_id: each.number for each in sightings if repository in ("", each.repository)}
        about = (d.id for d in store.ledger.decisions_about(reference) if repository in ("", d.state.repository))
        ids = sorted(list(about) or seen, key=lambda each: seen.get(each) == pull)
        decision = store.ledger.decision(ids[-1]) if ids else None
    return decision if decision is not None and repository in ("", decision.state.repository) else None


def _options(store: Store, decision: Decision, cells: Cells) -> tuple[ExplainedOption, ...]:
    if decision.state.kind is TaskKind.REPAIR:
        estimates = values(decision.state, decision.available, cells, {})
        return tuple(_option(decision, name, each.proof, each.acceptance, each.q) for name, each in estimates.items())
    is_issue = decision.state.kind is TaskKind.ISSUE
    belief = issue_policy.belief(decision.state, cells) if is_issue else _posting_belief(store, decision, cells)
    return tuple(_option(decision, name, None, belief, belief.mean) for name in decision.available)


def _without(cells: Cells, decision: Decision, outcome: Outcome | None, period: int) -> Cells:
    """The table with exactly what this result added taken out."""
    left, before = decay(period - decision.period) / MILLIONTHS, dict(cells)
    for part in contributions_of_outcome(decision, outcome) if outcome else ():
        key = (part.level, part.strategy, part.factor)
        now, less = cells.get(key, Cell(0.0, 0.0)), left * part.weight / MILLIONTHS
        rest = max(now.weight - less, 0.0)
        summed = now.weight * now.mean - left * part.value / MILLIONTHS
        before[key] = Cell(rest, min(max(summed / rest, 0.0), 1.0) if rest > _NOTHING else 0.0, now.repositories)
    return before


def _update(decision: Decision, outcome: Outcome, before: Cells, cells: Cells) -> ValueUpdate:
    """The value with this result in the table, and without it."""
    old, new = (values(decision.state, decision.available, table, {}) for table in (before, cells))
    was, now_is = old[decision.chosen], new[decision.chosen]
    gap = outcome.target - was.proof.mean
    others = {name: each.q for name, each in new.items() if name != decision.chosen}
    best_next = max(others, key=lambda name: others[name], default=None)
    return ValueUpdate(
        old=was.q,
        reward=outcome.target,
        step=(now_is.proof.mean - was.proof.mean) / gap if abs(gap) > _NOTHING else 0.0,
        new=now_is.q,
        best_next=best_next,
        following=others.get(best_next, 0.0) if best_next else 0.0,
    )


def _option(decision: Decision, name: str, proof: Belief | None, acceptance: Belief, value: float) -> ExplainedOption:
    return ExplainedOption(
        name=name,
        probability=decision.probabilities[decision.available.index(name)],
        proof=proof.mean if proof else None,
        proof_deviation=proof.deviation if proof else None,
        acceptance=acceptance.mean,
        acceptance_deviation=acceptance.deviation,
        value=value,
    )


def _reason(store: Store, decision: Decision, cells: Cells) -> str:
    """One line: what is known of the choice in this very repository."""
    if decision.state.kind is TaskKind.REVIEW:
        here = cells.get((decision.state.here, PATTERN, Factor.ACCEPTANCE), Cell(weight=0.0, mean=0.0))
        belief = _posting_belief(store, decision, cells)
        return review_policy.reason(decision, review_policy.Appraisal(belief=belief, here=here))
    if decision.state.kind is TaskKind.ISSUE:
        return issue_policy.reason(decision, cells)
    if decision.chosen == STOP:
        return "nothing that was left was expected to be worth its cost"
    tried = cells.get((decision.state.here, decision.chosen, Factor.PROOF))
    if decision.arm is Arm.CONTROL:
        return "control arm, nothing learned was used"
    if tried is None or tried.weight <= _NOTHING:
        return f"no result on {decision.state.label} here before"
    times = "1 time" if round(tried.weight) == 1 else f"{tried.weight:.0f} times"
    return f"tried {times} on {decision.state.label} here, worth {tried.mean:.2f} on average"


def _posting_belief(store: Store, decision: Decision, cells: Cells) -> Belief:
    sightings = store.posts.sighting_by_fingerprint(decision.subject)
    finding = next((each.finding for each in sightings if each.decision_id == decision.id), None)
    proven = Action.INLINE_SUGGESTION in decision.available
    prior = review_policy.prior_of(finding, suggestion_proven=proven) if finding else ACCEPTANCE_PRIOR
    return believe(decision.state, PATTERN, cells, prior=prior, pseudo_counts=review_policy.PSEUDO_COUNTS)


def _rows(decision: Decision, cells: Cells) -> tuple[TableRow, ...]:
    shown = {PATTERN, *decision.available}
    return tuple(
        TableRow(*level, strategy, factor, cell.weight, cell.mean, cell.repositories)
        for wanted in decision.state.rows()
        for (level, strategy, factor), cell in sorted(cells.items(), key=lambda item: item[0][1:])
        if level == wanted and strategy in shown
    )


def _neighbours(store: Store, decision: Decision) -> tuple[Experience, ...]:
    """The cases of this repository that are nearest by words; its users may not read those of other repositories."""
    texts = store.experiences.texts(repository=decision.state.repository)
    own = {other.id for other in store.ledger.decisions_of_task(decision.task_id)}
    query = next((texts[key] for key in (decision.id, *sorted(own)) if key in texts), "")
    ids = [key for key in reversed(texts) if key not in own]  # of equals the newest is first
    scores = WordIndex([terms(texts[key]) for key in ids]).scores(terms(query))
    found = (store.experiences.get(ids[row]) for row in best(scores, NEIGHBOURS))
    return tuple(each for each in found if each is not None)


_DID: Mapping[str, str] = {
    AttemptEffect.SAME: "left the failure as it was",
    AttemptEffect.MOVED: "led to another failure",
    AttemptEffect.FEWER: "repaired a part of the tests",
    AttemptEffect.BROKE: "passed the failing tests and was not proven",
    AttemptEffect.TIMED_OUT: "mostly ran out of time",
}


def _heading(why: Explanation) -> list[str]:
    decision, state = why.decision, why.decision.state
    used = "nothing learned was used" if decision.arm is Arm.CONTROL else "what was learned was used"
    about = f" about finding {decision.subject}" if decision.subject else ""
    after = f", which {_DID[state.after]}" if state.after in _DID else ""
    tried = f", after {', '.join(state.tried)}{after}" if state.tried else ""
    policy = decision.policy_version
    now = "" if why.policy_now == policy else f" (in use now: {why.policy_now})"
    return [
        f"Decision {decision.id}{about}: {state.kind} in {why.repository}, {state.label} ({state.family}){tried}.",
        f"Chose {decision.chosen} with probability {decision.probability:.2f}, {decision.arm} arm ({used}), policy {policy}{now}.",
        f"In short: {why.reason}.",
    ]


def _odds(why: Explanation) -> list[str]:
    lines = ["Options, with the odds then and the beliefs now:"]
    for option in sorted(why.options, key=lambda each: -each.probability):
        proof = "" if option.proof is None else f"proof {option.proof:.2f} ± {option.proof_deviation:.2f}, "
        accepted = f"acceptance {option.acceptance:.2f} ± {option.acceptance_deviation:.2f}"
        mark = "›" if option.name == why.decision.chosen else " "
        lines.append(f"{mark} {option.name}: probability {option.probability:.3f}; {proof}{accepted}")
    return lines


def _evidence(why: Explanation) -> list[str]:
    rows = [
        f"  {row.scope}: {row.strategy}, {row.factor} {row.mean:.2f} over {row.count:.1f}"
        + (f", from {row.witnesses} repositories" if row.witnesses > 1 else "")
        for row in why.table
    ]
    cases = [f"  remembered: {n.error_type}, {n.strategy}: {n.outcome.replace('_', ' ')}" for n in why.neighbours]
    head = "Evidence in the table now, most specific level first:"
    return [head, *(rows or ["  none yet: the priors decide"]), *cases]


def _results(why: Explanation) -> list[str]:
    lines = []
    if why.outcome is not None:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in why.outcome.components.items())
        undone = ", retracted" if why.withdrawn else ""
        lines.append(f"Test results: {parts}; target {why.outcome.target:.2f}{undone}.")
    if why.update is not None:
        chosen, update = why.decision.chosen, why.update
        leads = f"; a failure leads to {update.best_next}, worth {update.following:.2f}" if update.best_next else ""
        lines.append(
            f"Update: {chosen} was worth {update.old:.2f} and is worth {update.new:.2f} now: "
            f"reward {update.reward:.2f}, step {update.step:.2f}{leads}."
        )
    lines += map(_feedback_line, why.signals)
    if why.advantage is not None:
        better = "better" if why.advantage >= 0.0 else "worse"
        lines.append(f"It did {better} than expected by {abs(why.advantage):.2f}.")
    if why.outcome is not None and why.outcome.credit:
        credited, credit = why.outcome.credited, why.outcome.credit
        lines.append(f"The edit was one of {credited}, which counts it as a proof of weight {credit:.2f}.")
    return lines or ["No feedback yet: silence teaches nothing."]


def _feedback_line(received: ReceivedFeedback) -> str:
    given = received.signal
    but = ", over the daily limit" if given.limited else ", retracted" if received.retracted else ""
    return f"{given.actor.login} ({given.permission}): {given.kind.replace('_', ' ')}, weight {given.weight:.1f}{but}."
