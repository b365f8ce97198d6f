"""What a failure shows of the fix: literals and names of the failing tests, and how the actual value differs from the expected.

A fix's ingredients are mostly in the failing test or its message (SemFix, Nguyen et al. 2013; the value sets of
DynaMoth, Durieux and Monperrus 2016): a number, a flag, a keyword argument, a part of a text.
"""

import ast
import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from memory.model import Failure
from memory.parsing import parsed
from memory.skills import EVERYWHERE
from workers.repair.classify import clues_of
from workers.repair.engines.search.scope import defined
from workers.repair.outline import FunctionNode

MAX_TESTS, MAX_SHOWN, LONGEST = 6, 60, 200
"""How many failing tests are read, how many literals of a kind are kept, and of how many characters at most."""

_WORD = re.compile(r"[^\W\d]\w*|\d+")
_DIFFERING = re.compile(r"^(?:[\w ]+ differ: )?(.+?) != (.+?)(?: : .*)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChange:
    """Of a text that is not as expected: `actual` between `before` and `behind`, in place of `expected`."""

    before: str
    actual: str
    expected: str
    behind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the failing tests and the message show. Numbers and keyword arguments are as written, strings are values.

    `words` are all names, numbers and words of strings, `named` those that the message speaks of as missing or wrong;
    `pairs` are what assertions compare, `texts` the strings, long ones too; `by_one` says that a number, or a length, is
    off by one.
    """

    numbers: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    changes: tuple[TextChange, ...] = ()
    pairs: tuple[tuple[object, object], ...] = ()
    texts: tuple[str, ...] = ()
    by_one: bool = False

    def instead_of(self, value: object) -> Iterator[object]:
        """What an assertion has in place of a literal's value: the other operand, or its part of a text."""
        for one, other in (ends for pair in self.pairs for ends in (pair, pair[::-1])):
            if one == value and type(one) is type(value):
                yield other
            elif isinstance(value, str) and len(value) > CONTEXT:
                for left, right in _texts(one, other):
                    before, found, behind = left.partition(value)
                    if found and right.startswith(before) and right[len(before) :].endswith(behind):
                        yield right[len(before) : len(right) - len(behind)]

    def nearly(self, text: str) -> Iterator[str]:
        """Parts of the failing tests' texts that are nearly this one, where it is long enough to tell."""
        words = [word for word in _WORD.findall(text) if len(word) > CONTEXT]
        for shown in self.texts if 2 * CONTEXT < len(text) <= LONGEST and words else ():
            if text not in shown and 2 * sum(word in shown for word in words) >= len(words):
                matcher = difflib.SequenceMatcher(None, text, shown, autojunk=False)
                longest = matcher.find_longest_match()
                start = max(0, longest.b - longest.a - CONTEXT)
                part = shown[start : start + len(text) + 2 * CONTEXT]
                matcher.set_seq2(part)
                *_, last, _ = blocks = matcher.get_matching_blocks()
                if sum(block.size for block in blocks) >= NEARLY * len(text):
                    yield part[max(0, blocks[0].b - blocks[0].a) : last.b + len(text) - last.a]

    def place(self, statement: str, function: str) -> float:
        """How well a statement in a function fits, within (0, 1]: whether it has what the message names, and whether the
        failing tests name the function.
        """
        named = not self.named or not self.named.isdisjoint(_WORD.findall(statement))
        return (1.0 if named else UNNAMED) * (1.0 if function in self.words else UNCALLED)

    def relevance(self, before: str, after: str) -> float:
        """How well replacing `before` by `after` fits, within (0, 1]; small edits fit better than large ones.

        The factors are rounded from a fit to bugs of benchmarks: see docs/repair.md.
        """
        old, new = _WORD.findall(before), _WORD.findall(after)
        added, removed = [word for word in new if word not in old], [word for word in old if word not in new]
        worth = math.pow(1 + len(added) + len(removed), -SIZE) / USUAL
        worth *= UNSTEPPED if self.by_one and not _is_step(before, after) else 1.0
        worth *= 1.0 if self.words.issuperset(word for word in added if word not in EVERYWHERE) else UNSHOWN
        return min(1.0, worth)


NEARLY = 0.85
"""The share of a text that must be the same for it to be nearly another."""

UNNAMED, UNCALLED = 0.64, 0.85
"""What a statement is worth without what the message names, and in a function that the failing tests do not name."""

SIZE, UNSTEPPED, UNSHOWN = 0.2, 0.75, 0.85
"""What an edit is worth for its size in words, for not being a step where a value is off by one, and for bringing in words
that the failing tests do not show."""

USUAL = 0.8
"""What one word for another is worth by its size: no edit counts more, so that a search knows where to look first."""

_STEP = re.compile(r"[-+]\s*1\b")
_ORDERS = frozenset({"<", "<=", ">", ">="})


def _is_step(before: str, after: str) -> bool:
    """Whether an edit makes something one more or one less."""
    if before.isdigit() and after.isdigit():
        return abs(int(before) - int(after)) == 1
    return {before, after} <= _ORDERS or _STEP.sub("", before).split() == _STEP.sub("", after).split()


def evidence_of(failure: Failure, tests: Mapping[str, str]) -> Evidence:
    """What a failure shows; `tests` are the texts of the test files by path."""
    nodes = [node for function in _functions(failure, tests) for node in ast.walk(function)]
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    compared = list(_compared(failure))
    parts = (node for sides in compared for side in sides for node in ast.walk(side))
    values += [node.value for node in parts if isinstance(node, ast.Constant)]
    pairs = list(_values(compared))
    strings = dict.fromkeys(v for v in values if isinstance(v, str) and 0 < len(v) <= LONGEST)
    numbers = dict.fromkeys(str(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool))
    named = [node for node in nodes if isinstance(node, ast.keyword) and node.arg and _is_short(node.value)]
    texts = [pair for one, other in pairs for pair in _texts(one, other)]
    return Evidence(
        numbers=tuple(islice(numbers, MAX_SHOWN)),
        strings=tuple(islice(strings, MAX_SHOWN)),
        keywords=tuple(dict.fromkeys(f"{node.arg}={ast.unparse(node.value)}" for node in named))[:MAX_SHOWN],
        named=frozenset(clues_of(failure).names),
        words=frozenset(_words(nodes)) | frozenset(_WORD.findall(failure.message)),
        pairs=tuple(pairs),
        texts=tuple(dict.fromkeys(v for v in values if isinstance(v, str) and len(v) <= LONGEST * 20))[:MAX_SHOWN],
        changes=tuple(change for one, other in texts for change in (*_changes(one, other), *_changes(other, one))),
        by_one=any(_is_by_one(one, other) for one, other in pairs),
    )


def _functions(failure: Failure, tests: Mapping[str, str]) -> Iterator[ast.stmt]:
    """The failing tests, each function once, and what they use of their module: data, fixtures, functions."""
    places = (test.partition("[")[0].partition("::") for test in failure.failing_tests)
    for path, name in islice(dict.fromkeys((path, name.rpartition("::")[2]) for path, _, name in places), MAX_TESTS):
        tree = parsed(tests.get(path, ""))
        nodes = list(ast.walk(tree)) if tree else []
        found = [node for node in nodes if isinstance(node, FunctionNode) and node.name == name]
        used = {getattr(node, "id", getattr(node, "arg", None)) for function in found for node in ast.walk(function)}
        others = [node for node in (tree.body if tree else ()) if node not in found]
        yield from (*found, *(node for node in others if not used.isdisjoint(defined(node))))


def _is_short(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.Name) or (isinstance(node, ast.UnaryOp) and _is_short(node.operand))


def _words(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.keyword(arg=str(word)):
                yield word
            case ast.Constant(value=str(text)):
                yield from _WORD.findall(text)
            case ast.Constant(value=value):
                yield str(value)


def _compared(failure: Failure) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assertion compares: its operands, and what the message has as Python writes it."""
    whole = " == ".join(f"({text})" for text in failure.operands)
    lines = (line.removeprefix("AssertionError: ").strip() for line in failure.message.splitlines())
    for text in (f"assert {whole}", *lines):
        differing = _DIFFERING.match(text)
        asserted = text.partition("assert ")[2]
        tree = parsed(asserted) if asserted else parsed(f"({differing[1]}) == ({differing[2]})") if differing else None
        match tree.body if tree else []:
            case [ast.Expr(value=ast.Compare(left=left, comparators=[right]))]:
                yield left, right


def _values(compared: Iterable[tuple[ast.expr, ast.expr]]) -> Iterator[tuple[object, object]]:
    """The values of both sides where both are literals in full."""
    for one, other in compared:
        whole = not any(isinstance(n, ast.Constant) and n.value is ... for side in (one, other) for n in ast.walk(side))
        with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            yield from [(ast.literal_eval(one), ast.literal_eval(other))] if whole else ()


def _texts(one: object, other: object) -> Iterator[tuple[str, str]]:
    """The texts that differ between two values, those within sequences and mappings included."""
    if isinstance(one, str) and isinstance(other, str):
        yield one, other
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        for left, right in zip(one, other, strict=False):
            yield from _texts(left, right)
    elif isinstance(one, dict) and isinstance(other, dict):
        for key in (key for key in one if key in other):
            yield from _texts(one[key], other[key])


CONTEXT = 3


def _changes(actual: str, expected: str) -> Iterator[TextChange]:
    matcher = difflib.SequenceMatcher(None, actual, expected, autojunk=False)
    changed = [opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
    for _, a, b, c, d in changed if len(changed) <= CONTEXT else ():
        yield TextChange(
            before=actual[max(0, a - CONTEXT) : a],
            actual=actual[a:b],
            expected=expected[c:d],
            behind=actual[b : b + CONTEXT],
        )


def _is_by_one(one: object, other: object) -> bool:
    """Whether two values differ by one: as numbers, in length, or in the first element that differs."""
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) == 1
    if not isinstance(one, str | list | tuple) or type(one) is not type(other):
        return False
    if abs(len(one) - len(other)) == 1:
        return True
    differing = next(((left, right) for left, right in zip(one, other, strict=False) if left != right), None)
    return differing is not None and not isinstance(one, str) and _is_by_one(*differing)
