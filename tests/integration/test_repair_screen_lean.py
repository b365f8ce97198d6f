"""Running tests without pytest's reports, and several candidates at once, changes no verdict."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from memory.model import EditShape
from workers.ports import Limits
from workers.repair.candidates import Candidate, ScreenVerdict
from workers.repair.reproduce import ScreeningTests
from workers.repair.running.forkserver import ForkAnswer, ForkRequest, ForkServer, arguments, workload
from workers.repair.running.runner_pool import RunnerPool, pool_for
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover
from workers.sandbox.report import TestOutcome
from workers.sandbox.run_tests import run_tests

pytestmark = pytest.mark.sandbox

LIMITS = Limits(wall_seconds=60, cpu_seconds=10, memory_mb=1024)
SHOP = {
    "pyproject.toml": """
        [tool.pytest.ini_options]
        filterwarnings = ["error::DeprecationWarning"]
        xfail_strict = true
    """,
    "shop.py": '''
        """Prices in cents."""
        import logging
        import os
        import warnings

        SEEN = []

        def price(amount, factor=1):
            SEEN.append(amount)
            return amount + factor

        def shown(amount):
            print(f"{price(amount, 1)} cents")

        def logged(amount):
            logging.getLogger("shop").warning("price %s", price(amount, 1))

        def old(amount):
            if price(amount, 2) > 5:
                warnings.warn("too dear", DeprecationWarning)
            return True

        def written(path, amount):
            path.write_text(str(price(amount, 2)))

        def opened():
            return {"till": price(10, 3)}

        def closed(till):
            if price(till, 2) < 10:
                raise ValueError("the till is short")
    ''',
    "test_shop.py": """
        import unittest
        import pytest
        import shop

        def test_price():
            assert shop.price(2, 3) == 6

        def test_once(monkeypatch):
            monkeypatch.setattr(shop, "SEEN", [])
            shop.price(1)
            assert shop.SEEN == [1]

        def test_shown(capsys):
            shop.shown(4)
            assert capsys.readouterr().out == "5 cents\\n"

        def test_logged(caplog):
            shop.logged(4)
            assert caplog.messages == ["price 5"]

        def test_old():
            assert shop.old(3)

        def test_written(tmp_path):
            shop.written(tmp_path / "price", 3)
            assert (tmp_path / "price").read_text() == "5"

        def test_written_late(request):
            path = request.getfixturevalue("tmp_path") / "price"
            shop.written(path, 4)
            assert path.exists()

        @pytest.fixture(scope="module")
        def till():
            made = shop.opened()
            yield made["till"]
            assert shop.price(2, 2) == 4

        @pytest.fixture
        def closing():
            yield
            shop.closed(9)

        def test_till(till):
            assert till > 10

        def test_till_again(till, closing):
            assert till > 11

        @pytest.mark.xfail
        def test_expected_to_fail():
            assert shop.price(2, 2) == 5

        @pytest.mark.xfail(raises=ValueError, strict=False)
        def test_expected_to_raise():
            if shop.price(2, 2) == 4:
                raise ValueError

        def test_skipped_when_cheap():
            if shop.price(1, 1) < 2:
                pytest.skip("too cheap")

        def test_expected_inside():
            if shop.price(1, 1) < 2:
                pytest.xfail("too cheap")

        @pytest.mark.parametrize("factor", [1, 2, 3])
        def test_factors(factor):
            assert shop.price(1, factor) >= factor

        class TestCases(unittest.TestCase):
            def setUp(self):
                self.price = shop.price(1, 2)

            def tearDown(self):
                self.assertGreater(self.price, 0)

            def test_price(self):
                self.assertEqual(self.price, 3)

            def test_parts(self):
                for factor in (1, 2):
                    with self.subTest(factor=factor):
                        self.assertLess(shop.price(1, factor), 4)

            def test_skips(self):
                if self.price < 3:
                    self.skipTest("too cheap")

            @unittest.expectedFailure
            def test_fails(self):
                self.assertEqual(self.price, 4)
    """,
}

SOFTENING = """
    import pytest

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        report = (yield).get_result()
        if report.failed and "parts" not in item.name and "price" in item.name:
            report.outcome = "passed"
