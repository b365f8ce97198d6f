"""SEM001 swapped-arguments: the names given are those of the parameters, in each other's place. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from workers.review.detectors.detector import RawFinding
from workers.review.detectors.semantic.edited import Edited, Function, functions, last_name

RULE = "SEM001"
_MEANT = re.compile(
    r"swap|revers|flip|invert|inverse|transpos|mirror|rotat|exchang|__r[a-z]+__|__[lg][te]__|cmp|compare", re.I
)


def swapped_arguments(edited: Edited) -> Iterator[RawFinding]:
    """Calls on changed lines of functions of the same file, or of methods of the same class."""
    known = dict(functions(edited.after))
    for caller, function in [("", None), *known.items()]:
        root: ast.AST = function or edited.after
        if _MEANT.search(caller):
            continue
        for call in _calls(root):
            if edited.is_added(call):
                yield from _swaps(edited, call, caller, function, known)


def _calls(root: ast.AST) -> Iterator[ast.Call]:
    """The calls that a function makes itself."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(root))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function):
            continue
        if isinstance(node, ast.Call):
            yield node
        waiting += ast.iter_child_nodes(node)


def _swaps(
    edited: Edited, call: ast.Call, caller: str, function: Function | None, known: Mapping[str, Function]
) -> Iterator[RawFinding]:
    target = _target(call.func, caller, known)
    if target is None or target is function or _MEANT.search(target.name):
        return
    parameters = _parameters(target)
    given = [last_name(argument) for argument in call.args if not isinstance(argument, ast.Starred | ast.Call)]
    if len(given) != len(call.args) or len(given) > len(parameters):
        return
    for one, other in combinations(range(len(given)), 2):
        crossed = given[one] == parameters[other] and given[other] == parameters[one]
        if crossed and given[one] != given[other] and not _is_chosen(function, call, {given[one], given[other]}):
            yield edited.finding(
                RULE,
                call,
                f"swapped-arguments: `{target.name}` takes (`{parameters[one]}`, `{parameters[other]}`) "
                f"and is given (`{given[one]}`, `{given[other]}`).",
            )


def _target(func: ast.expr, caller: str, known: Mapping[str, Function]) -> Function | None:
    """The function that a call means: one of the module by its name, a method of the same class through `self`."""
    if isinstance(func, ast.Name):
        return known.get(func.id)
    owner = caller.rpartition(".")[0]
    if (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and func.value.id in ("self", "cls")
        and owner
    ):
        return known.get(f"{owner}.{func.attr}")
    return None


def _parameters(function: Function) -> Sequence[str]:
    names = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _is_chosen(function: Function | None, call: ast.Call, names: set[str]) -> bool:
    """Whether a condition around the call weighs the two names against each other: then the order is meant."""
    for node in ast.walk(function) if function else ():
        if isinstance(node, ast.If | ast.IfExp | ast.While) and any(inner is call for inner in ast.walk(node)):
            weighed = {last_name(each) for each in ast.walk(node.test)}
            if names <= weighed:
                return True
    return False
