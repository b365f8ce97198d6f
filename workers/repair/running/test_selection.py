"""Which tests screen a candidate, and which files it may come from."""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from memory.model import Failure, Family
from workers.repair.engines.search.candidates import Suspect
from workers.repair.reproduce import Reproduction
from workers.sandbox.launcher import ENVIRONMENTS, NEVER_COPIED
from workers.sandbox.project import Project

MOST_FAILING, MOST_COVERING, COVERING_SECONDS = 50, 80, 2.0
LARGEST_SOURCE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreeningTests:
    """The tests to screen by: those to be made to pass, and those that pass and must go on to.

    `seconds` is the time of all of them when they were last run; `endless` failing ones are left out of it.
    """

    failing: tuple[str, ...]
    covering: tuple[str, ...]
    seconds: float = 10.0
    endless: bool = False


def screening_tests(reproduction: Reproduction, failure: Failure, suspects: Sequence[Suspect]) -> ScreeningTests:
    """The failing tests, the quickest first, and the passing ones that run most of the suspected code; the proof runs all the others."""
    seconds = {result.id: result.seconds for result in reproduction.report.results}
    failing = tuple(sorted(failure.failing_tests, key=lambda test: seconds.get(test, 0.0)))[:MOST_FAILING]
    covering: list[str] = []
    left = COVERING_SECONDS
    for test in islice(_by_overlap(reproduction, suspects), MOST_COVERING):
        if seconds.get(test, 0.0) <= left:
            left -= seconds.get(test, 0.0)
            covering.append(test)
    endless = failure.family is Family.TIMEOUT
    spent = sum(seconds.get(test, 0.0) for test in (*(() if endless else failing), *covering))
    return ScreeningTests(failing=failing, covering=tuple(covering), seconds=spent, endless=endless)


def _by_overlap(reproduction: Reproduction, suspects: Sequence[Suspect]) -> Iterator[str]:
    """Passing tests, those first that add most to what is run of the suspected lines; none that runs no suspected file.

    The additional greedy prioritisation of Rothermel et al. 2001, where a line that k chosen tests run is worth
    1 / (1 + k) of its suspicion: of tests that differ in their parameters alone, one comes before other tests.
    """
    if not reproduction.lines:
        yield from reproduction.passing
        return
    worth = {(suspect.path, suspect.line): suspect.score for suspect in suspects}
    taken = Counter[tuple[str, int]]()
    ran = {test: _suspected(reproduction.lines.get(test, {}), worth) for test in reproduction.passing}

    def gain(test: str) -> float:
        return sum(worth[line] / (1 + taken[line]) for line in ran[test] or ())

    heap = [(-gain(test), number, test) for number, test in enumerate(ran) if ran[test] is not None]
    heapq.heapify(heap)
    while heap:
        claimed, number, test = heapq.heappop(heap)
        least = -gain(test)
        if least > claimed and heap and least > heap[0][0]:
            heapq.heappush(heap, (least, number, test))  # others cover its lines, and one is worth more now
        else:
            taken.update(ran[test] or ())
            yield test


def _suspected(
    lines: Mapping[str, frozenset[int]], worth: Mapping[tuple[str, int], float]
) -> list[tuple[str, int]] | None:
    """The suspected lines that a test runs; None when it runs no suspected file."""
    paths = {path for path, _ in worth} & lines.keys()
    return [(path, line) for path in sorted(paths) for line in lines[path] if (path, line) in worth] if paths else None


def sources_of(project: Project) -> dict[str, str]:
    """The text of every Python file of the checkout that is UTF-8 and of a size that people write, by path."""
    found: dict[str, str] = {}
    for directory, subdirectories, names in os.walk(project.tree):
        here = Path(directory)
        subdirectories[:] = sorted(name for name in subdirectories if not _left_out(here / name))
        for name in sorted(names):
            text = _text(here / name) if name.endswith(".py") else None
            if text is not None:
                found[(here / name).relative_to(project.tree).as_posix()] = text
    return found


def _left_out(directory: Path) -> bool:
    environment = directory.name in ENVIRONMENTS and (directory / "pyvenv.cfg").exists()
    return environment or directory.name in NEVER_COPIED or directory.is_symlink()


def _text(path: Path) -> str | None:
    """The file unchanged, line ends included; a link could lead out of the checkout and is not followed."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_SOURCE:
        return None
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
