"""Ordinary projects run in the sandbox, and the report says exactly what their tests did."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import files
from pathlib import Path

import execnet
import pytest
import xdist

from memory.model import Frame
from workers.errors import BadInput, CannotRun, SandboxEnded
from workers.ports import Ending, Limits, Sandbox, Workload
from workers.repair.running.forkserver import ForkServer, workload
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.launching import HIDDEN
from workers.sandbox.project import Project, discover
from workers.sandbox.report import TestOutcome, TestReport
from workers.sandbox.run_tests import run_plainly, run_tests
from workers.sandbox.tiers import open_sandbox, problems
from workers.sandbox.unsandboxed import UnsandboxedRunner
from workers.settings import WorkerSettings, load

pytestmark = pytest.mark.sandbox

LIMITS = Limits(wall_seconds=90, disk_mb=64)
QUICK = "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"
"""Our own plugins take longer to load than these tests to run."""

PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
OTHER_VERSIONS = ("3.10", "3.12", "3.13", "3.14")
SHOP = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": """
        RATE = 2

        def total(items):
            result = RATE - 2
            for item in items:
                result += item
            return result + 1

        def price(table, key):
            return lookup(table, key)

        def lookup(table, key):
            return table[key]
    """,
    "tests/test_cart.py": """
        import unittest
        import pytest
        from shop.cart import price, total

        def test_total():
            assert total([1, 2]) == 3

        def test_price():
            price({}, "a")

        def test_fine():
            assert price({1: 2}, 1) == 2

        @pytest.fixture
        def broken():
            raise ValueError("set-up")

        def test_fixture(broken):
            pass

        @pytest.fixture
        def untidy():
            yield
            raise OSError("tear-down")

        def test_untidy(untidy):
            pass

        @pytest.mark.parametrize("n", [1, 2])
        def test_many(n):
            assert n == 1

        class TestOld(unittest.TestCase):
            def test_equal(self):
                self.assertEqual(total([]), 0)

        @pytest.mark.skip
        def test_skipped():
            pass

        @pytest.mark.xfail
        def test_expected():
            assert False

        @pytest.mark.xfail
        def test_unexpected():
            pass

        @pytest.mark.xfail(strict=True)
        def test_strict():
            pass
    """,
}
OUTCOMES = {
    "TestOld::test_equal": "failed",
    "test_expected": "xfailed",
    "test_fine": "passed",
    "test_fixture": "error",
    "test_many[1]": "passed",
    "test_many[2]": "failed",
    "test_price": "failed",
    "test_skipped": "skipped",
    "test_strict": "failed",
    "test_total": "failed",
    "test_unexpected": "xpassed",
    "test_untidy": "error",
}


def lay_out(root: Path, sources: Mapping[str, str]) -> Path:
    for name, text in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())
    return root


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project in src layout with a test of every outcome."""
    return with_xdist(lay_out(tmp_path / "shop", SHOP))


def with_xdist(tree: Path) -> Path:
    """Copy pytest-xdist beside a project: the environment that the sandbox shows has none of our own tests' plugins."""
    for plugin in (execnet, xdist):
        shutil.copytree(Path(plugin.__file__).parent, tree / ".plugins" / plugin.__name__)
    return tree


def outcomes(report: TestReport) -> dict[str, str]:
    return {result.id.removeprefix("tests/test_cart.py::"): result.outcome.value for result in report.results}


def run(tree: Path, command: str | None = None) -> TestReport:
    return run_tests(Bubblewrap(), discover(tree, python=None, test_command=command), limits=LIMITS).report


def test_every_outcome_is_reported(shop: Path) -> None:
    """Passing, failing, breaking, skipping and expected failures are told apart; the run is complete without trouble."""
    report = run(shop)
    assert outcomes(report) == OUTCOMES
    assert (report.started, report.complete, report.trouble) == (True, True, "")


