"""`apprentice model-server` as a process."""

from __future__ import annotations

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

from tests.integration.command_line import ROOT, apprentice_process, environment


def ask(url: str, text: str, **more: object) -> ChatCompletionMessage:
    """The message of a plain answer."""
    with client(url) as asking:
        return asking.chat.completions.create(model="scripted", messages=said(text), **more).choices[0].message


def client(url: str) -> OpenAI:
    return OpenAI(base_url=url, api_key="any", max_retries=0)


def said(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


@contextmanager
def started(home: Path, *arguments: str) -> Iterator[str]:
    """The command as a process, by its base URL; interrupted, it ends with 0 and nothing on standard error."""
    command = [sys.executable, "-m", "bot.cli", "model-server", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment(home, {}), stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert "a protocol stand-in, not a model" in line
            yield line.partition(": ")[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(600)
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read()) == (0, "")


def test_the_command_plays_until_it_is_interrupted(tmp_path: Path) -> None:
    """It prints its URL, answers, and ends on Ctrl-C with 0 and nothing on standard error."""
    script = tmp_path / "turns.yml"
    script.write_text("turns: [{say: hello, cut: 1, times: 1}, {say: hello}]")
    with started(tmp_path, "--script", str(script)) as url:
        with pytest.raises(openai.APIConnectionError):
            ask(url, "hi")
        assert ask(url, "hi").content == "hello"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give --script FILE"),
        (("--script", "absent.yml"), "absent.yml cannot be read: No such file or directory"),
        (("--script", "BAD"), "BAD: turns[0]: object contains unknown field `sya`"),
        (
            ("--script", "GOOD", "--port", "70000"),
            "cannot listen on 127.0.0.1:70000: a port is a number from 0 to 65535; give another --host or --port",
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
