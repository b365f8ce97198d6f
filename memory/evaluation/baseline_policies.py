"""Baselines from textbooks, as policies that the ledger can estimate: what the table in use has to be better than.

Each learns from tests alone, and never repeats what failed in an episode, as that is not available any more. All but the
hierarchical one keep one value for an error type and a strategy.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise

import numpy as np

from memory.model import STOP, Cell, Decision, Factor, LoggedDecision, Outcome
from memory.policy import q_table as policy
from memory.reflections import is_retry_mode

EPSILON = 0.1
TEMPERATURE = 0.05
STEP = 0.1
DISCOUNT = 0.9
SPREAD, NOISE = 0.1, 0.2
"""Standard deviations of the means of a level about the next one's, and of results about their mean; those of the learner's
benchmark."""

_Row = tuple[str, str]


def epsilon_greedy(made: Decision, cells: policy.Cells) -> Sequence[float]:
    """The greatest mean, or with probability `EPSILON` anything (Sutton and Barto 2018, section 2.4)."""
    return _mostly_greedy(_means(made, cells))


def softmax(made: Decision, cells: policy.Cells) -> Sequence[float]:
    """Chances in proportion to exp(mean / `TEMPERATURE`) (Sutton and Barto 2018, section 2.8)."""
    means = _means(made, cells)
    weights = [math.exp((mean - max(means)) / TEMPERATURE) for mean in means]
    return [weight / sum(weights) for weight in weights]


def hierarchical(made: Decision, cells: policy.Cells) -> Sequence[float]:
    """Thompson sampling down the levels (Hong, Kveton, Zaheer and Ghavamzadeh 2022): a mean is normal about the next level's.

    Not exactly theirs: a level of the table holds the evidence of the narrower ones too, so that counts more than once.
    The chances are shares of draws, and the same whenever they are asked for.
    """
    seed = int.from_bytes(hashlib.sha256(made.id.encode()).digest()[:8], "big")
    means, deviations = np.array([_down(made, name, cells) for name in made.available]).T
    drawn = np.random.default_rng(seed).normal(means, deviations, size=(policy.DRAWS, len(means)))
    found: list[float] = (np.bincount(drawn.argmax(axis=1), minlength=len(means)) / policy.DRAWS).tolist()
    return found


def _down(made: Decision, name: str, cells: policy.Cells) -> tuple[float, float]:
    """Mean and standard deviation of a strategy's proof here; of stopping, which proves nothing, both are 0."""
    if name == STOP:
        return 0.0, 0.0
    mean, variance = policy.PROOF_PRIOR, 0.0
    for level in reversed(made.state.levels()):
        cell = cells.get((level, name, Factor.PROOF), Cell(weight=0.0, mean=0.0))
        known, seen = 1.0 / (variance + SPREAD**2), cell.weight / NOISE**2
        mean, variance = (known * mean + seen * cell.mean) / (known + seen), 1.0 / (known + seen)
    return mean, math.sqrt(variance)


def q_learning(log: Sequence[LoggedDecision]) -> Callable[[Decision, policy.Cells], Sequence[float]]:
    """Q(s, a) += step * (r + discount * max Q(s', .) - Q(s, a)) (Watkins 1989) along the log, epsilon-greedy.

    s' is the error type with what is left in the task's next decision. A failure that none follows ends its episode.
    """
    attempts = [entry for entry in log if not is_retry_mode(entry.decision.chosen)]
    attempts.sort(key=lambda entry: (entry.decision.created_at, entry.decision.id))
    q: defaultdict[_Row, float] = defaultdict(float)
    chances: dict[str, Sequence[float]] = {}
    of_task: defaultdict[str, list[Decision]] = defaultdict(list)
    for entry in attempts:
        of_task[entry.decision.task_id].append(entry.decision)
    following = {one.id: next_ for each in of_task.values() for one, next_ in pairwise(each)}
    for _, _, made, outcome in sorted(_events(attempts), key=lambda event: event[:2]):
        if outcome is None:
            chances[made.id] = _mostly_greedy([q[made.state.label, name] for name in made.available])
        else:
            after = following.get(made.id)
            left = max((q[after.state.label, name] for name in after.available), default=0.0) if after else 0.0
            row = (made.state.label, made.chosen)
            q[row] += STEP * (outcome.target + DISCOUNT * left - q[row])
    return lambda made, _cells: chances[made.id]


def _events(log: Sequence[LoggedDecision]) -> Iterator[tuple[datetime, int, Decision, Outcome | None]]:
    """Choices and their test results; at the same time a choice comes first, which did not know it."""
    for entry in log:
        yield entry.decision.created_at, 0, entry.decision, None
        if entry.outcome is not None:
            yield entry.outcome.created_at, 1, entry.decision, entry.outcome


def _means(made: Decision, cells: policy.Cells) -> list[float]:
    """Of proof for this error type, in all repositories that reach this one; 0 for what was never tried."""
    found = (cells.get((made.state.everywhere, name, Factor.PROOF)) for name in made.available)
    return [0.0 if cell is None else cell.mean for cell in found]


def _mostly_greedy(values: Sequence[float]) -> Sequence[float]:
    best, even = max(values), EPSILON / len(values)
    return [even + (1.0 - EPSILON) * (value == best) / values.count(best) for value in values]
