"""Suspects: coverage spectra, tracebacks, and what neither sees."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest

from memory.model import Failure, Family, Frame
from workers.repair.classify import family_of
from workers.repair.engines.search.localise import suspects
from workers.repair.outline import deciding_lines

SHOP = dedent(
    """\
    LIMIT = 3
    OTHER = 4

    def price(item, rate=1):
        total = (
            item.cost
            * rate
        )
        if total > LIMIT:
            total -= 1
        return total

    def name(item):
        return item.name
    """
)
TEST = "def test_price():\n    assert price(1)\n"
FILES = {"shop.py": SHOP, "tests/test_shop.py": TEST, "README.md": "shop"}


def failure(*frames: Frame, error: str = "AssertionError", message: str = "") -> Failure:
    return Failure(
        error_type=error,
        family=family_of(error),
        message=message,
        frames=frames,
        failing_tests=("tests/test_shop.py::test_price",),
    )


def frame(line: int, path: str = "shop.py") -> Frame:
    return Frame(path=path, line=line, function="f")


def run(*lines: int) -> dict[str, frozenset[int]]:
    return {"shop.py": frozenset(lines), "tests/test_shop.py": frozenset({2})}


def test_lines_of_a_change_that_broke_the_tests_come_first() -> None:
    """They are ranked among themselves, and all others count less; a change of other files says nothing."""
    coverage = {"tests/test_shop.py::test_price": run(5, 9, 10, 11), "ok": run(5, 9, 11), "fine": run(5, 11)}
    before = {
        "shop.py": SHOP.replace("total > LIMIT", "total >= LIMIT").replace("return total", "return -total").encode()
    }
    usual = suspects(failure(), coverage, ["ok", "fine"], sources=FILES)
    found = suspects(failure(), coverage, ["ok", "fine"], sources=FILES, before=before)
    scores = {each.line: each.score for each in found}
    assert (usual[0].line, [each.line for each in found[:2]]) == (10, [9, 11])
    assert (scores[9], scores[10]) == (1.0, pytest.approx(0.4 * usual[0].score))
    assert suspects(failure(), coverage, ["ok", "fine"], sources=FILES, before={"other.py": None}) == usual


def test_lines_that_only_failing_tests_run_come_first() -> None:
    """Ochiai's coefficient ranks a line the higher the fewer passing tests run it."""
    coverage = {"tests/test_shop.py::test_price": run(5, 9, 10, 11), "ok": run(5, 9, 11), "fine": run(5, 14)}
    found = suspects(failure(), coverage, ["ok", "fine"], sources=FILES)
    assert (found[0].path, found[0].line) == ("shop.py", 10)
    scores = {s.line: s.score for s in found}
    assert scores[10] > scores[9] > scores[5]
    assert 14 not in scores


def test_a_score_covers_the_whole_statement() -> None:
    """A statement over several lines is one suspect; a compound statement's header does not drag in its body."""
    found = suspects(failure(frame(7)), {}, [], sources=FILES)
    scores = {s.line: s.score for s in found}
    assert scores[5] == scores[6] == scores[7] == scores[8] == 1.0
    assert scores[10] < 1.0


def test_a_traceback_alone_suffices() -> None:
    """Without coverage the line that raised leads, then its callers, then the rest of the function."""
    found = suspects(failure(frame(14), frame(11), error="TypeError"), {}, [], sources=FILES)
    scores = {s.line: s.score for s in found}
    assert found[0].line == 11
    assert scores[11] > scores[14] > scores[10] > 0


def test_tests_are_never_suspected() -> None:
    """Neither coverage nor a frame in a test file makes it a suspect."""
    coverage = {"tests/test_shop.py::test_price": run(5)}
    found = suspects(failure(frame(2, "tests/test_shop.py")), coverage, [], sources=FILES)
    assert {s.path for s in found} == {"shop.py"}


def test_a_constant_in_capitals_is_suspected_wherever_it_is_defined() -> None:
    """A constant of a base class, or of a module of settings, is wrong as often as one of the same module."""
    shop = SHOP.replace("LIMIT = 3\n", "from settings import LIMIT\n")
    files = {
        **FILES,
        "shop.py": shop,
        "settings.py": "class Base:\n    LIMIT: int = 4\n    RATE = 2\nif LIMIT == 3: pass\n",
    }
    coverage = {"tests/test_shop.py::test_price": run(5, 9, 10, 11)}
    found = {s.line for s in suspects(failure(), coverage, [], sources=files) if s.path == "settings.py"}
    assert found == {2}


