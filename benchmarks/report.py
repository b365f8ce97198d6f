"""What every benchmark prints: a small table, the commit, the machine, and how far to trust the figures."""

from __future__ import annotations

import os
import platform
import socket
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
RESAMPLES = 10_000
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float

    def shown(self, digits: int = 2) -> str:
        """As text: the estimate, and from where to where."""
        return f"{self.estimate:.{digits}f} (95 % {self.low:.{digits}f} to {self.high:.{digits}f})"


def show(title: str, rows: Sequence[tuple[str, str]], notes: Sequence[str] = ()) -> None:
    """Print one table, and below it what it was measured with."""
    width = max(len(name) for name, _ in rows)
    print(f"\n{title}")
    for name, value in rows:
        print(f"  {name:<{width}}  {value}")
    for note in notes:
        print(f"  {note}")
    print(
        f"  commit {commit()}, Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )


def commit() -> str:
    """The commit that was measured; `+changes` where the tree differs from it, `unknown` outside of a clone."""
    described = ("git", "-C", str(ROOT), "describe", "--always", "--exclude=*", "--abbrev=10", "--dirty=+changes")
    try:
        done = subprocess.run(described, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """The median of several runs, and the least and most of them."""
    middle = statistics.median(values)
    return f"{middle:.{digits}f} (median of {len(values)}; {min(values):.{digits}f} to {max(values):.{digits}f})"


def ratio_of_sums(samples: Numbers) -> Numbers:
    """What the firsts of the pairs take together, as a share of the seconds; one a row."""
    return np.asarray(samples[..., 0].sum(axis=1) / samples[..., 1].sum(axis=1), dtype=np.float64)


def free_port() -> int:
    """A port of this machine that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def bootstrap(
    values: Sequence[float] | Sequence[tuple[float, ...]], statistic: Callable[[Numbers], Numbers], seed: int = 0
) -> Interval:
    """A statistic of a sample with its percentile interval (Efron 1979).

    `statistic` takes an array of samples, one a row, and gives one number a row. Values may be numbers, or tuples of them
    that are drawn together: the last axis then.
    """
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(seed).choice(sample, size=(RESAMPLES, len(sample)), axis=0)
    low, high = np.percentile(statistic(drawn), [2.5, 97.5]).tolist()
    return Interval(estimate=float(statistic(sample[np.newaxis, :])[0]), low=low, high=high)
