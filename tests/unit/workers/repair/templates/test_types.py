"""Type checks are widened, or put where they are missing."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "accepted_types",
        """
        class Key:
            pass

        def f(a):
            return isinstance(a, str)
        """,
        """
        class Key:
            pass

        def f(a):
            return isinstance(a, Key)
        """,
        {},
    ),
    (
        "accepted_types",
        """
        def f(self, item):
            if isinstance(item, int):
                return self.fixed[item]
        """,
        """
        def f(self, item):
            if isinstance(item, (int, slice)):
                return self.fixed[item]
        """,
        {"error": "KeyError"},
    ),
    (
        "accepted_types",
        """
        def f(a):
            return isinstance(a, (int, bool))
        """,
        """
        def f(a):
            return isinstance(a, int)
        """,
        {},
    ),
    (
        "foreign_operand",
        """
        class Zone:
            def __eq__(self, other):
                'Equal by name.'
                return self.name == other.name
        """,
        """
        class Zone:
            def __eq__(self, other):
                'Equal by name.'
                if not isinstance(other, Zone):
                    return False
                return self.name == other.name
        """,
        {"error": "AttributeError"},
    ),
    (
        "converted_parameter",
        """
        class Key:
            pass

        def f(rows, key):
            return key in rows
        """,
        """
        class Key:
            pass

        def f(rows, key):
            if not isinstance(key, Key):
                key = Key(key)
            return key in rows
        """,
        {},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
