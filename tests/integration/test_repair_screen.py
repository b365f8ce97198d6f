"""The fork server tells the truth: its verdicts are those of a fresh process for each candidate, at a fraction of the cost."""

from __future__ import annotations

import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import xdist

from memory.model import EditShape
from tests.projects import PYPROJECT
from workers.ports import Limits
from workers.repair.candidates import CRASH, TIMEOUT, Candidate, ScreenVerdict
from workers.repair.reproduce import ScreeningTests
from workers.repair.running.candidate_runner import verdict_from, verdict_of
from workers.repair.running.forkserver import ForkAnswer, ForkRequest, ForkServer, arguments, workload
from workers.repair.running.runner_pool import RunnerPool, pool_for
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover
from workers.sandbox.report import TestOutcome, TestReport
from workers.sandbox.run_tests import run_tests

pytestmark = pytest.mark.sandbox

LIMITS = Limits(wall_seconds=60, cpu_seconds=4, memory_mb=1024)

LEDGER = {
    "pyproject.toml": PYPROJECT,
    "src/ledger/__init__.py": "from ledger.book import Book\nfrom ledger.money import Money\n",
    "src/ledger/money.py": '''
        """Amounts in cents."""
        from functools import total_ordering

        ROUNDING = 2

        def cents(text):
            whole, _, rest = text.partition(".")
            return int(whole) * 100 + int(rest.ljust(ROUNDING, "0"))

        ZERO = cents("0")

        @total_ordering
        class Money:
            symbol = "EUR"

            def __init__(self, amount=0):
                self.amount = amount

            @classmethod
            def parse(cls, text):
                return cls(cents(text))

            @property
            def shown(self):
                return f"{self.amount // 100}.{self.amount % 100:02d} {self.symbol}"

            @staticmethod
            def is_valid(text):
                return bool(text) and text.replace(".", "", 1).isdigit()

            def __add__(self, other):
                return Money(self.amount - other.amount)

            def __eq__(self, other):
                return isinstance(other, Money) and self.amount == other.amount

            def __lt__(self, other):
                return self.amount < other.amount

            def __hash__(self):
                return hash(self.amount)
    ''',
    "src/ledger/rules.py": '''
        """Rules are registered by a decorator, and made by a closure."""
        import functools

        RULES = {}

        def rule(name):
            def register(function):
                @functools.wraps(function)
                def checked(*arguments):
                    result = function(*arguments)
                    return bool(result)
                RULES[name] = checked
                return checked
            return register

        def over(limit):
            def is_over(value):
                return value > limit
            return is_over

        is_large = over(1000)

        @rule("even")
        def even(value):
            return value % 2 == 0

        @rule("positive")
        def positive(value):
            return value > 0

        @functools.lru_cache(maxsize=None)
        def steps(value):
            if value <= 1:
                return 0
            return 1 + steps(value // 2)
    ''',
    "src/ledger/book.py": '''
        """A book of entries."""
        from __future__ import annotations

        from dataclasses import dataclass, field

        from ledger.money import Money
        from ledger.rules import RULES, is_large

        @dataclass
        class Entry:
            label: str
            amount: Money

            def matches(self, word):
                return word.lower() in self.label.lower()

        @dataclass
        class Book:
            entries: list = field(default_factory=list)

            def add(self, label, text):
                if not Money.is_valid(text):
                    raise ValueError(f"no amount: {text!r}")
                self.entries.append(Entry(label, Money.parse(text)))
                return self

            def total(self):
                total = Money()
                for entry in self.entries:
                    total = total + entry.amount
                return total

            def large(self):
                return [entry.label for entry in self.entries if is_large(entry.amount.amount)]

            def find(self, word):
                return next((entry for entry in self.entries if entry.matches(word)), None)

            def obeying(self, name):
                return sum(1 for entry in self.entries if RULES[name](entry.amount.amount))
    ''',
    "src/ledger/__main__.py": """
        import sys
        from ledger.book import Book

        def main(arguments):
            book = Book()
            for number, text in enumerate(arguments):
                book.add(f"entry {number}", text)
            print(book.total().shown)

        if __name__ == "__main__":
            main(sys.argv[1:])
    """,
    "tests/conftest.py": """
        import pytest
        from ledger import Book

        @pytest.fixture(scope="session")
        def rules():
            from ledger.rules import RULES
            return dict(RULES)

        @pytest.fixture(autouse=True)
        def sober(monkeypatch):
            monkeypatch.setenv("LEDGER", "on")

        @pytest.fixture(params=["rent", "food"])
        def label(request):
            return request.param

        @pytest.fixture
        def book():
            yield Book().add("Rent", "12.50").add("Food", "3.07")
    """,
    "tests/test_book.py": """
        import os
        import pytest
        from ledger import Book, Money
        from ledger.rules import RULES

        def test_total(book):
            assert book.total() == Money(1557)

        def test_find(book, label):
            assert book.find(label).label.lower() == label

        def test_find_nothing(book):
            assert book.find("beer") is None

        def test_large(book):
            assert book.large() == ["Rent"]

        @pytest.mark.parametrize("name", sorted(RULES))
        def test_obeying(book, name):
            assert book.obeying(name) == {"even": 1, "positive": 2}[name]

        class TestAdding:
            @pytest.mark.parametrize("text", ["", "x", "1.2.3"])
            def test_refuses(self, text):
                with pytest.raises(ValueError, match="no amount"):
                    Book().add("x", text)

            def test_is_sober(self):
                assert os.environ["LEDGER"] == "on"

        @pytest.mark.xfail(reason="not yet")
        def test_debts(book):
            assert book.add("debt", "-1").total() == Money(1457)
    """,
    "tests/test_money.py": """
        import unittest
        from ledger.money import ZERO, Money, cents
        from ledger.rules import steps

        class TestMoney(unittest.TestCase):
            def setUp(self):
                self.small, self.big = Money(5), Money(500)

            def test_order(self):
                self.assertLess(self.small, self.big)
                self.assertTrue(self.big >= self.small)

            def test_sum(self):
                self.assertEqual((self.small + self.big).amount, 505)

            def test_shown(self):
                self.assertEqual(self.big.shown, "5.00 EUR")

        def test_cents():
            assert [cents(text) for text in ("1", "1.5", "1.05")] == [100, 150, 105]
            assert ZERO == 0

        def test_steps():
            assert [steps(value) for value in (1, 2, 9)] == [0, 1, 3]
    """,
    "tests/test_command.py": """
        import subprocess
        import sys

        def test_prints_the_total():
            run = subprocess.run([sys.executable, "-m", "ledger", "1.00"], capture_output=True, text=True)
            assert run.stdout in ("-1.00 EUR\\n", "1.00 EUR\\n")
    """,
}

FAILING = ("tests/test_book.py::test_total", "tests/test_money.py::TestMoney::test_sum")

MONEY, RULES, BOOK = "src/ledger/money.py", "src/ledger/rules.py", "src/ledger/book.py"

NASTY = (
    (MONEY, "self.amount - other.amount", "self.amount + other.amount"),
    (MONEY, "Money(self.amount - other.amount)", "type(self)(self.amount + other.amount)"),
    (MONEY, "Money(self.amount - other.amount)", "self"),
    (MONEY, "ROUNDING = 2", "ROUNDING = 3"),
    (MONEY, 'symbol = "EUR"', 'symbol = "USD"'),
    (MONEY, "amount=0", "amount=1"),
    (MONEY, "@total_ordering\n", ""),
    (MONEY, "@property", "@staticmethod"),
    (MONEY, "from functools import total_ordering", "from functools import total_order"),
    (MONEY, "from functools", "import nothing_of_the_kind\nfrom functools"),
    (MONEY, "def __add__", "def __radd__"),
    (MONEY, "return Money(self", "raise SystemExit\n        return Money(self"),
    (MONEY, "return Money(self", "raise KeyboardInterrupt\n        return Money(self"),
    (MONEY, "return Money(self", "import os; os._exit(0)\n        return Money(self"),
    (MONEY, "return Money(self", "import os; os.abort()\n        return Money(self"),
    (MONEY, "return Money(self", "import pytest; pytest.skip('later')\n        return Money(self"),
    (MONEY, "return Money(self", "import pytest; pytest.exit('enough')\n        return Money(self"),
    (MONEY, "return Money(self", "return self + other\n        return Money(self"),
    (MONEY, "return Money(self", "while True: pass\n        return Money(self"),
    (MONEY, "return Money(self", "print('x' * 300000)\n        return Money(self"),
    (MONEY, "return Money(self", "return (\n        return Money(self"),
    (MONEY, "return Money(self", "import warnings; warnings.warn('odd')\n        return Money(self"),
    (
        MONEY,
        "return Money(self.amount - other.amount)",
        (
            "import threading\n        found = []\n"
            "        thread = threading.Thread(target=lambda: found.append(self.amount + other.amount))\n"
            "        thread.start(); thread.join()\n        return Money(found[0])"
        ),
    ),
    (
        MONEY,
        "return Money(self.amount - other.amount)",
        "import os\n        if os.fork() == 0: os._exit(3)\n        return Money(self.amount + other.amount)",
    ),
    (MONEY, "return int(whole) * 100", "return 100 * int(whole)"),
    (MONEY, "return int(whole) * 100", "return int(whole) * 10"),
    (RULES, "return bool(result)", "return not result"),
    (RULES, "return bool(result)", "return name"),
    (RULES, "RULES[name] = checked", "RULES[name + '!'] = checked"),
    (RULES, "RULES[name] = checked", "RULES[name] = function"),
    (RULES, "return value > limit", "return value >= limit"),
    (RULES, "return value > limit", "return value < limit"),
    (RULES, "return value > limit", "return value > 1000"),
    (RULES, "over(1000)", "over(100)"),
    (RULES, '@rule("even")', '@rule("odd")'),
    (RULES, "return is_over", "return lambda value: not is_over(value)"),
    (RULES, "return 0\n", "return steps(value)\n"),
    (BOOK, "label: str", "label: str = ''"),
    (BOOK, "default_factory=list", "default_factory=tuple"),
    (BOOK, "return next(", "yield next("),
    (BOOK, "raise ValueError", "raise TypeError"),
)
"""Edits of everything that a swap of code has to get right or leave alone, and of everything that ends a process."""

SWAPS = {"+": "-", "-": "+", "*": "+", "//": "%", "%": "//", ">": ">=", "<": "<=", "<=": "<", "==": "!=", "and": "or"}
SWAPS |= {"not": "bool", "is": "is not", "in": "not in", "if": "if not", "return": "return None or", "next": "max"}


def candidate(path: str, source: str, what: str) -> Candidate:
    return Candidate(
        path=path,
        source=source,
        line=1,
        function="",
        template="planted",
        strategy="planted",
        shape=EditShape(template="planted", before="", after=what),
        score=1.0,
    )


def written(directory: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return directory


def mutants(path: str, source: str) -> Iterator[Candidate]:
    """One token exchanged, or one number raised, at a time."""
    lines = source.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        new = str(int(token.string) + 1) if token.type == tokenize.NUMBER else SWAPS.get(token.string)
        if new is None:
            continue
        row, column = token.start
        line = lines[row - 1][:column] + new + lines[row - 1][token.end[1] :]
        yield candidate(path, "".join([*lines[: row - 1], line, *lines[row:]]), f"{row}:{column} {new}")


def edit(root: Path, path: str, old: str, new: str) -> Candidate:
    source = (root / path).read_text(encoding="utf-8")
    assert old in source, f"{old!r} is not in {path}"
    return candidate(path, source.replace(old, new, 1), new)


def every_candidate(root: Path) -> list[Candidate]:
    made = [edit(root, path, old, new) for path, old, new in NASTY]
    for path in (MONEY, RULES, BOOK):
        made.extend(mutants(path, (root / path).read_text(encoding="utf-8")))
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Project:
    return discover(written(tmp_path, LEDGER), python=None, test_command=None)


@pytest.fixture(scope="module")
def selection(tmp_path_factory: pytest.TempPathFactory) -> ScreeningTests:
    """The tests of the project as it is written above, as they end without an edit."""
    project = discover(written(tmp_path_factory.mktemp("ledger"), LEDGER), python=None, test_command=None)
    report = run_tests(Bubblewrap(), project, limits=LIMITS).report
    assert tuple(result.id for result in report.failing()) == FAILING
    return ScreeningTests(failing=FAILING, covering=tuple(result.id for result in report.passing()), seconds=1.0)


def screened(
    project: Project, wanted: ScreeningTests, candidates: list[Candidate]
) -> tuple[list[ScreenVerdict], RunnerPool]:
    with pool_for(Bubblewrap(), project, replace(wanted, seconds=1.0), limits=LIMITS) as screen:
        return list(screen.verdicts(candidates, deadline=lambda: False)), screen


@pytest.mark.slow
@pytest.mark.extended
def test_forked_outcomes_are_those_of_a_fresh_process(ledger: Project, selection: ScreeningTests) -> None:
    """For every nasty edit, and each third harmless one, both ways agree on every single test, and so on what is plausible."""
    everything = every_candidate(ledger.tree)
    chosen = [*everything[: len(NASTY)], *everything[len(NASTY) :: 3]]
    assert len(chosen) >= 40
    answers = forked(ledger, selection, chosen)
    for tried, answer in zip(chosen, answers, strict=True):
        report = apart(ledger, selection, tried)
        fresh = verdict_from(tried, report, selection)
        assert verdict_of(tried, answer).plausible == fresh.plausible, (tried.path, tried.shape.after)
        if answer.ended == "answered" and answer.outcomes:
            passed = {result.id: result.outcome is TestOutcome.PASSED for result in report.results}
            assert (answer.outcomes, answer.passed) == (passed, fresh.passed), (tried.path, tried.shape.after)
        else:
            assert fresh.passed in (0, 1), (tried.path, tried.shape.after)
    assert sum(answer.how == "swap" for answer in answers) >= len(answers) // 2


def forked(project: Project, wanted: ScreeningTests, candidates: list[Candidate]) -> list[ForkAnswer]:
    """What the fork server says of each candidate when it runs all tests."""
    args = arguments(project, (*wanted.failing, *wanted.covering))
    assert args is not None
    with Bubblewrap().session(workload(project, replace(LIMITS, cpu_seconds=600, wall_seconds=600))) as session:
        server = ForkServer(session, args=args, wall=60)
        assert server.unfit == ""
        return [server.ask(request(tried, wanted)) for tried in candidates]


def request(tried: Candidate, wanted: ScreeningTests) -> ForkRequest:
    return ForkRequest(
        path=tried.path,
        source=tried.source,
        failing=wanted.failing,
        covering=wanted.covering,
        cpu=(2, 4),
        wall=60,
        whole=True,
    )


def apart(project: Project, wanted: ScreeningTests, tried: Candidate) -> TestReport:
    tests = (*wanted.failing, *wanted.covering)
    overlay = {tried.path: tried.source.encode()}
    return run_tests(Bubblewrap(), project, tests=tests, overlay=overlay, limits=LIMITS).report


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("while True: pass", TIMEOUT, marks=pytest.mark.extended),
        ("import os; os._exit(0)", CRASH),
        pytest.param("import os; os.kill(os.getpid(), 9)", CRASH, marks=pytest.mark.extended),
        pytest.param("import os, signal; os.kill(os.getppid(), 9); signal.pause()", CRASH, marks=pytest.mark.extended),
        pytest.param("bytearray(8 << 30)", "MemoryError", marks=pytest.mark.extended),
        pytest.param("raise SystemExit(0)", "SystemExit", marks=pytest.mark.extended),
        pytest.param("return self + other", "RecursionError", marks=pytest.mark.extended),
    ],
)
def test_a_candidate_that_harms_its_process_harms_no_other(
    ledger: Project, text: str, error: str, selection: ScreeningTests
) -> None:
    """An endless loop, a killed process or an eaten memory gets a verdict of its own, and the next candidate its due."""
    bad = edit(ledger.tree, MONEY, "return Money(self", f"{text}\n        return Money(self")
    good = edit(ledger.tree, MONEY, "self.amount - other", "self.amount + other")
    verdicts, screen = screened(ledger, selection, [bad, good])
    by_candidate = {verdict.candidate.source: verdict for verdict in verdicts}
    assert by_candidate[good.source].plausible
    assert not by_candidate[bad.source].plausible
    assert by_candidate[bad.source].error_type == error
    assert screen.note == ""


