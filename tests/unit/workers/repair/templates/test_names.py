"""The templates of `names`: a small bug of each kind is undone."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from memory.model import Failure, Family
from workers.repair.candidates import Suspect
from workers.repair.engines.search.search import SearchSpace

CASES = [
    (
        "variable_misuse",
        """
        def f(a, b):
            first = a.pop()
            last = b.pop()
            return first + first
        """,
        """
        def f(a, b):
            first = a.pop()
            last = b.pop()
            return first + last
        """,
        {},
    ),
    (
        "variable_misuse",
        """
        def f(a, b):
            return a + bb
        """,
        """
        def f(a, b):
            return a + b
        """,
        {"error": "NameError", "message": "name 'bb' is not defined"},
    ),
    (
        "callable_misuse",
        """
        def to_cents(x):
            return x * 100

        def to_euros(x):
            return x / 100

        def shown(price):
            return to_euros(price)
        """,
        """
        def to_cents(x):
            return x * 100

        def to_euros(x):
            return x / 100

        def shown(price):
            return to_cents(price)
        """,
        {},
    ),
    (
        "callable_misuse",
        """
        def f(rows):
            for i, row in callable(rows):
                print(i, row)
        """,
        """
        def f(rows):
            for i, row in enumerate(rows):
                print(i, row)
        """,
        {"error": "TypeError"},
    ),
    (
        "callable_misuse",
        """
        def first(rows):
            return next(iter(rows))

        def f(rows):
            return len(iter(rows))
        """,
        """
        def first(rows):
            return next(iter(rows))

        def f(rows):
            return next(iter(rows))
        """,
        {"error": "TypeError"},
    ),
    (
        "misnamed_definition",
        """
        def parse_lin(text):
            return text.split()
        """,
        """
        def parse_line(text):
            return text.split()
        """,
        {"error": "ImportError", "message": "cannot import name 'parse_line' from 'it' (/x/it.py)"},
    ),
    (
        "attribute_misuse",
        """
        class Timed(Base):
            def __init__(self, size):
                Base.close(self, size)
        """,
        """
        class Timed(Base):
            def __init__(self, size):
                Base.__init__(self, size)
        """,
        {"error": "TypeError"},
    ),
    (
        "attribute_misuse",
        """
        class Table:
            def __init__(self):
                self._left, self._right = "+", "+"

            @property
            def right(self):
                return self._left or "+"
        """,
        """
        class Table:
            def __init__(self):
                self._left, self._right = "+", "+"

            @property
            def right(self):
                return self._right or "+"
        """,
        {},
    ),
    (
        "attribute_misuse",
        """
        def parts(ps, qs):
            return [p.real for p in ps], [q.get for q in qs]
        """,
        """
        def parts(ps, qs):
            return [p.real for p in ps], [q.real for q in qs]
        """,
        {"error": "AttributeError", "message": "'complex' object has no attribute 'get'"},
    ),
    (
        "attribute_misuse",
        """
        from kinds import tokens as T

        def f(t):
            return t.match(T.Punctuation, ",")

        def g(t):
            return t.match(T.Newline, ",")
        """,
        """
        from kinds import tokens as T

        def f(t):
            return t.match(T.Punctuation, ",")

        def g(t):
            return t.match(T.Punctuation, ",")
        """,
        {},
    ),
    (
        "attribute_misuse",
        """
        class Box:
            def __init__(self, w, h):
                self.width = w
                self.height = h

            def area(self):
                return self.width * self.width
        """,
        """
        class Box:
            def __init__(self, w, h):
                self.width = w
                self.height = h

            def area(self):
                return self.width * self.height
        """,
        {},
    ),
    (
        "attribute_misuse",
        """
        def f(a, b):
            a.lenght = b
            return a.length
        """,
        """
        def f(a, b):
            a.length = b
            return a.length
        """,
        {"error": "AttributeError", "message": "'A' object has no attribute 'length'"},
    ),
    (
        "attribute_misuse",
        """
        class Offer:
            def __init__(self, net):
                self.net = net

            @property
            def gross(self):
                return self.net * 1.2

        def f(offers):
            return [offer.net for offer in offers]
        """,
        """
        class Offer:
            def __init__(self, net):
                self.net = net

            @property
            def gross(self):
                return self.net * 1.2

        def f(offers):
            return [offer.gross for offer in offers]
        """,
        {},
    ),
    (
        "attribute_misuse",
        """
        class Bag:
            kilos = 1
            price = 2

        def f(it):
            return it.kilos
        """,
        """
        class Bag:
            kilos = 1
            price = 2

        def f(it):
            return it.price
        """,
        {},
    ),
    (
        "method_misuse",
        """
        def f(a, b):
            a.append(b)
            return a
        """,
        """
        def f(a, b):
            a.extend(b)
            return a
        """,
        {},
    ),
    (
        "missing_self",
        """
        class Till:
            def __init__(self):
                self.coins = []

            def put(self, coin):
                coins.append(coin)
        """,
        """
        class Till:
            def __init__(self):
                self.coins = []

            def put(self, coin):
                self.coins.append(coin)
        """,
        {"error": "NameError", "message": "name 'coins' is not defined"},
    ),
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
    (
        "attribute_hop",
        """
        class Shop:
            def open(self):
                self.settings.currency.strip()

            def price(self, item):
                return item.price, self.currency
        """,
        """
        class Shop:
            def open(self):
                self.settings.currency.strip()

            def price(self, item):
                return item.price, self.settings.currency
        """,
        {"error": "AttributeError", "message": "'Shop' object has no attribute 'currency'"},
    ),
    (
        "attribute_hop",
        """
        def size(shop):
            return shop.stock.size
        """,
        """
        def size(shop):
            return shop.size
        """,
        {},
    ),
    (
        "loop_variable",
        """
        def total(rows):
            found = 0
            for line in rows:
                found += row
            return found
        """,
        """
        def total(rows):
            found = 0
            for row in rows:
                found += row
            return found
        """,
        {"error": "NameError", "message": "name 'row' is not defined"},
    ),
    (
        "variable_misuse",
        """
        def wrapped(function, limit):
            def inner(count):
                return function(count)
            return inner
        """,
        """
        def wrapped(function, limit):
            def inner(count):
                return function(limit)
            return inner
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


