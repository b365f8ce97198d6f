"""What stands in a recording, and what it answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bot.model_server.errors import Refused
from bot.model_server.recording import Censor, Exchange, append, fingerprint, openable, read_recording
from bot.model_server.replaying import Replay
from workers.errors import BadInput
from workers.redaction import REDACTED
from workers.settings import environment_secrets, secret_variable

KEY = 'planted "key" with quotes'
TOKEN = "ghp_" + "a1B2" * 6


def request(last: str, **more: object) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": last}], **more}


def ask(replay: Replay, body: dict[str, object]) -> tuple[int, object]:
    """The status and the document of an answer."""
    reply = asyncio.run(replay.reply(json.dumps(body).encode(), ""))
    return reply.status, json.loads(reply.pieces[0])


def test_secrets_go_wherever_they_stand() -> None:
    """In texts and names at any depth, in JSON within a text, known or by their look."""
    document = {"a": [f"x{KEY}y", {TOKEN: 1}], "b": json.dumps({"key": KEY}), "c": None}
    assert Censor([KEY, ""]).document(document) == {
        "a": [f"x{REDACTED}y", {REDACTED: 1}],
        "b": f'{{"key": "{REDACTED}"}}',
        "c": None,
    }


def test_short_keys_are_words() -> None:
    """A placeholder such as `none` is not torn out of every sentence."""
    assert Censor(["none"]).text("none of it") == "none of it"


def test_secret_variables_are_known_by_their_names() -> None:
    """What ends in KEY, TOKEN and the like is secret, a path or a word is not."""
    environment = {
        "OPENAI_API_KEY": "value-one",
        "NPM_TOKEN": "value-two",
        "PGPASSWORD": "value-three",
        "KEYBOARD": "value-four",
        "PWD": "/value/five",
        "SOME_SECRET": "short",
    }
    assert environment_secrets(environment) == {"value-one", "value-two", "value-three"}


def test_a_variable_that_is_not_set_is_named() -> None:
    """Its name is said, as there is no value to say."""
    with pytest.raises(BadInput, match=r"^NO_SUCH_VARIABLE is not set, or empty; it is to hold a key$"):
        secret_variable("NO_SUCH_VARIABLE")


def test_delivery_is_no_part_of_a_request() -> None:
    """Streamed or not is the same request; another temperature, schema or tool is another one."""
    plain = fingerprint(request("hi"))
    assert fingerprint(request("hi", stream=True, stream_options={"include_usage": True})) == plain
    for more in ({"temperature": 1}, {"response_format": {"type": "json_object"}}, {"tools": [{"type": "function"}]}):
        assert fingerprint(request("hi", **more)) != plain


def test_repeated_requests_get_their_answers_in_order() -> None:
    """Then the last one again and again; statuses and Retry-After come along."""
    exchanges = [
        Exchange(request=request("hi"), status=429, retry_after="2", body={"error": {"message": "slow"}}),
        Exchange(request=request("other"), status=200, body="no JSON"),
        Exchange(request=request("hi"), status=200, body={"n": 2}),
    ]
    replay = Replay(exchanges)
    assert [ask(replay, request("hi"))[0] for _ in range(3)] == [429, 200, 200]
    assert ask(replay, request("hi")) == (200, {"n": 2})
    assert asyncio.run(replay.reply(json.dumps(request("other")).encode(), "")).pieces == (b"no JSON",)


def test_what_was_not_recorded_names_the_nearest() -> None:
    """An unknown request is refused with what it ends with and what comes nearest."""
    replay = Replay([Exchange(request=request(last), status=200) for last in ("repair the till", "sum it up")])
    with pytest.raises(Refused) as refused:
        ask(replay, request("repair the bill"))
    assert refused.value.status == 400
    assert refused.value.message == (
        "this request is not in the recording; it ends with: repair the bill; "
        "the nearest recorded one ends with: repair the till"
    )
    with pytest.raises(Refused, match="the recording is empty"):
        ask(Replay([]), request("hi"))


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Line by line; one that is damaged is named by its number."""
    path = openable(tmp_path / "talk.jsonl")
    exchanges = (Exchange(request=request("a"), status=200, body={"x": 1}), Exchange(request={}, status=500, body="t"))
    for exchange in exchanges:
        append(path, exchange)
    assert read_recording(path) == exchanges
    with path.open("a") as file:
        file.write("{}\n")
    with pytest.raises(BadInput, match=r"talk\.jsonl, line 3: Object missing required field `request`"):
        read_recording(path)


def test_files_that_cannot_be_had(tmp_path: Path) -> None:
    """One that is not there, and one that cannot be written, are one line each."""
    with pytest.raises(BadInput, match=r"absent cannot be read: No such file or directory$"):
        read_recording(tmp_path / "absent")
    with pytest.raises(BadInput, match=r"talk cannot be written: No such file or directory$"):
        openable(tmp_path / "no" / "talk")
