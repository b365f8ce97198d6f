"""What tests and docstrings show of a function: the arguments it is called with, and the literals they speak of.

A failing test holds what the code lacks surprisingly often: the character, word or number that a condition forgot.
PAR (Kim et al. 2013) and TBar (Liu et al. 2019) draw literals from the code alone; DynaMoth (Durieux and Monperrus
2016) takes values from the test's run. Only single literals are taken, never a whole expected output.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_DOCTEST = re.compile(r"^\s*>>>\s*(.+)$", re.MULTILINE)
_INTEGER = re.compile(r"(?<![\w.])\d{1,6}(?![\w.]*\w)")
_WORD = re.compile(r"[A-Za-z][\w-]{2,}")
_ORDINALS = {"twice": "2", "half": "2", "double": "2", "first": "1", "second": "2", "third": "3", "three": "3"}
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """`calls` holds the literal arguments of each call that is shown; `numbers` and `words` are as written.

    `characters` are those of the literal strings, the rarest first: a letter says less than a bracket does.
    """

    calls: tuple[tuple[ast.expr, ...], ...] = ()
    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()
    characters: tuple[str, ...] = ()


@dataclass(slots=True)
class _Found:
    calls: list[tuple[ast.expr, ...]] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)


def examples_of(name: str, docstring: str, tests: Mapping[str, str]) -> Examples:
    """What the docstring and the texts of the tests show of the function `name`."""
    found = _Found()
    for line in _DOCTEST.findall(docstring):
        _collect(line, name, found)
    documented = [*_INTEGER.findall(docstring), *(n for word, n in _ORDINALS.items() if word in docstring.lower())]
    for text in tests.values():
        if name in text:
            _collect(text, name, found)
    counts: dict[str, int] = {}
    for letter in "".join(found.strings[:200]):
        counts[letter] = counts.get(letter, 0) + 1
    return Examples(
        calls=tuple(found.calls[:20]),
        numbers=tuple(dict.fromkeys((*documented, *found.numbers)))[:40],
        words=tuple(dict.fromkeys(_WORD.findall(docstring)))[:200],
        strings=tuple(dict.fromkeys(s for s in found.strings if len(s) <= _LONGEST and "\n" not in s))[:40],
        characters=tuple(sorted(counts, key=lambda c: (c.isalnum(), -counts[c])))[:16],
    )


def _collect(text: str, name: str, found: _Found) -> None:
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError, RecursionError):
        return
    names = {name, *_aliases(tree, name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) in names:
            found.calls.append(tuple(node.args))
        elif isinstance(node, ast.Constant):
            _literal(node.value, found)


def _literal(value: object, found: _Found) -> None:
    if isinstance(value, str):
        found.strings.append(value)
    elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1000:
        found.numbers.append(str(value))


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _aliases(tree: ast.Module, name: str) -> Iterator[str]:
    """Parameters of the test file's own functions that are handed the function itself."""
    own = {node.name: node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for node in ast.walk(tree):
        target = own.get(_called(node)) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and target is not None:
            for parameter, argument in zip(target.args.args, node.args, strict=False):
                if isinstance(argument, ast.Name) and argument.id == name:
                    yield parameter.arg
