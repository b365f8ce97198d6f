"""Further inputs are made from those seen: the same ones each time, of the types seen, most within their invariants."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import cast

import pytest

from workers.repair.running.in_sandbox.inputs import Input, Invariants, inputs
from workers.repair.running.in_sandbox.recording import Call, canonical, shown


def find(rows: list[int], wanted: int, names: tuple[str, ...] = ()) -> int:
    return rows.index(wanted) + len(names)


def maybe(one: int | None, other: int) -> int:
    return (one or 0) + other


def total(*rows: int) -> int:
    return sum(rows)


def call(function: Callable[..., int], *positional: object, **named: object) -> Call:
    return Call(cast("FunctionType", function), list(positional), named)


SEEN = [call(find, [1, 4, 9], 4, names=("a",)), call(find, [2, 3], 3)]


def made(seed: int = 1, count: int = 60) -> list[Input]:
    return list(inputs(SEEN, count, seed, [100]))


def test_the_same_seed_makes_the_same_inputs() -> None:
    """What is made in two processes is the same, and another seed makes others."""
    assert [each.key for each in made()] == [each.key for each in made()]
    assert [each.key for each in made()] != [each.key for each in made(seed=2)]


def test_the_inputs_seen_come_first_and_none_comes_twice() -> None:
    """So many at most, all different."""
    found = made()
    assert [each.call for each in found[:2]] == SEEN
    assert len({each.key for each in found}) == len(found) == 60


def test_types_stay_as_they_were() -> None:
    """Lists of integers stay lists of integers; None is given only where the annotation allows it."""
    for each in made(count=200):
        rows, wanted = each.call.positional
        assert isinstance(rows, list)
        assert all(type(row) is int for row in rows)
        assert type(wanted) is int
    absent = [each.call.positional for each in inputs([call(maybe, 1, 2)], 80, 1, [])]
    assert any(one is None for one, _ in absent)
    assert not any(other is None for _, other in absent)


def test_more_arguments_than_a_function_has_names_are_changed_too() -> None:
    """A call of a function with `*args` is a call like any other."""
    found = list(inputs([call(total, 1, 2, 3, 4)], 20, 1, []))
    assert len(found) == 20


def test_the_calls_seen_are_left_as_they_are() -> None:
    """Inputs are changed copies."""
    before = canonical([each.positional for each in SEEN])
    made()
    assert canonical([each.positional for each in SEEN]) == before


def test_most_inputs_keep_the_habits_of_those_seen() -> None:
    """Sorted stays sorted and positive stays positive, but not always."""
    inside = [each.inside for each in made(count=200)]
    assert 0.7 < sum(inside) / len(inside) < 1.0


@pytest.mark.parametrize(
    ("seen", "keeps", "breaks"),
    [
        ([1, 5], 7, 0),
        ([0, 5], 0, -1),
        ([-1, 5], -7, "x"),
        (["ab", "cd"], "xY", "a1"),
        (["()", "(())"], ")(", "[]"),
        (["101"], "77", "7a"),
        (["two words"], "Three, 4!", 4),
        ([[1, 2], [3, 7]], [5, 6, 9], [6, 5]),
        ([[3, 1], [4, 2]], [2, 1], [2, 2]),
        ([[1, 2], [3, 7]], [], [-5, 6]),
        ([{"a": 1}], {"b": 2}, {"b": -2}),
    ],
)
def test_habits(seen: list[object], keeps: object, breaks: object) -> None:
    """What all values seen have in common; emptiness breaks nothing."""
    assert Invariants(seen).kept_by(keeps)
    assert not Invariants(seen).kept_by(breaks)


class Plain:
    def __init__(self, size: int) -> None:
        self.size = size


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (2, 2.0, True),
        (0.1 + 0.2, 0.3, True),
        (True, 1, False),
        ([1], (1,), False),
        ({"b", "a"}, {"a", "b"}, True),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}, True),
        (iter([1, 2]), iter([1, 2]), True),
        (Plain(1), Plain(1), True),
        (Plain(1), Plain(2), False),
        (float("nan"), float("nan"), True),
        (float("inf"), 1e400, True),
        (ValueError("a"), ValueError("b"), False),
    ],
)
def test_values_are_alike_by_what_they_hold(one: object, other: object, equal: bool) -> None:
    """Whatever their addresses, order in sets, or the last digits of floats."""
    assert (canonical(one) == canonical(other)) is equal


def test_a_value_that_holds_itself_has_an_end() -> None:
    """Loops and endless iterators are cut."""
    loop: list[object] = []
    loop.append(loop)
    assert canonical(loop) == "[<loop 1>]"
    assert canonical(iter(int, 1)).startswith("iter[0,0,")


def test_values_are_shown_short_and_on_one_line() -> None:
    """Plain objects show what they hold, unless that is too long, and nothing shows an address."""
    assert shown(Plain(3)) == "Plain(size=3)"
    large = Plain(3)
    vars(large).update(first="x" * 99, then="y" * 99)
    assert shown(large) == "Plain(…)"
    assert len(shown("x" * 999)) < 200
    assert "0x" not in shown([object()])
    assert "\n" not in shown("a\nb")
