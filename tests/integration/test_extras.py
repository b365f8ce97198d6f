"""The package without its extras: `apprentice fix`, `review` and `doctor` need none, and the rest names its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bot.cli.console import EXTRAS
from tests.integration.command_line import ROOT, SHOP, committed
from tests.wheels import installed_wheel, run

WITHOUT_EXTRAS = """
import sys

class Absent:
    def find_spec(self, module, path=None, target=None):
        if module.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)

absent = set(sys.argv.pop(1).split(","))
sys.meta_path.insert(0, Absent())
"""
MEGABYTES = 200
MEGABYTES_COMPILED = 235
"""With bytecode of every module, as pip leaves it; uv and uvx compile none."""


def without_extras(tmp_path: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python code where no module of an extra can be imported."""
    absent = ",".join(module for modules in EXTRAS.values() for module in modules)
    given = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "APPRENTICE_HOME": str(tmp_path / "home")}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS + program, absent, *arguments],
        cwd=ROOT,
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.extended
def test_the_base_commands_need_no_extra(tmp_path: Path) -> None:
    """Everything that `fix`, `review` and `doctor` import comes with the package itself."""
    names = "bot.cli.main, bot.cli.json_output, bot.cli.fix_output, bot.cli.review_output, bot.doctor, bot.local, workers.repair.engines.search.search"
    done = without_extras(tmp_path, f"import {names}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.extended
@pytest.mark.parametrize(("command", "extra"), [("worker", "app"), ("serve", "app"), ("demo", "app"), ("mint", "app")])
def test_a_missing_extra_is_named(tmp_path: Path, command: str, extra: str) -> None:
    """A command of an extra that is not installed says in one line what to install."""
    done = without_extras(tmp_path, "from bot.cli.main import main; main()", command)
    assert done.returncode == 2
    assert done.stderr.startswith("apprentice: this command needs ")
    assert done.stderr.endswith(f"which is not installed: install Apprentice with the extra {extra}\n")
    assert done.stderr.count("\n") == 1


def test_every_extra_is_known_to_the_command_line() -> None:
    """Each extra for users has a list of its modules."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {"dev", "plugins", "supply", "fuzz"}
    assert set(project["optional-dependencies"]) - ours == set(EXTRAS)


def size(directory: Path) -> float:
    """What it takes on the disk, in millions of bytes."""
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


@pytest.mark.extended
@pytest.mark.network_registry
def test_the_wheel_alone(tmp_path: Path) -> None:
    """In an empty environment the wheel repairs, reviews and examines, below 200 MB with its programs and the bytecode of these runs."""
    environment = installed_wheel(tmp_path)
    program, home = environment / "bin" / "apprentice", tmp_path / "home"
    home.mkdir()
    assert "missing" not in run(program, "doctor", home=home)
    shop = committed(tmp_path / "shop", SHOP)
    assert "+        if self.total() >= 10000:" in run(program, "fix", shop, "--seed", "1", home=home)
    till = shop / "shop" / "till.py"
    till.write_text(till.read_text(encoding="utf-8") + "\n\nimport os\n", encoding="utf-8")
    (shop / "shop" / "typed.py").write_text("def three() -> int:\n    return 3\n", encoding="utf-8")
    reviewed = run(program, "review", shop, home=home)
    assert "F401" in reviewed
    assert "typed.py: not read by mypy: it is not installed: install Apprentice with the extra types" in reviewed

    assert size(environment) < MEGABYTES
    assert not list(environment.glob("lib/python*/site-packages/torch"))
    subprocess.run([environment / "bin" / "python", "-m", "compileall", "-q", environment / "lib"], check=True)
    assert size(environment) < MEGABYTES_COMPILED
