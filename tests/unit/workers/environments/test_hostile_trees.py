"""Checkouts whose few kilobytes become gigabytes or days where a plan is read from them, or break a parser in C."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
READS = """
import resource, sys
from pathlib import Path
from workers.environments.plans import plans_for
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
print(len(plans_for(Path(sys.argv[1]))))
"""
"""Reads plans with a gigabyte of memory and twenty seconds of processor time."""


def doubled(line: str, levels: int = 40) -> str:
    """Lines in which each name is made of the one before."""
    return "".join(line.format(above=level + 1, below=level) + "\n" for level in range(levels))


SETUP = "from setuptools import setup\nsetup(name='a', install_requires=v40)\n"
TOX = "[tox]\nenvlist = {0}\n[testenv]\ncommands =\n    {1}\n"
RANGES = ",".join(["0-9999"] * 60_000)
WORKFLOW = ".github/workflows/ci.yml"
BOMBS: dict[str, tuple[str, Callable[[], str]]] = {
    "lists of lists": ("setup.py", lambda: f"v0 = ['a']\n{doubled('v{above} = [*v{below}, *v{below}]')}{SETUP}"),
    "sums of sums": ("setup.py", lambda: f"v0 = ['a']\n{doubled('v{above} = v{below} + v{below}')}{SETUP}"),
    "a sum of very many": ("setup.py", lambda: SETUP.replace("v40", "+".join(["[]"] * 1_500))),
    "a key of many parts": ("pyproject.toml", lambda: f"[project]\nname = 'a'\n{'a.' * 250_000}b = 1\n"),
    "groups of groups": (
        "pyproject.toml",
        lambda: (
            "[project]\nname = 'a'\n[dependency-groups]\ng0 = ['pytest']\n"
            + doubled("g{above} = [" + "{{include-group = 'g{below}'}}, " * 10 + "]", 12)
        ),
    ),
    "tasks of tasks": (
        "pyproject.toml",
        lambda: (
            "[tool.hatch.envs.test]\nfeatures = []\n[tool.hatch.envs.default.scripts]\n"
            f"test = {['a'] * 20_000}\na = {[''] * 20_000}\n"
        ),
    ),
    "requirements of themselves": ("requirements.txt", lambda: "-r requirements.txt\n" * 400),
    "targets of targets": (
        "Makefile",
        lambda: f"test: {'a ' * 3_000}\na: {'b ' * 3_000}\nb: {'c ' * 3_000}\nc: {'d ' * 3_000}\nd:\n",
    ),
    "a target without an end": ("Makefile", lambda: f"test: {'x' * 500_000}"),
    "a long variable": ("Makefile", lambda: f"A = {'x' * 200_000}\ntest:\n\t{'$(A)' * 60_000}\n"),
    "ranges of environments": ("tox.ini", lambda: TOX.format(f"a{{{RANGES}}}", "pytest")),
    "a range as a condition": ("tox.ini", lambda: TOX.format("py311", f"a{{{RANGES}}}: pytest")),
    "a section put in many times": (
        "tox.ini",
        lambda: f"{TOX.format('py311', '{[a]b}' * 80_000)}[a]\nb = {'x' * 5_000}\n",
    ),
    "merged mappings": (
        WORKFLOW,
        lambda: "v0: &v0 {a: 1}\n" + doubled("v{above}: &v{above}\n  <<: [" + "*v{below}, " * 10 + "]", 12),
    ),
    "a mapping within itself": (WORKFLOW, lambda: "jobs: &a\n  test: *a\n"),
    "brackets": (WORKFLOW, lambda: f"jobs: {'[' * 200_000}"),
    "braces": (WORKFLOW, lambda: f"jobs: {'{a: ' * 100_000}"),
    "dashes": (WORKFLOW, lambda: f"jobs:\n{'- ' * 200_000}a\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_in_a_checkout_is_read_within_limits(name: str, tmp_path: Path) -> None:
    """Plans are made all the same: of what else the checkout says, or of the plain fallbacks."""
    path, text = BOMBS[name]
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text())
    command = [sys.executable, "-c", READS, str(tmp_path)]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-500:]}"
    assert int(done.stdout) > 0
