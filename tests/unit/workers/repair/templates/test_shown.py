"""The templates of `shown`: what the failing test shows is put where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "text_as_expected",
        """
        def f(name):
            return f"Hallo {name}!"
        """,
        """
        def f(name):
            return f"Hello {name}!"
        """,
        "assert 'Hallo Ann!' == 'Hello Ann!'",
        "",
    ),
    (
        "text_as_expected",
        """
        def f(name):
            return "no such file " + name
        """,
        """
        def f(name):
            return "no such file: " + name
        """,
        "'no such file a.txt' != 'no such file: a.txt'",
        "",
    ),
    (
        "shown_keyword",
        """
        def f(path):
            return opened(path, exists=True)
        """,
        """
        def f(path):
            return opened(path, exists=False)
        """,
        "",
        "called.assert_called_with('a', exists=False)",
    ),
    (
        "shown_keyword",
        """
        def f(path, **more):
            return opened(path, **more)
        """,
        """
        def f(path, **more):
            return opened(path, timeout=3, **more)
        """,
        "",
        "called.assert_called_with('a', timeout=3)",
    ),
    (
        "shown_element",
        """
        UNITS = ("day", "week")
        """,
        """
        UNITS = ("day", "week", "weekday")
        """,
        "",
        "assert f('weekday')",
    ),
    (
        "shown_element",
        """
        UNITS = ["day", "weak", "week"]
        """,
        """
        UNITS = ["day", "week"]
        """,
        "",
        "",
    ),
    (
        "string",
        """
        def f(name):
            raise ValueError("granulairty")
        """,
        """
        def f(name):
            raise ValueError("granularity")
        """,
        "",
        "assert raised == 'granularity'",
    ),
    (
        "number",
        """
        EXPIRES = 90
        """,
        """
        EXPIRES = 86400
        """,
        "",
        "assert expiry() == 86400",
    ),
    (
        "synthesised_condition",
        """
        def f(leaf):
            if leaf.type == "name":
                return 1
            return 0
        """,
        """
        def f(leaf):
            if leaf.type == "name" or leaf.type == "string":
                return 1
            return 0
        """,
        "",
        "assert f(Leaf('string'))",
    ),
    (
        "constant_for_variable",
        """
        DEFAULT = None
        def f(x=DEFAULT):
            return x
        """,
        """
        DEFAULT = "utf-8"
        def f(x=DEFAULT):
            return x
        """,
        "",
        "assert f() == 'utf-8'",
    ),
    (
        "constant_for_variable",
        """
        def mode(kind):
            return opened(kind, kind)
        """,
        """
        def mode(kind):
            return opened(kind, "rb")
        """,
        "",
        "called.assert_called_with('a', 'rb')",
    ),
    (
        "constant_for_variable",
        """
        def limit(n):
            return cut(n, n)
        """,
        """
        def limit(n):
            return cut(n, 25)
        """,
        "",
        "assert limit(3) == 25",
    ),
    (
        "shown_element",
        """
        class A:
            def key(self):
                return (self.name, self.size)
            def __init__(self, name, size, kind):
                self.name = name
                self.size = size
                self.kind = kind
        """,
        """
        class A:
            def key(self):
                return (self.name, self.size, self.kind)
            def __init__(self, name, size, kind):
                self.name = name
                self.size = size
                self.kind = kind
        """,
        "",
        "assert A(1,2,3).key() != A(1,2,4).key()",
    ),
    (
        "shown_element",
        """
        from x import A, B, C
        KINDS = (A, B)
        def f(v):
            return isinstance(v, KINDS)
        """,
        """
        from x import A, B, C
        KINDS = (A, B, C)
        def f(v):
            return isinstance(v, KINDS)
        """,
        "",
        "assert f(C())",
    ),
    (
        "missing_affix",
        """
        def f(parts):
            return ';'.join(parts)
        """,
        """
        def f(parts):
            return 'RRULE:' + ';'.join(parts)
        """,
        "assert 'a' == 'RRULE:a'",
        "assert f(['a']) == 'RRULE:a'",
    ),
    (
        "misspelt_word",
        """
        def f(name):
            raise ValueError(f"an atribute of {name} is not allowed")
        """,
        """
        def f(name):
            raise ValueError(f"an attribute of {name} is not allowed")
        """,
        "",
        "assert raised == 'an attribute of Ann is not allowed'",
    ),
    (
        "text_as_expected",
        """
        LABELS = (
            "Please sign "
            "the agreement"
            " today"
        )
        """,
        """
        LABELS = (
            "Please sign "
            "our terms"
            " today"
        )
        """,
        "assert 'Ann. Please sign the agreement today!' == 'Ann. Please sign our terms today!'",
        "",
    ),
    (
        "text_as_expected",
        """
        GUIDE = (
            "https://guide.example/committing/#titles"
        )
        """,
        """
        GUIDE = (
            "https://guide.example/start/first-steps/#names"
        )
        """,
        "assert 'https://guide.example/committing/#titles' == 'https://guide.example/start/first-steps/#names'",
        "",
    ),
    (
        "text_as_expected",
        """
        def match(output):
            return "Use 'brew upgrade" in output
        """,
        """
        def match(output):
            return "Use `brew upgrade" in output
        """,
        "assert False",
        "assert match('Error: already installed. Use `brew upgrade thing` to get it')",
    ),
    (
        "text_as_expected",
        """
        class Control:
            age = value("max-age", none="*")
        """,
        """
        class Control:
            age = value("max-age", none=-1)
        """,
        "assert '*' == -1",
        "",
    ),
    (
        "shown_attribute",
        """
        class Stamper:
            def __init__(self, key):
                self.key = key

        class Maybe:
            def __init__(self, key="time"):
                self.stamper = Stamper(key)

            def __call__(self, event):
                return "time" in event
        """,
        """
        class Stamper:
            def __init__(self, key):
                self.key = key

        class Maybe:
            def __init__(self, key="time"):
                self.stamper = Stamper(key)

            def __call__(self, event):
                return self.stamper.key in event
        """,
        "assert False",
        "assert Maybe(key='when')({'when': 1})",
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "message", "shown"), CASES)
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, message: str, shown: str
) -> None:
    """What the failing test or the message shows is what the edit brings in, to the letter."""
    test = f"def test_it():\n    {shown or 'pass'}\n"
    assert dedent(after).lstrip("\n") in edits(template, before, message=message, others={"tests/test_it.py": test})


def test_what_is_expected_is_not_simply_returned(edits: Callable[..., set[str]]) -> None:
    """Within a function an empty text, and one that is the whole operand, do not give way to quite another answer."""
    source = "def f(a):\n    if a:\n        return ''\n    return 'the way is long and hard'\n"
    assert not edits("text_as_expected", source, message="assert '' == 'done'")
    assert not edits("text_as_expected", source, message="assert 'the way is long and hard' == 'no answer to this one'")
    message = "assert 'the way is long and hard' == 'the Way was very long, and harder'"
    assert source.replace("the way is long and hard", "the Way was very long, and harder") in edits(
        "text_as_expected", source, message=message
    )
