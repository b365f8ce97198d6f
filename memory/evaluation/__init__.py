"""What a policy would have been worth: off-policy estimates of any policy from the ledger, or a refusal with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from memory.evaluation.estimators import Estimates, Figure, Unit, effective, estimate, per_decision, per_episode
from memory.evaluation.replay import Replay, Step, proven, replay, verdict
from memory.evaluation.targets import Agent, OfVersion, Situation, Target, targets
from memory.model import Logged

__all__ = [
    "Agent",
    "Estimates",
    "Evaluation",
    "Figure",
    "OfVersion",
    "Replay",
    "Situation",
    "Step",
    "Target",
    "Unit",
    "effective",
    "estimate",
    "evaluate",
    "per_decision",
    "per_episode",
    "proven",
    "replay",
    "targets",
    "verdict",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One policy, by decision and by episode."""

    policy: str
    decision: Estimates
    episode: Estimates

    def to_json(self) -> dict[str, object]:
        """Plain values that `json.dumps` takes."""
        return asdict(self)


def evaluate(
    log: Sequence[Logged], policies: Mapping[str, Target], *, since: datetime | None = None
) -> tuple[Evaluation, ...]:
    """Estimate each policy on repairs' decisions from `since` on. The same log gives the same figures."""
    walked = replay(log, policies, since=since)
    return tuple(
        Evaluation(
            policy=name,
            decision=estimate(per_decision(walked.steps, walked.chances[name])),
            episode=estimate(per_episode(walked.steps, walked.chances[name])),
        )
        for name in policies
    )
