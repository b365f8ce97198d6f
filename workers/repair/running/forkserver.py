"""The host's side of the fork server: starts `in_sandbox/` in a sandbox session and exchanges typed values with it."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from workers.errors import SandboxEnded
from workers.ports import Limits, SandboxSession, Workload
from workers.repair.classify import normalised
from workers.repair.reproduce import ScreeningTests
from workers.sandbox.launching import WORKSPACE
from workers.sandbox.project import Project, path_words, with_files_of
from workers.sandbox.run_tests import ROOT_OPTION, base_environment
from workers.sandbox.test_ids import file_of

_T = TypeVar("_T")

PACKAGE = Path(__file__).parent / "in_sandbox"
"""To be shown read-only inside the sandbox, at the same place."""

_START = """
import sys
place = sys.argv.pop(1)
sys.path.insert(0, place)
from in_sandbox.server import main
sys.path.remove(place)
main()
"""

GRACE_SECONDS = 30.0
"""What the server may use beyond the caps that it enforces itself before it counts as dead."""

MAX_CORES = 8


def cores() -> int:
    """How many processes may compute at the same time for one repair."""
    return min(len(os.sched_getaffinity(0)), MAX_CORES)


class Observe(msgspec.Struct, frozen=True, kw_only=True):
    """How to observe an edit's behaviour: on at most `inputs` calls, for `seconds` of processor time.

    `function` is the dotted name of the function in `path` that all edits to be compared are in, empty when there is none.
    `constants` are values that the code compares with; `unedited` has calls made on the code without the edit.
    """

    path: str
    function: str
    seed: int
    inputs: int
    seconds: float
    constants: tuple[int | str, ...]
    unedited: bool = False
    root: str = str(WORKSPACE)


class ObservedCall(msgspec.Struct, frozen=True, kw_only=True):
    """How one call ended. Equal `key`s are equal calls, equal `outcome`s equal ends; `call` and `text` are for users.

    `inside` says that it keeps the invariants of the calls that tests make.
    """

    key: str
    call: str
    outcome: str
    text: str
    raised: bool
    inside: bool


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """An edit's behaviour. `broken` counts docstring examples that do not hold, `mistyped` results against their annotation."""

    calls: tuple[ObservedCall, ...]
    broken: int
    mistyped: int


class ForkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to try. `cpu` caps are in seconds of processor time: swapped into memory, imported afresh.

    `each` caps single tests alike, one number for every failing and then every covering one, or none at all.
    `sources` are several texts to be tried together, in the place of `source`.
    `path` is empty for the unedited code; `whole` goes on after a failure; `fresh` has everything imported again. With
    `narrow` a new import collects the failing tests alone first, and what else is asked for only where they pass.
    """

    failing: tuple[str, ...]
    covering: tuple[str, ...]
    cpu: tuple[float, float]
    wall: float
    each: tuple[float, ...] = ()
    path: str = ""
    source: str = ""
    sources: tuple[str, ...] = ()
    whole: bool = False
    fresh: bool = False
    narrow: bool = False
    observe: Observe | None = None


class FailedEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an edit that was tried with others: no failing test passed, the first one ended like this."""

    error_type: str
    message: str


class ForkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it.

    `how` is "swap", "fresh" or "early" (the file cannot be imported again there); `ended` is "answered", "cpu", "wall" or
    "died".
    `passed` counts failing tests that passed, `done` tells that all tests did, `outcomes` which of those that ran.
    `cpu` is its processor time, `costs` that of each test that was asked for and ran, `observed` what was asked
    for with `observe`. `failed_edits` tells of the first `sources`, None of one that has to be tried apart; when it did not end
    as "answered", the next one after these was being tried.
    """

    id: str
    how: str
    ended: str
    cpu: float
    passed: int = 0
    done: bool = False
    outcomes: dict[str, bool] = {}
    costs: dict[str, float] = {}
    error_type: str = ""
    message: str = ""
    observed: Observed | None = None
    failed_edits: tuple[FailedEdit | None, ...] = ()


class _Ready(msgspec.Struct, frozen=True, kw_only=True):
    ready: bool
    unfit: str


class _Tried(msgspec.Struct, frozen=True, kw_only=True):
    tried: Literal[True]


def arguments(project: Project, tests: Sequence[str]) -> tuple[str, ...] | None:
    """What pytest is to be called with to collect `tests`; None when the test command is not plainly pytest.

    They are their files, in the place of the paths that it names. Where it names single tests these stay, and single tests
    are added to those of their file, lest one is collected twice.
    """
    naming = with_files_of(project, tests)
    words = _after_pytest(naming)
    if words is None:
        return None
    named = [naming.test_command[at] for at in path_words(naming)]
    split = [test.partition("::") for test in tests]
    ids = [(project.argument(path), separator + name) for path, separator, name in split]
    missing = [(path, name) for path, name in ids if not any(_includes(word, path + name) for word in named)]
    single = {file_of(word) for word in named if "::" in word}
    return (*words, *dict.fromkeys(path + name if path in single else path for path, name in missing))


def _includes(word: str, test: str) -> bool:
    """Whether a directory, a file, a class or a test that the command names includes a test."""
    whole = os.path.normpath(word)
    return whole == "." or test == whole or test.startswith((f"{whole}/", f"{whole}::", f"{whole}["))


def _after_pytest(project: Project) -> tuple[str, ...] | None:
    words = project.test_command
    if words[0] in ("python", "python3") and words[1:3] == ("-m", "pytest"):
        return words[3:]
    return words[1:] if words[0] == "pytest" and (project.python.parent / "pytest").is_file() else None


def workload(project: Project, limits: Limits) -> Workload:
    """The server as a workload: the checkout, the project's interpreter, and the package that runs there."""
    return Workload(
        command=(str(project.python), "-c", _START, str(PACKAGE.parent)),
        tree=project.tree,
        python=project.python,
        env={**base_environment(project), "PYTEST_ADDOPTS": f"-o cache_dir=/tmp/pytest-cache {ROOT_OPTION}"},
        read_only=(*project.read_only, PACKAGE),
        limits=limits,
        directory=project.directory,
    )


