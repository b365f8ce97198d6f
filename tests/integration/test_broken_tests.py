"""What a review says of the tests of both sides, in the real sandbox."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from workers.ports import Limits
from workers.review.broken_tests import ComparedTests, TestComparison
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import NO_OWN_OPTIONS, Project, discover

pytestmark = pytest.mark.sandbox

PYTEST = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest"
BASE = {
    "shop/__init__.py": "",
    "shop/money.py": "def rounded(amount):\n    cents = amount * 100\n    return round(cents) / 100\n\n\ndef free():\n    return 0\n",
    "shop/tax.py": "def rate():\n    return 0.2\n",
    "tests/test_money.py": "from shop.money import rounded\n\n\ndef test_up():\n    assert rounded(1.236) == 1.24\n\n\n"
    "def test_zero():\n    assert rounded(0) == 0\n",
    "tests/test_free.py": "from shop.money import free\n\n\ndef test_free():\n    assert free() == 0\n",
    "tests/test_tax.py": "from shop.tax import rate\n\n\ndef test_rate():\n    assert rate() == 0.25\n",
}
TOUCHED = {"shop/money.py": frozenset({2, 3})}


def compared(
    root: Path,
    changes: Mapping[str, str],
    reaching: tuple[str, ...] = (),
    seconds: float = 600,
    *,
    left_out: bool = False,
    directory: str = ".",
    wall_seconds: float = 120,
    progress: Callable[[str], object] = lambda _: None,
) -> ComparedTests:
    """`left_out`: the environment of both sides left out the project's own options of pytest."""
    started = PYTEST if directory == "." else "python -m pytest"  # only this is told which files to collect
    command = " ".join((started, *NO_OWN_OPTIONS)) if left_out else started
    for name, files in (("base", BASE), ("head", {**BASE, **changes})):
        for path, text in files.items():
            (root / name / path).parent.mkdir(parents=True, exist_ok=True)
            (root / name / path).write_text(text)

    def project(side: str) -> Project:
        found = discover(root / side, python=None, test_command=command, directory=directory)
        return replace(found, without_own_options=left_out)

    comparison = TestComparison(
        sandbox=Bubblewrap(),
        head=project("head"),
        base=lambda: project("base"),
        touched=TOUCHED,
        limits=Limits(wall_seconds=wall_seconds),
        deadline=time.monotonic() + seconds,
        progress=progress,
    )
    return comparison.with_own_options().compare(reaching)


def broken(tests: ComparedTests) -> dict[str, tuple[str, str, int, bool]]:
    return {test.id: (test.error_type, test.path, test.line, test.added) for test in tests.broken}


def test_a_test_that_the_change_breaks_is_named_with_the_changed_line(tmp_path: Path) -> None:
    wrong = BASE["shop/money.py"].replace("round(cents)", "int(cents)")
    lines: list[str] = []
    reaching = ("tests/test_free.py", "tests/test_money.py")
    found = compared(tmp_path, {"shop/money.py": wrong}, reaching, progress=lines.append)
    assert lines[0] == "running the tests that reach the change: tests/test_free.py and 1 more file"
    assert broken(found) == {"tests/test_money.py::test_up": ("AssertionError", "shop/money.py", 2, False)}
    assert found.failing_before == ("tests/test_tax.py::test_rate",)
    assert (found.ran, found.whole, found.flaky, found.unknown) == (4, True, (), ())


def test_what_raises_on_a_changed_line_is_placed_there(tmp_path: Path) -> None:
    wrong = BASE["shop/money.py"].replace("/ 100\n\n", "/ amount\n\n")
    found = compared(tmp_path, {"shop/money.py": wrong})
    assert broken(found)["tests/test_money.py::test_zero"] == ("ZeroDivisionError", "shop/money.py", 3, False)


def test_a_test_that_fails_without_a_message_is_named_too(tmp_path: Path) -> None:
    silent = BASE["shop/money.py"].replace("return 0\n", "raise KeyError\n")
    found = compared(tmp_path, {"shop/money.py": silent})
    assert broken(found) == {"tests/test_free.py::test_free": ("KeyError", "", 0, False)}