def test_a_function_that_gives_nothing_at_its_end_is_suspected_though_many_tests_run_it() -> None:
    """Its header comes before what fewer passing tests run, if it gives a value elsewhere."""
    found = dedent(
        """\
        def price(item):
            if item is None:
                return None
        """
    )
    coverage = {"tests/test_shop.py::test_price": {"shop.py": frozenset({2}), "other.py": frozenset({2})}}
    coverage |= {f"ok{n}": {"shop.py": frozenset({2, 3})} for n in range(20)}
    files = {"shop.py": found, "other.py": "def f():\n    return 1\n", "tests/test_shop.py": TEST}
    passing = [test for test in coverage if test.startswith("ok")]
    lines = [(s.path, s.line) for s in suspects(failure(), coverage, passing, sources=files)]
    assert lines[:2] == [("other.py", 2), ("shop.py", 1)]
    files["shop.py"] = found + "    return item.cost\n"
    lines = [(s.path, s.line) for s in suspects(failure(), coverage, passing, sources=files)]
    assert lines.index(("shop.py", 1)) > lines.index(("other.py", 1))


def test_a_function_that_is_asked_for_a_value_and_gives_none_is_suspected_where_the_failure_speaks_of_none() -> None:
    """Its header comes next to the line of the error; one that is called as a statement, or gives a value, is no such function."""
    text = "def check(path):\n    if not path:\n        raise OSError\n{}\n\ndef load(path):\n    {}\n    use(path)\n"
    coverage = {"tests/test_shop.py::test_price": run(2, 7, 8), "ok": run(2, 3)}
    broken = replace(failure(frame(7)), message="'NoneType' object is not iterable")

    def worth(gives: str, call: str, failed: Failure) -> float:
        files = {"shop.py": text.format(gives, call), "tests/test_shop.py": TEST}
        return next(s.score for s in suspects(failed, coverage, ["ok"], sources=files) if s.line == 1)

    asked = worth("", "open(check(path))", broken)
    others = (
        ("", "check(path)", broken),
        ("    return path", "open(check(path))", broken),
        ("", "open(check(path))", failure(frame(7))),
    )
    assert all(worth(*other) < asked for other in others)


def test_a_function_that_a_failing_test_is_called_after_and_does_not_run_is_suspected() -> None:
    """Its header alone, and not where the name is a single word, or where the test runs it."""
    text = "def load(item):\n    return 1\n\ndef load_all(item):\n    return 2\n\ndef use(item):\n    return 3\n"
    test = "tests/test_shop.py::test_load_all_waits"
    files = {"shop.py": text, "tests/test_shop.py": "def test_load_all_waits():\n    pass\n"}
    asked = replace(failure(), failing_tests=(test,))
    found = suspects(asked, {test: run(8)}, [], sources=files)
    assert [(s.path, s.line) for s in found] == [("shop.py", 8), ("shop.py", 4), ("shop.py", 7)]
    ran = {s.line: s.score for s in suspects(asked, {test: run(5, 8)}, [], sources=files)}
    assert ran[4] == ran[7]


def test_headers_and_constants_are_suspected_though_no_test_runs_them() -> None:
    """Defaults and constants are evaluated at import time; those that a suspected function uses are suspects too."""
    lines = {s.line for s in suspects(failure(frame(9)), {}, [], sources=FILES)}
    assert {1, 4} <= lines
    assert 2 not in lines


def test_a_failing_assertion_without_coverage_leads_to_what_the_test_calls() -> None:
    """When nothing in the product is in the traceback, the functions that the test names are suspected."""
    found = suspects(failure(frame(2, "tests/test_shop.py")), {}, [], sources=FILES)
    assert {5, 9, 10, 11} <= {s.line for s in found}
    assert 14 not in {s.line for s in found}


def test_an_import_error_leads_to_the_definitions_of_the_module_asked() -> None:
    """`cannot import name` points at the most alike definition of that module."""
    message = "cannot import name 'prices' from 'shop' (/w/shop.py)"
    found = suspects(failure(error="ImportError", message=message), {}, [], sources=FILES)
    assert found[0].line == 4


