"""Verbal and other lessons of failed attempts: which are of the same failure, and what the next attempt gets of them. Pure.

Reflexion (Shinn et al. 2023) hands a model its own words about what failed, and names the modes here. The embedded engine
has another use of the same facts: what was tried comes later, and what came nearest comes first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory.model import Failure, NearMiss, Reflection, RetryMode

MOST_RECALLED = 30
"""So many of a repository's latest reflections are looked at."""

MOST_RULED_OUT = 1000
"""Candidates that one reflection names: 8 bytes each."""

ALIKE = 0.5
"""The share of failing tests that two attempts have in common when they are at the same failure."""

EXPECTED: Mapping[str, float] = {
    RetryMode.NONE: 0.15,
    RetryMode.LAST_ATTEMPT: 0.2,
    RetryMode.REFLECTION: 0.2,
    RetryMode.BOTH: 0.25,
}
"""How often a second attempt succeeds, before any evidence."""

_NAMED = "retry:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """What an attempt is given of earlier ones: candidates to try later, and where to start."""

    later: frozenset[str] = frozenset()
    start: tuple[NearMiss, ...] = ()
    told: tuple[Reflection, ...] = ()


def of_same(failure: Failure, reflections: Iterable[Reflection]) -> tuple[Reflection, ...]:
    """Those of the same failure, be it at another commit: most of the failing tests are the same."""
    wanted = set(failure.failing_tests)
    return tuple(each for each in reflections if _overlap(wanted, set(each.failing_tests)) >= ALIKE)


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def given(mode: RetryMode, reflections: Sequence[Reflection]) -> Retry:
    """What a mode gives of the reflections on this failure, the newest first.

    `last_attempt` gives what was tried, so that it is not done again in the same order; `reflection` what came nearest,
    to start from, and the lessons themselves, for an engine that reads.
    """
    later: frozenset[str] = frozenset()
    if mode in (RetryMode.LAST_ATTEMPT, RetryMode.BOTH):
        later = frozenset(key for each in reflections for key in each.ruled_out)
    if mode not in (RetryMode.REFLECTION, RetryMode.BOTH):
        return Retry(later=later)
    near = sorted((e.nearest for e in reflections if e.nearest is not None), key=lambda miss: -miss.passed)
    return Retry(later=later, start=tuple(dict.fromkeys(near))[:1], told=tuple(reflections))


def arms(modes: Iterable[RetryMode]) -> dict[str, float]:
    """Modes as the policy chooses between them, with what is expected of each."""
    return {f"{_NAMED}{mode}": EXPECTED[mode] for mode in modes}


def mode_of(arm: str) -> RetryMode:
    """The mode that an arm stands for."""
    return RetryMode(arm.removeprefix(_NAMED))


def digest(path: str, before: str, after: str) -> str:
    """A short name of what an edit of a module replaces by what: the same where lines moved, or others changed.

    Sixteen digits: two edits that share one only change places in an order.
    """
    old, new = before.splitlines(), after.splitlines()
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    taken, put = old[head : len(old) - tail], new[head : len(new) - tail]
    text = "\0".join((path, "\n".join(taken), "\n".join(put), _above(old, head)))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _above(lines: Sequence[str], at: int) -> str:
    """The nearest line above that is not empty: tells equal lines of a module apart."""
    return next((line for line in reversed(lines[:at]) if line.strip()), "")
