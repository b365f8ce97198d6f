"""No text can hold a pattern of the product for long: the work of every pattern grows with the text, not with its square."""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, TypeVar

import pytest

from tests.unit.test_house import modules

T = TypeVar("T")
Parts = Sequence[tuple[Any, Any]]
"""What the standard library's parser of patterns makes of one: codes and their values."""
Search = Callable[["re.Pattern[Any]", Any], object]

SIZE, FACTOR = 6_000, 4
"""Characters of a text, and how many times as long the other one is that it is compared with."""

NOTICED = 0.004
"""Seconds of processor time below which a search is not compared: 6,000 characters take a linear pattern far less."""

STEEPEST = 9.0
"""Four times the text may cost so many times as much: 4 is linear, 16 quadratic."""

METHODS: dict[str, Search] = {
    "search": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
}
EVERYWHERE = ("search", "finditer", "findall", "sub", "subn", "split")


# ── The patterns of the product, and how each is used ──────────────────────────────────────────────────────────────


def held(value: object) -> Iterator[re.Pattern[Any]]:
    """The patterns in a module's attribute, also within tuples, lists and mappings."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from held(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from held(each)


@cache
def calls() -> dict[str, frozenset[str]]:
    """The methods that the product calls on each name, `_NAME.match(…)`."""
    found: dict[str, set[str]] = {}
    for _, path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                for name in ast.walk(node.value):
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, set()).add(node.attr)
    return {name: frozenset(methods) for name, methods in found.items()}


def written(tree: ast.AST) -> Iterator[tuple[re.Pattern[Any], str]]:
    """The patterns in calls such as `re.search("…", text)`, with the method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            first, called = node.args[0], node.func
            is_re = isinstance(called.value, ast.Name) and called.value.id == "re"
            if is_re and called.attr != "compile" and isinstance(first, ast.Constant):
                yield re.compile(first.value), called.attr


def patterns(name: str) -> Iterator[tuple[re.Pattern[Any], frozenset[str]]]:
    """The patterns of a module, each with the ways in which it is used: "search", "match" or "fullmatch"."""
    module = importlib.import_module(name)
    for key, value in vars(module).items():
        for pattern in held(value):
            used = calls().get(key, frozenset()) & {*EVERYWHERE, "match", "fullmatch"} or {"search"}
            yield pattern, frozenset("search" if each in EVERYWHERE else each for each in used)
    for pattern, method in written(ast.parse(dict(modules())[name].read_text())):
        yield pattern, frozenset({"search" if method in EVERYWHERE else method})


# ── Hostile texts, from the pattern's own parts ────────────────────────────────────────────────────────────────────


def example(parts: Parts) -> str:
    """A text that the parts of a pattern match, as far as one can tell without groups that refer back."""
    return "".join(map(_example, parts))


def _example(part: tuple[Any, Any]) -> str:
    code, value = part
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.IN:
        return next(_letters(value), "")
    if code in (codes.ANY, codes.NOT_LITERAL):
        return "a"
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return example(value[2]) * max(1, min(value[0], 80))
    if code is codes.SUBPATTERN:
        return example(value[3])
    if code is codes.ATOMIC_GROUP:
        return example(value)
    if code is codes.BRANCH:
        return example(value[1][0])
    return ""


CATEGORIES = {
    codes.CATEGORY_DIGIT: "7",
    codes.CATEGORY_SPACE: " \n",
    codes.CATEGORY_WORD: "w",
    codes.CATEGORY_NOT_SPACE: "s",
    codes.CATEGORY_NOT_WORD: "-",
    codes.CATEGORY_NOT_DIGIT: "d",
}


def _letters(members: Parts) -> Iterator[str]:
    """Some characters of a class."""
    excluded = {value for code, value in members if code is codes.LITERAL} if members[0][0] is codes.NEGATE else set()
    if members[0][0] is codes.NEGATE:
        yield from (letter for letter in "a /-" if ord(letter) not in excluded)
        return
    for code, value in members:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.RANGE:
            yield chr(value[0])
        elif code is codes.CATEGORY:
            yield from CATEGORIES[value]