def test_a_syntax_error_leads_to_the_line_in_its_message() -> None:
    """The file may not parse: the message's own position is used."""
    broken = {"shop.py": "x = 1\nif x\n    pass\n"}
    found = suspects(failure(error="SyntaxError", message="expected ':' (shop.py, line 2)"), {}, [], sources=broken)
    assert [(s.path, s.line, s.score) for s in found] == [("shop.py", 2, 1.0)]


def test_scores_lie_within_bounds_and_in_order() -> None:
    """Scores are within (0, 1], highest first, ties by path and line; the same input gives the same list."""
    coverage = {"tests/test_shop.py::test_price": run(5, 9, 10, 11), "ok": run(5, 11)}
    case = failure(frame(9), error="ValueError")
    found = suspects(case, coverage, ["ok"], sources=FILES)
    assert found == suspects(case, coverage, ["ok"], sources=FILES)
    assert all(0 < s.score <= 1 for s in found)
    assert found == sorted(found, key=lambda s: (-s.score, s.path, s.line))
    assert case.family is Family.VALUE


COINS = dedent(
    """\
    class Coin:
        def __init__(self, worth):
            self.worth = worth

        def __eq__(self, other):
            return self._key() == other._key()

        def _key(self):
            return self.worth

        def __repr__(self):
            return f"Coin({self.worth})"

    class Gold(Coin):
        def shine(self):
            return self.polished

    def half(coin):
        return Coin(coin.worth / 3)
    """
)
HALF = "def test_half():\n    assert half(Coin(4)) == Coin(2)\n\ndef test_text():\n    assert repr(Coin(2)) == 'two'\n"


def coins(test: str, *lines: int, error: str = "AssertionError", message: str = "") -> dict[int, float]:
    case = Failure(
        error_type=error,
        family=family_of(error),
        message=message,
        frames=(),
        failing_tests=(f"tests/test_coins.py::{test}",),
    )
    coverage = {case.failing_tests[0]: {"coins.py": frozenset(lines)}, "ok": {"coins.py": frozenset({3})}}
    found = suspects(case, coverage, ["ok"], sources={"coins.py": COINS, "tests/test_coins.py": HALF})
    return {s.line: s.score for s in found}


def test_what_an_assertion_itself_calls_is_suspected_less() -> None:
    """`__eq__`, and a method that only it calls, judge the product: a line that they judge comes before them."""
    scores = coins("test_half", 3, 6, 9, 19)
    assert scores[19] > scores[3] > scores[6] > 0
    assert scores[19] > 3 * scores[9] > 0


def test_methods_that_judge_keep_their_scores_when_they_are_all_there_is() -> None:
    """With no other suspect, `__eq__` is at fault itself; so it is when it raised."""
    assert coins("test_other", 6, 9)[6] == coins("test_other", 6, 9, 19)[19]
    raised = coins("test_other", 6, 19, error="TypeError")
    assert raised[6] == raised[19]


def test_a_text_that_the_test_asks_for_is_no_judge() -> None:
    """`assert repr(x) == "…"` judges `__repr__`, which stays a suspect like any other."""
    scores = coins("test_text", 3, 12, 19)
    assert scores[12] == scores[19]


def test_a_missing_attribute_leads_to_the_constructor_that_did_not_set_it() -> None:
    """The `__init__` of the class that the error names, or of its base, is suspected though it is in no traceback."""
    message = "'Gold' object has no attribute 'polished'"
    scores = coins("test_half", 16, error="AttributeError", message=message)
    assert scores[2] > 0.8
    assert scores[2] > scores[3] > 0.5


def test_the_modules_that_a_test_names_are_suspected_where_nothing_else_speaks() -> None:
    """A program that cannot be traced leaves neither lines nor frames."""
    test = "import subprocess\n\ndef test_x():\n    subprocess.run(['python', '-m', 'pkg.tool'])\n"
    sources = {"pkg/tool.py": "A = 1\n", "pkg/other.py": "B = 2\n", "tests/test_tool.py": test}
    failed = Failure(
        error_type="AssertionError",
        family=Family.ASSERTION,
        message="",
        frames=(),
        failing_tests=("tests/test_tool.py::test_x",),
    )
    assert [(each.path, each.line) for each in suspects(failed, {}, [], sources=sources)] == [("pkg/tool.py", 1)]


