"""Why something was decided: gather what led to it, what the table holds, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from memory import posting
from memory.explanation import Explanation, Heard, Option, Remembered, Row
from memory.index import BM25, best, terms
from memory.learner import Learner
from memory.model import Action, Arm, Cell, Decision, Factor, Finding, Signal, TaskKind
from memory.policy import ACCEPTANCE_PRIOR, Belief, Cells, believe, values
from memory.rewards import PATTERN, acceptance, advantage
from memory.rollback import current
from memory.stats import Stats, stats
from memory.store import Store

__all__ = ["Explanation", "Stats", "explain", "stats"]

NEIGHBOURS = 3


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
        signals=_heard(store.ledger.signals(decision.id)),
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


def _options(store: Store, decision: Decision, cells: Cells) -> tuple[Option, ...]:
    odds = dict(zip(decision.available, decision.probabilities, strict=True))
    if decision.state.kind is TaskKind.REVIEW:
        belief = _posting_belief(store, decision, cells)
        return tuple(
            Option(
                name=name,
                probability=odds[name],
                proof=None,
                proof_deviation=None,
                acceptance=belief.mean,
                acceptance_deviation=belief.deviation,
                value=belief.mean,
            )
            for name in decision.available
        )
    return tuple(
        Option(
            name=name,
            probability=odds[name],
            proof=estimate.proof.mean,
            proof_deviation=estimate.proof.deviation,
            acceptance=estimate.acceptance.mean,
            acceptance_deviation=estimate.acceptance.deviation,
            value=estimate.q,
        )
        for name, estimate in values(decision.state, decision.available, cells, {}).items()
    )


def _reason(store: Store, decision: Decision, cells: Cells) -> str:
    """One line: what is known of the choice in this very repository."""
    if decision.state.kind is TaskKind.REVIEW:
        here = cells.get((decision.state.here, PATTERN, Factor.ACCEPTANCE), Cell(weight=0.0, mean=0.0))
        belief = _posting_belief(store, decision, cells)
        return posting.reason(decision, posting.Appraisal(belief=belief, here=here))
    tried = cells.get((decision.state.here, decision.chosen, Factor.PROOF))
    if decision.arm is Arm.CONTROL or tried is None:
        return "control arm, nothing learned was used" if decision.arm is Arm.CONTROL else "never concluded here before"
    return f"tried {tried.weight:.0f} times on {decision.state.label} here, worth {tried.mean:.2f} on average"


def _posting_belief(store: Store, decision: Decision, cells: Cells) -> Belief:
    finding = _finding(store, decision)
    proven = Action.INLINE_SUGGESTION in decision.available
    prior = posting.prior_of(finding, suggestion_proven=proven) if finding else ACCEPTANCE_PRIOR
    return believe(decision.state, PATTERN, Factor.ACCEPTANCE, cells, prior=prior, pull=posting.PULL)


def _finding(store: Store, decision: Decision) -> Finding | None:
    sightings = store.posts.sighting_by_fingerprint(decision.subject)
    return next((s.finding for s in sightings if s.decision_id == decision.id), None)


def _rows(decision: Decision, cells: Cells) -> tuple[Row, ...]:
    shown = {PATTERN, *decision.available}
    return tuple(
        Row(
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


def _heard(signals: Sequence[Signal]) -> tuple[Heard, ...]:
    retracted = {signal.retracts for signal in signals}
    return tuple(
        Heard(
            kind=signal.kind,
            login=signal.actor.login,
            permission=signal.permission,
            weight=signal.weight,
            source=signal.source,
            at=signal.created_at.isoformat(),
            taken_back=signal.id in retracted,
            limited=signal.limited,
        )
        for signal in signals
        if not signal.retracts
    )


def _neighbours(store: Store, decision: Decision) -> tuple[Remembered, ...]:
    """The cases of this repository that are nearest by words; those of other repositories are not for its people to read."""
    texts = store.experiences.texts(repository=decision.state.repository)
    own = {other.id for other in store.ledger.decisions_of_task(decision.task_id)}
    query = next((texts[key] for key in (decision.id, *sorted(own)) if key in texts), "")
    ids = [key for key in texts if key not in own]
    scores = BM25([terms(texts[key]) for key in ids]).scores(terms(query))
    found = (store.experiences.get(ids[row]) for row in best(scores, NEIGHBOURS))
    return tuple(
        Remembered(
            id=each.id,
            error_type=each.error_type,
            strategy=each.strategy,
            outcome=each.outcome,
            reflection=each.reflection,
        )
        for each in found
        if each is not None
    )