def _below(parts: Parts, before: str = "") -> Iterator[tuple[str, Parts]]:
    """Every sequence of parts, with a text that leads to it."""
    yield before, parts
    for at, (code, value) in enumerate(parts):
        so_far = before + example(parts[:at])
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield from _below(value[2], so_far)
        elif code is codes.SUBPATTERN:
            yield from _below(value[3], so_far)
        elif code is codes.ATOMIC_GROUP:
            yield from _below(value, so_far)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _below(value[1], so_far)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _below(branch, so_far)


def units(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """What a hostile text begins with, and what it repeats: beginnings of matches, and letters of classes, alone and in pairs."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    letters: dict[str, None] = {}
    for before, parts in _below(_parser.parse(source, pattern.flags & ~re.UNICODE)):
        for at in range(1, len(parts) + 1):
            yield "", before + example(parts[:at])
            yield before, example(parts[:at])
            yield before + example(parts[: at - 1]), example(parts[at - 1 : at])
        for code, value in parts:
            if code is codes.IN:
                letters |= dict.fromkeys(_letters(value))
            elif code is codes.LITERAL:
                letters |= {chr(value): None}
            elif code is codes.ANY:
                letters |= dict.fromkeys("a ")
    few = list(letters)[:12]
    yield from (("", letter) for letter in letters)
    yield from (("", "".join(pair)) for pair in product(few, repeat=2))
    head = _parser.parse(source, pattern.flags & ~re.UNICODE)[:8]
    yield from (("", f"{letter}{example(head[:size])}") for letter in few for size in range(1, len(head) + 1))


def cost(use: Callable[[T], object], text: T) -> float:
    """Seconds of processor time."""
    began = time.process_time()
    use(text)
    return time.process_time() - began


def grows(use: Callable[[T], object], made: Callable[[int], T], size: int = SIZE) -> bool:
    """Whether the cost of a text grows faster than its size, three times out of three."""
    text = made(size)
    if (after := cost(use, text)) < NOTICED:
        return False
    shorter = made(size // FACTOR)
    for _ in range(3):
        after, before = min(after, cost(use, text)), cost(use, shorter)
        if after < STEEPEST * before or after < NOTICED:
            return False
    return True


def texts(pattern: re.Pattern[Any]) -> Iterator[tuple[str, Callable[[int], str | bytes]]]:
    """Texts of any size, with a name for each."""
    for before, unit in dict.fromkeys(units(pattern)):
        if unit:

            def made(size: int, before: str = before, unit: str = unit) -> str | bytes:
                text = f"{before}{unit * (size // len(unit))}\x07!"
                return text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")

            yield f"{before!r} + {unit!r} × n", made


def faults(pattern: re.Pattern[Any], methods: Sequence[str]) -> Iterator[str]:
    for method in methods:
        for name, made in texts(pattern):
            if grows(partial(METHODS[method], pattern), made):
                yield f"{method} of {pattern.pattern!r} with {name}"
                break


HOLDING = [name for name, path in modules() if "import re\n" in path.read_text()]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in HOLDING if any(patterns(name))])
def test_patterns_are_linear(name: str) -> None:
    """Whatever text a pattern of this module meets, its cost grows with the text's length."""
    assert [fault for pattern, methods in patterns(name) for fault in faults(pattern, sorted(methods))] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile", [r"\s+$", r"[a-z.]+:", r"\beyJ[\w-]+\.eyJ", r"<a>.*?</a>", r"^(`{3,})\w*\s*\n(.*?)^\1"]
)
def test_a_hostile_pattern_is_found(hostile: str) -> None:
    """The texts are hostile enough: they find patterns that are known to be quadratic or worse."""
    assert list(faults(re.compile(hostile, re.MULTILINE | re.DOTALL), ["search"]))
