"""What maintainers prefer: a reward model that says which of two findings they prefer.

A Bradley–Terry model (1952, "Rank analysis of incomplete block designs"): each option has a strength, and one is preferred
with the probability σ(difference of strengths). The strength is linear in the prior's log-odds and in named features. A
model ranks only after it predicts later, held-out choices better than the prior, and it orders equals alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from math import log, log1p

from memory.errors import StoreError
from memory.history.lessons import path_class
from memory.model import Finding, Severity, Signal, TaskKind
from memory.policy.review_policy import prior_of
from memory.rewards import support
from memory.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceOption:
    """A finding as the model sees it: the expected chance of acceptance, and named numbers."""

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
            "size": log1p(len(suggestion.replacement.splitlines()) if suggestion else 0) / 3.0,
        },
    )


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


def preference_model(store: Store, repository: str) -> PreferenceModel | None:
    """The model that ranks in this repository; None when none is in use, or none that reaches it."""
    model_id = store.models_in_use.get(TaskKind.REVIEW, str)
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
    """Every model, newest first, and whether it is in use: at most one."""
    in_use = store.models_in_use.get(TaskKind.REVIEW, str)
    found = store.models.of_several([TaskKind.REVIEW], PreferenceModel)
    return [(model, key == in_use) for key, model in reversed(found.items())]
