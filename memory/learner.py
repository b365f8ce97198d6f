"""The learner: chooses, records what it chose before anything is done, and learns from what came of it."""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from memory import policy, rewards, trust
from memory.model import Actor, Arm, Decision, Outcome, Permission, Signal, SignalKind, State
from memory.store import Store
from memory.versions import CONTROL, PRESENT, VERSIONS


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
        policy_version: str = PRESENT.version,
        new_id: Callable[[], str] = opaque_id,
    ) -> None:
        self._ledger = store.ledger
        self.rng = rng
        self._clock = clock
        self._control_share = control_share
        self.policy_version = policy_version
        self._new_id = new_id

    def arm(self, task_key: str) -> Arm:
        """The arm of a task, by the hash of what names it: the same however often and wherever it is asked.

        While the control version is in use, every task is of the control arm.
        """
        if self.policy_version == CONTROL:
            return Arm.CONTROL
        digest = hashlib.sha256(b"arm\0" + task_key.encode()).digest()
        return Arm.CONTROL if int.from_bytes(digest[:8], "big") / 2**64 < self._control_share else Arm.LEARNED

    def cells(self, state: State) -> policy.Cells:
        """The part of the table that speaks of `state`."""
        return self._ledger.cells(state.levels())

    def values(
        self,
        state: State,
        strategies: Sequence[str],
        *,
        prior: Mapping[str, float],
        evidence: Sequence[policy.Neighbour] = (),
    ) -> dict[str, policy.Estimate]:
        """What is believed of each strategy now."""
        return policy.values(state, strategies, self.cells(state), prior, evidence)

    def decide(
        self,
        task_id: str,
        state: State,
        available: Sequence[str],
        *,
        arm: Arm,
        prior: Mapping[str, float],
        evidence: Sequence[policy.Neighbour] = (),
    ) -> Decision:
        """Choose among what was not tried yet, and record the choice; raises ValueError when nothing is left.

        `available` of the decision holds what was left, with a probability above 0 each.
        """
        names = policy.remaining(state, available)
        if not names:
            raise ValueError("no strategy is left to choose: end the episode")
        if arm is Arm.CONTROL:
            return self.settle(task_id, state, policy.uniform(names), arm=arm)
        version = VERSIONS.get(self.policy_version, PRESENT)
        chances = version.chances(state, names, self.cells(state), prior, evidence, self.rng)
        return self.settle(task_id, state, chances, arm=arm)

    def settle(
        self, task_id: str, state: State, chances: Mapping[str, float], *, arm: Arm, subject: str = ""
    ) -> Decision:
        """Draw one of `chances` (they sum to 1) and record the decision."""
        decision = Decision(
            id=self._new_id(),
            task_id=task_id,
            state=state,
            available=tuple(chances),
            probabilities=tuple(chances.values()),
            chosen=policy.pick(chances, self.rng),
            arm=arm,
            policy_version=self.policy_version,
            created_at=self._clock(),
            subject=subject,
        )
        self._ledger.append_decisions((decision,))
        return decision

    def conclude(
        self,
        decision: Decision,
        components: Mapping[str, float],
        *,
        next_state: State | None,
        next_available: Sequence[str] = (),
        prior: Mapping[str, float],
    ) -> Outcome:
        """Record what the tests said of a decision; `next_state` is None at the end of the episode.

        A decision is concluded once: of a second time, as after a restart, nothing is learned, and the first is returned.
        Do not conclude a decision that the environment kept from being tried: that is no evidence.
        """
        outcome = Outcome(
            decision_id=decision.id,
            components=dict(components),
            target=policy.q_target(
                components, terminal=next_state is None, next_values=self._next(next_state, next_available, prior)
            ),
            weights_version=rewards.WEIGHTS_VERSION,
            created_at=self._clock(),
        )
        contributions = rewards.contributions_of_outcome(decision, outcome)
        if self._ledger.append_outcome(outcome, contributions):
            return outcome
        return self._ledger.outcome(decision.id) or outcome

    def _next(self, state: State | None, available: Sequence[str], prior: Mapping[str, float]) -> list[float]:
        if state is None:
            return []
        estimates = self.values(state, policy.remaining(state, available), prior=prior)
        return [estimate.proof.mean for estimate in estimates.values()]

    def hear(
        self,
        decision_id: str,
        kind: SignalKind,
        actor: Actor,
        permission: Permission,
        source: str,
        *,
        is_author: bool = False,
    ) -> Signal | None:
        """Record and learn what somebody did about a decision; None when this very event is known already.

        An event that was taken back stays known: what happens anew needs a `source` of its own.
        Raises LookupError for a decision that is not in the ledger.
        """
        weight = trust.weight(permission, actor, is_author=is_author)
        return self._append(
            Signal(
                id=self._new_id(),
                decision_id=decision_id,
                kind=kind,
                actor=actor,
                permission=permission,
                source=source,
                created_at=self._clock(),
                weights_version=rewards.WEIGHTS_VERSION,
                weight=weight,
            )
        )

    def take_back(
        self, decision_id: str, kind: SignalKind, source: str, *, actor: Actor | None = None
    ) -> Signal | None:
        """Undo a signal: the table is again exactly what it would be without it. None when nothing is there to undo.

        `actor` is who took it back, by default who gave it; it has no say over the weight, which is the original's.
        """
        given = next(
            (s for s in self._ledger.live_signals([decision_id]) if s.kind is kind and s.source == source), None
        )
        if given is None:
            return None
        return self._append(
            Signal(
                id=self._new_id(),
                decision_id=decision_id,
                kind=kind,
                actor=actor or given.actor,
                permission=given.permission,
                source=given.source,
                created_at=self._clock(),
                weights_version=given.weights_version,
                weight=given.weight,
                retracts=given.id,
            )
        )

    def _append(self, signal: Signal) -> Signal | None:
        decision = self._ledger.decision(signal.decision_id)
        if decision is None:
            raise LookupError(f"no decision {signal.decision_id} in the ledger")
        known = not self._ledger.append_signal(signal, rewards.contributions_of_signal(decision, signal))
        return None if known else signal

    def rebuild(self) -> int:
        """Derive the whole table anew from the ledger with the weights in force; how many entries were read.

        With the same weights the table is the same, bit for bit.
        """
        return self._ledger.rebuild(rewards.contributions_of_outcome, rewards.contributions_of_signal)
