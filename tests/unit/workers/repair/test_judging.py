"""Reports and answers become verdicts and objections; nothing here runs a test."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import msgspec
import pytest

from memory.model import EditShape, Failure, Family, SuiteCount
from workers.environments.tree_files import TreeFiles
from workers.repair.candidates import CRASH, TIMEOUT, Candidate, Suspect
from workers.repair.first_run import LAST_FAILED, last_failed
from workers.repair.judging.challenge import TwinRun, defines
from workers.repair.judging.perturbed_tests import Twins
from workers.repair.judging.protected_files import refusal
from workers.repair.judging.suite_runs import UnpatchedSuite, Unproven, objection_to
from workers.repair.passed_tests import passing, still_failing
from workers.repair.reproduce import Reproduction, ScreeningTests, companions, screening_tests, sources_of
from workers.repair.running.candidate_runner import verdict_from, verdict_of
from workers.repair.running.forkserver import (
    REPAIRED_SECONDS,
    Baseline,
    ForkAnswer,
    ForkRequest,
    ForkServer,
    ForkServerUnusable,
    arguments,
    establish,
    settled,
)
from workers.sandbox.project import Project
from workers.sandbox.report import TestOutcome, TestReport, TestResult

PASSED, FAILED, ERROR = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.ERROR
SKIPPED, XFAILED, XPASSED = TestOutcome.SKIPPED, TestOutcome.XFAILED, TestOutcome.XPASSED

TRIED = Candidate(
    path="a.py",
    source="",
    line=1,
    function="",
    template="t",
    strategy="s",
    shape=EditShape(template="t", before="", after=""),
    score=1.0,
)


def report(outcomes: dict[str, TestOutcome], *, trouble: str = "", seconds: float = 0.0) -> TestReport:
    results = tuple(
        TestResult(id=name, outcome=outcome, seconds=seconds, error_type="KeyError" if outcome is FAILED else "")
        for name, outcome in outcomes.items()
    )
    return TestReport(results=results, started=True, complete=not trouble, trouble=trouble)


# ── Objections ─────────────────────────────────────────────────────────────────────────────────────────────────────

BEFORE = report({"t.py::a": FAILED, "t.py::b": PASSED, "t.py::c": FAILED})


def objection_with(after: dict[str, TestOutcome], *, trouble: str = "") -> Unproven | None:
    return objection_to(report(after, trouble=trouble), before=BEFORE, failing=("t.py::a",))


def test_a_run_that_keeps_all_promises_meets_no_objection() -> None:
    """What failed for another reason may go on failing."""
    assert objection_with({"t.py::a": PASSED, "t.py::b": PASSED, "t.py::c": FAILED}) is None


@pytest.mark.parametrize("outcome", [FAILED, ERROR, SKIPPED, XFAILED, XPASSED])
def test_nothing_but_a_pass_is_a_pass(outcome: TestOutcome) -> None:
    """A failing test that is skipped or expected to fail is not repaired; a passing one that becomes so is broken."""
    repaired = objection_with({"t.py::a": outcome, "t.py::b": PASSED, "t.py::c": FAILED})
    kept = objection_with({"t.py::a": PASSED, "t.py::b": outcome, "t.py::c": FAILED})
    assert repaired is not None
    assert repaired.reason == "t.py::a still fails in the whole suite"
    assert kept is not None
    assert kept.broken.keys() == {"t.py::b"}


@pytest.mark.parametrize(
    ("outcomes", "reason"),
    [
        ({"t.py::a": PASSED, "t.py::c": FAILED}, "t.py::b passed before, and not with it"),
        ({"t.py::a": PASSED, "t.py::b": PASSED}, "only 2 of 3 tests are collected"),
        ({"t.py::b": PASSED, "t.py::c": FAILED}, "t.py::a still fails in the whole suite"),
    ],
)
def test_a_test_that_vanishes_is_an_objection(outcomes: dict[str, TestOutcome], reason: str) -> None:
    """Whether it passed, failed, or was to be repaired."""
    objection = objection_with(outcomes)
    assert objection is not None
    assert objection.reason == reason


@pytest.mark.parametrize("out_of_time", [True, False])
def test_time_alone_speaks_against_no_patch(out_of_time: bool) -> None:
    """A run that was stopped for its time is told apart from one that broke off, so that the patch can be shown."""
    after = replace(report({"t.py::a": PASSED}, trouble="stopped"), out_of_time=out_of_time)
    objection = objection_to(after, before=BEFORE, failing=("t.py::a",))
    assert objection is not None
    assert objection.late == out_of_time


def test_a_run_that_did_not_end_proves_nothing() -> None:
    """Trouble that was not there before is an objection, in its own words."""
    objection = objection_with({"t.py::a": PASSED}, trouble="the tests were killed")
    assert objection is not None
    assert "the tests were killed" in objection.reason


@pytest.mark.parametrize(
    ("outcomes", "passes"),
    [
        ({"t.py::a": PASSED, "t.py::b": SKIPPED}, True),
        ({"t.py::a": PASSED, "t.py::b": FAILED}, False),
        ({"t.py::b": SKIPPED}, False),
        ({"u.py::a": PASSED}, False),
        ({}, False),
    ],
)
def test_a_file_stands_for_its_tests(outcomes: dict[str, TestOutcome], passes: bool) -> None:
    """A file passes when something in it passed and nothing failed."""
    assert passing(["t.py"], outcomes) == ({"t.py"} if passes else set())


def test_a_run_in_numbers() -> None:
    """Errors count as failures; expected failures as neither."""
    outcomes = {"a": PASSED, "b": FAILED, "c": ERROR, "d": SKIPPED, "e": XFAILED}
    assert report(outcomes).count() == SuiteCount(passed=1, failed=2, skipped=1, collected=5)


# ── What a fix may change and add ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with sources, tests, data and a link."""
    root = tmp_path_factory.mktemp("tree")
    files = (
        "pkg/__init__.py pkg/tax.py pkg/latest.py src/lib/rates.py tests/test_tax.py conftest.py setup.py pkg/data.json"
    )
    for name in (
        *files.split(),
        "src/build/__init__.py",
        "build/lib/pkg/__init__.py",
        "contest.py",
        "scripts/run.py",
        "pkg.egg-info/entry_points.txt",
        ".venv/lib.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("", encoding="utf-8")
    (root / "pkg" / "linked.py").symlink_to(root / "conftest.py")
    (root / "linked").symlink_to(root / "pkg")
    return root


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tests/data/expected.json", "passing"),
        ("tests/test_tax.py", "passing"),
        ("pkg/conftest.py", "passing"),
        ("setup.py", "passing"),
        ("src/pytest.py", "passing"),
        ("_pytest/outcomes.py", "passing"),
        ("apprentice_probe/__init__.py", "passing"),
        ("sitecustomize/__init__.py", "passing"),
        ("usercustomize.py", "passing"),
        ("sub/pyproject.toml", "no Python source"),
        (".github/workflows/ci.yml", "no Python source"),
        ("CODEOWNERS", "no Python source"),
        ("Dockerfile", "no Python source"),
        ("requirements.lock", "no Python source"),
        ("pkg/data.json", "no Python source"),
        ("pkg/tax.pyc", "no Python source"),
        ("hook.pth", "no Python source"),
        ("pkg.egg-info/entry_points.txt", "no Python source"),
        ("pkg.egg-info/hook.py", "no sources are kept"),
        ("x-1.0.dist-info/hook.py", "no sources are kept"),
        (".venv/lib.py", "no sources are kept"),
        (".vscode/settings.py", "no sources are kept"),
        ("pkg/__pycache__/tax.py", "no sources are kept"),
        ("build/lib/pkg/__init__.py", "no sources are kept"),
        ("pkg/linked.py", "symbolic link"),
        ("linked/tax.py", "symbolic link"),
        ("../elsewhere.py", "outside"),
        ("/etc/passwd", "outside"),
        ("new/module.py", "directory too"),
        ("scripts/__init__.py", "plain module"),
        ("pkg/__main__.py", "plain module"),
        ("pkg/two-words.py", "plain module"),
        ("json.py", "hides"),
        ("scripts/random.py", "hides"),
        ("msgspec.py", "hides"),
        ("pkg.py", "hides"),
        ("lib.py", "hides"),
    ],
)
def test_what_a_fix_may_not_touch(tree: Path, path: str, reason: str) -> None:
    """Tests and their data, whatever is no source, start-up hooks, metadata, links, everything outside, other modules' names."""
    assert reason in refusal(path, tree, {"msgspec"})


@pytest.mark.parametrize(
    "path",
    [
        "pkg/tax.py",
        "pkg/latest.py",
        "src/lib/rates.py",
        "src/build/__init__.py",
        "contest.py",
        "setup_tax.py",
        "pkg/rounding.py",
    ],
)
def test_sources_are_free(tree: Path, path: str) -> None:
    """Those that are there, a package called as a tool's folder, names that only look alike, and new modules with their own."""
    assert refusal(path, tree) == ""


# ── Verdicts ───────────────────────────────────────────────────────────────────────────────────────────────────────

WANTED = ScreeningTests(failing=("t.py::a", "t.py::b"), covering=("t.py::c",))


def answer(**told: object) -> ForkAnswer:
    known: dict[str, object] = {"id": 1, "how": "swap", "ended": "answered", "cpu": 0.1, "passed": 0, "done": False}
    known |= {"outcomes": {}, "costs": {}, "error_type": "", "message": "", **told}
    return ForkAnswer(**known)  # type: ignore[arg-type]  # names checked by Answer


@pytest.mark.parametrize(("ended", "error"), [("cpu", TIMEOUT), ("wall", TIMEOUT), ("died", CRASH)])
def test_a_process_without_an_answer_is_a_verdict(ended: str, error: str) -> None:
    """It is never plausible, and says how it ended."""
    verdict = verdict_of(TRIED, answer(ended=ended))
    assert (verdict.plausible, verdict.error_type) == (False, error)


def test_a_report_is_a_verdict() -> None:
    """Every failing test repaired and every covering one kept is plausible; anything less is not."""
    good = report({"t.py::a": PASSED, "t.py::b": PASSED, "t.py::c": PASSED})
    half = report({"t.py::a": PASSED, "t.py::b": FAILED, "t.py::c": PASSED})
    broken = report({"t.py::a": PASSED, "t.py::b": PASSED, "t.py::c": SKIPPED})
    cut = report({"t.py::a": PASSED, "t.py::b": PASSED, "t.py::c": PASSED}, trouble="killed")
    verdicts = [verdict_from(TRIED, told, WANTED) for told in (good, half, broken, cut)]
    assert [(v.plausible, v.passed) for v in verdicts] == [(True, 2), (False, 1), (False, 2), (False, 2)]
    assert verdicts[1].error_type == "KeyError"


# ── A second opinion ──


TWINS = TwinRun(
    files={},
    twins={
        "t.py::test_a": Twins(
            function="test_a",
            right="r",
            perturbed="p",
            held="h",
            failed="f",
            survived="s",
            returned=("a", "b"),
            idle="i",
        )
    },
)


def test_a_function_whose_twin_survives_is_named_once() -> None:
    """However many of its parameters it survives with."""
    seen = report({"t.py::p[1]": PASSED, "t.py::p[2]": PASSED, "t.py::p[3]": FAILED})
    assert TWINS.surviving((), seen) == ("t.py::test_a",)


@pytest.mark.parametrize(
    ("ends", "survives", "returns"),
    [
        ({"r[1]": "h", "p[8]": "f", "r[2]": "a", "p[9]": "b"}, False, False),  # another parameter expects an error
        ({"r[1]": "a", "p[8]": "b", "r[2]": "h", "p[9]": "f"}, False, True),  # the one that failed does
        ({"r[1]": "h", "p[8]": "b", "r[2]": "h", "p[9]": "f"}, False, True),  # honest twins return alike
        ({"r[1]": "h", "p[8]": "f", "r[2]": "i", "p[9]": "j"}, False, False),  # another one has nothing to assert
        ({"r[1]": "i", "p[8]": "j", "r[2]": "h", "p[9]": "f"}, True, False),  # the one that failed has not, any more
        ({"r[1]": "h", "p[8]": "s", "r[2]": "h", "p[9]": "f"}, True, False),
    ],
)
def test_what_comes_to_no_assertion(ends: dict[str, str], *, survives: bool, returns: bool) -> None:
    """It counts where a failing test does, and not with other parameters of its function."""
    results = (
        TestResult(id=f"t.py::{name}", outcome=FAILED, seconds=0.0, error_type="AssertionError", message=word)
        for name, word in ends.items()
    )
    seen = TestReport(results=tuple(results), started=True, complete=True)
    failing = ["t.py::test_a[1]"]
    assert (bool(TWINS.surviving(failing, seen)), TWINS.returning(failing, seen)) == (survives, returns)


def test_what_two_runs_without_a_patch_do_not_agree_on_is_not_held_against_it() -> None:
    """The suite is run once more before a refusal is believed, and only where something broken does not pass alone either."""
    runs = [
        report({"t.py::a": FAILED, "t.py::b": PASSED, "t.py::c": PASSED}),
        report({"t.py::a": FAILED, "t.py::b": FAILED, "t.py::c": PASSED}),
    ]
    unsteady = report({"t.py::b": FAILED, "t.py::c": PASSED})
    suite = UnpatchedSuite(lambda tests: unsteady if tests else runs.pop(0), None)
    assert suite.objection_to(report({"t.py::a": PASSED, "t.py::b": PASSED, "t.py::c": PASSED}), ["t.py::a"]) is None
    refused = suite.objection_to(report({"t.py::a": PASSED, "t.py::b": PASSED, "t.py::c": FAILED}), ["t.py::a"])
    assert refused is not None
    assert len(runs) == 1
    assert suite.objection_to(report({"t.py::a": PASSED, "t.py::b": FAILED, "t.py::c": PASSED}), ["t.py::a"]) is None
    assert not runs
    refused = suite.objection_to(report({"t.py::a": PASSED, "t.py::b": FAILED, "t.py::c": FAILED}), ["t.py::a"])
    assert refused is not None
    assert refused.broken.keys() == {"t.py::c"}


def test_a_second_opinion_that_was_cut_short_excuses_nothing() -> None:
    """What it did not come to is not unsteady."""
    whole = report({"t.py::a": FAILED, "t.py::b": PASSED, "t.py::c": PASSED})
    cut = report({"t.py::a": FAILED}, trouble="stopped")
    suite = UnpatchedSuite(lambda _: cut, whole)
    assert suite.objection_to(report({"t.py::a": PASSED}, trouble="stopped"), ["t.py::a"]) is not None
    assert (
        suite.objection_to(report({"t.py::a": PASSED, "t.py::b": FAILED, "t.py::c": PASSED}), ["t.py::a"]) is not None
    )
    both = UnpatchedSuite(lambda _: cut, replace(whole, complete=False, trouble="stopped"))
    refused = both.objection_to(report({"t.py::a": PASSED, "t.py::b": FAILED}, trouble="stopped"), ["t.py::a"])
    assert refused is not None
    assert refused.broken.keys() == {"t.py::b"}


def test_the_test_that_time_ended_did_not_fail_before_the_patch() -> None:
    """Neither run without a patch counts the one that it was stopped in."""
    cut = report({"t.py::a": FAILED, "t.py::b": FAILED}, trouble="stopped")
    cut = replace(cut, results=(cut.results[0], replace(cut.results[1], message="stopped")))
    suite = UnpatchedSuite(lambda _: cut, None)
    assert [[result.id for result in run.failing()] for run in (suite.first, suite.second)] == [["t.py::a"]] * 2


def test_tests_whose_ids_differ_in_each_run_are_counted_by_function() -> None:
    """As many as before have to pass; the failing ones of such a function have to pass all."""

    def ran(mark: str, failing: TestOutcome, *others: TestOutcome) -> TestReport:
        return report({f"t.py::a[{mark}]": failing, **{f"t.py::b[{mark}-{n}]": each for n, each in enumerate(others)}})

    suite = UnpatchedSuite(lambda _: ran("2", FAILED, PASSED, PASSED), ran("1", FAILED, PASSED, PASSED))
    assert suite.objection_to(ran("3", PASSED, PASSED, PASSED), ["t.py::a"]) is None
    broken = suite.objection_to(ran("4", PASSED, PASSED, FAILED), ["t.py::a"])
    assert broken is not None
    assert broken.reason == "t.py::b[passing 2] passed before, and not with it"
    assert not broken.broken, "no test has such an id"
    assert suite.objection_to(ran("5", FAILED, PASSED, PASSED), ["t.py::a"]) is not None


def test_functions_whose_ids_differ_run_alone_for_the_second_opinion() -> None:
    """The whole suite runs again only where not all of their tests pass, or others are collected."""

    def ran(mark: str, *outcomes: TestOutcome) -> dict[str, TestOutcome]:
        return {f"t.py::b[{mark}-{n}]": each for n, each in enumerate(outcomes)}

    def asked(*alone: TestOutcome) -> list[tuple[str, ...]]:
        found = []

        def run(tests: Sequence[str]) -> TestReport:
            found.append(tuple(tests))
            return report(ran("3", *alone))

        patched = report({"t.py::a": PASSED, **ran("2", PASSED, PASSED)})
        first = report({"t.py::a": FAILED, **ran("1", PASSED, PASSED)})
        assert UnpatchedSuite(run, first).objection_to(patched, ["t.py::a"]) is None
        return found

    assert asked(PASSED, PASSED) == [("t.py::b",)]
    assert asked(PASSED) == [("t.py::b",), ()]
    assert asked(PASSED, FAILED) == [("t.py::b",), ()]


def test_without_time_for_a_second_opinion_nothing_is_known() -> None:
    """Such a patch is late, and not refused; what may be no work of it screens nothing."""
    first = report({"t.py::a": FAILED, "t.py::b[1]": PASSED})
    cut = replace(report({}, trouble="stopped"), out_of_time=True)
    late = UnpatchedSuite(lambda _: cut, first).objection_to(
        report({"t.py::a": PASSED, "t.py::b[2]": PASSED}), ["t.py::a"]
    )
    assert late is not None
    assert late.late
    assert not late.broken


# ── Selecting tests ────────────────────────────────────────────────────────────────────────────────────────────────


def test_companions_of_the_failing_tests_come_from_their_files_first() -> None:
    """Then from elsewhere, for as long as the time for tracing lasts."""
    seen = report({"u.py::a": PASSED, "t.py::a": FAILED, "t.py::b": PASSED}, seconds=0.6)
    assert companions(seen) == ("t.py::b", "u.py::a")
    assert companions(report({"t.py::a": FAILED, "t.py::b": PASSED}, seconds=9.0)) == ()


def test_the_tests_that_run_suspected_lines_are_the_judges() -> None:
    """Those that run most of them first; those that never enter a suspected file are left to the proof."""
    failure = Failure(error_type="KeyError", family=Family.LOOKUP, message="", frames=(), failing_tests=("t.py::a",))
    seen = Reproduction(
        report=report({"t.py::a": FAILED, "t.py::b": PASSED, "t.py::c": PASSED, "t.py::d": PASSED}, seconds=0.1),
        flaky=(),
        set_aside={},
        lines={
            "t.py::b": {"a.py": frozenset({1})},
            "t.py::c": {"a.py": frozenset({1, 2})},
            "t.py::d": {"other.py": frozenset({1, 2})},
        },
        passing=("t.py::b", "t.py::c", "t.py::d"),
        test_runs=2,
    )
    suspects = [Suspect(path="a.py", line=1, score=0.5), Suspect(path="a.py", line=2, score=0.4)]
    chosen = screening_tests(seen, failure, suspects)
    assert (chosen.failing, chosen.covering) == (("t.py::a",), ("t.py::c", "t.py::b"))
    assert chosen.seconds == pytest.approx(0.3)


def test_a_few_of_many_failing_tests_judge() -> None:
    """The quickest of each function first, for as many seconds as candidates can afford; one in any case."""
    seconds = {f"t.py::{name}[{n}]": cost + n / 100 for name, cost in (("a", 0.5), ("b", 0.3)) for n in range(300)}
    results = tuple(TestResult(id=test, outcome=FAILED, seconds=cost) for test, cost in seconds.items())
    seen = Reproduction(
        report=TestReport(results=results, started=True, complete=True),
        flaky=(),
        set_aside={},
        lines={},
        passing=(),
        test_runs=2,
    )
    failure = Failure(error_type="KeyError", family=Family.LOOKUP, message="", frames=(), failing_tests=tuple(seconds))
    chosen = screening_tests(seen, failure, [])
    assert chosen.failing[:3] == ("t.py::b[0]", "t.py::a[0]", "t.py::b[1]")
    assert chosen.seconds <= 2.0
    slow = replace(failure, failing_tests=("t.py::a[299]",))
    assert screening_tests(seen, slow, []).failing == ("t.py::a[299]",)


def test_tests_that_differ_in_their_parameters_alone_do_not_crowd_out_others() -> None:
    """Each further test of the same lines is worth less than one that runs other suspected lines."""
    failure = Failure(error_type="KeyError", family=Family.LOOKUP, message="", frames=(), failing_tests=("t.py::a",))
    many = {f"t.py::b[{n}]": {"a.py": frozenset({1, 2})} for n in range(3)}
    seen = Reproduction(
        report=report({"t.py::a": FAILED, **dict.fromkeys(many, PASSED), "t.py::c": PASSED}, seconds=0.1),
        flaky=(),
        set_aside={},
        lines={**many, "t.py::c": {"a.py": frozenset({3})}},
        passing=(*many, "t.py::c"),
        test_runs=2,
    )
    suspects = [Suspect(path="a.py", line=n, score=score) for n, score in ((1, 0.5), (2, 0.4), (3, 0.5))]
    assert screening_tests(seen, failure, suspects).covering == ("t.py::b[0]", "t.py::c", "t.py::b[1]", "t.py::b[2]")


