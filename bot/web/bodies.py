"""Reads the bodies of webhooks within limits: refuses by the headers what it can, then counts the bytes that arrive."""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.types import Receive

from bot.web.signature import HEADER

RETRY_SECONDS = 30
_MB = 1024 * 1024
_TOKEN = re.compile(r"[0-9A-Za-z_.:-]{1,100}")
_SIGNATURE = re.compile(rb"sha256=[0-9a-f]{64}")
SMALL = 64 * 1024
"""A body that announces no more arrives at once as a rule, and is not counted: there are only so many connections."""

Headers = Mapping[bytes, bytes]
"""By name in small letters."""


@dataclass(eq=False)
class RequestRejected(Exception):
    """A rejected request. `reason` is for metrics, `text` for the sender."""

    status: int
    reason: str
    text: str


def header_of(headers: Headers, name: str) -> str:
    """The event or the delivery id that a header names; raises RequestRejected."""
    value = headers.get(name.lower().encode(), b"").decode("latin-1")
    if not _TOKEN.fullmatch(value):
        raise RequestRejected(
            400, "missing_header", f"the {name} header is missing or malformed; only GitHub may call this address"
        )
    return value


def signature_of(headers: Headers) -> str:
    """The signature that comes with a JSON body; raises RequestRejected."""
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise RequestRejected(415, "content_type", "the webhook's content type must be application/json")
    signature = headers.get(HEADER.lower().encode())
    if signature is None:
        raise RequestRejected(401, "no_signature", f"there is no {HEADER} header; set the webhook's secret on GitHub")
    if not _SIGNATURE.fullmatch(signature):
        raise RequestRejected(
            401, "bad_signature", f"the {HEADER} header is malformed; it is sha256= and 64 hexadecimal digits"
        )
    return signature.decode()


class BodyReader:
    """Reads bodies of at most `largest_mb`. While they arrive, all together hold, and announce, at most twice that.

    Over that, it gives up the body that has held the most bytes for the longest time: GitHub's own take milliseconds.
    """

    def __init__(self, largest_mb: int) -> None:
        self._largest = largest_mb * _MB
        self._arriving: dict[asyncio.Timeout, tuple[int, float]] = {}
        """The bytes of each body, those announced included, and when it began."""
        self._held = 0
        """The bytes of all of them."""

    async def read(self, headers: Headers, receive: Receive) -> bytearray:
        """The raw body; raises RequestRejected."""
        announced = int(headers.get(b"content-length", 0))
        if announced > self._largest:
            raise self._too_large()
        if 0 < announced <= SMALL and b"transfer-encoding" not in headers:
            return await self._read_all(receive, lambda _size: None)
        patience = asyncio.timeout(None)
        try:
            async with patience:
                self._hold(patience, announced, asyncio.get_running_loop().time())
                return await self._read_all(receive, lambda size: self._count(patience, size))
        except TimeoutError as error:
            raise RequestRejected(503, "shed", "too much is arriving at once; send it again later") from error
        finally:
            self._forget(patience)

    async def _read_all(self, receive: Receive, count: Callable[[int], None]) -> bytearray:
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone = "the connection was closed before the body was complete"
                raise RequestRejected(400, "disconnected", gone)
            body += message.get("body", b"")
            more = message.get("more_body", False)
            count(len(body))
        return body

    def _count(self, patience: asyncio.Timeout, size: int) -> None:
        if size > self._largest:
            raise self._too_large()
        held, since = self._arriving.get(patience, (size, 0.0))
        if size > held:
            self._hold(patience, size, since)

    def _hold(self, patience: asyncio.Timeout, size: int, since: float) -> None:
        self._forget(patience)
        self._arriving[patience] = size, since
        self._held += size
        now = asyncio.get_running_loop().time()
        while self._held > 2 * self._largest:
            costs = {each: size * (now - since) for each, (size, since) in self._arriving.items()}
            costliest = max(costs, key=costs.__getitem__)
            self._forget(costliest)
            costliest.reschedule(0)

    def _forget(self, patience: asyncio.Timeout) -> None:
        size, _ = self._arriving.pop(patience, (0, 0.0))
        self._held -= size

    def _too_large(self) -> RequestRejected:
        return RequestRejected(
            413, "too_large", f"the body is over {self._largest // _MB} MB; GitHub sends no more than 25 MB"
        )