def test_very_many_lines_below_a_package_that_a_test_names_are_not_suspected() -> None:
    """A package may hold thousands of modules of data beside the one that a test imports."""
    test = "import pkg\nimport pkg.tool\n\ndef test_x():\n    assert pkg.tool.A == 2\n"
    for entries, suspected in ((3, {"pkg/tool.py", "pkg/data/en.py"}), (6000, {"pkg/tool.py"})):
        data = "".join(f"WORD_{n} = {n}\n" for n in range(entries))
        texts = {"pkg/__init__.py": "", "pkg/tool.py": "A = 1\n", "pkg/data/en.py": data, "tests/test_shop.py": test}
        assert {each.path for each in suspects(failure(), {}, [], sources=texts)} == suspected


def test_what_decides_about_a_line_is_suspected_with_it() -> None:
    """The condition around a line that failing tests alone run, and what binds the names that it reads."""
    source = dedent(
        """\
        def check(given, wanted):
            lacking = set(given) - set(wanted)
            other = len(given)
            if lacking:
                raise KeyError(lacking)
            return other
        """
    )
    coverage = {"tests/test_shop.py::test_price": run(2, 3, 4, 5), "ok": run(2, 3, 4, 6)}
    found = suspects(failure(frame(5)), coverage, ["ok"], sources={**FILES, "shop.py": source})
    scores = {suspect.line: suspect.score for suspect in found}
    assert scores[5] > scores[4] > scores[2] > scores[3]


def test_what_decides_whether_a_flag_is_set_is_suspected_with_the_flag() -> None:
    """The condition around what binds a name that the suspected condition reads, though that line did not run."""
    source = dedent(
        """\
        def check(words):
            known = False
            for word in words:
                if len(word) > 9:
                    print(word)
                if word == "AS":
                    known = True
            if not known:
                return None
            return words
        """
    )
    passing = dict.fromkeys(("a", "b", "c"), run(2, 3, 4, 6, 7, 8, 10))
    coverage = {"tests/test_shop.py::test_price": run(2, 3, 4, 6, 8, 9), **passing}
    found = suspects(failure(), coverage, list(passing), sources={**FILES, "shop.py": source})
    scores = {suspect.line: suspect.score for suspect in found}
    assert scores[9] > scores[8] > scores[6] == scores[7] > scores[4]


def test_a_branch_that_was_not_asked_for_is_suspected() -> None:
    """`elif` in the place of `if`: where the branch before it runs, its own condition does not."""
    source = dedent(
        """\
        def merge(first, second):
            found = {}
            if first:
                found |= first
            elif second:
                found |= second
            return found
        """
    )
    coverage = {"tests/test_shop.py::test_price": run(2, 3, 4, 7), "ok": run(2, 3, 5, 6, 7)}
    found = suspects(failure(), coverage, ["ok"], sources={**FILES, "shop.py": source})
    scores = {suspect.line: suspect.score for suspect in found}
    assert scores[4] > scores[5] > scores[2]
    assert 6 not in scores


@pytest.mark.parametrize(
    ("line", "deciding"), [(5, [3, 4]), (7, [3, 4, 6]), (6, [3, 4]), (9, [8]), (11, [8]), (12, [])]
)
def test_the_conditions_that_decide_whether_a_line_runs(line: int, deciding: list[int]) -> None:
    """All lines of the innermost one that is around it, and of the last one before it that leaves."""
    source = (
        "def found(datum, wanted):\n"
        "    for one in wanted:\n"
        "        if (not datum\n"
        "            and one):\n"
        "            return []\n"
        "        while one:\n"
        "            one -= 1\n"
        "    if datum:\n"
        "        pass\n"
        "    else:\n"
        "        wanted.pop()\n"
        "    return [datum]\n"
    )
    assert sorted(deciding_lines(source, line)) == deciding


def test_a_module_of_many_functions() -> None:
    """Each line is looked for in the functions around it, and not in all of the module."""
    source = "".join(f"LIMIT_{n} = {n}\n\ndef f{n}(a):\n    return a + LIMIT_{n}\n\n" for n in range(4000))
    lines = [5 * n + 4 for n in range(4000)]
    coverage = {"tests/test_shop.py::test_price": {"shop.py": frozenset(lines)}}
    found = suspects(failure(), coverage, [], sources={**FILES, "shop.py": source})
    assert {each.line for each in found} >= {*lines, *(line - 3 for line in lines)}
