"""Environments as they are made of an index: what is fetched, chosen by day, and built in the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.test_hostile_builds import OURS, PYPROJECT, WRITES_A_WHEEL, World, world
from workers.environments.building import BuildFailed
from workers.environments.editable import dependencies
from workers.environments.fetching import RemoteFile, digest, fetched, path_of
from workers.environments.locking import Wanted
from workers.environments.uv_command import NoIndex, PackageIndexes

pytestmark = pytest.mark.sandbox
__all__ = ["world"]


def test_a_download_that_breaks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried three times in all."""
    monkeypatch.setattr("workers.environments.fetching.time.sleep", lambda _seconds: None)
    name, given = "honest-1.0-py3-none-any.whl", PackageIndexes(main=world.index.url)
    sha256 = world.index.add_wheel("honest", "1.0")
    file = RemoteFile(filename=name, url=world.index.url.replace("simple", f"files/{name}"), sha256=sha256)
    world.index.cut[name] = 3
    with pytest.raises(NoIndex):
        fetched(file, world.home, given, world.lines.append)
    world.index.cut[name] = 2
    assert digest(fetched(file, world.home, given, world.lines.append)) == sha256


def test_packages_as_of_a_day(world: World) -> None:
    """With a day, nothing is chosen that was uploaded after it."""
    for version, day in (("1.0", "2020-05-01"), ("2.0", "2024-05-01")):
        world.index.add_wheel("honest", version)
        world.index.uploaded[f"honest-{version}-py3-none-any.whl"] = day
    builder = world.builder()
    _, newest = builder.environment(Wanted(requirements=("honest",)))
    _, older = builder.environment(Wanted(requirements=("honest",), before="2022-01-01"))
    assert (newest, older) == ({"honest": "2.0"}, {"honest": "1.0"})


def test_a_directory_with_too_few_versions(world: World) -> None:
    """It is left out for each environment, and one line says so for all."""
    world.index.add_wheel("honest", "2.0")
    page = world.home / "simple" / "honest" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text('<a href="honest-1.0-py3-none-any.whl">honest-1.0-py3-none-any.whl</a>')
    given = PackageIndexes(main=world.index.url, first=(page.parent.parent.as_uri(),))
    builder = world.builder(given=given)
    for wanted in ("honest==2.0", "honest>1.5"):
        assert builder.environment(Wanted(requirements=(wanted,)))[1] == {"honest": "2.0"}
    assert sum("too few versions" in line for line in world.lines) == 1


def test_a_source_needs_what_its_build_says(world: World) -> None:
    """A distribution without a wheel is resolved as if it required nothing, and again with what its built wheel requires."""
    backend = (
        f"{WRITES_A_WHEEL}\ndef build_wheel(place, config_settings=None, metadata_directory=None):\n"
        "    return a_wheel(place, more='Requires-Dist: salt<2\\n')\n"
    )
    world.index.add_sdist("evil", "1.0", {"pyproject.toml": PYPROJECT, "backend.py": backend})
    for version in ("1.0", "2.0"):
        world.index.add_wheel("salt", version)
    _, installed = world.builder().environment(Wanted(requirements=("evil", "salt")))
    assert installed == {"evil": "1.0", "salt": "1.0"}


def test_what_cannot_be_built_is_named(world: World) -> None:
    """By the distribution that was wanted, also where a build that its own needs fails: a plan can do without that alone."""
    broken = (
        "def build_wheel(place, config_settings=None, metadata_directory=None):\n    raise OSError('no compiler')\n"
    )
    needy = PYPROJECT.replace("requires = []", 'requires = ["evil"]')
    assert needy != PYPROJECT
    world.index.add_sdist("evil", "1.0", {"pyproject.toml": PYPROJECT, "backend.py": broken})
    world.index.add_sdist("needy", "1.0", {"pyproject.toml": needy, "backend.py": WRITES_A_WHEEL})
    for name in ("evil", "needy"):
        with pytest.raises(BuildFailed, match=r"evil-1\.0\.tar\.gz failed: OSError: no compiler") as failed:
            world.builder().environment(Wanted(requirements=(name,)))
        assert failed.value.distribution == name


def test_a_backend_without_an_editable_form(world: World, tmp_path: Path) -> None:
    """Its wheel is taken apart: metadata are installed, and what the build made is laid beside the sources."""
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    backend = (
        f"{WRITES_A_WHEEL}\ndef build_wheel(place, config_settings=None, metadata_directory=None):\n"
        "    return a_wheel(place, name='kitchen', version='3', found='compiled')\n"
    )
    (tree / "pyproject.toml").write_text(PYPROJECT)
    (tree / "backend.py").write_text(backend)
    built = world.builder().project(tree, ".", frozenset())
    assert dependencies(path_of(built.wheel.file.url), (), OURS) == ()
    assert (built.wheel.name, built.wheel.version) == ("kitchen", "3")
    assert (built.generated / "src" / "kitchen.py").read_text() == "FOUND = 'compiled'"


def test_a_version_from_git(world: World, tmp_path: Path) -> None:
    """A backend that asks git for the version gets that of the nearest tag."""
    tree = tmp_path / "tree"
    tree.mkdir()
    backend = (
        f"import os\n{WRITES_A_WHEEL}\ndef build_editable(place, config_settings=None, metadata_directory=None):\n"
        "    return a_wheel(place, name='kitchen', version=os.environ['SETUPTOOLS_SCM_PRETEND_VERSION'])\n"
    )
    (tree / "pyproject.toml").write_text(PYPROJECT)
    (tree / "backend.py").write_text(backend)
    builder = world.builder()
    versions = [builder.project(tree, ".", frozenset(), given).wheel.version for given in ("4.2", "")]
    assert versions == ["4.2", "999.0"]


def test_pins_that_contradict_a_requirement(world: World) -> None:
    """Those alone are given up, with a line that says so; the others hold."""
    for name in ("salt", "pepper"):
        for version in ("1.0", "2.0"):
            world.index.add_wheel(name, version)
    wanted = Wanted(requirements=("salt>=2", "pepper"), constraints=("salt==1.0", "pepper==1.0"))
    _, installed = world.builder().environment(wanted)
    assert installed == {"salt": "2.0", "pepper": "1.0"}
    assert "1 of the repository's pins cannot be met" in world.lines[0]
