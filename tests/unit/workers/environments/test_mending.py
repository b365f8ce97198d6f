"""Mends: each failure that is well known changes the plan once, by what the project itself says where it says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memory.model import Frame, Plan
from tests.unit.workers.environments.test_plans import PYPROJECT, written
from workers.environments.mending import MAX_MENDS, PlanFailure, Stage, as_of, failure_of_run, mended
from workers.sandbox.report import TestOutcome, TestReport, TestResult

COMMAND = ("python", "-m", "pytest")
PLAN = Plan(
    source="x",
    minors=("3.11", "3.12", "3.9"),
    requirements=("pytest",),
    project=".",
    test_command=(*COMMAND, "-k", "a", "--fast"),
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    settings = "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')"
    return written(
        tmp_path, {"pyproject.toml": PYPROJECT, "shop/__init__.py": "", "src/till.py": "", "manage.py": settings}
    )


def collect(text: str) -> PlanFailure:
    return PlanFailure(stage=Stage.COLLECT, text=text)


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("E   ModuleNotFoundError: No module named 'yaml'", ("pytest", "PyYAML")),
        ("No module named 'google.protobuf.message'", ("pytest", "protobuf")),
        ("No module named 'zz_top.songs'", ("pytest", "zz_top")),
        ("fixture 'mocker' not found", ("pytest", "pytest-mock")),
        ("fixture 'benchmark' not found\nNo module named 'numpy'", ("pytest", "numpy", "pytest-benchmark")),
        ("error: unrecognized arguments: --cov=shop --timeout 3 -n auto", ("pytest", "pytest-cov", "pytest-timeout", "pytest-xdist")),
        ("Unknown config option: asyncio_mode", ("pytest", "pytest-asyncio")),
        ("'asyncio' not found in `markers` configuration option", ("pytest", "pytest-asyncio")),
        ("async def functions are not natively supported.", ("pytest", "pytest-asyncio")),
        ("No module named 'distutils'", ("pytest", "setuptools<81")),
    ],
)  # fmt: skip
def test_what_is_missing_is_added(tree: Path, text: str, requirements: tuple[str, ...]) -> None:
    """All that a run lacks comes at once, from the table of well-known names or by the module's own."""
    found = mended(replace(PLAN, project=None), collect(text), tree)
    assert found is not None and found.requirements == requirements
    again = mended(found, collect(text), tree)
    assert again is None or again.requirements == requirements


def test_an_extra_or_group_that_holds_it_comes_first(tree: Path) -> None:
    """With its versions, and with whatever else the project needs together with it."""
    extra = mended(PLAN, collect("fixture 'mocker' not found"), tree)
    assert extra is not None and (extra.extras, extra.requirements) == (("test",), ("pytest",))
    assert extra.mends == ("added the extra test for pytest-mock: no fixture mocker",)
    group = mended(PLAN, collect("No module named 'hypothesis'"), tree)
    assert group is not None and (group.groups, group.requirements) == (("base",), ("pytest", "hypothesis"))


@pytest.mark.parametrize("module", ["shop.goods", "till", "shopp", "jsn", "_private", "uwsgi"])
def test_what_is_no_distribution_is_not_asked_for(tree: Path, module: str) -> None:
    """The project's own modules, slips for them or for Python's, and private names: a stranger could publish any of them."""
    found = mended(PLAN, collect(f"No module named '{module}'"), tree)
    assert (found is None) == (module != "uwsgi")


@pytest.mark.parametrize("module", ["httpx", "lxml", "psutil", "tomli", "django"])
def test_a_well_known_distribution_is_no_slip(tree: Path, module: str) -> None:
    """Though it looks like a module of Python's, or the project's tests have a folder of its name."""
    (tree / "tests" / "django").mkdir(parents=True)
    found = mended(PLAN, collect(f"No module named '{module}'"), tree)
    assert found is not None and found.requirements == ("pytest", module)


def test_what_the_projects_own_package_lacks(tree: Path) -> None:
    """A checkout of a well-known package is not given its own release because a change imports what it has not."""
    (tree / "yaml").mkdir()
    assert mended(PLAN, collect("No module named 'yaml.testing'"), tree) is None
    assert mended(PLAN, collect("No module named 'google.protobuf'"), tree) is not None


