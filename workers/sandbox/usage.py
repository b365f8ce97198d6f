"""What a process tree uses, read from /proc: processor time, and memory of each kind that the kernel shows there."""

import math
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
PARENT, USER_TIME, CHILDREN_SYSTEM_TIME = 1, 11, 14
"""Fields of /proc/PID/stat after the command's name, from 0 (proc(5))."""

NO_PARENT = 0
"""The parent of a machine's first processes, and of those that come from outside into a namespace."""

ALL_SECONDS = 1.0
"""How long other processes are known. Later the number of one may belong to a process of the tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUsage:
    """`cpu_seconds` includes children that ended."""

    pids: tuple[int, ...]
    cpu_seconds: float


class TreeWatch:
    """Looks again and again at what a process and its descendants use.

    Another process never becomes a descendant of `leader`, so it is read once in ALL_SECONDS, and not at every look.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._others: set[int] = set()
        self._read_all = -math.inf

    def usage(self) -> ProcessUsage:
        """Of those that are there; nothing for those that are gone."""
        now = time.monotonic()
        if now - self._read_all >= ALL_SECONDS:
            self._read_all, self._others = now, set()
        table = dict(_processes(self._others))
        children: dict[int, list[int]] = {}
        for pid, fields in table.items():
            if pid != self._leader:
                children.setdefault(int(fields[PARENT]), []).append(pid)
        pids = _below([self._leader] if self._leader in table else [], children)
        # What has no way to a first process may be the leader's: its parent ended meanwhile.
        self._others.update(_below([NO_PARENT, *self._others], children))
        ticks = sum(int(value) for pid in pids for value in table[pid][USER_TIME : CHILDREN_SYSTEM_TIME + 1])
        return ProcessUsage(pids=tuple(pids), cpu_seconds=ticks / TICKS_A_SECOND)


def usage_of(leader: int) -> ProcessUsage:
    """One look at the use of a process and all its descendants."""
    return TreeWatch(leader).usage()


def _below(pids: list[int], children: Mapping[int, Sequence[int]]) -> list[int]:
    """These with all their descendants."""
    for pid in pids:  # grows while it is read
        pids.extend(children.get(pid, ()))
    return pids


def _processes(left_out: Collection[int]) -> Iterator[tuple[int, list[str]]]:
    """The fields after the command's name, which may itself hold blanks and parentheses."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - twenty times a second
    for pid in pids:
        text = b"" if pid in left_out else _read(f"/proc/{pid}/stat")
        if text:
            yield pid, text[text.rindex(b")") + 2 :].decode().split()


def _read(path: str, most: int = -1) -> bytes:
    """The first `most` bytes of a file of /proc, or all; empty when its process is gone or hides it."""
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - as often
            return stream.read(most)
    except OSError:
        return b""


# ── Memory ─────────────────────────────────────────────────────────────────────────────────────────────────────────

KB_OF_DESCRIPTOR = 4
"""Half a pipe of the least size, the most that a descriptor of another kind than a socket usually holds."""

KB_OF_SHARED_OBJECT = 16 << 10
"""The size of the largest shared anonymous mapping that the system-call filter lets through.

