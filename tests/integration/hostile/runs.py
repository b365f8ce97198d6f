"""Runs attacks and bombs in a sandbox without pytest; as an ordinary user it is started as a program of its own.

    python -B runs.py attacks REPOSITORY      prints how each attack ended
    python -B runs.py plainly REPOSITORY NAME…   the same for some, without a sandbox
    python -B runs.py bomb NAME               prints ending, report and errors

Standard library only, on an interpreter that this user may read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bombs import code_of, limits_of

from workers.ports import CompletedRun, Limits, Workload
from workers.sandbox.bubblewrap import Bubblewrap

TIGHT = Limits(wall_seconds=280, memory_mb=384, processes=64, disk_mb=24)
INSIDE = """
import glob, importlib, json, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())
report = int(os.environ.get("APPRENTICE_REPORT_FD", "1"))
for path in sorted(glob.glob("test_*.py")):
    for name, attack in sorted(vars(importlib.import_module(path[:-3])).items()):
        if not name.startswith("test_") or sys.argv[1:] and name not in sys.argv:
            continue
        if not os.fork():
            try:
                attack()
                end = "succeeded"
            except BaseException as problem:
                end = f"{type(problem).__name__}: {problem}"
            os.write(report, (json.dumps([name, end[:200]]) + chr(10)).encode())
            os._exit(0)
        os.wait()
"""


def attacks(repository: Path, python: Path) -> dict[str, str]:
    """How each attack of a malicious repository ended; a process each."""
    workload = Workload(command=("python", "-c", INSIDE), tree=repository, python=python, limits=TIGHT)
    completed = Bubblewrap().run(workload)
    assert (completed.ending, completed.exit_code) == ("exited", 0), completed
    return dict(json.loads(line) for line in completed.report.splitlines())


def plainly(repository: Path, names: list[str]) -> dict[str, str]:
    """How these end for an ordinary process."""
    done = subprocess.run([sys.executable, "-c", INSIDE, *names], cwd=repository, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(line) for line in done.stdout.splitlines())


def bomb(name: str, python: Path) -> CompletedRun:
    """One run in an empty checkout."""
    with tempfile.TemporaryDirectory() as tree:
        command = ("python", "-c", code_of(name))
        return Bubblewrap().run(Workload(command=command, tree=Path(tree), python=python, limits=limits_of(name)))


def main() -> None:
    task, what, python = sys.argv[1], sys.argv[2], Path(sys.executable)
    if task == "attacks":
        print(json.dumps(attacks(Path(what), python)))
    elif task == "plainly":
        print(json.dumps(plainly(Path(what), sys.argv[3:])))
    else:
        done = bomb(what, python)
        print(json.dumps([done.ending, done.report.decode(errors="replace")[-100:], done.stderr[-400:]]))


if __name__ == "__main__":
    main()
