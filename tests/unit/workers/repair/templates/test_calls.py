"""The templates of `calls`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

CASES = [
    (
        "swapped_arguments",
        """
        def f(a, b):
            return divmod(b, a)
        """,
        """
        def f(a, b):
            return divmod(a, b)
        """,
        {},
    ),
    (
        "superfluous_argument",
        """
        def f(a, b):
            return round(a, b)
        """,
        """
        def f(a, b):
            return round(a)
        """,
        {},
    ),
    (
        "superfluous_argument",
        """
        class Point:
            def __copy__(self):
                new = object.__new__(Point)
                new.__setstate__(self, self.__getstate__())
                return new
        """,
        """
        class Point:
            def __copy__(self):
                new = object.__new__(Point)
                new.__setstate__(self.__getstate__())
                return new
        """,
        {"error": "TypeError", "message": "Point.__setstate__() takes 2 positional arguments but 3 were given"},
    ),
    (
        "misnamed_keyword",
        """
        def draw(colour, *, size=1, **options):
            return colour * size

        def shown():
            return draw("a", sise=2)
        """,
        """
        def draw(colour, *, size=1, **options):
            return colour * size

        def shown():
            return draw("a", size=2)
        """,
        {},
    ),
    (
        "missing_argument",
        """
        def area(width, height):
            return width * height

        def room(width, height):
            return area(width)
        """,
        """
        def area(width, height):
            return width * height

        def room(width, height):
            return area(width, height)
        """,
        {"error": "TypeError", "message": "area() missing 1 required positional argument: 'height'"},
    ),
    (
        "missing_argument",
        """
        def values(finder, paths, **options):
            return [finder.find(path).all() for path in paths]
        """,
        """
        def values(finder, paths, **options):
            return [finder.find(path, **options).all() for path in paths]
        """,
        {},
    ),
    (
        "misnamed_parameter",
        """
        def draw(color, size):
            return color * size
        """,
        """
        def draw(colour, size):
            return colour * size
        """,
        {"error": "TypeError", "message": "draw() got an unexpected keyword argument 'colour'"},
    ),
    (
        "missing_parameter",
        """
        class Door:
            def open():
                return True
        """,
        """
        class Door:
            def open(self):
                return True
        """,
        {"error": "TypeError", "message": "Door.open() takes 0 positional arguments but 1 was given"},
    ),
    (
        "unwrapped_call",
        """
        def f(a, b):
            return sorted(a) + b
        """,
        """
        def f(a, b):
            return a + b
        """,
        {},
    ),
    (
        "misplaced_arguments",
        """
        def box(width, height, depth):
            return width + height * depth

        def shown(width, height, depth):
            return box(height, depth, height)
        """,
        """
        def box(width, height, depth):
            return width + height * depth

        def shown(width, height, depth):
            return box(width, height, depth)
        """,
        {},
    ),
    (
        "misplaced_arguments",
        """
        Span = collections.namedtuple("Span", ["start", "end"])

        def shift(span, by):
            start = span.start + by
            end = span.end + by
            return Span(end, end)
        """,
        """
        Span = collections.namedtuple("Span", ["start", "end"])

        def shift(span, by):
            start = span.start + by
            end = span.end + by
            return Span(start, end)
        """,
        {},
    ),
    (
        "misplaced_arguments",
        """
        class Report:
            def note(self, path, line, text):
                print(path, line, text)

        def told(report, path, error):
            report.note(report, error.args[0], error.line)
        """,
        """
        class Report:
            def note(self, path, line, text):
                print(path, line, text)

        def told(report, path, error):
            report.note(path, error.line, error.args[0])
        """,
        {},
    ),
    (
        "misplaced_arguments",
        """
        def f(name, mode, encoding):
            return open(name, mode, encoding=mode)
        """,
        """
        def f(name, mode, encoding):
            return open(name, mode, encoding=encoding)
        """,
        {},
    ),
    (
        "misplaced_arguments",
        """
        class Point:
            def __init__(self, x, y):
                self.x, self.y = x, y

            def moved(self, x, y):
                return type(self)(y, y) if x else self

            @classmethod
            def at(cls, x, y):
                return cls(y, y)
        """,
        """
        class Point:
            def __init__(self, x, y):
                self.x, self.y = x, y

            def moved(self, x, y):
                return type(self)(y, y) if x else self

            @classmethod
            def at(cls, x, y):
                return cls(x, y)
        """,
        {},
    ),
    (
        "arguments_of_like_call",
        """
        def f(put, a, b):
            put(a, b, 1)

        def g(put, a, b):
            put(b, b, a)
        """,
        """
        def f(put, a, b):
            put(a, b, 1)

        def g(put, a, b):
            put(a, b, 1)
        """,
        {},
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
    (
        "missing_default",
        """
        def f(d, k):
            return d.get(k).strip()
        """,
        """
        def f(d, k):
            return d.get(k, "").strip()
        """,
        {"error": "AttributeError"},
    ),
    (
        "missing_default",
        """
        def f(a):
            return getattr(a, "zone")
        """,
        """
        def f(a):
            return getattr(a, "zone", None)
        """,
        {"error": "AttributeError"},
    ),
    (
        "swapped_arguments",
        """
        def f(a, b, c):
            return g(c, a, b)
        """,
        """
        def f(a, b, c):
            return g(a, b, c)
        """,
        {},
    ),
    (
        "asynchronous_definition",
        """
        def handler(request):
            return request

        async def run(request):
            return await handler(request)
        """,
        """
        async def handler(request):
            return request

        async def run(request):
            return await handler(request)
        """,
        {},
    ),
    (
        "asynchronous_definition",
        """
        async def handler(request):
            return request
        """,
        """
        def handler(request):
            return request
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


@pytest.mark.parametrize(
    ("call", "swapped"),
    [
        ("split(parts, sep, most)", {"split(sep, parts, most)", "split(most, sep, parts)"}),
        ("split(parts, most, sep)", {"split(parts, sep, most)"}),
        ("split(src, sep=sep, most=most)", set()),
        ("split(src, sep=most, most=sep)", {"split(src, sep=sep, most=most)"}),
    ],
)
def test_arguments_that_are_called_like_their_parameters_are_not_swapped(
    edits: Callable[..., set[str]], call: str, swapped: set[str]
) -> None:
    """A test that does not tell them apart would accept it."""
    module = "def split(src, sep, most):\n    return src\n\n\ndef f(src, parts, sep, most):\n    return {}\n"
    found = {each.rpartition("return ")[2].strip() for each in edits("swapped_arguments", module.format(call))}
    assert swapped <= found
    assert "split(parts, most, sep)" not in found or call == "split(parts, most, sep)"
    assert bool(found) == bool(swapped)


def test_the_called_is_known_from_other_modules(edits: Callable[..., set[str]]) -> None:
    """A function of another module of the project tells the names of its parameters as well."""
    other = {"shapes.py": "def box(width, height):\n    return width * height\n"}
    found = edits("misplaced_arguments", "def f(width, height):\n    return box(height, height)\n", others=other)
    assert "def f(width, height):\n    return box(width, height)\n" in found
