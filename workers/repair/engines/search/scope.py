"""What a module defines and how it uses its names, read from its syntax tree: the stock that edits draw from."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from workers.repair.outline import FunctionNode, called, first_line, last_line, own_nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """How something is called: parameter names without the receiver, and how many of them have no default.

    `collections` are the parameters that are no single value: annotated as collections of strings, searched or iterated.
    """

    name: str
    parameters: tuple[str, ...]
    required: int
    collections: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionScope:
    """One function or method. `qualname` is dotted; the first line is that of its first decorator; `receiver` its first parameter if a method, `owner` its class."""

    node: FunctionNode
    qualname: str
    owner: str
    receiver: str
    first_line: int
    last_line: int
    parameters: tuple[str, ...]
    local_names: tuple[str, ...]
    is_async: bool
    signature: Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassScope:
    """One class: attributes set on it or through self, methods, and the names of its bases."""

    name: str
    bases: tuple[str, ...]
    attributes: tuple[str, ...]
    methods: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUsage:
    """A call as it is written: the last part of what is called, and the arguments; keywords are written as `name=`.

    `names` must be in scope to call so elsewhere.
    """

    code: str
    name: str
    arguments: tuple[str, ...]
    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What is asked somewhere, and the names that must be in scope to ask it elsewhere."""

    code: str
    names: frozenset[str]


_LONGEST = 60
"""Conditions of more characters are not taken elsewhere."""


