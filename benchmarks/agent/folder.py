"""The folder of a run: its plan, a line for each finished case, its accounts, and the memories that it can resume from.

A case is finished when its line is whole, newline included. One writer appends the lines, each is on the disk before the
next case begins, and a last line that was cut off is dropped with everything that its case did.

A case works on a copy of the memory. Once it has ended, the copy gets its name, and only then the record that names it is
written. So a case that was broken off leaves nothing to be counted twice or to be remembered when it is tried again: its
copy is thrown away, whatever stood in it. Deleting by the task's id would do the same only as long as every table knows
of it, and sums of the policy could not be distinguished any more.

What was paid is no part of that: the accounts are a store of their own, which every call enters before it is made.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

# ── Records ──────────────────────────────────────────────────────────────────────────────────────────────────────────


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


# ── The folder ───────────────────────────────────────────────────────────────────────────────────────────────────────


HOME = Path(".cache/agent")


@dataclass(frozen=True, slots=True)
class Folder:
    """The progress of a run."""

    path: Path

    @property
    def records(self) -> list[Record]:
        """The finished cases. Raises BadRun."""
        return read(self._lines)

    @property
    def accounts(self) -> str:
        """The URL of the store that holds what was paid."""
        return f"sqlite:///{self.path.resolve()}/accounts.db"

    @property
    def plan(self) -> Plan:
        """What the run is. Raises BadRun."""
        try:
            return msgspec.json.decode((self.path / "plan.json").read_bytes(), type=Plan)
        except (OSError, msgspec.DecodeError) as problem:
            raise BadRun(f"{self.path} holds no run: {problem}") from None

    @property
    def begun(self) -> bool:
        return (self.path / "plan.json").exists()

    @property
    def _lines(self) -> Path:
        return self.path / "records.jsonl"

    def begin(self, plan: Plan) -> None:
        """Write the plan, or see that it is the one that was begun. Raises BadRun."""
        if not self.begun:
            replaced(self.path / "plan.json", msgspec.json.format(msgspec.json.encode(plan), indent=1))
        elif differing := self.plan.differs(plan):
            raise BadRun(
                f"{self.path} was begun with other {', '.join(differing)}: give the same, or another --run-name"
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other process from writing here. Raises BadRun when one does."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "lock").open("w") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BadRun(f"another process is at work in {self.path}") from None
            yield

    def log(self) -> Log:
        """The one writer of records."""
        return Log(self._lines)

    def go_back(self, trial: int) -> None:
        """Set aside what this trial and later ones left. Raises BadRun where the trial before it is not there."""
        known = self.records
        if trial > 1 and not any(record.trial == trial - 1 for record in known):
            raise BadRun(f"--start-trial {trial}: trial {trial - 1} has not begun in {self.path}")
        later = [record for record in known if record.trial >= trial]
        if later:
            number = len(list(self.path.glob("set-aside-*.jsonl"))) + 1
            replaced(self.path / f"set-aside-{number}.jsonl", lines(later))
            replaced(self._lines, lines(record for record in known if record.trial < trial))

    # ── Memories ───────────────────────────────────────────────────────────────────────────────────────────────────

    def copy_of(self, store: str) -> Path:
        """A copy of a memory to work on, an empty one for no name. What an earlier case left there is gone."""
        work = self.path / "work"
        shutil.rmtree(work, ignore_errors=True)
        if store:
            shutil.copytree(self.path / "stores" / store, work)
        else:
            work.mkdir()
        return work

    def keep(self, name: str) -> str:
        """Give the copy that was worked on a name, once it is on the disk; the name."""
        stores = self.path / "stores"
        stores.mkdir(exist_ok=True)
        work, kept = self.path / "work", stores / name
        shutil.rmtree(kept, ignore_errors=True)  # of a case that ended before its record was written
        for file in [*work.rglob("*"), work]:
            _to_disk(file)
        work.rename(kept)
        _to_disk(stores)
        return name

    def tidy(self, records: Sequence[Record]) -> None:
        """Delete memories that nothing goes on from: all but the one in force and the last of each trial."""
        needed = {record.trial: record.store for record in records}.values()
        for path in (self.path / "stores").glob("*"):
            if path.name not in needed:
                shutil.rmtree(path)


def _to_disk(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
