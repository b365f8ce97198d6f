"""What added code uses that has no place in a repair: ways to the interpreter, the test framework or the report. Pure.

This reads names and proves nothing. It turns a proof into a question. The names are in unusual_names.toml.
"""

from __future__ import annotations

import ast
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

_LISTED = tomllib.loads(Path(__file__).with_name("unusual_names.toml").read_text(encoding="utf-8"))
MODULES, NAMES, ATTRIBUTES = (frozenset(_LISTED[key].split()) for key in ("modules", "names", "attributes"))
PLAIN_SYS = frozenset(_LISTED["plain_sys"].split())
OF_MODULE = {module: frozenset(names.split()) for module, names in _LISTED["of_module"].items()}

UTF_8 = ("utf-8", "utf-8-sig")
COMPARISONS = frozenset(
    f"__{name}__" for name in ("bool", "class", "eq", "ge", "getattribute", "gt", "instancecheck", "le", "lt", "ne")
)
BUILTIN_TYPES = frozenset(
    {"bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
)

TEXTS = re.compile(r"/proc\b|pytest|apprentice|conftest|entry_points|__\w+__|\btest_\w|_test\.py\b", re.IGNORECASE)
"""In a string: files of processes, the test framework, tests, and attributes that are reached by their name."""


def unusual(before: bytes, after: bytes) -> tuple[str, ...]:
    """What a module uses more often than before, in words; empty for a plain edit. `before` is empty for a new module."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(after).readline)
        old, new = (Counter(_Usage(ast.parse(text)).all()) for text in (before, after))
    except (SyntaxError, ValueError, RecursionError):
        return ("code that cannot be read",)
    return tuple(sorted(new - old)) if encoding in UTF_8 else (f"code in the encoding {encoding}",)


class _Usage:
    """What one module uses, in words; the same words as often as it is used."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        imports = [node for node in self._nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
        self._imported = {alias.asname or alias.name for node in imports for alias in node.names}
        aliases = [alias for node in imports if isinstance(node, ast.Import) for alias in node.names]
        self._modules = {alias.asname or alias.name: alias.name for alias in aliases}
        self._called = {id(node.func) for node in self._nodes if isinstance(node, ast.Call)}

    def all(self) -> Iterator[str]:
        """Everything that is unusual."""
        for node in self._nodes:
            yield from self._imports(node)
            yield from self._names(node)
            yield from self._definitions(node)
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, (str, bytes))
                and TEXTS.search(str(node.value))
            ):
                yield f"the text {node.value!r:.60}"

    def _imports(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Import(names=names):
                yield from (f"import {alias.name}" for alias in names if _is_odd_module(alias.name))
            case ast.ImportFrom(module=module, names=names):
                odd = ATTRIBUTES | OF_MODULE.get(module or "", frozenset())
                if module == "sys":
                    odd |= {each.name for each in names} - PLAIN_SYS
                found = (each.name for each in names if each.name in odd or _is_odd_module(f"{module}.{each.name}"))
                yield from (f"from {module or '.'} import {name}" for name in found)

    def _names(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Name(id=name) if name in NAMES or (name == "getattr" and id(node) not in self._called):
                yield name
            case ast.Call(func=ast.Name(id="getattr"), args=[_, key, *_]):
                if not isinstance(key, ast.Constant) or key.value in ATTRIBUTES:
                    yield "getattr of an unusual name"
            case ast.Attribute(value=ast.Name(id=owner), ctx=ast.Store() | ast.Del()) if owner in self._imported:
                yield f"a change of {owner}, which is imported"
            case ast.Attribute(value=owner, attr=name):
                module = self._modules.get(owner.id, "") if isinstance(owner, ast.Name) else ""
                known = ATTRIBUTES | MODULES | {"os", "sys"} | OF_MODULE.get(module, frozenset())
                if name in known or (module == "sys" and name not in PLAIN_SYS):
                    yield f"{module}.{name}" if module else name

    def _definitions(self, node: ast.AST) -> Iterator[str]:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.Name(id=name, ctx=ast.Store())
            ):
                if name in COMPARISONS:
                    yield f"a comparison of its own, {name}"
            case ast.keyword(arg="metaclass"):
                yield "a metaclass"


def _is_odd_module(name: str) -> bool:
    parts = name.split(".")
    return not MODULES.isdisjoint(parts) or any(part in ("test", "tests") or part.startswith("test_") for part in parts)
