"""The web process under slow clients: its memory, and whether it still answers signed deliveries.

A third of the clients send a head byte by byte, a third a body in small pieces, a third a large body all but its end.
None is signed, and each comes again a second after its connection ended. Meanwhile signed deliveries come, each on its own connection.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import re
import resource
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ingest import REAL, requests, serving
from benchmarks.report import show, spread

LARGE = 20_000_000
DELIVERIES_PER_SECOND = 10
SLOW_SECONDS = 0.5
HEAD_START_SECONDS = 3.0
PATIENCE_SECONDS = 30.0
HEAD = (
    "POST /webhook HTTP/1.1\r\nHost: benchmark\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\n"
    f"X-GitHub-Delivery: slow\r\nX-Hub-Signature-256: sha256={'0' * 64}\r\nContent-Length: {LARGE}\r\n\r\n"
).encode()


def slow_head() -> Iterator[bytes]:
    """One byte at a time."""
    return (HEAD[at : at + 1] for at in range(len(HEAD)))


def slow_body() -> Iterator[bytes]:
    """A whole head, then a body of little pieces."""
    return itertools.chain((HEAD,), itertools.repeat(b" " * 100))


def large_body() -> Iterator[bytes]:
    """A whole head, then all of the body but its end."""
    return itertools.chain((HEAD,), itertools.repeat(b" " * 50_000, LARGE // 50_000 - 1))


async def pester(port: int, number: int, ended: Counter[str]) -> None:
    """One slow client, for ever: a second after its end it comes again."""
    pieces, pause = ((slow_head, SLOW_SECONDS), (slow_body, SLOW_SECONDS), (large_body, 0.0))[number % 3]
    while True:
        answer = b""
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            reading = asyncio.create_task(_read(reader))
            with contextlib.suppress(OSError):
                for piece in pieces():
                    if reading.done():
                        break
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(pause)
            answer = await reading
            writer.close()
        ended[_status(answer)] += 1
        await asyncio.sleep(1.0)


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What the other side sends until it closes; nothing where it resets."""
    with contextlib.suppress(OSError):
        return await reader.read()
    return b""


def _status(answer: bytes) -> str:
    return answer[9:12].decode() or "reset"


def press(port: int, clients: int, seconds: float) -> Counter[str]:
    """Slow clients for so long; the statuses that ended them, again and again."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ended: Counter[str] = Counter()

    async def all_of_them() -> None:
        slow = [asyncio.create_task(pester(port, number, ended)) for number in range(clients)]
        await asyncio.wait(slow, timeout=seconds)

    asyncio.run(all_of_them())
    return ended


async def deliver(port: int, request: bytes) -> tuple[str, float]:
    """One signed delivery on a connection of its own: the status of the answer, and the seconds to it."""
    begun, answer = time.perf_counter(), b""
    with contextlib.suppress(OSError, EOFError, TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            writer.close()
    return _status(answer), time.perf_counter() - begun


async def deliver_all(port: int, deliveries: Sequence[bytes]) -> list[tuple[str, float]]:
    """Some a second, whether or not those before them are answered."""
    await asyncio.sleep(HEAD_START_SECONDS)
    sent = []
    for request in deliveries:
        sent.append(asyncio.create_task(deliver(port, request)))
        await asyncio.sleep(1 / DELIVERIES_PER_SECOND)
    return await asyncio.gather(*sent)


def memory_mb(pid: int, what: str) -> float:
    """What /proc says of a process: `VmRSS` is its memory now, `VmHWM` the most that it ever was."""
    found = re.search(rf"^{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found, "every process has both"
    return int(found[1]) / 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderPressure:
    """The web process under slow clients: its memory, how they ended, and the deliveries with the seconds of each."""

    before_mb: float
    peak_mb: float
    ended: Counter[str]
    answers: list[tuple[str, float]]


def measure(clients: int, seconds: float) -> UnderPressure:
    """A web process of its own under this many slow clients, which are in another process than the deliveries."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    first, *deliveries = requests(1 + int(seconds * DELIVERIES_PER_SECOND))
    with (
        tempfile.TemporaryDirectory(prefix="apprentice-web-") as home,
        serving(REAL, port, Path(home)) as process,
        ProcessPoolExecutor(1) as others,
    ):
        asyncio.run(deliver(port, first))
        before = memory_mb(process.pid, "VmRSS")
        ended = others.submit(press, port, clients, seconds + 2 * HEAD_START_SECONDS)
        answers = asyncio.run(deliver_all(port, deliveries))
        return UnderPressure(
            before_mb=before, ended=ended.result(), answers=answers, peak_mb=memory_mb(process.pid, "VmHWM")
        )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.web_limits", description=__doc__)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    found = measure(given.clients, given.seconds)
    taken = [status for status, _ in found.answers].count("202")
    show(
        f"web process under {given.clients} slow clients for {given.seconds:.0f} s",
        [
            ("memory before, MB", f"{found.before_mb:.0f}"),
            ("memory at its peak, MB", f"{found.peak_mb:.0f}"),
            ("signed deliveries answered 202", f"{taken} of {len(found.answers)}"),
            ("seconds to the answer", spread([seconds for _, seconds in found.answers])),
            ("ends of slow clients", ", ".join(f"{status}: {count}" for status, count in found.ended.most_common())),
        ],
    )


if __name__ == "__main__":
    main()
