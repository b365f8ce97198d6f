"""What is kept of a run: a line for each finished case, and what the run was asked to be.

A case is finished when its line is whole, newline included. One writer appends the lines, each is on the disk before the
next case begins, and a last line that was cut off is dropped with everything that its case did.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec


class BadRun(Exception):
    """A run's folder or its options are not what they should be; the text says what to change."""


class Outcome(StrEnum):
    """What came of a case. A `plausible` one passes the tests that were seen, and not those that were held out."""

    SOLVED = "solved"
    PLAUSIBLE = "plausible"
    UNSOLVED = "unsolved"
    DID_NOT_RUN = "did_not_run"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One case in one trial. `micros` are millionths of a US dollar; `steps` the model's replies in its attempts.

    `held_out` cases are tried with what was learned on the others, and leave nothing. `store` is the memory in force once
    the case was finished, a folder of the run's; empty while there is none.
    """

    trial: int
    case: str
    held_out: bool
    outcome: Outcome
    attempts: int
    steps: int
    tokens: int
    micros: int
    seconds: float
    strategy: str
    store: str
    commit: str
    problem: str = ""

    @property
    def solved(self) -> bool:
        return self.outcome is Outcome.SOLVED


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is: everything that may not change when it is resumed."""

    suite: str
    cases: tuple[str, ...]
    memory: bool
    retry_mode: str
    strategies: tuple[str, ...]
    attempts: int
    held_out: bool
    seed: int
    model: str
    scripted: bool

    def differs(self, other: Plan) -> list[str]:
        """The names of what two plans do not have in common."""
        return [name for name in self.__struct_fields__ if getattr(self, name) != getattr(other, name)]


def read(path: Path) -> list[Record]:
    """The finished cases, in the order in which they were. Raises BadRun for a whole line that is no record."""
    return parsed(path.read_bytes(), path) if path.exists() else []


def parsed(data: bytes, path: Path) -> list[Record]:
    """The records of whole lines; what follows the last newline was never finished."""
    found = []
    for number, line in enumerate(data[: whole(data)].splitlines(), start=1):
        try:
            found.append(msgspec.json.decode(line, type=Record))
        except msgspec.DecodeError as problem:
            raise BadRun(f"{path}:{number} is no record: {problem}") from None
    return found


def whole(data: bytes) -> int:
    """How many bytes are whole lines."""
    return data.rfind(b"\n") + 1


class Log:
    """Appends records; opening one cuts off what was not finished."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        self._file.truncate(whole(path.read_bytes()))

    def append(self, record: Record) -> None:
        """Write one line, and return once it is on the disk."""
        self._file.write(msgspec.json.encode(record) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def replaced(path: Path, data: bytes) -> None:
    """Write a whole file at once or not at all."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)  # noqa: PTH105  the atomic one, by its usual name


def lines(records: Iterable[Record]) -> bytes:
    """Records as they stand in a file."""
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)
