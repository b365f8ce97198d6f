"""The templates that make a past fix, in a history made by hand."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.repair.importers.commits import Clone
from benchmarks.repair.real_fixes import fixes_of, makers, searched
from tests.unit.benchmarks.test_regressions import BROKEN, FIRST, MORE, TESTS, history


def test_a_template_makes_the_fix_of_an_operator(tmp_path: Path) -> None:
    """The operator that the fix exchanges is made by a template; what the other commits change is no fix."""
    versions = ((FIRST, TESTS, "first"), (BROKEN, TESTS, "rename"), (BROKEN.replace("+ 3", "* 3"), MORE, "fix the fee"))
    (fix,) = fixes_of(Clone(history(tmp_path / "post", *versions)), 5, random.Random(1))
    assert fix.path == "post.py"
    assert "arithmetic_operator" in makers(fix)


def test_the_search_makes_a_change_of_several_lines_that_are_alike(tmp_path: Path) -> None:
    """The same words are exchanged twice in a function; a commit that exchanges others, too, is left out."""
    old = "def span(a, b):\n    low = int(a, 16)\n    high = int(b, 16)\n    return high - low\n"
    new = old.replace(", 16", "")
    versions = ((old, TESTS, "first"), (new, TESTS, "decimal"), (new.replace("low", "least", 1), TESTS, "one place"))
    clone = Clone(history(tmp_path / "post", *versions))
    (change,) = fixes_of(clone, 5, random.Random(1), repeated=True)
    assert searched(change) == {"superfluous_argument"}
