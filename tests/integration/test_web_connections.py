"""Slow clients over real connections: deadlines, the limit of connections, and what the client reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvicorn

from benchmarks.web_limits import measure
from bot.web.app import create_app
from bot.web.connections import LimitedConnection
from bot.web.signature import HEADER, sign
from tests.databases import ThreadStore, migrated_store
from workers.settings import WebSettings

SECRET = "correct horse"
PING = b'{"zen": "Keep it logically awesome."}'
HEAD = b"POST /webhook HTTP/1.1\r\nHost: web.test\r\nContent-Type: application/json\r\nX-GitHub-Event: ping\r\n"


class Hasty(LimitedConnection):
    """With limits that a test can wait for."""

    seconds = 0.3
    most = 8


class Patient(LimitedConnection):
    """Waits longer than a test is ever late."""

    seconds = 2.0
    most = 8


class Client:
    """A raw connection to the web process under test."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Client:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self) -> bytes:
        """One answer, which has to have a body."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        return head + await self._reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))

    async def rest(self) -> bytes:
        """Everything until the other side closes."""
        return await self._reader.read()


def delivery(body: bytes, *, name: str = "d-1", length: int | None = None) -> bytes:
    named = f"X-GitHub-Delivery: {name}\r\n{HEADER}: {sign(SECRET.encode(), body)}\r\n"
    return HEAD + f"{named}Content-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


def serve(
    home: Path,
    kind: type[LimitedConnection],
    session: Callable[[int], Coroutine[None, None, None]],
    *,
    max_payload_mb: int = 25,
) -> None:
    """Do `session` with the port of a web application whose connections are of this kind."""

    async def life() -> None:
        with migrated_store(home / "apprentice.db") as store:
            settings = WebSettings(home=home, webhook_secret=SECRET, max_payload_mb=max_payload_mb)
            app = create_app(
                settings,
                store,
                lambda _ids: None,
                lambda: datetime.now(UTC),
                [ThreadStore(store.jobs.record_deliveries)],
            )
            config = uvicorn.Config(app, port=0, http=kind, ws="none", log_config=None, access_log=False)
            config.load()
            server = uvicorn.Server(config)
            server.lifespan = config.lifespan_class(config)
            await server.startup()
            try:
                await session(server.servers[0].sockets[0].getsockname()[1])
            finally:
                await server.shutdown()

    asyncio.run(life())


@pytest.mark.parametrize("slow", [b"", b"POST /web", HEAD, delivery(PING, length=1000)])
def test_a_request_that_does_not_arrive(slow: bytes, tmp_path: Path) -> None:
    """No byte, half a head, half a body: after its time the client reads why, and the connection ends."""

    async def session(port: int) -> None:
        async with Client(port) as client:
            await client.send(slow)
            read = await client.rest()
        assert read.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
        assert b"\r\nRetry-After: 30\r\n" in read
        assert read.endswith(b'{"error": "the request was not complete after 0.3 s; send it again later"}')
        assert b'apprentice_rejected_requests_total{reason="too_slow"} 1.0' in await page(port)

    serve(tmp_path, Hasty, session)


async def page(port: int) -> bytes:
    async with Client(port) as client:
        await client.send(b"GET /metrics HTTP/1.1\r\nHost: web.test\r\n\r\n")
        return await client.answer()


def test_a_refused_body_that_goes_on(tmp_path: Path) -> None:
    """Who is refused by the head gets one answer, at once, and then a limited time to end the body."""

    async def session(port: int) -> None:
        async with Client(port) as client:
            await client.send(HEAD + b"X-GitHub-Delivery: d-1\r\nContent-Length: 100000\r\n\r\nsome of it")
            assert (await client.answer()).startswith(b"HTTP/1.1 401 ")
            assert await client.rest() == b""

    serve(tmp_path, Hasty, session)


def test_one_too_many(tmp_path: Path) -> None:
    """Over the limit the slowest connection ends with 503, and the new one is served."""

    async def session(port: int) -> None:
        slow = [Client(port) for _ in range(Patient.most)]
        for client in slow:
            await client.__aenter__()
            await client.send(delivery(PING, length=1000))
            await asyncio.sleep(0.01)
        async with Client(port) as new:
            await new.send(delivery(PING))
            assert (await new.answer()).startswith(b"HTTP/1.1 202 ")
            read = await slow[0].rest()
            assert read.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
            assert b"\r\nRetry-After: 30\r\n" in read
            await new.send(b"GET /metrics HTTP/1.1\r\nHost: web.test\r\n\r\n")
            assert b'apprentice_rejected_requests_total{reason="shed"} 1.0' in await new.answer()
        for client in slow:
            await client.__aexit__()

    serve(tmp_path, Patient, session)


def test_a_kept_connection_has_its_time_for_each_request(tmp_path: Path) -> None:
    """The deadline is one of the request: a connection in use outlives it, also with requests that are sent ahead."""

    async def session(port: int) -> None:
        async with Client(port) as client:
            for number in range(3):
                await asyncio.sleep(0.35 * Patient.seconds)
                ahead = delivery(PING + b" " * number, name=f"a-{number}")
                await client.send(ahead + delivery(PING + b"\n" * (number + 1), name=f"b-{number}"))
                for _ in range(2):
                    assert (await client.answer()).startswith(b"HTTP/1.1 202 ")

    serve(tmp_path, Patient, session)


@pytest.mark.parametrize("sent", [0.0, 0.5, 0.99])
def test_an_honest_body_while_the_budget_is_full(sent: float, tmp_path: Path) -> None:
    """Whatever slow clients have announced or sent, a large delivery that arrives is taken; what it displaced reads 503."""
    large = PING + b" " * 900_000

    async def session(port: int) -> None:
        slow = [Client(port) for _ in range(6)]
        for client in slow:
            await client.__aenter__()
            await client.send(delivery(large)[: int(sent * len(large)) + 400])
            await asyncio.sleep(0.01)
        async with Client(port) as honest:
            await honest.send(delivery(large))
            assert (await honest.answer()).startswith(b"HTTP/1.1 202 ")
        read = await slow[0].answer()
        assert read.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 30\r\n" in read.lower()
        for client in slow:
            await client.__aexit__()

    serve(tmp_path, Patient, session, max_payload_mb=1)


def test_a_body_that_is_given_up_reads_why(tmp_path: Path) -> None:
    """An honest sender who loses its place gets 503 with a time to come again, also while it is still sending."""
    large = PING + b" " * 900_000

    async def session(port: int) -> None:
        async with Client(port) as honest:
            await honest.send(delivery(large)[:400_000])
            await asyncio.sleep(0.05)
            slow = [Client(port) for _ in range(3)]
            for client in slow:
                await client.__aenter__()
                await client.send(delivery(large)[:1000])
            sending = asyncio.create_task(honest.send(delivery(large)[400_000:]))
            read = await honest.answer()
            assert read.startswith(b"HTTP/1.1 503 ")
            assert b"\r\nretry-after: 30\r\n" in read.lower()
            sending.cancel()
            for client in slow:
                await client.__aexit__()

    serve(tmp_path, Patient, session, max_payload_mb=1)


@pytest.mark.extended
def test_nine_hundred_slow_clients(tmp_path: Path) -> None:
    """Over the limit of connections, with large unsigned bodies: memory stays bounded, and signed deliveries are taken."""
    found = measure(clients=900, seconds=5.0)
    assert {status for status, _ in found.answers} == {"202"}
    assert found.peak_mb < found.before_mb + 250
