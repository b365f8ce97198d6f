"""A decision explained: the values for machines, and the words for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from memory.model import Arm


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
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
class Row:
    """One cell of the table as it stands now for this repository: `count` is the summed weight of its evidence, `mean`
    within [0, 1], `witnesses` how many repositories it comes from."""

    scope: str
    key: str
    strategy: str
    factor: str
    count: float
    mean: float
    witnesses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One thing that somebody did about the decision; `limited` when it counts for nothing because they had taught enough."""

    kind: str
    login: str
    permission: str
    weight: float
    source: str
    at: str
    taken_back: bool
    limited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A similar case in the same repository."""

    id: str
    error_type: str
    strategy: str
    outcome: str
    reflection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A decision with everything that led to it and came of it. Numbers of the table are those of now, odds those of then.

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
    options: tuple[Option, ...]
    table: tuple[Row, ...]
    components: Mapping[str, float]
    target: float | None
    withdrawn: bool
    advantage: float | None
    signals: tuple[Heard, ...]
    neighbours: tuple[Remembered, ...]

    def to_json(self) -> dict[str, object]:
        """Plain values that `json.dumps` takes."""
        return asdict(self)

    def text(self) -> str:
        """The explanation in lines for people."""
        return "\n".join((*_heading(self), *_odds(self), *_evidence(self), *_aftermath(self)))


def _heading(why: Explanation) -> list[str]:
    used = "nothing learned was used" if why.arm == Arm.CONTROL else "what was learned was used"
    about = f" about finding {why.subject}" if why.subject else ""
    tried = f", after {', '.join(why.tried)}" if why.tried else ""
    return [
        f"Decision {why.decision_id}{about}: {why.kind} in {why.repository}, {why.label} ({why.family}){tried}.",
        f"Chose {why.chosen} with probability {why.probability:.2f}, {why.arm} arm ({used}), policy {why.policy_version}.",
        f"In short: {why.reason}.",
    ]


def _odds(why: Explanation) -> list[str]:
    lines = ["Options, with the odds then and the beliefs now:"]
    for option in sorted(why.options, key=lambda each: -each.probability):
        proof = "" if option.proof is None else f"proof {option.proof:.2f} ± {option.proof_deviation:.2f}, "
        accepted = f"acceptance {option.acceptance:.2f} ± {option.acceptance_deviation:.2f}"
        lines.append(f"  {option.name}: probability {option.probability:.3f}; {proof}{accepted}")
    return lines


def _evidence(why: Explanation) -> list[str]:
    rows = [
        f"  {row.scope}: {row.strategy}, {row.factor} {row.mean:.2f} over {row.count:.1f}{_from(row)}"
        for row in why.table
    ]
    cases = [f"  remembered: {n.error_type}, {n.strategy}: {n.outcome.replace('_', ' ')}" for n in why.neighbours]
    head = "Evidence in the table now, most specific level first:"
    return [head, *(rows or ["  none yet: the priors speak"]), *cases]


def _aftermath(why: Explanation) -> list[str]:
    lines = []
    if why.target is not None:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in why.components.items())
        undone = ", taken back" if why.withdrawn else ""
        lines.append(f"The tests said: {parts}; target {why.target:.2f}{undone}.")
    lines += [f"{said(heard)}." for heard in why.signals]
    if why.advantage is not None:
        better = "better" if why.advantage >= 0.0 else "worse"
        lines.append(f"It did {better} than expected by {abs(why.advantage):.2f}.")
    return lines or ["Nobody has said anything about it: silence teaches nothing."]


def _from(row: Row) -> str:
    return f", from {row.witnesses} repositories" if row.witnesses > 1 else ""


def said(heard: Heard) -> str:
    """What somebody did, in one line."""
    return f"{heard.login} ({heard.permission}): {heard.kind.replace('_', ' ')}, weight {heard.weight:.1f}{_but(heard)}"


def _but(heard: Heard) -> str:
    if heard.limited:
        return ", having taught enough that day"
    return ", taken back" if heard.taken_back else ""
