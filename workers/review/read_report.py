"""Which files of a change are read, in which order, and for the rest, why not: a review names what it did not read."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath

from memory.parsing import BOM
from workers.diffs import FileChange, FileStatus, split_lines
from workers.review.detectors.dependencies import Dependencies
from workers.review.detectors.rules import is_lock_file, is_test_path
from workers.review.detectors.secrets import Secrets
from workers.review.detectors.workflows import Workflows
from workers.review.source import Unread, is_binary, is_unicode, read_text

_LONG_LINE = 5_000
_VENDORED = frozenset({"vendor", "vendored", "_vendor", "third_party", "node_modules", "site-packages", ".venv"})
_GENERATED_NAME = re.compile(r"_pb2(_grpc)?\.pyi?$")
_MARK_LINES = 10


class CoverageStatus(StrEnum):
    """How much of a file was reviewed."""

    READ = "read"
    SEARCHED = "searched"
    PARTLY_READ = "partly_read"
    UNEDITED = "unedited"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCoverage:
    """What became of one file of the change.

    `reason` is empty only when a detector that knows files of its kind read it, and no detector for it failed; one that
    was SEARCHED holds no secret that we know of, and nothing else was looked for. In a document there is nothing else.
    """

    path: str
    status: CoverageStatus
    reason: str = ""


def source_of(root: Path, file: FileChange) -> str:
    """The text of a changed file at the head; raises Unread with the reason when it is not to be read.

    What the diff calls binary may have become text.
    """
    if reason := why_skipped(replace(file, binary=False)):
        raise Unread(reason)
    if file.binary and is_binary(root, file.path):
        raise Unread("binary")
    text = read_text(root, file.path)
    if reason := why_unfit(text):
        raise Unread(reason)
    return text


def base_source(root: Path, file: FileChange) -> str:
    """The text that the change began from, empty when there was none; raises Unread when it cannot be read."""
    return "" if file.status is FileStatus.ADDED else read_text(root, file.old_path)


def with_what_counts(file: FileChange, text: str) -> FileChange:
    """The file as a new one where the diff tells too little of it: all its lines count as changed.

    That is one that was binary before, and one that a rename brought to where it is read, or acts, from now on, though no
    line of it is new.
    """
    if file.binary or _is_brought(file):
        every = frozenset(range(1, len(split_lines(text)) + 1))
        return replace(file, status=FileStatus.ADDED, binary=False, added_lines=every)
    return file


def _is_brought(file: FileChange) -> bool:
    """Whether a rename made a file into another kind: a workflow, say, or code of what was vendored or no code."""
    if file.status is not FileStatus.RENAMED:
        return False
    was = replace(file, path=file.old_path)
    other = PurePosixPath(file.path).suffix != PurePosixPath(file.old_path).suffix
    return other or bool(why_skipped(was)) or (_acts(file.path) and not _acts(file.old_path))


def _acts(path: str) -> bool:
    return Workflows().reads(path) or Dependencies().reads(path)


def why_unedited(file: FileChange) -> str:
    """What became of a file whose content is as before; empty for one that was edited or acts from now on."""
    if file.edited or _is_brought(file):
        return ""
    return "moved without edits" if file.status is FileStatus.RENAMED else "only its mode changed"


def why_skipped(file: FileChange) -> str:
    """Why a file is not read, as far as the diff and its name tell; empty when they do not object."""
    path = PurePosixPath(file.path)
    objections = (
        (file.status is FileStatus.DELETED, "deleted"),
        (file.submodule, "a submodule"),
        (file.symlink, "a symbolic link"),
        (file.binary, "binary"),
        (not is_unicode(file.path), "its name is not UTF-8"),
        (not _VENDORED.isdisjoint(path.parts[:-1]), "vendored code"),
        (_GENERATED_NAME.search(path.name) is not None, "generated code"),
    )
    return next((reason for applies, reason in objections if applies), "")


def why_unfit(text: str) -> str:
    """Why a text is not read as source, empty when it is."""
    lines = split_lines(text.removeprefix(BOM))
    objections = (
        ("\0" in text, "binary"),
        ("\r" in text.replace("\r\n", ""), "has lone carriage returns, so that its lines cannot be separated"),
        (any(len(line) > _LONG_LINE for line in lines), f"minified: a line is over {_LONG_LINE} characters long"),
        (any(_is_generated(line.lower()) for line in lines[:_MARK_LINES]), "marked as generated code"),
    )
    return next((reason for applies, reason in objections if applies), "")


def _is_generated(line: str) -> bool:
    """Whether a comment, in small letters, says that a program writes this file."""
    edit = line.partition("generated by ")[2], line.partition("do not edit")[2]
    return line.startswith("#") and ("@generated" in line or "do not edit" in edit[0] or "generated" in edit[1])


def coverage(path: str, readers: Sequence[str], unread: Mapping[str, str]) -> FileCoverage:
    """What became of a file that was given to `readers`, detectors by name; `unread` is why, for each that failed."""
    if unread:
        status = CoverageStatus.FAILED if len(unread) >= len(readers) else CoverageStatus.PARTLY_READ
        names: dict[str, list[str]] = {}
        for name, why in sorted(unread.items()):
            names.setdefault(why, []).append(name)
        reason = "; ".join(f"not read by {' and '.join(each)}: {why}" for why, each in names.items())
        return FileCoverage(path=path, status=status, reason=reason)
    parts, suffix = PurePosixPath(path.lower()).parts, PurePosixPath(path).suffix
    is_document = suffix in _DOCUMENTS or (suffix not in CODE and not _NEWS.isdisjoint(parts[:-1]))
    if set(readers) <= {Secrets.name} and not is_document:  # in a text for people there is nothing else to look for
        return FileCoverage(path=path, status=CoverageStatus.SEARCHED, reason="only searched for secrets")
    return FileCoverage(path=path, status=CoverageStatus.READ)


def skipped(path: str, reason: str, status: CoverageStatus = CoverageStatus.SKIPPED) -> FileCoverage:
    """A file that no detector was given."""
    return FileCoverage(path=printable(path), status=status, reason=reason)


def printable(path: str) -> str:
    """A name that can be shown, stored and sent, whatever its bytes are."""
    return path.encode("utf-8", "backslashreplace").decode()


_CODE_NAMES = (
    "py pyi pyx js jsx ts tsx go rs java kt c h cc cpp hpp cs rb php swift scala sh bash ps1 sql html vue svelte lua"
)
CODE = frozenset(f".{suffix}" for suffix in _CODE_NAMES.split())
_DOCUMENTS = frozenset({".md", ".rst", ".txt", ".adoc"})
_NEWS = frozenset({"changelog", "changelog.d", "changes", "news", "newsfragments", "releasenotes"})
"""Folders of what becomes a changelog, in files that are called `12.bugfix` or `a-note.yaml`."""


@dataclass(slots=True, kw_only=True)
class ReadBudget:
    """How much one review may still read. GitHub itself shows 300 files of a pull request; users read far fewer.

    Four million characters are what a tool is given at once (`MAX_PART_CHARACTERS`): about 100,000 lines, within the
    time that it has.
    """

    files: int = 300
    characters: int = 4_000_000
    _files: int = 0
    _characters: int = 0

    def take(self, text_of: Callable[[], str]) -> str:
        """The text, if there is room for it; raises Unread for one that is over, or that `text_of` raises it for.

        A long file that does not fit leaves its room to shorter ones.
        """
        if self._files >= self.files:
            raise Unread(f"over the {self.files} files that one review reads")
        text = text_of() if self._characters < self.characters else ""
        if self._characters >= self.characters or self._characters + len(text) > self.characters:
            raise Unread(f"over the {self.characters:,} characters that one review reads")
        self._files, self._characters = self._files + 1, self._characters + len(text)
        return text


def by_priority(files: Sequence[FileChange]) -> list[FileChange]:
    """The files, what matters most first: what runs with rights, then code, tests, the rest, locks; more changed before less."""
    edited = {
        file.path: sum(line.startswith(("+", "-")) for hunk in file.hunks for line in hunk.lines) for file in files
    }
    return sorted(files, key=lambda file: (_rank(file.path), -edited[file.path], file.path))


def _rank(path: str) -> int:
    if _acts(path):
        return 0
    if PurePosixPath(path).suffix not in CODE:
        return 4 if is_lock_file(path) else 3
    return 2 if is_test_path(path) else 1
