"""What starting costs: processor time of `apprentice --help` and of importing the web application, beside a bare Python.

Each run is a fresh process; its user and system time is what the kernel counted for it and its children.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.report import bootstrap, median_of_rows, show

WEB_APPLICATION = "bot.web.app"


def processor_time(command: tuple[str, ...]) -> float:
    """Seconds, user and system, of one process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    python = sys.executable
    commands = {
        "apprentice --help": (str(Path(python).with_name("apprentice")), "--help"),
        f"import {WEB_APPLICATION}": (python, "-c", f"import {WEB_APPLICATION}"),
    }
    bare = statistics.median(processor_time((python, "-c", "pass")) for _ in range(runs))
    rows = [("python -c pass, s", f"{bare:.3f} (median of {runs})")]
    for name, command in commands.items():
        found = bootstrap([processor_time(command) for _ in range(runs + 1)][1:], median_of_rows)
        ratio = f"{found.estimate / bare:.1f} (95 % {found.low / bare:.1f} to {found.high / bare:.1f})"
        rows += [(f"{name}, s", found.shown(3)), (f"{name}, times python -c pass", ratio)]
    show(f"processor time of a start, medians of {runs} runs in fresh processes", rows)


if __name__ == "__main__":
    main()
