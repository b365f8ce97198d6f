"""Two repositories that cannot share an environment, at work with one worker at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from memory.store import Store, open_store
from tests.integration.test_hostile_builds import PYPROJECT, WRITES_A_WHEEL
from tests.package_index import PackageIndex, installed_as_wheel, package_index
from tests.unit.workers.environments.test_provide import git
from workers.environments.interpreters import interpreters
from workers.environments.plan_memory import PlanMemory
from workers.environments.provide import Commit, Provider
from workers.environments.uv_command import indexes
from workers.ports import Limits
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project
from workers.sandbox.run_tests import run_tests

pytestmark = pytest.mark.sandbox

OF_PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
MINORS = tuple(
    dict.fromkeys(each.minor for each in interpreters() if tuple(map(int, each.minor.split("."))) >= (3, 11))
)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    """With pytest, and two versions of one package."""
    with package_index() as found:
        for name in OF_PYTEST:
            found.add(*installed_as_wheel(name))
        for version in ("1.0", "2.0"):
            found.add_wheel("spice", version, {"spice.py": f"VERSION = {version!r}\n"})
        monkeypatch.setenv("UV_DEFAULT_INDEX", found.url)
        indexes.cache_clear()
        yield found
    indexes.cache_clear()


def repository(root: Path, minor: str, version: str) -> Path:
    """One that pins a Python and a version of a package, and tests that it has them."""
    root.mkdir()
    (root / "requirements.txt").write_text(f"spice=={version}\npytest\n")
    (root / "pyproject.toml").write_text(
        f'[project]\nname = "kitchen"\nversion = "1"\nrequires-python = "=={minor}.*"\n'
    )
    (root / "test_kitchen.py").write_text(
        f"import sys\nimport spice\n\ndef test_versions():\n"
        f"    assert spice.VERSION == {version!r}\n    assert sys.version_info[:2] == {tuple(map(int, minor.split('.')))}\n"
    )
    return root


def provider(home: Path, store: Store, repository: str, lines: list[str], commit: Commit | None = None) -> Provider:
    return Provider(
        sandbox=Bubblewrap(),
        home=home / "home",
        limits=Limits(),
        progress=lines.append,
        memory=PlanMemory(store, repository),
        clock=lambda: datetime.now(UTC),
        commit=commit,
    )


@pytest.mark.extended
@pytest.mark.skipif(len(MINORS) < 2, reason=f"needs two Pythons from 3.11 on, and finds {', '.join(MINORS) or 'none'}")
def test_two_repositories_with_contradicting_pins(index: PackageIndex, tmp_path: Path) -> None:
    """Each gets the Python and the packages that it names, while the other one works; the second time nothing is made."""
    wanted = {"old": (MINORS[-1], "1.0"), "new": (MINORS[0], "2.0")}
    lines: dict[str, list[str]] = {name: [] for name in wanted}
    found: dict[str, Project] = {}
    with open_store(f"sqlite:///{tmp_path / 'apprentice.db'}") as store:

        def provide(name: str, tree: Path) -> None:
            found[name] = provider(tmp_path, store, name, lines[name]).project_in(tree)

        for attempt in ("cold", "cached"):
            trees = {name: repository(tmp_path / f"{attempt}-{name}", *wanted[name]) for name in wanted}
            for each in lines.values():
                each.clear()
            threads = [threading.Thread(target=provide, args=item) for item in trees.items()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for name in wanted:
                report = run_tests(Bubblewrap(), found[name]).report
                assert (report.trouble, [result.outcome for result in report.results]) == ("", ["passed"]), lines
    assert found["old"].python != found["new"].python
    assert sys.prefix not in str(found["old"].python)
    assert [len(each) for each in lines.values()] == [1, 1], "a cached start says what is used, and does nothing else"


@pytest.mark.extended
def test_a_suite_that_passed_on_the_day_of_its_commit(index: PackageIndex, tmp_path: Path) -> None:
    """Where its tests fail with today's packages, they run with those of that day; what is kept names no place of ours."""
    tree = kitchen(index, tmp_path)
    lines: list[str] = []
    with open_store(f"sqlite:///{tmp_path / 'apprentice.db'}") as store:
        without = provider(tmp_path / "a", store, "other", lines).environment(tree)
        assert (without.worth, without.installed["spice"]) == (0.0, "2.0")
        assert all(str(tmp_path) not in each.trouble for each in PlanMemory(store, "other").outcomes())
        found = provider(tmp_path / "b", store, "kitchen", lines, Commit(tree)).environment(tree)
    assert (found.worth, found.installed["spice"], found.plan.before) == (1.0, "1.0", "2022-01-01")
    assert "environment: chose packages as of 2022-01-01, the day of the commit" in lines


