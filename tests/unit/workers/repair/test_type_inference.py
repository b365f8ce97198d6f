"""Types of values, as far as a function's text tells."""

from __future__ import annotations

import ast

import pytest

from workers.repair.engines.search.project import examples_of
from workers.repair.engines.search.type_inference import InferredTypes, comparable, element

SOURCE = """
def f(rows: list[int], text: str, table: "dict[str, int]", other, flag=False):
    best = rows[0]
    found = []
    for i, row in enumerate(rows):
        best = max(best, row)
        found.append(row)
    letter = text[0]
    parts = text.split(",")
    for word in parts:
        size = len(word)
    return found
"""


def kinds(tests: str = "") -> InferredTypes:
    tree = ast.parse(SOURCE).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return InferredTypes(tree, examples_of("f", "", {"test_f.py": tests}), {})


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rows", "sequence number"),
        ("best", "number"),
        ("i", "number"),
        ("row", "number"),
        ("found", "sequence number"),
        ("letter", "text"),
        ("parts", "sequence text"),
        ("word", "text"),
        ("size + 1", "number"),
        ("table", "mapping text"),
        ("best < 3", "truth"),
        ("other", ""),
        ("not valid (", ""),
    ],
)
def test_a_kind_is_told_by_annotation_binding_and_use(code: str, kind: str) -> None:
    """Annotations, literals, builtins, loops and what is appended tell; what nothing tells of is unknown."""
    assert kinds().of_code(code) == kind


def test_a_call_in_a_test_tells_what_a_parameter_is() -> None:
    """An argument that is a literal gives its kind to the parameter."""
    assert kinds("assert f([1], 'a', {}, [['x']]) == []").of_code("other") == "sequence sequence text"


def test_text_is_made_of_text() -> None:
    """An element of a text is a text; of a number there is none."""
    assert (element("text"), element("sequence number"), element("number")) == ("text", "number", "")
    assert comparable("number", "")
    assert not comparable("number", "text")


def test_names_of_a_function_around_keep_their_kind() -> None:
    """What an inner function binds itself is its own; the rest is what the outer one made it."""
    inner = ast.parse("def g(a):\n    b = 1\n    return seen, a, b\n").body[0]
    assert isinstance(inner, ast.FunctionDef)
    kinds = InferredTypes(inner, examples_of("g", "", {}), {"seen": "set"})
    assert (kinds.of_code("seen"), kinds.of_code("b")) == ("set", "number")