@pytest.mark.parametrize(
    ("text", "minors"),
    [
        ("No module named 'tomllib'", None),
        ("No module named 'asyncore'", None),
        ("cannot import name 'Mapping' from 'collections' (/usr/lib)", ("3.9",)),
        ("SyntaxError: invalid syntax", ("3.12",)),
        ("TypeError: 'NoneType' object is not subscriptable", None),
        ("AssertionError: SyntaxError is expected", None),
        ("TypeError: 'type' object is not subscriptable", ("3.12",)),
        ("TypeError: unsupported operand type(s) for |: 'type' and 'type'", ("3.12",)),
    ],
)
def test_another_python(tree: Path, text: str, minors: tuple[str, ...] | None) -> None:
    """Of the plan's own Pythons one that has what is missing; none where the first already has it."""
    found = mended(replace(PLAN, test_command=COMMAND), collect(text), tree)
    assert (None if found is None else found.minors) == minors
    if "tomllib" in text or "asyncore" in text:
        on = replace(PLAN, minors=("3.10", "3.11") if "tomllib" in text else ("3.12", "3.11"), test_command=COMMAND)
        moved = mended(on, collect(text), tree)
        assert moved is not None and moved.minors == ("3.11",)


TODAY = "2026-11-30"


@pytest.mark.parametrize("day", [TODAY, "2026-12-01"])
def test_packages_of_today(day: str) -> None:
    """Those are the ones that were tried, also where the commit's clock is in an earlier time zone."""
    assert as_of(PLAN, day, TODAY) == ()
    assert as_of(PLAN, "2026-11-29", TODAY)


def test_packages_of_a_day() -> None:
    """With the Pythons that were there, else the oldest; then with its own; and once. Before pytest 6, as of its first year."""
    plan = replace(PLAN, minors=("3.11", "3.12", "3.9"))
    for day, minors in {
        "2023-02-01": ("3.11", "3.9"),
        "2021-02-01": ("3.9",),
    }.items():
        found = as_of(plan, day, TODAY)
        assert [(each.before, each.minors) for each in found] == [(day, minors), (day, plan.minors)]
        assert as_of(found[0], "2020-01-01", TODAY) == ()
    assert len(as_of(replace(PLAN, minors=("3.11",)), "2023-02-01", TODAY)) == 1
    older = as_of(plan, "2019-02-01", TODAY)
    newer = as_of(replace(plan, minors=("3.11", "3.12")), "2019-02-01", TODAY)
    assert [(each.before, each.minors) for each in older] == [("2020-12-31", ("3.9",)), ("2020-12-31", plan.minors)]
    assert [(each.before, each.minors) for each in newer] == [("2020-12-31", ("3.11", "3.12"))]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("unrecognized arguments: --fast", (*COMMAND, "-k", "a")),
        ("unrecognized arguments: --odd-one=3", (*COMMAND, "-k", "a", "--fast", "-o", "addopts=")),
        ("ERROR: file or directory not found: spec", COMMAND),
        ("no tests were collected", COMMAND),
    ],
)
def test_a_plainer_command(tree: Path, text: str, command: tuple[str, ...]) -> None:
    """What pytest does not accept and no plug-in explains is left out."""
    found = mended(PLAN, collect(text), tree)
    assert found is not None and found.test_command == command


def test_a_pytest_that_reads_files_with_tests_that_yield(tree: Path) -> None:
    """In the place of the newest, and of a pin; nothing else is a reason for an old one."""
    pinned = replace(PLAN, constraints=("pytest==8.4.1", "six==1.16"), test_command=COMMAND)
    text = "Failed: 'yield' keyword is allowed in fixtures, but not in tests (test_old)"
    found = mended(pinned, collect(text), tree)
    assert found is not None and (found.requirements, found.constraints) == (("pytest<8.4",), ("six==1.16",))
    assert mended(found, collect(text), tree) is None
    assert mended(pinned, collect("assert 'yield' == ''"), tree) is None


def test_django_settings(tree: Path) -> None:
    """Those that manage.py names, with the plug-in."""
    found = mended(PLAN, collect("ImproperlyConfigured: Requested setting X, but settings are not configured."), tree)
    assert found is not None and found.variables == (("DJANGO_SETTINGS_MODULE", "shop.settings"),)
    assert found.requirements == ("pytest", "pytest-django")


