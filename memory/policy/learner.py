"""The learner: chooses, records each choice before it takes effect, and learns from its outcome."""

import hashlib
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from structlog.contextvars import bind_contextvars

from memory.forget import drop_reasons, retraction
from memory.model import Actor, Arm, Decision, Outcome, Permission, Signal, SignalKind, State, period_of
from memory.policy import q_table
from memory.policy.q_table import CONTROL, PRESENT, VERSIONS
from memory.rewards import (
    TEACHING,
    WEIGHTS_VERSION,
    WINDOW,
    advantage,
    clipped,
    contributions_of_feedback,
    contributions_of_outcome,
    contributions_of_outcomes,
    contributions_of_signal,
    expectation,
    is_limited,
    shaped,
    trusted,
)
from memory.store import Store
from memory.store.evidence import QUORUM

_SEED_BITS = 53
"""A number that every reader of JSON keeps whole."""

USUAL = "usual"
"""Feature of a decision: the proof that the table alone expected of it, which remembered cases are held against."""


def usual(decision: Decision) -> float | None:
    """The proof that the table alone expected of a decision; None where it was not asked."""
    found = decision.features.get(USUAL)
    return found if isinstance(found, float) else None


def draw_again(chances: Mapping[str, float], seed: int) -> str:
    """What a decision with these probabilities and this seed chooses."""
    return q_table.pick(chances, random.Random(seed))  # noqa: S311  chooses strategies, guards nothing


def opaque_id() -> str:
    """A fresh id. Not from the injected generator: a repeated seed must not repeat ids."""
    return uuid.uuid4().hex[:16]