def test_a_file_that_cannot_be_collected_any_more_is_named(tmp_path: Path) -> None:
    gone = BASE["shop/money.py"].partition("\n\n\ndef free")[0]
    found = compared(tmp_path, {"shop/money.py": gone})
    assert [(test.id, test.error_type) for test in found.broken] == [("tests/test_free.py", "ImportError")]
    assert found.failing_before == ("tests/test_tax.py::test_rate",)


def test_a_suite_that_cannot_begin_any_more_is_said(tmp_path: Path) -> None:
    found = compared(tmp_path, {"conftest.py": "import no_such_module\n"})
    assert [test.id for test in found.broken] == [""]
    assert "no_such_module" in found.broken[0].message


def test_a_failing_test_that_the_change_adds_is_said_to_be_new(tmp_path: Path) -> None:
    new = BASE["tests/test_free.py"] + "\n\ndef test_more():\n    assert free() == 1\n"
    found = compared(tmp_path, {"tests/test_free.py": new, "tests/test_new.py": "def test_it():\n    assert 0\n"})
    assert {id_: added for id_, (_, _, _, added) in broken(found).items()} == {
        "tests/test_free.py::test_more": True,
        "tests/test_new.py::test_it": True,
    }


PLUGIN = """import pytest


class Check(pytest.Item):
    def runtest(self):
        raise OSError("no network")


def pytest_collection_modifyitems(session, items):
    items.append(Check.from_parent(session, name="project", nodeid=".::project"))
"""


def test_a_check_of_a_plug_in_that_belongs_to_no_file_is_compared_too(tmp_path: Path) -> None:
    """Its id names a directory: it is neither new nor broken where it fails at the base as well."""
    (tmp_path / "base").mkdir()
    (tmp_path / "base/conftest.py").write_text(PLUGIN)
    wrong = BASE["shop/money.py"].replace("round(cents)", "int(cents)")
    found = compared(tmp_path, {"shop/money.py": wrong, "conftest.py": PLUGIN})
    assert list(broken(found)) == ["tests/test_money.py::test_up"]
    assert set(found.failing_before) == {"tests/test_tax.py::test_rate", ".::project"}


def test_a_flaky_test_is_not_blamed_on_the_change(tmp_path: Path) -> None:
    flaky = "import os\n\n\ndef test_chance():\n    assert 'APPRENTICE_TRACE' in os.environ\n"
    found = compared(tmp_path, {"tests/test_chance.py": flaky})
    assert (found.broken, found.flaky) == ((), ("tests/test_chance.py::test_chance",))


def test_a_new_test_that_fails_by_chance_is_not_blamed_either(tmp_path: Path) -> None:
    """It fails in the head's first two runs and in no further one; the base does not have it."""
    seldom = (
        "import os\n\n\ndef test_chance(request):\n"
        "    assert len(request.session.items) == 1 and 'APPRENTICE_TRACE' not in os.environ\n"
    )
    found = compared(tmp_path, {"tests/test_chance.py": seldom})
    assert (found.broken, found.flaky) == ((), ("tests/test_chance.py::test_chance",))


def test_chance_is_told_by_further_runs_where_no_changed_line_runs(tmp_path: Path) -> None:
    """It fails in both of the head's first runs, of which one is of all tests and the other traced, and in no further one."""
    seldom = (
        "import os\nfrom pathlib import Path\n\n\ndef test_chance(request):\n"
        "    alone = len(request.session.items) == 1 and 'APPRENTICE_TRACE' not in os.environ\n"
        "    assert alone or 'int(cents)' not in Path('shop/money.py').read_text()\n"
    )
    changed = BASE["shop/money.py"].replace("round(cents)", "int(cents)")
    for name in ("base", "head"):
        (tmp_path / name / "tests").mkdir(parents=True)
        (tmp_path / name / "tests" / "test_chance.py").write_text(seldom)
    found = compared(tmp_path, {"shop/money.py": changed})
    assert list(broken(found)) == ["tests/test_money.py::test_up"]
    assert found.flaky == ("tests/test_chance.py::test_chance",)