class ForkServer:
    """A server in an open session. Every method raises SandboxEnded once it is dead or no longer makes sense.

    `unfit` says why no tests are kept in memory, and every edit is imported afresh; empty when they are. `seconds` are what
    it needed to load pytest's plugins, import the project and collect its tests.
    """

    def __init__(
        self,
        session: SandboxSession,
        *,
        args: tuple[str, ...],
        narrow: tuple[str, ...] = (),
        wall: float,
    ) -> None:
        """`args` are pytest's for all tests, `narrow` those for the failing ones; none where there is no difference."""
        self._session = session
        self.narrows = bool(narrow)
        began = time.monotonic()
        opening = {"root": str(WORKSPACE), "args": args, "narrow": narrow, "wall": wall}
        ready = self._speak(opening, wall, _Ready)
        self.seconds = time.monotonic() - began
        if not ready.ready:
            raise SandboxEnded(ready.unfit)
        self.unfit = ready.unfit

    def ask(self, request: ForkRequest) -> ForkAnswer:
        """Try one thing. Its answer has to repeat a random id, which the server gets once the process that tried is dead."""
        self._speak(request, 2 * request.wall, _Tried)
        drawn = secrets.token_hex()
        answer = self._speak({"id": drawn}, 0.0, ForkAnswer)
        if answer.id != drawn:
            raise SandboxEnded("the fork server answered out of turn")
        return answer

    def _speak(self, message: object, wall: float, kind: type[_T]) -> _T:
        self._session.send(msgspec.json.encode(message))
        try:
            return msgspec.json.decode(self._session.receive(wall + GRACE_SECONDS), type=kind)
        except TimeoutError as silence:
            raise SandboxEnded("the fork server did not answer") from silence
        except msgspec.MsgspecError as nonsense:
            raise SandboxEnded("the fork server sent what is no answer") from nonsense


# ── The baseline: how the tests end without any edit ───────────────────────────────────────────────────────────────

SLACK, MARGIN_SECONDS = 3.0, 2.0
"""How many times what they computed before unedited tests may compute, and the seconds on top."""

SHARED_SECONDS = 10.0
"""How much more at first: what several tests share is prepared by the first of them, which need not be one of these."""

REPAIRED_SECONDS = 0.06
"""What a failing test is taken to cost once it is repaired, if it failed sooner and others cost as much."""

SLOW_BASELINE_SECONDS = 3.0
"""Tests that take longer, and longer than their imports, are slow: as covering ones take 2 s at most, the failing ones are."""

