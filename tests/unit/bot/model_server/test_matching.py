"""Which turn answers, and what it says."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from bot.model_server.script import ChatRequest, RequestError, Script, Turn, When, no_turn_fits, parse_request

CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}
TALK: list[Mapping[str, object]] = [
    {"role": "system", "content": "You repair."},
    {"role": "user", "content": [{"type": "text", "text": "See this"}, {"type": "text", "text": "and that"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "x = 1 # id 7, id 8"},
]


def asked(*messages: Mapping[str, object], **more: object) -> ChatRequest:
    """A request as it comes."""
    return parse_request(json.dumps({"model": "m", "messages": messages or TALK, **more}).encode())


@pytest.mark.parametrize(
    ("when", "wanted"),
    [
        (When(), True),
        (When(contains=("See this", "and that", '"a.py"', "x = 1")), True),
        (When(contains=("See this", "absent")), False),
        (When(lacks=("absent",)), True),
        (When(lacks=("absent", "read_file")), False),
        (When(last=("x = 1",)), True),
        (When(last=("See this",)), False),
        (When(system=("repair",)), True),
        (When(system=("See this",)), False),
        (When(tools=("read_file",)), True),
        (When(tools=("read_file", "edit")), False),
        (When(model="m"), True),
        (When(model="n", contains=("See this",)), False),
    ],
)
def test_a_turn_fits_if_all_holds(when: When, wanted: bool) -> None:
    """Texts are looked for where the rule says, in words, arguments and results; one thing amiss is enough."""
    assert when.fits(asked(tools=[TOOL])) is wanted


def test_used_up_turns_are_passed_over() -> None:
    """The first that fits answers `times` times; 0 is always; nothing fitting is None."""
    turns = (Turn(say="a", times=2), Turn(say="b", when=When(lacks=("See",))), Turn(say="c"))
    assert [Script(turns=turns).turn_for(asked(), {0: used}) for used in (0, 1, 2)] == [0, 0, 2]
    assert Script(turns=turns[:2]).turn_for(asked(), {0: 2}) is None


def test_the_last_message_is_quoted_on_one_short_line() -> None:
    """What no turn fits says what was asked, clipped."""
    refused = no_turn_fits(asked({"role": "user", "content": "one\ntwo " + "x" * 500}))
    assert refused.status == 400
    assert refused.message == f"no turn of the script fits; last message: one two {'x' * 111}…"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"\x81": 1}',
        b'{"model": "m"}',
        b'{"model": "m", "messages": []}',
        b'{"model": 1, "messages": [{}]}',
    ],
)
def test_what_is_no_request_is_refused(body: bytes) -> None:
    """Anything but a request for a completion gets 400."""
    with pytest.raises(RequestError) as refused:
        parse_request(body)
    assert refused.value.status == 400


def test_an_image_is_seen_by_its_digest() -> None:
    """It stands in the text, so that rules can ask for it and prompts with others differ."""
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    message = asked({"role": "user", "content": [{"type": "text", "text": "look"}, part]}).messages[0]
    assert message.images == ("data:image/png;base64,AAAA",)
    assert message.text.startswith("look\n[image ")