def test_failures_say_where_and_what(shop: Path) -> None:
    """A failure has its type, its message, its frames from the test inwards, and what an assertion compared."""
    report = run(shop, f"{QUICK} python -m pytest")
    found = {result.id.partition("::")[2]: result for result in report.results}
    price, total = found["test_price"], found["test_total"]
    assert (price.error_type, price.message) == ("KeyError", "'a'")
    assert price.frames == (
        Frame(path="tests/test_cart.py", line=9, function="test_price"),
        Frame(path="src/shop/cart.py", line=10, function="price"),
        Frame(path="src/shop/cart.py", line=13, function="lookup"),
    )
    assert (total.error_type, total.operands) == ("AssertionError", ("4", "3"))
    assert total.message.startswith("assert 4 == 3")
    assert found["TestOld::test_equal"].operands == ("1", "0")
    assert found["test_fixture"].error_type == "ValueError"
    assert found["test_untidy"].message == "tear-down"
    assert found["test_fine"].frames == ()


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "sh -c 'cd tests && exec python3 -m pytest -q'",
        f"{QUICK} sh -c 'PYTHONPATH=.plugins:$PYTHONPATH exec python -m pytest -q -p xdist.plugin -n 1'",
        f"{QUICK} make check",
        f"{QUICK} python run.py",
    ],
)
def test_any_way_of_starting_pytest_is_heard(shop: Path, command: str) -> None:
    """The report is the same from a console script, another directory, xdist workers, make and a script of the project."""
    (shop / "Makefile").write_text("check:\n\tpython -m pytest tests -q\n")
    (shop / "run.py").write_text("import pytest, sys; sys.exit(pytest.main(['-q']))\n")
    assert outcomes(run(shop, command)) == OUTCOMES


@pytest.mark.parametrize(
    "command",
    [
        "python -m pytest",
        f"{QUICK} python -m pytest tests",
        f"{QUICK} make check",
        f"{QUICK} sh -c 'PYTHONPATH=.plugins:$PYTHONPATH exec pytest -p xdist.plugin -n 1'",
    ],
)
def test_only_the_wanted_tests_run(shop: Path, command: str) -> None:
    """Whatever the command, tests that were not asked for do not run."""
    (shop / "Makefile").write_text("check:\n\tpython -m pytest -q\n")
    project = discover(shop, python=None, test_command=command)
    wanted = ["tests/test_cart.py::test_many", "tests/test_cart.py::TestOld::test_equal"]
    report = run_tests(Bubblewrap(), project, tests=wanted, limits=LIMITS).report
    assert sorted(outcomes(report)) == ["TestOld::test_equal", "test_many[1]", "test_many[2]"]


def test_files_run_in_the_order_in_which_they_are_wanted(shop: Path) -> None:
    """The nearest tests come first, so that a run that time ends has run them."""
    (shop / "tests/test_nearest.py").write_text("def test_one():\n    open('/tmp/ran', 'x').close()\n")
    (shop / "tests/test_farther.py").write_text("def test_two():\n    open('/tmp/ran').close()\n")
    project = discover(shop, python=None, test_command="python -m pytest")
    wanted = ["tests/test_nearest.py::test_one", "tests/test_farther.py::test_two"]
    report = run_tests(Bubblewrap(), project, tests=wanted, limits=LIMITS).report
    assert [result.outcome for result in report.results] == [TestOutcome.PASSED, TestOutcome.PASSED]