def test_an_option_that_the_environment_left_out_for_the_head_is_said(tmp_path: Path) -> None:
    """Environments are made to work, and what was made for the head serves the base: it would hide what the change broke."""
    wrong = "[pytest]\naddopts = --strict-marker-names\n"
    found = compared(tmp_path, {"pytest.ini": wrong}, left_out=True)
    assert [test.id for test in found.broken] == [""]
    assert "--strict-marker-names" in found.broken[0].message


def test_what_a_user_leaves_out_stays_out(tmp_path: Path) -> None:
    """Only what an environment left out is put back, and of the test command nothing else is touched."""
    project = discover(tmp_path, python=None, test_command=f"{PYTEST} -o cache_dir=x -o addopts=")
    assert project.with_own_options() == project
    restored = replace(project, without_own_options=True).with_own_options()
    assert restored.test_command == project.test_command[:-2]
    assert restored.with_own_options() == restored


def test_an_option_that_the_base_cannot_take_either_is_left_out(tmp_path: Path) -> None:
    for name in ("base", "head"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    changed = BASE["shop/money.py"].replace("round(cents)", "int(cents)")
    found = compared(tmp_path, {"shop/money.py": changed}, left_out=True)
    assert list(broken(found)) == ["tests/test_money.py::test_up"]


def test_a_change_that_breaks_nothing(tmp_path: Path) -> None:
    found = compared(
        tmp_path, {"shop/money.py": BASE["shop/money.py"] + "\n"}, ("tests/test_free.py", "tests/test_money.py")
    )
    assert (found.broken, found.ran, found.whole) == ((), 4, True)


def test_without_time_only_the_tests_that_reach_the_change_run(tmp_path: Path) -> None:
    found = compared(tmp_path, {}, ("tests/test_free.py",), seconds=0)
    assert (found.ran, found.whole, found.broken) == (1, False, ())
    assert found.trouble == "the time was up before the other tests"


@pytest.mark.extended
def test_a_test_that_time_ended_in_the_second_run_is_not_broken(tmp_path: Path) -> None:
    """Nor is the one that time ended in the first."""
    slow = "import time\n\n\ndef test_free():\n    time.sleep(300)\n"
    wrong = BASE["shop/money.py"].replace("round(cents)", "int(cents)")
    changes = {"tests/test_free.py": slow, "tests/test_slow.py": slow, "shop/money.py": wrong}
    found = compared(tmp_path, changes, ("tests/test_free.py",), wall_seconds=20)
    assert broken(found) == {"tests/test_money.py::test_up": ("AssertionError", "shop/money.py", 2, False)}
    assert (found.ran, found.whole, found.flaky) == (3, False, ())


@pytest.mark.extended
@pytest.mark.parametrize(
    ("reaching", "more"),
    [
        ((), {}),
        (("tests/test_free.py", "tests/test_money.py"), {"examples/test_it.py": "def test_it():\n    assert False\n"}),
    ],
)
def test_a_run_that_time_ended_hides_no_other_file(
    tmp_path: Path, reaching: tuple[str, ...], more: Mapping[str, str]
) -> None:
    """The files that it did not come to run next, but for those of a directory where it came to none."""
    slow = "import time\n\n\ndef test_free():\n    time.sleep(300)\n"
    wrong = BASE["shop/money.py"].replace("round(cents)", "int(cents)")
    changes = {"tests/test_free.py": slow, "shop/money.py": wrong} | more
    lines: list[str] = []
    found = compared(tmp_path, changes, reaching, wall_seconds=20, progress=lines.append)
    assert "running the tests that were left: tests/test_money.py and 1 more" in lines
    assert broken(found) == {"tests/test_money.py::test_up": ("AssertionError", "shop/money.py", 2, False)}
    trouble = "the tests ran longer than 20 s and were stopped during tests/test_free.py::test_free"
    assert (found.ran, found.whole, found.trouble) == (4, False, trouble)


def test_the_tests_of_other_projects_do_not_run_first(tmp_path: Path) -> None:
    """Where tests start in a directory, those beside it may need what is not installed, and end the run with their conftest."""
    beside = {"other/conftest.py": "import nowhere\n", "other/test_other.py": "def test_other():\n    pass\n"}
    found = compared(tmp_path, beside, ("other/test_other.py", "tests/test_free.py"), seconds=0, directory="tests")
    assert (found.ran, found.passed) == (1, 1)
