"""deploy/make-venv on interpreters that have all, less, or nothing of what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "deploy" / "make-venv"


def made(python: Path | str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", SCRIPT, python, directory], capture_output=True, text=True, check=False)


def lacking(tmp_path: Path, *modules: str) -> Path:
    """Our interpreter, which fails where one of these modules would be run; `venv` still goes without pip."""
    wrapper = tmp_path / "python"
    cases = "".join(f'*"-m {module} "*) case "$*" in *--without-pip*) ;; *) exit 1 ;; esac ;;\n' for module in modules)
    wrapper.write_text(f'#!/bin/sh\ncase "$* " in\n{cases}esac\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    return wrapper


@pytest.mark.extended
def test_makes_one_and_keeps_it(tmp_path: Path) -> None:
    """The environment has pip; a second call finds it and changes nothing."""
    directory = tmp_path / "venv"
    assert made(sys.executable, directory).returncode == 0
    pip = directory / "bin" / "pip"
    before = pip.stat().st_mtime_ns
    assert made(sys.executable, directory).returncode == 0
    assert pip.stat().st_mtime_ns == before


@pytest.mark.extended
@pytest.mark.network_registry
def test_without_the_venv_module_of_debian(tmp_path: Path) -> None:
    """Where `python -m venv` cannot bring pip, the interpreter's own pip does."""
    directory = tmp_path / "venv"
    done = made(lacking(tmp_path, "venv"), directory)
    assert done.returncode == 0, done.stderr
    subprocess.run([directory / "bin" / "python", "-m", "pip", "--version"], check=True, stdout=subprocess.DEVNULL)


def test_with_neither(tmp_path: Path) -> None:
    """One line says what to install, and no half environment is left to be taken for a whole one."""
    done = made(lacking(tmp_path, "venv", "pip"), tmp_path / "venv")
    assert done.returncode == 1
    assert done.stderr.strip().endswith("install its venv module (Debian: apt install python3-venv)")
    assert not (tmp_path / "venv").exists()


def test_no_such_interpreter(tmp_path: Path) -> None:
    """A name that is not there is said to be not there."""
    done = made("/nonexistent/python3", tmp_path / "venv")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "there is no /nonexistent/python3" in done.stderr