@pytest.mark.extended
def test_what_is_changed_for_an_environment_is_said_once(index: PackageIndex, tmp_path: Path) -> None:
    """While it is made, or where it is used later, which makes nothing."""
    tree = kitchen(index, tmp_path)
    with open_store(f"sqlite:///{tmp_path / 'apprentice.db'}") as store:
        for made in (True, False):
            lines: list[str] = []
            provider(tmp_path / "a", store, "kitchen", lines, Commit(tree)).project_in(tree)
            mend = "chose packages as of 2022-01-01, the day of the commit"
            assert (f"environment: {mend}" in lines, mend in lines) == (made, not made), lines


@pytest.mark.extended
def test_a_day_that_changes_no_package(index: PackageIndex, tmp_path: Path) -> None:
    """The tests are not tried again, and the environment is not called one of that day."""
    tree, lines = kitchen(index, tmp_path), list[str]()
    (tree / "requirements.txt").write_text("spice==1.0\npytest\n")
    (tree / "pyproject.toml").write_text('[project]\nname = "kitchen"\nversion = "1"\nrequires-python = "==3.11.*"\n')
    (tree / "conftest.py").write_text("raise RuntimeError\n")
    with open_store(f"sqlite:///{tmp_path / 'apprentice.db'}") as store:
        found = provider(tmp_path / "a", store, "kitchen", lines, Commit(tree)).environment(tree)
    assert (found.worth, found.plan.before, found.plan.mends) == (0.0, "", ())
    of_day, tried = (
        "environment: chose packages as of 2022-01-01, the day of the commit",
        "trying the tests in the new environment",
    )
    assert of_day in lines
    assert of_day.replace("environment: ", "environment: not kept: ") in lines
    assert (of_day, tried) not in pairwise(lines)


@pytest.mark.extended
@pytest.mark.parametrize("others", [0, 1])
def test_a_submodule_that_was_not_fetched(index: PackageIndex, tmp_path: Path, others: int) -> None:
    """No other packages are tried for tests that need it, whether there are others or not."""
    tree, lines = kitchen(index, tmp_path), list[str]()
    (tree / "conftest.py").unlink()
    if not others:
        (tree / "test_kitchen.py").unlink()
    (tree / ".gitmodules").write_text('[submodule "spec"]\n\tpath = spec\n\turl = https://example.org/spec\n')
    (tree / "test_spec.py").write_text("import os\nCASES = os.listdir(os.path.abspath('spec/cases'))\n")
    with open_store(f"sqlite:///{tmp_path / 'apprentice.db'}") as store:
        found = provider(tmp_path / "a", store, "kitchen", lines, Commit(tree)).environment(tree)
        (outcome,) = PlanMemory(store, "kitchen").outcomes()
    assert (outcome.passed, outcome.uncollected, outcome.plan.before) == (others, 0, "")
    assert found.plan == outcome.plan
    assert [line for line in lines if line.startswith(("environment:", "trying"))] == [
        "trying the tests in the new environment"
    ]


def kitchen(index: PackageIndex, tmp_path: Path) -> Path:
    """A repository that passes with a package that had another release after its commit in January 2022."""
    for name in index.files:
        index.uploaded[name] = "2024-01-01" if name.startswith("spice-2.0") else "2020-01-01"
    tree = tmp_path / "kitchen"
    tree.mkdir()
    (tree / "requirements.txt").write_text("spice\npytest\n")
    (tree / "pyproject.toml").write_text('[project]\nname = "kitchen"\nversion = "1"\n')
    (tree / "conftest.py").write_text(
        "import spice\nif spice.VERSION != '1.0':\n    raise RuntimeError(spice.__file__)\n"
    )
    (tree / "test_kitchen.py").write_text("def test_one():\n    pass\n")
    git("init", "-q", at=tree)
    git("add", ".", at=tree)
    git("commit", "-q", "-m", "Passes in January 2022", at=tree)
    return tree


