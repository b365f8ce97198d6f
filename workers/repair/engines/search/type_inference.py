"""What type of value a name holds, as far as a function's text, its annotations and its examples tell.

A light, flow-insensitive inference: enough to leave out edits that could only raise. Type-aware repair pays in Python
(Oh and Oh 2022, PyTER). A type is a word, followed by that of its elements: "sequence number"; "" where nothing is known.
"""

import ast
from collections.abc import Mapping
from functools import lru_cache

from memory.parsing import PARSE_ERRORS, parse_expression
from workers.repair.engines.search.project import Examples
from workers.repair.outline import FunctionNode, own_nodes

NUMBER, TEXT, TRUTH, SEQUENCE, MAPPING, SET = "number", "text", "truth", "sequence", "mapping", "set"

_RETURNS = {
    **dict.fromkeys(("len", "sum", "int", "float", "abs", "round", "ord", "pow", "hash", "divmod"), NUMBER),
    **dict.fromkeys(("str", "chr", "bin", "hex", "oct", "repr", "input", "format", "ascii"), TEXT),
    **dict.fromkeys(("isinstance", "bool", "any", "all", "callable", "hasattr", "issubclass"), TRUTH),
    **dict.fromkeys(("list", "sorted", "tuple", "reversed", "zip", "map", "filter"), SEQUENCE),
    **dict.fromkeys(("set", "frozenset"), SET),
    **dict.fromkeys(("dict", "Counter", "defaultdict", "OrderedDict"), MAPPING),
    "range": f"{SEQUENCE} {NUMBER}",
}
_METHODS = {
    **dict.fromkeys(("count", "index", "find", "rfind", "bit_length"), NUMBER),
    **dict.fromkeys(("lower", "upper", "strip", "lstrip", "rstrip", "join", "replace", "title", "capitalize"), TEXT),
    **dict.fromkeys(("swapcase", "format", "zfill", "ljust", "rjust", "casefold", "decode"), TEXT),
    **dict.fromkeys(("split", "splitlines", "rsplit", "partition"), f"{SEQUENCE} {TEXT}"),
    **dict.fromkeys(("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower", "isspace"), TRUTH),
    **dict.fromkeys(("keys", "values", "items"), SEQUENCE),
}
_ANNOTATED = {
    **dict.fromkeys(("int", "float", "complex", "Decimal", "Fraction"), NUMBER),
    "str": TEXT,
    "bool": TRUTH,
    **dict.fromkeys(("list", "List", "tuple", "Tuple", "Sequence", "Iterable", "Collection", "Iterator"), SEQUENCE),
    **dict.fromkeys(("dict", "Dict", "Mapping", "MutableMapping", "Counter", "defaultdict"), MAPPING),
    **dict.fromkeys(("set", "Set", "frozenset", "FrozenSet"), SET),
}
_DISPLAYED: dict[type[ast.expr], str] = {
    **dict.fromkeys((ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp), SEQUENCE),
    **dict.fromkeys((ast.Set, ast.SetComp), SET),
    **dict.fromkeys((ast.Dict, ast.DictComp), MAPPING),
    ast.JoinedStr: TEXT,
    ast.Compare: TRUTH,
}
_PASSES = 3
"""A name's type may depend on that of one bound further down."""


class InferredTypes:
    """The types of a function's names, and of expressions over them."""

    def __init__(self, function: FunctionNode | None, examples: Examples, outer: Mapping[str, str]) -> None:
        """`outer` are the types of names that functions around this one bind."""
        self.names = dict(outer)
        if function is not None:
            self._parameters(function, examples)
            nodes = list(own_nodes(function))
            for _ in range(_PASSES):
                known = dict(self.names)
                for node in nodes:
                    self._bind(node)
                if known == self.names:
                    break

    def of_code(self, code: str) -> str:
        """The type of an expression's text."""
        node = expression(code)
        return self.of(node) if node is not None else ""

    def of(self, node: ast.expr) -> str:
        """An expression's type, "" when nothing is known."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name, "")
            case ast.Constant(value=value):
                return TRUTH if isinstance(value, bool) else _constant(value)
            case ast.List(elts=[inner, *_]) | ast.Tuple(elts=[inner, *_]) | ast.Set(elts=[inner, *_]):
                return f"{_DISPLAYED[type(node)]} {self.of(inner)}".strip()
            case ast.ListComp(elt=inner) | ast.GeneratorExp(elt=inner) | ast.SetComp(elt=inner):
                return f"{_DISPLAYED[type(node)]} {self.of(inner)}".strip()
            case ast.UnaryOp(operand=inner):
                return TRUTH if isinstance(node.op, ast.Not) else self.of(inner)
        return _DISPLAYED.get(type(node)) or self._compound(node)

    def _compound(self, node: ast.expr) -> str:
        match node:
            case ast.IfExp(body=one, orelse=other) | ast.BoolOp(values=[one, other, *_]):
                return self.of(one) or self.of(other)
            case ast.BinOp():
                return self._arithmetic(node)
            case ast.Subscript(value=value, slice=index):
                return self.of(value) if isinstance(index, ast.Slice) else element(self.of(value))
            case ast.Call():
                return self._called(node)
        return ""

    def _arithmetic(self, node: ast.BinOp) -> str:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Mod) and left == TEXT:
            return TEXT
        if isinstance(node.op, (ast.Add, ast.Mult, ast.BitOr, ast.BitAnd, ast.Sub)):
            return next((inferred for inferred in (left, right) if inferred not in ("", NUMBER)), left or right)
        return NUMBER

    def _called(self, node: ast.Call) -> str:
        match node.func:
            case ast.Name(id="min" | "max") if len(node.args) == 1:
                return element(self.of(node.args[0]))
            case ast.Name(id="min" | "max") if node.args:
                return self.of(node.args[0])
            case ast.Name(id="sorted" | "list" | "tuple" | "reversed" | "set" as name) if node.args:
                return f"{_RETURNS[name]} {element(self.of(node.args[0]))}".strip()
            case ast.Name(id=name):
                return _RETURNS.get(name, "")
            case ast.Attribute(attr=name):
                return _METHODS.get(name, "")
        return ""

    def _parameters(self, function: FunctionNode, examples: Examples) -> None:
        positional = [*function.args.posonlyargs, *function.args.args]
        shown = positional[1:] if positional and positional[0].arg in ("self", "cls") else positional
        for parameter in (*positional, *function.args.kwonlyargs):
            self.names[parameter.arg] = _annotated(parameter.annotation)
        for call in examples.calls:
            for parameter, argument in zip(shown, call, strict=False):
                inferred = self.of(argument)
                self.names[parameter.arg] = max(self.names[parameter.arg], inferred, key=len)

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                self._set(name, _annotated(annotation))
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                self._set(name, self.of(value))
            case ast.For(target=target, iter=walked) | ast.comprehension(target=target, iter=walked):
                self._loop(target, walked)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "add"), args=[value]):
                inferred = self.names.get(name, "")
                if inferred in (SEQUENCE, SET):
                    self.names[name] = f"{inferred} {self.of(value)}".strip()

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self._set(name, self.of(value))
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
                inner = element(self.of(value))
                for index, part in enumerate(targets):
                    if isinstance(part, ast.Name):
                        self._set(part.id, self.of(values[index]) if index < len(values) else inner)

    def _loop(self, target: ast.expr, walked: ast.expr) -> None:
        if isinstance(walked, ast.Call) and isinstance(walked.func, ast.Name) and isinstance(target, ast.Tuple):
            sources = walked.args[:1] if walked.func.id == "enumerate" else walked.args
            types = [element(self.of(source)) for source in sources]
            types = [NUMBER, *types] if walked.func.id == "enumerate" else types if walked.func.id == "zip" else []
            for part, inferred in zip(target.elts, types, strict=False):
                if isinstance(part, ast.Name):
                    self._set(part.id, inferred)
        elif isinstance(target, ast.Name):
            self._set(target.id, element(self.of(walked)))

    def _set(self, name: str, inferred: str) -> None:
        known = self.names.get(name, "")
        self.names[name] = known if known and (not inferred or known.startswith(inferred)) else inferred or known


@lru_cache(maxsize=4096)
def expression(code: str) -> ast.expr | None:
    """The syntax tree of an expression's text; None if it has none."""
    try:
        return parse_expression(f"({code}\n)")
    except PARSE_ERRORS:
        return None


def element(inferred: str) -> str:
    """What a value of this type is made of."""
    return TEXT if inferred == TEXT else inferred.partition(" ")[2]


def outer(inferred: str) -> str:
    """A type without its elements'."""
    return inferred.partition(" ")[0]


def is_sized(inferred: str) -> bool:
    """Whether `len` and `in` may be asked of it; unknown counts as yes."""
    return outer(inferred) not in (NUMBER, TRUTH)


def may_be(inferred: str, *wanted: str) -> bool:
    """Whether a value of this type can be of a wanted one; unknown counts as yes."""
    return not inferred or outer(inferred) in wanted


def comparable(one: str, other: str) -> bool:
    """Whether two values are reasonably compared; unknown types are."""
    return not one or not other or outer(one) == outer(other)


def _constant(value: object) -> str:
    return NUMBER if isinstance(value, (int, float)) else TEXT if isinstance(value, str) else ""


def _annotated(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return _annotated(expression(text))
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _ANNOTATED.get(name, "")
        case ast.Subscript(value=value, slice=inner):
            inferred = _annotated(value)
            first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
            return f"{inferred} {_annotated(first)}".strip() if inferred else ""
    return ""
