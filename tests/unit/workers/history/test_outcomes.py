"""What became of a finding is told from the code that follows, and from nothing that came before it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from memory.model import Fate, PastFinding
from tests.unit.workers.history.conftest import Branch
from workers.history import changes as log
from workers.history.outcomes import SWEEP

Told = Callable[..., list[PastFinding]]
BODY = "def area(side):\n    bad = side * side\n    return bad\n"
START = "def area(side):\n    squared = bad(side)\n    return squared\n"


@pytest.mark.parametrize(
    ("then", "fate"),
    [
        (START.replace("bad", "good"), Fate.APPLIED),
        (START.replace("bad(side)", "side ** 2"), Fate.FIXED),
        (START.replace("bad(side)", "bad(side)  # noqa"), Fate.SILENCED),
        (f"# ruff: noqa\n{START}", Fate.SILENCED),
        ("def volume(side):\n    return side ** 3\n", Fate.GONE),
        ("def area(side):\n    return 0\n", Fate.REWRITTEN),
        (None, Fate.GONE),
    ],
)
def test_each_fate(told: Told, then: str | None, fate: Fate) -> None:
    """The next change ends the finding, each time in another way."""
    (only,) = told({"shapes.py": START}, {"shapes.py": then, "more.py": "x = 1\n"})
    assert (only.fate, only.position, only.until) == (fate, 1, 2)
    assert (only.rule, only.path, only.line, only.fixable) == ("BAD1", "shapes.py", 2, True)


def test_what_stays_is_left_after_the_horizon(told: Told) -> None:
    """Changes elsewhere in the file, and of other files, move it and do not end it."""
    moved = [{"shapes.py": f"# {'x' * n}\n{START}"} for n in range(1, 4)]
    assert told({"shapes.py": START}, *moved, {"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}, horizon=6) == []


def test_the_horizon_counts_changes(told: Told) -> None:
    """It is left with the first change beyond the horizon, and stays decided."""
    others = [{"a.py": f"x = {n}\n"} for n in range(6)]
    (only,) = told({"shapes.py": START}, *others, {"shapes.py": START.replace("bad", "good")}, horizon=4)
    assert (only.fate, only.until) == (Fate.LEFT, 6)


def test_a_moved_finding_is_still_the_same(told: Told) -> None:
    """Lines above it, a renamed file and an edit of its own line that does not end it: then it is fixed."""
    above = f"import math\n\n{START}"
    edited = above.replace("squared = bad(side)", "squared = bad(side, side)")
    (only,) = told(
        {"shapes.py": START},
        {"shapes.py": above},
        {"shapes.py": None, "forms.py": above},
        {"forms.py": edited},
        {"forms.py": edited.replace("bad(", "good(")},
    )
    assert (only.fate, only.path, only.position, only.until) == (Fate.FIXED, "shapes.py", 1, 5)


def test_standing_and_burst_are_counted_when_it_is_found(told: Told) -> None:
    """How often the rule is broken on other lines of the file, and on lines of the same change."""
    first = "a = bad(1)\nb = bad(2)\n\n\n"
    second = first + "c = bad(3)\n"
    found = told({"x.py": first}, {"x.py": second, "y.py": "d = bad(4)\n"}, {"x.py": None, "y.py": None})
    assert [(each.path, each.line, each.standing, each.burst) for each in found] == [
        ("x.py", 1, 0, 2),
        ("x.py", 2, 0, 2),
        ("x.py", 5, 2, 2),
        ("y.py", 1, 0, 2),
    ]


@pytest.mark.parametrize(("count", "fate"), [(SWEEP - 1, Fate.APPLIED), (SWEEP, Fate.SWEPT)])
def test_a_sweep_says_nothing_of_each(told: Told, count: int, fate: Fate) -> None:
    """A few of a rule that end with one change were fixed; of many nobody thought of each."""
    names = [f"x{number}.py" for number in range(count)]
    found = told(dict.fromkeys(names, "x = bad(1)\n"), dict.fromkeys(names, "x = good(1)\n"))
    assert [each.fate for each in found] == [fate] * count


def test_a_merge_is_one_change(branch: Branch) -> None:
    """What a branch brought is read as it was merged: what was mended on it was never seen."""
    branch.commit({"a.py": "x = 1\n"})
    branch.git("checkout", "--quiet", "-b", "side")
    branch.commit({"b.py": "y = bad(1)\n"})
    branch.commit({"b.py": "y = bad(1)\nz = 2\n"})
    branch.commit({"b.py": "y = good(1)\nz = bad(2)\n"})
    branch.git("checkout", "--quiet", "main")
    branch.git("merge", "--quiet", "--no-ff", "side", "--message", "merge")
    merge = branch.git("rev-parse", "HEAD").strip()
    branch.commit({"b.py": "y = good(1)\nz = good(2)\n"})
    (only,) = branch.fates()
    assert (only.sha, only.line, only.fate) == (merge, 2, Fate.APPLIED)


def test_what_cannot_be_read_says_nothing(told: Told) -> None:
    """Files that are not UTF-8, broken, vendored or generated bring no findings and end none wrongly."""
    strange = {
        "latin.py": "x = 'bad \xe9'\n".encode("latin-1"),
        "vendor/a.py": "x = bad(1)\n",
        "b_pb2.py": "x = bad(1)\n",
    }
    assert told(strange, {**strange, "vendor/a.py": "x = 1\n"}) == []


def test_a_file_that_turns_unreadable_ends_what_was_touched(told: Told) -> None:
    """Of lines that went unread nothing can be told: gone, not fixed."""
    (only,) = told({"x.py": "x = bad(1)\n"}, {"x.py": "x = '\xe9'\n".encode("latin-1")})
    assert only.fate is Fate.GONE


def test_a_change_too_large_to_read_ends_the_trail(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stood there may have moved or gone: nothing is told of it."""
    monkeypatch.setattr(log, "MAX_CHANGE", 400)
    huge = {"shapes.py": START.replace("bad", "good"), "more.py": "x = 1\n" * 100}
    (only,) = told({"shapes.py": START}, huge)
    assert (only.fate, only.until) == (Fate.GONE, 2)


def test_findings_hold_no_copies_of_their_file(told: Told) -> None:
    """Three thousand that are open at a time take less memory than half of a copy each, which is far more than what else runs here takes."""
    text = "".join(f"line_{n} = bad({n})\n" for n in range(3_000))
    tracemalloc.start()
    try:
        told({"x.py": text}, {"y.py": "x = 1\n"})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3_000 * len(text) / 2
