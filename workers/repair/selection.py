"""Which tests judge a candidate, and which files it may come from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory.model import Failure, Family
from workers.repair.baseline import Selection
from workers.repair.candidates import Suspect
from workers.repair.reproduce import Reproduction
from workers.sandbox.launcher import ENVIRONMENTS, NEVER_COPIED
from workers.sandbox.project import Project

MOST_FAILING, MOST_COVERING, COVERING_SECONDS = 50, 80, 2.0
LARGEST_SOURCE = 1 << 20


def judges(reproduction: Reproduction, failure: Failure, suspects: Sequence[Suspect]) -> Selection:
    """The failing tests, the quickest first, and the passing ones that run most of the suspected code; the proof runs all the others."""
    seconds = {result.id: result.seconds for result in reproduction.report.results}
    failing = tuple(sorted(failure.failing_tests, key=lambda test: seconds.get(test, 0.0)))[:MOST_FAILING]
    covering: list[str] = []
    left = COVERING_SECONDS
    for test in _by_overlap(reproduction, suspects)[:MOST_COVERING]:
        if seconds.get(test, 0.0) <= left:
            left -= seconds.get(test, 0.0)
            covering.append(test)
    endless = failure.family is Family.TIMEOUT
    spent = sum(seconds.get(test, 0.0) for test in (*(() if endless else failing), *covering))
    return Selection(failing=failing, covering=tuple(covering), seconds=spent, endless=endless)


def _by_overlap(reproduction: Reproduction, suspects: Sequence[Suspect]) -> list[str]:
    """Passing tests, those that run the likeliest lines first; those that run no suspected file are left out."""
    weight: dict[str, dict[int, float]] = {}
    for suspect in suspects:
        weight.setdefault(suspect.path, {})[suspect.line] = suspect.score
    overlap = {
        test: sum(_worth(weight.get(path, {}), lines) for path, lines in reproduction.lines.get(test, {}).items())
        for test in reproduction.passing
        if not reproduction.lines or weight.keys() & reproduction.lines.get(test, {}).keys()
    }
    return sorted(overlap, key=lambda test: -overlap[test])


def _worth(weight: Mapping[int, float], lines: frozenset[int]) -> float:
    return sum(weight.get(line, 0.0) for line in lines)


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
    """The file as it stands, line ends included; a link could lead out of the checkout and is not followed."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_SOURCE:
        return None
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
