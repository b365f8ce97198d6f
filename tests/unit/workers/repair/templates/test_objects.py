"""Slips around classes and coroutines are put right."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "missing_super_init",
        """
        class Base:
            def __init__(self, name):
                self.name = name

        class Dog(Base):
            def __init__(self, name, age):
                self.age = age
        """,
        """
        class Base:
            def __init__(self, name):
                self.name = name

        class Dog(Base):
            def __init__(self, name, age):
                super().__init__(name)
                self.age = age
        """,
        {"error": "AttributeError", "message": "'Dog' object has no attribute 'name'"},
    ),
    (
        "missing_await",
        """
        async def read(x):
            return x

        async def both(x):
            return read(x) + 1
        """,
        """
        async def read(x):
            return x

        async def both(x):
            return await read(x) + 1
        """,
        {"error": "TypeError"},
    ),
    (
        "decorator_misuse",
        """
        class Disc:
            def area(self):
                return 3
        """,
        """
        class Disc:
            @property
            def area(self):
                return 3
        """,
        {"error": "TypeError"},
    ),
    (
        "coroutine_or_function",
        """
        def read(x):
            return x
        """,
        """
        async def read(x):
            return x
        """,
        {"error": "TypeError"},
    ),
    (
        "missing_initialisation",
        """
        class Job:
            def __init__(self, name):
                self.name = name

            def run(self, x):
                self.seen += 1
        """,
        """
        class Job:
            def __init__(self, name):
                self.name = name
                self.seen = 0

            def run(self, x):
                self.seen += 1
        """,
        {"error": "AttributeError", "message": "'Job' object has no attribute 'seen'"},
    ),
    (
        "missing_initialisation",
        """
        class Job:
            def __init__(self, name):
                self.name = name

            def run(self, x):
                self.seen.append(x)
        """,
        """
        class Job:
            def __init__(self, name):
                self.name = name
                self.seen = []

            def run(self, x):
                self.seen.append(x)
        """,
        {"error": "AttributeError", "message": "'Job' object has no attribute 'seen'"},
    ),
    (
        "missing_initialisation",
        """
        class Job:
            def __init__(self, name):
                self.name = name

            def run(self, x):
                self.seen[x] = 1
        """,
        """
        class Job:
            def __init__(self, name):
                self.name = name
                self.seen = {}

            def run(self, x):
                self.seen[x] = 1
        """,
        {"error": "AttributeError", "message": "'Job' object has no attribute 'seen'"},
    ),
]


@pytest.mark.parametrize(("template", "before", "after", "failure"), CASES, ids=[case[0] for case in CASES])
def test_the_right_edit_is_among_those_proposed(
    edits: Callable[..., set[str]], template: str, before: str, after: str, failure: dict[str, str]
) -> None:
    """A small bug of its kind is undone by one of the template's edits, to the letter."""
    assert dedent(after).lstrip("\n") in edits(template, before, **failure)
