"""Random inputs within what each QuixBugs program promises to handle, and results in a form that can be compared.

Laid beside the held-out tests of a case: standard library only. A program that is not named here is not judged.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

Value = Any
"""What a program takes or gives: as varied as the programs are."""

Inputs = Callable[[random.Random, Value], tuple[Value, ...]]
"""Makes the arguments of one call; the second argument is the class of graph and list nodes."""

OPERATORS = "+-*/"


def _ints(r: random.Random, low: int = -20, high: int = 20, most: int = 12) -> list[int]:
    return [r.randint(low, high) for _ in range(r.randint(0, most))]


def _some(r: random.Random, low: int = -20, high: int = 20, most: int = 12) -> list[int]:
    return _ints(r, low, high, most) or [r.randint(low, high)]


def _word(r: random.Random, most: int = 7, letters: str = "abcd") -> str:
    return "".join(r.choices(letters, k=r.randint(0, most)))


def _chain(r: random.Random, node: Value, *, loops: bool) -> Value:
    nodes = [node(number) for number in range(r.randint(0, 6))]
    for one, other in zip(nodes, nodes[1:]):  # noqa: B905, RUF007 - runs in the project's interpreter
        one.successor = other
    if loops and nodes and r.random() < 0.5:
        nodes[-1].successor = r.choice(nodes)
    return nodes[0] if nodes else None


def _graph(r: random.Random, node: Value) -> list[Value]:
    nodes = [node(number) for number in range(r.randint(1, 7))]
    for one in nodes:
        one.successors = r.sample(nodes, r.randint(0, min(3, len(nodes))))
    return nodes


def _two(r: random.Random, node: Value) -> tuple[Value, ...]:
    nodes = _graph(r, node)
    return r.choice(nodes), r.choice(nodes)


def _acyclic(r: random.Random, node: Value) -> tuple[Value, ...]:
    nodes = [node(number) for number in range(r.randint(1, 7))]
    for one in nodes:
        one.incoming_nodes, one.outgoing_nodes = [], []
    for late, one in enumerate(nodes):
        for other in nodes[:late]:
            if r.random() < 0.4:
                other.outgoing_nodes.append(one)
                one.incoming_nodes.append(other)
    r.shuffle(nodes)
    return (nodes,)


def _edges(r: random.Random, count: int, low: int = 1) -> dict[Value, int]:
    pairs = [(one, other) for one in range(count) for other in range(count) if one < other and r.random() < 0.5]
    return {pair: r.randint(low, 9) for pair in pairs}


def _weighted(r: random.Random, node: Value) -> tuple[Value, ...]:
    nodes = _graph(r, node)
    return (
        {(one, other): r.randint(1, 9) for one in nodes for other in one.successors},
        r.choice(nodes),
        r.choice(nodes),
    )


def _connected(r: random.Random, _node: Value) -> tuple[Value, ...]:
    count = r.randint(2, 6)
    tree = {(r.randrange(late), late) for late in range(1, count)}
    weights = r.sample(range(1, 99), 40)
    return ({pair: weights.pop() for pair in sorted(tree | set(_edges(r, count)))},)


def _rooted(r: random.Random, _node: Value) -> tuple[Value, ...]:
    names = string.ascii_uppercase[: r.randint(2, 6)]
    edges = {(r.randrange(late), late): r.randint(-3, 9) for late in range(1, len(names))} | _edges(r, len(names), -3)
    return names[0], {(names[a], names[b]): weight for (a, b), weight in edges.items()}


def _infix(r: random.Random, _node: Value) -> tuple[Value, ...]:
    tokens: list[Value] = [r.randint(1, 9)]
    for _ in range(r.randint(0, 6)):
        tokens += [r.choice(OPERATORS), r.randint(1, 9)]
    return (tokens,)


def _postfix(r: random.Random, _node: Value) -> tuple[Value, ...]:
    tokens: list[Value] = [float(r.randint(1, 9))]
    depth = 1
    for _ in range(r.randint(0, 8)):
        if depth > 1 and r.random() < 0.5:
            tokens.append(r.choice(OPERATORS))
            depth -= 1
        else:
            tokens.append(float(r.randint(1, 9)))
            depth += 1
    return (tokens + ["+"] * (depth - 1),)


def _nested(r: random.Random, depth: int = 3) -> list[Value]:
    return [_nested(r, depth - 1) if depth and r.random() < 0.4 else r.randint(0, 9) for _ in range(r.randint(0, 4))]


def _nearly_sorted(r: random.Random, _node: Value) -> tuple[Value, ...]:
    k = r.randint(1, 5)
    values = sorted(_some(r))
    for start in range(0, len(values), k + 1):
        part = values[start : start + k + 1]
        r.shuffle(part)
        values[start : start + k + 1] = part
    return values, k


def _text(r: random.Random, _node: Value) -> tuple[Value, ...]:
    words = [_word(r, 5, string.ascii_lowercase) or "a" for _ in range(r.randint(0, 16))]
    return " ".join(words), r.randint(8, 20)  # a word that fills a line keeps the correct program from ever ending


def _rows(r: random.Random, _node: Value) -> tuple[Value, ...]:
    return (r.randint(1, 30), [[r.randint(1, 12), r.randint(1, 30)] for _ in range(r.randint(0, 6))])


INPUTS: dict[str, Inputs] = {
    "bitcount": lambda r, _: (r.randint(0, 1 << 16),),
    "breadth_first_search": _two,
    "bucketsort": lambda r, _: (_ints(r, 0, 9), 10),
    "depth_first_search": _two,
    "detect_cycle": lambda r, node: (_chain(r, node, loops=True),),
    "find_first_in_sorted": lambda r, _: (sorted(_ints(r, 0, 9)), r.randint(-1, 10)),
    "find_in_sorted": lambda r, _: (sorted(set(_ints(r, 0, 30))), r.randint(-1, 31)),
    "flatten": lambda r, _: (_nested(r),),
    "gcd": lambda r, _: (r.randint(0, 300), r.randint(0, 300)),
    "get_factors": lambda r, _: (r.randint(1, 3000),),
    "hanoi": lambda r, _: (r.randint(0, 6), *r.sample([1, 2, 3], 2)),
    "is_valid_parenthesization": lambda r, _: (_word(r, 10, "()"),),
    "kheapsort": _nearly_sorted,
    "knapsack": _rows,
    "kth": lambda r, _: (lambda values: (values, r.randrange(len(values))))(_some(r)),
    "lcs_length": lambda r, _: (_word(r), _word(r)),
    "levenshtein": lambda r, _: (_word(r, 5), _word(r, 5)),
    "lis": lambda r, _: (r.sample(range(30), r.randint(0, 10)),),
    "longest_common_subsequence": lambda r, _: (_word(r), _word(r)),
    "max_sublist_sum": lambda r, _: (_ints(r),),
    "mergesort": lambda r, _: (_ints(r),),
    "minimum_spanning_tree": _connected,
    "next_palindrome": lambda r, _: (lambda half, middle: (half + middle + half[::-1],))(
        [r.randint(1, 9), *(r.choice([0, 5, 9, 9]) for _ in range(r.randint(0, 2)))], r.choice([[], [0], [9], [4]])
    ),
    "next_permutation": lambda r, _: (r.sample(range(9), r.randint(1, 6)),),
    "pascal": lambda r, _: (r.randint(1, 10),),
    "possible_change": lambda r, _: (sorted(r.sample(range(1, 30), r.randint(0, 4))), r.randint(0, 40)),
    "powerset": lambda r, _: (list(_word(r, 5, "abcdef")),),
    "quicksort": lambda r, _: (_ints(r),),
    "reverse_linked_list": lambda r, node: (_chain(r, node, loops=False),),
    "rpn_eval": _postfix,
    "shortest_path_length": _weighted,
    "shortest_path_lengths": lambda r, _: (lambda n: (n, _edges(r, n, -3)))(r.randint(1, 6)),
    "shortest_paths": _rooted,
    "shunting_yard": _infix,
    "sieve": lambda r, _: (r.randint(0, 120),),
    "sqrt": lambda r, _: (r.uniform(0.5, 100.0), r.choice([0.5, 0.1, 0.01, 0.001])),
    "subsequences": lambda r, _: (lambda a: (a, a + r.randint(0, 7), r.randint(0, 4)))(r.randint(0, 9)),
    "to_base": lambda r, _: (r.randint(1, 5000), r.randint(2, 36)),
    "topological_ordering": _acyclic,
    "wrap": _text,
}


def plain(value: Value) -> Value:
    """A result as numbers, texts and tuples; nodes by their value, what is generated in full."""
    if hasattr(value, "successors"):
        return _of_node(value)
    if isinstance(value, dict):
        return tuple(sorted((repr(plain(key)), plain(each)) for key, each in value.items()))
    if isinstance(value, (set, frozenset)):
        return tuple(sorted(repr(plain(each)) for each in value))
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return round(value, 9) if isinstance(value, float) else value
    return tuple(plain(each) for each in value)


def _of_node(node: Value) -> Value:
    found: list[Value] = []
    while node is not None and len(found) < 100:
        found.append(node.value)
        node = node.successor
    return tuple(found)