def test_an_overlay_is_tested_and_the_checkout_stays_as_it_is(shop: Path) -> None:
    """The repaired module makes the tests pass; no file of the checkout changes or appears."""
    before = {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    repaired = before[shop / "src/shop/cart.py"].replace(b" + 1", b"")
    report = run_tests(
        Bubblewrap(),
        discover(shop, python=None, test_command=f"{QUICK} python -m pytest"),
        tests=["tests/test_cart.py::test_total"],
        overlay={"src/shop/cart.py": repaired},
        limits=LIMITS,
    ).report
    assert [result.outcome for result in report.results] == [TestOutcome.PASSED]
    assert {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()} == before


def check_lines(sandbox: Sandbox, project: Project) -> None:
    lines = run_tests(sandbox, project, trace=True, limits=LIMITS).lines
    assert lines["tests/test_cart.py::test_total"]["src/shop/cart.py"] == {4, 5, 6, 7}
    assert lines["tests/test_cart.py::TestOld::test_equal"]["src/shop/cart.py"] == {4, 5, 7}
    assert lines["tests/test_cart.py::test_price"]["src/shop/cart.py"] == {10, 13}
    assert {1, 3, 9, 12} <= lines[""]["src/shop/cart.py"]
    assert {path for files in lines.values() for path in files} <= {"src/shop/cart.py", "src/shop/__init__.py"}


def test_executed_lines_are_told_for_each_test(shop: Path) -> None:
    """Lines of the project's code, no test's, are attributed to the test that ran them."""
    check_lines(Bubblewrap(), discover(shop, python=None, test_command=f"{QUICK} python -m pytest"))


PRICED = """
class Price:
    def __init__(self, cents):
        self.cents = cents

    def __repr__(self):
        return f"{type(self).__name__}({self.shown()})"

    def shown(self):
        return f"{self.cents // 100}.{self.cents % 100:02d}"
"""
PRICED_TESTS = """
import unittest
from price import Price

def test_equal():
    price = Price(5)
    assert price == Price(5)

class TestOld(unittest.TestCase):
    def test_in(self):
        self.assertIn(Price(5), [Price(5)])

def test_raising(price=Price(5)):
    raise ValueError(price.cents)

def test_shown():
    assert repr(Price(5)) == "Price(0.05)"
"""


def test_what_renders_a_value_for_a_message_did_not_run_in_the_test(tmp_path: Path) -> None:
    """A failed assertion shows its values: only failing tests run what the project has for that, and it is not at fault."""
    tree = lay_out(tmp_path, {"pytest.ini": "[pytest]\n", "price.py": PRICED, "test_price.py": PRICED_TESTS})
    project = discover(tree, python=None, test_command=f"{QUICK} python -m pytest --showlocals")
    lines = run_tests(Bubblewrap(), project, trace=True, limits=LIMITS).lines
    ran = {name.partition("::")[2]: sorted(files.get("price.py", ())) for name, files in lines.items() if name}
    assert ran == {"test_equal": [3], "TestOld::test_in": [3], "test_shown": [3, 6, 9]}


WATCHED_TESTS = """
import sys
import pytest

def test_watched():
    seen = set()
    sys.settrace(lambda frame, *_: seen.add(frame.f_code.co_filename))
    try:
        with pytest.raises(AssertionError):
            assert [1] == [2]
    finally:
        sys.settrace(None)
    assert "<apprentice_probe>" in seen
    assert not [path for path in seen if "apprentice" in path and not path.startswith("<")]
"""


def test_a_tracer_of_the_tests_own_sees_no_file_of_ours(tmp_path: Path) -> None:
    """Such as that of Hypothesis, which took a line of ours for what explains a failure: it passes over code of no file."""
    tree = lay_out(tmp_path, {"pytest.ini": "[pytest]\n", "test_watched.py": WATCHED_TESTS})
    report = run_tests(
        Bubblewrap(), discover(tree, python=None, test_command=f"{QUICK} python -m pytest"), limits=LIMITS
    ).report
    assert [result.outcome for result in report.results] == [TestOutcome.PASSED], report.results


def other_interpreter() -> Path | None:
    """An interpreter of another version than ours."""
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    places = [
        Path(found) for version in OTHER_VERSIONS if version != ours and (found := shutil.which(f"python{version}"))
    ]
    places += sorted(
        path for version in OTHER_VERSIONS for path in Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    )
    return next((path for path in reversed(places) if "shims" not in path.parts), None)


@pytest.fixture
def own_environment(shop: Path) -> Path:
    """The shop with a virtual environment of its own, of another Python, that holds pytest."""
    python = other_interpreter()
    if python is None:
        pytest.skip("no other Python (3.10 or later) is installed")
    subprocess.run([python, "-m", "venv", "--without-pip", shop / ".venv"], check=True)
    (packages,) = (shop / ".venv").glob("lib/python3*/site-packages")
    for distribution in PYTEST:
        for file in files(distribution) or ():
            if file.suffix == ".py" or file.name == "METADATA":
                target = packages / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), target)
    return shop


