"""What a job costs and how far workers go (`jobs`, `reviews`), what grows (`long`), and a night without GitHub (`night`).

Everything runs on this machine, the stand-in for GitHub too: where its cores are full, more workers do not help, and the
seconds of the processor for a job are the figure to reckon with.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.chaos.servers import children
from benchmarks.report import show
from benchmarks.scale.rig import USER, Rig, rig
from benchmarks.scale.worker import JobNote
from memory.model import Actor
from memory.store import Store
from workers.jobs import AnswerCommand, Job, RepositoryRef, ReviewPull, TrackPull

KINDS = ("embedded", "servers")
MILLION = 1_000_000
FILES = {
    "pantry/__init__.py": "",
    "pantry/units.py": "def shown(amount):\n    return f'{amount} g'\n",
    "tests/test_units.py": "from pantry.units import shown\n\n\ndef test_shown():\n    assert shown(2) == '2 g'\n",
}
PART = "import os\n\n\ndef part_{number}(amount):\n    if amount == None:\n        return 0\n    return amount + {number}\n"


def _refs(this: Rig) -> list[RepositoryRef]:
    world = this.github.world
    return [
        RepositoryRef(id=each.id, full_name=each.full_name, installation_id=world.installations_on(each)[0].id)
        for each in world.repositories.values()
    ]


def _names(count: int) -> dict[str, Mapping[str, str]]:
    return {f"owner-{n // 2}/repository-{n}": FILES for n in range(count)}


# ── Jobs that do nothing, and reviews ──────────────────────────────────────────────────────────────────────────────


def jobs(kind: str, workers: Sequence[int], count: int) -> list[tuple[str, str]]:
    """Rows about jobs that do nothing: what the queue itself costs."""
    found = []
    for number in workers:
        with rig(kind, _names(20)) as this:
            refs, actor = _refs(this), Actor(id=1, login=USER)
            this.add([
                TrackPull(repository=refs[n % len(refs)], actor=actor, number=n, head_sha="a" * 40) for n in range(count)
            ])  # fmt: skip
            with this.processes(workers=number, no_op=True):
                this.await_done()
            found.append((f"{kind}, {number} workers", times_of(this.notes_by_process())))
    return found


def reviews(kind: str, workers: Sequence[int], count: int) -> list[tuple[str, str]]:
    """Rows about reviews of small pull requests, each with a run of the tests of both sides."""
    found = []
    for number in workers:
        with rig(kind, _names(6)) as this:
            asked = pulls(this, count)
            with this.processes(workers=number):
                this.add(asked)
                this.await_done()
            found.append((f"{kind}, {number} workers", times_of(this.notes_by_process())))
    return found


def pulls(this: Rig, count: int) -> list[ReviewPull]:
    """Open so many pull requests; the jobs that review them."""
    refs, actor = _refs(this), Actor(id=this.github.world.user(USER).id, login=USER)
    made = []
    for number in range(count):
        ref = refs[number % len(refs)]
        branch, files = f"part-{number}", {f"pantry/part_{number}.py": PART.format(number=number)}
        sha = this.github.commit(ref.full_name, USER, branch, files)
        wanted = {"head": branch, "base": "main", "title": f"Part {number}", "body": ""}
        pull = this.github.act(USER, "POST", f"/repos/{ref.full_name}/pulls", **wanted)
        made.append(ReviewPull(repository=ref, actor=actor, number=int(pull["number"]), head_sha=sha))
    return made


def times_of(notes: Mapping[str, Sequence[JobNote]]) -> str:
    """Jobs a second of all processes together, and of a job its statements, commits and milliseconds of the processor."""
    ends = sorted(note.at for each in notes.values() for note in each)
    steady = ends[len(ends) // 10 :]  # by then every process has begun
    spans = [(each[0], each[-1], len(each) - 1) for each in notes.values() if len(each) > 1]
    done = sum(count for *_, count in spans)
    statements, commits, busy = (
        sum(getattr(last, name) - getattr(first, name) for first, last, _ in spans) / done
        for name in ("statements", "commits", "processor")
    )
    rate = (len(steady) - 1) / (steady[-1] - steady[0])
    return f"{rate:.1f} a second; {statements:.1f} statements, {commits:.1f} commits, {1000 * busy:.1f} ms of processor"


# ── Many jobs through one worker ───────────────────────────────────────────────────────────────────────────────────


def long(kind: str, count: int) -> list[tuple[str, str]]:
    """Rows about answers to `help`, all of one worker: what grows between its first and its last tenth."""
    with rig(kind, _names(20)) as this:
        asked = helps(this, count)
        sizes = [_sizes(this)]
        with this.processes(workers=1) as workers:
            this.add(asked)
            this.await_done(lambda: sizes.append(_sizes(this)))
            parents = [_memory(pid) for pid in workers]
            processes = len([each for pid in workers for each in children(pid)])
        (notes,) = this.notes_by_process().values()
    tenth = max(len(notes) // 10, 1)
    first, last = notes[tenth : 2 * tenth], notes[-tenth:]
    return [
        (f"{kind}, {len(notes)} answers", times_of({"one": notes})),
        ("memory of the process", _grown(first, last, lambda note: note.memory / MILLION, "MB")),
        ("memory of its parent at the end", f"{parents[0] / MILLION:.0f} MB, {processes} child"),
        ("open files", _grown(first, last, lambda note: note.files, "")),
        ("database", f"{(sizes[-1][0] - sizes[0][0]) / count / 1000:.1f} kB a job"),
        ("scratch at the end", f"{sizes[-1][1]} files"),
        ("statements a job", _grown_rate(first, last, lambda note: note.statements)),
        ("milliseconds of processor a job", _grown_rate(first, last, lambda note: 1000 * note.processor)),
    ]


def helps(this: Rig, count: int) -> list[Job]:
    """Ask for help in so many comments, ten in each issue; the jobs that answer."""
    refs, actor = _refs(this), Actor(id=this.github.world.user(USER).id, login=USER)
    asked: list[Job] = []
    while len(asked) < count:
        ref = refs[len(asked) // 10 % len(refs)]
        issue = this.github.act(USER, "POST", f"/repos/{ref.full_name}/issues", title="How?", body="")
        for _ in range(min(10, count - len(asked))):
            path = f"/repos/{ref.full_name}/issues/{issue['number']}/comments"
            posted = this.github.act(USER, "POST", path, body="@apprentice help")
            number, comment = int(issue["number"]), int(posted["id"])
            asked.append(AnswerCommand(repository=ref, actor=actor, number=number, comment_id=comment, command="help"))
    return asked


def _sizes(this: Rig) -> tuple[int, int]:
    """Bytes of the database, and the number of files in scratch."""
    embedded = sum(path.stat().st_size for path in this.home.glob("apprentice.db*"))
    scratch = sum(1 for _ in (this.home / "scratch").rglob("*"))
    return embedded or _server_size(this.store), scratch


def _server_size(store: Store) -> int:
    with store.database.reading() as connection:
        return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())


def _memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def _grown(first: Sequence[JobNote], last: Sequence[JobNote], of: Callable[[JobNote], float], unit: str) -> str:
    before, after = (float(np.median([of(note) for note in each])) for each in (first, last))
    return f"{before:.0f} {unit} in the second tenth, {after:.0f} {unit} in the last".replace("  ", " ")


def _grown_rate(first: Sequence[JobNote], last: Sequence[JobNote], of: Callable[[JobNote], float]) -> str:
    before, after = ((of(each[-1]) - of(each[0])) / max(len(each) - 1, 1) for each in (first, last))
    return f"{before:.1f} in the second tenth, {after:.1f} in the last"


# ── A night without GitHub ─────────────────────────────────────────────────────────────────────────────────────────


def night(kind: str, polls: int, seconds: int) -> list[tuple[str, str]]:
    """Rows about requests to GitHub before, while and after it was away for so many times of polling."""
    with rig(kind, _names(6), poll_seconds=seconds) as this:
        asked = pulls(this, 12)
        with this.processes(workers=2, sweeper=True):
            this.add(asked)
            time.sleep(10 * seconds)  # they are reviewed, and their reactions are polled from then on
            usual = _requests(this, 4 * seconds)
            this.github.away = True
            away = _requests(this, polls * seconds)
            this.github.away = False
            later = [_requests(this, seconds) for _ in range(8)]
    return [
        (f"{kind}: requests in each time of polling", f"{usual / 4:.1f}"),
        (f"in each of {polls} while GitHub was away", f"{away / polls:.1f}"),
        ("in each after it came back", ", ".join(f"{each:.0f}" for each in later)),
    ]


def _requests(this: Rig, seconds: float) -> int:
    before = this.github.counts["requests"]
    time.sleep(seconds)
    return this.github.counts["requests"] - before


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("what", choices=("jobs", "reviews", "long", "night"))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 3, 4])
    parser.add_argument("--count", type=int, help="jobs; of polling times for `night`")
    given = parser.parse_args()
    rows: list[tuple[str, str]] = []
    for kind in given.kinds:
        if given.what == "jobs":
            rows += jobs(kind, given.workers, given.count or 3000)
        elif given.what == "reviews":
            rows += reviews(kind, given.workers, given.count or 24)
        elif given.what == "long":
            rows += long(kind, given.count or 20_000)
        else:
            rows += night(kind, given.count or 60, seconds=10)
    show(f"scale: {given.what}", rows)


if __name__ == "__main__":
    main()
