"""Why something was decided: what led to it, what the table holds, and the results; as values and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from memory.evaluation.rollback import current
from memory.model import Action, Arm, Cell, Decision, Factor, Finding, Signal, TaskKind
from memory.policy import review_policy
from memory.policy.learner import Learner
from memory.policy.q_table import ACCEPTANCE_PRIOR, Belief, Cells, believe, values
from memory.retrieval.index import WordIndex, best, terms
from memory.rewards import PATTERN, acceptance, advantage
from memory.store import Store

NEIGHBOURS = 3


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


@dataclass(frozen=True, slots=True, kw_only=True)
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
class ReceivedFeedback:
    """One piece of feedback on the decision; `limited` when it counts for nothing because of the daily limit."""

    kind: str
    login: str
    permission: str
    weight: float
    source: str
    at: str
    retracted: bool
    limited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarCase:
    """A similar case in the same repository."""

    id: str
    error_type: str
    strategy: str
    outcome: str
    reflection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A decision with its causes and results. Numbers of the table are those of now, odds those of then.

    `seed` draws the choice again; `advantage` is by how much it did better than the table expected when it was made.
    """

    decision_id: str
    task_id: str
    repository: str
    kind: str
    label: str
    family: str
    subject: str
    tried: tuple[str, ...]
    chosen: str
    probability: float
    arm: str
    policy_version: str
    policy_now: str
    seed: int
    features: Mapping[str, float | str]
    decided_at: str
    reason: str
    options: tuple[ExplainedOption, ...]
    table: tuple[TableRow, ...]
    components: Mapping[str, float]
    target: float | None
    withdrawn: bool
    advantage: float | None
    signals: tuple[ReceivedFeedback, ...]
    neighbours: tuple[SimilarCase, ...]

    def to_json(self) -> dict[str, object]:
        """Plain values for `json.dumps`. `taken_back` is the former name of a signal's `retracted`."""
        document = asdict(self)
        for each in document["signals"]:
            each["taken_back"] = each["retracted"]
        return document

    def text(self) -> str:
        """The explanation in lines for people."""
        return "\n".join((*_heading(self), *_odds(self), *_evidence(self), *_aftermath(self)))


def explain(store: Store, learner: Learner, reference: str) -> Explanation | None:
    """The decision with this id, or the latest about the finding whose fingerprint it is or begins; None for neither."""
    decision = _find(store, reference)
    if decision is None:
        return None
    state, outcome, cells = decision.state, store.ledger.outcome(decision.id), learner.cells(decision.state)
    target = outcome.target if outcome else None
    standing = acceptance(store.ledger.live_signals([decision.id]))
    return Explanation(
        decision_id=decision.id,
        task_id=decision.task_id,
        repository=state.repository,
        kind=state.kind,
        label=state.label,
        family=state.family,
        subject=decision.subject,
        tried=state.tried,
        chosen=decision.chosen,
        probability=decision.probability,
        arm=decision.arm,
        policy_version=decision.policy_version,
        seed=decision.seed,
        features=dict(decision.features),
        policy_now=current(store).version,
        decided_at=decision.created_at.isoformat(),
        reason=_reason(store, decision, cells),
        options=_options(store, decision, cells),
        table=_rows(decision, cells),
        components=dict(outcome.components) if outcome else {},
        target=target,
        withdrawn=outcome is not None and not store.ledger.judged(decision_id=decision.id),
        advantage=advantage(decision, target, standing),
        signals=_feedback(store.ledger.signals(decision.id)),
        neighbours=_neighbours(store, decision),
    )


def _find(store: Store, reference: str) -> Decision | None:
    decision = store.ledger.decision(reference)
    if decision is not None or not reference:
        return decision
    about = store.ledger.decisions_about(reference)
    if about:
        return about[-1]
    sightings = store.posts.sighting_by_fingerprint(reference)
    return store.ledger.decision(sightings[-1].decision_id) if sightings else None


def _options(store: Store, decision: Decision, cells: Cells) -> tuple[ExplainedOption, ...]:
    if decision.state.kind is TaskKind.REVIEW:
        belief = _posting_belief(store, decision, cells)
        return tuple(_option(decision, name, None, belief, belief.mean) for name in decision.available)
    estimates = values(decision.state, decision.available, cells, {})
    return tuple(_option(decision, name, each.proof, each.acceptance, each.q) for name, each in estimates.items())


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
    tried = cells.get((decision.state.here, decision.chosen, Factor.PROOF))
    if decision.arm is Arm.CONTROL or tried is None:
        return "control arm, nothing learned was used" if decision.arm is Arm.CONTROL else "never concluded here before"
    return f"tried {tried.weight:.0f} times on {decision.state.label} here, worth {tried.mean:.2f} on average"


def _posting_belief(store: Store, decision: Decision, cells: Cells) -> Belief:
    finding = _finding(store, decision)
    proven = Action.INLINE_SUGGESTION in decision.available
    prior = review_policy.prior_of(finding, suggestion_proven=proven) if finding else ACCEPTANCE_PRIOR
    return believe(decision.state, PATTERN, Factor.ACCEPTANCE, cells, prior=prior, pull=review_policy.PULL)


