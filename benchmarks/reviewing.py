"""How long a review of a large change takes, and how much of that its tools take bare on the same files.

    python -m benchmarks.reviewing REPOSITORY...

The change is real: the last so many commits of a repository taken together, as many as come nearest to the sizes asked
for. There is no model, and no test is run.
"""

from __future__ import annotations

import argparse
import math
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.history import directory_of, name_of
from benchmarks.report import show, spread
from workers.git import Mirror
from workers.ports import CompletedRun, SandboxSession, Workload
from workers.review.engine import Reviewed, review_change
from workers.sandbox.bubblewrap import Bubblewrap
from workers.work_tree import local_commits

MAX_COMMITS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The last `commits` commits of a branch together."""

    commits: int
    files: int
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """Both sides of a change, and the diff between them."""

    base: Path
    head: Path
    diff: str


@dataclass
class Watched:
    """A sandbox that keeps what was run in it."""

    ran: list[Workload] = field(default_factory=list)
    sandbox: Bubblewrap = field(default_factory=Bubblewrap)

    def run(self, workload: Workload) -> CompletedRun:
        """As the sandbox does."""
        self.ran.append(workload)
        return self.sandbox.run(workload)

    def session(self, workload: Workload) -> AbstractContextManager[SandboxSession]:
        """As the sandbox does."""
        return self.sandbox.session(workload)

    def tools(self) -> dict[str, Workload]:
        """The first run of each tool, which is that on the head of the change."""
        first: dict[str, Workload] = {}
        for workload in self.ran:
            first.setdefault(workload.command[3], workload)
        return first


def nearest(spans: Sequence[Span], *, files: int, lines: int) -> Span:
    """The one whose sizes are the fewest doublings away from those wanted."""

    def far(span: Span) -> float:
        return abs(math.log(max(span.files, 1) / files)) + abs(math.log(max(span.lines, 1) / lines))

    return min(spans, key=far)


def spans(directory: Path) -> list[Span]:
    """The sizes of the last commits together, for each number of them."""
    found = []
    for commits in range(1, MAX_COMMITS + 1):
        done = subprocess.run(
            ("git", "-C", str(directory), "diff", "--shortstat", f"HEAD~{commits}", "HEAD"),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            break
        files, *changed = (int(number) for number in re.findall(r"(\d+) (?:file|ins|del)", done.stdout) or ("0",))
        found.append(Span(commits=commits, files=files, lines=sum(changed)))
    return found


def exported(directory: Path, span: Span, at: Path) -> Trees:
    """Both trees, as a worker has them."""
    mirror = Mirror(directory, str(directory))
    base, head = local_commits(directory, (f"HEAD~{span.commits}", "HEAD"))
    return Trees(
        base=mirror.export(base, at / "base"), head=mirror.export(head, at / "head"), diff=mirror.diff(base, head)
    )


def reviewed(trees: Trees, sandbox: Watched) -> Reviewed:
    """The review, without tests."""
    return review_change(
        sandbox,
        base_tree=trees.base,
        head_tree=trees.head,
        diff=trees.diff,
        project=lambda _: None,
        may_run_tests=False,
        progress=lambda _: None,
    )


def processor_of_tools() -> float:
    """Seconds of processor time of all processes that were started from here and have ended; a busy machine adds none."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bare(workload: Workload) -> float:
    """Seconds that a tool takes on the same files without a sandbox."""
    with tempfile.TemporaryDirectory() as folder:
        for path, content in workload.overlay.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content or b"")
        begun = time.perf_counter()
        subprocess.run(workload.command, cwd=folder, capture_output=True, check=False)
        return time.perf_counter() - begun


def measure(path: Path, runs: int, wanted: tuple[int, int]) -> None:
    """Review and tools in turn, each run with the whole of both."""
    directory = directory_of(path)
    span = nearest(spans(directory), files=wanted[0], lines=wanted[1])
    whole, tools, beyond, getting = [], [], [], []
    ours, boxed, unboxed = [], [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="apprentice-") as scratch:
            begun = time.perf_counter()
            trees = exported(directory, span, Path(scratch))
            getting.append(time.perf_counter() - begun)
            sandbox = Watched()
            begun, own, others = time.perf_counter(), time.process_time(), processor_of_tools()
            result = reviewed(trees, sandbox)
            whole.append(time.perf_counter() - begun)
            ours.append(time.process_time() - own)
            boxed.append(processor_of_tools() - others)
        others = processor_of_tools()
        tools.append(sum(map(bare, sandbox.tools().values())))
        unboxed.append(processor_of_tools() - others)
        beyond.append(whole[-1] - tools[-1])
    size = f"{span.files} files, {span.lines} changed lines, {result.files_read} files read by every detector"
    show(
        f"a review of the last {span.commits} commits of {name_of(path)}: {size}",
        [
            ("review, s", spread(whole)),
            (f"{', '.join(sandbox.tools())} bare on the head, s", spread(tools)),
            ("beyond the tools, s", spread(beyond)),
            ("times the tools", spread([one / other for one, other in zip(whole, tools, strict=True)])),
            ("processor time of our own process, s", spread(ours)),
            (f"processor time of the {len(sandbox.ran)} runs of tools, s", spread(boxed)),
            ("processor time of the bare tools, s", spread(unboxed)),
            ("both trees and the diff from the mirror, s", spread(getting)),
            ("findings", f"{len(result.findings)} on changed lines, {len(result.elsewhere)} elsewhere"),
        ],
    )


def main() -> None:
    """Read arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--files", type=int, default=50, help="files of the change")
    parser.add_argument("--lines", type=int, default=2_000, help="lines added and removed")
    given = parser.parse_args()
    for path in given.repositories:
        measure(path, given.runs, (given.files, given.lines))


if __name__ == "__main__":
    main()
