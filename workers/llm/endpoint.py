"""One model at an OpenAI-compatible endpoint: a request in, a reply out, by one HTTP call.

What an endpoint lacks is learned from what it refuses, once for a process, and done without: tools and JSON in words,
pictures left out. A refused request is not charged, so that the calls by which this is learned cost nothing.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from pydantic import SecretStr

from workers.llm.errors import CallFailed, ContextOverflow, Failure, ModelError
from workers.llm.failures import Refusal, clear_line, error_of, too_long
from workers.llm.features import Features, without
from workers.llm.messages import Ask, Ended, Reply
from workers.llm.plain import call_in
from workers.llm.replies import Said, malformed, reply_of
from workers.llm.wire import body_of

if TYPE_CHECKING:
    import openai

_PATH = "/chat/completions"
_NO_KEY = "none"
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"})
"""What the HTTP client raises before a request is on its way; by name, as it is not ours to import."""


class Connection(Protocol):
    """What the HTTP client shows of a connection."""

    def get_extra_info(self, info: str, /) -> socket.socket | None: ...


class Answers(Protocol):
    """Answers one request, without accounts and without trying again."""

    def answer(self, ask: Ask) -> Reply:
        """Raises CallFailed where another try may do, and any other ModelError where it will not."""
        ...


@dataclass(kw_only=True)
class Endpoint:
    """One model at one address. `timeout_seconds` is for a whole answer, however it comes."""

    base_url: str
    api_key: SecretStr
    model: str
    timeout_seconds: float = 120.0
    stream: bool = True
    features: Features = field(default_factory=Features)

    def answer(self, ask: Ask) -> Reply:
        """One reply. Raises CallFailed where another try may do, and any other ModelError where it will not."""
        import openai

        features = self.features  # as they were, whatever other threads learn in the meantime
        while True:
            body = body_of(ask, self.model, features, stream=self.stream)
            try:
                return _with_calls(reply_of(self._said(body), ask, self.model), ask, features)
            except openai.APIStatusError as error:
                refusal = self._refusal(error)
                less = None if too_long(refusal.detail) else without(features, refusal.detail, body, ask)
                if less is None:
                    raise error_of(refusal) from None  # what the endpoint said may hold the key, and would be shown
                self.features = features = less

    @cached_property
    def _client(self) -> openai.OpenAI:
        import openai  # takes a third of a second, and most processes never ask a model

        return openai.OpenAI(
            base_url=self.base_url, api_key=self._key or _NO_KEY, timeout=self.timeout_seconds, max_retries=0
        )

    @property
    def _key(self) -> str:
        return self.api_key.get_secret_value()

    def _said(self, body: Mapping[str, object]) -> Said:
        import openai

        try:
            return self._streamed(body) if "stream" in body else self._whole(body)
        except openai.APIStatusError:
            raise
        except openai.APITimeoutError as error:
            raise self._failed("the model did not answer in time", charged=_was_sent(error)) from None
        except openai.APIConnectionError as error:
            why = f"the model cannot be reached: {error.__cause__ or error}"
            raise self._failed(why, charged=_was_sent(error)) from None
        except openai.APIError as error:  # told within a stream
            raise self._told_late(error) from None
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise malformed("no JSON") from None

    def _whole(self, body: Mapping[str, object]) -> Said:
        said = Said()
        said.whole(self._client.post(_PATH, cast_to=object, body=body))
        return said

    def _streamed(self, body: Mapping[str, object]) -> Said:
        """The pieces put together."""
        from openai import Stream

        said, latest = Said(), time.monotonic() + self.timeout_seconds
        pieces = self._client.post(_PATH, cast_to=object, body=body, stream=True, stream_cls=Stream[object])
        with pieces, _hanging_up(pieces.response.extensions.get("network_stream"), self.timeout_seconds):
            if pieces.response.headers.get("content-type", "").startswith("application/json"):
                self.features = replace(self.features, stream=False)
                raise self._failed("the model's API sends no stream, and is asked for none from now on", charged=True)
            for piece in pieces:
                said.piece(piece)
                if time.monotonic() > latest:
                    raise self._failed("the model did not end its answer in time", charged=True)
        return said

    def _told_late(self, error: openai.APIError) -> ModelError:
        line = clear_line(error.message, self._key)
        if too_long(error.message):
            return ContextOverflow(f"the request is longer than the model can read: {line}")
        return self._failed(f"the model broke off: {error.message}", charged=True)

    def _failed(self, said: str, *, charged: bool) -> CallFailed:
        return CallFailed(Failure(said=clear_line(said, self._key), charged=charged))

    def _refusal(self, error: openai.APIStatusError) -> Refusal:
        message = error.body.get("message") if isinstance(error.body, dict) else None
        return Refusal(
            status=error.status_code,
            said=clear_line(message if isinstance(message, str) else error.message, self._key),
            detail=error.message,
            retry_after=error.response.headers.get("retry-after", ""),
        )


@contextmanager
def _hanging_up(connection: Connection | None, seconds: float) -> Iterator[None]:
    """Ends a connection after a time: signs of life that are no pieces keep a stream open for as long as they come."""

    held = None if connection is None else connection.get_extra_info("socket")

    def hang_up() -> None:
        with suppress(OSError):
            if held is not None:
                held.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _was_sent(error: Exception) -> bool:
    return type(error.__cause__).__name__ not in _UNSENT


def _with_calls(reply: Reply, ask: Ask, features: Features) -> Reply:
    """The reply with the call that its words hold, where tools were told in words."""
    if features.tools or not ask.tools or reply.ended is Ended.REFUSED:
        return reply
    text, calls = call_in(reply.text, ask.messages)
    return replace(reply, text=text, calls=calls, ended=Ended.CALLS) if calls else reply
