"""What an attempt taught, in one or two plain sentences made from its facts. Pure; no model."""

from __future__ import annotations

from dataclasses import dataclass

from memory.model import AttemptOutcome, Failure

LONGEST_MESSAGE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of an attempt. `nearest` is the template of the candidate that came closest, at `path`:`line`.

    `passed` of the failing tests passed with it; `error_type` and `message` are what the first other one became.
    `objection` is why a plausible candidate was not proven.
    """

    strategies: tuple[str, ...]
    outcome: AttemptOutcome
    failure: Failure
    candidates: int
    plausible: int
    nearest: str = ""
    path: str = ""
    line: int = 0
    passed: int = 0
    error_type: str = ""
    message: str = ""
    objection: str = ""


def reflection(facts: Facts) -> str:
    """What was tried, what came closest, and what that suggests."""
    return f"{_tried(facts)} {_lesson(facts)}".strip()


def _tried(facts: Facts) -> str:
    what = "/".join(facts.strategies) or "replay"
    count = "no candidate" if not facts.candidates else f"{facts.candidates} candidate{'s' * (facts.candidates > 1)}"
    match facts.outcome:
        case AttemptOutcome.PROVEN:
            return f"{what}: {facts.nearest} at {facts.path}:{facts.line} is proven after {count}."
        case AttemptOutcome.OUT_OF_BUDGET:
            return f"{what}: time ran out after {count}."
        case AttemptOutcome.UNPROVEN:
            return f"{what}: {facts.plausible} of {count} looked right, and none is proven."
        case AttemptOutcome.NOTHING_PLAUSIBLE:
            return f"{what}: {count} tried, none makes the failing tests pass."


def _lesson(facts: Facts) -> str:
    where = f"{facts.nearest} at {facts.path}:{facts.line}"
    wanted = len(facts.failure.failing_tests)
    if facts.outcome is AttemptOutcome.PROVEN:
        return ""
    if facts.objection:
        return f"Best was {where}: {facts.objection}."
    if not facts.nearest:
        return "The fault needs another kind of edit, or lies on other lines."
    if facts.passed == wanted:
        return f"{where} repairs the failing tests but breaks a test that passed: right place, too broad an edit."
    if facts.passed:
        return f"{where} repairs {facts.passed} of {wanted} failing tests: the place matters, and more is wrong there."
    if facts.error_type == facts.failure.error_type:
        return f"The failure stays {facts.error_type}: the fault needs another kind of edit, or lies on other lines."
    return f"With {where} the failure becomes {facts.error_type}{_quoted(facts.message)}: that line takes part in it."


def _quoted(message: str) -> str:
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return f" ({first[:LONGEST_MESSAGE]})" if first else ""
