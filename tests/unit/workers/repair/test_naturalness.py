"""Code that a repository is full of surprises less than code that it has never seen."""

from __future__ import annotations

from workers.repair.judging.differential_testing import Naturalness, changed_lines

CODE = "\n".join(f"for row in table_{n}:\n    total += row.price * row.count\n" for n in range(30))


def test_what_is_usual_surprises_less() -> None:
    """The order of tokens matters, not only which they are."""
    model = Naturalness([CODE])
    usual = model.surprise("x", "total += row.price * row.count")
    assert 0 < usual < model.surprise("x", "total += row.count * row.price") < model.surprise("x", "sum -= q @ w")


def test_only_changed_lines_count() -> None:
    """What was there before surprises nobody."""
    model = Naturalness([CODE])
    assert model.surprise("a b c\n", "a b c\n") == 0.0
    assert model.surprise("a b c\nd", "a b c\ntotal += row.price") == model.surprise("", "total += row.price")


def test_changed_lines_lie_between_the_common_ones() -> None:
    """Common beginnings and ends do not overlap."""
    assert changed_lines("a\nb\nc", "a\nx\ny\nc") == ["x", "y"]
    assert changed_lines("a\na", "a\na\na") == ["a"]
    assert changed_lines("a\nb", "a") == []
