"""The arms of a repair: which strategies are open, and what is expected of each before any evidence. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from memory.model import EditShape, Failure
from workers.repair.search import REPLAY, strategies_for
from workers.repair.templates import all_templates

REPLAY_PRIOR = 0.7
"""Exact past edits convert far better than similar past fixes do, and cost one test run each."""


def priors(failure: Failure, replayable: Mapping[EditShape, float]) -> dict[str, float]:
    """The open strategies with the proof expected of each; `replay` is open when there is something to replay."""
    known = {name: _prior(name, failure) for name in strategies_for(failure)}
    return {REPLAY: REPLAY_PRIOR, **known} if replayable else known


def of_strategy(shapes: Mapping[EditShape, float], strategy: str) -> dict[EditShape, float]:
    """The shapes that a strategy's own templates make."""
    return {shape: weight for shape, weight in shapes.items() if _strategies().get(shape.template) == strategy}


def _prior(strategy: str, failure: Failure) -> float:
    """That of its likeliest template: a strategy is as good as the best thing it can do."""
    return max(t.prior_for(failure.family) for t in all_templates() if t.strategy == strategy)


@cache
def _strategies() -> dict[str, str]:
    return {template.name: template.strategy for template in all_templates()}