def test_a_project_runs_on_its_own_interpreter(own_environment: Path, tmp_path: Path) -> None:
    """A copy can be tested on the `.venv` of its original, named in the command too; lines are told on its Python as on ours."""
    python = own_environment / ".venv" / "bin" / "python"
    copy = shutil.copytree(own_environment, tmp_path / "copy", ignore=shutil.ignore_patterns(".venv"))
    project = discover(copy, python=python, test_command=".venv/bin/python -m pytest", copy_of=own_environment)
    run = run_tests(Bubblewrap(), project, limits=LIMITS)
    assert outcomes(run.report) == OUTCOMES, run.report.trouble
    assert sys.version.split()[0] not in run.completed.stdout
    check_lines(Bubblewrap(), project)


def test_an_interpreter_without_pytest_is_told(shop: Path) -> None:
    """The line says which interpreter lacks pytest and what to do."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", shop / ".venv"], check=True)
    project = discover(shop, python=shop / ".venv/bin/python", test_command=None)
    report = run_tests(Bubblewrap(), project, limits=LIMITS).report
    assert report.trouble.startswith(f"{shop / '.venv/bin/python'} has no pytest: install")
    assert (report.started, report.complete) == (False, False)


def test_an_example_of_a_docstring_says_what_it_raised(tmp_path: Path) -> None:
    """And where: doctest itself names the text alone."""
    (tmp_path / "till.py").write_text(
        'def first(coins):\n    """\n    >>> first([])\n    1\n    """\n    return coins[0]\n'
    )
    run = run_tests(
        Bubblewrap(), discover(tmp_path, python=None, test_command="pytest --doctest-modules"), limits=LIMITS
    )
    (failed,) = run.report.failing()
    assert (failed.error_type, failed.message) == ("UnexpectedException", "IndexError: list index out of range")
    assert [(frame.path, frame.line) for frame in failed.frames] == [("till.py", 6)]


def test_collection_errors_are_results_and_trouble(shop: Path) -> None:
    """A file that cannot be imported is an ERROR with the line at fault, and the trouble names it."""
    lay_out(shop, {"src/shop/cart.py": "def total(:\n    pass\n"})
    report = run(shop)
    (result,) = report.results
    assert (result.id, result.outcome, result.error_type) == ("tests/test_cart.py", TestOutcome.ERROR, "SyntaxError")
    assert result.frames[-1] == Frame(path="src/shop/cart.py", line=1, function="<module>")
    assert report.trouble.startswith("one file cannot be collected: tests/test_cart.py: SyntaxError: ")
    assert not report.complete


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("python -m pytest --no-such-option", "pytest could not start: ERROR: usage:"),
        ("python -m pytest -k nothing_at_all", "no tests were collected"),
        ("true", "the test command ran no pytest (exit code 0)"),
        ("python -I -m pytest", "the test command hides PYTHONPATH from pytest"),
    ],
)
def test_a_command_that_tests_nothing_is_told(shop: Path, command: str, said: str) -> None:
    """Usage errors, nothing collected, no pytest and a hidden plugin have a line each."""
    report = run(shop, command)
    assert report.trouble.startswith(said)
    assert not report.complete


def test_a_pytest_that_is_too_old_is_told(shop: Path) -> None:
    """Nothing runs with it: what our plug-in needs is not there, and each failing test would look like a crash."""
    lay_out(shop, {"conftest.py": 'import pytest\n\npytest.__version__ = "5.4.3"\n'})
    report = run(shop)
    assert (report.results, report.started) == ((), False)
    assert report.trouble == "pytest could not start: ERROR: pytest 5.4.3 is too old: tests are run with 6 or later"


def test_a_program_missing_inside_is_told(shop: Path) -> None:
    """A program that only the host has cannot be started."""
    project = Project(
        tree=shop, python=Path(sys.executable), test_command=("/opt/tool", "test"), source_roots=("src", ".")
    )
    report = run_tests(Bubblewrap(), project, limits=LIMITS).report
    assert report.trouble.startswith("the test command '/opt/tool' cannot be started in the sandbox")


def test_a_hanging_test_is_a_timeout(tmp_path: Path) -> None:
    """The test that ran at the limit has failed with a timeout; those before keep their results."""
    lay_out(tmp_path, {"test_it.py": "import time\ndef test_a(): pass\ndef test_b(): time.sleep(600)\n"})
    project = discover(tmp_path, python=None, test_command=f"{QUICK} python -m pytest")
    report = run_tests(Bubblewrap(), project, limits=Limits(wall_seconds=6)).report
    assert [(result.id, result.error_type) for result in report.results] == [
        ("test_it.py::test_a", ""),
        ("test_it.py::test_b", "Timeout"),
    ]
    assert report.trouble == "the tests ran longer than 6 s and were stopped during test_it.py::test_b"


def test_a_long_report_is_read_to_its_end(tmp_path: Path) -> None:
    """Some suites have tens of thousands of tests, and long names for them."""
    named = "ids=[f'{i:01900}' for i in range(1_400)]"
    tests = f"import pytest\n@pytest.mark.parametrize('n', range(1_400), {named})\ndef test_n(n): pass\n"
    lay_out(tmp_path, {"test_it.py": tests})
    run = run_tests(Bubblewrap(), discover(tmp_path, python=None, test_command=None))
    assert len(run.completed.report) > 5_000_000
    assert (run.report.count().passed, run.report.trouble) == (1_400, "")


def test_a_private_umask_stays_outside(tmp_path: Path) -> None:
    """Our own files are for us alone; the tests of a project find the permissions that git gives."""
    before = os.umask(0o077)
    try:
        lay_out(
            tmp_path, {"test_it.py": "import os\ndef test_a(): assert os.stat(__file__).st_mode & 0o777 == 0o644\n"}
        )
        assert outcomes(run(tmp_path, f"{QUICK} python -m pytest")) == {"test_it.py::test_a": "passed"}
    finally:
        os.umask(before)


def test_no_escape_codes_from_a_project(tmp_path: Path) -> None:
    """A project that forces colours gets none: what its tests print is shown to people."""
    lay_out(
        tmp_path, {"pytest.ini": "[pytest]\naddopts = --color=yes\n", "test_it.py": "def test_a(): assert [1] == [2]\n"}
    )
    project = discover(tmp_path, python=None, test_command=f"{QUICK} python -m pytest")
    ran = run_tests(Bubblewrap(), project, limits=LIMITS)
    assert "assert [1] == [2]" in ran.completed.stdout
    assert "\x1b" not in f"{ran.completed.stdout}{ran.report}"


MEASURING = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--cov", action="append", nargs="?", const=True, dest="cov_source")
    parser.addoption("--benchmark-only", action="store_true")
    parser.addoption("--benchmark-disable", action="store_true")

@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    assert not early_config.known_args_namespace.cov_source

def pytest_configure(config):
    assert config.getoption("--benchmark-disable")
"""
"""Reads its options where pytest-cov and pytest-benchmark do."""


