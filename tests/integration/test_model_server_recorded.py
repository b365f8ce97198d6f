"""A recorded endpoint and its replay, and the command as people start it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessage

from bot.model_server.forwarding import Recorder
from bot.model_server.recording import read_recording
from bot.model_server.replaying import Replay
from bot.model_server.script import Call, Failure, Script, Turn, When
from bot.model_server.server import ModelServer, Server
from tests.integration.command_line import ROOT, apprentice_process, environment
from workers.errors import BadInput

KEY = "planted-key-of-the-endpoint-0815"
CLIENTS = "planted-key-of-a-client-4711"
OTHER = "planted-secret-of-the-environment"
TOKEN = "ghp_" + "a1B2" * 6
REAL = Script(
    key=KEY,
    models=("real",),
    turns=(
        Turn(error=Failure(status=429, retry_after=3), when=When(last=("busy",)), times=1),
        Turn(raw=f"<html>{TOKEN}</html>", when=When(last=("page",))),
        Turn(say="x" * 60, cut=2, when=When(last=("break",))),
        Turn(
            calls=(Call(name="f", arguments={"echo": "$it"}),), when=When(last=("call",)), capture={"it": "(planted.*)"}
        ),
        Turn(say="You said $it", capture={"it": "(?s)(.+)"}),
    ),
)
"""An endpoint that gives away what it is told."""


def ask(url: str, text: str, **more: object) -> ChatCompletionMessage:
    """The message of a plain answer."""
    with client(url) as asking:
        return asking.chat.completions.create(model="real", messages=said(text), **more).choices[0].message


def streamed(url: str, text: str) -> str:
    """The words of a streamed answer."""
    with client(url) as asking:
        usage: Any = {"include_usage": True}
        chunks = list(
            asking.chat.completions.create(model="real", messages=said(text), stream=True, stream_options=usage)
        )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def client(url: str) -> OpenAI:
    return OpenAI(base_url=url, api_key=CLIENTS, max_retries=0)


def said(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


@contextmanager
def started(home: Path, *arguments: str, **given: str) -> Iterator[str]:
    """The command as a process, by its base URL; interrupted, it ends with 0 and nothing on standard error."""
    command = [sys.executable, "-m", "bot.cli", "model-server", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(home, given), stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert "a protocol stand-in, not a model" in line
            yield line.partition(": ")[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read()) == (0, "")


def test_no_secret_is_recorded(tmp_path: Path) -> None:
    """Keys of header, body and answer, split over chunks or not, and what looks like a token, are in no line."""
    path = tmp_path / "talk.jsonl"
    with (
        ModelServer(REAL) as real,
        Server(Recorder(real.url, path, key=KEY, secrets=[OTHER])) as server,
    ):
        told = f"{KEY} {CLIENTS} {OTHER} {TOKEN}"
        assert ask(server.url, told).content == f"You said {told}"
        assert streamed(server.url, told) == f"You said {told}"
        assert KEY in ask(server.url, f"call {KEY}").tool_calls[0].function.arguments
        ask(server.url, "hi", tools=[{"type": "function", "function": {"name": "f", "description": OTHER}}])
        assert [request.body["model"] for request in real.requests] == ["real"] * 4
        assert server.usage.total == real.usage.total
        with pytest.raises(json.JSONDecodeError):
            ask(server.url, "page")
    text = path.read_text()
    assert len(text.splitlines()) == 5
    assert not [secret for secret in (KEY, CLIENTS, OTHER, TOKEN, "planted") if secret in text]
    assert "[secret removed]" in text


def test_a_recording_is_replayed(tmp_path: Path) -> None:
    """Plain and streamed, errors with their Retry-After, repeated requests in their order; others are refused."""
    path = tmp_path / "talk.jsonl"
    with ModelServer(REAL) as real, Server(Recorder(real.url, path, key=KEY)) as server:
        with pytest.raises(openai.RateLimitError):
            ask(server.url, "busy")
        assert ask(server.url, "busy").content == "You said busy"
        assert streamed(server.url, "streamed") == "You said streamed"
        with pytest.raises(openai.InternalServerError, match="cannot be used: RemoteProtocolError"):
            streamed(server.url, "break")
    with Server(Replay(read_recording(path))) as replay:
        with pytest.raises(openai.RateLimitError) as refused:
            ask(replay.url, "busy")
        assert refused.value.response.headers["retry-after"] == "3"
        assert [ask(replay.url, "busy").content for _ in range(2)] == ["You said busy"] * 2
        assert streamed(replay.url, "busy") == "You said busy"
        assert ask(replay.url, "streamed").content == "You said streamed"
        with pytest.raises(openai.BadRequestError, match="not in the recording; it ends with: break; the nearest"):
            streamed(replay.url, "break")


def test_an_endpoint_that_is_not_there(tmp_path: Path) -> None:
    """The client is told with 502, and nothing is recorded."""
    with ModelServer(Script()) as gone:
        url = gone.url
    with Server(Recorder(url, tmp_path / "talk.jsonl")) as server:
        with pytest.raises(openai.InternalServerError, match="cannot be used: ConnectError"):
            ask(server.url, "hi")
        with client(server.url) as asking, pytest.raises(openai.InternalServerError, match="ConnectError"):
            asking.models.list()
    assert not (tmp_path / "talk.jsonl").read_bytes()


@pytest.mark.parametrize("url", ["models.example.com/v1", "ftp://models.example.com", "http://", "http://[::1", ""])
def test_what_is_no_url(url: str, tmp_path: Path) -> None:
    """It is refused before anything listens."""
    with pytest.raises(BadInput, match="is not the URL of an endpoint"):
        Recorder(url, tmp_path / "talk.jsonl")


def test_the_command_plays_until_it_is_interrupted(tmp_path: Path) -> None:
    """It prints its URL, answers, and ends on Ctrl-C with 0 and nothing on standard error."""
    script = tmp_path / "turns.yml"
    script.write_text("turns: [{say: hello, cut: 1, times: 1}, {say: hello}]")
    with started(tmp_path, "--script", str(script)) as url:
        with pytest.raises(openai.APIConnectionError):
            ask(url, "hi")
        assert ask(url, "hi").content == "hello"


def test_the_command_records_and_replays(tmp_path: Path) -> None:
    """With the key from a variable, which the file never holds, nor any other secret of the environment."""
    path = tmp_path / "talk.jsonl"
    with ModelServer(REAL) as real:
        recording = started(
            tmp_path, "--record", real.url, "--to", str(path), "--key-from", "MODEL_KEY", MODEL_KEY=KEY, A_TOKEN=OTHER
        )
        with recording as url:
            assert ask(url, f"{KEY} {OTHER}").content == f"You said {KEY} {OTHER}"
    assert "planted" not in path.read_text()
    with started(tmp_path, "--replay", str(path), A_TOKEN=OTHER, B_KEY=KEY) as url:
        assert ask(url, f"{KEY} {OTHER}").content == "You said [secret removed] [secret removed]"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give one of --script, --record and --replay"),
        (("--script", "a", "--replay", "b"), "give one of --script, --record and --replay"),
        (("--record", "http://x"), "--record and --to go together"),
        (("--script", "absent.yml"), "absent.yml cannot be read: No such file or directory"),
        (("--replay", "absent"), "absent cannot be read: No such file or directory"),
        (("--script", "BAD"), "BAD: turns[0]: object contains unknown field `sya`"),
        (
            ("--script", "GOOD", "--port", "70000"),
            "cannot listen on 127.0.0.1:70000: a port is a number from 0 to 65535; give another --host or --port",
        ),
        (
            ("--record", "http://x", "--to", "t", "--key-from", "NO_SUCH_KEY"),
            "NO_SUCH_KEY is not set, or empty; it is to hold a key",
        ),
    ],
)
def test_what_cannot_work_is_one_line(arguments: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    """Exit code 2, and what is wrong."""
    files = {"BAD": "turns: [{sya: hello}]", "GOOD": "turns: [{say: hello}]"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    placed = [str(tmp_path / each) if each in files else each for each in arguments]
    ran = apprentice_process(tmp_path, "model-server", *placed)
    assert (ran.code, ran.complaint()) == (2, complaint.replace("BAD", str(tmp_path / "BAD")))
