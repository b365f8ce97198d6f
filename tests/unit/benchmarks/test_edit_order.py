"""The places of developers' edits in the search's order: in a history made by hand, and factors fitted to orders made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.repair.edit_order import Order, effect, fitted, read, report, write_places
from tests.unit.benchmarks.test_regressions import BROKEN, FIRST, MORE, TESTS, history


def order(repository: str, right: int, templates: str) -> Order:
    """Edits of templates with names of one letter, each a little worse than the one before."""
    scores = tuple(0.9 - 0.01 * at for at in range(len(templates)))
    return Order(repository=repository, path="a.py", right=right, templates=tuple(templates), scores=scores)


def test_the_developers_edit_has_its_place_among_those_of_its_function(tmp_path: Path) -> None:
    """The operator that the fix exchanges is made by a template; what the other commits change is no fix."""
    versions = ((FIRST, TESTS, "first"), (BROKEN, TESTS, "rename"), (BROKEN.replace("+ 3", "* 3"), MORE, "fix the fee"))
    write_places([history(tmp_path / "post", *versions)], tmp_path / "orders", most=5)
    (found,) = read(tmp_path / "orders")
    assert found.repository == "post"
    assert found.path == "post.py"
    assert found.templates[found.right] == "arithmetic_operator"
    assert found.place_by({}) == found.place == found.right + 1
    assert list(found.scores) == sorted(found.scores, reverse=True)


def test_a_template_that_comes_too_early_gets_a_factor_below_one() -> None:
    """And the one whose edits are the right ones, one above; with them the right edits come first."""
    orders = [order(name, 20, "a" * 20 + "b" * 5) for name in "pqrstuvw" * 5]
    factors = fitted(orders)
    assert factors["a"] < 1 < factors["b"]
    assert {each.place_by(factors) for each in orders} == {1}
    places = [(each, each.place_by(factors)) for each in orders]
    assert "median 21, now 1; 40 nearer, 0 farther, of 40" in effect(places)


def test_equal_scores_keep_their_order() -> None:
    """A factor that makes scores equal does not move an edit before one that came earlier."""
    found = Order(repository="p", path="a.py", right=1, templates=("a", "b"), scores=(0.8, 0.4))
    assert found.place_by({"b": 2.0}) == 2
    assert found.place_by({"b": 2.1}) == 1


def test_held_out_repositories_have_no_part_in_the_factors(capsys: pytest.CaptureFixture[str]) -> None:
    """Without others there is nothing to fit on."""
    others = [order(name, 20, "a" * 20 + "b" * 5) for name in "pqrst"]
    report([*others, order("held", 0, "ab")], ["held"])
    shown = capsys.readouterr().out
    assert "held out" in shown
    assert "0 nearer, 1 farther, of 1" in shown.partition("held out")[2]
    with pytest.raises(SystemExit, match="hold out fewer"):
        report(others, list("pqrst"))