@pytest.mark.parametrize("processes", ["", " -p xdist.plugin -n 1"])
def test_nothing_is_measured(tmp_path: Path, processes: str) -> None:
    """A project with pytest-cov's --cov in its options, and pytest-benchmark, runs as without, in pytest-xdist's processes too."""
    files = {
        "pytest.ini": "[pytest]\naddopts = -p measuring --cov=it --cov\n",
        "measuring.py": MEASURING,
        "test_it.py": "def test_a(): pass\n",
    }
    tree = with_xdist(lay_out(tmp_path, files))
    command = f"{QUICK} sh -c 'PYTHONPATH=.plugins:$PYTHONPATH exec python -m pytest{processes}'"
    assert outcomes(run(tree, command)) == {"test_it.py::test_a": "passed"}
    with Bubblewrap().session(workload(discover(tree, python=None, test_command=None), LIMITS)) as session:
        assert ForkServer(session, args=("test_it.py",), wall=60).unfit == ""


def test_loopback_processes_and_shared_memory_work(tmp_path: Path) -> None:
    """What honest suites need is there: sockets on localhost, asyncio, process pools, temporary files, a user name."""
    suite = """
        import asyncio, getpass, multiprocessing, socket, tempfile

        def test_localhost():
            with socket.create_server(("localhost", 0)) as server:
                socket.create_connection(server.getsockname()).close()

        def test_asyncio():
            async def echo(reader, writer):
                writer.write(await reader.readline())
                writer.close()
            async def talk():
                async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
                    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
                    writer.write(b"hello\\n")
                    line = await reader.readline()
                    writer.close()
                    return line
            assert asyncio.run(talk()) == b"hello\\n"

        def test_processes():
            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map(abs, [-1, -2]) == [1, 2]

        def test_files_and_names():
            with tempfile.TemporaryFile() as stream:
                stream.write(b"x")
            assert getpass.getuser()
            assert socket.if_nameindex()
    """
    lay_out(tmp_path, {"test_it.py": suite})
    report = run(tmp_path, f"{QUICK} python -m pytest")
    assert [result for result in report.results if result.outcome is not TestOutcome.PASSED] == []
    assert len(report.results) == 4


