"""Slips of more than one token: what is made of a module, where, and that it is fixed by the seed."""

from __future__ import annotations

import ast

import pytest

from benchmarks.planting import compiles
from benchmarks.slips import plantings

MODULE = '''
class Shelf:
    """A docstring stays."""

    def price(self, weight, limit):
        spare = limit - weight
        total = clip(spare, weight)
        self.seen.append(total)
        if spare > 3:
            rest = self.left(total)
        else:
            rest = self.right(weight)
        if total < limit:
            return round(rest, 2)
        return rest
'''


def made(kind: str, source: str = MODULE) -> set[str]:
    """The modules that slips of a kind make, each by the lines that are new."""
    before = source.splitlines()
    texts = [each.applied(source) for each in plantings(source, "1") if each.slip.kind == kind]
    return {"; ".join(line.strip() for line in text.splitlines() if line not in before) for text in texts}


def test_two_tokens_change_in_one_statement() -> None:
    """Two tokens of a statement change at once, never one alone; of many pairs a few are taken."""
    source = "def f(x, y):\n    x.close()\n    return y + 1\n"
    found = made("two tokens", source)
    assert found <= {"return x - 1", "return y - 2", "return y - 0", "return x + 2", "return x + 0"}
    assert len(found) == 4


def test_a_left_out_statement_leaves_no_trace() -> None:
    """A statement vanishes with its line; `pass` stands only where a block would be empty."""
    texts = [each.applied(MODULE) for each in plantings(MODULE, "1") if each.slip.kind == "statement"]
    assert sum("pass" in text for text in texts) == 3, "the two branches, and the return under the last if"
    assert any("self.seen" not in text and "pass" not in text for text in texts)
    assert all('"""A docstring stays."""' in text for text in texts)


def test_branches_are_exchanged_or_take_another_condition() -> None:
    """The bodies of if and else trade places, and an if takes the condition of another."""
    swapped = MODULE.replace("self.left(total)", "X").replace("self.right(weight)", "self.left(total)")
    swapped = swapped.replace("X", "self.right(weight)")
    texts = [each.applied(MODULE) for each in plantings(MODULE, "1") if each.slip.kind == "branch"]
    assert swapped in texts
    assert MODULE.replace("if spare > 3", "if total < limit") in texts


def test_another_method_of_the_same_object() -> None:
    """A method is taken for another one that the module calls on the same name."""
    assert {"rest = self.right(total)", "rest = self.left(weight)"} <= made("attribute")


def test_another_function_with_as_many_arguments() -> None:
    """A function is taken for another that the module calls with as many values."""
    assert made("function") == {"total = round(spare, weight)", "return clip(rest, 2)"}


def test_swapped_arguments_come_with_another_change() -> None:
    """Swapped arguments alone would be one template's inverse: a second token changes with them."""
    source = "def f(x, limit):\n    return clip(limit, 7) + 1\n"
    assert made("arguments", source) <= {
        "return clip(7, limit) - 1",
        "return clip(7, limit) + 2",
        "return clip(7, limit) + 0",
    }
    assert len(made("arguments", source)) == 2


@pytest.mark.parametrize("seed", ["1", "2"])
def test_every_slip_changes_what_the_module_means(seed: str) -> None:
    """Each slip gives a module that differs and compiles, with the line that it is told to be on within its lines."""
    before = ast.dump(ast.parse(MODULE))
    for planting in plantings(MODULE, seed):
        text = planting.applied(MODULE)
        assert compiles(text)
        assert ast.dump(ast.parse(text)) != before
        assert planting.slip.line in planting.lines


def test_the_seed_fixes_the_choice() -> None:
    """The same seed gives the same slips, another seed others."""
    assert plantings(MODULE, "1") == plantings(MODULE, "1")
    assert plantings(MODULE, "1") != plantings(MODULE, "2")