def test_sources_are_what_people_wrote_in_utf_8(tmp_path: Path) -> None:
    """Environments, links, other encodings and other files are no sources; line ends are kept."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_bytes("x = 'é'\r\n".encode())
    (tmp_path / "pkg" / "latin.py").write_bytes("x = 'é'\n".encode("latin-1"))
    (tmp_path / "pkg" / "notes.txt").write_text("x", encoding="utf-8")
    (tmp_path / "pkg" / "link.py").symlink_to("/etc/passwd")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("", encoding="utf-8")
    (tmp_path / ".venv" / "b.py").write_text("", encoding="utf-8")
    assert sources_of(project(tmp_path)) == {"pkg/a.py": "x = 'é'\r\n"}


def test_names_that_are_too_long_name_no_file(tmp_path: Path) -> None:
    """A word of the test command, a test that failed last, and one that a run reports."""
    long, run = "x" * 300, project(tmp_path, "pytest", "-k", "x" * 300)
    assert arguments(run, ("t.py::a",)) == ("-k", long, "t.py")
    assert not defines(tmp_path, f"{long}.py", ["test_a"])
    assert TreeFiles(tmp_path).place(f"tests/{long}") is None


def test_many_tests_that_are_gone_are_looked_for_once() -> None:
    """Each of them in each result of the run would be looked for 400 million times."""
    ids = [f"t.py::test[{number}]" for number in range(20_000)]
    after = report(dict.fromkeys((f"{test}-again" for test in ids), PASSED))
    assert len(still_failing(ids, after)) == len(ids)
    assert still_failing(["t.py", "t.py::test", "t.py::tes"], after) == ("t.py::tes",)


def test_links_in_a_circle_hold_nothing(tmp_path: Path) -> None:
    """Neither tests that failed last, nor a test file that a run reports."""
    for path in (LAST_FAILED, "test_a.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).symlink_to(Path(path).name)
    assert last_failed(tmp_path) == ()
    assert not defines(tmp_path, "test_a.py", ["test_a"])


def project(tree: Path, *command: str) -> Project:
    words = command or ("python", "-m", "pytest")
    return Project(tree=tree, python=Path(sys.executable), test_command=words, source_roots=(".",))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("python", "-m", "pytest"), ("t.py", "u.py")),
        (("python", "-m", "pytest", "-q", "-k", "not slow"), ("-q", "-k", "not slow", "t.py", "u.py")),
        (("pytest", "-x"), ("-x", "t.py", "u.py")),
        (("python", "-m", "pytest", "tests"), ("t.py", "u.py")),
        (("python", "-m", "pytest", "."), ("t.py", "u.py")),
        (("python", "-m", "pytest", "-q", "t.py", "u.py::b"), ("-q", "t.py", "u.py::b")),
        (("python", "-m", "pytest", "t.py::c"), ("t.py::c", "t.py::a", "u.py")),
        (("python", "-X", "dev", "-m", "pytest"), None),
        (("tox",), None),
        (("sh", "-c", "pytest"), None),
    ],
)
def test_the_arguments_of_a_plain_pytest_are_kept(
    tmp_path: Path, command: tuple[str, ...], expected: tuple[str, ...] | None
) -> None:
    """Files are named in place of paths, and what single tests that it names leave out; no other command gives arguments."""
    (tmp_path / "tests").mkdir()
    for name in ("t.py", "u.py"):
        (tmp_path / name).touch()
    assert arguments(project(tmp_path, *command), ("t.py::a", "u.py::b", "t.py::c")) == expected


# ── The baseline ───────────────────────────────────────────────────────────────────────────────────────────────────

BOTH = {"t.py::a": False, "t.py::b": False, "t.py::c": True}


def test_a_baseline_that_says_the_same_each_time_allows_swaps() -> None:
    """The costs are those of the last run in memory and of the fresh one."""
    fresh = answer(how="fresh", outcomes=BOTH, cpu=0.5)
    warm = answer(outcomes=BOTH, cpu=0.1)
    assert settled(WANTED, fresh, [warm, warm], wall=1.0, runs=3) == Baseline(
        covering=("t.py::c",), cpu=(0.1, 0.5), each=(0.0, 0.0, 0.0), wall=1.0, fresh=False, runs=3
    )


def test_tests_that_are_imported_slowly_are_kept_in_memory_all_the_same() -> None:
    """The first run imports and collects anew, and may compute as much longer as that took; those in memory may not."""
    server = SlowlyImported(seconds=20.0)
    baseline = establish(cast("ForkServer", server), replace(WANTED, seconds=0.1))
    afresh, *kept = server.asked
    assert (afresh.fresh, [request.fresh for request in kept]) == (True, [False, False])
    assert afresh.cpu[1] > server.seconds > kept[0].cpu[0]
    assert afresh.wall > afresh.cpu[1]
    assert not baseline.fresh


def test_what_tests_prepare_together_may_take_as_long_in_memory() -> None:
    """A fixture of a module costs the first test that uses it, which may be none of those chosen: their own times miss it."""
    server = SlowlyImported(seconds=1.0, prepared=7.0)
    baseline = establish(cast("ForkServer", server), replace(WANTED, seconds=0.1))
    assert all(request.cpu[0] > server.prepared for request in server.asked)
    assert not baseline.fresh


@pytest.mark.parametrize(("seconds", "asked"), [(2.4, 3), (9.0, 1)])
def test_only_slow_failing_tests_are_imported_afresh(seconds: float, asked: int) -> None:
    """As many seconds as covering tests may take cost two runs more, and spare an import with each edit."""
    server = SlowlyImported(seconds=0.3)
    baseline = establish(cast("ForkServer", server), replace(WANTED, seconds=seconds))
    assert (len(server.asked), baseline.fresh) == (asked, asked == 1)


@dataclass
class SlowlyImported:
    """A fork server in whose forks an import takes as long as its own start did, and what tests share `prepared` seconds."""

    seconds: float
    prepared: float = 0.0
    unfit: str = ""
    narrows: bool = False
    asked: list[ForkRequest] = field(default_factory=list)

    def ask(self, request: ForkRequest) -> ForkAnswer:
        self.asked.append(request)
        if request.fresh:
            return answer(how="fresh", outcomes=BOTH, cpu=self.seconds + self.prepared)
        return answer(outcomes=BOTH, cpu=0.1 + self.prepared)


@dataclass
class Narrowing(SlowlyImported):
    """The same, which can collect the failing tests alone: then they fail with `alone`."""

    narrows: bool = True
    alone: str = "boom"

    def ask(self, request: ForkRequest) -> ForkAnswer:
        seen = super().ask(request)
        outcomes = {test: BOTH[test] for test in (*request.failing, *request.covering)}
        return msgspec.structs.replace(
            seen, outcomes=outcomes, message=self.alone if request.narrow else "boom at 0x1a"
        )


@pytest.mark.parametrize(("alone", "narrow"), [("boom at 0x2b", True), ("cannot import name", False)])
def test_failing_tests_are_collected_alone_only_if_they_fail_alike(alone: str, narrow: bool) -> None:
    """A test may need what the files of others import."""
    baseline = establish(cast("ForkServer", Narrowing(seconds=0.3, alone=alone)), WANTED)
    assert baseline.narrow is narrow


def test_failing_tests_are_alone_where_there_are_no_other_files() -> None:
    """Files that later tests need come after theirs."""
    server = SlowlyImported(seconds=0.3)
    assert establish(cast("ForkServer", server), WANTED).narrow
    assert not any(request.narrow for request in server.asked)


def test_a_failing_test_may_cost_more_than_it_did() -> None:
    """One that failed at once may go as far as the slowest does, within bounds; a passing one may cost the most that it has."""
    answers = [answer(outcomes=BOTH, costs={"t.py::a": 0.001, "t.py::b": 0.4, "t.py::c": cost}) for cost in (0.2, 0.3)]
    baseline = settled(WANTED, answers[0], answers[1:], wall=1.0, runs=2)
    assert baseline.each == (REPAIRED_SECONDS, 0.4, 0.3)


def test_a_baseline_that_differs_in_memory_forbids_swaps() -> None:
    """Also when nothing is kept in memory at all."""
    fresh = answer(how="fresh", outcomes=BOTH, cpu=0.5)
    odd = answer(outcomes={**BOTH, "t.py::c": False})
    assert settled(WANTED, fresh, [odd, odd], wall=1.0, runs=3).fresh
    assert settled(WANTED, fresh, [], wall=1.0, runs=1).fresh


def test_a_covering_test_that_fails_here_does_not_judge() -> None:
    """It would condemn every candidate."""
    fresh = answer(how="fresh", outcomes={**BOTH, "t.py::c": False})
    assert settled(WANTED, fresh, [], wall=1.0, runs=1).covering == ()


def test_a_failing_test_that_passes_here_defeats_the_server() -> None:
    """Every candidate would look right."""
    with pytest.raises(ForkServerUnusable, match=r"t\.py::a passes"):
        settled(WANTED, answer(how="fresh", outcomes={**BOTH, "t.py::a": True}), [], wall=1.0, runs=1)
