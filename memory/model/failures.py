"""Failures, as a test run reports them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Family(StrEnum):
    """Kinds of failure that share causes, and therefore remedies."""

    ASSERTION = "assertion"
    ATTRIBUTE = "attribute"
    NAME = "name"
    TYPE = "type"
    VALUE = "value"
    LOOKUP = "lookup"
    ARITHMETIC = "arithmetic"
    IMPORT = "import"
    ITERATION = "iteration"
    RECURSION = "recursion"
    SYNTAX = "syntax"
    IO = "io"
    TIMEOUT = "timeout"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One level of a traceback, inside the repository."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is wrong, as the test run itself reported it.

    `frames` runs from the test inwards to the line that raised; frames outside the repository are left out.
    """

    error_type: str
    family: Family
    message: str
    frames: tuple[Frame, ...]
    failing_tests: tuple[str, ...]
