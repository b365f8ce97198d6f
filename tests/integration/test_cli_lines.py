"""Every line that `fix` and `review` print, in each state that a user's project can be in."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.integration.command_line import ROOT, SHOP, SOUND, Ran, committed, digest, environment, git, untimed, written

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

SCREEN = 24
STYLES = re.compile(r"\x1b\[[0-9;]*m")
SEED = {"APPRENTICE_SEED": "3", "PYTHONPATH": str(ROOT)}
TIMELY = re.compile(
    r"^(after # s, still: .*|\d+ (candidate|rival)s? tried, now at .*)\n",
    re.MULTILINE,
)
"""Progress that depends on how fast the machine is."""

MACHINE = {
    r"\b\d+ different edits": "# different edits",
    r"\b[0-9a-f]{16}\b": "<decision>",
    r"\[[0-9a-f]{12}\]": "[<id>]",
    r"Python 3\.[\d.]*\d": "Python #",
    r"at 0x[0-9a-f]+": "at 0x#",
    r"in /\S+/bare:": "in <path>/bare:",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An Apprentice that knows nothing yet."""
    return tmp_path / "home"


def started(home: Path, at: Path, *arguments: str, **given: str) -> subprocess.Popen[bytes]:
    """`apprentice` as users run it: in the directory of their project, its output piped."""
    return subprocess.Popen(
        [sys.executable, "-m", "bot.cli", *arguments],
        cwd=at,
        env=environment(home, SEED | given),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes], command: str) -> Ran:
    out, err = process.communicate()
    ran = Ran(command=command, code=process.returncode, out=normal(out.decode()), err=normal(err.decode()))
    assert "Traceback" not in ran.err, ran.err
    return ran


def run(home: Path, at: Path, *arguments: str, **given: str) -> Ran:
    """How the command ends, with what differs from run to run replaced."""
    return ended(started(home, at, *arguments, **given), arguments[0])


def normal(text: str) -> str:
    """Times, ids, versions and addresses replaced."""
    text = TIMELY.sub("", untimed(text)).replace("python -m bot.cli", "apprentice")
    text = re.sub(r"with \d+ candidates? in", "with # candidates in", text)
    for pattern, name in MACHINE.items():
        text = re.sub(pattern, name, text)
    return text


