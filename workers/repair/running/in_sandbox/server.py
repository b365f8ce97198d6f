"""Try edits of one module after another against a project's tests, a forked process each.

Two processes wait. The *front* waits where pytest has loaded its plugins and nothing of the project; the *warm* process,
forked from it, has collected the tests as well. An edit that can be swapped into loaded functions is tried in a fork of
the warm process, any other one in a fork of the front, which imports and collects again. Meanwhile it is in its file too.

Spoken in JSON lines. The first request is {root, args, narrow, wall}: `args` are pytest's, `narrow` those that name the
files of the failing tests alone, `wall` the seconds to collect in.
Its answer is {ready, unfit}: not ready, nothing can be tried; else `unfit` says why there is no warm process.
Every other request is {path, source, failing, covering, whole, fresh, narrow, cpu: [swapped, fresh], each, wall}: `path`
is empty for the unedited code, `whole` goes on after a failure, `fresh` leaves the warm process out, `narrow` collects the
failing tests alone before all others, times are in seconds, `each` has one for every test that is asked for, or none.
It is answered in two steps, so that no process that runs an edit ever knows the id: {tried: true} once that process is
killed, and after the host's {id} comes {id, how, ended, cpu} with what Trial.run found out. `how` is "early" where that
needs a fresh import of a file that was loaded before anything could be forked, as the project's own plug-ins are.
With `sources`, several texts of `path`, these are tried together; `failed_edits` tells of the first ones (see batch.py).
With `observe` (see compare.py; else null) the tests serve to record calls, and the answer tells how calls like them end.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import _pytest.config
import pytest

from .batch import PlannedEdit, SharedResults, Unwatchable, WatchedState, first_failure, roots, swap, try_together
from .children import UNTRIED, Fork, Line, Message, fork, in_child
from .codeswap import AppliedEdit, Loaded, Recorder, Source, Swap, Unswappable
from .compare import observe
from .trial import Trial


class Collecting:
    """The role of the warm process: watch what runs while pytest collects, then answer until the front is gone."""

    def __init__(self, root: str, line: Line, recorder: Recorder) -> None:
        self._root = root
        self._line = line
        self._recorder = recorder
        self._loaded: dict[str, Loaded] = {}
        self._sources: dict[str, Source] = {}
        self._asked: tuple[list[str], list[str]] = ([], [])
        self._state: WatchedState | None = None

    def play(self, session: pytest.Session, trial: Trial) -> None:
        """Say whether what was collected will do, and serve."""
        whole = self._recorder.stop()
        sys.dont_write_bytecode = True
        gc.unfreeze()  # what was loaded before the fork is to be found as well
        self._loaded = self._recorder.loaded(self._root)
        self._line.write({"unfit": _unfit(session, trial, whole)})
        gc.collect()
        gc.freeze()
        for request in iter(self._line.read, None):
            self._line.write(self._answer(request, session, trial))
        os._exit(0)

    def give_up(self, trouble: str) -> None:
        self._line.write({"unfit": trouble})

    def _answer(self, request: Message, session: pytest.Session, trial: Trial) -> Message:
        """Try an edit in a fork; `how` is empty when it cannot be swapped in, or may bring a test that is not there yet."""
        if any(test.item is None for test in trial.choose(session, request)):
            return {"how": ""}
        if request["sources"]:
            return self._together(request, session, trial)
        swaps = self._swaps(request)
        if swaps is None:
            return {"how": ""}

        def body() -> Message:
            self._line.close()
            before = swap(swaps)
            return _tried(session, request, trial, lambda: swap(before))

        _forget_output()
        return in_child(body, request["cpu"][0], request["wall"])

    def _together(self, request: Message, session: pytest.Session, trial: Trial) -> Message:
        """Try several edits in one fork; `failed_edits` tells of the first ones."""
        state = self._watched(session, trial, request)
        if state is None:
            return dict(UNTRIED, how="swap", failed_edits=[])
        plans = [PlannedEdit(source, self._swaps(dict(request, source=source))) for source in request["sources"]]
        shared = SharedResults()

        def body() -> Message:
            self._line.close()
            path = Path(self._root, request["path"])
            try_together(plans, path, lambda: first_failure(session, request, trial), state, shared)
            return {}

        _forget_output()
        answer = in_child(body, request["cpu"][0], request["wall"])
        return dict(answer, failed_edits=shared.read())

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

    def _swaps(self, request: Message) -> list[Swap] | None:
        """The swaps that bring an edit into memory; None when it needs a fresh import."""
        path = str(Path(self._root, request["path"]).resolve())
        if not request["path"] or path not in self._loaded:
            return []  # nothing edited, or never imported: the next import reads the edited file
        if path not in self._sources:
            self._sources[path] = Source(path, request["original"], self._loaded[path])
        try:
            return self._sources[path].swaps(request["source"])
        except Unswappable:
            return None


def _tried(
    session: pytest.Session, request: Message, trial: Trial, revert: Callable[[], object] | None = None
) -> Message:
    """What running the tests tells; with `observe` how calls like theirs end as well."""
    if request["observe"]:
        return observe(session, request, lambda: trial.run(session, request), revert)
    return trial.run(session, request)


def _unfit(session: pytest.Session, trial: Trial, whole: bool) -> str:
    """Why the process cannot be used. Files that cannot be collected do not matter to the tests of others."""
    if threading.active_count() > 1:
        return "threads are alive after collection"
    if not whole:
        return "another profiler is at work"
    return "" if session.items else trial.trouble("pytest collected nothing")


def _forget_output() -> None:
    """Empty the files that pytest captures output in: forks share them, and a killed one leaves its output there."""
    for descriptor in (1, 2):
        try:
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
        except OSError:
            continue


class CollectedProcess:
    """Forks; both sides hold one of these. `inside` is the role to take in the fork, and None in the front.

    In the front `unfit` says why the process cannot be used, and is empty when it can.
    """

    def __init__(self, root: str, recorder: Recorder) -> None:
        self.inside: Collecting | None = None
        self.unfit = ""
        requests, answers = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(requests[1])
            os.close(answers[0])
            # Forks of the front read the byte code: they need not compile and rewrite all modules again.
            sys.dont_write_bytecode = False
            self.inside = Collecting(root, Line(os.fdopen(requests[0], "rb"), answers[1]), recorder)
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

    def ask(self, request: Message) -> Message | None:
        """The answer to a request; None when a fresh import is wanted or needed, or when the process is gone."""
        if request["fresh"] or self.unfit:
            return None
        try:
            self._line.write(request)
            message = self._line.read()
        except BrokenPipeError:
            message = None
        if message is None:
            self.unfit = "the process that had collected the tests died"
            return None
        return message if message["how"] else None


class HeldBack(Warning):
    """In the place of a warning of the project, until its module may be imported."""


class ForkPlugin:
    """Holds pytest before it loads anything of the project; each fork goes on from there, in the role it was given."""

    def __init__(self, opening: Message, host: Line) -> None:
        self._opening = opening
        self._host = host
        self._role: Collecting | FreshImport | None = None
        self._held = False
        self._recorder = Recorder()
        self.trial = Trial(self._play)

    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config, args: list[str]) -> Iterator[None]:
        """Become the front here. Only forks ever get past this. As in pytest_plugin.py, nothing is measured."""
        given = self._opening["args"]
        own = args[: len(args) - len(given)]  # of the project's configuration
        early_config.known_args_namespace.cov_source = None
        if vars(early_config.known_args_namespace).get("benchmark_only") is False:
            args.append("--benchmark-disable")
        if early_config.pluginmanager.hasplugin("xdist"):
            args += ["-n", "0"]
        self._serve()
        if isinstance(self._role, FreshImport) and self._role.is_narrow:
            args[: len(own) + len(given)] = [*own, *self._opening["narrow"]]
        yield

    def watch(self) -> None:
        """Note what runs from here on, as the modules of plug-ins do. Nothing of the project may have been imported yet."""
        self._recorder.start()

    def hold_back_warnings(self) -> None:
        """Have pytest look up the categories of warnings that the project defines in the forks alone: that imports its modules."""
        resolve = getattr(_pytest.config, "_resolve_warning_category", None)

        def resolved(category: str) -> type[Warning]:
            module, dot, _ = category.partition(".")
            held = bool(dot) and self._role is None and _is_under(self._opening["root"], module)
            self._held = self._held or held
            return HeldBack if held else resolve(category)  # type: ignore[misc]  # pytest calls it only where it has it

        _pytest.config._resolve_warning_category = resolved

    def came_to_nothing(self) -> None:
        """Say that pytest ended without coming to its tests."""
        trouble = self.trial.trouble("pytest could not collect the tests")
        if self._role is not None:
            self._role.give_up(trouble)
        else:
            self._host.write({"ready": False, "unfit": trouble})
            os._exit(0)

    def _play(self, session: pytest.Session) -> None:
        if self._role is not None:
            if self._held:
                given = session.config.known_args_namespace.pythonwarnings or []
                _pytest.config.apply_warning_filters(session.config.getini("filterwarnings"), given)
            self._role.play(session, self.trial)

    def _serve(self) -> None:
        """Serve the host; returns in forks only."""
        gc.freeze()  # a collection in a fork would touch, and so copy, every page of the heap
        warm = CollectedProcess(self._opening["root"], self._recorder)
        if warm.inside is not None:
            self._take(warm.inside)
            return
        self._recorder.stop()
        early = _files_under(self._opening["root"])
        warm.wait_until_collected(float(self._opening["wall"]))
        self._host.write({"ready": True, "unfit": warm.unfit})
        for request in iter(self._host.read, None):
            edit = AppliedEdit(self._opening["root"], request)
            edit.make()
            answer = warm.ask(edit.request)
            if answer is None and (request["path"] in early or request["sources"]):
                answer = dict(UNTRIED, how="early")
            for step in _steps(request) if answer is None else ():
                side = fork(step["cpu"][1])
                if not side.pid:
                    self._take(FreshImport(side, step))
                    return
                answer = side.wait(step["wall"], "fresh")
                if not answer.get("done"):
                    break
            assert answer is not None, "every request has a step"
            edit.undo()
            self._host.write({"tried": True})
            self._host.write(dict(answer, **(self._host.read() or {})))
        os._exit(0)

    def _take(self, role: Collecting | FreshImport) -> None:
        self._role = role
        if self._held:
            _pytest.config.parse_warning_filter.cache_clear()
        self._host.close()


def _steps(request: Message) -> Iterator[Message]:
    """What is asked of forks that import again: the failing tests alone, then all, as far as each step is wanted."""
    if request["narrow"]:
        yield dict(request, covering=[], each=request["each"][: len(request["failing"])])
    if request["covering"] or not request["narrow"]:
        yield dict(request, narrow=False)


class FreshImport:
    """The role of a fork that tries one edit with everything imported again; `is_narrow`: without files of other tests."""

    def __init__(self, side: Fork, request: Message) -> None:
        self._side = side
        self._request = request
        self.is_narrow: bool = request["narrow"]

    def play(self, session: pytest.Session, trial: Trial) -> None:
        """Run the tests that were collected, and end."""
        self._side.leave(_tried(session, self._request, trial))

    def give_up(self, trouble: str) -> None:
        """Say that there were none, and end."""
        self._side.leave({"message": trouble})


def _files_under(root: str) -> frozenset[str]:
    """The files under `root` of modules in memory, by their paths there; not those of an environment."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    ours = [file for file in files if isinstance(file, str) and file.startswith(root + os.sep)]
    return frozenset(os.path.relpath(file, root) for file in ours if not file.startswith(sys.prefix + os.sep))