ECHO = """
import os, sys
report = int(os.environ["APPRENTICE_REPORT_FD"])
for line in sys.stdin.buffer:
    if line == b"die\\n":
        sys.exit("as asked")
    os.write(report, b"/workspace heard " + line)
"""


@pytest.mark.parametrize("sandbox", [Bubblewrap(), UnsandboxedRunner()], ids=["bubblewrap", "plain"])
def test_a_session_answers_line_by_line(sandbox: Sandbox, tmp_path: Path) -> None:
    """Lines go in and out; silence is a TimeoutError; the end of the process says why."""
    workload = Workload(command=("python", "-c", ECHO), tree=tmp_path, python=Path(sys.executable), limits=LIMITS)
    with sandbox.session(workload) as session:
        session.send(b"one")
        session.send(b"two")
        assert session.receive(30) == b"/workspace heard one"
        assert session.receive(30) == b"/workspace heard two"
        with pytest.raises(TimeoutError):
            session.receive(0.05)
        session.send(b"die")
        with pytest.raises(SandboxEnded, match=r"exit code 1\): as asked"):
            session.receive(30)


def test_a_session_ends_at_its_time_limit(tmp_path: Path) -> None:
    """A session lives for `wall_seconds` at most."""
    workload = Workload(
        command=("sleep", "600"), tree=tmp_path, python=Path(sys.executable), limits=Limits(wall_seconds=0.5)
    )
    with Bubblewrap().session(workload) as session, pytest.raises(SandboxEnded, match="wall_time"):
        session.receive(60)


def test_a_checkout_that_does_not_fit_is_told(tmp_path: Path) -> None:
    """More files than the disk limit allows cannot be run, and the line says so."""
    (tmp_path / "big").write_bytes(bytes(9 << 20))
    workload = Workload(command=("true",), tree=tmp_path, python=Path(sys.executable), limits=Limits(disk_mb=8))
    with pytest.raises(CannotRun, match=r"No space left on device.*disk limit 8 MB"):
        Bubblewrap().run(workload)


def test_no_capability_is_left_in_any_set(tmp_path: Path) -> None:
    """Neither the command nor the first process has, keeps, passes on or can ever gain a capability."""
    workload = Workload(
        command=("sh", "-c", "grep -hE '^(Cap|NoNew)' /proc/self/status /proc/1/status"),
        tree=tmp_path,
        python=Path(sys.executable),
        limits=LIMITS,
    )
    lines = Bubblewrap().run(workload).stdout.split("\n")
    sets = {line.split()[0]: int(line.split()[1], 16) for line in lines if line.startswith("Cap")}
    assert sets == dict.fromkeys(("CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"), 0)
    assert lines.count("NoNewPrivs:\t1") == 2