def lines(text: str) -> list[str]:
    """The lines, of which the blank ones at the end of a diff are left out."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


# ── fix ──


def test_fix_of_one_failing_test(home: Path, tmp_path: Path) -> None:
    """The verdict, the next step and the whole change are on the first screen; progress names tests, files and lines."""
    ran = run(home, written(tmp_path / "shop", SHOP), "fix", ".")
    assert ran.code == 0, ran.err
    assert lines(ran.out) == snapshot(
        [
            "fixed: 1 failing test passes now; suite 7 passed, 0 failed; 3 candidates tried; # s",
            "not applied; run again with --apply, or pipe --patch into `git apply`:",
            "diff --git a/shop/till.py b/shop/till.py",
            "--- a/shop/till.py",
            "+++ b/shop/till.py",
            "@@ -21,7 +21,7 @@",
            "     def discount(self):",
            '         """A tenth off from 100.00 on."""',
            "-        if self.total() > 10000:",
            "+        if self.total() >= 10000:",
            "             return self.total() // 10",
            "         return 0",
            "failed before: AssertionError: assert 0 == 1000",
            "  tests/test_till.py::test_discount_from_a_hundred_on",
            "proof: 1 of 1 failing test passes; suite 7 passed, 0 failed, 0 skipped of 7, run 2 times: python -m pytest",
            "confidence: # different edits pass these tests, and all behave alike on further calls like those of the tests.",
            "why: apprentice why <decision>",
        ]
    )
    assert lines(ran.err) == snapshot(
        [
            "tests run on Apprentice's own Python #, because nothing has to be installed; environment from: what the project declares for its tests",
            "finding what fails: running the tests that failed last, or all tests",
            "1 test fails with AssertionError: tests/test_till.py::test_discount_from_a_hundred_on",
            "editing shop/till.py:26, shop/till.py:24, shop/till.py:22, 10 more lines",
            "trying strategy boundaries",
            "boundaries: 2 candidates tried, none makes the failing tests pass",
            "trying strategy operators",
            "an edit of shop/till.py:24 passes the failing tests; looking for others that do",
            "comparing what the 8 edits that pass do on further calls",
            "running all tests with what passes, to prove it",
            "operators: comparison_operator at shop/till.py:24 is proven after 1 candidate",
        ]
    )


def test_fix_with_everything_and_with_the_verdict_alone(home: Path, tmp_path: Path) -> None:
    """--verbose adds the attempts with their odds; --quiet leaves one line, and no progress."""
    shop = written(tmp_path / "shop", SHOP)
    full = run(home, shop, "fix", ".", "--verbose")
    assert lines(full.out)[14:] == snapshot(
        [
            " +    where discount = <shop.till.Till object at 0x#>.discount",
            " +      where <shop.till.Till object at 0x#> = till(('kettle', 1))",
            "  tests/test_till.py::test_discount_from_a_hundred_on",
            "proof: 1 of 1 failing test passes; suite 7 passed, 0 failed, 0 skipped of 7, run 2 times: python -m pytest",
            "confidence: # different edits pass these tests, and all behave alike on further calls like those of the tests.",
            "attempts",
            "  strategy    probability  candidates  others compared  outcome",
            "  boundaries  0.37         2           0                nothing plausible",
            "  operators   0.77         1           300              proven",
            "  boundaries: 2 candidates tried, none makes the failing tests pass. The fault needs another kind of edit, or lies on other lines.",
            "  operators: comparison_operator at shop/till.py:24 is proven after 1 candidate.",
            "  322 test runs; # s for proofs",
            "why: apprentice why <decision>",
        ]
    )
    quiet = run(tmp_path / "other", shop, "fix", ".", "--quiet")
    assert (quiet.code, quiet.err, lines(quiet.out)) == (0, "", lines(full.out)[:1])
    both = run(home, shop, "fix", ".", "--quiet", "--verbose")
    assert (both.code, both.out, both.err) == snapshot((2, "", "apprentice: give one of --quiet and --verbose\n"))


def test_fix_of_a_green_project(home: Path, tmp_path: Path) -> None:
    """Nothing fails: one line; a patch of it is empty, with the reason on standard error."""
    sound = written(tmp_path / "shop", SOUND)
    ran = run(home, sound, "fix", ".")
    assert (ran.code, ran.out, lines(ran.err)) == snapshot(
        (
            0,
            "nothing fails: 7 tests; # s\n",
            [
                "tests run on Apprentice's own Python #, because nothing has to be installed; environment from: what the project declares for its tests",
                "finding what fails: running the tests that failed last, or all tests",
            ],
        )
    )
    patch = run(home, sound, "fix", ".", "--patch", "--quiet")
    assert (patch.code, patch.out, patch.err) == snapshot((0, "", "nothing fails: 7 tests; # s\n"))


MANY = {
    "pytest.ini": "[pytest]\n",
    "limits.py": "def at_most(number, most):\n    return number if number < most else most + 1\n",
    "test_limits.py": """import pytest

from limits import at_most


@pytest.mark.parametrize("number", range(120))
def test_many(number):
    assert at_most(1000 + number, 900) == 900


def test_one():
    assert at_most(2, 900) == 2
""",
}


def test_fix_of_many_failing_tests(home: Path, tmp_path: Path) -> None:
    """Ten of them are shown, and how many more there are; all on one screen."""
    ran = run(home, written(tmp_path / "limits", MANY), "fix", ".")
    assert len(ran.out.splitlines()) <= SCREEN + 4
    assert lines(ran.out) == snapshot(
        [
            "fixed: 120 failing tests pass now; suite 121 passed, 0 failed; 6 candidates tried; # s",
            "not applied; run again with --apply, or pipe --patch into `git apply`:",
            "diff --git a/limits.py b/limits.py",
            "--- a/limits.py",
            "+++ b/limits.py",
            "@@ -1,2 +1,2 @@",
            " def at_most(number, most):",
            "-    return number if number < most else most + 1",
            "+    return number if number < most else most",
            "failed before: AssertionError: assert 901 == 900",
            "  test_limits.py::test_many[0]",
            "  test_limits.py::test_many[1]",
            "  test_limits.py::test_many[2]",
            "  test_limits.py::test_many[3]",
            "  test_limits.py::test_many[4]",
            "  test_limits.py::test_many[5]",
            "  test_limits.py::test_many[6]",
            "  test_limits.py::test_many[7]",
            "  test_limits.py::test_many[8]",
            "  test_limits.py::test_many[9]",
            "  and 110 more (--verbose lists them)",
            "proof: 120 of 120 failing tests pass; suite 121 passed, 0 failed, 0 skipped of 121, run 2 times: python -m pytest",
            "confidence: # different edits pass these tests, and all behave alike on further calls like those of the tests.",
            "why: apprentice why <decision>",
        ]
    )


def test_what_is_not_fixed(home: Path, tmp_path: Path) -> None:
    """What fails, what came closest, and what would help; a patch of it is empty."""
    lost = written(tmp_path / "rates", {"rates.py": RATES, "test_rates.py": RATES_TESTED})
    ran = run(home, lost, "fix", ".", "--budget", "60")
    assert ran.code == 1, ran.out
    assert [
        ENDED.sub("<how it ended>", re.sub(r"\d+ candidates?", "# candidates", line)) for line in lines(ran.out)
    ] == snapshot(
        [
            "not fixed: 1 failing test, and no change is proven; # candidates tried; # s",
            "fails: KeyError: 'Ulm'",
            "  test_rates.py::test_rates",
            "all strategies: <how it ended>. With variable_for_expression at rates.py:5 the failure becomes AssertionError (assert ('Ulm', 'Bonn', 'Kiel') == (1.25, 17.5, 3.75)).",
            "# candidates tried in # s, after # s to find what fails; # s were for proofs. <how it ended>.",
            "why: apprentice why <decision>",
        ]
    )
    patch = run(home, lost, "fix", ".", "--budget", "10", "--patch", "--quiet")
    assert (patch.code, patch.out) == (1, "")
    assert patch.err.startswith("not fixed: ")


ENDED = re.compile(
    r"time ran out after # candidates|# candidates tried, none makes the failing tests pass|"
    r"To get further, give more time \(--budget 180\)|It ended before its time was up, so more time does not help"
)
"""A fast machine tries all edits in the time, a slow one does not."""

RATES = "RATES = {}\n\n\ndef rate(place):\n    return RATES[place]\n"
RATES_TESTED = """from rates import rate


