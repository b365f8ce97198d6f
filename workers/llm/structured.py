"""Answers as typed values: a schema that strict endpoints take, a strict reading, and one chance to repair."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import msgspec

from workers.llm.errors import BadReply, Refused
from workers.llm.messages import Ask, Ended, Message, Model, Reply, Role, ToolSpec
from workers.redaction import redact

T = TypeVar("T", bound=msgspec.Struct)

_NOT_STRICT = frozenset({"default", "discriminator", "title", "minLength", "maxLength"})
"""Keywords that strict endpoints refuse."""
_SHOWN = 200


def ask_for(model: Model, ask: Ask, kind: type[T]) -> T:
    """The model's answer as a value of `kind`, whose schema is sent along.

    Raises BadReply when neither the first answer nor the repaired one is such a value, Refused when the model declines.
    """
    asked = replace(ask, schema=schema_of(kind))
    reply = _given(model.reply(asked))
    try:
        return read(reply, kind)
    except BadReply as error:
        reply = _given(model.reply(_repair(asked, reply, str(error))))
        return read(reply, kind)


def schema_of(kind: type[msgspec.Struct]) -> ToolSpec:
    """A struct's JSON schema in the form that strict endpoints take: every property required, and no others."""
    (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    strict = {name: _strict(part) for name, part in parts.items()}
    found = strict[root["$ref"].rpartition("/")[2]]
    inside = strict if _refers(strict, root) else {name: part for name, part in strict.items() if part is not found}
    found = found | ({"$defs": inside} if inside else {})
    return ToolSpec(name=kind.__name__, description=str(found.pop("description", "")), parameters=found)


def read(reply: Reply, kind: type[T]) -> T:
    """The value in a reply: one JSON object, with or without words or a fence around it. Raises BadReply."""
    if reply.ended is Ended.LENGTH:
        raise BadReply("the answer was cut off at its limit of length; it has to be shorter")
    try:
        return msgspec.json.decode(_one_object(reply.text), type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadReply(f"the answer is not what was asked for: {_line(str(error))}") from error


def _given(reply: Reply) -> Reply:
    if reply.ended is Ended.REFUSED:
        raise Refused(f"the model declined: {_line(reply.text)}" if reply.text else "the model declined to answer")
    return reply


def _repair(ask: Ask, reply: Reply, error: str) -> Ask:
    told = f"{error}.\nAnswer again with the whole JSON object and nothing else."
    turn = (Message(role=Role.ASSISTANT, text=reply.text), Message(role=Role.USER, text=told))
    return replace(ask, messages=(*ask.messages, *turn))


def _one_object(text: str) -> str:
    """The only JSON object that stands in a text. Raises BadReply for none and for several."""
    found, place, decoder = [], text.find("{"), json.JSONDecoder()
    while place >= 0:
        try:
            _, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            found.append((place, text[place:end]))
        place = text.find("{", end)
    if len(found) != 1 or text[: found[0][0]].rstrip().endswith("["):
        raise BadReply(f"the answer is to hold one JSON object, and holds {len(found)}")
    return found[0][1]


def _strict(node: object) -> dict[str, object]:
    """A part of a schema without what strict endpoints refuse. Mappings of any keys stay as they are."""
    assert isinstance(node, Mapping)
    kept = {key: _strict_value(key, value) for key, value in node.items() if key not in _NOT_STRICT}
    if "properties" in node:
        kept |= {"required": list(node["properties"]), "additionalProperties": False}
    if "enum" in node and all(isinstance(each, str) for each in node["enum"]):
        kept["type"] = "string"
    return kept


def _strict_value(key: str, value: object) -> object:
    """What stands under a keyword. Under `properties` the keys are names, which may well be those of keywords."""
    if key == "properties" and isinstance(value, Mapping):
        return {name: _strict(part) for name, part in value.items()}
    if isinstance(value, Mapping):
        return _strict(value)
    if isinstance(value, list):
        return [_strict(part) if isinstance(part, Mapping) else part for part in value]
    return value


def _refers(node: object, reference: object) -> bool:
    return json.dumps(reference) in json.dumps(node)


def _line(text: str) -> str:
    return " ".join(redact(text).split())[:_SHOWN]
