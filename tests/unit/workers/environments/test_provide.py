"""What the provider knows of a commit."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memory.model import Plan
from workers.environments.locking import usable_for_tests
from workers.environments.provide import Commit, Environment, _project, without_places
from workers.sandbox.project import NO_OWN_OPTIONS

DAY = {"GIT_AUTHOR_DATE": "2022-01-01T12:00:00Z", "GIT_COMMITTER_DATE": "2022-01-01T12:00:00Z"}


def git(*arguments: str, at: Path) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=at, env={**os.environ, **DAY}, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("v1.2.3", "1.2.3"),
        ("release-2.0", "2.0"),
        ("2024.05", "2024.5"),
        ("latest", ""),
        ("1.x", ""),
        ("2.1.x", ""),
        ("2.0-broken", ""),
    ],
)
def test_the_day_and_version_of_a_commit(tmp_path: Path, tag: str, version: str) -> None:
    """The version is the one that the nearest tag names, if it names one; without git both are unknown."""
    assert Commit(tmp_path).day_and_version() == ("", "")
    git("init", "-q", at=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "First", at=tmp_path)
    git("tag", tag, at=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "Second", at=tmp_path)
    assert Commit(tmp_path).day_and_version() == ("2022-01-01", version)
    assert Commit(tmp_path, "HEAD~1").day_and_version() == ("2022-01-01", version)


def test_no_place_of_this_machine_is_kept() -> None:
    """Of a path below the home or the place for temporary files its name alone stays; other text as it is."""
    home, scratch = Path("/srv/home"), tempfile.gettempdir()
    text = f"/srv/home/environments/made/1cf8/lib/a.py:35: in x; {scratch}/apprentice-lock-1/requirements.txt; /workspace/b.py"
    assert without_places(text, home) == "a.py:35: in x; requirements.txt; /workspace/b.py"


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ("pytest==4.6.3", "pytest>=6"),
        ("pytest==5.*", "pytest>=6"),
        ("pytest>=5.2,<6.0", "pytest>=6"),
        ("PyTest~=5.4; python_version > '3.7'", 'PyTest>=6; python_version > "3.7"'),
        ("pytest<=5.4.3", "pytest>=6"),
        (f"pytest<={'9' * 5000}", f"pytest<={'9' * 5000}"),
        ("pytest==4.6; python_version < '3'", "pytest==4.6; python_version < '3'"),
        ("pytest", "pytest"),
        ("pytest>=3,!=5.0", "pytest>=3,!=5.0"),
        ("pytest<6.1", "pytest<6.1"),
        ("pytest<7", "pytest<7"),
        ("pytest-cov==2.5.1", "pytest-cov==2.5.1"),
    ],
)
def test_a_pytest_that_is_too_old_is_not_asked_for(given: str, chosen: str) -> None:
    """Nothing can be tested with it: a version that runs tests takes its place, with a line that says so."""
    lines: list[str] = []
    assert usable_for_tests([given], lines.append, {"python_version": "3.11"}) == (chosen,)
    expected = f"chose {chosen} instead of {given}: older versions cannot run tests here"
    assert lines == ([] if given == chosen else [expected])


@pytest.mark.parametrize("left_out", [True, False])
def test_a_project_knows_that_its_environment_left_out_the_own_options(tmp_path: Path, *, left_out: bool) -> None:
    """Of the plan's command; a command that a user gave stays as it is."""
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    plan = Plan(source="tox", test_command=("python", "-m", "pytest", *(NO_OWN_OPTIONS if left_out else ())))
    environment = Environment(python=sys.executable, version="3.11", plan=plan, installed={})
    project = _project(tmp_path, environment)
    assert project.without_own_options == left_out
    assert project.with_own_options().test_command[-1] == "pytest"
    given = _project(tmp_path, environment, "python -m pytest -o addopts=")
    assert given.with_own_options() == given