"""
"""A conftest.py that has failures of some tests reported as passes: then only reports tell how a test ended."""

RETRYING = """
    from _pytest.runner import runtestprotocol

    def pytest_runtest_protocol(item, nextitem):
        if "parts" in item.name:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if any(report.failed for report in reports):
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
"""
"""A conftest.py that runs a failing test a second time, as some plugins do; one with subtests reports those at once."""

RIGHT = ("return amount + factor", "return amount * factor")
EDITS = (
    RIGHT,
    ("return amount + factor", "return amount - factor"),
    ("return amount + factor", "return factor"),
    ("return amount + factor", "return amount**factor"),
    ("return amount + factor", "raise KeyError(amount)"),
    ("return amount + factor", "import pytest; pytest.skip('later')"),
    ("return amount + factor", "raise __import__('unittest').SkipTest"),
    ("return amount + factor", "return amount + factor + 1"),
    ('print(f"{price(amount, 1)} cents")', 'print(f"{price(amount, 1)} cents"); os.write(1, b"x")'),
    ("> 5:", "> 4:"),
    ("< 10:", "< 20:"),
    ('"till": price(10, 3)', '"till": price(8, 3)'),
    ("path.write_text(str(price(amount, 2)))", "path.write_text(str(amount))"),
)


def written(directory: Path, files: dict[str, str]) -> Project:
    for name, text in files.items():
        (directory / name).write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return discover(directory, python=None, test_command=None)


def candidates(project: Project) -> list[Candidate]:
    source = (project.tree / "shop.py").read_text(encoding="utf-8")
    assert all(source.count(old) == 1 for old, _ in EDITS)
    return [
        Candidate(
            path="shop.py",
            source=source.replace(old, new),
            line=1,
            function="",
            template="planted",
            strategy="planted",
            shape=EditShape(template="planted", before=old, after=new),
            score=1.0,
        )
        for old, new in EDITS
    ]


def fresh(project: Project, tried: Candidate | None, tests: tuple[str, ...] = ()) -> dict[str, TestOutcome]:
    overlay = {tried.path: tried.source.encode()} if tried else {}
    report = run_tests(Bubblewrap(), project, tests=tests, overlay=overlay, limits=LIMITS).report
    return {result.id: result.outcome for result in report.results}


def selected(project: Project) -> ScreeningTests:
    outcomes = fresh(project, None)
    failing = tuple(test for test, outcome in outcomes.items() if outcome in (TestOutcome.FAILED, TestOutcome.ERROR))
    return ScreeningTests(
        failing=failing, covering=tuple(test for test in outcomes if test not in failing), seconds=1.0
    )


def forked(project: Project, wanted: ScreeningTests, tried: list[Candidate]) -> list[ForkAnswer]:
    """What the fork server says of each candidate when it runs all tests."""
    args = arguments(project, (*wanted.failing, *wanted.covering))
    assert args is not None
    with Bubblewrap().session(workload(project, replace(LIMITS, cpu_seconds=600, wall_seconds=600))) as session:
        server = ForkServer(session, args=args, wall=60)
        assert server.unfit == ""
        return [
            server.ask(
                ForkRequest(
                    path=each.path,
                    source=each.source,
                    failing=wanted.failing,
                    covering=wanted.covering,
                    cpu=(5, 8),
                    wall=60,
                    whole=True,
                )
            )
            for each in tried
        ]


@pytest.mark.extended
@pytest.mark.parametrize("conftest", [SOFTENING, "", RETRYING], ids=["softening", "plain", "retrying"])
def test_each_test_ends_as_in_a_fresh_process(tmp_path: Path, conftest: str) -> None:
    """Captured output and logs, warnings, directories, fixtures, cases, skips and expected failures, with any plugin."""
    project = written(tmp_path, {**SHOP, "conftest.py": conftest})
    wanted = selected(project)
    tried = candidates(project)
    for each, answer in zip(tried, forked(project, wanted, tried), strict=True):
        outcomes = fresh(project, each, (*wanted.failing, *wanted.covering))
        passed = {test: outcome is TestOutcome.PASSED for test, outcome in outcomes.items()}
        assert answer.how == "swap"
        assert answer.outcomes == passed, each.shape.after


def screened(
    project: Project, wanted: ScreeningTests, tried: list[Candidate], judges: int
) -> tuple[list[ScreenVerdict], RunnerPool]:
    with pool_for(Bubblewrap(), project, replace(wanted, seconds=1.0), limits=LIMITS, runners=judges) as screen:
        return list(screen.verdicts(tried, deadline=lambda: False)), screen


def told(verdict: ScreenVerdict) -> tuple[bool, int, str]:
    """A verdict without its message, which may hold the address of an object."""
    return verdict.plausible, verdict.passed, verdict.error_type


@pytest.mark.extended
def test_several_servers_say_the_same_in_the_same_order(tmp_path: Path) -> None:
    """With three judges every verdict of some hundred candidates is that of one judge, and the repair is found."""
    project = written(tmp_path, SHOP)
    wanted = selected(project)
    passing = {
        test for test, outcome in fresh(project, candidates(project)[0]).items() if outcome is TestOutcome.PASSED
    }
    wanted = replace(wanted, covering=tuple(test for test in wanted.covering if test in passing))
    tried = [replace(each, line=number) for number in range(12) for each in candidates(project)]
    alone, _ = screened(project, wanted, tried, 1)
    together, screen = screened(project, wanted, tried, 3)
    assert [told(verdict) for verdict in together] == [told(verdict) for verdict in alone]
    assert [verdict.candidate for verdict in together] == tried
    assert {v.candidate.shape.after for v in together if v.plausible} == {RIGHT[1]}
    assert screen.swapped == len(tried)


BASKET = {
    "pyproject.toml": """
        [tool.pytest.ini_options]
    """,
    "basket.py": """
        LIMITS = {"most": 3}
        KINDS = []

        def kinds(items, known=[]):
            found = sorted(set(items))
            return found[:2] + known

        def fits(items):
            return len(items) <= LIMITS["most"]
    """,
    "test_basket.py": """
        import pytest
        import basket

        ITEMS = ["c", "b", "a", "a"]

        @pytest.mark.parametrize("items", [ITEMS])
        def test_kinds(items):
            assert basket.kinds(items) == ["a", "b", "c"]
            assert items == ["c", "b", "a", "a"]
            assert not basket.KINDS

        def test_fits():
            assert basket.fits(["a"]) and not basket.fits("abcd")
    """,
}

LEAVING_TRACES = (
    "items.sort(); found = items",
    "items.append('d'); found = items",
    "known.append('d'); found = sorted(set(items))[:2]",
    "kinds.known = items; found = []",
    "KINDS.append(items); found = []",
    "globals()['LIMITS'] = {'most': 0}; found = []",
    "LIMITS['most'] = 0; found = []",
    "import os; os.environ['KINDS'] = 'none'; found = []",
    "import os; os.chdir('/'); found = []",
)
WITHOUT = ("found = list(items)", "found = []", "found = sorted(items)", "found = None", "raise KeyError(items)")
ENDING = ("while True: pass", "import os; os._exit(0)", "found = (")
REPAIR = "return found + known"


def edited(project: Project, texts: list[str]) -> list[Candidate]:
    """The repair for the last one, the others in the place of the line that is right."""
    source = (project.tree / "basket.py").read_text(encoding="utf-8")
    return [
        replace(
            unplaced(text),
            path="basket.py",
            source=source.replace("return found[:2] + known", text)
            if text == REPAIR
            else source.replace("found = sorted(set(items))\n", f"{text}\n"),
        )
        for text in texts
    ]


def unplaced(text: str) -> Candidate:
    return Candidate(
        path="",
        source="",
        line=1,
        function="",
        template="planted",
        strategy="planted",
        shape=EditShape(template="planted", before="", after=text),
        score=1.0,
    )


@pytest.mark.extended
@pytest.mark.parametrize("others", [LEAVING_TRACES, WITHOUT, ENDING], ids=["traces", "none", "ending"])
def test_candidates_that_share_a_fork_are_judged_as_if_alone(tmp_path: Path, others: tuple[str, ...]) -> None:
    """Whatever a wrong candidate leaves behind, the right one after it is found, and all verdicts are what they were."""
    project = written(tmp_path, BASKET)
    wanted = ScreeningTests(
        failing=("test_basket.py::test_kinds[items0]",), covering=("test_basket.py::test_fits",), seconds=1.0
    )
    tried = edited(project, [text for other in others for text in (other, "found = 1", REPAIR)])
    verdicts, screen = screened(project, wanted, tried, 1)
    by_text = {verdict.candidate.shape.after: verdict for verdict in verdicts}
    assert {text for text, verdict in by_text.items() if verdict.plausible} == {REPAIR}
    assert sum(verdict.plausible for verdict in verdicts) == len(others)
    for each in edited(project, list(others)):
        outcome = fresh(project, each, wanted.failing) if each.shape.after not in ENDING else {}
        assert by_text[each.shape.after].passed == list(outcome.values()).count(TestOutcome.PASSED)
    assert screen.together > 0


def test_an_endless_test_costs_what_one_test_may(tmp_path: Path) -> None:
    """Where one test of a suite is slow, a candidate that loops in a quick one is ended by the quick one's time."""
    slow = """
        import time
        import shop

        def test_slow():
            end = time.process_time() + 0.4
            while time.process_time() < end:
                pass
            assert shop.price(1, 1) > 0

        def test_quick():
            assert shop.price(2, 2) != 0
    """
    project = written(tmp_path, {**SHOP, "test_slow.py": slow})
    endless = replace(
        candidates(project)[0],
        source=(project.tree / "shop.py")
        .read_text(encoding="utf-8")
        .replace(RIGHT[0], "while amount == 2: pass\n    return amount * factor"),
    )
    tests = ("test_slow.py::test_slow", "test_slow.py::test_quick")
    args = arguments(project, tests)
    assert args is not None
    with Bubblewrap().session(workload(project, replace(LIMITS, cpu_seconds=600, wall_seconds=600))) as session:
        server = ForkServer(session, args=args, wall=60)
        answer = server.ask(
            ForkRequest(
                path=endless.path,
                source=endless.source,
                failing=tests[:1],
                covering=tests[1:],
                cpu=(30, 30),
                each=(20, 0.2),
                wall=60,
            )
        )
    assert answer.ended == "cpu"
    assert 0.5 < answer.cpu < 5