def test_the_first_plan_is_tried_with_what_its_build_adds(index: PackageIndex, tmp_path: Path) -> None:
    """A suite that imports a module which the build writes passes at the first trial, so that no other plan is tried."""
    tree = tmp_path / "kitchen"
    (tree / "src").mkdir(parents=True)
    backend = (
        f"{WRITES_A_WHEEL}\ndef build_wheel(place, config_settings=None, metadata_directory=None):\n"
        "    return a_wheel(place, name='kitchen', version='3', found='compiled')\n"
    )
    (tree / "pyproject.toml").write_text(f'{PYPROJECT}\n[project]\nname = "kitchen"\nversion = "3"\n')
    (tree / "backend.py").write_text(backend)
    (tree / "test_kitchen.py").write_text("import kitchen\n\ndef test_it():\n    assert kitchen.FOUND == 'compiled'\n")
    lines: list[str] = []
    with open_store(f"sqlite:///{tmp_path / 'apprentice.db'}") as store:
        found = provider(tmp_path / "a", store, "kitchen", lines).environment(tree)
        assert found.worth == 1.0, lines
        (outcome,) = PlanMemory(store, "kitchen").outcomes()
    assert (outcome.plan.mends, outcome.passed) == ((), 1)
    assert not (tree / "src" / "kitchen.py").exists()


def test_projects_of_a_tree_that_require_each_other(index: PackageIndex, tmp_path: Path) -> None:
    """Those that a project requires are installed from the tree as it is now, and are never looked up."""
    tree = tmp_path / "kitchen"
    (tree / "pantry").mkdir(parents=True)
    (tree / "dishes").mkdir()
    setup = "from setuptools import setup\nsetup(name='pantry', version='9.dev0', install_requires=['spice'])\n"
    (tree / "pantry" / "setup.py").write_text(setup)
    (tree / "pantry" / "pantry.py").write_text("import spice\n")
    (tree / "dishes" / "pyproject.toml").write_text(f'{PYPROJECT}\n[project]\nname = "dishes"\nversion = "3"\n')
    (tree / "dishes" / "backend.py").write_text(requiring("pantry>=9.dev0"))
    (tree / "dishes" / "test_dishes.py").write_text("import pantry\n\ndef test_it():\n    assert pantry.spice\n")
    changed, lines = ("dishes/test_dishes.py",), list[str]()
    with open_store(f"sqlite:///{tmp_path / 'apprentice.db'}") as store:
        provides = provider(tmp_path / "a", store, "kitchen", lines)
        found = provides.environment(tree, changed)
        assert (found.worth, found.plan.siblings, found.plan.mends) == (1.0, ("pantry",), ()), lines
        (tree / "pantry" / "setup.py").write_text(setup.replace("'spice'", "'spice<2'"))
        assert provides.environment(tree, changed).installed["spice"] == "1.0"
    assert "pantry" not in index.asked


def test_a_requirement_at_an_address(index: PackageIndex, tmp_path: Path) -> None:
    """Nothing is fetched from where a project's metadata say, and a line says so."""
    index.add_wheel("far", "1.0")
    tree, lines = tmp_path / "kitchen", list[str]()
    tree.mkdir()
    address = f"far @ {index.url.replace('simple', 'files/far-1.0-py3-none-any.whl')}"
    (tree / "pyproject.toml").write_text(f'{PYPROJECT}\n[project]\nname = "kitchen"\nversion = "3"\n')
    (tree / "backend.py").write_text(requiring(address))
    (tree / "test_kitchen.py").write_text("def test_it():\n    pass\n")
    with open_store(f"sqlite:///{tmp_path / 'apprentice.db'}") as store:
        found = provider(tmp_path / "a", store, "kitchen", lines).environment(tree)
    assert (found.worth, "far-1.0-py3-none-any.whl" in index.cut) == (1.0, False)
    assert f"left out, because packages come from the operator's indexes alone: {address}" in lines


def requiring(requirement: str) -> str:
    """A backend whose editable wheel requires something."""
    return (
        f"{WRITES_A_WHEEL}\ndef build_editable(place, config_settings=None, metadata_directory=None):\n"
        f"    return a_wheel(place, name='dishes', version='3', more='Requires-Dist: {requirement}\\n')\n"
    )
