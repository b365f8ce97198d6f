"""A bug in each of a few real packages, and the candidates that the engine proposes for it: what validation is tried on."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.repair.importers.sdists import PACKAGES, unpacked
from workers.repair.baseline import Selection
from workers.repair.candidates import Candidate
from workers.repair.classify import failure_of
from workers.repair.localise import suspects
from workers.repair.reproduce import reproduce
from workers.repair.search import propose
from workers.repair.selection import judges, sources_of
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """`right`, which stands once in `module`, becomes `wrong`."""

    package: str
    module: str
    right: str
    wrong: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A project with a bug, the tests that judge, and candidates."""

    project: Project
    wanted: Selection
    candidates: tuple[Candidate, ...]


BUGS = (
    Bug(
        package="toolz",
        module="toolz/itertoolz.py",
        right="return tuple(collections.deque(seq, n))",
        wrong="return tuple(collections.deque(n, seq))",
    ),
    Bug(
        package="cachetools",
        module="src/cachetools/__init__.py",
        right="        self.__links.move_to_end(key)\n        return value\n",
        wrong="        self.__links.move_to_end(key)\n",
    ),
    Bug(
        package="inflection",
        module="inflection/__init__.py",
        right="if number % 100 in (11, 12, 13):",
        wrong="if number % 10 in (11, 12, 13):",
    ),
    Bug(
        package="more-itertools",
        module="more_itertools/more.py",
        right="beginning = seq[:i]",
        wrong="beginning = seq[i:]",
    ),
    Bug(
        package="parse",
        module="parse.py",
        right="return sign * int(string, base)",
        wrong="return sign + int(string, base)",
    ),
    Bug(
        package="sqlparse",
        module="sqlparse/sql.py",
        right="indexes = range(start - 2, -1, -1)",
        wrong="indexes = range(start - 1, -1, -1)",
    ),
)


def planted(bug: Bug, at: Path) -> Project:
    """The package with its bug, below `at`, for our own interpreter. Raises BadCase where it cannot be had."""
    package = next(each for each in PACKAGES if each.name == bug.package)
    tree = unpacked(package, at)
    module = tree / bug.module
    text = module.read_text(encoding="utf-8")
    assert text.count(bug.right) == 1, f"{bug.right!r} does not stand once in {bug.module} of {bug.package}"
    module.write_text(text.replace(bug.right, bug.wrong), encoding="utf-8")
    return discover(tree, python=Path(sys.executable), test_command=package.test_command)


def prepared(project: Project, count: int, stride: int = 1) -> Subject:
    """The tests that judge, and `count` candidates of all strategies: the likeliest half, then every `stride`th."""
    reproduction = reproduce(Bubblewrap(), project)
    failure = failure_of(reproduction.failing_report)
    assert failure is not None, "the planted bug fails tests"
    sources = sources_of(project)
    suspected = suspects(failure, reproduction.lines, reproduction.passing, sources=sources)
    proposed = propose(sources, suspected, failure, strategies=None)
    likely = tuple(islice(proposed, count - count // 2))
    others = tuple(islice(proposed, 0, count // 2 * stride, stride))
    wanted = judges(reproduction, failure, suspected)
    return Subject(project=project, wanted=wanted, candidates=likely + others)