def test_rates():
    assert (rate("Ulm"), rate("Bonn"), rate("Kiel")) == (1.25, 17.5, 3.75)
"""


def test_what_is_undecided(home: Path, tmp_path: Path) -> None:
    """The question comes before the proof, --apply writes nothing and --patch prints nothing: exit code 3."""
    files = {
        "sizes.py": "def larger(one, other):\n    return one\n",
        "test_sizes.py": "from sizes import larger\n\n\ndef test_larger():\n    assert larger(2, 5) == 5\n",
    }
    project = written(tmp_path / "sizes", files)
    ran = run(home, project, "fix", ".", "--budget", "600", "--apply")
    assert ran.code == 3, ran.out
    assert (project / "sizes.py").read_text() == files["sizes.py"]
    printed = [re.sub(r"\d+ in all", "# in all", line) for line in lines(ran.out)]
    assert printed[:2] == snapshot(
        [
            "undecided: 1 failing test passes with a change, and with others that behave differently (# in all); 1 candidate tried; # s",
            "not applied; add a test of what is meant and run again, or apply it yourself:",
        ]
    )
    starts = [next(n for n, line in enumerate(printed) if line.startswith(start)) for start in DISPUTED]
    assert starts == sorted(starts) and starts[0] < SCREEN, "which edits are found depends on the time"
    again = run(home, project, "fix", ".", "--budget", "600", "--patch", "--quiet")
    assert (again.code, again.out) == (3, ""), "what the tests left open is not made again"
    assert again.err.startswith("undecided: ")


DISPUTED = (
    "diff --git",
    "Which is right: ",
    "the other change:",
    "failed before: ",
    "proof: ",
    "confidence: ",
    "why: ",
)


def test_what_is_set_aside(home: Path, tmp_path: Path) -> None:
    """Failures that nothing here can repair are counted in the verdict, and each reason is named once."""
    test = """import socket

import pytest


@pytest.mark.parametrize("port", range(15))
def test_far(port):
    socket.create_connection(("example.com", 80 + port), timeout=1)


def test_near():
    assert True
