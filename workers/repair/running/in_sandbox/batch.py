"""Try several edits in one fork, one after the other, as long as none leaves a trace.

A fork costs more than most tests, so that what is plainly wrong is found sooner this way. Only that is reported: an edit that
gets any failing test to pass is left to a fork of its own, as is whatever comes after one that ended the process.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Dict, List, NamedTuple  # noqa: UP035 - subscripted types at run time need 3.9

import pytest

from . import quick_runner
from .children import Message
from .codeswap import Swap
from .leaks import WatchedState
from .sources import put
from .trial import Trial

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
    torn_down = not quick_runner.phase(session.items[0], lambda: _tear_down(session))
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