def test_packages_that_cannot_be_had(tree: Path) -> None:
    """First the pin goes, then the version, then the requirement; of an extra the rest stays."""
    plan = replace(
        PLAN, requirements=("pytest", "psycopg2==2.8", "old==1"), constraints=("old==1", "six==1"), extras=("test",)
    )
    steps = []
    for _ in range(3):
        mend = mended(plan, PlanFailure(stage=Stage.BUILD, text="gcc: not found", subject="old"), tree)
        assert mend is not None
        plan = mend
        steps.append((plan.constraints, plan.requirements))
    assert steps == [
        (("six==1",), ("pytest", "psycopg2==2.8", "old==1")),
        (("six==1",), ("pytest", "psycopg2==2.8", "old")),
        (("six==1",), ("pytest", "psycopg2==2.8")),
    ]
    swapped = mended(plan, PlanFailure(stage=Stage.BUILD, text="", subject="psycopg2"), tree)
    assert swapped is not None and swapped.requirements == ("pytest", "psycopg2-binary")
    named = PlanFailure(
        stage=Stage.RESOLVE,
        text="  × No solution found:\n  ╰─▶ Because pytest-mock was not found in the package registry and",
    )
    without = mended(plan, named, tree)
    assert without is not None and (without.extras, without.requirements) == ((), ("pytest", "psycopg2==2.8"))


def test_what_does_not_fit_together_is_freed(tree: Path) -> None:
    """Another Python where the text is about it; then pins, and in the end the project itself is not installed."""
    plan = replace(PLAN, requirements=("a==1 ; python_version > '3'", "pytest"), constraints=("b==1",), lock="uv.lock")
    about = mended(plan, PlanFailure(stage=Stage.RESOLVE, text="requires a different Python: 3.11 not in <3.10"), tree)
    assert about is not None and about.minors == ("3.12", "3.9")
    steps = []
    while (found := mended(plan, PlanFailure(stage=Stage.RESOLVE, text="we are unsatisfiable"), tree)) is not None:
        plan = found
        steps.append((plan.constraints, plan.requirements, plan.project))
    assert steps == [
        ((), ("a==1 ; python_version > '3'", "pytest"), "."),
        ((), ("pytest", 'a; python_version > "3"'), "."),
        ((), ("click", "pytest", 'a; python_version > "3"'), None),
    ]


def test_mending_ends(tree: Path) -> None:
    """However many things fail one after the other."""
    plan, count = replace(PLAN, project=None), 0
    while (found := mended(plan, collect(f"No module named 'zz{count}zz'"), tree)) is not None:
        plan, count = found, count + 1
    assert count == MAX_MENDS


def test_the_failure_of_a_run() -> None:
    """Errors before failures, each message once; nothing where nothing failed."""

    def result(name: str, outcome: TestOutcome, message: str) -> TestResult:
        return TestResult(id=name, outcome=outcome, seconds=0.0, error_type="E", message=message)

    results = (
        result("a", TestOutcome.FAILED, "one"),
        result("b", TestOutcome.ERROR, "two"),
        result("c", TestOutcome.ERROR, "two"),
    )
    found = failure_of_run(TestReport(results=results, started=True, complete=True))
    assert found == collect("E: two\nE: one")
    assert failure_of_run(TestReport(results=(), started=True, complete=True)) is None


@pytest.mark.parametrize(("function", "is_pythons"), [("<module>", True), ("scan", False)])
def test_a_syntax_error_of_a_language_of_the_project(*, function: str, is_pythons: bool) -> None:
    """It says nothing of Python's version, where a function raised it."""
    frames = (Frame(path="test_a.py", line=3, function="test_a"), Frame(path="shop/s.py", line=9, function=function))
    result = TestResult(
        id="a", outcome=TestOutcome.FAILED, seconds=0.0, error_type="SyntaxError", message="bad mark", frames=frames
    )
    found = failure_of_run(TestReport(results=(result,), started=True, complete=True))
    assert found == (collect("SyntaxError: bad mark") if is_pythons else None)
