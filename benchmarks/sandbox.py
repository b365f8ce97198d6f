"""What the sandbox costs to start: `true` in it against a plain process, and the same with a checkout copied in."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import bootstrap, median_of_rows, show
from workers.ports import Ending, Workload
from workers.sandbox.bubblewrap import Bubblewrap

FILES, FILE_BYTES = 200, 4_000
COPIES = "the sandbox copies into memory, the plain process to wherever temporary files live"


def run(runs: int, files: int) -> None:
    """Measure and print; the four take turns, so that the machine's other work meets all alike."""
    with tempfile.TemporaryDirectory(prefix="apprentice-sandbox-") as scratch:
        empty, checkout = Path(scratch) / "empty", Path(scratch) / "checkout"
        empty.mkdir()
        written(checkout, files)
        ways: dict[str, Callable[[], None]] = {
            "plain process": lambda: plain(None),
            "sandbox": lambda: sandboxed(empty),
            f"plain process, {files} files copied": lambda: plain(checkout),
            f"sandbox, {files} files copied in": lambda: sandboxed(checkout),
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(runs + 1):
            for name, way in ways.items():
                begun = time.perf_counter()
                way()
                if number:  # the first round warms the caches
                    seconds[name].append(time.perf_counter() - begun)
    _print(seconds, runs)


def _print(seconds: dict[str, list[float]], runs: int) -> None:
    base, boxed, base_copied, boxed_copied = seconds.values()
    rows = [
        (f"{name}, ms", bootstrap([1000 * s for s in found], median_of_rows).shown(1))
        for name, found in seconds.items()
    ]
    for name, over, under in (("ratio, empty", boxed, base), ("ratio, with files", boxed_copied, base_copied)):
        ratios = [one / other for one, other in zip(over, under, strict=True)]
        rows.append((name, bootstrap(ratios, median_of_rows).shown(1)))
    show(f"sandbox: starting `true`, medians of {runs} runs of each in turn", rows, [COPIES])


def written(checkout: Path, files: int) -> None:
    """A checkout of so many files in ten directories."""
    for number in range(files):
        path = checkout / f"package_{number % 10}" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"VALUE = {number}\n" * (FILE_BYTES // 12))


def plain(tree: Path | None) -> None:
    """`true` as a child process, in a copy of `tree`."""
    with tempfile.TemporaryDirectory(prefix="apprentice-plain-") as scratch:
        if tree is not None:
            shutil.copytree(tree, Path(scratch) / "tree")
        subprocess.run(["true"], cwd=scratch, env={}, check=True)


def sandboxed(tree: Path) -> None:
    """`true` in the sandbox, with a copy of `tree`."""
    completed = Bubblewrap().run(Workload(command=("true",), tree=tree, python=Path(sys.executable)))
    if completed.ending is not Ending.EXITED or completed.exit_code != 0:
        raise SystemExit(f"the sandbox did not run: {completed.ending}, {completed.stderr}")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sandbox", description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--files", type=int, default=FILES)
    given = parser.parse_args()
    run(given.runs, given.files)


if __name__ == "__main__":
    main()
