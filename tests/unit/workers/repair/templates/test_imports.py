"""Missing and wrong imports are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "missing_import",
        """
        # A module.

        from __future__ import annotations

        def root(x):
            return math.sqrt(x)
        """,
        """
        # A module.

        from __future__ import annotations

        import math

        def root(x):
            return math.sqrt(x)
        """,
        {"error": "NameError", "message": "name 'math' is not defined"},
    ),
    (
        "missing_import",
        """
        def count(words):
            return Counter(words)
        """,
        """
        from collections import Counter


        def count(words):
            return Counter(words)
        """,
        {"error": "NameError", "message": "name 'Counter' is not defined"},
    ),
    (
        "missing_import",
        """
        def price(x):
            return with_tax(x)
        """,
        """
        from shop.tax import with_tax


        def price(x):
            return with_tax(x)
        """,
        {
            "error": "NameError",
            "message": "name 'with_tax' is not defined",
            "others": {"src/shop/tax.py": "def with_tax(x):\n    return x\n"},
        },
    ),
    (
        "missing_qualifier",
        """
        import math

        def root(x):
            return sqrt(x)
        """,
        """
        import math

        def root(x):
            return math.sqrt(x)
        """,
        {"error": "NameError", "message": "name 'sqrt' is not defined"},
    ),
    (
        "imported_name",
        """
        from shop.tax import wth_tax
        """,
        """
        from shop.tax import with_tax
        """,
        {"error": "ImportError", "others": {"shop/tax.py": "def with_tax(x):\n    return x\n"}},
    ),
    (
        "imported_from",
        """
        from shop.till import with_tax
        """,
        """
        from shop.tax import with_tax
        """,
        {"error": "ImportError", "others": {"shop/tax.py": "def with_tax(x):\n    return x\n"}},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
