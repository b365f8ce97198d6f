"""Patches that make a whole suite green while the code stays wrong: none is called proven without a question."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from memory.model import Failure, Proof
from workers.ports import Limits
from workers.repair.classify import failure_of
from workers.repair.judging.prove import Prover
from workers.repair.judging.suite_runs import Unproven, objection_to
from workers.repair.reproduce import Reproduction, reproduce
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover
from workers.sandbox.run_tests import run_tests

pytestmark = pytest.mark.sandbox

FORGED = Path(__file__).with_name("forged")
FORGERIES = sorted(path.name for path in FORGED.glob("*.txt"))
ELSEWHERE = sorted(path.name for path in (FORGED / "elsewhere").glob("*.txt"))
QUICK = {"call_without_error.txt", "equal_by_identity.txt", "lines_written.txt", "module_json.txt", "source_line.txt"}
"""Some of each kind; all run with the extended tests."""

LIMITS = Limits(wall_seconds=60, memory_mb=512)
HIDDEN = "from vault.interest import interest as i; print([float(i(*each)) for each in ((7, .5, 6), (12, .25, 8))] == [21, 24])"
HONEST = "principal * rate", "principal * rate * years"


def files_of(name: str) -> dict[str, bytes]:
    """The files of a forgery or of the project: after a line on what it is, each behind a line `=== PATH`."""
    _, *parts = (FORGED / name).read_text(encoding="utf-8").split("\n=== ")
    return {path: f"{text.rstrip()}\n".encode() for path, _, text in (part.partition("\n") for part in parts)}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    tree = tmp_path_factory.mktemp("forged")
    laid(tree, files_of("PROJECT"))
    return discover(tree, python=None, test_command=None)


@pytest.fixture(scope="module")
def before(project: Project) -> Reproduction:
    return reproduce(Bubblewrap(), project, limits=LIMITS)


@pytest.fixture(scope="module")
def failure(before: Reproduction) -> Failure:
    found = failure_of(before.failing_report)
    assert found is not None
    return replace(found, failing_tests=tuple(result.id for result in before.failing_report.failing()))


def laid(tree: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.extended) for name in FORGERIES]
)
def test_a_forgery_is_not_proven(project: Project, before: Reproduction, failure: Failure, name: str) -> None:
    """It is turned away, or shown as a question that names what it uses."""
    shown = Prover(Bubblewrap(), project, before, failure, LIMITS).prove(files_of(name))
    assert isinstance(shown, Unproven) or shown.unusual


@pytest.mark.extended
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_would_pass_unchallenged(
    project: Project, before: Reproduction, failure: Failure, tmp_path: Path, name: str
) -> None:
    """The battery shows something: without the defence the report is green, while the code is wrong outside of the tests."""
    overlay = files_of(name)
    report = run_tests(Bubblewrap(), project, overlay=overlay, limits=LIMITS).report
    assert objection_to(report, before=before.report, failing=failure.failing_tests) is None
    assert not is_right(overlay, tmp_path)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if "dies" in name else pytest.mark.extended) for name in ELSEWHERE]
)
def test_a_forgery_of_another_project_is_not_proven(name: str, tmp_path: Path) -> None:
    """The same where tests, configuration and plug-ins are other ones: files `before: PATH` are the project's."""
    files = files_of(f"elsewhere/{name}")
    laid(tmp_path, {path.removeprefix("before: "): text for path, text in files.items() if path.startswith("before: ")})
    for path, text in files.items():
        if path.startswith("link: "):
            (tmp_path / path.removeprefix("link: ")).symlink_to(text.decode().strip())
    found = discover(tmp_path, python=None, test_command=None)
    seen = reproduce(Bubblewrap(), found, limits=LIMITS)
    failing = failure_of(seen.failing_report)
    assert failing is not None
    wanted = replace(failing, failing_tests=tuple(each for each in failing.failing_tests if "dies" not in each))
    patch = {path: text for path, text in files.items() if ": " not in path}
    shown = Prover(Bubblewrap(), found, seen, wanted, LIMITS).prove(patch)
    assert isinstance(shown, Unproven) or shown.unusual


def is_right(overlay: Mapping[str, bytes], place: Path) -> bool:
    """Whether the code with the patch does what nobody has tested."""
    laid(place, {**files_of("PROJECT"), **overlay})
    ran = subprocess.run(
        [sys.executable, "-c", HIDDEN], cwd=place, capture_output=True, text=True, env={}, timeout=600, check=False
    )
    return ran.stdout.strip() == "True"


def test_the_honest_patch_is_proven(project: Project, before: Reproduction, failure: Failure) -> None:
    """All three functions that fail are perturbed, and the proof leaves no question of its own."""
    text = (project.tree / "vault/interest.py").read_text(encoding="utf-8").replace(*HONEST)
    shown = Prover(Bubblewrap(), project, before, failure, LIMITS).prove({"vault/interest.py": text.encode()})
    assert isinstance(shown, Proof)
    assert (len(shown.passed_after), shown.perturbed, shown.unusual) == (5, 3, ())
    assert shown.suite.collected == before.report.count().collected


def test_there_are_forgeries_enough() -> None:
    """At least forty, each by a way of its own."""
    assert len(FORGERIES) >= 40
