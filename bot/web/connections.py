"""HTTP connections with a deadline for each request, and a limit on their number: uvicorn lets slow clients stay."""

import asyncio
import json
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bot.web.bodies import RETRY_SECONDS

REQUEST_SECONDS = 10.0
"""A request must be complete that long after the connection or the last answer. GitHub itself gives up after 10 s."""

MAX_CONNECTIONS = 768
"""A process may usually open 1,024 files."""

BACKLOG = 1024
"""How many connections may wait to be accepted."""

ACCEPTED_AT_ONCE = 16
"""libuv accepts one connection of a listening socket in a turn of the event loop, so that under load the others wait for a
second and more. It is given the socket this many times."""


class LimitedConnection(HttpToolsProtocol):
    """A connection that ends when its request does not arrive in `seconds`, or when it is the slowest of over `most`.

    The lifespan's state holds `rejected`, which counts reasons. GitHub's requests arrive in milliseconds: of too many
    connections the one that has waited longest for its client ends, with 503.
    """

    seconds = REQUEST_SECONDS
    most = MAX_CONNECTIONS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._oldest_first: dict[LimitedConnection, None] = self.app_state.setdefault("oldest_first", {})
        self._begun = False  # a request that is not answered
        self._await_request()
        if len(self.connections) > self.most:
            slowest = next(each for each in self._oldest_first if each.is_waiting)
            slowest.refuse(HTTPStatus.SERVICE_UNAVAILABLE, "shed", "there are too many connections")

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        del self._oldest_first[self]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        cycle = self.cycle
        self._begun = self._begun or cycle is None or (cycle.response_complete and not cycle.more_body)
        super().data_received(data)

    def on_response_complete(self) -> None:
        self._begun = False
        self._deadline.cancel()
        del self._oldest_first[self]
        self._await_request()
        super().on_response_complete()

    def _await_request(self) -> None:
        self._oldest_first[self] = None
        self._deadline = self.loop.call_later(self.seconds, self._end_if_slow)

    def _end_if_slow(self) -> None:
        if self.is_waiting:
            slow = f"the request was not complete after {self.seconds:g} s"
            self.refuse(HTTPStatus.REQUEST_TIMEOUT, "too_slow", slow)

    @property
    def is_waiting(self) -> bool:
        """Whether the client has not sent all of its request."""
        cycle = self.cycle
        busy = cycle is not None and not cycle.response_complete and not cycle.more_body
        return not busy and not self.pipeline and not self.transport.is_closing()

    def refuse(self, status: HTTPStatus, reason: str, text: str) -> None:
        """End the connection, with an answer unless the application began one."""
        self.app_state["rejected"](reason)
        if self._begun or self.cycle is None:
            self.transport.write(_answer(status, text))
        self.transport.close()


def _answer(status: HTTPStatus, text: str) -> bytes:
    body = json.dumps({"error": f"{text}; send it again later"})
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"Retry-After: {RETRY_SECONDS}\r\nConnection: close\r\n\r\n"
    )
    return (head + body).encode()
