"""Which turn of a script answers a request, and what it says with its captures filled in; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET

from bot.model_server.asked import Asked, clipped
from bot.model_server.errors import Refused
from bot.model_server.script import PLACE, Answer, Turn, When
from bot.model_server.wire import Said


def fits(when: When, asked: Asked) -> bool:
    """Whether the request is all that the rule asks for."""
    return (
        (not when.model or when.model == asked.model)
        and set(when.tools) <= set(asked.tools)
        and all(text in asked.text for text in when.contains)
        and not any(text in asked.text for text in when.lacks)
        and all(text in asked.last for text in when.last)
        and all(text in asked.system for text in when.system)
    )


def first_fitting(turns: Sequence[Turn], used: Mapping[int, int], asked: Asked) -> int | None:
    """The place of the first turn that fits and was not used `times` times."""
    for place, turn in enumerate(turns):
        if fits(turn.when, asked) and not 0 < turn.times <= used.get(place, 0):
            return place
    return None


def spelt_out(answer: Answer, asked: Asked) -> Said:
    """What the answer says with each `$name` replaced. Raises Refused if a capture finds nothing in the messages."""
    found = {name: _captured(name, pattern, asked.text) for name, pattern in answer.capture.items()}
    said = None if answer.say is None else _fill_text(answer.say, found)
    return Said(
        text=said if answer.json is UNSET else _json(_fill(answer.json, found)),
        calls=tuple((call.name, _arguments(_fill(call.arguments, found))) for call in answer.calls),
        refusal=answer.refusal,
        finish=answer.finish or "",
    )


def nothing_fits(asked: Asked) -> Refused:
    """What a script without a fitting turn answers."""
    return Refused(400, f"no turn of the script fits; last message: {clipped(asked.last)}", code="no_turn_fits")


def _captured(name: str, pattern: str, text: str) -> str:
    found = list(re.finditer(pattern, text))
    if not found:
        raise Refused(400, f"`capture` {name} finds nothing in the messages by {pattern}", code="nothing_captured")
    return found[-1][1] or ""


def _fill(value: object, found: Mapping[str, str]) -> object:
    if isinstance(value, str):
        return _fill_text(value, found)
    if isinstance(value, dict):
        return {name: _fill(inner, found) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_fill(inner, found) for inner in value]
    return value


def _fill_text(text: str, found: Mapping[str, str]) -> str:
    return PLACE.sub(lambda place: "$" if place[1] == "$" else found[place[1]], text)


def _arguments(filled: object) -> str:
    """As text: what was written as text stands as it is, and may be no JSON."""
    return filled if isinstance(filled, str) else _json(filled)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
