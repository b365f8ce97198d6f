"""How fast two mutation testers judge mutants: what others reach who have the same thing to do.

Both run in a plain process, without a sandbox, one mutant at a time, in a virtual environment of their own under .cache.
Their preparations (making the mutants, learning which tests run what) are not counted.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT = Path(".cache/mutation")
REQUIREMENTS = ("mutmut==3.3.1", "cosmic-ray==8.4.3", "pytest==8.4.2")
"""mutmut 3.3 does not run with pytest 9."""

TIMEOUT_SECONDS = 5.0


class Unavailable(Exception):
    """A tool cannot be had, or does not run here; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is mutated: one module of a package. `functions` are names of mutants as mutmut writes them, with wildcards.

    `rest` are files of the package that are not to be mutated, `beside` what else the tests need.
    """

    package: str
    module: str
    tests: str
    covering: str
    functions: tuple[str, ...]
    rest: tuple[str, ...]
    beside: tuple[str, ...]


TOOLZ = Target(
    package="toolz",
    module="toolz/itertoolz.py",
    tests="toolz/tests",
    covering="toolz/tests/test_itertoolz.py",
    functions=("toolz.itertoolz.x_tail*", "toolz.itertoolz.x_partition*", "toolz.itertoolz.x_merge_sorted*"),
    rest=(
        "toolz/tests/*",
        "toolz/sandbox/*",
        "toolz/_*",
        "toolz/functoolz.py",
        "toolz/dicttoolz.py",
        "toolz/curried/*",
        "toolz/recipes.py",
        "toolz/utils.py",
        "toolz/compatibility.py",
    ),
    beside=("tlz",),
)


def environment() -> Path:
    """The directory of the tools' programs, made when it is not there. Raises Unavailable."""
    programs = ENVIRONMENT.absolute() / "bin"
    mark = ENVIRONMENT / "made.txt"
    if not mark.is_file() or mark.read_text(encoding="utf-8") != str(REQUIREMENTS):
        _run((sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)), Path())
        _run((str(programs / "python"), "-m", "pip", "install", "--quiet", *REQUIREMENTS), Path())
        mark.write_text(str(REQUIREMENTS), encoding="utf-8")
    return programs


def mutmut(tree: Path, target: Target) -> float:
    """Mutants per second, each with its covering tests, as mutmut itself says. Writes to `tree`. Raises Unavailable."""
    lists = {"do_not_mutate": target.rest, "also_copy": target.beside}
    settings = ["[mutmut]", f"paths_to_mutate={target.package}", f"tests_dir={target.tests}"]
    settings += [f"{name}=" + "".join(f"\n    {value}" for value in values) for name, values in lists.items()]
    (tree / "setup.cfg").write_text("\n".join(settings) + "\n", encoding="utf-8")
    shutil.rmtree(tree / "mutants", ignore_errors=True)
    told = _run((str(environment() / "mutmut"), "run", "--max-children", "1", *target.functions), tree)
    rate = re.search(r"([\d.]+) mutations/second", told)
    if rate is None:
        raise Unavailable(f"mutmut said no rate: {told.strip()[-200:]}")
    return float(rate.group(1))


def cosmic_ray(tree: Path, target: Target, mutants: int) -> float:
    """Mutants per second, each with the tests of the module, stopped at the first failure. Raises Unavailable."""
    program = environment() / "cosmic-ray"
    settings = f"""
        [cosmic-ray]
        module-path = "{target.module}"
        timeout = {TIMEOUT_SECONDS}
        excluded-modules = []
        test-command = "{program.parent / "python"} -m pytest -x -q {target.covering}"
        [cosmic-ray.distributor]
        name = "local"
    """
    (tree / "cosmic.toml").write_text(settings, encoding="utf-8")
    session = tree / "session.sqlite"
    session.unlink(missing_ok=True)
    _run((str(program), "init", "cosmic.toml", session.name), tree)
    kept = _thin_out(session, mutants)
    begun = time.perf_counter()
    _run((str(program), "exec", "cosmic.toml", session.name), tree)
    return kept / (time.perf_counter() - begun)


def _thin_out(session: Path, most: int) -> int:
    """Leave `most` mutants from all over the module; how many there are."""
    with sqlite3.connect(session) as database:
        jobs = [job for (job,) in database.execute("SELECT job_id FROM mutation_specs ORDER BY start_pos_row, job_id")]
        kept = jobs[:: max(1, len(jobs) // most)][:most]
        for table in ("mutation_specs", "work_items"):
            database.executemany(
                f"DELETE FROM {table} WHERE job_id = ?",
                [(job,) for job in set(jobs) - set(kept)],
            )
    database.close()
    return len(kept)


def _run(command: Sequence[str], directory: Path) -> str:
    """What a command prints. Raises Unavailable when it fails."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{Path(command[0]).name} {command[1]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout
