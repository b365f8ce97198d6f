"""Bugs that no single edit template takes back by being its inverse: two tokens at once, another branch, another method.

Kinds: `two tokens` of one statement, a `variable` for another, a `statement` left out without a trace, the wrong
`branch`, another `attribute` or method, another `function`, `arguments` swapped and a token changed beside them.
They follow what is found in fixes of small bugs (Karampatsis & Sutton 2020, ManySStuBs4J) and in mutation testing
(Offutt et al. 1996), not what the repair engine can do.
"""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from benchmarks.planting import DROPPED, Edit, Function, Slip, Text, bound_in, elementary, functions, is_docstring

PAIRS_A_STATEMENT = 4
OTHERS_A_PLACE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Planting:
    """A slip in a function. `lines` are those whose execution runs into it."""

    slip: Slip
    function: str
    lines: range

    def applied(self, source: str) -> str:
        """The module with it."""
        return Text(source).with_edits(self.slip.edits)


def plantings(source: str, seed: str) -> list[Planting]:
    """Slips in a module's functions, in a fixed order; where there are many of a kind in one place, a few by chance."""
    tree, text, rng = ast.parse(source), Text(source), random.Random(seed)
    known = _names_in(tree)
    return [
        Planting(slip=slip, function=f"{function.name}:{function.lineno}", lines=_lines(statement))
        for function in functions(tree)
        for statement in _statements(function)
        for slip in _slips(function, statement, text, known, rng)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """What a module's author has at hand: attributes by what they are taken from, functions by how many values they get."""

    attributes: dict[tuple[str, bool], set[str]]
    functions: dict[int, set[str]]


def _names_in(tree: ast.AST) -> _Names:
    attributes: dict[tuple[str, bool], set[str]] = defaultdict(set)
    called: dict[int, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=base), attr=name)):
                attributes[base, True].add(name)
            case ast.Attribute(value=ast.Name(id=base), attr=name, ctx=ast.Load()):
                attributes[base, False].add(name)
            case ast.Call(func=ast.Name(id=name)) if _plain(node):
                called[len(node.args)].add(name)
            case _:
                pass
    return _Names(attributes=attributes, functions=called)


def _slips(function: Function, statement: ast.stmt, text: Text, known: _Names, rng: random.Random) -> Iterator[Slip]:
    single = [slip for head in _heads(statement) for slip in elementary(head, bound_in(function), text)]
    tokens = [slip for slip in single if slip.kind != "statement"]
    yield from _few((slip for slip in tokens if slip.kind == "variable"), rng, PAIRS_A_STATEMENT)
    yield from _two_tokens(tokens, rng)
    yield from _dropped(function, statement, text)
    yield from _branches(function, statement, text)
    for head in _heads(statement):
        for node in ast.walk(head):
            yield from _few(_attributes(node, text, known, called=_called(head)), rng, OTHERS_A_PLACE)
            yield from _few(_functions(node, text, known), rng, OTHERS_A_PLACE)
            yield from _few(_arguments(node, text, tokens), rng, OTHERS_A_PLACE)


def _two_tokens(tokens: Sequence[Slip], rng: random.Random) -> Iterator[Slip]:
    pairs = (_joined("two tokens", one, other) for one, other in combinations(tokens, 2) if _apart(one, other))
    yield from _few(pairs, rng, PAIRS_A_STATEMENT)


def _dropped(function: Function, statement: ast.stmt, text: Text) -> Iterator[Slip]:
    """The statement left out; `pass` stands there only where a block needs one."""
    if not isinstance(statement, DROPPED) or is_docstring(statement):
        return
    block = next(block for block in _blocks(function) if statement in block)
    place = block.index(statement)
    if len(block) == 1:
        edit = text.replacing(statement, "pass")
    elif place + 1 < len(block):
        edit = Edit(start=text.start(statement), end=text.start(block[place + 1]), text="")
    else:
        edit = Edit(start=text.end(block[place - 1]), end=text.end(statement), text="")
    yield Slip(kind="statement", line=statement.lineno, edits=(edit,))


