"""Runs the attacks in argv[1] in a sandbox without pytest, and prints what the inside reported: JSON, a line each.

Started as an ordinary user on an interpreter that this user may read; standard library only.
"""

from __future__ import annotations

import sys
from pathlib import Path

from workers.ports import Limits, Workload
from workers.sandbox.bubblewrap import Bubblewrap

INSIDE = """
import json, os, sys
sys.path.insert(0, os.getcwd())
import test_attacks
for name in sorted(vars(test_attacks)):
    if name.startswith("test_"):
        try:
            vars(test_attacks)[name]()
            said = "succeeded"
        except BaseException as problem:
            said = f"{type(problem).__name__}: {problem}"
        os.write(int(os.environ["APPRENTICE_REPORT_FD"]), (json.dumps([name, said]) + chr(10)).encode())
"""


def main() -> None:
    workload = Workload(
        command=("python", "-c", INSIDE),
        tree=Path(sys.argv[1]),
        python=Path(sys.executable),
        limits=Limits(wall_seconds=90, memory_mb=384, processes=64, disk_mb=24),
    )
    completed = Bubblewrap().run(workload)
    sys.stdout.write(completed.report.decode())
    sys.stderr.write(f"{completed.ending} {completed.exit_code} {completed.stderr}")


if __name__ == "__main__":
    main()
