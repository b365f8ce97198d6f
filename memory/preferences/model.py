"""What maintainers prefer: a reward model that says which of two findings, or of two proven patches, they prefer.

A Bradley–Terry model (1952, "Rank analysis of incomplete block designs"): each option has a strength, and one is preferred
with the probability σ(difference of strengths). The strength is linear in the prior's log-odds and in named features. A
model ranks only after it predicts later, held-out choices better than the prior, and it orders equals alone: tests decide
first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from math import floor, inf, log, log1p, log2

from memory.errors import StoreError
from memory.history.lessons import path_class
from memory.model import Finding, Severity, Signal, TaskKind
from memory.policy.review_policy import prior_of
from memory.rewards import support
from memory.store import Store

BANDS = 2
"""Weights count as equal while they are in the same of so many steps from the greatest to its half, and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceOption:
    """A finding or a patch as the model sees it: the expected chance of acceptance, and named numbers."""

    prior: float
    features: Mapping[str, float]

    @property
    def prior_odds(self) -> float:
        """The logarithm of the prior's odds."""
        return log(self.prior / (1.0 - self.prior))


def option_of_finding(finding: Finding) -> PreferenceOption:
    suggestion = finding.suggestion
    proven = suggestion is not None and suggestion.proof is not None
    return PreferenceOption(
        prior=prior_of(finding, suggestion_proven=proven),
        features={
            "severity": finding.severity.rank / (len(Severity) - 1),
            f"rule={finding.rule}": 1.0,
            f"category={finding.category}": 1.0,
            f"tool={finding.tool}": 1.0,
            f"path={path_class(finding.path)}": 1.0,
            "suggested": float(suggestion is not None),
            "proven": float(proven),
            "size": _size(len(suggestion.replacement.splitlines()) if suggestion else 0),
        },
    )


def option_of_patch(patch: str, *, template: str, strategy: str, share: float = 0.5) -> PreferenceOption:
    """A unified diff as an option; `share` is its part of the plausible weight."""
    changed = [line for line in patch.splitlines() if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
    return PreferenceOption(
        prior=min(max(share, 0.05), 0.95),
        features={
            f"template={template}": 1.0,
            f"strategy={strategy}": 1.0,
            f"path={path_class(path_of(patch))}": 1.0,
            "size": _size(len(changed)),
        },
    )


def path_of(patch: str) -> str:
    """The file that a unified diff changes; empty where it names none."""
    named = (line[4:].split("\t")[0] for line in patch.splitlines() if line.startswith("+++ "))
    return next(named, "").removeprefix("b/")


def _size(lines: int) -> float:
    return log1p(lines) / 3.0


def verdict(signals: Iterable[Signal]) -> float:
    """The summed feedback on a decision, in [-1, 1]; 0 where none counts. Give signals that were not taken back."""
    return min(max(sum(map(support, signals)), -1.0), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutResult:
    """What a model predicts of pairs judged after everything it was trained on.

    `gain` is by how much its log loss (nats a pair) is below the prior's, with a 95 % interval. A tie counts half in
    `accuracy`. `refusal` says why the model may not rank; it is empty where it may.
    """

    pairs: int
    tasks: int
    accuracy: float
    prior_accuracy: float
    gain: float
    low: float
    high: float
    calibration_error: float
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceModel:
    """The weights of the prior's log-odds and of each feature, and how they were found. `id` depends on data and method."""

    id: str
    kind: TaskKind
    prior: float
    weights: Mapping[str, float]
    evaluation: HeldOutResult
    trained_on: int
    teachers: int
    repositories: tuple[str, ...]
    created_at: datetime

    def strengths(self, options: Sequence[PreferenceOption]) -> list[float]:
        """The strength of each option; only differences mean something. Features unseen in training count nothing."""
        return [
            self.prior * o.prior_odds + sum(self.weights.get(name, 0.0) * value for name, value in o.features.items())
            for o in options
        ]

    def reaches(self, repository: str) -> bool:
        """Whether the model may rank here: feedback of one teacher alone ranks only where it was given."""
        return self.teachers > 1 or repository in self.repositories

    def to_json(self, *, active: bool) -> dict[str, object]:
        """Plain values that `json.dumps` takes."""
        return asdict(self) | {"active": active, "created_at": self.created_at.isoformat()}


def preference_model(store: Store, kind: TaskKind, repository: str) -> PreferenceModel | None:
    """The model that ranks in this repository; None when none is in use, or none that reaches it."""
    model_id = store.models_in_use.get(kind, str)
    model = store.models.get(model_id, PreferenceModel) if model_id else None
    return model if model is not None and model.reaches(repository) else None


def activate(store: Store, model_id: str) -> PreferenceModel:
    """Put a model in use; raises StoreError for one that is not there or not shown to be better than the prior."""
    model = store.models.get(model_id, PreferenceModel)
    if model is None:
        raise StoreError(f"no reward model {model_id}; `apprentice preferences` lists them")
    if model.evaluation.refusal:
        raise StoreError(f"reward model {model_id} may not be used: {model.evaluation.refusal}")
    store.models_in_use.put(model.kind, model_id)
    return model


def known_models(store: Store) -> list[tuple[PreferenceModel, bool]]:
    """Every model, newest first, and whether it is in use: of each kind at most one."""
    in_use = set(store.models_in_use.all(str))
    found = store.models.of_several(list(TaskKind), PreferenceModel)
    return [(model, key in in_use) for key, model in reversed(found.items())]


def rank(*, proven: Sequence[bool], weights: Sequence[float], strengths: Sequence[float]) -> list[int]:
    """Positions, best first: what is proven, then by weight, and of about equal weights the preferred."""
    keys, most = zip(proven, weights, strengths, strict=True), max(weights, default=0.0)
    order = [(not sure, _band(weight, most), -strength, place) for place, (sure, weight, strength) in enumerate(keys)]
    return [place for *_, place in sorted(order)]


def _band(weight: float, most: float) -> float:
    return floor(BANDS * (log2(most) - log2(weight))) if weight > 0.0 else inf