ENDLESS_SECONDS = 1.0
"""What tests that never end may compute before they are taken to be what they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """`covering` are the covering tests that pass here too; `cpu` is what all cost, swapped into memory and afresh.

    `each` is what single tests usually compute, in seconds, the failing and then the covering ones. `wall` is their
    time by the clock; `fresh` says that nothing may be swapped, `narrow` that failing tests fail alike without other files.
    """

    covering: tuple[str, ...]
    cpu: tuple[float, float]
    each: tuple[float, ...]
    wall: float
    fresh: bool
    runs: int
    narrow: bool = False

    def demanding(self, seconds: Mapping[str, float], failing: int) -> Baseline:
        """The same with more tests, which cost so much, put before the covering ones; `failing` is the number of failing ones."""
        more = sum(seconds.values())
        return replace(
            self,
            covering=(*seconds, *self.covering),
            cpu=(self.cpu[0] + more, self.cpu[1] + more),
            each=(*self.each[:failing], *seconds.values(), *self.each[failing:]),
            wall=self.wall + more,
        )


class ForkServerUnusable(Exception):
    """The project defeats the fork server; the text says why."""


def establish(server: ForkServer, wanted: ScreeningTests) -> Baseline:
    """Run the tests afresh, then twice in memory, and compare; raises ForkServerUnusable, and SandboxEnded.

    Slow tests run once, and candidates are imported afresh: beside such tests that costs little.
    """
    began = time.monotonic()
    shown, judging = _first(server, wanted)
    wall = time.monotonic() - began
    slow = wanted.seconds > max(SLOW_BASELINE_SECONDS, shown.cpu - sum(shown.costs.values()))
    usual = replace(judging, seconds=max(judging.seconds, shown.cpu - server.seconds))
    again = [] if server.unfit or slow else [server.ask(_unedited(usual)) for _ in range(2)]
    runs = 1 + len(again) + (judging is not wanted)
    baseline = settled(wanted, shown, again, wall=wall, runs=runs)
    return replace(baseline, narrow=judging is wanted and _is_narrow(server, wanted, shown))


def _is_narrow(server: ForkServer, wanted: ScreeningTests, shown: ForkAnswer) -> bool:
    """Whether the failing tests end, where their files alone are collected, as they did with all files that there are."""
    if not server.narrows:
        return True
    unedited = _unedited(replace(wanted, covering=()), afresh=server.seconds)
    alone = server.ask(msgspec.structs.replace(unedited, narrow=True))
    failing = {test: passed for test, passed in shown.outcomes.items() if test in alone.outcomes}
    ends = [(answer.error_type, normalised(answer.message)) for answer in (alone, shown)]
    return alone.outcomes == failing and ends[0] == ends[1]


def settled(
    wanted: ScreeningTests, shown: ForkAnswer, again: Sequence[ForkAnswer], *, wall: float, runs: int
) -> Baseline:
    """The baseline in the answers: `shown` was run afresh, `again` in memory; raises ForkServerUnusable."""
    passing = [test for test in wanted.failing if shown.outcomes.get(test)]
    if passing:
        raise ForkServerUnusable(f"{passing[0]} passes when run apart from the others")
    agreed = bool(again) and all(a.how == "swap" and a.outcomes == shown.outcomes for a in again)
    covering = tuple(test for test in wanted.covering if shown.outcomes.get(test))
    last = again[-1] if agreed else shown
    return Baseline(
        covering=covering,
        cpu=(0.0 if last.ended == "cpu" else last.cpu, shown.cpu),  # the cost of endless tests is unknown
        each=_each(wanted.failing, covering, (shown, *again)),
        wall=wall,
        fresh=not agreed,
        runs=runs,
    )


def _each(failing: Sequence[str], covering: Sequence[str], answers: Sequence[ForkAnswer]) -> tuple[float, ...]:
    """What each test costs. A repaired one may go further than the failing one went: as far as the slowest, within bounds."""
    most = {test: max(answer.costs.get(test, 0.0) for answer in answers) for test in (*failing, *covering)}
    slowest = max((cost for answer in answers for cost in answer.costs.values()), default=0.0)
    least = min(slowest, REPAIRED_SECONDS)
    return (*(max(most[test], least) for test in failing), *(most[test] for test in covering))


def _first(server: ForkServer, wanted: ScreeningTests) -> tuple[ForkAnswer, ScreeningTests]:
    """The tests afresh; without the failing ones when those never end, or end the process."""
    rest = ScreeningTests(failing=(), covering=wanted.covering, seconds=wanted.seconds)
    if not (wanted.endless and wanted.covering):
        answer = server.ask(_unedited(wanted, afresh=server.seconds))
        if answer.ended == "answered" or not wanted.covering:
            return answer, wanted
    return server.ask(_unedited(rest, afresh=server.seconds)), rest


def _unedited(wanted: ScreeningTests, *, afresh: float | None = None) -> ForkRequest:
    """A request for the tests without an edit; `afresh` is how long it may take to import and collect them, None in memory."""
    cpu = ENDLESS_SECONDS if wanted.endless else SLACK * wanted.seconds + MARGIN_SECONDS
    cpu += 0.0 if afresh is None else SLACK * afresh + SHARED_SECONDS
    return ForkRequest(
        failing=wanted.failing,
        covering=wanted.covering,
        cpu=(cpu, cpu),
        wall=10.0 + 2 * cpu,
        whole=True,
        fresh=afresh is not None,
    )
