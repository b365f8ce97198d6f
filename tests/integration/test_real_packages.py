"""Real packages that nobody here wrote: a bug planted in each is fixed from its failing tests alone.

The packages come from the registry, pinned by version and digest, when the test runs; nothing of them is kept here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.integration.command_line import ROOT, apprentice_process, content, digest, git, names

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.network_registry, pytest.mark.extended]

SDISTS = ROOT / ".cache" / "sdists"
LARGE = 200
"""Every bug lies in a module of more lines than that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A source distribution."""

    name: str
    version: str
    sha256: str

    @property
    def file(self) -> Path:
        return SDISTS / f"{self.name}-{self.version}.tar.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A slip as a person makes it: `right`, which is once in `module`, becomes `wrong`. The suite has `tests` tests."""

    kind: str
    package: Package
    module: str
    right: str
    wrong: str
    tests: int


CACHETOOLS = Package(
    name="cachetools", version="5.5.0", sha256="2cc24fb4cbe39633fb7badd9db9ca6295d766d9c2995f245725a46715d050f2a"
)
TOOLZ = Package(
    name="toolz", version="1.0.0", sha256="2c86e3d9a04798ac556793bced838816296a2f085017664e4995cb40a1047a02"
)
BUGS = [
    Bug(
        kind="a missing return",
        package=CACHETOOLS,
        module="src/cachetools/__init__.py",
        right="        value = self.__links[key]\n        self.__links.move_to_end(key)\n        return value\n",
        wrong="        value = self.__links[key]\n        self.__links.move_to_end(key)\n",
        tests=200,
    ),
    Bug(
        kind="swapped arguments",
        package=TOOLZ,
        module="toolz/itertoolz.py",
        right="return tuple(collections.deque(seq, n))",
        wrong="return tuple(collections.deque(n, seq))",
        tests=180,
    ),
]


@pytest.mark.parametrize("bug", BUGS, ids=[bug.package.name for bug in BUGS])
def test_a_planted_bug_is_fixed_with_the_whole_suite_passing(bug: Bug, tmp_path: Path) -> None:
    """Failing tests in, a proven patch out: the one module is changed, and no test of the package fails any more."""
    project = unpacked(bug.package, tmp_path)
    plant(bug, project)
    planted = digest(project)
    ran = apprentice_process(tmp_path / "home", "fix", project, "--json", "--seed", "1", "--budget", "600")
    assert ran.code == 0, ran.err
    assert digest(project) == planted
    document = ran.document()
    assert not document["proof"]["doubt"]
    proof, suite = document["proof"], document["proof"]["suite"]
    assert document["failure"]["failing_tests"]
    assert proof["failed_before"] == proof["passed_after"] == document["failure"]["failing_tests"]
    assert suite["failed"] == 0
    assert suite["passed"] >= bug.tests
    (tmp_path / "fix.patch").write_text(document["patch"])
    git(project, "apply", str(tmp_path / "fix.patch"))
    assert differing(project, unpacked(bug.package, tmp_path / "original")) <= {bug.module}
    again = apprentice_process(tmp_path / "home", "fix", project, "--json").document()
    assert again["status"] == "nothing_failing"


def unpacked(package: Package, at: Path) -> Path:
    """The package's own files."""
    if not is_there(package):
        download(package)
    at.mkdir(exist_ok=True)
    subprocess.run(["tar", "--extract", "--file", package.file, "--directory", at], check=True)
    return at / f"{package.name}-{package.version}"


def is_there(package: Package) -> bool:
    return package.file.is_file() and hashlib.sha256(package.file.read_bytes()).hexdigest() == package.sha256


def download(package: Package) -> None:
    """Fetch the source distribution into the cache; where no registry can be reached, that is for CI to fail on."""
    SDISTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SDISTS) as scratch:
        wanted = Path(scratch) / "requirements.txt"
        wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "2", "--timeout", "20"]
        options = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", scratch]
        done = subprocess.run(
            [*pip, *options, "--requirement", str(wanted)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            missing(f"{package.name} {package.version} could not be downloaded: {reason[0]}")
        os.replace(Path(scratch) / package.file.name, package.file)  # noqa: PTH105  the atomic one, by its usual name


def plant(bug: Bug, project: Path) -> None:
    module = project / bug.module
    text = module.read_text()
    assert len(text.splitlines()) > LARGE
    assert text.count(bug.right) == 1
    module.write_text(text.replace(bug.right, bug.wrong))


def differing(one: Path, other: Path) -> set[str]:
    """The files that are not the same in both."""
    return {name for name in {*names(one), *names(other)} if content(one / name) != content(other / name)}
