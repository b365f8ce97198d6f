"""What foreign texts and git objects that are made to hold a worker cost: each case in a process of its own, as a job.

The flow of a leased job does the work; the heartbeat of the same process renews the lease meanwhile.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks.report import show
from workers.diffs import parse_diff
from workers.environments.tree_files import toml
from workers.errors import ApprenticeError
from workers.flows.repair import issue_test
from workers.git import FETCHING, FETCHING_MUCH, Mirror
from workers.git_command import run_git
from workers.job_context import open_job_context
from workers.jobs import CheckPolicy, Job
from workers.messages.markdown import prose
from workers.queue.enqueue import rows
from workers.queue.runner import run_leased
from workers.redaction import redact
from workers.repair.classify import normalised
from workers.review.detectors.dependencies import needed_in
from workers.review.detectors.secrets import secrets_in
from workers.settings import WorkerSettings

LEASE_SECONDS = 1.5


# ── Repositories that are small on disk ────────────────────────────────────────────────────────────────────────────


class Objects:
    """A bare repository whose objects are written one by one."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)
        if not (directory / "HEAD").exists():
            run_git("init", "--quiet", "--bare", ".", at=directory)

    def put(self, kind: str, content: bytes) -> str:
        """Write an object; returns its id."""
        raw = f"{kind} {len(content)}\0".encode() + content
        sha = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        file = self.directory / "objects" / sha[:2] / sha[2:]
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(raw))
        return sha

    def tree(self, entries: dict[str, tuple[str, str]]) -> str:
        """Write a tree of modes and ids by name."""
        lines = (f"{mode} {name}\0".encode() + bytes.fromhex(sha) for name, (mode, sha) in sorted(entries.items()))
        return self.put("tree", b"".join(lines))

    def files(self, contents: dict[str, str]) -> str:
        return self.tree({name: ("100644", sha) for name, sha in contents.items()})

    def commit(self, tree: str, *parents: str, branch: str = "main") -> str:
        """Write a commit, which becomes a branch."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"{role} Mallory <mallory@example.org> 1700000000 +0000" for role in ("author", "committer")]
        sha = self.put("commit", "\n".join([*lines, "", "bomb\n"]).encode())
        (self.directory / "refs" / "heads" / branch).write_text(f"{sha}\n")
        return sha

    def change(self, tree: str) -> tuple[str, str]:
        """An empty commit, and one of this tree on top of it."""
        base = self.commit(self.files({}))
        return base, self.commit(tree, base)


def nested(objects: Objects, levels: int, width: int, leaf: tuple[str, str]) -> str:
    """Directories in directories, all of one level the same one."""
    for _ in range(levels):
        leaf = ("40000", objects.tree({f"d{number}": leaf for number in range(width)}))
    return leaf[1]


def tree_bomb(objects: Objects) -> tuple[str, str]:
    """Ten billion files in a dozen objects."""
    return objects.change(nested(objects, 10, 10, ("100644", objects.put("blob", b"boom\n"))))


def empty_tree_bomb(objects: Objects) -> tuple[str, str]:
    """Ten billion directories without a file."""
    return objects.change(nested(objects, 10, 10, ("40000", objects.files({}))))


def million_paths(objects: Objects) -> tuple[str, str]:
    """A thousand directories of a thousand files."""
    return objects.change(nested(objects, 2, 1000, ("100644", objects.put("blob", b"boom\n"))))


def deep_path(objects: Objects) -> tuple[str, str]:
    """A path of eight thousand directories."""
    return objects.change(nested(objects, 8_000, 1, ("100644", objects.put("blob", b"boom\n"))))


def zeros(objects: Objects) -> tuple[str, str]:
    """Kilobytes of objects, 600 MB of files."""
    blob = objects.put("blob", bytes(6_000_000))
    return objects.change(objects.files({f"f{number}.bin": blob for number in range(100)}))


def one_blob_of_zeros(objects: Objects) -> tuple[str, str]:
    """One file of 550 MB, packed as a server would have it."""
    change = objects.change(objects.files({"f.bin": objects.put("blob", bytes(550_000_000))}))
    run_git("repack", "-a", "-d", "--quiet", at=objects.directory, limits=FETCHING_MUCH)
    return change


def shared_text(objects: Objects) -> tuple[str, str]:
    """Kilobytes of objects, gigabytes of diff."""
    blob = objects.put("blob", b"a = 1\n" * 650_000)
    return objects.change(objects.files({f"f{number}.py": blob for number in range(300)}))


def many_renames(objects: Objects) -> tuple[str, str]:
    """Four thousand files moved, each with another line: no two are equal, all are alike."""
    text = "".join(f"line {number}\n" for number in range(40))
    old = {f"a{n}.py": objects.put("blob", f"{text}x = {n}\n".encode()) for n in range(4000)}
    new = {f"b{n}.py": objects.put("blob", f"{text}y = {n}\n".encode()) for n in range(4000)}
    base = objects.commit(objects.files(old))
    return base, objects.commit(objects.files(new), base)


def long_lines(objects: Objects) -> tuple[str, str]:
    """Lines of megabytes."""
    return objects.change(
        objects.files({f"f{n}.py": objects.put("blob", f"x{n} = '{'ab' * 1_900_000}'\n".encode()) for n in range(5)})
    )


def delta_pack(deltas: int) -> bytes:
    """A pack of one blob of 64 kB and of deltas, each of which doubles what is before it."""
    content = bytes(65_536)
    objects, size = [_entry(3, len(content)) + zlib.compress(content)], len(content)
    for _ in range(deltas):
        name = hashlib.sha1(f"blob {size}\0".encode() + bytes(size), usedforsecurity=False).digest()
        copies = [(start, min(0xFFFFFF, size - start)) for start in range(0, size, 0xFFFFFF)] * 2
        delta = (
            _number(size)
            + _number(2 * size)
            + b"".join(b"\xff" + struct.pack("<I", at) + n.to_bytes(3, "little") for at, n in copies)
        )
        objects.append(_entry(7, len(delta)) + name + zlib.compress(delta))
        size *= 2
    pack = b"PACK" + struct.pack(">II", 2, len(objects)) + b"".join(objects)
    return pack + hashlib.sha1(pack, usedforsecurity=False).digest()


def _entry(kind: int, size: int) -> bytes:
    first, rest = kind << 4 | size & 15, size >> 4
    return bytes([first | (128 if rest else 0)]) + (_number(rest) if rest else b"")


def _number(number: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    high = number >> 7
    return bytes([number & 127 | (128 if high else 0)]) + (_number(high) if high else b"")


BOMBS: dict[str, Callable[[Objects], tuple[str, str]]] = {
    made.__name__: made
    for made in (
        *(tree_bomb, empty_tree_bomb, million_paths, deep_path, zeros, one_blob_of_zeros, shared_text),
        *(many_renames, long_lines),
    )
}
DELTAS = 16
"""So many deltas make 4 GB of 64 kB."""

TOKEN = "ghp_" + "aB3dE5gH7j" * 3
TEXTS: dict[str, Callable[[], object]] = {
    "issue body, 64 kB of open fences": lambda: issue_test("```python \n" * 6000),
    "issue body, 64 kB of blanks": lambda: issue_test("```python" + " \n" * 32_000),
    "redaction, 1 MB of web tokens": lambda: redact("-eyJabcdefghijk" * 66_000),
    "secrets, 1 MB of tokens": lambda: secrets_in("a.py", "".join(f"{TOKEN}{n:06}\n" for n in range(24_000))),
    "requirements, 1 MB": lambda: needed_in("requirements.txt", "a" + " " * 1_000_000 + "b"),
    "TOML, a key of 1 MB": lambda: toml("a." * 500_000 + "b = 1"),
    "failure, 1 MB of one word": lambda: normalised("a" * 1_000_000),
    "comment, 64 kB of links": lambda: prose("a." * 32_000, room=64_000),
    "diff, 4 MB of headers": lambda: parse_diff("diff --git a/x b/x\n" + "--- a\n" * 650_000),
}


# ── One case, in a process of its own ──────────────────────────────────────────────────────────────────────────────


def git_case(place: Path) -> None:
    """What a review does with a change: fetch it, compare it, write both trees."""
    base, head = (place / "commits").read_text().split()
    mirror = Mirror(place / "mirror", str(place / "remote"))
    mirror.fetch(base, head)
    parse_diff(mirror.diff(base, head))
    mirror.export(head, place / "tree")


def delta_case(place: Path) -> None:
    """What a fetch does with a pack."""
    Objects(place / "mirror")
    run_git(
        "index-pack", "--stdin", "--strict", at=place / "mirror", stdin=(place / "pack").read_bytes(), limits=FETCHING
    )


def prepare(name: str, place: Path) -> None:
    """Write the objects of a case."""
    if name in BOMBS:
        (place / "commits").write_text(" ".join(BOMBS[name](Objects(place / "remote"))))
    elif name not in TEXTS:
        (place / "pack").write_bytes(delta_pack(DELTAS))


def run_case(name: str, place: Path) -> dict[str, object]:
    """Run one case as the flow of a job; returns what it cost and how it ended."""
    work = TEXTS.get(name) or (partial(git_case, place) if name in BOMBS else partial(delta_case, place))
    done: dict[str, object] = {"refusal": ""}

    def flow(_job: Job, _context: object) -> Sequence[Job]:
        began, computed = time.monotonic(), sum(os.times()[:4])
        try:
            work()
        except (ApprenticeError, ValueError) as error:
            done["refusal"] = str(error)
        done["seconds"], done["computed"] = time.monotonic() - began, sum(os.times()[:4]) - computed
        beats.append(time.monotonic())
        return ()

    def clock() -> datetime:
        if threading.current_thread().name.startswith("heartbeat-"):  # it is asked just before each renewal
            beats.append(time.monotonic())
        return datetime.now(UTC)

    settings = WorkerSettings(home=place / "home", embedder="words", lease_seconds=LEASE_SECONDS)
    context = open_job_context(settings, flows={CheckPolicy: flow}, clock=clock)
    (row,) = new = rows("benchmark", [CheckPolicy()])
    context.store.jobs.enqueue(new, now=clock())
    beats = [time.monotonic()]
    run_leased(context, row.id, worker="benchmark", send=lambda _ids: None)
    own = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    # A child's peak begins at that of the process that started it, so what git used is at most this.
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if name not in TEXTS else 0
    stored = context.store.jobs.job(row.id)
    longest = max(after - before for before, after in pairwise(beats))
    return done | {
        "mb": int(own.split()[1]) / 1024,
        "git_mb": children / 1024,
        "longest": longest,
        "state": stored.state.value if stored else "",
    }


def measured(name: str) -> dict[str, object]:
    """One case in a child process, prepared in another."""
    with tempfile.TemporaryDirectory(prefix="apprentice-limits-") as scratch:
        command = (sys.executable, "-m", "benchmarks.host_limits", "--at", scratch)
        subprocess.run((*command, "--prepare", name), check=True)
        output = subprocess.run((*command, "--case", name), capture_output=True, text=True, check=True).stdout
    found: dict[str, object] = json.loads(output.splitlines()[-1])
    return found


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.host_limits", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="the cases whose name has this word")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--prepare", help=argparse.SUPPRESS)
    parser.add_argument("--at", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.prepare:
        prepare(given.prepare, given.at)
        return
    if given.case:
        print(json.dumps(run_case(given.case, given.at)))
        return
    lines = []
    for name in (name for name in (*TEXTS, *BOMBS, "delta_pack") if given.only in name):
        found = measured(name)
        cost = f"{found['seconds']:.2f} s ({found['computed']:.2f} s of processor time), {found['mb']:.0f} MB and git at most {found['git_mb']:.0f} MB, longest gap of heartbeats {found['longest']:.2f} s, job {found['state']}"
        lines.append((name, f"{cost}; {found['refusal'] or 'read'}"))
        print(*lines[-1], sep=": ", file=sys.stderr)
    show(f"cost of each case; a lease is {LEASE_SECONDS} s", lines)


if __name__ == "__main__":
    main()