def _finding(store: Store, decision: Decision) -> Finding | None:
    sightings = store.posts.sighting_by_fingerprint(decision.subject)
    return next((s.finding for s in sightings if s.decision_id == decision.id), None)


def _rows(decision: Decision, cells: Cells) -> tuple[TableRow, ...]:
    shown = {PATTERN, *decision.available}
    return tuple(
        TableRow(
            scope=level.scope,
            key=level.key,
            strategy=strategy,
            factor=factor,
            count=cell.weight,
            mean=cell.mean,
            witnesses=cell.witnesses,
        )
        for wanted in decision.state.levels()
        for (level, strategy, factor), cell in sorted(cells.items(), key=lambda item: item[0][1:])
        if level == wanted and strategy in shown
    )


def _feedback(signals: Sequence[Signal]) -> tuple[ReceivedFeedback, ...]:
    retracted = {signal.retracts for signal in signals}
    return tuple(
        ReceivedFeedback(
            kind=signal.kind,
            login=signal.actor.login,
            permission=signal.permission,
            weight=signal.weight,
            source=signal.source,
            at=signal.created_at.isoformat(),
            retracted=signal.id in retracted,
            limited=signal.limited,
        )
        for signal in signals
        if not signal.retracts
    )


def _neighbours(store: Store, decision: Decision) -> tuple[SimilarCase, ...]:
    """The cases of this repository that are nearest by words; its users may not read those of other repositories."""
    texts = store.experiences.texts(repository=decision.state.repository)
    own = {other.id for other in store.ledger.decisions_of_task(decision.task_id)}
    query = next((texts[key] for key in (decision.id, *sorted(own)) if key in texts), "")
    ids = [key for key in reversed(texts) if key not in own]  # of equals the newest is first
    scores = WordIndex([terms(texts[key]) for key in ids]).scores(terms(query))
    found = (store.experiences.get(ids[row]) for row in best(scores, NEIGHBOURS))
    return tuple(
        SimilarCase(
            id=each.id,
            error_type=each.error_type,
            strategy=each.strategy,
            outcome=each.outcome,
            reflection=each.reflection,
        )
        for each in found
        if each is not None
    )


def _heading(why: Explanation) -> list[str]:
    used = "nothing learned was used" if why.arm == Arm.CONTROL else "what was learned was used"
    about = f" about finding {why.subject}" if why.subject else ""
    tried = f", after {', '.join(why.tried)}" if why.tried else ""
    now = "" if why.policy_now == why.policy_version else f" (in use now: {why.policy_now})"
    return [
        f"Decision {why.decision_id}{about}: {why.kind} in {why.repository}, {why.label} ({why.family}){tried}.",
        f"Chose {why.chosen} with probability {why.probability:.2f}, {why.arm} arm ({used}), policy {why.policy_version}{now}.",
        f"In short: {why.reason}.",
    ]


def _odds(why: Explanation) -> list[str]:
    lines = ["Options, with the odds then and the beliefs now:"]
    for option in sorted(why.options, key=lambda each: -each.probability):
        proof = "" if option.proof is None else f"proof {option.proof:.2f} ± {option.proof_deviation:.2f}, "
        accepted = f"acceptance {option.acceptance:.2f} ± {option.acceptance_deviation:.2f}"
        mark = "›" if option.name == why.chosen else " "
        lines.append(f"{mark} {option.name}: probability {option.probability:.3f}; {proof}{accepted}")
    return lines


def _evidence(why: Explanation) -> list[str]:
    rows = [
        f"  {row.scope}: {row.strategy}, {row.factor} {row.mean:.2f} over {row.count:.1f}{_from(row)}"
        for row in why.table
    ]
    cases = [f"  remembered: {n.error_type}, {n.strategy}: {n.outcome.replace('_', ' ')}" for n in why.neighbours]
    head = "Evidence in the table now, most specific level first:"
    return [head, *(rows or ["  none yet: the priors decide"]), *cases]


def _aftermath(why: Explanation) -> list[str]:
    lines = []
    if why.target is not None:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in why.components.items())
        undone = ", retracted" if why.withdrawn else ""
        lines.append(f"Test results: {parts}; target {why.target:.2f}{undone}.")
    lines += map(_feedback_line, why.signals)
    if why.advantage is not None:
        better = "better" if why.advantage >= 0.0 else "worse"
        lines.append(f"It did {better} than expected by {abs(why.advantage):.2f}.")
    return lines or ["No feedback yet: silence teaches nothing."]


def _from(row: TableRow) -> str:
    return f", from {row.witnesses} repositories" if row.witnesses > 1 else ""


def _feedback_line(given: ReceivedFeedback) -> str:
    but = ", over the daily limit" if given.limited else ", retracted" if given.retracted else ""
    return f"{given.login} ({given.permission}): {given.kind.replace('_', ' ')}, weight {given.weight:.1f}{but}."
