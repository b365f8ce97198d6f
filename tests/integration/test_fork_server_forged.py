"""A candidate cannot speak for the fork server: not through its descriptors, not through its memory, not by guessing."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from workers.errors import SandboxEnded
from workers.ports import Limits
from workers.repair.running.forkserver import ForkRequest, ForkServer, arguments, workload
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover

LIMITS = Limits(wall_seconds=600, cpu_seconds=600, memory_mb=1024)
FORGED = {"id": "0", "how": "swap", "ended": "answered", "cpu": 0.1, "passed": 1, "done": True}
TESTS = "import shop\n\ndef test_price():\n    assert shop.price(2) == 4\n"
FORGING = """
    import glob, json, os

    def price(amount):
        lines = [{"tried": True}, %(forged)r]
        for place in glob.glob("/proc/[0-9]*"):
            try:
                found = os.listdir(place + "/fd")
            except OSError:
                continue
            for name in found:
                try:
                    if int(place[6:]) != os.getpid() and "pipe" in os.readlink(place + "/fd/" + name):
                        report = os.open(place + "/fd/" + name, os.O_WRONLY | os.O_NONBLOCK)
                        os.write(report, "".join(json.dumps(line) + chr(10) for line in lines).encode())
                        raise SystemExit("reached")
                except OSError:
                    continue
        assert not os.path.exists("reached")
        return 0
"""
READING = """
    import glob

    def price(amount):
        for place in glob.glob("/proc/[0-9]*"):
            try:
                with open(place + "/mem", "rb"), open(place + "/environ", "rb"):
                    pass
            except OSError:
                continue
            return 4
        return 0
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("fresh", [False, True], ids=["swapped", "imported"])
@pytest.mark.parametrize("source", [FORGING % {"forged": FORGED}, READING], ids=["descriptors", "memory"])
def test_a_candidate_cannot_reach_the_processes_that_forked_it(tmp_path: Path, source: str, fresh: bool) -> None:
    """Neither their pipe to the host, to write an answer of its own, nor their memory."""
    (tmp_path / "shop.py").write_text("def price(amount):\n    return amount\n")
    (tmp_path / "test_shop.py").write_text(TESTS)
    project = discover(tmp_path, python=None, test_command="python -m pytest")
    tests = ("test_shop.py::test_price",)
    args = arguments(project, tests)
    assert args is not None
    with Bubblewrap().session(workload(project, LIMITS)) as session:
        server = ForkServer(session, args=args, wall=60)
        answer = server.ask(
            ForkRequest(
                path="shop.py",
                source=textwrap.dedent(source),
                failing=tests,
                covering=(),
                cpu=(10, 10),
                wall=60,
                fresh=fresh,
            )
        )
    assert (answer.done, answer.error_type) == (False, "AssertionError")


@dataclass
class Script:
    """A session that answers with given lines, or what functions make of the last request."""

    answers: Iterator[Mapping[str, Any] | Callable[[dict[str, Any]], Mapping[str, Any]]]
    asked: list[dict[str, Any]] = field(default_factory=list)

    def send(self, line: bytes) -> None:
        self.asked.append(json.loads(line))

    def receive(self, timeout: float) -> bytes:
        answer = next(self.answers)
        return json.dumps(answer(self.asked[-1]) if callable(answer) else answer).encode()


READY, TRIED = {"ready": True, "unfit": ""}, {"tried": True}
NOTHING = ForkRequest(failing=(), covering=(), cpu=(1, 1), wall=1)


def test_an_answer_repeats_an_id_that_only_the_server_got() -> None:
    """The id goes out after the candidate is gone, is long and drawn anew; an answer before it, or without it, ends the session."""
    honest = [TRIED, lambda asked: {**FORGED, **asked}] * 2
    script = Script(iter([READY, *honest]))
    server = ForkServer(script, args=(), wall=1)
    assert server.ask(NOTHING).id != server.ask(NOTHING).id
    assert ["id" in request for request in script.asked] == [False, False, True, False, True]
    assert min(len(request["id"]) for request in script.asked if "id" in request) >= 32
    for forged in ([FORGED], [TRIED, FORGED], [TRIED, TRIED]):
        server = ForkServer(Script(iter([READY, *forged])), args=(), wall=1)
        with pytest.raises(SandboxEnded):
            server.ask(NOTHING)
