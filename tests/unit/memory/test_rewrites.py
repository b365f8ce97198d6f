"""What an edit replaced by what."""

from __future__ import annotations

from textwrap import dedent

from memory.model import Rewrite
from memory.rewrites import levels, rewrites
from memory.terms import written

SHOP = dedent(
    '''\
    """A shop."""
    import os

    def total(basket, rate):
        """Sum."""
        found = 0
        for item in basket:
            if item.price > 0:
                found += item.price
        return found * rate
    '''
)


def test_the_smallest_statement_that_holds_the_change() -> None:
    """It comes with what it stands in, innermost first, up to the function, and with the roles of its names."""
    edited = SHOP.replace("found += item.price", "found += item.price * item.count")
    assert rewrites(SHOP, edited) == (
        Rewrite(
            before="found += item.price",
            after="found += item.price * item.count",
            inside=("If.body", "For.body", "FunctionDef.body"),
            roles=(("found", "local"), ("item", "local")),
        ),
    )


def test_a_header_leaves_its_body_out() -> None:
    """Only the condition changed: what is done in it does not matter."""
    (found,) = rewrites(SHOP, SHOP.replace("item.price > 0", "item.price >= 0"))
    assert (found.before, found.after) == ("if item.price > 0:\n    ...", "if item.price >= 0:\n    ...")


def test_an_else_that_did_not_change_is_left_out_too() -> None:
    """A condition is the same edit with and without another branch."""
    source = SHOP.replace("found += item.price", "found += item.price\n        else:\n            pass")
    (found,) = rewrites(source, source.replace("item.price > 0", "item.price >= 0"))
    assert found.before == "if item.price > 0:\n    ..."


def test_added_statements_replace_nothing() -> None:
    """A guard is an edit from nothing."""
    (found,) = rewrites(SHOP, SHOP.replace("    found = 0\n", "    if not basket:\n        return 0\n    found = 0\n"))
    assert (found.before, found.after) == ("", "if not basket:\n    return 0")


def test_imports_go_with_what_needs_them() -> None:
    """A line that imports what the new code names is part of the edit, and no edit of its own."""
    edited = SHOP.replace("import os\n", "import os\nimport math\n").replace("found * rate", "math.ceil(found * rate)")
    (found,) = rewrites(SHOP, edited)
    assert (found.after, found.imports) == ("return math.ceil(found * rate)", ("import math",))


def test_layout_and_docstrings_do_not_count() -> None:
    """Comments, docstrings and blank lines teach nothing, nor does text that does not parse."""
    assert (
        rewrites(SHOP, SHOP.replace('"""Sum."""', '"""The sum."""').replace("import os", "import os  # unused")) == ()
    )
    assert rewrites(SHOP, "def") == ()
    assert rewrites(SHOP, "(" * 10_000) == ()


def test_levels_go_from_the_expression_to_the_statement() -> None:
    """The smallest part that changed comes first."""
    (found,) = rewrites(SHOP, SHOP.replace("found * rate", "found + rate"))
    assert [written(before) for before, _ in levels(found)] == ["found * rate", "return found * rate"]
