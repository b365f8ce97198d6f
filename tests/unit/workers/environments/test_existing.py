"""The environments that a user has: the stated order, nothing committed, nothing without pytest, and never our own unasked."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from workers.environments.interpreters import existing_python


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository of a Poetry project, and a machine where nothing is activated."""
    for name in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "POETRY_VIRTUALENVS_PATH", "POETRY_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    work = tmp_path / "work"
    subprocess.run(["git", "init", "--quiet", str(work)], check=True)
    (work / "pyproject.toml").write_text('[tool.poetry]\nname = "My Shop"\n')
    return work


def made(place: Path, *, with_pytest: bool = True) -> Path:
    """A virtual environment as far as looking goes; its interpreter."""
    packages = place / "lib" / "python3.11" / "site-packages" / ("pytest" if with_pytest else "other")
    for directory in (place / "bin", packages):
        directory.mkdir(parents=True)
    (packages / "__init__.py").write_text("")
    (place / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (place / "bin" / "python").write_text("")
    return place / "bin" / "python"


def found(path: Path, given: Path | None = None, setting: Path | None = None) -> tuple[Path | None, str, list[str]]:
    lines: list[str] = []
    chosen = existing_python(path, given=given, setting=setting, progress=lines.append)
    return (None, "", lines) if chosen is None else (chosen.python, chosen.why, lines)


def test_the_order(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the last to the first: each one that appears goes before those that were there."""
    assert found(work) == (None, "", [])
    digest = base64.urlsafe_b64encode(hashlib.sha256(str(work).encode()).digest()).decode()[:8]
    steps = [
        (work / ".nox" / "tests", "made by nox"),
        (work / ".tox" / "lint", "made by tox"),
        (work / ".tox" / "py311", "made by tox"),
        (tmp_path / "cache" / "pypoetry" / "virtualenvs" / f"my_shop-{digest}-py3.11", "made by Poetry for this directory"),
        (work / "env", "the project's env"),
        (work / "venv", "the project's venv"),
        (work / ".venv", "the project's .venv"),
    ]  # fmt: skip
    for place, why in steps:
        python = made(place)
        assert found(work) == (python, why, [])
    activated = made(tmp_path / "activated")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "activated"))
    assert found(work)[:2] == (activated, "which is activated")
    assert found(work, setting=Path("/set"))[:2] == (Path("/set"), "by APPRENTICE_PYTHON")
    assert found(work, given=Path("/given"), setting=Path("/set"))[:2] == (Path("/given"), "by --python")


def test_a_member_of_a_uv_workspace(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the environment beside the lock above it, unless a variable names another one."""
    python, member = made(work / ".venv"), work / "packages" / "one"
    member.mkdir(parents=True)
    assert found(member) == (None, "", [])
    (work / "uv.lock").write_text("")
    assert found(member)[:2] == (python, f"of the uv workspace {work}")
    other = made(member / "its")
    monkeypatch.setenv("UV_PROJECT_ENVIRONMENT", "its")
    assert found(member)[:2] == (other, "by UV_PROJECT_ENVIRONMENT")


def test_our_own_environment_is_not_taken_for_the_users(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is activated to start us; its packages are not the project's."""
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert found(work) == (None, "", [])


def test_a_committed_environment_is_not_the_users_own(work: Path) -> None:
    """It could name any directory of this machine; the user reads why, and the next one is used."""
    made(work / ".venv")
    other = made(work / "venv")
    subprocess.run(["git", "-C", str(work), "add", ".venv/pyvenv.cfg"], check=True)
    python, _, lines = found(work)
    assert python == other
    assert lines == [f"{work / '.venv'} is committed, so it is not used; name an interpreter by --python"]


def test_an_environment_without_pytest_is_passed_over(work: Path) -> None:
    """With a line that says so, and so is one with an old pytest, a plain module; one that sees the system's packages may have it."""
    made(work / ".venv", with_pytest=False)
    (work / ".venv" / "lib" / "python3.11" / "site-packages" / "pytest.py").write_text("")
    python, _, lines = found(work)
    assert (python, len(lines)) == (None, 1) and "has no pytest 6 or later, so it is not used" in lines[0]
    (work / ".venv" / "pyvenv.cfg").write_text("include-system-site-packages = true\n")
    assert found(work)[0] == work / ".venv" / "bin" / "python"
