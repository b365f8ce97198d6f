"""Practice: plant bugs in a copy of a project, repair each with the embedded engine, and keep what that teaches.

The right code of a planted bug is known, so nothing has to be proven: tests run in the sandbox to find what fails and which
lines are suspected, and the candidates are compared with the original. Nothing is posted, and the bug itself is not kept.
"""

from __future__ import annotations

import random
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from memory.model import Task, TaskKind
from workers.errors import ApprenticeError, CannotRun
from workers.practice.known_answer import KnownAnswer, meaning
from workers.practice.planting import PlantedBug
from workers.practice.slips import plantings
from workers.repair.classify import is_test_path
from workers.repair.engines.engine import RepairDeps
from workers.repair.episode import repair
from workers.repair.reproduce import sources_of
from workers.repair.result import Repaired
from workers.sandbox.run_tests import Project, TestRun, run_tests

MOST_TESTS = 60
"""So many of the tests that run a bug are asked whether they detect it."""

MOST_CANDIDATES, SECONDS_A_BUG = 1000, 30.0
"""When the repair of a planted bug is given up."""

MOST_BUGS = 60
"""So many bugs are planted in one practice."""

MOST_NAMED = 20
"""So many of the failing tests are named to the repair, which then need not run the suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """A planted bug with the tests that fail for it, and what came of its repair."""

    bug: PlantedBug
    failing: tuple[str, ...]
    repaired: Repaired

    @property
    def solved(self) -> bool:
        """Whether the original code was found again."""
        return self.repaired.proven is not None

    @property
    def template(self) -> str:
        """The template that made it, empty without one."""
        proven = self.repaired.proven
        return proven.shape.template if proven and proven.shape else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """A project that bugs can be planted in: its sources, the tests that run each line, and what fails without a bug."""

    project: Project
    sources: Mapping[str, str]
    running: Mapping[str, Mapping[int, Sequence[str]]]
    failing: frozenset[str]


def grounds(project: Project, deps: RepairDeps) -> Grounds:
    """Run the suite with a trace. Raises CannotRun where no test passes."""
    run = run_tests(deps.sandbox, project, limits=deps.limits, trace=True)
    if not run.report.passing():
        raise CannotRun(run.report.trouble or "no test passes, so that a planted bug would not be seen")
    return Grounds(
        project=project,
        sources={path: text for path, text in sources_of(project).items() if project.paths.hold(path)},
        running=_running(run),
        failing=frozenset(result.id for result in run.report.failing()),
    )


def _running(run: TestRun) -> dict[str, dict[int, list[str]]]:
    passing = {result.id for result in run.report.passing()}
    found: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for test, paths in run.lines.items():
        for path, lines in paths.items() if test in passing else ():
            for line in lines:
                found[path][line].append(test)
    return found


def slips(known: Grounds, rng: random.Random) -> Iterator[PlantedBug]:
    """Slips in lines that tests run, one of each kind after another."""
    kinds: dict[str, list[PlantedBug]] = defaultdict(list)
    for path in sorted(known.running.keys() & known.sources.keys()):
        if not is_test_path(path):
            for bug in _slips_in(path, known.sources[path]):
                if any(line in known.running[path] for line in bug.lines):
                    kinds[bug.kind].append(bug)
    waiting = [rng.sample(some, len(some)) for _, some in sorted(kinds.items())]
    while waiting := [some for some in waiting if some]:
        yield from (some.pop() for some in waiting)


def _slips_in(path: str, source: str) -> Iterator[PlantedBug]:
    try:
        found = plantings(source, path)
    except (SyntaxError, ValueError, RecursionError):
        return
    for planting in found:
        slip = planting.slip
        yield PlantedBug(
            path=path, kind=slip.kind, line=slip.line, lines=planting.lines, source=planting.applied(source)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Practice:
    """Practice in one repository at one commit."""

    known: Grounds
    deps: RepairDeps
    repository: str
    sha: str
    clock: Callable[[], datetime]

    def exercises(self, bugs: Iterable[PlantedBug], *, seconds: float, most: int) -> Iterator[Exercise]:
        """Repair each bug that tests detect, at most so many and for so many seconds."""
        deadline = time.monotonic() + seconds
        done = 0
        for bug in bugs:
            left = deadline - time.monotonic()
            if done == most or left <= 0.0:
                return
            failing = _detected(self.known, bug, self.deps)
            repaired = self._repaired(bug, failing, max(left, 1.0)) if failing else None
            if repaired is not None:
                done += 1
                self.deps.progress(
                    f"practised on {done} bug{'s' * (done != 1)}, now {bug.kind} in {bug.path}:{bug.line}"
                )
                yield Exercise(bug=bug, failing=failing, repaired=repaired)

    def _repaired(self, bug: PlantedBug, failing: Sequence[str], seconds: float) -> Repaired | None:
        """The repair of a bug in our copy of the project, which is as before afterwards."""
        project, original = self.known.project, self.known.sources[bug.path]
        session = partial(KnownAnswer, bug=bug, original=original, most=MOST_CANDIDATES)
        budget = min(seconds, SECONDS_A_BUG)
        deps = replace(self.deps, session=session, remember=False, budget_seconds=budget, progress=_silent)
        task = self._task()
        (project.tree / bug.path).write_bytes(bug.source.encode())
        try:
            return repair(task, project, deps, named=failing[:MOST_NAMED])
        except ApprenticeError as error:
            self.deps.progress(f"a planted bug could not be repaired: {error}")
            return None
        finally:
            (project.tree / bug.path).write_bytes(original.encode())

    def _task(self) -> Task:
        task = Task(
            id=uuid.uuid4().hex,
            kind=TaskKind.PRACTICE,
            repository=self.repository,
            sha=self.sha,
            number=0,
            created_at=self.clock(),
        )
        self.deps.store.tasks.add(task)
        return task


def _silent(_line: str) -> None:
    """The steps of a practised repair are of no use to anybody."""


def _detected(known: Grounds, bug: PlantedBug, deps: RepairDeps) -> tuple[str, ...]:
    """The tests that fail for a bug; none where it breaks more than tests."""
    if meaning(bug.source) in (None, meaning(known.sources[bug.path])):
        return ()
    lines = known.running.get(bug.path, {})
    tests = sorted({test for line in bug.lines for test in lines.get(line, ())})
    if not tests:
        return ()
    chosen = tests if len(tests) <= MOST_TESTS else random.Random(bug.source).sample(tests, MOST_TESTS)  # noqa: S311
    overlay = {bug.path: bug.source.encode()}
    report = run_tests(deps.sandbox, known.project, tests=chosen, overlay=overlay, limits=deps.limits).report
    failing = [result for result in report.failing() if result.id not in known.failing]
    if not report.complete or any("::" not in each.id or each.error_type == "Timeout" for each in failing):
        return ()
    return tuple(each.id for each in failing)
