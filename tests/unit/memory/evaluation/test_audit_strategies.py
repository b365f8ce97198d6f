"""Strategies whose rewards do not mean what they should."""

from __future__ import annotations

from memory.evaluation.audit import Alarm, AuditCheck, audit
from memory.model import SignalKind
from tests.unit.memory.ledgers import at, logged, said

EVEN = {"a": 0.5, "b": 0.5}


def test_a_clean_ledger_has_nothing_to_look_at() -> None:
    """Nothing, or what passes and is accepted, gives no item."""
    assert audit([], [], at(0)) == ()
    log = [logged(n, EVEN, "a", proven=True, said=(said(n),)) for n in range(9)]
    assert audit(log, [], at(9)) == ()


def test_proven_and_rejected_is_told() -> None:
    """A strategy most of whose fixes were rejected is a warning, what else was rejected one notice; both name decisions."""
    log = [logged(n, EVEN, "a", proven=True, said=(said(n, SignalKind.REJECTED),)) for n in range(9)]
    log.append(logged(9, EVEN, "b", proven=True, said=(said(9, SignalKind.REJECTED),)))
    found = {item.about: item for item in audit(log, [], at(9)) if item.check is AuditCheck.PROVEN_BUT_REJECTED}
    assert (found["a"].alarm, found["several strategies"].alarm) == (Alarm.WARNING, Alarm.NOTICE)
    assert found["several strategies"].evidence == ("d9",)
    assert "9 of 9" in found["a"].what


def test_what_was_never_concluded_is_counted() -> None:
    """An hour later a decision without an outcome was lost; a fresh one is under way."""
    log = [logged(0, EVEN, "a"), logged(100, EVEN, "a"), logged(50, EVEN, "a", proven=False)]
    (item,) = audit(log, [], at(120))
    assert (item.check, item.evidence) == (AuditCheck.TOOL_ERRORS, ("d0",))