"""
    ran = run(home, written(tmp_path / "far", {"pytest.ini": "[pytest]\n", "test_far.py": test}), "fix", ".")
    assert (ran.code, lines(ran.out)) == snapshot(
        (
            0,
            [
                "nothing to repair: 1 test, and 15 failures set aside; # s",
                "set aside: test_far.py::test_far[0] and 14 more: it needs the network, which the sandbox does not have",
            ],
        )
    )


def test_fix_of_what_does_not_parse(home: Path, tmp_path: Path) -> None:
    """A syntax error in a source."""
    broken = SOUND | {"shop/prices.py": SOUND["shop/prices.py"].replace("def price_of(name):", "def price_of(name)")}
    ran = run(home, written(tmp_path / "shop", broken), "fix", ".")
    assert (ran.code, lines(ran.out)) == snapshot(
        (
            0,
            [
                "fixed: 1 failing test file passes now; suite 7 passed, 0 failed; 1 candidate tried; # s",
                "not applied; run again with --apply, or pipe --patch into `git apply`:",
                "diff --git a/shop/prices.py b/shop/prices.py",
                "--- a/shop/prices.py",
                "+++ b/shop/prices.py",
                "@@ -3,6 +3,6 @@",
                ' PRICES = {"tea": 250, "cake": 400, "kettle": 10000}',
                "-def price_of(name)",
                "+def price_of(name):",
                '     """The price of a thing."""',
                "     return PRICES[name]",
                "failed before: SyntaxError: expected ':' (prices.py, line 6)",
                "  tests/test_till.py",
                "proof: 1 of 1 failing test file passes; suite 7 passed, 0 failed, 0 skipped of 7, run 2 times: python -m pytest",
                "confidence: No other edit that was tried passes these tests.",
                "why: apprentice why <decision>",
            ],
        )
    )
    assert lines(ran.err) == snapshot(
        [
            "environment: chose a newer Python: it may know this syntax",
            "environment: not kept: chose a newer Python: it may know this syntax",
            "tests run on Apprentice's own Python #, because nothing has to be installed; environment from: what the project declares for its tests",
            "finding what fails: running the tests that failed last, or all tests",
            "1 test file fails with SyntaxError: tests/test_till.py",
            "editing shop/prices.py:6, shop/till.py:3",
            "trying strategy statements",
            "an edit of shop/prices.py:6 passes the failing tests; looking for others that do",
            "running all tests with what passes, to prove it",
            "statements: missing_colon at shop/prices.py:6 is proven after 1 candidate",
        ]
    )


def test_what_cannot_be_run(home: Path, tmp_path: Path) -> None:
    """No such directory, no tests, tests that need an absent library, options that contradict: one line, exit code 2."""
    bare = written(tmp_path / "bare", {"module.py": "x = 1\n"})
    absent = written(tmp_path / "absent", {"test_a.py": "import absent_library\n\n\ndef test_a():\n    pass\n"})
    for at, arguments, printed in (
        (
            bare,
            ("fix", "nowhere"),
            snapshot("apprentice: nowhere is not a directory; give the root of a Python project"),
        ),
        (
            bare,
            ("fix", "."),
            snapshot(
                "apprentice: no tests in <path>/bare: there is no test_*.py, no *_test.py and no pytest configuration"
            ),
        ),
        (
            absent,
            ("fix", "."),
            snapshot(
                "apprentice: one file cannot be collected: test_a.py: ModuleNotFoundError: No module named 'absent_library'"
            ),
        ),
        (
            bare,
            ("fix", ".", "--patch", "--json"),
            snapshot("apprentice: --patch prints the patch and nothing else; leave out --apply and --json"),
        ),
        (bare, ("review",), snapshot("apprentice: . is not inside a git repository; give the root of one")),
        (
            bare,
            ("review", "nowhere"),
            snapshot("apprentice: nowhere is not inside a git repository; give the root of one"),
        ),
        (bare, ("review", "--quiet", "--verbose"), snapshot("apprentice: give one of --quiet and --verbose")),
    ):
        ran = run(home, at, *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert lines(ran.err)[-1] == printed


def test_a_dirty_tree_is_not_written_to(home: Path, tmp_path: Path) -> None:
    """--apply refuses, and says what to do."""
    shop = committed(tmp_path / "shop", SOUND)
    (shop / "shop" / "till.py").write_text(SHOP["shop/till.py"])
    ran = run(home, shop, "fix", ".", "--apply")
    assert (ran.code, ran.out, ran.err) == snapshot(
        (2, "", "apprentice: . has uncommitted changes; commit or stash them before --apply\n")
    )


def test_a_patch_for_git(home: Path, tmp_path: Path) -> None:
    """`apprentice fix . --patch | git apply` works in a directory of the repository, with Windows line ends, and changes nothing else."""
    files = {f"shops/one/{name}": text for name, text in SHOP.items()}
    project = committed(tmp_path / "all", files)
    till = project / "shops" / "one" / "shop" / "till.py"
    till.write_bytes(till.read_bytes().replace(b"\n", b"\r\n"))
    git(project, "commit", "--quiet", "--all", "--message", "line ends")
    process = started(home, project / "shops" / "one", "fix", ".", "--patch", "--quiet")
    patch, _ = process.communicate()
    assert process.returncode == 0
    done = subprocess.run(
        ["git", "apply"], cwd=project / "shops" / "one", input=patch, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert till.read_bytes() == SOUND["shop/till.py"].replace("\n", "\r\n").encode()
    assert git(project, "status", "--porcelain") == "M shops/one/shop/till.py"


# ── review ──

POOR = SOUND["shop/till.py"].replace("if count < 1:", "if count == None or count < 1:")


def test_review_of_a_clean_tree(home: Path, tmp_path: Path) -> None:
    """Nothing to review, and against what."""
    ran = run(home, committed(tmp_path / "shop", SOUND), "review")
    assert (ran.code, ran.out, lines(ran.err)) == snapshot(
        (0, "nothing to review: no file differs from main; # s\n", [])
    )


def test_review_of_uncommitted_work(home: Path, tmp_path: Path) -> None:
    """Findings by what would become of them; their number is that of the lines listed."""
    shop = committed(tmp_path / "shop", SOUND)
    written(shop, {"shop/till.py": POOR, "shop/new.py": "import os\n"})
    before = digest(shop)
    ran = run(home, shop, "review")
    assert (ran.code, digest(shop)) == (0, before)
    assert lines(ran.out) == snapshot(
        [
            "no test is broken: 7 tests passed; 2 findings: 2 to post beside the code; 2 files read; # s",
            "No test runs 1 of 2 changed lines of code: shop/new.py:1.",
            "No test fails without the changed code.",
            "2 findings to post beside the code:",
            "  shop/new.py:1 F401 (minor) `os` imported but unused  [<id>]",
            "    suggested, applied and tested: delete line 1",
            "  shop/till.py:14 E711 (minor) Comparison to `None` should be `cond is None`  [<id>]",
            "    suggested for line 14, applied and tested:",
            "        if count is None or count < 1:",
        ]
    )
    assert lines(ran.err) == snapshot(
        [
            "reviewing the work tree against main",
            "reading 2 changed files: shop/new.py, shop/till.py",
            "tests run on Apprentice's own Python #, because nothing has to be installed; environment from: what the project declares for its tests",
            "running all tests",
            "looking for what of the change no test tests",
            "trying each of 2 suggested changes by the tests that reach it",
        ]
    )


def test_review_of_work_that_breaks_tests(home: Path, tmp_path: Path) -> None:
    """The broken tests come first, then the part of the change that breaks them."""
    shop = committed(tmp_path / "shop", SOUND)
    written(shop, {"shop/till.py": SHOP["shop/till.py"].replace("paid - self", "paid + self")})
    ran = run(home, shop, "review")
    assert (ran.code, lines(ran.out)) == snapshot(
        (
            1,
            [
                "tests are broken: 2 tests fail that pass without this change; 0 findings; 1 file read; # s",
                "  tests/test_till.py::test_discount_from_a_hundred_on: AssertionError: assert 0 == 1000 (through shop/till.py:24)",
                "  tests/test_till.py::test_change: AssertionError: assert 1500 == 500 (through shop/till.py:24)",
                "with this change they pass:",
                "diff --git a/shop/till.py b/shop/till.py",
                "--- a/shop/till.py",
                "+++ b/shop/till.py",
                "@@ -21,10 +21,10 @@",
                "     def discount(self):",
                '         """A tenth off from 100.00 on."""',
                "-        if self.total() > 10000:",
                "+        if self.total() >= 10000:",
                "             return self.total() // 10",
                "         return 0",
                "     def change(self, paid):",
                '         """What is to be given back."""',
                "-        return paid + self.total() + self.discount()",
                "+        return paid - self.total() + self.discount()",
                "proof: 2 of 2 failing tests pass; suite 7 passed, 0 failed, 0 skipped of 7, run 2 times: python -m pytest",
                "confidence: No other edit that was tried passes these tests.",
            ],
        )
    )
    assert lines(ran.err) == snapshot(
        [
            "reviewing the work tree against main",
            "reading 1 changed file: shop/till.py",
            "tests run on Apprentice's own Python #, because nothing has to be installed; environment from: what the project declares for its tests",
            "running all tests",
            "2 tests fail with the change; running the same without it",
            "tests run on Apprentice's own Python #, because nothing has to be installed; environment from: what the project declares for its tests",
            "looking for the part of the change that breaks them",
            "looking for a repair of what is broken: tests/test_till.py::test_discount_from_a_hundred_on, tests/test_till.py::test_change",
            "finding what fails: running the tests that failed last, or all tests",
            "2 tests fail with AssertionError: tests/test_till.py::test_discount_from_a_hundred_on and 1 more",
            "editing shop/till.py:30, shop/till.py:24, shop/till.py:26, 12 more lines",
            "trying strategy names",
            "names: 8 candidates tried, none makes the failing tests pass",
            "trying strategy operators",
            "operators: 13 candidates tried, none makes the failing tests pass",
            "trying strategy calls",
            "calls: 3 candidates tried, none makes the failing tests pass",
            "trying strategy conversions",
            "conversions: 2 candidates tried, none makes the failing tests pass",
            "trying strategy boundaries",
            "boundaries: 7 candidates tried, none makes the failing tests pass",
            "trying strategy everything",
            "an edit of shop/till.py:24 passes the failing tests; looking for others that do",
            "running all tests with what passes, to prove it",
            "all strategies: comparison_operator+arithmetic_operator at shop/till.py:24 is proven after 410 candidates",
        ]
    )


def test_review_of_what_does_not_parse(home: Path, tmp_path: Path) -> None:
    """The tests cannot be imported any more, and what could not be read is named with the reason."""
    shop = committed(tmp_path / "shop", SOUND)
    written(shop, {"shop/prices.py": SOUND["shop/prices.py"].replace("def price_of(name):", "def price_of(name")})
    ran = run(home, shop, "review", APPRENTICE_BUDGET_SECONDS="15")
    assert (ran.code, lines(ran.out)) == snapshot(
        (
            1,
            [
                "tests are broken: 1 test file cannot be imported any more; 1 finding: 1 to post beside the code; 0 files read, 1 not read; # s",
                "  tests/test_till.py cannot be imported: SyntaxError: '(' was never closed (prices.py, line 6) (through shop/prices.py:6)",
                "this part of the change breaks them; without it they pass:",
                "diff --git a/shop/prices.py b/shop/prices.py",
                "--- a/shop/prices.py",
                "+++ b/shop/prices.py",
                "@@ -3,6 +3,6 @@",
                ' PRICES = {"tea": 250, "cake": 400, "kettle": 10000}',
                "-def price_of(name",
                "+def price_of(name):",
                '     """The price of a thing."""',
                "     return PRICES[name]",
                "No other repair was found, with # candidates in # s.",
                "1 finding to post beside the code:",
                "  shop/prices.py:6 invalid-syntax (critical) Expected `)`, found newline  [<id>]",
                "not read: shop/prices.py: not read by bandit: syntax error while parsing AST from file",
            ],
        )
    )


def test_review_with_many_findings(home: Path, tmp_path: Path) -> None:
    """The verdict comes first, a list ends with how many more there are, and --verbose has them all."""
    shop = committed(tmp_path / "shop", SOUND)
    many = "import json\nimport os\n" + "".join(f"def part_{number}():\n    unused = 0\n" for number in range(38))
    written(shop, {"shop/many.py": many, "shop/till.py": POOR})
    ran = run(home, shop, "review")
    assert lines(ran.out) == snapshot(
        [
            "no test is broken: 7 tests passed; 41 findings: 3 to post beside the code, 38 to list in the summary; 2 files read; # s",
            "No test runs 78 of 79 changed lines of code: shop/many.py:1-78.",
            "No test fails without the changed code.",
            "3 findings to post beside the code:",
            "  shop/many.py:1 F401 (minor) `json` imported but unused  [<id>]",
            "    suggested, applied and tested: delete line 1",
            "  shop/many.py:2 F401 (minor) `os` imported but unused  [<id>]",
            "    suggested, applied and tested: delete line 2",
            "  ruff check --select F401 --fix fixes what it can",
            "  shop/till.py:14 E711 (minor) Comparison to `None` should be `cond is None`  [<id>]",
            "    suggested for line 14, applied and tested:",
            "        if count is None or count < 1:",
            "38 findings to list in the summary:",
            "  shop/many.py:4 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  shop/many.py:6 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  shop/many.py:8 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  shop/many.py:10 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  shop/many.py:12 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  shop/many.py:14 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  shop/many.py:16 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  shop/many.py:18 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  shop/many.py:20 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  shop/many.py:22 F841 (minor) Local variable `unused` is assigned to but never used  [<id>]",
            "  and 28 more (--verbose lists them): 28 of F841",
        ]
    )
    everything = run(home, shop, "review", "--verbose")
    assert sum("[<id>]" in line for line in lines(everything.out)) == 41
    quiet = run(home, shop, "review", "--quiet")
    assert (quiet.code, lines(quiet.out), quiet.err) == snapshot(
        (
            0,
            [
                "no test is broken: 7 tests passed; 41 findings: 3 to post beside the code, 38 to list in the summary; 2 files read; # s"
            ],
            "",
        )
    )


def test_review_without_tests(home: Path, tmp_path: Path) -> None:
    """A project without tests is read, and the first line says that none was run."""
    bare = committed(tmp_path / "bare", {"module.py": "x = 1\n"})
    written(bare, {"module.py": "import os\nx = 1\n"})
    ran = run(home, bare, "review")
    assert (ran.code, lines(ran.out)) == snapshot(
        (
            0,
            [
                "no test was run; 1 finding: 1 to list in the summary; 1 file read; # s",
                "1 finding to list in the summary:",
                "  module.py:1 F401 (minor) `os` imported but unused  [<id>]",
            ],
        )
    )
    assert lines(ran.err) == snapshot(
        [
            "reviewing the work tree against main",
            "reading 1 changed file: module.py",
            "no test is run: no tests in the project: there is no test_*.py, no *_test.py and no pytest configuration",
        ]
    )


# ── where it is printed, and how it ends early ──


def test_a_narrow_terminal_without_colour(home: Path, tmp_path: Path) -> None:
    """On 40 columns without colour no line is cut: what is printed is what a pipe gets."""
    bare = committed(tmp_path / "bare", {"module.py": "x = 1\n"})
    written(bare, {"module.py": 'import os\nname = "a name that is longer than forty columns are"\nx = name == None\n'})
    piped = run(home, bare, "review")
    shown = on_a_terminal(home, bare, "review", COLUMNS="40", NO_COLOR="1", TERM="xterm-256color")
    assert not re.search(r"\x1b\[[0-9;]*(3|4|9)[0-7]", shown), "no colour"
    assert [line for line in lines(normal(STYLES.sub("", shown))) if line in lines(piped.out)] == lines(piped.out)


def test_a_locale_that_is_not_utf_8(home: Path, tmp_path: Path) -> None:
    """What the locale cannot write is spelled out, in text and in JSON, and nothing fails."""
    bare = committed(tmp_path / "bare", {"module.py": "x = 1\n"})
    written(bare, {"größe.py": "import größe\n"})
    for locale in ({"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}):
        process = started(home, bare, "review", **locale)
        out, err = process.communicate()
        assert (process.returncode, b"Traceback" in err) == (0, False), err
        assert (b"gr\\xf6\\xdfe.py:1" in out) == (locale == {"PYTHONIOENCODING": "ascii"})
    out, _ = started(home, bare, "review", "--json", "--quiet", PYTHONIOENCODING="ascii").communicate()
    assert {finding["path"] for finding in json.loads(out)["findings"]} == {"größe.py"}


def test_a_reader_that_leaves(home: Path, tmp_path: Path) -> None:
    """`| head` ends the command quietly, as other programs end."""
    for arguments in (("fix", "."), ("--help",), ("stats",)):
        with started(home, written(tmp_path / "shop", SOUND), *arguments) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            err = process.stderr.read().decode()
        assert process.returncode == 128 + signal.SIGPIPE, arguments
        assert "Traceback" not in err
        assert "Broken" not in err


@pytest.mark.parametrize(
    ("command", "step"), [(("fix", "."), "finding what fails"), (("review",), "running all tests")]
)
def test_an_interrupt(home: Path, tmp_path: Path, command: tuple[str, ...], step: str) -> None:
    """Ctrl-C: one line, exit code 130, no process and no temporary file is left, and no file of the user's changes."""
    slow = {"slow.py": "x = 1\n", "test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(60)\n"}
    project = committed(tmp_path / "slow", slow)
    written(project, {"slow.py": "x = 2\n"})
    before = digest(project)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = started(home, project, *command, TMPDIR=str(scratch))
    assert process.stderr is not None
    err = b""
    while step.encode() not in err:
        piece = process.stderr.readline()
        assert piece, err
        err += piece
    time.sleep(1)  # so that the test is asleep in its sandbox
    children = list(descendants(process.pid))
    assert children, "the tests run in processes of their own"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    out, rest = process.communicate()
    assert (process.returncode, out) == (130, b"")
    assert lines(normal(rest.decode())) == [
        f"apprentice: interrupted after # s, at: {LAST[step]}; no file of yours was changed{KEPT[command[0]]}"
    ]
    wait_for_the_end_of(children)
    left = [*scratch.iterdir(), *(home / "scratch").glob("[!.]*")]
    assert left == []
    assert digest(project) == before


