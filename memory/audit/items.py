"""What an audit finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

FALSE_ALARMS = 0.05
"""For each check that tests: the chance that it names anybody at all where there is nothing to name (Bonferroni's bound)."""

MOST_EVIDENCE = 20


class Check(StrEnum):
    """What was looked for."""

    PROVEN_BUT_REJECTED = "proven_but_rejected"
    SHRINKS_TESTS = "shrinks_tests"
    DIVERGES = "diverges"
    TOOL_ERRORS = "tool_errors"
    TOGETHER = "together"
    ONE_SIDED = "one_sided"
    FLOODS = "floods"
    ONE_WITNESS = "one_witness"


class Alarm(StrEnum):
    """How much it matters, least first."""

    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to look at: what, where it shows (ids of decisions, or rows of the table), and what to do about it."""

    check: Check
    alarm: Alarm
    about: str
    what: str
    evidence: tuple[str, ...]
    advice: str


def grouped(pairs: Iterable[tuple[Key, Value]]) -> Mapping[Key, list[Value]]:
    """The values of each key, in their order."""
    found: defaultdict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found