class Learner:
    """The policy over a store. Everything random comes from `rng`, every time from `clock` (aware UTC)."""

    def __init__(
        self,
        store: Store,
        rng: random.Random,
        clock: Callable[[], datetime],
        *,
        control_share: float,
        quorum: int = QUORUM,
        policy_version: str = PRESENT.version,
        new_id: Callable[[], str] = opaque_id,
    ) -> None:
        self._store = store
        self._ledger = store.ledger
        self.rng = rng
        self._clock = clock
        self._control_share = control_share
        self.quorum = quorum
        self.policy_version = policy_version
        self._parameters = VERSIONS.get(policy_version, PRESENT)
        self._new_id = new_id

    def arm(self, task_key: str) -> Arm:
        """The arm of a task, by the hash of what names it: the same however often and wherever it is asked.

        While the control version is in use, every task is of the control arm.
        """
        if self.policy_version == CONTROL:
            return Arm.CONTROL
        digest = hashlib.sha256(b"arm\0" + task_key.encode()).digest()
        return Arm.CONTROL if int.from_bytes(digest[:8], "big") / 2**64 < self._control_share else Arm.LEARNED

    @property
    def period(self) -> int:
        return period_of(self._clock())

    def cells(self, state: State) -> q_table.Cells:
        """The part of the table about `state`, as far as it may reach its repository, and as far as it has not decayed."""
        return self._ledger.cells(state.rows(), repository=state.repository, quorum=self.quorum, at=self._clock())

    def decide(
        self,
        task_id: str,
        state: State,
        available: Sequence[str],
        *,
        arm: Arm,
        prior: Mapping[str, float],
        evidence: Mapping[str, q_table.Remembered] = MappingProxyType({}),
        attempts: int | None = None,
        costs: Mapping[str, float] = MappingProxyType({}),
    ) -> Decision:
        """Choose among what was not tried yet, and record the choice; raises ValueError when nothing is left.

        `attempts` is how many more the episode may make, None: as many as there are strategies; `costs` are those that differ
        from an attempt's usual cost. `available` of the decision holds what was left, with a probability above 0 each. Its
        features are what the table expected of the choice.
        """
        cells = {} if arm is Arm.CONTROL else self.cells(state)
        chances, estimates = q_table.choose(
            state,
            available,
            cells,
            prior,
            self.rng,
            arm=arm,
            evidence=evidence,
            attempts=attempts,
            costs=costs,
            parameters=self._parameters,
        )
        expected = {
            name: {**expectation(proof=each.proof.mean, value=each.q), USUAL: each.usual}
            for name, each in estimates.items()
        }
        return self.settle(task_id, state, chances, arm=arm, expected=expected)

    def settle(
        self,
        task_id: str,
        state: State,
        chances: Mapping[str, float],
        *,
        arm: Arm,
        subject: str = "",
        features: Mapping[str, float | str] = MappingProxyType({}),
        expected: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
    ) -> Decision:
        """Draw one of `chances` (they sum to 1) and record the decision, with a seed of its own that draws it again.

        Its features are those given and what was `expected` of the option that is drawn.
        """
        seed = self.rng.getrandbits(_SEED_BITS)
        chosen = draw_again(chances, seed)
        decision = Decision(
            id=self._new_id(),
            task_id=task_id,
            state=state,
            available=tuple(chances),
            probabilities=tuple(chances.values()),
            chosen=chosen,
            arm=arm,
            policy_version=self.policy_version,
            created_at=self._clock(),
            subject=subject,
            seed=seed,
            features={**expected.get(chosen, {}), **features},
        )
        self._ledger.append_decision(decision)
        bind_contextvars(decision=decision.id)  # for the lines that follow
        return decision

    def conclude(self, decision: Decision, components: Mapping[str, float], *, made_by: str = "") -> Outcome:
        """Record the test result of a decision. `made_by` is the strategy of the edit that was proven, if it is known.

        Where that is not the chosen one, it is credited with the advantage: how much better than expected the choice did.

        A decision is concluded once: a second time, as after a restart, teaches nothing and returns the first outcome.
        Do not conclude a decision that the environment kept from being tried: that is no evidence.
        """
        target = shaped(components)
        credited = made_by if made_by != decision.chosen else ""
        outcome = Outcome(
            decision_id=decision.id,
            components=dict(components),
            target=target,
            weights_version=WEIGHTS_VERSION,
            created_at=self._clock(),
            credited=credited,
            credit=clipped(advantage(decision, target, None) or 0.0) if credited else 0.0,
        )
        contributions = contributions_of_outcome(decision, outcome)
        if self._ledger.append_outcome(outcome, contributions):
            return outcome
        return self._ledger.outcome(decision.id) or outcome

    def record_signal(
        self,
        decision_id: str,
        kind: SignalKind,
        actor: Actor,
        permission: Permission,
        source: str,
        *,
        is_author: bool = False,
    ) -> Signal | None:
        """Record and learn what a user did about a decision; None when this very event is known already.

        A retracted event stays known: a new event needs another `source`.
        Raises LookupError for a decision that is not in the ledger.
        """
        decision = self._decision(decision_id)
        weight = trusted(permission, actor, is_author=is_author)
        since = self._clock() - WINDOW
        limited = weight > 0 and is_limited(*self._ledger.taught(actor.id, decision.state.label, since, TEACHING))
        return self._append(
            decision,
            Signal(
                id=self._new_id(),
                decision_id=decision_id,
                kind=kind,
                actor=actor,
                permission=permission,
                source=source,
                created_at=self._clock(),
                weights_version=WEIGHTS_VERSION,
                weight=0.0 if limited else weight,
                limited=limited,
            ),
        )

    def retract(self, decision_id: str, kind: SignalKind, source: str, *, actor: Actor | None = None) -> Signal | None:
        """Undo a signal: the table is again exactly what it would be without it. None when nothing is there to undo.

        A reason that came with it goes too.
        `actor` is who retracts it, by default who gave it; evidence and weight stay the original giver's.
        """
        given = next(
            (s for s in self._ledger.live_signals([decision_id]) if s.kind is kind and s.source == source), None
        )
        if given is None:
            return None
        drop_reasons(self._store, [given])
        taken = retraction(given, self._new_id(), self._clock(), actor)
        return self._append(self._decision(decision_id), taken)

    def _decision(self, decision_id: str) -> Decision:
        decision = self._ledger.decision(decision_id)
        if decision is None:
            raise LookupError(f"no decision {decision_id} in the ledger")
        return decision

    def _append(self, decision: Decision, signal: Signal) -> Signal | None:
        known = not self._ledger.append_signal(signal, contributions_of_signal(decision, signal))
        return None if known else signal

    def rebuild(self) -> int:
        """Derive the whole table from the ledger with the weights in force; how many entries were read.

        With the same weights the table is the same, bit for bit.
        """
        return self._ledger.rebuild(contributions_of_outcomes, contributions_of_feedback, WEIGHTS_VERSION)

    def keep_up(self) -> None:
        """Rebuild a table that was derived by other weights: taking a signal back would not undo what it added there."""
        if self._ledger.derived_by() != WEIGHTS_VERSION:
            self.rebuild()
