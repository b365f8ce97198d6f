"""The folder of a run: its plan, its records, its accounts, and the memories that it can go on from.

A case works on a copy of the memory. Once it has ended, the copy gets its name, and only then the record that names it is
written. So a case that was broken off leaves nothing to be counted twice or to be remembered when it is tried again: its
copy is thrown away, whatever stood in it. Deleting by the task's id would do the same only as long as every table knows
of it, and sums of the policy could not be told apart any more.

What was paid is no part of that: the accounts are a store of their own, which every call enters before it is made.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.agent.records import BadRun, Log, Plan, Record, lines, read, replaced

HOME = Path(".cache/agent")


@dataclass(frozen=True, slots=True)
class Folder:
    """Where a run stands."""

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
