"""A recording that answers: the same request gets what it got, in the recorded order."""

from __future__ import annotations

import difflib
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec

from bot.model_server import replies, wire
from bot.model_server.asked import Asked, Document, clipped, parse
from bot.model_server.counting import Outcome
from bot.model_server.errors import Refused
from bot.model_server.playing import Accounts
from bot.model_server.recording import Censor, Exchange, bearer, fingerprint
from bot.model_server.replies import Reply

_OK = 200


class Replay:
    """Exchanges by what was asked. `secrets` and a client's key are taken out of requests, as when they were recorded."""

    def __init__(self, exchanges: Sequence[Exchange], *, secrets: Iterable[str] = ()) -> None:
        self.accounts = Accounts()
        self._secrets = frozenset(secrets)
        self._answers: dict[str, list[Exchange]] = defaultdict(list)
        for exchange in exchanges:
            self._answers[fingerprint(exchange.request)].append(exchange)
        self._models = sorted({str(exchange.request.get("model", "")) for exchange in exchanges})
        self._lasts = [clipped(_last(exchange)) for exchange in exchanges]
        self._lock = threading.Lock()
        self._given: Counter[str] = Counter()

    async def models(self, _authorization: str) -> Document:
        """The models that were asked."""
        return wire.model_list(self._models)

    async def reply(self, body: bytes, authorization: str) -> Reply:
        """What the same request got: the next recorded answer to it, the last one again and again."""
        asked = parse(body)
        self.accounts.heard(asked)
        censor = Censor(self._secrets | {bearer(authorization)})
        key = fingerprint(censor.document(dict(asked.body)))
        recorded = self._answers.get(key)
        if recorded is None:
            raise self._unrecorded(clipped(censor.text(asked.last)))
        with self._lock:
            place = min(self._given[key], len(recorded) - 1)
            self._given[key] += 1
        return replayed(recorded[place], asked)

    def _unrecorded(self, last: str) -> Refused:
        near = difflib.get_close_matches(last, self._lasts, n=1, cutoff=0.0)
        hint = f"; the nearest recorded one ends with: {near[0]}" if near else "; the recording is empty"
        return Refused(400, f"this request is not in the recording; it ends with: {last}{hint}", code="not_recorded")


def replayed(exchange: Exchange, asked: Asked) -> Reply:
    """A recorded answer in the form that is asked for now."""
    try:
        said = msgspec.convert(exchange.body, wire.Completion) if exchange.status == _OK else None
    except msgspec.ValidationError:
        said = None
    if said is not None and said.choices and asked.stream:
        return replies.answer(said, asked)
    text = exchange.body.encode() if isinstance(exchange.body, str) else msgspec.json.encode(exchange.body)
    reply = replace(replies.plain(text), status=exchange.status, headers=_headers(exchange))
    if said is not None:
        return replace(reply, outcome=Outcome.COMPLETED, model=asked.model, tally=wire.billed(said))
    return reply if exchange.status == _OK else replace(reply, outcome=Outcome.REFUSED)


def _headers(exchange: Exchange) -> dict[str, str]:
    return {} if exchange.retry_after is None else {"Retry-After": exchange.retry_after}


def _last(exchange: Exchange) -> str:
    try:
        return parse(msgspec.json.encode(exchange.request)).last
    except Refused:  # it was recorded with the error that it got
        return ""
