"""What runs in the project's interpreter is written for the oldest one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.repair.running import in_sandbox

MODULES = sorted(Path(in_sandbox.__file__).parent.glob("*.py"))
BUILT_IN = frozenset({"list", "dict", "tuple", "set", "frozenset", "type"})


def evaluated(tree: ast.Module) -> Iterator[ast.expr]:
    """What is evaluated when the module is imported: values and bases, but no annotation."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            yield statement.value
        if isinstance(statement, ast.ClassDef):
            yield from statement.bases
            yield from (part.value for part in statement.body if isinstance(part, ast.Assign))


def subscripted(tree: ast.Module) -> list[str]:
    """Generic types of 3.9 that importing the module would subscript."""
    abstract = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("collections")
        for alias in node.names
    }
    return [
        node.value.id
        for value in evaluated(tree)
        for node in ast.walk(value)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in BUILT_IN | abstract
    ]


@pytest.mark.parametrize("module", MODULES, ids=[module.stem for module in MODULES])
def test_it_parses_and_imports_with_python_3_8(module: Path) -> None:
    """No syntax of later versions, and no type that could not be subscripted then."""
    tree = ast.parse(module.read_text(encoding="utf-8"), feature_version=(3, 8))
    assert subscripted(tree) == []


def test_a_subscripted_type_would_be_found() -> None:
    """In an alias and in a base, and not in an annotation."""
    text = "from collections.abc import Callable\nA = Callable[[], bool]\nclass B(dict[str, int]): pass\ndef f(x: list[int]): pass\n"
    assert subscripted(ast.parse(text)) == ["Callable", "dict"]