def _branches(function: Function, statement: ast.stmt, text: Text) -> Iterator[Slip]:
    """Branches exchanged, or the condition of another `if` of the same function."""
    match statement:
        case ast.If(body=body, orelse=other) if other and not _is_elif(statement):
            yield _swapped("branch", statement.lineno, _span(body, text), _span(other, text), text)
        case ast.If():
            pass
        case _:
            return
    for node in ast.walk(function):
        if isinstance(node, ast.If) and text.of(node.test) != text.of(statement.test):
            edit = text.replacing(statement.test, text.of(node.test))
            yield Slip(kind="branch", line=statement.lineno, edits=(edit,))


def _attributes(node: ast.AST, text: Text, known: _Names, called: set[ast.expr]) -> Iterator[Slip]:
    match node:
        case ast.Attribute(value=ast.Name(id=base), attr=name, ctx=ast.Load()):
            for other in sorted(known.attributes[base, node in called] - {name}):
                end = text.end(node)
                edit = Edit(start=end - len(name.encode()), end=end, text=other)
                yield Slip(kind="attribute", line=node.lineno, edits=(edit,))
        case _:
            pass


def _functions(node: ast.AST, text: Text, known: _Names) -> Iterator[Slip]:
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments) if _plain(node):
            for other in sorted(known.functions[len(arguments)] - {name}):
                yield Slip(kind="function", line=node.lineno, edits=(text.replacing(node.func, other),))
        case _:
            pass


def _arguments(node: ast.AST, text: Text, tokens: Sequence[Slip]) -> Iterator[Slip]:
    if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
        return
    for one, other in pairwise(node.args):
        swapped = _swapped("arguments", node.lineno, _span([one], text), _span([other], text), text)
        if text.of(one) != text.of(other):
            yield from (_joined("arguments", swapped, token) for token in tokens if _apart(swapped, token))


def _swapped(kind: str, line: int, one: tuple[int, int], other: tuple[int, int], text: Text) -> Slip:
    edits = (
        Edit(start=one[0], end=one[1], text=text.between(*other)),
        Edit(start=other[0], end=other[1], text=text.between(*one)),
    )
    return Slip(kind=kind, line=line, edits=edits)


def _span(nodes: Sequence[ast.expr] | Sequence[ast.stmt], text: Text) -> tuple[int, int]:
    return text.start(nodes[0]), text.end(nodes[-1])


def _joined(kind: str, one: Slip, other: Slip) -> Slip:
    return Slip(kind=kind, line=min(one.line, other.line), edits=(*one.edits, *other.edits))


def _apart(one: Slip, other: Slip) -> bool:
    """Whether two slips touch different places."""
    return all(a.end <= b.start or b.end <= a.start for a in one.edits for b in other.edits)


def _few(slips: Iterator[Slip], rng: random.Random, most: int) -> list[Slip]:
    found = list(slips)
    return found if len(found) <= most else rng.sample(found, most)


def _statements(function: Function) -> Iterator[ast.stmt]:
    for block in _blocks(function):
        yield from (node for node in block if not isinstance(node, Function | ast.ClassDef))


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The statement lists of a function, those of functions and classes within it left out."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, [])
        if isinstance(block, list) and block:
            yield block
            for inner in block:
                if not isinstance(inner, Function | ast.ClassDef):
                    yield from _blocks(inner)
    for handler in getattr(node, "handlers", []):
        yield from _blocks(handler)


def _heads(statement: ast.stmt) -> list[ast.expr | ast.stmt]:
    """What of a statement runs by itself: all of a simple one, the condition or the iterable of a compound one."""
    match statement:
        case ast.If(test=test) | ast.While(test=test):
            return [test]
        case ast.For(iter=iterable):
            return [iterable]
        case ast.With(items=items):
            return [item.context_expr for item in items]
        case ast.Try() | ast.Match():
            return []
        case _:
            return [] if is_docstring(statement) else [statement]


def _lines(statement: ast.stmt) -> range:
    heads = _heads(statement) or [statement]
    return range(statement.lineno, max(head.end_lineno or head.lineno for head in heads) + 1)


def _is_elif(statement: ast.If) -> bool:
    """Whether the other branch is an `elif`, which starts where its `if` does."""
    other = statement.orelse[0]
    return isinstance(other, ast.If) and other.col_offset == statement.col_offset


def _called(head: ast.AST) -> set[ast.expr]:
    return {node.func for node in ast.walk(head) if isinstance(node, ast.Call)}


def _plain(call: ast.Call) -> bool:
    return not call.keywords and not any(isinstance(each, ast.Starred) for each in call.args)
