"""The templates of `siblings`: what is like the line or argument before it follows it."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "forgotten_statement",
        """
        class Query:
            def text(self, **kwargs):
                kwargs.setdefault("quote", self.quote)
                return kwargs["dialect"]
        """,
        """
        class Query:
            def text(self, **kwargs):
                kwargs.setdefault("quote", self.quote)
                kwargs.setdefault("dialect", self.dialect)
                return kwargs["dialect"]
        """,
        "KeyError",
        "'dialect'",
        "",
    ),
    (
        "forgotten_statement",
        """
        class Served:
            def __init__(self, files, folder):
                self.files = files
        """,
        """
        class Served:
            def __init__(self, files, folder):
                self.files = files
                self.folder = folder
        """,
        "AttributeError",
        "'Served' object has no attribute 'folder'",
        "",
    ),
    (
        "forgotten_statement",
        """
        def begin(counts):
            counts["idle"] = 0
            return counts
        """,
        """
        def begin(counts):
            counts["idle"] = 0
            counts["busy"] = 0
            return counts
        """,
        "AssertionError",
        "",
        'assert begin({})["busy"] == 0',
    ),
    (
        "forgotten_argument",
        """
        def rewrite(text, *, strict=False, keep=False):
            return text if keep else text.strip()

        def main(args):
            return rewrite(args.text, strict=args.strict)
        """,
        """
        def rewrite(text, *, strict=False, keep=False):
            return text if keep else text.strip()

        def main(args):
            return rewrite(args.text, strict=args.strict, keep=args.keep)
        """,
        "AssertionError",
        "",
        "",
    ),
    (
        "forgotten_argument",
        """
        def insert(table, rows, silent, types):
            return table.insert(rows, silent=silent)
        """,
        """
        def insert(table, rows, silent, types):
            return table.insert(rows, silent=silent, types=types)
        """,
        "AssertionError",
        "",
        "",
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "error", "message", "shown"), CASES)
def test_what_is_like_its_sibling_is_put_behind_it(
    edits: Callable[..., set[str]], template: str, before: str, after: str, error: str, message: str, shown: str
) -> None:
    """The sibling that is missing is added by one of the template's edits, to the letter."""
    test = f"def test_it():\n    {shown or 'pass'}\n"
    found = edits(template, before, error=error, message=message, others={"tests/test_it.py": test})
    assert dedent(after).lstrip("\n") in found


def test_nothing_is_put_behind_what_has_no_sibling_to_name(edits: Callable[..., set[str]]) -> None:
    """Without a name that is spoken of elsewhere there is nothing to add."""
    before = """
        def add(rows, row):
            rows.append(row)
            return rows
        """
    assert not edits("forgotten_statement", before, others={"tests/test_it.py": "def test_it():\n    pass\n"})
