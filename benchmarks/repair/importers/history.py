"""Past bug fixes of a repository, as cases: the parent's code with the fix's tests.

A commit is one when its message speaks of a bug and it touched code and tests. It is kept when the test modules that it
touched fail before and pass after it, on this interpreter with what is installed beside it. Tests that fail after the
fix as well are deselected; the project's own options are left out, since they ask for plugins that are not there.

The engine sees the touched test modules. It is judged by the whole suite at the fix, where that runs in short time; the
fix's code is the case's solution.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree

from benchmarks.repair.cases import write_case
from benchmarks.repair.importers.commits import Clone, Commit, Size
from workers.errors import ApprenticeError
from workers.ports import Limits
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover
from workers.sandbox.report import TestReport
from workers.sandbox.run_tests import run_tests

BUDGET_SECONDS = 300.0
COMMAND = "python -m pytest -q -o addopts= -o filterwarnings="
TOUCHED, WHOLE = Limits(cpu_seconds=20), Limits(cpu_seconds=30)
MOST = 20
MAX_RUN = 120
"""So many commits of a repository are run before its older ones are left alone."""

MAX_HUNKS = 12
MAX_DESELECTED = 20


class _Dropped(Exception):
    """Why a commit makes no case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What is known of a fix once its tests were run."""

    command: str
    held_out_command: str
    collected: bool


def make(clone: Path, into: Path, *, most: int = MOST) -> str:
    """Write the newest cases of a clone into `into`, unless they are there; the project's name. Raises BadCase."""
    repository = Clone(clone)
    mark = into / f"{repository.name}.txt"
    made = f"{repository.head()}, at most {most} cases\n"
    if not mark.is_file() or mark.read_text(encoding="utf-8").partition("\n")[0] != made.strip():
        counts = _imported(repository, into, most)
        dropped = "".join(f"{count} {reason}\n" for reason, count in counts.most_common())
        mark.write_text(made + dropped, encoding="utf-8")
        sys.stderr.write(f"{repository.name}: {', '.join(dropped.splitlines())}\n")
    return repository.name


def _imported(repository: Clone, into: Path, most: int) -> Counter[str]:
    """Write the cases; how many commits ended how."""
    into.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    run = 0
    for commit in repository.commits():
        if counts["kept"] == most or run == MAX_RUN:
            break
        try:
            size = _worth_running(repository, commit)
            run += 1
            _write(repository, commit, size, into)
        except _Dropped as reason:
            counts[str(reason)] += 1
        else:
            counts["kept"] += 1
    return counts


def _worth_running(repository: Clone, commit: Commit) -> Size:
    """The size of what may be a fix. Raises _Dropped."""
    if not commit.sources or not commit.test_modules:
        raise _Dropped("without code or without tests")
    if not commit.says_fix:
        raise _Dropped("not said to be a fix")
    if any(commit.changed[path] != "M" for path in commit.sources):
        raise _Dropped("adding or removing modules")
    try:
        size = repository.size(commit)
    except (SyntaxError, UnicodeDecodeError):
        raise _Dropped("not of this Python") from None
    if not size.hunks:
        raise _Dropped("changing layout or comments only")
    if size.hunks > MAX_HUNKS:
        raise _Dropped(f"of more than {MAX_HUNKS} hunks")
    return size


def _write(repository: Clone, commit: Commit, size: Size, into: Path) -> None:
    """The case's folder. Raises _Dropped where its tests do not tell the fix from what was before."""
    with tempfile.TemporaryDirectory(prefix="apprentice-history-") as scratch:
        tree = Path(scratch) / "tree"
        repository.export(commit.parent, tree)
        _lay(tree, {path: repository.file(commit.id, path) for path in commit.tests})
        fix = {path: repository.file(commit.id, path) for path in commit.sources}
        try:
            kept = _told_apart(tree, commit.test_modules, fix)
        except ApprenticeError:
            raise _Dropped("whose tests cannot be run here") from None
        name = f"{repository.name}-{commit.id[:10]}"
        judged = bool(kept.held_out_command)
        write_case(
            into / name,
            name=name,
            files={},
            test_command=kept.command,
            budget_seconds=BUDGET_SECONDS,
            held_out={} if judged else None,
            held_out_command=kept.held_out_command,
            solution={path: (data or b"").decode() for path, data in fix.items()},
            labels={
                "project": repository.name,
                "commit": commit.id,
                "made": repository.made(commit.id),
                "size": _size_class(size),
                "files": str(size.files),
                "hunks": str(size.hunks),
                "lines": str(size.lines),
                "before": "tests fail" if kept.collected else "tests cannot be collected",
            },
        )
        copytree(tree, into / name / "repository", symlinks=True)
        if judged:
            (into / name / "held_out").mkdir()
            _lay(into / name / "held_out", {path: (tree / path).read_bytes() for path in commit.test_modules})


def _lay(tree: Path, files: Mapping[str, bytes | None]) -> None:
    for path, data in files.items():
        if data is None:
            (tree / path).unlink(missing_ok=True)
        else:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(data)


def _told_apart(tree: Path, modules: Sequence[str], fix: Mapping[str, bytes | None]) -> _Kept:
    """The commands whose tests fail before the fix and pass after it. Raises _Dropped."""
    before = _run(tree, shlex.join(modules), {}, TOUCHED)
    if not before.started or (not before.complete and not before.failing()):
        raise _Dropped("whose tests cannot be run here")
    if not before.failing():
        raise _Dropped("whose tests pass without the fix")
    after = _run(tree, shlex.join(modules), fix, TOUCHED)
    failing = {result.id for result in after.failing()}
    fixed = {result.id for result in before.failing()} - failing
    if not fixed or not after.passing() or not _can_be_deselected(after):
        raise _Dropped("whose tests fail with the fix too")
    whole = _run(tree, "", fix, WHOLE)
    return _Kept(
        command=f"{COMMAND} {shlex.join([*modules, *_deselected(after)])}",
        held_out_command=shlex.join([*shlex.split(COMMAND), *_deselected(whole)]) if _can_be_deselected(whole) else "",
        collected=any("::" in test for test in fixed),
    )


def _run(tree: Path, words: str, overlay: Mapping[str, bytes | None], limits: Limits) -> TestReport:
    project = discover(tree, python=None, test_command=f"{COMMAND} {words}")
    return run_tests(Bubblewrap(), project, overlay=overlay, limits=limits).report


def _can_be_deselected(report: TestReport) -> bool:
    failing = report.failing()
    return report.complete and len(failing) <= MAX_DESELECTED and all("::" in result.id for result in failing)


def _deselected(report: TestReport) -> list[str]:
    return [word for result in report.failing() for word in ("--deselect", result.id)]


def _size_class(size: Size) -> str:
    if size.hunks == 1:
        return "one hunk, one line" if size.lines <= 2 else "one hunk"
    return "two or three hunks" if size.hunks <= 3 else "more hunks"