def _is_under(root: str, module: str) -> bool:
    """Whether a module of this name, without a dot, lies under `root`; it is not imported."""
    spec = None if module in sys.modules else find_spec(module)
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
    return any(place.startswith(root + os.sep) for place in places)


def _take_streams() -> Line:
    """The line to the host; the standard streams of this process and all its forks lead nowhere from here on."""
    incoming = os.fdopen(os.dup(0), "rb")
    report = int(os.environ.pop("APPRENTICE_REPORT_FD"))
    os.set_inheritable(report, False)
    empty = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(empty, descriptor)
    os.close(empty)
    return Line(incoming, report)


def _look_like_pytest(args: list[str]) -> None:
    """Leave no trace of ourselves where the project could trip over it."""
    for name in [name for name in sys.modules if name == "in_sandbox" or name.startswith("in_sandbox.")]:
        del sys.modules[name]
    sys.dont_write_bytecode = True
    sys.argv = ["pytest", *args]


SET_DUMPABLE = 4
"""prctl(2)."""


def _hide() -> None:
    """Keep our forks, which run the project's code, from our memory and our descriptors in /proc."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl refused")


def main() -> None:
    """Serve the host over standard input and the report descriptor until it hangs up."""
    _hide()
    host = _take_streams()
    opening = host.read()
    if opening is None:
        return
    _look_like_pytest(opening["args"])
    gate = ForkPlugin(opening, host)
    gate.hold_back_warnings()
    gate.watch()
    try:
        pytest.main(list(opening["args"]), plugins=[gate, gate.trial])
        gate.came_to_nothing()
    finally:
        os._exit(0)
