"""What became of findings, by how they were said."""

from __future__ import annotations

import pytest

from memory.evaluation.findings import addressed
from memory.model import Action, LoggedDecision, SignalKind, TaskKind
from tests.unit.memory.ledgers import logged, said


def finding(number: int, chosen: Action, *kinds: SignalKind) -> LoggedDecision:
    signals = tuple(said(number, kind) for kind in kinds)
    return logged(number, {"inline": 0.5, "summary": 0.4, "hold": 0.1}, chosen, kind=TaskKind.REVIEW, said=signals)


def test_each_end_counts_once() -> None:
    """A fix wins over a merge that came later; what went with its lines is on neither side, nor is an open one."""
    log = [
        finding(1, Action.INLINE, SignalKind.FINDING_FIXED),
        finding(2, Action.INLINE, SignalKind.SUGGESTION_APPLIED, SignalKind.FINDING_LEFT),
        finding(3, Action.INLINE, SignalKind.FINDING_FIXED_ELSEWHERE, SignalKind.THREAD_RESOLVED),
        finding(4, Action.INLINE, SignalKind.FINDING_SILENCED),
        finding(5, Action.INLINE, SignalKind.FINDING_GONE),
        finding(6, Action.INLINE, SignalKind.REACTION_DOWN),
        finding(7, Action.HOLD, SignalKind.FINDING_LEFT),
    ]
    by_action = {each.action: each for each in addressed(log)}
    inline, held, summary = (by_action[action] for action in (Action.INLINE, Action.HOLD, Action.SUMMARY))
    assert (inline.findings, inline.addressed, inline.stood, inline.otherwise) == (6, 3, 1, 1)
    assert inline.share == pytest.approx(0.75)
    assert (held.addressed, held.stood, held.share) == (0, 1, 0.0)
    assert (summary.findings, summary.share, summary.low, summary.high) == (0, None, 0.0, 1.0)