def test_the_checkout_itself_is_nowhere_inside(tmp_path: Path) -> None:
    """What the copy leaves out, such as `.git`, cannot be found by any path, mount or descriptor."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("token = planted")
    search = (
        "cat /proc/self/mountinfo; ls -l /proc/[0-9]*/fd /proc/[0-9]*/cwd; find / -xdev -name config -path '*.git*'"
    )
    workload = Workload(command=("sh", "-c", search), tree=tmp_path, python=Path(sys.executable), limits=LIMITS)
    found = Bubblewrap().run(workload).stdout
    assert "/workspace" in found
    assert str(tmp_path) not in found
    assert ".git/config" not in found


def test_a_checkout_that_is_gone_is_told(tmp_path: Path) -> None:
    """The line names the directory."""
    workload = Workload(command=("true",), tree=tmp_path / "gone", python=Path(sys.executable), limits=LIMITS)
    with pytest.raises(CannotRun, match="gone cannot be read: No such file or directory"):
        Bubblewrap().run(workload)


def test_signals_and_exit_codes_come_out(tmp_path: Path) -> None:
    """The command's own exit code is kept, a signal is 128 more than its number, and pipes break as they should."""
    codes = {"exit 7": 7, "kill -TERM $$": 143, "yes | head -n 1 > /dev/null; exit 3": 3}
    for script, code in codes.items():
        workload = Workload(command=("sh", "-c", script), tree=tmp_path, python=Path(sys.executable), limits=LIMITS)
        completed = Bubblewrap().run(workload)
        assert (completed.ending, completed.exit_code) == (Ending.EXITED, code)


WORKER = """
    import sys
    from pathlib import Path
    from workers.ports import Workload
    from workers.sandbox.bubblewrap import Bubblewrap

    inside = "import os, time; os.write(int(os.environ['APPRENTICE_REPORT_FD']), bytes([10])); time.sleep" + "(9999)"
    command = ("python", "-c", inside, sys.argv[2])
    workload = Workload(command=command, tree=Path(sys.argv[1]), python=Path(sys.executable))
    with Bubblewrap().session(workload) as session:
        session.receive(60)
        print("started", flush=True)
        session.receive(600)
"""


def test_the_sandbox_dies_with_its_worker(tmp_path: Path) -> None:
    """When the worker is killed, nothing of what it ran lives on."""
    token = f"sandboxed-{uuid.uuid4()}"
    worker = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WORKER), str(tmp_path), token],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": os.defpath},
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "started\n"
        sandboxed = os.pidfd_open(pid_of(token))
        worker.send_signal(signal.SIGKILL)
    waiting = select.poll()
    waiting.register(sandboxed, select.POLLIN)
    assert waiting.poll(30_000), "the process lives on"
    os.close(sandboxed)


def pid_of(token: str) -> int:
    """The process whose last argument is `token` and which is not the worker itself."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[-2:-1] == [token.encode()] and words[-3].startswith(b"import os, time"):
            return int(path.parent.name)
    raise LookupError(token)


def test_plain_processes_run_the_same_tests(shop: Path) -> None:
    """Where the operator allowed it, the report without a sandbox is the same, and the checkout is untouched."""
    before = sorted(shop.rglob("*"))
    report = run_tests(
        UnsandboxedRunner(), discover(shop, python=None, test_command=f"{QUICK} python -m pytest"), limits=LIMITS
    ).report
    assert outcomes(report) == OUTCOMES
    assert sorted(shop.rglob("*")) == before


def test_this_machine_has_a_sandbox() -> None:
    """A trial run really starts one."""
    assert problems(Bubblewrap()) == ()
    assert isinstance(open_sandbox(load(WorkerSettings)), Bubblewrap)


def test_without_bubblewrap_nothing_runs_unless_allowed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The refusal names what to install; only the explicit setting goes without."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotRun, match="no sandbox: bubblewrap is not installed: install it"):
        open_sandbox(load(WorkerSettings))
    assert isinstance(open_sandbox(load(WorkerSettings, unsafe_without_sandbox=True)), UnsandboxedRunner)


def test_a_program_that_ends_at_once_has_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a busy machine lets us look at its process late."""

    at_once = os.pidfd_open

    def late(pid: int) -> int:
        time.sleep(0.3)
        return at_once(pid)

    monkeypatch.setattr(os, "pidfd_open", late)
    workload = Workload(command=("sh", "-c", "echo tea; exit 3"), tree=tmp_path, python=Path(sys.executable))
    completed = Bubblewrap().run(workload)
    assert (completed.exit_code, completed.stdout) == (3, "tea\n")