@pytest.mark.extended
def test_what_computes_too_long_comes_after_the_others_and_once(ledger: Project, selection: ScreeningTests) -> None:
    """A slow repair is deferred, not lost: candidates behind it are judged first, then it gets more time and passes."""
    slow = edit(
        ledger.tree,
        MONEY,
        "return Money(self.amount - other.amount)",
        "import time\n        end = time.process_time() + 0.5\n        while time.process_time() < end: pass\n"
        "        return Money(self.amount + other.amount)",
    )
    wrong = edit(ledger.tree, MONEY, "self.amount - other", "self.amount * other")
    wanted = replace(selection, covering=())
    verdicts, _ = screened(ledger, wanted, [slow, wrong])
    assert [(verdict.candidate.source, verdict.plausible) for verdict in verdicts] == [
        (wrong.source, False),
        (slow.source, True),
    ]


def test_no_candidate_is_taken_once_time_is_up(ledger: Project, selection: ScreeningTests) -> None:
    """Candidates are pulled one at a time, and none after the deadline."""
    pulled: list[str] = []
    times = iter([False, False, True])

    def source() -> Iterator[Candidate]:
        for old, new in (
            ("ROUNDING = 2", "ROUNDING = 1"),
            ("EUR", "USD"),
            ("- other", "+ other"),
            ("- other", "* other"),
        ):
            pulled.append(new)
            yield edit(ledger.tree, MONEY, old, new)

    with pool_for(
        Bubblewrap(), ledger, ScreeningTests(failing=selection.failing, covering=()), limits=LIMITS
    ) as screen:
        verdicts = list(screen.verdicts(source(), deadline=lambda: next(times)))
    assert [verdict.error_type for verdict in verdicts] == ["AssertionError", "AssertionError", TIMEOUT]
    assert len(pulled) == 3


