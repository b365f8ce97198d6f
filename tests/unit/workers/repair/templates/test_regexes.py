"""Regular expressions are put right by a detail."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "regex_detail",
        r"""
        import re

        def f(text):
            return re.match(r'^%s$' % text)
        """,
        r"""
        import re

        def f(text):
            return re.match(r'\A%s\Z' % text)
        """,
        {},
    ),
    (
        "regex_detail",
        r"""
        import re

        DOTTED = re.compile(r"\w+.\w+")
        """,
        r"""
        import re

        DOTTED = re.compile(r"\w+\.\w+")
        """,
        {},
    ),
    (
        "regex_detail",
        r"""
        import re

        def f(text):
            return re.sub("[0-9]*", "", text)
        """,
        r"""
        import re

        def f(text):
            return re.sub(r"[0-9]+", "", text)
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
