"""Exchanges with a real endpoint as lines of a file, with every secret taken out; pure but for reading and appending."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from bot.model_server.asked import Document
from workers.errors import BadInput
from workers.redaction import REDACTED, redact
from workers.settings import SECRET_LENGTH

_DELIVERY = frozenset({"stream", "stream_options"})
"""How an answer is delivered: no part of what was asked."""


class Exchange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request and its answer, both redacted.

    `body` is JSON, or the text of what is none. A streamed completion is kept put together: a secret that stands across
    two chunks could not be seen in either.
    """

    request: Document
    status: int
    retry_after: str | None = None
    body: object = None


class Censor:
    """Takes out what looks like a credential, and the secrets that are known, unless they are short enough to be words."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted({secret for secret in secrets if len(secret) >= SECRET_LENGTH}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text without secrets, also as they stand in JSON within a text."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED).replace(json.dumps(secret)[1:-1], REDACTED)
        return redact(text)

    def value(self, value: object) -> object:
        """JSON with every text in it, names included, without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value

    def document(self, document: Document) -> Document:
        """The same for an object."""
        return {self.text(name): self.value(inner) for name, inner in document.items()}


def bearer(authorization: str) -> str:
    """The key in a header, empty for none."""
    return authorization.removeprefix("Bearer ").strip()


def fingerprint(request: Document) -> str:
    """The identity of a redacted request, however its answer is delivered."""
    asked = {name: value for name, value in request.items() if name not in _DELIVERY and value is not None}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def append(path: Path, exchange: Exchange) -> None:
    """One more line."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(exchange) + b"\n")


def openable(path: Path) -> Path:
    """The file, which is begun if it is not there. Raises BadInput if it cannot be written."""
    try:
        path.open("ab").close()
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from error
    return path


def read_recording(path: Path) -> Sequence[Exchange]:
    """The exchanges in a file, in their order. Raises BadInput with the line that is wrong."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    return tuple(_exchange(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def _exchange(path: Path, number: int, line: bytes) -> Exchange:
    try:
        return msgspec.json.decode(line, type=Exchange)
    except msgspec.DecodeError as error:
        raise BadInput(f"{path}, line {number}: {error}") from error
