"""The process that has collected the tests and tries edits by swapping them into memory, in forks.

A fork costs more than most tests, so several edits share one, one after the other, as long as none leaves a trace. Only
what is plainly wrong is reported then: an edit that gets any failing test to pass is left to a fork of its own, as is
whatever comes after one that ended the process.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import select
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Dict, List, NamedTuple  # noqa: UP035 - subscripted types at run time need 3.9

import pytest

from .children import BLANK, Child, Line, Message, answer_of, in_child
from .codeswap import Loaded, Recorder, Source, Swap, Unswappable, put
from .compare import observe
from .leaks import Unwatchable, WatchedState
from .trial import Trial, phase

BOARD_BYTES = 1 << 18

Brief = Dict[str, Any]  # noqa: UP006 - the same
"""The report on an edit: {error_type, message}; nothing, when it needs a fork of its own."""


class Plan(NamedTuple):
    """An edited text, and the swaps that bring it into memory; None when that cannot be."""

    source: str
    swaps: List[Swap] | None  # noqa: UP006 - the same


class Board:
    """Memory that a fork shares with its parent: what it has noted stays when it is killed."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, BOARD_BYTES)
        self._noted: list[Brief | None] = []

    def note(self, brief: Brief | None) -> None:
        """In the fork: add what is known of the next edit."""
        self._noted.append(brief)
        text = json.dumps(self._noted).encode() + b"\n"
        if len(text) <= BOARD_BYTES:
            self._memory[: len(text)] = text

    def read(self) -> list[Brief | None]:
        """In the parent, once the fork is gone: what is known of the first edits, in their order."""
        text, newline, _ = self._memory[:].partition(b"\n")
        try:
            noted: list[Brief | None] = json.loads(text) if newline else []
        except ValueError:  # it was killed while it wrote
            return []
        return noted


def try_together(
    plans: Sequence[Plan], path: Path, run: Callable[[], Brief | None], state: WatchedState, board: Board
) -> None:
    """In the fork: try each plan until one leaves a trace. `run` gives None for what has to be tried apart."""
    for plan in plans:
        if plan.swaps is None:
            board.note(None)
            continue
        put(path, plan.source.encode())
        before = [Swap(function, function.__code__) for function, _ in plan.swaps]
        swap(plan.swaps)
        answer = run()
        swap(before)
        board.note(answer)
        if not state.is_unchanged():
            return


def swap(swaps: Sequence[Swap]) -> None:
    """Give functions other code."""
    for function, code in swaps:
        function.__code__ = code


def brief(session: pytest.Session, request: Message, trial: Trial) -> Brief | None:
    """What running the first failing tests tells, after which all is torn down."""
    answer = trial.run(session, request, hasty=True)
    torn_down = not phase(session.items[0], lambda: _tear_down(session))
    if any(answer["outcomes"].values()) or not answer["test"] or not torn_down:
        return None
    return {"error_type": answer["error_type"], "message": answer["message"]}


def _tear_down(session: Any) -> None:  # noqa: ANN401 - its state is known to pytest alone
    """Tear down what the last test left standing for one to follow; before pytest 7 this fails."""
    session._setupstate.teardown_exact(None)


def roots(trial: Trial, session: pytest.Session, request: Message) -> list[object]:
    """What to watch beside the modules: the parameters of the tests, which one may change in place."""
    items = [test.item for test in trial.choose(session, request)]
    return [callspec.params for callspec in (getattr(item, "callspec", None) for item in items) if callspec is not None]


