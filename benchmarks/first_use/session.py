"""A new user's session: a checkout in each state that a person has it in, and one command after another in it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

import msgspec

from benchmarks.breaking_branches.branches import Branch, Cases, Repository, git

COLUMNS, ROWS = 40, 24
"""The terminal that a narrow session has."""

AT_MOST = 400.0
"""Seconds after which a command is killed."""


class Way(StrEnum):
    """How a command is run: its output piped, or read by a person, or cut short."""

    PIPED = "piped"
    TERMINAL = "on a terminal of 40 columns"
    COLOURLESS = "on a terminal of 40 columns, with NO_COLOR"
    HEAD = "| head -1"
    APPLIED = "| git apply --check"
    INTERRUPTED = "and Ctrl-C"
    READ_ONLY = "in a checkout that cannot be written"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command, with the change `on`, committed or not, or on a clean tree.

    `{decision}` in its words is the last decision that the session named. An interrupted one is so once it says `at`.
    """

    repository: str
    words: list[str]
    on: str = ""
    committed: bool = False
    way: Way = Way.PIPED
    at: str = ""

    @property
    def title(self) -> str:
        """The state of the tree, for a heading."""
        return f"{self.on}, {'committed' if self.committed else 'not committed'}" if self.on else "a clean tree"

    @property
    def fails_on(self) -> str:
        """What a review fails on."""
        return self.words[self.words.index("--fail-on") + 1] if "--fail-on" in self.words else "tests"


class Sessions(Cases, frozen=True, kw_only=True):
    """What the data file holds: repositories, changes, and the commands of each session in turn."""

    command: list[Command]

    def of(self, repository: Repository) -> list[Command]:
        """The session in one repository."""
        return [each for each in self.command if each.repository == repository.name]

    def change(self, command: Command) -> Branch | None:
        """The change that a command meets."""
        return next((each for each in self.branch if each.name == command.on), None)


def sessions(path: Path) -> Sessions:
    """Those of a TOML file. Raises msgspec.ValidationError or tomllib.TOMLDecodeError for another file."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Sessions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command printed, and its exit code; `applied` is what `git apply --check` says of its output."""

    command: Command
    code: int
    out: str
    err: str
    applied: str = ""


@dataclass(slots=True)
class Desk:
    """Where a new user works: a checkout, and a home that knows nothing yet."""

    checkout: Path
    home: Path
    decision: str = ""

    def clone(self, source: Path, repository: Repository) -> None:
        """A clone at the repository's commit. Raises NotBuilt."""
        shutil.rmtree(self.checkout, ignore_errors=True)
        shutil.rmtree(self.home, ignore_errors=True)
        subprocess.run(["git", "clone", "-q", str(source), str(self.checkout)], check=True, capture_output=True)
        git(self.checkout, "checkout", "-q", "-B", "start", repository.commit)

    def lay(self, command: Command, change: Branch | None) -> None:
        """The state that a command meets. Raises NotBuilt."""
        git(self.checkout, "checkout", "-q", "--force", "start")
        git(self.checkout, "clean", "-fdxq")
        if change is None:
            return
        git(self.checkout, "checkout", "-q", "-B", change.name)
        change.change.apply(self.checkout)
        if command.committed:
            git(self.checkout, "add", "--all")
            identity = ("-c", "user.name=A Developer", "-c", "user.email=developer@example.com")
            git(self.checkout, *identity, "commit", "-q", "--no-verify", "-m", change.story)

    def run(self, command: Command) -> Ran:
        """Run it as its way says."""
        words = [word.replace("{decision}", self.decision) for word in command.words]
        apprentice = [str(Path(sys.executable).with_name("apprentice")), *words]
        match command.way:
            case Way.TERMINAL | Way.COLOURLESS:
                ran = self._on_a_terminal(command, apprentice)
            case Way.READ_ONLY:
                here = str(self.checkout)
                ran = self._piped(
                    command, ["bwrap", "--dev-bind", "/", "/", "--ro-bind", here, here, "--", *apprentice]
                )
            case _:
                ran = self._piped(command, apprentice)
        for self.decision in re.findall(r"apprentice why ([0-9a-f]{16})", ran.out):
            pass
        return ran

    def _environment(self, command: Command) -> dict[str, str]:
        own = {"APPRENTICE_HOME": str(self.home), "APPRENTICE_SEED": "1", "TERM": "xterm-256color"}
        left = {"VIRTUAL_ENV", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"}
        kept = {n: v for n, v in os.environ.items() if n not in left and not n.startswith("APPRENTICE_")}
        return kept | own | ({"NO_COLOR": "1"} if command.way is Way.COLOURLESS else {})

    def _piped(self, command: Command, words: list[str]) -> Ran:
        with subprocess.Popen(
            words,
            cwd=self.checkout,
            env=self._environment(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            err, out, read_out = bytearray(), bytearray(), process.stdout
            reading = threading.Thread(target=lambda: out.extend(read_out.readline() + _rest(command, read_out)))
            with _watched(process):
                reading.start()
                for line in process.stderr:
                    err += line
                    if command.way is Way.INTERRUPTED and command.at in line.decode():
                        time.sleep(0.3)  # into the step
                        process.send_signal(signal.SIGINT)
                reading.join()
        return Ran(
            command=command,
            code=process.returncode,
            out=out.decode(),
            err=err.decode(),
            applied=self._applied(bytes(out)) if command.way is Way.APPLIED else "",
        )

    def _applied(self, patch: bytes) -> str:
        apply = ("git", "-C", str(self.checkout), "apply", "--check")
        done = subprocess.run(apply, input=patch, capture_output=True, check=False)
        return (
            f"git apply --check ends with {done.returncode}{': ' if done.stderr else ''}{done.stderr.decode().strip()}"
        )

    def _on_a_terminal(self, command: Command, words: list[str]) -> Ran:
        """On two terminals, so that the result and the progress stay apart."""
        ours, theirs = zip(pty.openpty(), pty.openpty(), strict=True)
        for each in theirs:
            fcntl.ioctl(each, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        process = subprocess.Popen(
            words,
            cwd=self.checkout,
            env=self._environment(command),
            stdin=theirs[0],
            stdout=theirs[0],
            stderr=theirs[1],
        )
        for each in theirs:
            os.close(each)
        printed = [bytearray(), bytearray()]
        with _watched(process):
            threads = [
                threading.Thread(target=lambda at=at, to=to: to.extend(b"".join(_terminal(at))))
                for at, to in zip(ours, printed, strict=True)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            process.wait()
        out, err = (each.decode().replace("\r\n", "\n") for each in printed)
        return Ran(command=command, code=process.returncode, out=out, err=err)


def _rest(command: Command, stream: IO[bytes]) -> bytes:
    """What follows the first line; nothing where its reader leaves."""
    if command.way is Way.HEAD:
        stream.close()
        return b""
    return stream.read()


def _terminal(at: int) -> Iterator[bytes]:
    """What is written to a terminal until its last writer ends."""
    try:
        while piece := os.read(at, 65536):
            yield piece
    except OSError:  # the end of a terminal
        pass
    os.close(at)


@contextmanager
def _watched(process: subprocess.Popen[bytes]) -> Iterator[None]:
    watchdog = threading.Timer(AT_MOST, process.kill)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
