"""The cases of a suite. What solves one stands nowhere that the agent reads."""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.agent.records import BadRun
from benchmarks.repair.cases import BadCase, Case, load_cases
from benchmarks.repair.importers import history, humaneval, humanevalfix, quixbugs

PAST = Path(".cache/cases/agent-history")
MARK = "made"


def cases_of(given: argparse.Namespace, folder: Path) -> list[Case]:
    """So many cases of the suite as are asked for, in an order that the seed says. Raises BadRun.

    Those that are made of somebody's data lie below the run's folder, so that a resumed run has the same.
    """
    try:
        found = _SUITES[given.suite](given, folder / "cases")
    except BadCase as problem:
        raise BadRun(str(problem)) from None
    many = min(given.num_cases or len(found), len(found))
    return random.Random(f"cases:{given.seed}").sample(found, many)


def _folders(given: argparse.Namespace, _into: Path) -> list[Case]:
    return load_cases(_named(given.cases, "--cases DIR"))


def _history(given: argparse.Namespace, _into: Path) -> list[Case]:
    name = history.make(_named(given.repository, "--repository PATH"), PAST, most=given.num_cases or history.MOST)
    return [case for case in load_cases(PAST) if case.labels["project"] == name]


def _quixbugs(given: argparse.Namespace, into: Path) -> list[Case]:
    clone = _named(given.data, "--data CLONE, a clone of QuixBugs")
    return _made(into, lambda: quixbugs.make(clone, into))


def _humanevalfix(given: argparse.Namespace, into: Path) -> list[Case]:
    file = _named(given.data, "--data FILE, HumanEvalPack's Python lines")
    return _made(into, lambda: humanevalfix.make(file, into, oracle="examples"))


def _humaneval(given: argparse.Namespace, into: Path) -> list[Case]:
    file = _named(given.data, "--data FILE, HumanEvalPack's Python lines")
    return _made(into, lambda: humaneval.make(file, into))


def _made(into: Path, make: Callable[[], None]) -> list[Case]:
    if not (into / MARK).exists():
        make()
        (into / MARK).touch()
    return load_cases(into)


def _named(path: Path | None, option: str) -> Path:
    if path is None:
        raise BadRun(f"this suite needs {option}")
    return path


_SUITES: Mapping[str, Callable[[argparse.Namespace, Path], list[Case]]] = {
    "quixbugs": _quixbugs,
    "humanevalfix": _humanevalfix,
    "humaneval": _humaneval,
    "cases": _folders,
    "history": _history,
}
SUITES = tuple(_SUITES)
