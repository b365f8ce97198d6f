"""How likely people see to a finding that nobody tells them of, by their past. Pure.

A logistic regression on the addressed share in levels and on what is seen beside the finding. Its weights are those of other
repositories, moved by this one's past as far as that speaks (maximum a posteriori with a normal prior).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import log, log1p
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.history.levels import Levels, PathClass, path_class
from memory.model import PastFinding, Severity

Floats = NDArray[np.float64]

NAMES = ("bias", "share", "standing", "stands", "burst", "test", "docs", "fixable", "info", "bandit")
ELSEWHERE = (-1.5, 0.3, -0.4, 0.0, -0.4, -0.3, -0.6, 0.5, -0.3, -0.8)
"""The weights before any evidence, by name: about those of the pasts of flask, kombu and paramiko, weighed alike."""

SPREAD = 0.3
"""Standard deviation of a repository's weights around these."""

MOST_FITTED = 20_000
"""Findings, the latest, that the weights are fitted to."""

NEWTON_STEPS = 20
_ENOUGH = 1e-6


class Seen(Protocol):
    """What is known of a finding when it is found."""

    @property
    def rule(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def tool(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def fixable(self) -> bool: ...
    @property
    def standing(self) -> int: ...
    @property
    def burst(self) -> int: ...


def features(seen: Seen, share: float) -> tuple[float, ...]:
    """The numbers that the chance hangs on, in the order of `NAMES`; `share` is the levels'."""
    kind = path_class(seen.path)
    return (
        1.0,
        log(share / (1.0 - share)),
        log1p(seen.standing),
        float(seen.standing > 0),
        log(seen.burst),
        float(kind is PathClass.TEST),
        float(kind is PathClass.DOCS),
        float(seen.fixable),
        float(seen.severity is Severity.INFO),
        float(seen.tool == "bandit"),
    )


def chances(rows: Floats, weights: Floats) -> Floats:
    """The chance of each row (n, features)."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(rows @ weights, -30.0, 30.0))), dtype=np.float64)


def fitted(rows: Floats, addressed: Floats, counts: Floats, prior: Floats, spread: float = SPREAD) -> Floats:
    """The weights that `rows` with their fates make most likely, given a normal prior: Newton's method, steps halved.

    `addressed` (n,) is 0 or 1, `counts` (n,) how much each row weighs.
    """
    pull = np.eye(len(prior)) / spread**2

    def loss(weights: Floats) -> float:
        odds, gap = rows @ weights, weights - prior
        return float(counts @ (np.logaddexp(0.0, odds) - addressed * odds) + gap @ pull @ gap / 2)

    weights, now = prior, loss(prior)
    for _ in range(NEWTON_STEPS):
        expected = chances(rows, weights)
        gradient = rows.T @ (counts * (expected - addressed)) + pull @ (weights - prior)
        curvature = (rows * (counts * expected * (1.0 - expected))[:, np.newaxis]).T @ rows + pull
        step = np.linalg.solve(curvature, gradient)
        while (after := loss(weights - step)) > now and float(np.abs(step).max()) >= _ENOUGH:
            step = step / 2.0
        if now - after < _ENOUGH:
            break
        weights, now = weights - step, after
    return weights


@dataclass(slots=True)
class History:
    """What a past has taught so far. Tell it of each finding when it is found and when its fate is known."""

    levels: Levels = field(default_factory=Levels)
    weights: Floats = field(default_factory=lambda: np.array(ELSEWHERE))
    prior: Floats = field(default_factory=lambda: np.array(ELSEWHERE))
    _found: dict[int, tuple[float, ...]] = field(default_factory=dict)
    _known: deque[tuple[tuple[float, ...], float, float]] = field(default_factory=lambda: deque(maxlen=MOST_FITTED))

    def found(self, number: int, seen: Seen, position: int) -> float:
        """The chance that a finding is seen to; `number` names it until its fate is known."""
        row = features(seen, self.levels.share(seen.rule, seen.path, position))
        self._found[number] = row
        return float(chances(np.array([row]), self.weights)[0])

    def decided(self, number: int, finding: PastFinding) -> None:
        """Learn from a fate."""
        row, addressed = self._found.pop(number), finding.fate.addressed
        if addressed is not None:
            self._known.append((row, float(addressed), finding.burst**-0.5))
            self.levels.add(finding)

    def refit(self) -> None:
        """Move the weights by all that is known; between two refits only the levels learn."""
        if self._known:
            rows, addressed, counts = zip(*self._known, strict=True)
            self.weights = fitted(np.array(rows), np.array(addressed), np.array(counts), self.prior)
