"""The changes of a branch up to a commit, with their messages and Python sources: which of them were fixes, and of which issues.

A change is a step along the first parents: a commit, or all that a merge brought in.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePosixPath

from memory.retrieval.index import terms
from workers.git_command import GitLimits, commit_time, run_git
from workers.sandbox.checkout_files import is_test_file

_LIMITS = GitLimits(memory_mb=1024, cpu_seconds=120, output_mb=64)
MAX_CHANGES = 20_000
MAX_SOURCES = 10
"""A change of more source files is an import or a reformatting: it says nothing about one of them."""

_RECORD, _PART = "\x1e", "\x1f"
_FORMAT = f"--format={_RECORD}%H{_PART}%ct{_PART}%B{_PART}"
_SHAPE = ("--first-parent", "--diff-merges=first-parent", "--no-renames", "--name-only", "--no-show-signature")
_NUMBER = r"(?:#|gh-|[\w.-]{1,40}/[\w.-]{1,100}#|https?://github\.com/[\w.-]{1,40}/[\w.-]{1,100}/issues/)(\d{1,9})"
_CLOSES = re.compile(rf"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b:?[ \t]+(?:(?:issue|bug)[ \t]+)?{_NUMBER}", re.I)
_SAYS_FIX = re.compile(
    r"\b(?:fix(?:es|ed)?|bugs?|bugfix|regression|crash(?:es)?|incorrect(?:ly)?|wrong(?:ly)?)\b", re.I
)
_ROUTINE = re.compile(
    r"^(?:Merge (?:pull request|branch|remote-tracking)|Co-authored-by:|Signed-off-by:|\(cherry picked).*$", re.I | re.M
)
_TEST_FOLDERS = frozenset({"tests", "test", "testing"})


@dataclass(frozen=True, kw_only=True)
class EarlierChange:
    """One change: its message, the Python sources that it touched (tests are not among them), and the issues that it closed."""

    sha: str
    at: datetime
    message: str
    paths: tuple[str, ...]
    sources: tuple[str, ...]
    closes: tuple[int, ...]

    @property
    def title(self) -> str:
        """The first line that says something: of a merge that of its pull request."""
        return self.words.strip().partition("\n")[0].strip() or self.message.partition("\n")[0]

    @property
    def words(self) -> str:
        """The message without the lines that git and GitHub write."""
        return _ROUTINE.sub("", self.message)

    @cached_property
    def terms(self) -> list[str]:
        """Its words as retrieval compares them."""
        return terms(self.words)

    @property
    def resolves(self) -> bool:
        """Whether it says that it mended something."""
        return bool(self.closes or _SAYS_FIX.search(self.words))


def is_kept_with_tests(path: str) -> bool:
    """Whether a file is a test, or beside tests, by its name alone."""
    *folders, name = PurePosixPath(path).parts
    return is_test_file(path) or name == "conftest.py" or not _TEST_FOLDERS.isdisjoint(folders)


def changes_until(directory: Path, sha: str) -> tuple[EarlierChange, ...]:
    """The changes of one to `MAX_SOURCES` sources up to a commit, oldest first; of the latest `MAX_CHANGES` of the branch."""
    arguments = ("log", *_SHAPE, f"--max-count={MAX_CHANGES}", "--reverse", _FORMAT, sha, "--")
    written = run_git(*arguments, at=directory, limits=_LIMITS).decode(errors="replace")
    return tuple(each for each in parse_log(written) if 0 < len(each.sources) <= MAX_SOURCES)


def parse_log(written: str) -> Iterator[EarlierChange]:
    """The changes that git wrote in our format; what a message with our marks in it spoils is left out."""
    for record in written.split(_RECORD)[1:]:
        parts = record.split(_PART)
        if len(parts) != 4 or not parts[1].isdecimal():
            continue
        sha, seconds, message, names = parts
        paths = tuple(name for name in names.split("\n") if name)
        yield EarlierChange(
            sha=sha,
            at=commit_time(seconds),
            message=message.strip(),
            paths=paths,
            sources=tuple(path for path in paths if path.endswith(".py") and not is_kept_with_tests(path)),
            closes=tuple(dict.fromkeys(int(number) for number in _CLOSES.findall(message))),
        )


def files_at(directory: Path, sha: str, paths: Sequence[str]) -> dict[str, str]:
    """The texts of files at a commit, with invalid UTF-8 replaced; a missing one is left out."""
    asked = [path for path in paths if "\n" not in path]
    lines = "".join(f"{sha}:{path}\n" for path in asked).encode(errors="surrogateescape")
    written = run_git("cat-file", "--batch", at=directory, stdin=lines, limits=_LIMITS)
    found, at = dict[str, str](), 0
    for path in asked:
        end = written.index(b"\n", at)
        kind, _, size = written[at:end].rpartition(b" ")
        at = end + 1
        if size.isdigit():
            content, at = written[at : at + int(size)], at + int(size) + 1
            if kind.endswith(b" blob"):
                found[path] = content.decode(errors="replace")
    return found


def python_paths(directory: Path, sha: str) -> list[str]:
    """Every Python file of a commit, links not among them."""
    listed = run_git("ls-tree", "-r", "-z", "--full-tree", sha, at=directory, limits=_LIMITS).split(b"\0")[:-1]
    entries = (entry.decode(errors="surrogateescape").partition("\t") for entry in listed)
    return [path for head, _, path in entries if path.endswith(".py") and head.startswith("100")]
