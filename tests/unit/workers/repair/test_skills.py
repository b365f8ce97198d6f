"""Shapes are equal for equal edits under other names, and only then."""

from __future__ import annotations

import pytest

from memory.model import EditShape
from memory.skills import teaches
from workers.repair.engines.search.edit_shapes import MODEL, shape_between, shape_of
from workers.repair.engines.search.engine import replayable


def test_names_become_holes_and_known_names_stay() -> None:
    """Variables are numbered by first appearance; keywords, builtins and builtin methods keep their meaning."""
    assert alone("if len(rows) > limit: rows.append(row)") == "if len ( $0 ) > $1 : $0 . append ( $2 )"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x[0] + 1", "$0 [ 0 ] + 1"),
        ("x[17]", "$0 [ $1 ]"),
        ("d['name']", "$0 [ '$1' ]"),
        ('d[""]', "$0 [ '' ]"),
        ('f"{a}"', "f'$0'"),
        ("a  #  why", "$0"),
        ("a  //b", "$0 // $1"),
    ],
)
def test_constants_keep_what_teaches(text: str, expected: str) -> None:
    """Small numbers and empty strings stay; other constants are holes; comments and spacing go."""
    assert alone(text) == expected


def test_equal_edits_elsewhere_have_equal_shapes() -> None:
    """Renaming everything, and spacing differently, leaves the shape."""
    one = shape_of("comparison_operator", "age<limit", "age <= limit")
    other = shape_of("comparison_operator", "x < y", "x<=y")
    assert one == other


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.count() < self.limit", "self.count() <= self.limit"),
        ("ages[0] < limits.of(b)", "ages[0] <= limits.of(b)"),
        ("f(g(x)) < (y)", "f(g(x)) <= (y)"),
    ],
)
def test_an_operand_that_stays_is_one_hole(before: str, after: str) -> None:
    """What is compared, an attribute, an item or what a call gives, is no part of the edit."""
    assert shape_of("t", before, after).before in {"$0 < $1", "$0 < ( $1 )"}


def test_an_operand_that_changes_is_told_as_far_as_it_does() -> None:
    """The part of a chain that stays is a hole, what is done with it is kept."""
    made = shape_of("t", "self.rows.append(x[0])", "self.rows.extend(x[0])")
    assert (made.before, made.after) == ("$0 . append ( $1 )", "$0 . extend ( $1 )")


def test_which_name_goes_where_matters() -> None:
    """`a - b → b - a` and `a - b → a - c` differ: the same name is the same hole on both sides."""
    assert shape_of("t", "a - b", "b - a") != shape_of("t", "a - b", "a - c")
    assert shape_of("t", "a - b", "b - a") == shape_of("t", "p - q", "q - p")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a < b", "a <= b"),
        ("a - b", "b - a"),
        ("f(a, b)", "f(b, a)"),
        ("xs.append(x)", "xs.extend(x)"),
        ("range(0, n)", "range(1, n)"),
        ("a[s:n]", "a[s : s + n]"),
        ("text", "int(text)"),
        ("a and b", "a or b"),
        ("total", "self.total"),
        ("", "if a is None:\n    return []"),
    ],
)
def test_a_change_of_operator_builtin_literal_or_structure_teaches(before: str, after: str) -> None:
    """What such an edit did can be done again under any names."""
    assert teaches(shape_of("t", before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a", "b"),
        ("a.b", "a.c"),
        ("a.b", "a"),
        ("a < b", "a < c"),
        ("f(a)", "g(a)"),
        ("'one'", "'two'"),
        ("17", "18"),
    ],
)
def test_one_name_for_another_is_not_telling(before: str, after: str) -> None:
    """Holes for holes fit everywhere: the shape would be replayed at every name in scope."""
    assert not teaches(shape_of("t", before, after))


def test_a_models_edit_of_one_place_is_a_shape() -> None:
    """The lines that changed, whatever surrounds them; edits of several places, and of names alone, are none."""
    before = "def f(rows):\n    a = 1\n    rows.sort()\n    return rows[a]\n"
    assert shape_between(before, before.replace("rows[a]", "sorted(rows)[a]")) == EditShape(
        template=MODEL, before="return $0 [ $1 ]", after="return sorted ( $0 ) [ $1 ]"
    )
    assert shape_between(before, before.replace("a = 1", "a = 0").replace("rows[a]", "rows[0]")) is None
    assert shape_between(before, before.replace("return rows", "return others")) is None
    assert shape_between(before, before) is None


def test_only_what_a_template_makes_is_replayed() -> None:
    """A model's edits, and pairs, are remembered and not searched for."""
    made = EditShape(template="comparison_operator", before="$0 < $1", after="$0 <= $1")
    written = EditShape(template=MODEL, before="$0 < $1", after="$0 <= $1")
    assert replayable({made: 0.5, written: 0.9}, {}) == {made: 0.5}


def test_what_maintainers_seldom_accept_is_not_replayed() -> None:
    """A learned edit of a kind that is rejected now and then fits less; one that is seldom accepted waits for its place."""
    made = EditShape(template="comparison_operator", before="$0 < $1", after="$0 <= $1")
    assert replayable({made: 0.5}, {"comparison_operator": 1.8}) == {made: 0.5}
    assert replayable({made: 0.5}, {"comparison_operator": 0.8}) == {made: 0.4}
    assert replayable({made: 0.5}, {"comparison_operator": 0.3}) == {}


def alone(text: str) -> str:
    """The shape of `text` where nothing of it stays."""
    return shape_of("t", text, "").before
