"""What a tree of processes uses, read from /proc on the host, where the tree cannot meddle."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PARENT, USER_TIME, CHILDREN_SYSTEM_TIME, RESIDENT_PAGES = 1, 11, 14, 21
"""Fields of /proc/PID/stat after the command's name, from 0 (proc(5))."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """`cpu_seconds` includes children that ended; `resident_mb` counts a page once for every process that shares it."""

    pids: tuple[int, ...]
    cpu_seconds: float
    resident_mb: float


def usage_of(leader: int) -> Usage:
    """The use of a process and all its descendants; nothing for those that are gone."""
    table = dict(_processes())
    children: dict[int, list[int]] = {}
    for pid, fields in table.items():
        children.setdefault(int(fields[PARENT]), []).append(pid)
    pids = [leader] if leader in table else []
    for pid in pids:
        pids.extend(children.get(pid, ()))
    ticks = sum(int(value) for pid in pids for value in table[pid][USER_TIME : CHILDREN_SYSTEM_TIME + 1])
    pages = sum(int(table[pid][RESIDENT_PAGES]) for pid in pids)
    return Usage(pids=tuple(pids), cpu_seconds=ticks / TICKS_A_SECOND, resident_mb=pages * PAGE_BYTES / (1 << 20))


def proportional_mb(pids: tuple[int, ...]) -> float:
    """Memory with shared pages counted once in all; slower. A process that hides its map counts by what is resident."""
    return sum(_proportional_kb(pid) for pid in pids) / 1024


def _proportional_kb(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return _resident_kb(pid)
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def _resident_kb(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[RESIDENT_PAGES]) * PAGE_BYTES // 1024 if fields else 0


def _processes() -> Iterator[tuple[int, list[str]]]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - twenty times a second
        if name.isdigit():
            fields = _stat(int(name))
            if fields:
                yield int(name), fields


def _stat(pid: int) -> list[str]:
    """The fields after the command's name, which may itself hold blanks and parentheses; empty when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()