def test_no_method_is_asked_for_its_truth(edits: Callable[..., set[str]]) -> None:
    """What is not called is always true: neither a method nor a function replaces a value in a condition; a property may."""
    source = dedent(
        """
        class Mark:
            def __init__(self):
                self.closing = True

            def closes(self):
                return self.closing

            @property
            def closed(self):
                return True

            def ready(self):
                if not self.closing:
                    return self.closing
                return self.closes()
        """
    ).lstrip("\n")
    found = edits("attribute_misuse", source)
    assert source.replace("if not self.closing", "if not self.closed") in found
    assert source.replace("return self.closing\n        return", "return self.closes\n        return") in found
    assert source.replace("if not self.closing", "if not self.closes") not in found
    asked = "def ready():\n    return 1\n\ndef f(a):\n    return not ready()\n"
    assert asked.replace("not ready()", "not ready") not in edits("unwrapped_call", asked)


def test_a_value_called_like_a_method_may_be_asked_for_its_truth(edits: Callable[..., set[str]]) -> None:
    """A parameter that has the name of some class's method is a value, and what an expression gives is not asked."""
    source = "class A:\n    def ready(self):\n        return 1\n\ndef f(read, ready):\n    if read:\n        return 1\n"
    assert source.replace("if read:", "if ready:") in edits("variable_misuse", source)


def test_a_method_speaks_of_its_own_class_as_that_of_its_object(edits: Callable[..., set[str]]) -> None:
    """A class that is named in its own method becomes the object's; `super` and other classes keep their names."""
    lines = ("copied = Row(self.cells)", "super(Row, self).close()", "return Table(copied)")
    source = "class Row:\n    def copy(self):\n" + "".join(f"        {line}\n" for line in lines)
    assert edits("own_class", source) == {source.replace("Row(self", "type(self)(self")}
    made = "class Row:\n    @classmethod\n    def read(cls, text):\n        return Row(text)\n"
    assert edits("own_class", made) == {made.replace("Row(text)", "cls(text)")}


def test_what_a_module_says_of_itself_is_no_value_of_its_code(edits: Callable[..., set[str]]) -> None:
    """`__all__` takes no variable's place; a private name does."""
    source = "__all__ = ['f']\n__known = 'abc'\n\ndef f(text):\n    return '/' in text\n"
    found = edits("variable_misuse", source)
    assert source.replace("in text", "in __known") in found
    assert source.replace("in text", "in __all__") not in found


def test_what_an_imported_module_of_the_project_defines_is_known(edits: Callable[..., set[str]]) -> None:
    """`uri.quote` becomes `uri.quote_value`, which nothing else in the module names, also where a package holds `uri`."""
    source = "from web.util import uri\n\n\ndef shown(name):\n    return uri.quote(name)\n"
    others = {"web/util/uri.py": "def quote(text):\n    return text\n\n\nquote_value = quote\n"}
    assert source.replace("uri.quote", "uri.quote_value") in edits("attribute_misuse", source, others=others)


def test_the_function_that_makes_the_argument_comes_last() -> None:
    """`g(g(x))` is seldom meant in the place of `f(g(x))`."""
    source = "".join(f"def {name}(x):\n    return x\n\n" for name in ("escape", "strip", "quote"))
    source += "def f(x):\n    return escape(strip(x))\n"
    failure = Failure(error_type="AssertionError", family=Family.ASSERTION, message="", frames=(), failing_tests=("t",))
    suspect = Suspect(path="a.py", line=source.count("\n"), score=1.0)
    texts = [
        each.source
        for each in SearchSpace(sources={"a.py": source}, suspects=[suspect], failure=failure).proposed(("names",))
    ]
    meant, doubled = (texts.index(source.replace("escape(strip", f"{name}(strip")) for name in ("quote", "strip"))
    assert meant < doubled
