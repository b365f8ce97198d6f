"""What a detector is: it reads files of one tree, or what a change did to them; and how a tool runs in the sandbox."""

import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from memory.model import Severity
from workers.diffs import Hunk
from workers.errors import ApprenticeError
from workers.json_fields import WrongField
from workers.ports import CompletedRun, Ending, Limits, Sandbox, Workload

MODEL = "model"
"""The name of the detector that asks a model. It is part of the agent."""


class Category(StrEnum):
    """What a finding is about."""

    SECURITY = "security"
    CORRECTNESS = "correctness"
    PERFORMANCE = "performance"
    MAINTAINABILITY = "maintainability"
    STYLE = "style"


class DetectorFailed(ApprenticeError):
    """A detector could not read files: each of them counts as not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixEdit:
    """Replace a range of characters. Lines and columns count from 1; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFix:
    """A tool's own remedy. `safe` when the tool vouches that behaviour stays the same."""

    edits: tuple[FixEdit, ...]
    safe: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFinding:
    """What a tool reported, in our terms; lines `line`..`end_line` inclusive, from 1.

    `anchor` replaces the source that identifies it, where that source may not be kept; None for its own lines.
    `own_linter` says that the repository's own linter reports it too.
    """

    path: str
    line: int
    end_line: int
    column: int = 1
    tool: str
    rule: str
    category: Category
    severity: Severity
    message: str
    fix: ToolFix | None = None
    anchor: str | None = None
    own_linter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """The files of one side of a change that are read, as text by path, and the oldest Python they must run on ("py39")."""

    sources: Mapping[str, str]
    target_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """What a change did to the files that are read, by the paths they have now.

    `base` is their text before, empty for a new file; one whose past could not be read is not in it. `added` are the
    lines that the change added or rewrote, `hunks` its blocks in the diff.
    """

    head: SourceTree
    base: Mapping[str, str]
    added: Mapping[str, frozenset[int]]
    hunks: Mapping[str, tuple[Hunk, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What was found, and for each file that was not read, why."""

    findings: tuple[RawFinding, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)


class Reader(Protocol):
    """Reads source without running it. `name` is the tool's name for users."""

    @property
    def name(self) -> str: ...

    def reads(self, path: str) -> bool:
        """Whether it reads files of this kind; it passes over the others."""
        ...


class Detector(Reader, Protocol):
    """Reads one side of a change."""

    def detect(self, tree: SourceTree, paths: Sequence[str]) -> Detection:
        """Read `paths` of the tree. Every one of its kind was read, or is in `unread` with the reason."""
        ...


class ChangeDetector(Reader, Protocol):
    """Reads what a change did; it reports nothing that was there before."""

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        """Read `paths` of the change. Every one of its kind was read, or is in `unread` with the reason."""
        ...


def joined(detections: Sequence[Detection]) -> Detection:
    """Several detections as one; a file unread twice keeps both reasons."""
    unread: dict[str, str] = {}
    for detection in detections:
        for path, reason in detection.unread.items():
            unread[path] = f"{unread[path]}; {reason}" if path in unread else reason
    return Detection(findings=tuple(found for each in detections for found in each.findings), unread=unread)


def by_file(paths: Iterable[str], read: Callable[[str], Iterable[RawFinding]]) -> Detection:
    """What `read` finds in each file; one that it raises DetectorFailed for counts as not read."""
    findings: list[RawFinding] = []
    unread: dict[str, str] = {}
    for path in paths:
        try:
            findings += read(path)
        except DetectorFailed as failure:
            unread[path] = str(failure)
    return Detection(findings=tuple(findings), unread=unread)


MAX_PART_FILES = 200
MAX_PART_CHARACTERS = 4_000_000
"""What is given to a tool at once: argument lists have a limit, and so has its time."""


def in_parts(
    tree: SourceTree, paths: Sequence[str], read: Callable[[Sequence[str]], Detection], *, failures: int = 12
) -> Detection:
    """Read many files in parts. A part that fails is halved, so that one bad file does not hide its neighbours.

    After `failures` failures the rest of what fails is given up whole.
    """
    queue = _parts(tree, paths)
    done: list[Detection] = []
    while queue:
        some = queue.pop(0)
        try:
            done.append(read(some))
        except DetectorFailed as failure:
            failures -= 1
            if len(some) > 1 and failures > 0:
                queue = [some[: len(some) // 2], some[len(some) // 2 :], *queue]
            else:
                done.append(Detection(unread=dict.fromkeys(some, str(failure))))
    return joined(done)


def _parts(tree: SourceTree, paths: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = []
    room = 0
    for path in paths:
        if not parts or len(parts[-1]) >= MAX_PART_FILES or len(tree.sources[path]) > room:
            parts.append([])
            room = MAX_PART_CHARACTERS
        parts[-1].append(path)
        room -= len(tree.sources[path])
    return parts


T = TypeVar("T")
_LIMITS = Limits(wall_seconds=90.0, cpu_seconds=120, memory_mb=1024, output_kb=16 * 1024)
_ROOT = "/workspace/"


def run_tool(
    sandbox: Sandbox,
    arguments: Sequence[str],
    tree: SourceTree,
    paths: Sequence[str],
    ours: Mapping[str, bytes] | None = None,
) -> CompletedRun:
    """Run `python -I -m <arguments> -- ./<paths>`, with the files `ours` laid over the rest.

    Raises DetectorFailed when a limit ended it.
    """
    command = (sys.executable, "-I", "-m", *arguments, "--", *(f"./{path}" for path in paths))
    return run_command(sandbox, command, tree, paths, ours=ours)


def run_command(
    sandbox: Sandbox,
    command: tuple[str, ...],
    tree: SourceTree,
    paths: Sequence[str],
    *,
    ours: Mapping[str, bytes] | None = None,
    show: Sequence[Path] = (),
) -> CompletedRun:
    """Run a command where there is nothing but `paths`, `ours`, our interpreter and the host's paths in `show`.

    Raises DetectorFailed when a limit ended it.
    """
    overlay: dict[str, bytes | None] = {path: tree.sources[path].encode() for path in paths}
    name = command[3] if command[:1] == (sys.executable,) and len(command) > 3 else Path(command[0]).name
    with tempfile.TemporaryDirectory(prefix="apprentice-review-") as empty:
        completed = sandbox.run(
            Workload(
                command=command,
                tree=Path(empty),
                python=Path(sys.executable),
                overlay=overlay | dict(ours or {}),
                read_only=tuple(show),
                limits=_LIMITS,
            )
        )
    if completed.ending is not Ending.EXITED:
        raise DetectorFailed(f"{name} was stopped ({completed.ending.value.replace('_', ' ')})")
    return completed


def answer(tool: str, completed: CompletedRun, decode: Callable[[str], T]) -> T:
    """What a tool wrote, decoded; raises DetectorFailed where it failed, or wrote something else."""
    if completed.exit_code not in (0, 1):
        raise complaint(tool, completed)
    try:
        return decode(completed.stdout)
    except (msgspec.DecodeError, WrongField) as error:
        raise complaint(tool, completed) from error


def complaint(tool: str, completed: CompletedRun) -> DetectorFailed:
    """The error for a tool that ended without a usable answer: the last line of its output."""
    output = (completed.stderr.strip() or completed.stdout.strip() or "it wrote nothing").splitlines()
    return DetectorFailed(f"{tool} failed with exit code {completed.exit_code}: {output[-1][:200]}")


def relative(filename: str) -> str:
    """The repository's path for a file as a tool names it."""
    name = filename.removeprefix(_ROOT)
    while name.startswith("./"):
        name = name[2:]
    return name
