"""Logistic regression with a normal prior, by Newton's method. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEWTON_STEPS = 25
_ENOUGH = 1e-8


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e^-x), without overflow."""
    return np.exp(-np.logaddexp(0.0, -x))


def fitted(rows: Floats, targets: Floats, counts: Floats, *, prior: Floats, pull: float, offsets: Floats) -> Floats:
    """The weights (k,) that make `targets` likeliest, given a normal prior around `prior` with the precision `pull`.

    `rows` (n, k), `targets` (n,) of 0 or 1, `counts` (n,) how much each row weighs, `offsets` (n,) log-odds that are known.
    The penalised loss is convex; a step that overshoots is halved (Bishop 2006, "Pattern recognition and machine learning",
    4.3.3 and 4.5.1).
    """

    def loss(weights: Floats) -> float:
        odds, gap = offsets + rows @ weights, weights - prior
        return float(counts @ (np.logaddexp(0.0, odds) - targets * odds) + 0.5 * pull * gap @ gap)

    weights, now = prior, loss(prior)
    for _ in range(NEWTON_STEPS):
        expected = sigmoid(offsets + rows @ weights)
        slope = rows.T @ (counts * (expected - targets)) + pull * (weights - prior)
        bend = (rows * (counts * expected * (1.0 - expected))[:, np.newaxis]).T @ rows
        bend[np.diag_indices_from(bend)] += pull
        step = np.linalg.solve(bend, slope)
        while (after := loss(weights - step)) > now and np.abs(step).max(initial=0.0) > _ENOUGH:
            step = step / 2.0
        if now - after < _ENOUGH:
            break
        weights, now = weights - step, after
    return weights