No file shows how much one holds: its pages stay when it is unmapped in part, or by the processes that filled it.
"""

KB_OF_MAPPING, KB_OF_INODE, KB_OF_SOCKET = 0.25, 1, 256
"""What the kernel uses for one. A socket buffers this much at most, except for TCP, which buffers more:"""

KB_OF_TCP_SOCKET = 32 << 10
MAX_MAPS_BYTES = 1 << 20
"""Some 13,000 mappings. A process with more exceeds any limit, because reading all of them would take too long."""

MIN_READ_SECONDS = 0.002
"""The mappings of at least one process are read at each look, and more for this time."""

SHARED_OBJECT = re.compile(rb"^\S+ ...s \S+ \S+ (\d+) +/dev/zero", re.MULTILINE)
KERNEL_TABLE = re.compile(rb"^(\w+):\s+(\d+)", re.MULTILINE)
SOCKETS, TCP_PAGES = (
    re.compile(rb"^sockets: used (\d+)", re.MULTILINE),
    re.compile(rb"^TCP: .* mem (\d+)", re.MULTILINE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mappings:
    """`shared` are the inodes of shared anonymous memory, `seen` is when they were read."""

    seen: float = 0.0
    shared: frozenset[bytes] = frozenset()
    count: float = 0


class MemoryMeter:
    """Measures the memory of a process tree where no control group does.

    Counted are the memory of processes, resident or swapped, their page tables, mappings and descriptors; shared
    anonymous memory, `file_systems` and sockets. Not counted are smaller objects of the kernel, such as file locks.
    """

    def __init__(self, leader: int, file_systems: tuple[str, ...]) -> None:
        self._leader, self._file_systems = leader, file_systems
        self._mappings: dict[int, _Mappings] = {}

    def exceeds(self, limit_mb: float, pids: tuple[int, ...]) -> bool:
        """Whether the processes hold more; pages that several of them share are counted once, if it takes that to know."""
        tables = {pid: _table(f"/proc/{pid}/status") for pid in pids}
        held = self._common_kb() + self._mappings_kb(pids) + sum(map(_own_kb, tables.values()))
        if held + sum(map(_resident_kb, tables.values())) <= limit_mb * 1024:
            return False
        return held + sum(map(_proportional_kb, pids)) > limit_mb * 1024

    def _common_kb(self) -> float:
        """What belongs to no process: files, and what is in sockets."""
        if not self._file_systems:
            return 0.0
        return sum(_files_kb(f"/proc/{self._leader}/root{path}") for path in self._file_systems) + self._sockets_kb()

    def _sockets_kb(self) -> float:
        """By number. What TCP buffers is known for the whole machine only, so it counts up to what these could."""
        text = _read(f"/proc/{self._leader}/net/sockstat")
        sockets, pages = (int(found[1]) if (found := each.search(text)) else 0 for each in (SOCKETS, TCP_PAGES))
        return sockets * KB_OF_SOCKET + min(sockets * KB_OF_TCP_SOCKET, pages * os.sysconf("SC_PAGE_SIZE") / 1024)

    def _mappings_kb(self, pids: Iterable[int]) -> float:
        """Those of some processes are read again, in turn, so that a great many do not keep us from looking."""
        self._mappings = {pid: self._mappings.get(pid, _Mappings()) for pid in pids}
        begun = time.monotonic()
        for pid in sorted(self._mappings, key=lambda pid: self._mappings[pid].seen):
            text = _read(f"/proc/{pid}/maps", MAX_MAPS_BYTES)
            shared = frozenset(SHARED_OBJECT.findall(text))
            count = text.count(b"\n") if len(text) < MAX_MAPS_BYTES else math.inf
            self._mappings[pid] = _Mappings(seen=time.monotonic(), shared=shared, count=count)
            if time.monotonic() - begun > MIN_READ_SECONDS:
                break
        objects = frozenset[bytes]().union(*(each.shared for each in self._mappings.values()))
        count = sum(each.count for each in self._mappings.values())
        return len(objects) * KB_OF_SHARED_OBJECT + count * KB_OF_MAPPING


def _table(path: str) -> Mapping[bytes, int]:
    """The lines of a file of /proc that name a number, most of them kB."""
    return {name: int(number) for name, number in KERNEL_TABLE.findall(_read(path))}


def _own_kb(table: Mapping[bytes, int]) -> int:
    return table.get(b"VmPTE", 0) + table.get(b"VmSwap", 0) + KB_OF_DESCRIPTOR * table.get(b"FDSize", 0)


def _resident_kb(table: Mapping[bytes, int]) -> int:
    """Without shared memory, which belongs to no process."""
    return table.get(b"RssAnon", 0) + table.get(b"RssFile", 0)


def _proportional_kb(pid: int) -> int:
    """The same with pages that processes share in parts. A process that hides its map counts by what is resident."""
    found = _table(f"/proc/{pid}/smaps_rollup") or _table(f"/proc/{pid}/status")
    return found.get(b"Pss_Anon", 0) + found.get(b"Pss_File", 0) + _resident_kb(found)


def _files_kb(path: str) -> float:
    try:
        found = os.statvfs(path)
    except OSError:
        return 0.0
    return (found.f_blocks - found.f_bfree) * found.f_frsize / 1024 + (found.f_files - found.f_ffree) * KB_OF_INODE
