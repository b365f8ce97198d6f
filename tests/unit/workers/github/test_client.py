"""Each answer of GitHub is counted, repeated ones too, and what it says of the limit is noted for its installation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memory.measures import GITHUB_ANSWERS, GITHUB_REMAINING, unstored
from workers.errors import Unavailable
from workers.github.client import client, translated


@dataclass
class Answers:
    """What a server answers, in turn, and how many connections were made to it."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    connections: set[tuple[str, int]] = field(default_factory=set)


@pytest.fixture
def answers() -> Iterator[Answers]:
    given = Answers()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            given.connections.add(self.client_address)
            self.send_response(given.statuses.pop(0))
            for name, value in (
                ("X-RateLimit-Remaining", str(4000 + len(given.statuses))),
                ("X-RateLimit-Reset", str(int(time.time()) + 600)),
                ("X-RateLimit-Resource", "core"),
                ("Content-Length", "2"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's name
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        given.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield given
        server.shutdown()
        thread.join()


def test_answers_and_limits(answers: Answers) -> None:
    """A read that is repeated once counts twice. The last answer says what is left, and one connection serves all."""
    unstored.take()
    answers.statuses += [502, 200, 200]
    github = client(answers.url, "token-of-a-test", 3003)
    for _ in range(2):
        github.requester.requestJsonAndCheck("GET", "/zen")
    added, latest = unstored.take()
    assert {labels: n for (name, labels), n in added.items() if name == GITHUB_ANSWERS.name} == {
        ("502",): 1.0,
        ("200",): 2.0,
    }
    left = {labels: each for (name, labels), each in latest.items() if name == GITHUB_REMAINING.name}
    assert left.keys() == {("3003", "core")}
    assert left["3003", "core"].value == 4000
    assert left["3003", "core"].until is not None
    assert len(answers.connections) == 1


@pytest.mark.slow
def test_an_answer_that_does_not_come(answers: Answers) -> None:
    """It has a status of its own."""
    unstored.take()
    github = client("http://127.0.0.1:9", "token-of-a-test", 3003)
    with pytest.raises(Unavailable), translated("asking"):
        github.requester.requestJsonAndCheck("POST", "/zen", input={})
    assert unstored.take()[0] == {(GITHUB_ANSWERS.name, ("none",)): 1.0}
