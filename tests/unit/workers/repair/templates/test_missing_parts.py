"""The templates of `missing_parts`: the part or the default that is missing is put there."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from workers.repair.engines.search.templates.missing_parts import negated

CASES = [
    (
        "extended_condition",
        """
        def f(a, b):
            if a > 3:
                return a
            return b
        """,
        """
        def f(a, b):
            if a > 3 and b is not None:
                return a
            return b
        """,
        "",
    ),
    (
        "extended_condition",
        """
        def f(key):
            if " " in key:
                raise ValueError(key)
            return key
        """,
        """
        def f(key):
            if " " in key or "\\t" in key:
                raise ValueError(key)
            return key
        """,
        "f('a\\tb')",
    ),
    (
        "extended_condition",
        """
        import levels

        def f(meta, found):
            if hasattr(meta, "level"):
                found["high"] = meta.level == levels.HIGH
            return found
        """,
        """
        import levels

        def f(meta, found):
            if hasattr(meta, "level") and meta.level != levels.UNSET:
                found["high"] = meta.level == levels.HIGH
            return found
        """,
        "f(Meta(level=levels.UNSET), {})",
    ),
    (
        "extended_condition",
        """
        def f(text):
            return text[0] == "0"
        """,
        """
        def f(text):
            return len(text) > 1 and text[0] == "0"
        """,
        "",
    ),
    (
        "extended_condition",
        """
        def f(value, found):
            if found and value == "yes":
                return True
            return False
        """,
        """
        def f(value, found):
            if found and (value == "yes" or value == "on"):
                return True
            return False
        """,
        "f('on', True)",
    ),
    (
        "extended_condition",
        """
        def f(value):
            if not value.startswith("a"):
                return value
        """,
        """
        def f(value):
            if not value.startswith("a") and not value.startswith("b"):
                return value
        """,
        "f('b')",
    ),
    (
        "extended_condition",
        """
        def f(a, b, seen):
            if a if b else seen:
                return a
            return b
        """,
        """
        def f(a, b, seen):
            if (a if b else seen) or b is None:
                return a
            return b
        """,
        "",
    ),
    (
        "extended_condition",
        """
        def f(key):
            if key == "ab":
                return 1
            return 2
        """,
        """
        def f(key):
            if key == "ab" or key == 'a"\\n':
                return 1
            return 2
        """,
        "f('a\"\\n')",
    ),
    (
        "value_or_default",
        """
        def f(given, known):
            return given or known
        """,
        """
        def f(given, known):
            return given if given is not None else known
        """,
        "",
    ),
    (
        "value_or_default",
        """
        def f(event):
            body = event["body"]
            return body
        """,
        """
        def f(event):
            body = event["body"] or ""
            return body
        """,
        "",
    ),
    (
        "value_or_default",
        """
        def f(rows):
            return max(rows)
        """,
        """
        def f(rows):
            return max(rows) if rows else 0
        """,
        "",
    ),
    (
        "value_or_default",
        """
        def f(version):
            return int(version.split(".")[1])
        """,
        """
        def f(version):
            return int(version.split(".")[1]) if "." in version else 0
        """,
        "",
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "shown"), CASES)
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, shown: str
) -> None:
    """What is missing is added by one of the template's edits, to the letter."""
    test = f"def test_it():\n    {shown or 'pass'}\n"
    assert dedent(after).lstrip("\n") in edits(template, before, others={"tests/test_it.py": test})


@pytest.mark.parametrize(
    ("code", "opposite"),
    [
        ("a == b", "a != b"),
        ("key not in rows", "key in rows"),
        ("len(rows) > 1", "len(rows) <= 1"),
        ("not found", "found"),
        ("a < b < c", "not a < b < c"),
        ("a or b", "not (a or b)"),
        ("(a) == b", "not (a) == b"),
        ("name == 'é'", "not name == 'é'"),
    ],
)
def test_a_condition_s_opposite_is_written_as_people_write_it(code: str, opposite: str) -> None:
    """By the other operator where there is one."""
    assert negated(code) == opposite
