"""How likely developers are to address a finding on their own, by their history. Pure.

A logistic regression on the addressed share by level and on features of the finding. Its weights begin as those of other
repositories, and this repository's history moves them (maximum a posteriori with a normal prior).
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
"""The weights before any evidence, by name: about those of the histories of flask, kombu and paramiko, weighed alike."""

SPREAD = 0.3
"""Standard deviation of a repository's weights around these."""

MOST_FITTED = 20_000
"""Findings, the latest, that the weights are fitted to."""


class JudgedFinding(Protocol):
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


def features(seen: JudgedFinding, share: float) -> tuple[float, ...]:
    """The features that the chance depends on, in the order of `NAMES`; `share` comes from the levels."""
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


@dataclass(slots=True)
class History:
    """What a history teaches up to now. Call `found` for each finding, and `decided` when its fate is known."""

    levels: Levels = field(default_factory=Levels)
    weights: Floats = field(default_factory=lambda: np.array(ELSEWHERE))
    prior: Floats = field(default_factory=lambda: np.array(ELSEWHERE))
    _found: dict[int, tuple[float, ...]] = field(default_factory=dict)
    _known: deque[tuple[tuple[float, ...], float, float]] = field(default_factory=lambda: deque(maxlen=MOST_FITTED))

    def found(self, number: int, seen: JudgedFinding, position: int) -> float:
        """The chance that developers address a finding; `number` names it until its fate is known."""
        row = features(seen, self.levels.share(seen.rule, seen.path, position))
        self._found[number] = row
        return float(_sigmoid(np.array(row) @ self.weights))

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
            self.weights = _fitted(np.array(rows), np.array(addressed), np.array(counts), self.prior)


def _sigmoid(odds: Floats) -> Floats:
    """1 / (1 + e^-x), without overflow."""
    return np.exp(-np.logaddexp(0.0, -odds))


def _fitted(rows: Floats, targets: Floats, counts: Floats, prior: Floats) -> Floats:
    """The likeliest weights of a logistic regression whose normal prior is around `prior` with `SPREAD`."""
    from scipy.optimize import minimize  # slow to import, and seldom needed

    def loss(weights: Floats) -> tuple[float, Floats]:
        odds, gap = rows @ weights, (weights - prior) / SPREAD**2
        slope = rows.T @ (counts * (_sigmoid(odds) - targets)) + gap
        return float(counts @ (np.logaddexp(0.0, odds) - targets * odds) + 0.5 * gap @ (weights - prior)), slope

    return np.asarray(minimize(loss, prior, jac=True, method="L-BFGS-B", options={"gtol": 1e-6}).x)
