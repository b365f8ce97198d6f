"""The Pythons of a machine: found without running a package, chosen by what a project names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from workers.environments import interpreters as module
from workers.environments.interpreters import Interpreter, chosen, interpreters
from workers.errors import CannotRun


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with three Pythons."""
    found = tuple(Interpreter(python=Path("/opt", each), version=each) for each in ("3.13.1", "3.11.7", "3.9.2"))
    monkeypatch.setattr(module, "interpreters", lambda: found)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("specifier", "minors", "version"),
    [
        ("", (), "3.13.1"),
        (">=3.8,<3.12", (), "3.11.7"),
        ("", ("3.10", "3.11"), "3.11.7"),
        ("", ("3.8",), "3.9.2"),
        ("<3.11", ("3.13",), "3.9.2"),
    ],
)
def test_the_one_that_fits(specifier: str, minors: tuple[str, ...], version: str) -> None:
    """The first named minor that is here, else the nearest to it, always within the specifier."""
    assert chosen(specifier, minors).version == version


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("specifier", ["<3.9", ">=3.14"])
def test_a_missing_one_is_named(specifier: str) -> None:
    """One line says what is needed, and what is here."""
    with pytest.raises(CannotRun, match="the project needs Python") as refused:
        chosen(specifier)
    assert specifier in str(refused.value)


def test_a_fitting_wheel_is_ranked() -> None:
    """Tags are those of the interpreter, not of ours."""
    tags = {str(tag) for tag in Interpreter(python=Path("/opt/python"), version="3.8.18").tags()}
    assert "py3-none-any" in tags
    assert any(tag.startswith("cp38-cp38-") for tag in tags)
    assert not any(tag.startswith("cp39") for tag in tags)


def test_an_environment_is_no_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a virtual environment on the search path is started: its packages could start with it."""
    planted = tmp_path / "planted"
    for place, is_environment in (("environment", True), ("relative", False)):
        (tmp_path / place / "bin").mkdir(parents=True)
        program = tmp_path / place / "bin" / "python3.12"
        program.write_text(f"#!/bin/sh\ntouch {planted}\n")
        program.chmod(0o755)
        if is_environment:
            (tmp_path / place / "pyvenv.cfg").write_text("home = /usr/bin\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/environment/bin:relative/bin")
    found = interpreters.__wrapped__()
    assert not planted.exists()
    assert Path(sys.base_prefix).resolve() in {each.python.resolve().parent.parent for each in found}
