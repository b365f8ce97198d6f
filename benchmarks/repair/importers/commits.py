"""A clone's past fixes: which commits look like one, and what they changed. Read from the object store; nothing is checked out."""

from __future__ import annotations

import ast
import difflib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from benchmarks.repair.cases import BadCase

SAYS_FIX = re.compile(
    r"\b(fix(es|ed)?|bugs?|bugfix|regressions?|close[sd]?|resolve[sd]?|issue|crash(es)?|incorrect(ly)?|wrong(ly)?)\b|#\d+",
    re.IGNORECASE,
)
TEST_FOLDERS = frozenset({"test", "tests", "testing", "tests_website"})
NOT_SOURCE = frozenset({"setup.py", "conf.py", "noxfile.py", "versioneer.py", "tasks.py"})
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)
_BLAMED = re.compile(r"^([0-9a-f]{40}) (\d+) \d+", re.MULTILINE)
RECORD, FIELD = "\x1e", "\x1f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit that is no merge. `changed` maps the paths that it touched to git's letter: A, M or D."""

    id: str
    parent: str
    message: str
    changed: dict[str, str]

    @property
    def tests(self) -> list[str]:
        """What it touched of the tests, data and helpers included."""
        return sorted(path for path in self.changed if is_test(path))

    @property
    def test_modules(self) -> list[str]:
        """The files that pytest is to run."""
        return [path for path in self.tests if _is_collected(path) and self.changed[path] != "D"]

    @property
    def sources(self) -> list[str]:
        """What it touched of the code."""
        return sorted(path for path in self.changed if _is_source(path))

    @property
    def says_fix(self) -> bool:
        """Whether its message speaks of a bug."""
        return SAYS_FIX.search(self.message) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a fix changed of the code, without comments, docstrings and layout; `lines` are those added and taken."""

    files: int
    hunks: int
    lines: int


class Clone:
    """A repository on this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_dir():
            raise BadCase(f"{path} is not a directory: name a clone")
        self._git("rev-parse", "--git-dir")

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._path.resolve().name.removesuffix(".git")

    def head(self) -> str:
        """The newest commit's id."""
        return self._git("rev-parse", "HEAD").decode().strip()

    def made(self, commit: str) -> str:
        """When it was committed, in UTC: such texts are in the order of time."""
        seconds = int(self._git("show", "--no-patch", "--format=%ct", commit))
        return datetime.fromtimestamp(seconds, UTC).isoformat()

    def commits(self) -> Iterator[Commit]:
        """Newest first, without merges and without the first."""
        wanted = f"--format={RECORD}%H{FIELD}%P{FIELD}%B{FIELD}"
        log = self._git("log", "--no-merges", "--no-renames", "--name-status", wanted)
        for record in log.decode(errors="replace").split(RECORD)[1:]:
            name, parent, message, touched = record.split(FIELD, 3)
            changed = dict(_path_and_letter(line) for line in touched.splitlines() if "\t" in line)
            if parent:
                yield Commit(id=name, parent=parent.split()[0], message=message, changed=changed)

    def changed_lines(self, since: str) -> dict[str, dict[str, tuple[int, int]]]:
        """Of commits that are no merges and not older than a date: by path, how many lines were added and taken away."""
        log = self._git(
            "log", "--no-merges", "--no-renames", f"--since={since}", "--numstat", f"--format={RECORD}%H{FIELD}"
        )
        found: dict[str, dict[str, tuple[int, int]]] = {}
        for record in log.decode(errors="replace").split(RECORD)[1:]:
            name, touched = record.split(FIELD, 1)
            rows = (line.split("\t") for line in touched.splitlines() if "\t" in line)
            found[name] = {path: (int(added), int(taken)) for added, taken, path in rows if added != "-"}
        return found

    def export(self, commit: str, at: Path, *paths: str) -> None:
        """The commit's files, all or those that git's patterns match, in a directory that does not exist yet."""
        data = self._git("archive", "--format=tar", commit, *paths)
        at.mkdir(parents=True)
        subprocess.run(["tar", "--extract", "--directory", at], input=data, check=True)

    def file(self, commit: str, path: str) -> bytes | None:
        """A file as the commit has it; None where it has none."""
        try:
            return self._git("show", f"{commit}:{path}")
        except BadCase:
            return None

    def size(self, commit: Commit) -> Size:
        """How large the fix was. Raises SyntaxError or UnicodeDecodeError for code that is not of this Python."""
        files = hunks = lines = 0
        for path in commit.sources:
            before, after = (_essence(self.file(at, path)) for at in (commit.parent, commit.id))
            changed = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
            here = sum(line.startswith("@@") for line in changed)
            files, hunks, lines = files + bool(here), hunks + here, lines + len(changed) - here
        return Size(files=files, hunks=hunks, lines=lines)

    def blamed(self, fix: Commit) -> dict[str, frozenset[tuple[str, int]]]:
        """The commits that wrote lines of code which a fix changes or takes out, newest first: path and line as they wrote them."""
        found: dict[str, set[tuple[str, int]]] = {}
        for source in fix.sources:
            hunks = _HUNK.findall(
                self._git("diff", "--unified=0", fix.parent, fix.id, "--", source).decode(errors="replace")
            )
            spans = [f"-L{start},+{count or 1}" for start, count in hunks if count != "0"]
            written = self._git("blame", "--porcelain", *spans, fix.parent, "--", source) if spans else b""
            for commit, line in _BLAMED.findall(written.decode(errors="replace")):
                found.setdefault(commit, set()).add((source, int(line)))
        order = self._git("rev-list", "--no-walk=sorted", *found).decode().split() if found else []
        return {commit: frozenset(found[commit]) for commit in order}

    def _git(self, *words: str) -> bytes:
        safe = ["-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"]
        done = subprocess.run(["git", *safe, "-C", str(self._path), *words], capture_output=True, check=False)
        if done.returncode:
            raise BadCase(f"git {words[0]} in {self._path}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout


def is_test(path: str) -> bool:
    """Whether a file belongs to the tests."""
    return bool(TEST_FOLDERS & set(PurePosixPath(path).parts)) or _is_collected(path)


def _is_collected(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.endswith(".py") and (name.startswith("test") or name.endswith(("_test.py", "_tests.py")))


def _is_source(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return (
        path.endswith(".py") and not is_test(path) and parts[-1] not in NOT_SOURCE and parts[0] not in ("doc", "docs")
    )


def _path_and_letter(line: str) -> tuple[str, str]:
    letter, _, path = line.partition("\t")
    return path, letter[0]


def _essence(text: bytes | None) -> list[str]:
    """The code's lines in one layout, without comments and docstrings."""
    tree = ast.parse((text or b"").decode())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree).splitlines()


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
