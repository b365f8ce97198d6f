"""Past findings, made in a line each."""

from __future__ import annotations

from memory.model import Fate, PastFinding, Severity


def past(
    position: int,
    *,
    rule: str = "F401",
    path: str = "a.py",
    line: int = 1,
    burst: int = 1,
    standing: int = 0,
    fate: Fate = Fate.LEFT,
    until: int | None = None,
) -> PastFinding:
    """A finding of the change at `position`, decided by default with the next one."""
    return PastFinding(
        sha=f"{position:040x}",
        position=position,
        path=path,
        line=line,
        tool="ruff",
        rule=rule,
        category="style",
        severity=Severity.MINOR,
        fixable=False,
        standing=standing,
        burst=burst,
        fate=fate,
        until=position + 1 if until is None else until,
    )
