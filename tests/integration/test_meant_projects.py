"""Which project of a repository a repair is about, and what it says where no environment can be made."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from bot.local import _named_files
from memory.model import Task, TaskKind
from memory.retrieval.embeddings import HashedWords
from tests.unit.workers.environments.test_plans import written
from tests.unit.workers.environments.test_provide import git
from workers.context import open_context
from workers.errors import CannotRun
from workers.flows.repair import RepairRequest, _before
from workers.git import Mirror
from workers.messages.repair import note
from workers.settings import WorkerSettings, load


def test_the_files_that_a_local_repair_is_about(tmp_path: Path) -> None:
    """Those that the command names and that are there; else those of pytest's last failures."""
    cache = json.dumps({"b/test_b.py::test_two": True, "gone.py::test": True})
    tree = written(tmp_path, {"a/test_a.py": "", "b/test_b.py": "", ".pytest_cache/v/cache/lastfailed": cache})
    assert _named_files(tree, "python -m pytest a/test_a.py::test_one -k 'x y") == ["a/test_a.py"]
    assert _named_files(tree, "python -m pytest") == _named_files(tree, None) == ["b/test_b.py"]


def test_the_files_that_a_repair_on_github_is_about(tmp_path: Path) -> None:
    """Where no test is named, what the pull request changes."""
    origin = written(tmp_path / "origin", {"a/one.py": "A = 1\n", "b/two.py": "B = 1\n"})
    git("init", "-q", at=origin)
    shas = []
    for number in (1, 2):
        (origin / "b" / "two.py").write_text(f"B = {number}\n")
        git("add", ".", at=origin)
        git("commit", "-q", "-m", "Change", at=origin)
        shas.append(subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=origin, text=True).strip())
    mirror = Mirror(tmp_path / "mirror.git", str(origin))
    mirror.fetch(shas[1])
    task = Task(
        id="1", kind=TaskKind.REPAIR, repository="7", sha=shas[1], number=1, created_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    nobody = cast("Any", None)
    case = RepairRequest(
        job=nobody,
        task=task,
        github=nobody,
        mirror=mirror,
        branch="main",
        base=shas[0],
        forked=False,
        added_tests={},
        commits_tests=False,
    )
    assert _before(case) == {"b/two.py": b"B = 1\n"}


@pytest.mark.sandbox
def test_where_no_environment_can_be_made(tmp_path: Path) -> None:
    """The tests run on our own Python with a note, in the answer too; a project that asks for another Python is refused."""
    lines: list[str] = []
    context = open_context(load(WorkerSettings, home=tmp_path / "home"), embedder=HashedWords(), progress=lines.append)
    files = {"requirements.txt": "six\n", "test_a.py": "def test_a():\n    pass\n"}
    project = context.project(written(tmp_path / "any", files), "kitchen")
    assert project.note.endswith("the tests run on Apprentice's own Python, without the project's packages")
    assert project.note in lines
    assert "Where the tests ran" in note(project.note)
    wanted = '[project]\nname = "k"\nversion = "1"\nrequires-python = ">=3.99"\n'
    with pytest.raises(CannotRun, match=r"the project asks for Python >=3\.99, and Apprentice's own is"):
        context.project(written(tmp_path / "other", {**files, "pyproject.toml": wanted}), "pantry")
    context.store.close()
