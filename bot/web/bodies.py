"""Reads the bodies of webhooks within limits: refuses by the headers what it can, then counts the bytes that arrive."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request

from bot.web.signature import HEADER

RETRY_SECONDS = 30
_MB = 1024 * 1024
_TOKEN = re.compile(r"[0-9A-Za-z_.:-]{1,100}")
_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")


@dataclass(eq=False)
class RequestRejected(Exception):
    """A rejected request. `reason` is for metrics, `text` for the sender."""

    status: int
    reason: str
    text: str


def header_of(request: Request, name: str) -> str:
    """The event or the delivery id that a header names; raises RequestRejected."""
    value = request.headers.get(name, "")
    if not _TOKEN.fullmatch(value):
        raise RequestRejected(
            400, "missing_header", f"the {name} header is missing or malformed; only GitHub may call this address"
        )
    return value


def signature_of(request: Request) -> str:
    """The signature that comes with a JSON body; raises RequestRejected."""
    if request.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRejected(415, "content_type", "the webhook's content type must be application/json")
    signature = request.headers.get(HEADER)
    if signature is None:
        raise RequestRejected(401, "no_signature", f"there is no {HEADER} header; set the webhook's secret on GitHub")
    if not _SIGNATURE.fullmatch(signature):
        raise RequestRejected(
            401, "bad_signature", f"the {HEADER} header is malformed; it is sha256= and 64 hexadecimal digits"
        )
    return signature


class BodyReader:
    """Reads bodies of at most `largest_mb`. While they arrive, all together hold, and announce, at most twice that.

    Over that, it gives up the body that has held the most bytes for the longest time: GitHub's own take milliseconds.
    """

    def __init__(self, largest_mb: int) -> None:
        self._largest = largest_mb * _MB
        self._arriving: dict[asyncio.Timeout, tuple[int, float]] = {}
        """The bytes of each body, those announced included, and when it began."""

    async def read(self, request: Request) -> bytearray:
        """The raw body; raises RequestRejected."""
        announced = int(request.headers.get("Content-Length", 0))
        if announced > self._largest:
            raise self._too_large()
        body, patience = bytearray(), asyncio.timeout(None)
        try:
            async with patience:
                self._arriving[patience] = announced, asyncio.get_running_loop().time()
                self._make_room()
                async for chunk in request.stream():
                    body += chunk
                    self._count(patience, len(body))
        except TimeoutError as error:
            raise RequestRejected(503, "shed", "too much is arriving at once; send it again later") from error
        except ClientDisconnect as error:
            raise RequestRejected(
                400, "disconnected", "the connection was closed before the body was complete"
            ) from error
        finally:
            self._arriving.pop(patience, None)
        return body

    def _count(self, patience: asyncio.Timeout, size: int) -> None:
        if size > self._largest:
            raise self._too_large()
        held, since = self._arriving.get(patience, (size, 0.0))
        if size > held:
            self._arriving[patience] = size, since
            self._make_room()

    def _make_room(self) -> None:
        now = asyncio.get_running_loop().time()
        while sum(size for size, _ in self._arriving.values()) > 2 * self._largest:
            costs = {each: size * (now - since) for each, (size, since) in self._arriving.items()}
            costliest = max(costs, key=costs.__getitem__)
            del self._arriving[costliest]
            costliest.reschedule(0)

    def _too_large(self) -> RequestRejected:
        return RequestRejected(
            413, "too_large", f"the body is over {self._largest // _MB} MB; GitHub sends no more than 25 MB"
        )
