"""An answer as HTTP sends it, and what it is counted as; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from bot.model_server import wire
from bot.model_server.asked import Asked
from bot.model_server.counting import Outcome, Tally
from bot.model_server.errors import Refused

JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """`pieces` are sent one after the other, `delay` seconds later; with `broken` the connection then ends too early.

    `length` is the Content-Length, None for a stream. `outcome`, `model` and `tally` are what is counted.
    """

    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...]
    length: int | None
    delay: float = 0.0
    broken: bool = False
    outcome: Outcome = Outcome.COMPLETED
    model: str = ""
    tally: Tally = field(default_factory=Tally)


def refusal(refused: Refused, *, delay: float = 0.0) -> Reply:
    """An error, with Retry-After where it has one."""
    body = msgspec.json.encode(wire.failure(refused))
    headers = {} if refused.retry_after is None else {"Retry-After": f"{refused.retry_after:g}"}
    return Reply(
        status=refused.status,
        headers=headers,
        pieces=(body,),
        length=len(body),
        delay=delay,
        outcome=Outcome.REFUSED,
    )


def plain(body: bytes, *, content_type: str = JSON, delay: float = 0.0) -> Reply:
    """A body that stands as it is and is counted as malformed."""
    return Reply(content_type=content_type, pieces=(body,), length=len(body), delay=delay, outcome=Outcome.MALFORMED)


def answer(said: wire.Completion, asked: Asked, *, delay: float = 0.0, cut: int | None = None) -> Reply:
    """A completion in the form that was asked for: as one body, or streamed; `cut` breaks either off."""
    make = _streamed if asked.stream else _whole
    return make(said, asked, delay, cut)


def _whole(said: wire.Completion, asked: Asked, delay: float, cut: int | None) -> Reply:
    body = msgspec.json.encode(said)
    return Reply(
        pieces=(body,) if cut is None else (body[: len(body) // 2],),
        length=len(body),
        delay=delay,
        broken=cut is not None,
        outcome=Outcome.COMPLETED if cut is None else Outcome.CUT,
        model=asked.model,
        tally=wire.billed(said),
    )


def _streamed(said: wire.Completion, asked: Asked, delay: float, cut: int | None) -> Reply:
    events = tuple(wire.events(said, with_usage=asked.with_usage))
    spoken = len(events) - 1 - asked.with_usage  # before the chunk that says why it ended
    return Reply(
        content_type=EVENTS,
        pieces=(*events, wire.DONE) if cut is None else events[: min(cut, spoken)],
        length=None,
        delay=delay,
        broken=cut is not None,
        outcome=Outcome.COMPLETED if cut is None else Outcome.CUT,
        model=asked.model,
        tally=wire.billed(said),
    )