def test_a_sandbox_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    """Where bubblewrap fails before its child has started, afterwards, and without any output."""
    workload = Workload(command=("true",), tree=tmp_path, python=Path(sys.executable))
    with pytest.raises(CannotRun, match="cannot make a sandbox here: Can't find source path /gone"):
        Bubblewrap().run(replace(workload, read_only=(Path("/gone"),)))
    for program, reason in {"exit 1": "no reason given", "echo bwrap: Unknown option >&2": "is too old"}.items():
        with pytest.raises(CannotRun, match=reason):
            Bubblewrap(script(tmp_path / "bwrap", program)).run(workload)


def script(path: Path, line: str) -> Path:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("sandbox", [Bubblewrap(), UnsandboxedRunner()], ids=["bubblewrap", "unsandboxed"])
def test_tests_start_in_their_directory(tmp_path: Path, sandbox: Sandbox) -> None:
    """One project of several finds its files, imports and variables, alone or by pytest; ids are those of the whole tree."""
    lay_out(
        tmp_path,
        {
            "pkgs/a/pyproject.toml": "[tool.pytest.ini_options]\npython_functions = ['check_*']",
            "pkgs/a/data.txt": "tea",
            "pkgs/a/src/shop.py": "import os\nNAME = os.environ['SHOP']",
            "pkgs/a/tests/test_a.py": """
                import shop

                def check_data():
                    assert open("data.txt").read().strip() == "tea"
                    assert shop.NAME == "corner"

                def check_more():
                    pass
            """,
            "test_root.py": "def test_root(): pass",
        },
    )
    command = f"{QUICK} python -m pytest"
    project = discover(tmp_path, python=None, test_command=command, directory="pkgs/a", variables=(("SHOP", "corner"),))
    wanted = "pkgs/a/tests/test_a.py::check_data"
    whole = run_tests(sandbox, project, limits=LIMITS).report
    assert {result.id for result in whole.passing()} == {wanted, wanted.replace("data", "more")}, whole
    chosen = run_tests(sandbox, project, tests=(wanted,), limits=LIMITS).report
    assert [result.id for result in chosen.passing()] == [wanted]
    assert run_plainly(sandbox, project, (wanted,), {}, LIMITS)[wanted].outcome is TestOutcome.PASSED


def test_a_directory_that_is_not_there(shop: Path) -> None:
    """Whoever asks for one reads its name; one outside of the checkout is refused."""
    with pytest.raises(CannotRun, match="absent"):
        run_tests(Bubblewrap(), discover(shop, python=None, test_command=None, directory="absent"), limits=LIMITS)
    with pytest.raises(BadInput, match="leads out of the checkout"):
        run_tests(Bubblewrap(), discover(shop, python=None, test_command=None, directory="../x"), limits=LIMITS)


def test_sources_and_settings_of_the_host_are_empty_inside(tmp_path: Path) -> None:
    """What an administrator keeps below /usr is no part of the system that programs need."""
    places = [str(path) for path in HIDDEN if path.is_dir()]
    command = ("find", *places, "-mindepth", "1") if places else ("true",)
    seen = Bubblewrap().run(Workload(command=command, tree=tmp_path, python=Path(sys.executable), limits=LIMITS))
    assert (seen.exit_code, seen.stdout) == (0, "")
