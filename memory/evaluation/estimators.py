"""What a policy would have been worth, from what another one logged. Pure, numpy.

IPS is the mean of weighted rewards (Horvitz and Thompson 1952), SNIPS divides by the weights instead of the count
(Swaminathan and Joachims 2015), DR weights only what a model of the reward got wrong (Dudík, Langford and Li 2011; over
the steps of an episode, Jiang and Li 2016). A weight is the target's probability of what was chosen over the logged one.

The reward is factored. Proof is estimated on every decision that the tests judged; acceptance given proof, self-normalised,
on the proven ones that people judged, as if silence did not hang on what they would have said; the value is their product.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from memory.evaluation.replay import Step

Numbers = NDArray[np.float64]

CLIP = 20.0
"""Weights above this count as this: a little bias for much less variance. How many were is told."""

LEAST_JUDGED = 20.0
"""The same for what people judged."""

RESAMPLES = 1000
_CELLS = 5_000_000


class Unit(StrEnum):
    """What an estimate speaks of.

    `decision`: the mean proof target of one decision, in the states that the log met.
    `episode`: the chance that an episode ends with a proof, with the attempts and the budget that it had.
    """

    DECISION = "decision"
    EPISODE = "episode"


LEAST_EFFECTIVE: Mapping[Unit, float] = MappingProxyType({Unit.DECISION: 80.0, Unit.EPISODE: 120.0})
"""The effective sample size below which there is no estimate: with less, intervals are too narrow (docs/learning.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """What a policy would have been worth, or why that cannot be told: then `refused` says so and figures are None.

    `effective` is the effective sample size (Kish 1965), `clipped` the share of weights that were cut to `CLIP`;
    `acceptance` and `value` are None where too few proven decisions were judged by people (`judged`, `judged_effective`).
    """

    unit: Unit
    n: int
    tasks: int
    effective: float
    clipped: float
    judged: int
    judged_effective: float
    ips: Figure | None = None
    snips: Figure | None = None
    dr: Figure | None = None
    acceptance: Figure | None = None
    value: Figure | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Weighted rewards, an entry a decision or an episode (n,); `task` numbers the tasks from 0.

    `dr` is the doubly robust term; `judged` the acceptance where it was proven and people judged it, else NaN.
    """

    unit: Unit
    task: NDArray[np.intp]
    weight: Numbers
    reward: Numbers
    dr: Numbers
    judged: Numbers
    clipped: float


def per_decision(steps: Sequence[Step], chances: Sequence[Numbers], *, clip: float = CLIP) -> Sample:
    """One entry a decision; its reward is the proof target."""
    numbers: dict[str, int] = {}
    task = np.array([numbers.setdefault(step.task, len(numbers)) for step in steps], dtype=np.intp)
    raw = np.array([each[step.chosen] / step.logged for step, each in zip(steps, chances, strict=True)])
    weight = np.minimum(raw, clip)
    reward = np.array([step.target for step in steps])
    predicted = np.array([step.value[step.chosen] for step in steps])
    expected = np.array([float(each @ step.value) for step, each in zip(steps, chances, strict=True)])
    return Sample(
        unit=Unit.DECISION,
        task=task,
        weight=weight,
        reward=reward,
        dr=expected + weight * (reward - predicted),
        judged=np.array([_judged(step) for step in steps]),
        clipped=float((raw > clip).mean()) if len(raw) else 0.0,
    )


def per_episode(steps: Sequence[Step], chances: Sequence[Numbers], *, clip: float = CLIP) -> Sample:
    """One entry a task; its reward is 1 for a proof.

    Weights multiply up from decision to decision (Precup, Sutton and Singh 2000). As the one reward comes at the end, an
    episode's weight is the product over all its decisions.
    """
    episodes: defaultdict[str, list[int]] = defaultdict(list)
    for number, step in enumerate(steps):
        episodes[step.task].append(number)
    weights, terms, cut = [], [], 0
    for places in episodes.values():
        raw, robust = 1.0, 0.0
        for place in places:
            step, odds = steps[place], chances[place]
            before, worth = min(raw, clip), _to_go(step.proves)
            raw *= odds[step.chosen] / step.logged
            robust += before * float(odds @ worth) + min(raw, clip) * (step.proven - worth[step.chosen])
        weights.append(min(raw, clip))
        terms.append(robust)
        cut += raw > clip
    last = [steps[places[-1]] for places in episodes.values()]
    return Sample(
        unit=Unit.EPISODE,
        task=np.arange(len(last), dtype=np.intp),
        weight=np.array(weights),
        reward=np.array([float(step.proven) for step in last]),
        dr=np.array(terms),
        judged=np.array([_judged(step) for step in last]),
        clipped=cut / len(last) if last else 0.0,
    )


def _judged(step: Step) -> float:
    return step.acceptance if step.proven and step.acceptance is not None else float("nan")


def _to_go(proves: Numbers) -> Numbers:
    """A guess at the chance of a proof from here on, by strategy: its own, or else that of the best other one.

    Any guess leaves the estimate unbiased; a good one narrows it.
    """
    if len(proves) < 2:
        return proves
    second, first = np.sort(proves)[-2:]
    return np.asarray(proves + (1.0 - proves) * np.where(proves == first, second, first))


def effective(weights: Numbers) -> float:
    """How many equally weighted observations these are worth: (sum w)^2 / sum w^2 (Kish 1965)."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def estimate(sample: Sample, *, least: float | None = None, seed: int = 0) -> Estimates:
    """Estimates with intervals, or a refusal where the sample is worth less than `least`, by default what its unit needs."""
    tasks = int(sample.task.max()) + 1 if len(sample.task) else 0
    counted = ~np.isnan(sample.judged)
    size = min(effective(sample.weight), effective(_by_task(sample, sample.weight, tasks)))
    judged = effective(sample.weight[counted])
    told = Estimates(
        unit=sample.unit,
        n=len(sample.weight),
        tasks=tasks,
        effective=size,
        clipped=sample.clipped,
        judged=int(counted.sum()),
        judged_effective=judged,
        refused=_refusal(tasks, size, LEAST_EFFECTIVE[sample.unit] if least is None else least),
    )
    return told if told.refused else _figures(sample, told, tasks, with_judged=judged >= LEAST_JUDGED, seed=seed)


def _refusal(tasks: int, size: float, least: float) -> str:
    if size >= least:
        return ""
    return f"{tasks} tasks are worth {int(size)} that this policy would have done alike, and {least:.0f} are needed"


def _by_task(sample: Sample, values: Numbers, tasks: int) -> Numbers:
    return np.bincount(sample.task, weights=values, minlength=tasks).astype(np.float64)


def _figures(sample: Sample, told: Estimates, tasks: int, *, with_judged: bool, seed: int) -> Estimates:
    """All figures from sums by task, so that one bootstrap over tasks serves them all."""
    counted = ~np.isnan(sample.judged)
    columns = (
        np.ones(len(sample.weight)),
        sample.weight * sample.reward,
        sample.weight,
        sample.dr,
        sample.weight * counted,
        sample.weight * np.where(counted, sample.judged, 0.0),
    )
    sums = np.column_stack([_by_task(sample, column, tasks) for column in columns])
    drawn = _statistics(_resampled(sums, seed))
    point = _statistics(sums.sum(axis=0, keepdims=True))[0]
    ends = np.percentile(drawn, [2.5, 97.5], axis=0)
    found = [Figure(value=float(v), low=float(a), high=float(b)) for v, a, b in zip(point, *ends, strict=True)]
    return replace(
        told,
        ips=found[0],
        snips=found[1],
        dr=found[2],
        acceptance=found[3] if with_judged else None,
        value=found[4] if with_judged else None,
    )


def _statistics(sums: Numbers) -> Numbers:
    """IPS, SNIPS, DR, acceptance given proof, and the value; sums (rows, 6) to figures (rows, 5)."""
    n, rewarded, weight, robust, judged, accepted = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        acceptance = accepted / judged
        return np.column_stack(
            (rewarded / n, rewarded / weight, robust / n, acceptance, np.clip(robust / n, 0.0, 1.0) * acceptance)
        )


def _resampled(sums: Numbers, seed: int) -> Numbers:
    """Sums of `RESAMPLES` draws of as many tasks with replacement (Efron 1979; whole tasks, as their decisions hang together)."""
    tasks = len(sums)
    generator = np.random.default_rng(seed)
    rows = max(1, _CELLS // tasks)
    parts = []
    for start in range(0, RESAMPLES, rows):
        size = min(rows, RESAMPLES - start)
        counts = generator.multinomial(tasks, np.full(tasks, 1.0 / tasks), size=size)
        parts.append(counts @ sums)
    return np.concatenate(parts)