class Collecting:
    """The role of the warm process: watch what runs while pytest collects, then answer until the front is gone."""

    def __init__(self, root: str, line: Line) -> None:
        self._root = root
        self._line = line
        self._recorder = Recorder()
        self._loaded: dict[str, Loaded] = {}
        self._sources: dict[str, Source] = {}
        self._asked: tuple[list[str], list[str]] = ([], [])
        self._state: WatchedState | None = None

    def start(self) -> None:
        """Watch from here on. Nothing of the project may have been imported yet."""
        self._recorder.start()

    def play(self, session: pytest.Session, trial: Trial) -> None:
        """Say whether what was collected will do, and serve."""
        whole = self._recorder.stop()
        self._loaded = self._recorder.loaded(self._root)
        self._line.write({"unfit": _unfit(session, trial, whole)})
        gc.collect()
        gc.freeze()
        for request in iter(self._line.read, None):
            self._line.write(self._answer(request, session, trial))
        os._exit(0)

    def give_up(self, trouble: str) -> None:
        """Say that nothing was collected."""
        self._line.write({"unfit": trouble})

    def _answer(self, request: Message, session: pytest.Session, trial: Trial) -> Message:
        """Try an edit in a fork; `how` is empty when it cannot be swapped in."""
        if request["sources"]:
            return self._together(request, session, trial)
        try:
            swaps = self._swaps(request)
        except Unswappable as reason:
            return {"how": "", "message": str(reason)}

        def body() -> Message:
            self._line.close()
            before = [Swap(function, function.__code__) for function, _ in swaps]
            swap(swaps)
            if request["observe"]:
                return observe(session, request, lambda: trial.run(session, request), lambda: swap(before))
            return trial.run(session, request)

        trial.choose(session, request)
        _forget_output()
        return answer_of(in_child(body, request["cpu"][0], request["wall"]), "swap", request)

    def _together(self, request: Message, session: pytest.Session, trial: Trial) -> Message:
        """Try several edits in one fork; `briefs` tells of the first ones."""
        state = self._watched(session, trial, request)
        if state is None:
            return dict(answer_of(Child(None, "died", 0.0), "swap", request), briefs=[])
        plans = [self._plan(dict(request, source=source)) for source in request["sources"]]
        board = Board()

        def body() -> Message:
            self._line.close()
            path = Path(self._root, request["path"])
            try_together(plans, path, lambda: brief(session, request, trial), state, board)
            return dict(BLANK)

        _forget_output()
        answer = answer_of(in_child(body, request["cpu"][0], request["wall"]), "swap", request)
        return dict(answer, briefs=board.read())

    def _watched(self, session: pytest.Session, trial: Trial, request: Message) -> WatchedState | None:
        """What nothing may change that is tried with others; None where that is unknown."""
        asked = (request["failing"], request["covering"])
        if asked != self._asked:
            self._asked = asked
            try:
                self._state = WatchedState(self._root, roots(trial, session, request))
            except Unwatchable:
                self._state = None
            gc.freeze()
        return self._state

    def _plan(self, request: Message) -> Plan:
        try:
            return Plan(request["source"], self._swaps(request))
        except Unswappable:
            return Plan(request["source"], None)

    def _swaps(self, request: Message) -> list[Swap]:
        path = str(Path(self._root, request["path"]).resolve())
        if not request["path"] or path not in self._loaded:
            return []  # nothing edited, or never imported: the next import reads the edited file
        if path not in self._sources:
            self._sources[path] = Source(path, request["original"], self._loaded[path])
        return self._sources[path].swaps(request["source"])


def _unfit(session: pytest.Session, trial: Trial, whole: bool) -> str:
    if trial.broken():
        return trial.trouble("")
    if threading.active_count() > 1:
        return "threads are alive after collection"
    if not whole:
        return "another profiler is at work"
    return "" if session.items else "pytest collected nothing"


def _forget_output() -> None:
    """Empty the files that pytest captures output in: forks share them, and a killed one leaves its output there."""
    for descriptor in (1, 2):
        try:
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
        except OSError:
            continue


class Warm:
    """Forks; both sides hold one of these. `inside` is the role to take in the fork, and None in the front.

    In the front `unfit` says why the process cannot be used, and is empty when it can.
    """

    def __init__(self, root: str) -> None:
        self.inside: Collecting | None = None
        self.unfit = ""
        self._shown: set[str] = set()
        requests, answers = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(requests[1])
            os.close(answers[0])
            self.inside = Collecting(root, Line(os.fdopen(requests[0], "rb"), answers[1]))
            return
        os.close(requests[0])
        os.close(answers[1])
        self._line = Line(os.fdopen(answers[0], "rb"), requests[1])

    def wait_until_collected(self, wall: float) -> None:
        """Wait for its first word, `wall` seconds at most."""
        if not select.select([self._line.incoming], [], [], wall)[0]:
            os.kill(self._pid, signal.SIGKILL)
            self.unfit = "collecting the tests lasted too long"
            return
        message = self._line.read()
        self.unfit = "pytest died while collecting the tests" if message is None else str(message["unfit"])

    def ask(self, request: Message, text: bytes) -> Message | None:
        """The answer to a request that came as `text`; None when a fresh import is wanted or needed, or when the process is gone."""
        if request["fresh"] or self.unfit:
            return None
        try:
            if request["path"] in self._shown:
                self._line.send(text)
            else:
                self._line.write(request)
                self._shown.add(request["path"])
            message = self._line.read()
        except BrokenPipeError:
            message = None
        if message is None:
            self.unfit = "the process that had collected the tests died"
            return None
        return message if message["how"] else None
