"""A receipt promises what a verdict changed, and nothing more."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memory.model import Actor, Permission, Signal, SignalKind
from workers.messages.conversation import receipt

SIGNAL = Signal(
    id="s", decision_id="d", kind=SignalKind.REJECTED, actor=Actor(id=1, login="ada"), permission=Permission.WRITE,
    source="comment:1", created_at=datetime(2026, 1, 1, tzinfo=UTC), weights_version="1", weight=1.0,
)  # fmt: skip
OUTSIDER = replace(SIGNAL, weight=0.0)
LIMITED = replace(SIGNAL, weight=0.0, limited=True)


@pytest.mark.parametrize(
    ("signals", "said"),
    [
        ([SIGNAL, LIMITED], "Recorded as not wanted for 1 decision: "),
        ([OUTSIDER], "Recorded without effect: only feedback from users with write or triage access counts."),
        ([LIMITED], "Recorded without effect: this account has reached its daily limit of feedback."),
    ],
)
def test_a_receipt_says_what_counted(signals: list[Signal], said: str) -> None:
    """What had weight is counted; where nothing had, the reason is given."""
    assert receipt(signals, wanted=False, scope="F541 in a/b").startswith(said)
