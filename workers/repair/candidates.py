"""Suspects, candidates and verdicts: what passes between localisation, templates, search, runners and judging."""

from dataclasses import dataclass

from memory.model import EditShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A line that may be at fault; `score` within [0, 1], higher is likelier."""

    path: str
    line: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One edit of one module. `source` is the whole module with the edit made.

    `function` is the dotted qualified name of the innermost function around the edit ("Basket.total"), empty at module level.
    `skills` names those whose edits it makes.
    """

    path: str
    source: str
    line: int
    function: str
    template: str
    strategy: str
    shape: EditShape
    score: float
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenVerdict:
    """The result of a candidate's failing and covering tests: a screen, not yet a proof.

    `passed` counts the failing tests that it made pass; `error_type` is what the first failing one became, `failed`
    the first of all tests that failed.
    """

    candidate: Candidate
    plausible: bool
    passed: int
    error_type: str = ""
    message: str = ""
    failed: str = ""


TIMEOUT, CRASH = "Timeout", "Crash"
"""The error type of a candidate that computed too long, or ended the process that tried it."""


def implausible(candidate: Candidate, error_type: str, message: str) -> ScreenVerdict:
    """The verdict on a candidate whose tests did not end by themselves."""
    return ScreenVerdict(candidate=candidate, plausible=False, passed=0, error_type=error_type, message=message)
