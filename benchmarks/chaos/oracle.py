"""What has to be there at the end, by what users did, against what is there: lost, doubled, stuck, silent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.model.jobs import JobState

ONCE = "once "
"""Begins the names of effects that may be there, and then once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How often an effect has to be there at least, and may be there at most."""

    least: int = 1
    most: int = 1

    def more(self, least: int, most: int) -> Bounds:
        return Bounds(least=self.least + least, most=self.most + most)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """A job when nothing is left to do. `reported`: its failure reached the user who asked, or else the log."""

    id: str
    kind: str
    state: JobState
    reason: str = ""
    reported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosVerdict:
    """What is wrong, a line each."""

    lost: tuple[str, ...] = ()
    doubled: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    failed: tuple[str, ...] = field(default=(), compare=False)
    """The failures that were reported."""

    @property
    def good(self) -> bool:
        return not (self.lost or self.doubled or self.stuck or self.silent)


def judge(expected: Mapping[str, Bounds], found: Counter[str], jobs: Sequence[JobEnd]) -> ChaosVerdict:
    """Compare by name. An unexpected effect may not be there, but for those that begin with ONCE."""
    ended = [each for each in jobs if each.state in (JobState.FAILED, JobState.DEAD)]
    nothing = Bounds(least=0, most=0)
    most = {name: expected.get(name, Bounds() if name.startswith(ONCE) else nothing).most for name in found}
    return ChaosVerdict(
        lost=tuple(
            f"{name}: {found[name]} of {each.least}" for name, each in expected.items() if found[name] < each.least
        ),
        doubled=tuple(f"{name}: {count} of {most[name]}" for name, count in found.items() if count > most[name]),
        stuck=tuple(_line(each) for each in jobs if each.state in (JobState.READY, JobState.LEASED)),
        silent=tuple(_line(each) for each in ended if not each.reported),
        failed=tuple(_line(each) for each in ended if each.reported),
    )


def _line(job: JobEnd) -> str:
    return f"{job.kind} {job.id} is {job.state}: {job.reason or 'no reason'}"
