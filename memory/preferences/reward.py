"""The reward model: which of two findings, or of two proven patches, people would rather have. Pure.

Bradley and Terry (1952, "Rank analysis of incomplete block designs"): each has a strength, and one is preferred with the
probability σ(difference of strengths). The strength is the prior's log-odds plus a linear function of features and of an
embedding, so that a model without data is the prior, and L2 pulls towards it. There is no intercept: a pair has no order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from memory.logistic import fitted
from memory.preferences.judged import Option, Pair

Floats = NDArray[np.float64]

L2_GRID = (0.3, 1.0, 3.0, 10.0, 30.0, 1e6)
"""Strengths of the pull; the last one leaves the prior as it is."""

EMBEDDING_GRID = (0.0, 1.0, 3.0)
"""How far apart embeddings stand against features; 0 leaves them out."""

TEMPERATURES: tuple[float, ...] = tuple(np.geomspace(0.5, 16.0, 41).tolist())

TEMPERATURE_PULL = 4.0
"""What leaving a temperature of 1 costs, in nats for the square of its logarithm: few pairs hardly tell how sure to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperparameters:
    """What is chosen on held-out earlier time; `prior_temperature` is what the prior alone would be divided by."""

    l2: float
    embedding: float
    temperature: float = 1.0
    prior_temperature: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardModel:
    """Weights by feature name and by the embedding's dimensions; `embedder` is the id of what made the embeddings.

    Without dimensions nothing has to be embedded. A feature that was not seen in training counts nothing.
    """

    weights: Mapping[str, float]
    dimensions: tuple[float, ...]
    embedder: str
    hyperparameters: Hyperparameters

    def strengths(self, options: Sequence[Option], vectors: Floats | None) -> Floats:
        """The strength of each option, calibrated. `vectors` (options, dimensions) are needed where the model has some."""
        raw = np.array(
            [o.prior_odds + sum(self.weights.get(n, 0.0) * value for n, value in o.features.items()) for o in options]
        )
        if self.dimensions:
            if vectors is None or vectors.shape != (len(options), len(self.dimensions)):
                raise ValueError(
                    f"this model needs {len(self.dimensions)} dimensions by {self.embedder} for each option"
                )
            raw = raw + vectors @ np.array(self.dimensions)
        return np.asarray(raw / self.hyperparameters.temperature, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Table:
    """Pairs as numbers: rows of differences, their weights, and the difference of the priors' log-odds."""

    features: Floats
    embeddings: Floats
    offsets: Floats
    weights: Floats


def table(pairs: Sequence[Pair], names: Sequence[str], vectors: Mapping[str, Floats]) -> Table:
    """Differences of better and worse. `vectors` is by decision id; without any, embeddings have no columns."""
    column = {name: number for number, name in enumerate(names)}
    features = np.zeros((len(pairs), len(names)))
    for row, pair in enumerate(pairs):
        for option, sign in ((pair.better.option, 1.0), (pair.worse.option, -1.0)):
            for name, value in option.features.items():
                if name in column:
                    features[row, column[name]] += sign * value
    dimensions = len(next(iter(vectors.values()))) if vectors else 0
    between = [vectors[p.better.decision_id] - vectors[p.worse.decision_id] for p in pairs] if vectors else []
    return Table(
        features=features,
        embeddings=np.array(between, dtype=np.float64).reshape(len(pairs), dimensions),
        offsets=np.array([pair.better.option.prior_odds - pair.worse.option.prior_odds for pair in pairs]),
        weights=np.array([pair.weight for pair in pairs]),
    )


def fit(data: Table, *, l2: float, embedding: float) -> Floats:
    """Weights of features, then of embeddings, that make the observed choices likeliest under the pull."""
    rows = _rows(data, embedding)
    weights = fitted(
        rows,
        np.ones(len(rows)),
        data.weights,
        prior=np.zeros(rows.shape[1]),
        pull=l2,
        offsets=data.offsets,
    )
    return _unscaled(weights, data.features.shape[1], embedding)


def _rows(data: Table, embedding: float) -> Floats:
    return np.hstack([data.features, embedding * data.embeddings]) if embedding else data.features


def _unscaled(weights: Floats, features: int, embedding: float) -> Floats:
    return np.concatenate([weights[:features], weights[features:] * embedding])


def margins(data: Table, weights: Floats) -> Floats:
    """How much stronger the better of each pair is held to be, before calibration."""
    features = data.features.shape[1]
    found = data.offsets + data.features @ weights[:features]
    return found + data.embeddings @ weights[features:] if len(weights) > features else found


def log_loss(margin: Floats, weight: Floats) -> float:
    """The weighted mean surprise, in nats a pair."""
    return float(np.average(np.logaddexp(0.0, -margin), weights=weight))


def choose(train: Table, held_out: Table) -> Hyperparameters:
    """The pull, the weight of embeddings and the temperature that surprise least on pairs of a later time.

    The temperature (Guo et al. 2017, "On calibration of modern neural networks") divides all strengths.
    """
    scales = EMBEDDING_GRID if train.embeddings.shape[1] else (0.0,)
    grid = [(l2, embedding) for l2 in sorted(L2_GRID, reverse=True) for embedding in scales]
    tried = [margins(held_out, fit(train, l2=l2, embedding=embedding)) for l2, embedding in grid]
    least = _plainest([np.logaddexp(0.0, -margin) for margin in tried], held_out.weights)
    (l2, embedding), margin = grid[least], tried[least]
    return Hyperparameters(
        l2=l2,
        embedding=embedding,
        temperature=_temperature(margin, held_out.weights),
        prior_temperature=_temperature(held_out.offsets, held_out.weights),
    )


def _plainest(losses: Sequence[Floats], weights: Floats) -> int:
    """The first, so the plainest, whose loss is within one standard error of the least (Breiman et al. 1984)."""
    best = losses[int(np.argmin([np.average(loss, weights=weights) for loss in losses]))]
    worse = [loss - best for loss in losses]
    enough = [np.average(gap, weights=weights) <= gap.std() / len(gap) ** 0.5 for gap in worse]
    return enough.index(True)


def _temperature(margin: Floats, weights: Floats) -> float:
    total = float(weights.sum())
    cost = {t: total * log_loss(margin / t, weights) + TEMPERATURE_PULL * log(t) ** 2 for t in TEMPERATURES}
    return min(cost, key=cost.__getitem__)