class ModuleScope:
    """What one module defines and what it does with its names; each part is read when it is first asked for."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._nodes = list(ast.walk(tree))

    @cached_property
    def functions(self) -> tuple[FunctionScope, ...]:
        return tuple(_functions(self._tree))

    def functions_at(self, line: int) -> tuple[FunctionScope, ...]:
        """The functions around a line, innermost first."""
        around = [f for f in self.functions if f.first_line <= line <= f.last_line]
        return tuple(sorted(around, key=lambda f: -f.first_line))

    @cached_property
    def classes(self) -> dict[str, ClassScope]:
        """Every class, however deep, by name."""
        return {node.name: _class(node) for node in self._nodes if isinstance(node, ast.ClassDef)}

    @cached_property
    def definitions(self) -> tuple[str, ...]:
        """The functions and classes at the top level."""
        return tuple(dict.fromkeys(n.name for n in self._tree.body if isinstance(n, FunctionNode | ast.ClassDef)))

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The top-level names that are no definitions."""
        return tuple(name for name in bound_names(self._tree) if name not in self.definitions)

    @cached_property
    def imported(self) -> tuple[str, ...]:
        """The local names of what is imported from modules."""
        aliases = [alias for n in self._nodes if isinstance(n, ast.ImportFrom) for alias in n.names]
        return tuple(dict.fromkeys(a.asname or a.name for a in aliases if a.name != "*"))

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """The local names of imported modules."""
        aliases = [alias for n in self._nodes if isinstance(n, ast.Import) for alias in n.names]
        return tuple(dict.fromkeys(a.asname or a.name.partition(".")[0] for a in aliases))

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(n.attr for n in self._nodes if isinstance(n, ast.Attribute)))

    @cached_property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """What is read of each name: `a.b`, `a.c`."""
        reads = (n for n in self._nodes if isinstance(n, ast.Attribute))
        return _grouped((n.value.id, n.attr) for n in reads if isinstance(n.value, ast.Name))

    @cached_property
    def intermediates(self) -> dict[str, tuple[str, ...]]:
        """By which attributes each attribute is reached: "b" by "c" in `a.c.b`."""
        reads = (n for n in self._nodes if isinstance(n, ast.Attribute))
        return _grouped((n.attr, n.value.attr) for n in reads if isinstance(n.value, ast.Attribute))

    @cached_property
    def statement_calls(self) -> tuple[CallUsage, ...]:
        """The calls that are statements of their own."""
        calls = (n.value for n in self._nodes if isinstance(n, ast.Expr))
        return tuple(dict.fromkeys(_usage(n, name) for n in calls if isinstance(n, ast.Call) and (name := called(n))))

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """The short texts."""
        texts = (n.value for n in self._nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
        return tuple(dict.fromkeys(text for text in texts if 0 < len(text) <= 30 and "\n" not in text))

    @cached_property
    def calls(self) -> tuple[CallUsage, ...]:
        return tuple(_usage(n, name) for n in self._nodes if isinstance(n, ast.Call) and (name := called(n)))

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Each test, and each part of one beside `and` or `or`; the most frequent first."""
        asked: Counter[str] = Counter()
        names: dict[str, frozenset[str]] = {}
        for node in self._nodes:
            tests = [node.test] if isinstance(node, (ast.If, ast.While, ast.IfExp)) else ()
            for test in node.values if isinstance(node, ast.BoolOp) else tests:
                code = ast.unparse(test)
                names[code] = names_in(test)
                asked[code] += 1
        short = (code for code, _ in asked.most_common() if len(code) <= _LONGEST)
        return tuple(Condition(code=code, names=names[code]) for code in short)

    def signatures(self, name: str) -> tuple[Signature, ...]:
        """The known ways to call `name`: as a function, a method, a class, a named tuple or a data class."""
        named = [f.signature for f in self.functions if f.signature.name == name]
        made = [f.signature for f in self.functions if f.owner == name and f.signature.name == "__init__"]
        return (*named, *made, *(record for record in self._records if record.name == name))

    @cached_property
    def _records(self) -> tuple[Signature, ...]:
        return tuple(record for node in self._nodes if (record := _record(node)))

    def members(self, owner: str) -> tuple[str, ...]:
        """Attributes, then methods, of a class and of its bases in this module."""
        seen: dict[str, None] = {}
        for scope in self.lineage(owner):
            seen.update(dict.fromkeys((*scope.attributes, *scope.methods)))
        return tuple(seen)

    def lineage(self, owner: str) -> tuple[ClassScope, ...]:
        """A class and its bases in this module, the nearest first."""
        found: dict[str, ClassScope] = {}
        queue = [owner]
        while queue:
            scope = self.classes.get(queue.pop(0))
            if scope is not None and scope.name not in found:
                found[scope.name] = scope
                queue.extend(scope.bases)
        return tuple(found.values())


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """The second of each pair by the first, each once, in their order."""
    found: dict[str, dict[str, None]] = {}
    for name, other in pairs:
        found.setdefault(name, {})[other] = None
    return {name: tuple(others) for name, others in found.items()}


BINDING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.With)
"""Statements that give names their values."""


def stored_names(node: ast.stmt) -> set[str]:
    """The names that a statement gives a value."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def bound_names(node: ast.AST) -> tuple[str, ...]:
    """Names that are assigned directly in a function or module, in order; definitions inside are among them."""
    names: dict[str, None] = {}
    for child in own_nodes(node):
        match child:
            case ast.Name(id=name, ctx=ast.Store()) | ast.ExceptHandler(name=str(name)):
                names[name] = None
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names[child.name] = None
    return tuple(names)


def bound_before(function: FunctionNode, line: int) -> tuple[str, ...]:
    """Local names that are bound at or before a line, in order; a loop's are bound to all of its body."""
    stores = [n for n in own_nodes(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    inner = {id(n) for c in own_nodes(function) if isinstance(c, ast.comprehension) for n in ast.walk(c.target)}
    return tuple(dict.fromkeys(n.id for n in stores if n.lineno <= line and id(n) not in inner))


def parameters(node: FunctionNode) -> list[str]:
    """The names of a function's parameters, `*args` and `**kwargs` left out."""
    a = node.args
    return [arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)]


def _function(node: FunctionNode, prefix: str, owner: str) -> FunctionScope:
    names = parameters(node)
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
    receiver = names[0] if owner and names and not static else ""
    extra = [arg.arg for arg in (node.args.vararg, node.args.kwarg) if arg is not None]
    shown = tuple(name for name in names if name != receiver)
    defaults = len(node.args.defaults) + sum(d is not None for d in node.args.kw_defaults)
    return FunctionScope(
        node=node,
        qualname=prefix + node.name,
        owner=owner,
        receiver=receiver,
        first_line=first_line(node),
        last_line=last_line(node),
        parameters=(*shown, *extra),
        local_names=tuple(name for name in bound_names(node) if name not in names),
        is_async=isinstance(node, ast.AsyncFunctionDef),
        signature=Signature(
            name=node.name,
            parameters=shown,
            required=max(0, len(shown) - defaults),
            collections=frozenset(shown) & _collections(node),
        ),
    )


_COLLECTION = re.compile(
    r"(?:(?:typing\.)?Optional\[)?(?:\w+\.)?(?:tuple|list|set|frozenset|Tuple|List|Set|FrozenSet|Container|Collection|Sequence"
    r"|Iterable)\[str(?:, \.\.\.)?\]\]?(?: \| None)?"
)


def _collections(node: FunctionNode) -> set[str]:
    """Its parameters that are annotated as collections of strings, and the names that it searches or iterates."""
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    found = {arg.arg for arg in every if arg.annotation and _COLLECTION.fullmatch(ast.unparse(arg.annotation))}
    for each in own_nodes(node):
        if isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.In | ast.NotIn):
            found |= {n.id for n in each.comparators if isinstance(n, ast.Name)}
        elif isinstance(each, ast.For | ast.comprehension) and isinstance(each.iter, ast.Name):
            found.add(each.iter.id)
    return found


def _functions(node: ast.AST, prefix: str = "", owner: str = "") -> Iterator[FunctionScope]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield _function(child, prefix, owner)
                yield from _functions(child, f"{prefix}{child.name}.")
            case ast.ClassDef():
                yield from _functions(child, f"{prefix}{child.name}.", child.name)
            case _:
                yield from _functions(child, prefix, owner)


def _self_attributes(node: ast.ClassDef) -> list[str]:
    """Attributes of `self` and `cls`: those that are set first, then those only read (a base may set them)."""
    attributes = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    own = [n for n in attributes if isinstance(n.value, ast.Name) and n.value.id in ("self", "cls")]
    return [n.attr for n in sorted(own, key=lambda n: isinstance(n.ctx, ast.Load))]


def _class(node: ast.ClassDef) -> ClassScope:
    attributes = dict.fromkeys((*bound_names(node), *_self_attributes(node)))
    methods = [n.name for n in node.body if isinstance(n, FunctionNode)]
    return ClassScope(
        name=node.name,
        bases=tuple(base.id for base in node.bases if isinstance(base, ast.Name)),
        attributes=tuple(name for name in attributes if name not in methods),
        methods=tuple(methods),
    )


def _record(node: ast.AST) -> Signature | None:
    """The signature of a class that is made of annotated fields, or of a named tuple."""
    match node:
        case ast.ClassDef(name=name, body=body):
            fields = [n for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
            names = tuple(n.target.id for n in fields if isinstance(n.target, ast.Name))
            if names and not any(isinstance(n, ast.FunctionDef) and n.name == "__init__" for n in body):
                return Signature(name=name, parameters=names, required=sum(n.value is None for n in fields))
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Constant(), fields])) if (
            called(node.value) == "namedtuple"
        ):
            names = _field_names(fields)
            return Signature(name=name, parameters=names, required=len(names))
    return None


def _field_names(node: ast.expr) -> tuple[str, ...]:
    """What `namedtuple` takes for fields: texts in a sequence, or one text."""
    match node:
        case ast.Constant(value=str(text)):
            return tuple(text.replace(",", " ").split())
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return tuple(str(n.value) for n in elements if isinstance(n, ast.Constant))
        case _:
            return ()


def defined(node: ast.stmt) -> tuple[str, ...]:
    """The names that a statement of a module or class defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            return tuple(t.id for t in targets if isinstance(t, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return tuple(alias.asname or alias.name for alias in names)
    return ()


def _usage(node: ast.Call, name: str) -> CallUsage:
    named = (f"{word.arg or '**'}={ast.unparse(word.value)}" for word in node.keywords)
    arguments = (*map(ast.unparse, node.args), *named)
    return CallUsage(code=ast.unparse(node), name=name, arguments=arguments, names=names_in(node))


def names_in(node: ast.AST) -> frozenset[str]:
    """The names below a node, attributes' own left out."""
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
