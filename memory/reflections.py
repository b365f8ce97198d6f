"""What failed attempts left, in words and as edits: which are of the same failure, and what the next attempt reuses of them.

Reflexion (Shinn et al. 2023) hands a model its own words about what failed, and names the modes here. The embedded engine
has another use of the same facts: what was tried comes later, and what came nearest comes first.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory.model import AttemptOutcome, Failure, NearMiss, Reflection, RetryMode
from memory.store import Store

MAX_RECALLED = 30
"""How many of a repository's latest reflections are looked at."""

MAX_RULED_OUT = 1000
"""Candidates that one reflection names: 8 bytes each."""

SAME_FAILURE = 0.5
"""The share of failing tests that two attempts have in common when they are at the same failure."""

EXPECTED: Mapping[str, float] = {
    RetryMode.NONE: 0.15,
    RetryMode.LAST_ATTEMPT: 0.2,
    RetryMode.REFLECTION: 0.2,
    RetryMode.BOTH: 0.25,
}
"""How often a second attempt succeeds, before any evidence."""

_PREFIX = "retry:"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryHints:
    """What an attempt reuses of earlier ones: candidates to try later, and where to start."""

    later: frozenset[str] = frozenset()
    start: tuple[NearMiss, ...] = ()


def store_reflection(store: Store, reflection: Reflection) -> bool:
    """Store the reflection on an experience, which it is forgotten with; False, and nothing changed, when there is one."""
    return store.reflections.add(reflection.id, reflection, owner=reflection.repository, now=reflection.created_at)


def latest_reflections(store: Store, repository: str, most: int = MAX_RECALLED) -> list[Reflection]:
    """A repository's reflections, newest first."""
    return store.reflections.latest(repository, most, Reflection)


def of_same_failure(failure: Failure, reflections: Iterable[Reflection]) -> tuple[Reflection, ...]:
    """Those of the same failure, also at another commit: most of the failing tests are the same."""
    wanted = set(failure.failing_tests)
    return tuple(each for each in reflections if _overlap(wanted, set(each.failing_tests)) >= SAME_FAILURE)


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def reused(mode: RetryMode, reflections: Sequence[Reflection]) -> RetryHints:
    """What a mode reuses of the reflections on this failure, the newest first.

    `last_attempt` reuses what was tried, so that it is not done again in the same order; `reflection` what came nearest,
    to start from.
    """
    later: frozenset[str] = frozenset()
    if mode in (RetryMode.LAST_ATTEMPT, RetryMode.BOTH):
        later = frozenset(key for each in reflections for key in each.ruled_out)
    if mode not in (RetryMode.REFLECTION, RetryMode.BOTH):
        return RetryHints(later=later)
    failed = (each for each in reflections if each.outcome is not AttemptOutcome.PROVEN)  # else people rejected it
    near = sorted((each.nearest for each in failed if each.nearest is not None), key=lambda miss: -miss.passed)
    return RetryHints(later=later, start=tuple(dict.fromkeys(near))[:1])


def retry_arms(modes: Iterable[RetryMode]) -> dict[str, float]:
    """Modes as the policy chooses between them, with what is expected of each."""
    return {f"{_PREFIX}{mode}": EXPECTED[mode] for mode in modes}


def is_retry_mode(strategy: str) -> bool:
    """Whether a decision was about how to retry, not about what to try."""
    return strategy.startswith(_PREFIX)


def retry_mode_of(arm: str) -> RetryMode:
    return RetryMode(arm.removeprefix(_PREFIX))


def edit_digest(path: str, before: str, after: str) -> str:
    """A short name of what an edit of a module replaces by what: the same where lines moved, or others changed.

    Sixteen digits: two edits that share one only change places in an order.
    """
    head = _common(before, after)
    tail = min(_common(before[::-1], after[::-1]), min(len(before), len(after)) - head)
    start = before.rfind("\n", 0, head) + 1
    taken, put = (text[start : _line_end(text, len(text) - tail)] for text in (before, after))
    above = before[:start].rstrip().rpartition("\n")[2]  # tells equal lines of a module apart
    named = "\0".join((path, taken, put, above))
    return hashlib.sha256(named.encode(errors="replace")).hexdigest()[:16]


def _common(one: str, other: str) -> int:
    """The length of the common beginning, by halving: a module is compared for every candidate."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found