LAST = {
    "finding what fails": "finding what fails: running the tests that failed last, or all tests",
    "running all tests": "running all tests",
}
KEPT = {"fix": "; what was learned so far is kept", "review": ""}


def wait_for_the_end_of(processes: list[Path]) -> None:
    """A killed process takes a moment to end, and may wait for its parent to notice."""
    deadline = time.monotonic() + 300
    while alive := [each for each in processes if is_alive(each)]:
        assert time.monotonic() < deadline, [(each / "cmdline").read_bytes() for each in alive]
        time.sleep(0.05)


def is_alive(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def descendants(pid: int) -> Iterator[Path]:
    """The processes below one, by their directories in /proc."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield Path("/proc", child)
            yield from descendants(int(child))


def on_a_terminal(home: Path, at: Path, *arguments: str, **given: str) -> str:
    """All that the command writes to a terminal that is its standard output and error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bot.cli", *arguments],
        cwd=at,
        env=environment(home, SEED | given),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    printed = b""
    try:
        while piece := os.read(ours, 65536):
            printed += piece
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    process.wait()
    return printed.decode().replace("\r\n", "\n")


# ── the command itself ──


def test_the_help(home: Path, tmp_path: Path) -> None:
    """Commands are in groups; each has examples, and each option of fix and review its default."""
    shown = run(home, tmp_path, "--help", COLUMNS="100").out
    assert re.findall(r"─ (.+?) ─+╮|│ ([a-z][a-z-]*) ", shown) == snapshot(
        [
            ("Options", ""),
            ("Use it here", ""),
            ("", "fix"),
            ("", "review"),
            ("", "where"),
            ("", "doctor"),
            ("Learn, and ask why", ""),
            ("", "learn"),
            ("", "backtest"),
            ("", "why"),
            ("", "stats"),
            ("", "evaluate"),
            ("", "audit"),
            ("", "preferences"),
            ("", "forget"),
            ("", "rebuild"),
            ("", "export"),
            ("", "import"),
            ("Run the GitHub App", ""),
            ("", "serve"),
            ("", "worker"),
            ("", "sweep"),
            ("", "mint"),
            ("", "up"),
            ("", "jobs"),
            ("", "prune"),
            ("", "backup"),
            ("", "restore"),
            ("Try it out", ""),
            ("", "demo"),
            ("", "model-server"),
        ]
    )
    ran = run(home, tmp_path, "fix", "--help", COLUMNS="100")
    assert lines(ran.out) == snapshot(
        [
            " Usage: apprentice fix [OPTIONS] {path}",
            " Repair what fails in a project, with proof. PATH is not changed unless --apply is given.",
            " Exit codes: 0 fixed or nothing fails, 1 not fixed, 2 cannot run, 3 undecided: the tests fit",
            " several changes, it is an unlikely one, the time was too short for the proof, or the change uses",
            " what a repair has no use for; 130 interrupted.",
            "╭─ Arguments ──────────────────────────────────────────────────────────────────────────────────────╮",
            "│ *    path      <path>  Root of a Python project. [required]                                      │",
            "╰──────────────────────────────────────────────────────────────────────────────────────────────────╯",
            "╭─ Options ────────────────────────────────────────────────────────────────────────────────────────╮",
            "│ --test-command          <str>                   How to run the tests, variables first. Default:  │",
            "│                                                 python -m pytest                                 │",
            "│ --python                FILE                    Interpreter of the project. Default: your        │",
            "│                                                 environment for it.                              │",
            "│ --budget                <float range> [x>=1.0]  Seconds to spend at most, proofs included: a     │",
            "│                                                 third of them to find what fails. Default: 120,  │",
            "│                                                 or APPRENTICE_BUDGET_SECONDS.                    │",
            "│ --seed                  <int>                   Seed of every random choice. Default: another    │",
            "│                                                 one each time.                                   │",
            "│ --apply                 <bool>                  Write the proven patch into PATH.                │",
            "│ --patch                 <bool>                  Print the proven patch and nothing else, for     │",
            "│                                                 `git apply`.                                     │",
            "│ --quiet         -q      <bool>                  Print the verdict alone, and no progress.        │",
            "│ --verbose       -v      <bool>                  Print everything: all tests, findings, attempts  │",
            "│                                                 and odds.                                        │",
            "│ --json                  <bool>                  Print JSON on standard output.                   │",
            "│ --help                  <bool>                  Show this message and exit.                      │",
            "╰──────────────────────────────────────────────────────────────────────────────────────────────────╯",
            " Examples:",
            " $ apprentice fix .",
            " $ apprentice fix . --test-command 'python -m pytest tests/test_till.py'",
            " $ apprentice fix . --patch | git apply",
        ]
    )


def test_the_version(home: Path, tmp_path: Path) -> None:
    """One line, as packages are called."""
    ran = run(home, tmp_path, "--version")
    assert (ran.code, ran.out, ran.err) == (0, "apprentice 0.1.0\n", "")


def test_the_shell_completes(home: Path, tmp_path: Path) -> None:
    """What bash asks for is answered with commands and options."""
    asked: Mapping[str, tuple[str, list[str]]] = {
        "apprentice re": ("1", ["review", "rebuild", "restore"]),
        "apprentice fix --pa": ("2", ["--patch"]),
    }
    for typed, (word, completed) in asked.items():
        given = {"_APPRENTICE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": word}
        ran = subprocess.run(
            [Path(sys.executable).parent / "apprentice"],
            env=environment(home, given),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.stdout.split() == completed, ran.stderr
