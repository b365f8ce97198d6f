"""The host's side of the fork server: starts `in_sandbox/` in a sandbox session and exchanges typed values with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from workers.errors import SandboxEnded
from workers.ports import Limits, SandboxSession, Workload
from workers.sandbox.project import Project
from workers.sandbox.run_tests import ROOT_OPTION, WORKSPACE, base_environment

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


MOST_CORES = 8


def cores() -> int:
    """How many processes may compute at the same time for one repair."""
    return min(len(os.sched_getaffinity(0)), MOST_CORES)


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
    root: str = WORKSPACE


class ObservedCall(msgspec.Struct, frozen=True, kw_only=True):
    """How one call ended. Equal `key`s are equal calls, equal `outcome`s equal ends; `call` and `text` are for users.

    `inside` says that it keeps the invariants of the calls that tests make, `seen` that it is one of them.
    """

    key: str
    call: str
    outcome: str
    text: str
    raised: bool
    inside: bool
    seen: bool


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """An edit's behaviour. `kept` and `broken` count docstring examples, `mistyped` results against their annotation.

    It is not `complete` when time was up before all calls were made.
    """

    calls: tuple[ObservedCall, ...]
    kept: int
    broken: int
    mistyped: int
    complete: bool


class ForkRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to try. `cpu` caps are in seconds of processor time: swapped into memory, imported afresh.

    `each` caps single tests alike, one number for every failing and then every covering one, or none at all.
    `sources` are several texts to be tried together, in the place of `source`.
    `path` is empty for the unedited code; `whole` goes on after a failure; `fresh` has everything imported anew.
    """

    id: int
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
    observe: Observe | None = None


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an edit that was tried with others: no failing test passed, the first one ended like this."""

    error_type: str
    message: str


class ForkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it.

    `how` is "swap", "fresh" or "compile" (it does not); `ended` is "answered", "cpu", "wall" or "died".
    `passed` counts failing tests that passed, `done` tells that all tests did, `outcomes` which of those that ran.
    `cpu` is its processor time, `costs` that of each test that was asked for and ran, `observed` what was asked
    for with `observe`. `briefs` tells of the first `sources`, None of one that has to be tried apart; when it did not end
    as "answered", the next one after these was being tried.
    """

    id: int
    how: str
    ended: str
    cpu: float
    passed: int
    done: bool
    outcomes: dict[str, bool]
    costs: dict[str, float]
    error_type: str
    message: str
    test: str
    observed: Observed | None = None
    briefs: tuple[Brief | None, ...] = ()


class _Opening(msgspec.Struct, frozen=True, kw_only=True):
    root: str
    args: tuple[str, ...]
    wall: float


class _Ready(msgspec.Struct, frozen=True, kw_only=True):
    ready: bool
    unfit: str


def arguments(project: Project, tests: Sequence[str]) -> tuple[str, ...] | None:
    """What pytest is to be called with to collect `tests`; None when the test command is not plainly pytest."""
    words = _after_pytest(project)
    if words is None or any(not word.startswith("-") and (project.tree / word).exists() for word in words):
        return words
    return (*words, *dict.fromkeys(test.partition("::")[0] for test in tests))


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
        env={
            **base_environment(project),
            "PYTEST_ADDOPTS": f"-o cache_dir=/tmp/pytest-cache {ROOT_OPTION}",
        },
        read_only=(*project.read_only, PACKAGE),
        limits=limits,
    )


class ForkServer:
    """A server in an open session. Every method raises SandboxEnded once it is dead or no longer makes sense.

    `unfit` says why no tests are kept in memory, and every edit is imported afresh; empty when they are.
    """

    def __init__(self, session: SandboxSession, *, args: tuple[str, ...], wall: float, root: str = WORKSPACE) -> None:
        self._session = session
        opening = _Opening(root=root, args=args, wall=wall)
        ready = self._speak(msgspec.json.encode(opening), wall, _Ready)
        if not ready.ready:
            raise SandboxEnded(ready.unfit)
        self.unfit = ready.unfit

    def ask(self, request: ForkRequest) -> ForkAnswer:
        """Try one edit."""
        answer = self._speak(msgspec.json.encode(request), 2 * request.wall, ForkAnswer)
        if answer.id != request.id:
            raise SandboxEnded("the fork server answered out of turn")
        return answer

    def _speak(self, line: bytes, wall: float, kind: type[_T]) -> _T:
        self._session.send(line)
        try:
            return msgspec.json.decode(self._session.receive(wall + GRACE_SECONDS), type=kind)
        except TimeoutError as silence:
            raise SandboxEnded("the fork server fell silent") from silence
        except msgspec.MsgspecError as nonsense:
            raise SandboxEnded("the fork server spoke nonsense") from nonsense