BROKEN_FORKS = {
    "a thread that is alive": (
        "tests/conftest.py",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(900,), daemon=True).start()\n",
    ),
    "a profiler": ("tests/conftest.py", "import sys\nsys.setprofile(lambda *_: None)\n"),
}


@pytest.mark.parametrize("obstacle", sorted(BROKEN_FORKS))
def test_a_project_that_cannot_be_kept_in_memory_is_imported_for_each_candidate(
    tmp_path: Path, obstacle: str, selection: ScreeningTests
) -> None:
    """Threads and profilers that collection leaves behind forbid swapping, and nothing else."""
    name, text = BROKEN_FORKS[obstacle]
    files = {**LEDGER, name: text + textwrap.dedent(LEDGER[name])}
    project = discover(written(tmp_path, files), python=None, test_command=None)
    good = edit(project.tree, MONEY, "self.amount - other", "self.amount + other")
    verdicts, screen = screened(project, selection, [good])
    assert verdicts[0].plausible
    assert (screen.note, screen.swapped) == ("", 0)


def test_the_failing_tests_are_imported_alone_before_the_others(tmp_path: Path) -> None:
    """Where candidates are imported anew, the other files are read for those alone that make the failing tests pass."""
    files = {
        "shop.py": "RATE = 2\n\ndef price(n):\n    return n * RATE\n",
        "test_price.py": "import shop\n\ndef test_price():\n    assert shop.price(2) == 6\n",
        "test_read.py": """
            import pathlib
            pathlib.Path('/tmp/read').open('a').write('x')

            def test_how_often():
                assert len(pathlib.Path('/tmp/read').read_text()) <= 5
        """,
    }
    project = discover(written(tmp_path, files), python=None, test_command=None)
    wanted = ScreeningTests(failing=("test_price.py::test_price",), covering=("test_read.py::test_how_often",))
    wrong = [edit(project.tree, "shop.py", "RATE = 2", f"RATE = {rate}") for rate in range(10, 20)]
    right = edit(project.tree, "shop.py", "RATE = 2", "RATE = 3")
    verdicts, screen = screened(project, wanted, [*wrong, right])
    assert [verdict.plausible for verdict in verdicts] == [False] * len(wrong) + [True]
    assert (screen.note, screen.swapped) == ("", 0)


