"""A checkout as the agent sees it: files of one tree, jailed, with its edits beside them and never on the disk."""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from workers.configuration.schema import ALL_PATHS, PathChoices
from workers.diffs import unified
from workers.errors import ApprenticeError
from workers.repair.judging.protected_files import DECIDES, NOT_EDITED, PRIVATE, refusal
from workers.sandbox.checkout_files import left_out

LARGEST_FILE = 1 << 20
MAX_FILES = 20_000
LONGEST_NAME, LONGEST_PATH = 255, 1_000
"""Bytes that the disk takes of one name, and that we take of a path."""

_NEW_FILE = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*")
_CITED = re.compile(r"(?<![\w./-])(?P<path>[\w./-]*\.[A-Za-z]\w*):(?P<line>\d{1,6})(?:-\d{1,6})?")


class ToolFailed(ApprenticeError):
    """The tool could not do what it was asked: the model reads why, and continues."""


class Checkout:
    """A tree and the edits made so far. Paths are POSIX and relative to its root; nothing outside can be named.

    A file is `editable` unless it decides what counts as passing, as `tests` do; new tests have a place of their own.
    """

    def __init__(self, tree: Path, editable: PathChoices = ALL_PATHS, tests: Collection[str] = ()) -> None:
        self._tree = tree.resolve()
        self._may_edit = editable
        self._tests = tests
        self._edited: dict[str, str] = {}
        self._added_tests: dict[str, str] = {}
        self._most_files = MAX_FILES

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Every regular file of the tree, sorted; links, caches and environments left out."""
        return tuple(sorted(self._walk()))

    def read(self, path: str) -> str:
        """The text of a file as it is with the edits; raises ToolFailed when it is none that may be read."""
        path = self.named(path)
        made = self._added_tests | self._edited
        return made[path] if path in made else self.original(path)

    def original(self, path: str) -> str:
        """The text of a file as the commit has it."""
        target = self._inside(self.named(path))
        if not target.is_file():
            raise ToolFailed(f"there is no file {path}")
        if PRIVATE.search(path):
            raise ToolFailed(f"{path} may hold keys, which no model is shown")
        if target.stat().st_size > LARGEST_FILE:
            raise ToolFailed(f"{path} is larger than {LARGEST_FILE >> 10} KB")
        try:
            return target.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise ToolFailed(f"{path} is no UTF-8 text") from error

    def create(self, path: str, text: str) -> None:
        """Add a file; raises ToolFailed where one is, and for one that a fix may not touch."""
        path = self.named(path)
        if self._inside(path).exists() or path in self.edits:
            raise ToolFailed(f"{path} is there already: give the lines to replace as `old`")
        self.write(path, text)

    def write(self, path: str, text: str) -> None:
        """Edit a file that is there, or add one; raises ToolFailed for one that a fix may not touch."""
        path = self._editable(path)
        if len(text.encode(errors="replace")) > LARGEST_FILE:
            raise ToolFailed(f"{path} would be larger than {LARGEST_FILE >> 10} KB")
        if len(self.edits.keys() | {path}) > self._most_files:
            raise ToolFailed(f"this strategy edits {self._most_files} file(s) at most; `undo` to begin anew")
        self._edited[path] = text

    def add_test(self, path: str, text: str) -> None:
        """Add a test file; raises ToolFailed for a path that the commit has, or that the repository leaves out."""
        path = self.named(path)
        if self._inside(path).exists():
            raise ToolFailed(f"{path} is there already: tests that exist stay as they are")
        if not self._may_edit.hold(path):
            raise ToolFailed(f"{path} {NOT_EDITED}: no test is added there")
        self._check_place(path)
        self._added_tests[path] = text

    def clear(self, *, most_files: int) -> None:
        """Begin again, with at most `most_files` files to be edited."""
        self._edited.clear()
        self._added_tests.clear()
        self._most_files = most_files

    def restore(self) -> None:
        """Take every edit of the sources back; added tests stay."""
        self._edited.clear()

    @property
    def edits(self) -> dict[str, str]:
        """The texts of the sources that differ from the commit's."""
        return {path: text for path, text in self._edited.items() if text != self._before(path)}

    @property
    def added_tests(self) -> dict[str, str]:
        return dict(self._added_tests)

    def overlay(self) -> dict[str, bytes | None]:
        """What a sandbox lays over the tree: edits and added tests."""
        return {path: text.encode(errors="replace") for path, text in {**self.edits, **self._added_tests}.items()}

    def diff(self) -> str:
        """The edits as a unified diff, without added tests; empty when there are none."""
        return "".join(unified(path, self._before(path), text) for path, text in sorted(self.edits.items()))

    def _editable(self, path: str) -> str:
        path = self.named(path)
        if not self._inside(path).is_file():
            self._check_place(path)
        refused = DECIDES if path in self._tests else refusal(path, self._tree)
        if refused := refused or ("" if self._may_edit.hold(path) else NOT_EDITED):
            raise ToolFailed(f"{path} {refused}: a fix may not change it")
        return path

    def _check_place(self, path: str) -> None:
        """Raise ToolFailed where no new file can be: the name is none, or something else is in its place."""
        if not _NEW_FILE.fullmatch(path):
            raise ToolFailed(f"{path!r} is no name for a new file: letters, digits, `_`, `-` and `.` alone")
        made = self._added_tests | self._edited
        above = [str(parent) for parent in PurePosixPath(path).parents]
        if any(name in made or (self._tree / name).is_file() for name in above):
            raise ToolFailed(f"{path} would lie below a file")
        if (self._tree / path).is_dir() or any(name.startswith(f"{path}/") for name in made):
            raise ToolFailed(f"{path} is a directory")

    def _before(self, path: str) -> str | None:
        return self.original(path) if (self._tree / path).is_file() else None

    def named(self, path: str) -> str:
        """The path in its one form; raises ToolFailed for one that leads elsewhere."""
        pure = PurePosixPath(path.strip().removeprefix("./"))
        if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
            raise ToolFailed(f"{path!r} is no path within the repository")
        named = str(pure)
        sizes = [len(part.encode(errors="replace")) for part in pure.parts]
        if max(sizes) > LONGEST_NAME or sum(sizes) > LONGEST_PATH:
            raise ToolFailed(f"{named[:60]}… is longer than any path here")
        return named

    def _inside(self, path: str) -> Path:
        """The place of a path on the disk; raises ToolFailed where a link is on the way."""
        target = self._tree / path
        try:
            straight = target.resolve() == target
        except RuntimeError:  # links in a circle
            straight = False
        if not straight:
            raise ToolFailed(f"{path} leads through a symbolic link")
        return target

    def _walk(self) -> Iterator[str]:
        count = 0
        for directory, subdirectories, names in os.walk(self._tree):
            here = Path(directory)
            there = (name for name in subdirectories if not left_out(here / name))
            subdirectories[:] = [name for name in there if not (here / name).is_symlink()]
            for name in names:
                if not (here / name).is_symlink():
                    count += 1
                    if count > MAX_FILES:
                        return
                    yield (here / name).relative_to(self._tree).as_posix()


# ── Places that a model names as path:line ─────────────────────────────────────────────────────────────────────────


def existing(checkout: Checkout, citations: Sequence[str]) -> tuple[str, ...]:
    """Those citations whose file and line exist, each once."""
    found = ((cite.strip(), _CITED.fullmatch(cite.strip())) for cite in citations)
    return tuple(dict.fromkeys(cite for cite, match in found if match is not None and _exists(checkout, match)))


def checked(checkout: Checkout, text: str) -> str:
    """The text, with every place that it names and that does not exist marked so."""
    return _CITED.sub(lambda found: found[0] if _exists(checkout, found) else f"{found[0]} (not there)", text)


def _exists(checkout: Checkout, found: re.Match[str]) -> bool:
    try:
        text = checkout.read(found["path"])
    except ToolFailed:
        return False
    return 1 <= int(found["line"]) <= text.count("\n") + 1
