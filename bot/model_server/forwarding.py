"""A real endpoint that is being recorded: requests go on to it, and each exchange becomes a line of a file."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import httpx
import msgspec

from bot.model_server import replies
from bot.model_server.asked import Asked, Document, parse
from bot.model_server.errors import Refused
from bot.model_server.joining import Broken, joined
from bot.model_server.playing import Accounts
from bot.model_server.recording import Censor, Exchange, append, bearer, openable
from bot.model_server.replaying import replayed
from bot.model_server.replies import Reply
from workers.errors import BadInput
from workers.redaction import redact

_OK = 200
_BAD_GATEWAY = 502
_PATIENCE = 600.0
"""Seconds that the endpoint may be silent: a model may think for minutes."""


class Recorder:
    """Forwards to `url`, whose path ends before `/chat/completions`, and appends to `to`.

    `key` takes the place of the client's own; `secrets` are taken out of the file besides. Raises BadInput for what is
    no URL, and for a file that cannot be written.
    """

    def __init__(self, url: str, to: Path, *, key: str = "", secrets: Iterable[str] = ()) -> None:
        self.accounts = Accounts()
        self._url = _checked(url)
        self._to = openable(to)
        self._key = key
        self._secrets = frozenset(secrets) | {key}
        self._lock = threading.Lock()

    async def models(self, authorization: str) -> Document:
        """The endpoint's own list, which is not recorded."""
        try:
            async with httpx.AsyncClient(timeout=_PATIENCE) as client:
                answered = await client.get(f"{self._url}/models", headers=self._headers(authorization))
            return msgspec.json.decode(answered.content, type=Document)
        except (httpx.HTTPError, msgspec.DecodeError) as error:
            raise _unreachable(error) from error

    async def reply(self, body: bytes, authorization: str) -> Reply:
        """What the endpoint answers, all of it before any of it is passed on."""
        asked = parse(body)
        self.accounts.heard(asked)
        headers = self._headers(authorization) | {"Content-Type": replies.JSON}
        try:
            async with httpx.AsyncClient(timeout=_PATIENCE) as client:
                answered = await client.post(f"{self._url}/chat/completions", content=body, headers=headers)
        except httpx.HTTPError as error:
            raise _unreachable(error) from error
        return self._kept(asked, answered, authorization)

    def _headers(self, authorization: str) -> dict[str, str]:
        sent = f"Bearer {self._key}" if self._key else authorization
        return {"Authorization": sent} if sent else {}

    def _kept(self, asked: Asked, answered: httpx.Response, authorization: str) -> Reply:
        """Append the exchange, redacted; the client gets the answer as it came."""
        censor = Censor(self._secrets | {bearer(authorization)})
        exchange = Exchange(
            request=dict(asked.body),
            status=answered.status_code,
            retry_after=answered.headers.get("retry-after"),
            body=_body(answered),
        )
        redacted = Exchange(
            request=censor.document(exchange.request),
            status=exchange.status,
            retry_after=exchange.retry_after and censor.text(exchange.retry_after),
            body=censor.value(exchange.body),
        )
        with self._lock:
            append(self._to, redacted)
        return _as_it_came(exchange, asked, answered)


def _as_it_came(exchange: Exchange, asked: Asked, answered: httpx.Response) -> Reply:
    kind = answered.headers.get("content-type", replies.JSON)
    counted = replayed(exchange, replace(asked, stream=False))
    return replace(counted, content_type=kind, pieces=(answered.content,), length=len(answered.content))


def _body(answered: httpx.Response) -> object:
    """JSON, a stream put together, or text. Raises Refused for a stream that broke off, which is not recorded."""
    if answered.headers.get("content-type", "").startswith(replies.EVENTS):
        try:
            return msgspec.to_builtins(joined(answered.content))
        except Broken as error:
            raise Refused(_BAD_GATEWAY, "the recorded endpoint broke its stream off", code="broken") from error
    try:
        return msgspec.json.decode(answered.content)
    except msgspec.DecodeError:
        return answered.text


def _checked(url: str) -> str:
    try:
        known = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise _no_url(url) from error
    if known.scheme not in {"http", "https"} or not known.host:
        raise _no_url(url)
    return url.rstrip("/")


def _no_url(url: str) -> BadInput:
    return BadInput(f"{redact(url)} is not the URL of an endpoint; give one such as https://models.example.com/v1")


def _unreachable(error: Exception) -> Refused:
    return Refused(_BAD_GATEWAY, f"the recorded endpoint cannot be used: {type(error).__name__}", code="unreachable")