def test_a_command_that_is_not_plainly_pytest_gets_a_process_for_each_candidate(
    ledger: Project, selection: ScreeningTests
) -> None:
    """Where forking cannot be had the screen says so, and judges the same."""
    project = replace(ledger, test_command=("sh", "-c", "exec python -m pytest"))
    good = edit(ledger.tree, MONEY, "self.amount - other", "self.amount + other")
    bad = edit(ledger.tree, MONEY, "self.amount - other", "self.amount * other")
    verdicts, screen = screened(project, selection, [bad, good])
    assert [verdict.plausible for verdict in verdicts] == [False, True]
    assert "'sh' is not plainly pytest" in screen.note


def test_a_project_that_spreads_its_tests_over_processes_is_screened_in_one(
    tmp_path: Path, selection: ScreeningTests
) -> None:
    """pytest-xdist, when the project asks for it, is told to keep to one process."""
    files = {**LEDGER, "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-n 2 -p no:randomly"\n'}
    plugins = Path(xdist.__file__).parents[1]
    project = replace(discover(written(tmp_path, files), python=None, test_command=None), read_only=(plugins,))
    good = edit(project.tree, MONEY, "self.amount - other", "self.amount + other")
    verdicts, screen = screened(project, selection, [good])
    assert verdicts[0].plausible
    assert (screen.note, screen.swapped) == ("", 1)


def test_what_the_projects_own_pytest_plugin_loads_is_swapped_or_tried_in_a_process_of_its_own(
    tmp_path: Path, selection: ScreeningTests
) -> None:
    """What pytest imports before the tests cannot be imported anew in a fork. Functions that did not run yet are swapped."""
    files = {**LEDGER, "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p ledger.rules"\n'}
    project = discover(written(tmp_path, files), python=None, test_command=None)
    good = edit(project.tree, MONEY, "self.amount - other", "self.amount + other")
    at_import = edit(project.tree, MONEY, "self.amount - other", "self.amount + other")
    at_import = replace(at_import, source=at_import.source + "\nADDED = 1\n")
    verdicts, screen = screened(project, selection, [good, at_import])
    assert [verdict.plausible for verdict in verdicts] == [True, True]
    assert (screen.note, screen.swapped) == ("", 1)


def test_a_file_that_cannot_be_collected_keeps_no_other_test_from_being_swapped(
    tmp_path: Path, selection: ScreeningTests
) -> None:
    """As where a submodule with data was not fetched: its tests fail before and after, and are not asked for."""
    files = {**LEDGER, "tests/test_data.py": "open('tests/data/cases.txt')\n"}
    project = discover(written(tmp_path, files), python=None, test_command=None)
    project = replace(project, test_command=(*project.test_command, "tests"))
    good = edit(project.tree, MONEY, "self.amount - other", "self.amount + other")
    bad = edit(project.tree, MONEY, "self.amount - other", "self.amount * other")
    verdicts, screen = screened(project, selection, [bad, good])
    assert [verdict.plausible for verdict in verdicts] == [False, True]
    assert (screen.note, screen.swapped) == ("", 2)


def test_tests_that_could_not_be_collected_are_judged_as_well(tmp_path: Path) -> None:
    """A file that an import error kept from collection stands for all its tests."""
    broken = textwrap.dedent(LEDGER[MONEY]).replace("total_ordering", "total_order", 1).replace("- other", "+ other")
    project = discover(written(tmp_path, {**LEDGER, MONEY: broken}), python=None, test_command=None)
    good = edit(project.tree, MONEY, "import total_order", "import total_ordering")
    bad = edit(project.tree, MONEY, "import total_order", "import reduce")
    wanted = ScreeningTests(failing=("tests/test_money.py",), covering=())
    verdicts, screen = screened(project, wanted, [bad, good])
    assert [(verdict.plausible, verdict.passed) for verdict in verdicts] == [(False, 0), (True, 1)]
    assert screen.note == ""
