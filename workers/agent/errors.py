"""What ends a tool's use, and what ends an agent's run."""

from __future__ import annotations

from enum import StrEnum

from workers.errors import ApprenticeError
from workers.llm.errors import BadReply, BudgetSpent, ContextOverflow, ModelError, Refused


class End(StrEnum):
    """Why a run of the agent ended."""

    FINISHED = "finished"
    STEPS = "used all its steps"
    DEADLINE = "ran out of time"
    LOOPED = "did the same again and again"
    SILENT = "called no tool"
    BUDGET = "met a budget"
    REFUSED = "the model declined"
    OVERFLOW = "the conversation became too long"
    UNREADABLE = "gave no answer that could be read"
    UNAVAILABLE = "the model could not be used"


OUT_OF_REACH = frozenset({End.BUDGET, End.UNAVAILABLE})
"""Ends that say nothing of the attempt: the model was not there to make it."""


_ENDS = {BudgetSpent: End.BUDGET, ContextOverflow: End.OVERFLOW, Refused: End.REFUSED, BadReply: End.UNREADABLE}


def end_of(error: ModelError) -> End:
    """How an error of the model ends a run."""
    return _ENDS.get(type(error), End.UNAVAILABLE)


class ToolFailed(ApprenticeError):
    """The tool could not do what it was asked: the model is told why, and goes on."""


class Over(ApprenticeError):
    """The run is over; `said` is what the model, or whoever stopped it, had to say last."""

    def __init__(self, end: End, said: str = "") -> None:
        super().__init__(said or end)
        self.end = end
        self.said = said
