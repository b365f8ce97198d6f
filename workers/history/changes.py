"""The past changes of a branch, oldest first, read from git in one pass, and what the detectors find in each.

A change is a step along the first parents: a commit, or all that a merge brought in. Nothing is checked out.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from workers.diffs import Change, FileChange, FileStatus, parse_diff
from workers.errors import CannotRun
from workers.git_command import GitLimits, environment, limit, program
from workers.review.detectors.detector import Detector, SourceTree, joined
from workers.review.detectors.rules import SYNTAX_ERROR
from workers.review.findings import FindingWithFix, seen_in
from workers.review.read_report import why_skipped, why_unfit
from workers.review.source import MAX_BYTES

_LIMITS = GitLimits(memory_mb=1024, cpu_seconds=1200, output_mb=1)
"""A whole history is read by one command, which writes to a pipe alone."""

_MARK = "\x01"
_DIFF = (
    *("--patch", "--unified=0", "--find-renames", "--diff-merges=first-parent"),
    *("--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"),
)
MAX_CHANGE = 4_000_000
"""Characters of one change's diff; a larger one is an import or a reformatting, and is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastChange:
    """One change. `position` counts along the branch from 0; `change` is None where the diff was too large to be read."""

    position: int
    sha: str
    change: Change | None


def positions(directory: Path, tip: str) -> dict[str, int]:
    """The first-parent ancestors of a commit, and itself, with their places; the first one has 0."""
    listed = _lines(directory, "rev-list", "--first-parent", "--reverse", tip)
    return {sha.decode().strip(): number for number, sha in enumerate(listed)}


def changes(
    directory: Path, tip: str, places: dict[str, int], *, after: str, paths: tuple[str, ...]
) -> Iterator[PastChange]:
    """The changes up to `tip` that touch `paths`, oldest first; those after the commit `after`, where one is given."""
    span = f"{after}..{tip}" if after else tip
    arguments = ("log", "--reverse", "--first-parent", f"--format={_MARK}%H", *_DIFF, span, "--", *paths)
    sha, body, length = "", list[str](), 0
    for raw in chain(_lines(directory, *arguments), [_MARK.encode()]):
        line = raw.decode(errors="surrogateescape")
        if not line.startswith(_MARK):
            length += len(line)
            if length <= MAX_CHANGE:
                body.append(line)
            continue
        if sha:
            change = parse_diff("".join(body)) if length <= MAX_CHANGE else None
            yield PastChange(position=places[sha], sha=sha, change=change)
        sha, body, length = line.removeprefix(_MARK).rstrip("\n"), [], 0


class Blobs:
    """Files of any commit, through one process that stays."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(  # noqa: S603  the arguments are ours
            [str(program()), "cat-file", "--batch"],
            cwd=directory,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        limit(self._process, _LIMITS)

    def __enter__(self) -> Blobs:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def read(self, sha: str, path: str) -> bytes | None:
        """A file at a commit; None without one, for a large one, or for a name that git's protocol cannot carry."""
        if "\n" in path:
            return None
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        try:
            asked.write(f"{sha}:{path}\n".encode(errors="surrogateescape"))
            asked.flush()
        except BrokenPipeError as error:
            raise CannotRun("git cat-file ended before its time") from error
        kind, _, size = answered.readline().rstrip(b"\n").rpartition(b" ")
        if not size.isdigit():
            return None
        pieces = int(size) // MAX_BYTES if int(size) > MAX_BYTES else 0
        for _ in range(pieces):  # a large file is passed over, a piece at a time
            answered.read(MAX_BYTES)
        content = answered.read(int(size) - pieces * MAX_BYTES + 1)[:-1]
        return content if kind.endswith(b" blob") and not pieces else None  # a folder comes with its content too


def _lines(directory: Path, *arguments: str) -> Iterator[bytes]:
    """The output of a git command, line by line; raises CannotRun where it fails."""
    with subprocess.Popen(  # noqa: S603  the arguments are ours
        [str(program()), *arguments],
        cwd=directory,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        limit(process, _LIMITS)
        assert process.stdout is not None
        try:
            yield from process.stdout
        except GeneratorExit:
            process.kill()
            raise
    if process.returncode:
        raise CannotRun(f"git {arguments[0]} failed in {directory} with exit code {process.returncode}")


MAX_FILES, MAX_CHARACTERS = 150, 1_200_000
"""Versions of files that are read together."""

PARTS = min(os.cpu_count() or 1, 8)
"""Parts that they are read in, side by side: bandit uses one core."""

OLDEST = "py37"
"""The Python that the past is read as: what today's detectors can still parse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """A changed file after its change, with all that the detectors saw in it."""

    text: str
    seen: tuple[FindingWithFix, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChange:
    """A past change with the versions, by path, that could be read."""

    past: PastChange
    versions: dict[str, FileVersion] = field(default_factory=dict)


def read(pasts: Iterable[PastChange], blobs: Blobs, detectors: Sequence[Detector]) -> Iterator[list[ReadChange]]:
    """The changes in groups, each read by the detectors at once; in order."""
    group: list[tuple[PastChange, dict[str, str]]] = []
    files = characters = 0
    for past in pasts:
        files_of = past.change.files if past.change else ()
        texts = {file.path: text for file in files_of if (text := _text(past.sha, file, blobs)) is not None}
        group.append((past, texts))
        files += len(texts)
        characters += sum(map(len, texts.values()))
        if files >= MAX_FILES or characters >= MAX_CHARACTERS:
            yield _detected(group, detectors)
            group, files, characters = [], 0, 0
    if group:
        yield _detected(group, detectors)


def _text(sha: str, file: FileChange, blobs: Blobs) -> str | None:
    """The file after the change; None where a review would not have read it either."""
    if file.status is FileStatus.DELETED or why_skipped(file):
        return None
    content = blobs.read(sha, file.path)
    if content is None or len(content) > MAX_BYTES:
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if why_unfit(text) else text


def _detected(group: Sequence[tuple[PastChange, dict[str, str]]], detectors: Sequence[Detector]) -> list[ReadChange]:
    sources = {f"{at}/{path}": text for at, (_, texts) in enumerate(group) for path, text in texts.items()}
    tree = SourceTree(sources=sources, target_version=OLDEST)
    parts = [some for some in (sorted(sources)[at::PARTS] for at in range(PARTS)) if some]
    with ThreadPoolExecutor(max(1, len(detectors) * len(parts))) as side_by_side:
        asked = [side_by_side.submit(each.detect, tree, some) for each in detectors for some in parts]
        found = joined([each.result() for each in asked])
    broken = {each.path for each in found.findings if each.rule == SYNTAX_ERROR} | found.unread.keys()
    seen: dict[str, list[FindingWithFix]] = {}
    for each in seen_in((raw for raw in found.findings if raw.path not in broken), sources):
        seen.setdefault(each.finding.path, []).append(each)
    return [
        ReadChange(
            past=past,
            versions={
                path: FileVersion(text=text, seen=tuple(seen.get(name, ())))
                for path, text in texts.items()
                if (name := f"{at}/{path}") not in broken
            },
        )
        for at, (past, texts) in enumerate(group)
    ]
