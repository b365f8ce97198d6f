"""What a module defines and how it uses its names, read from its syntax tree: the stock that edits draw from."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """How something is called: parameter names without the receiver, and how many of them have no default."""

    name: str
    parameters: tuple[str, ...]
    required: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionScope:
    """One function or method. `qualname` is dotted; `receiver` its first parameter if a method, `owner` its class."""

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
class ModuleScope:
    """One module. `variables` are top-level names that are no definitions; `modules` imported modules' local names.

    `records` are the signatures of its named tuples and data classes.
    """

    functions: tuple[FunctionScope, ...]
    classes: Mapping[str, ClassScope]
    variables: tuple[str, ...]
    definitions: tuple[str, ...]
    imported: tuple[str, ...]
    modules: tuple[str, ...]
    attributes: tuple[str, ...]
    strings: tuple[str, ...]
    records: tuple[Signature, ...]

    def function_at(self, line: int) -> FunctionScope | None:
        """The innermost function around a line."""
        around = [f for f in self.functions if f.first_line <= line <= f.last_line]
        return max(around, key=lambda f: f.first_line, default=None)

    def signatures(self, name: str) -> tuple[Signature, ...]:
        """The known ways to call `name`, as a function, a method, or a class."""
        named = [f.signature for f in self.functions if f.signature.name == name]
        made = [f.signature for f in self.functions if f.owner == name and f.signature.name == "__init__"]
        fields = [record for record in self.records if record.name == name]
        return tuple(named + made + fields)

    def members(self, owner: str) -> tuple[str, ...]:
        """Attributes, then methods, of a class and of its bases in this module."""
        seen: dict[str, None] = {}
        queue, done = [owner], set[str]()
        while queue:
            scope = self.classes.get(queue.pop(0))
            if scope is None or scope.name in done:
                continue
            done.add(scope.name)
            seen.update(dict.fromkeys((*scope.attributes, *scope.methods)))
            queue.extend(scope.bases)
        return tuple(seen)


def parsed(source: str) -> ast.Module | None:
    """A source's syntax tree; None if it has none."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `node`, in source order, without the bodies of functions and classes defined inside."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from own_nodes(child)


def bound_names(node: ast.AST) -> tuple[str, ...]:
    """Names that are assigned directly in a function or module, in order; definitions inside are among them."""
    names: dict[str, None] = {}
    for child in own_nodes(node):
        match child:
            case ast.Name(id=name, ctx=ast.Store()) | ast.ExceptHandler(name=str(name)):
                names[name] = None
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names[name] = None
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


def _is_static(node: FunctionNode) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)


def _function(node: FunctionNode, prefix: str, owner: str) -> FunctionScope:
    names = parameters(node)
    receiver = names[0] if owner and names and not _is_static(node) else ""
    extra = [arg.arg for arg in (node.args.vararg, node.args.kwarg) if arg is not None]
    shown = tuple(name for name in names if name != receiver)
    defaults = len(node.args.defaults) + sum(d is not None for d in node.args.kw_defaults)
    return FunctionScope(
        qualname=prefix + node.name,
        owner=owner,
        receiver=receiver,
        first_line=min([node.lineno, *(d.lineno for d in node.decorator_list)]),
        last_line=node.end_lineno or node.lineno,
        parameters=(*shown, *extra),
        local_names=tuple(name for name in bound_names(node) if name not in names),
        is_async=isinstance(node, ast.AsyncFunctionDef),
        signature=Signature(name=node.name, parameters=shown, required=max(0, len(shown) - defaults)),
    )


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
    found: list[tuple[bool, str]] = []
    for child in ast.walk(node):
        match child:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr, ctx=context):
                found.append((isinstance(context, ast.Load), attr))
    return [attr for _, attr in sorted(found, key=lambda item: item[0])]


def _class(node: ast.ClassDef) -> ClassScope:
    attributes = dict.fromkeys((*bound_names(node), *_self_attributes(node)))
    methods = [n.name for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return ClassScope(
        name=node.name,
        bases=tuple(base.id for base in node.bases if isinstance(base, ast.Name)),
        attributes=tuple(name for name in attributes if name not in methods),
        methods=tuple(methods),
    )


def _imports(tree: ast.Module) -> tuple[dict[str, None], dict[str, None]]:
    names: dict[str, None] = {}
    modules: dict[str, None] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                modules.update(dict.fromkeys(a.asname or a.name.partition(".")[0] for a in aliases))
            case ast.ImportFrom(names=aliases):
                names.update(dict.fromkeys(a.asname or a.name for a in aliases if a.name != "*"))
    return names, modules


def _records(nodes: Iterable[ast.AST]) -> Iterator[Signature]:
    """The signatures of classes that are made of annotated fields, and of named tuples."""
    for node in nodes:
        match node:
            case ast.ClassDef(name=name, body=body):
                fields = [n for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
                names = tuple(n.target.id for n in fields if isinstance(n.target, ast.Name))
                if names and not any(isinstance(n, ast.FunctionDef) and n.name == "__init__" for n in body):
                    yield Signature(name=name, parameters=names, required=sum(n.value is None for n in fields))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Constant(), fields])) if (
                called(node.value) == "namedtuple"
            ):
                names = _field_names(fields)
                yield Signature(name=name, parameters=names, required=len(names))


def _field_names(node: ast.expr) -> tuple[str, ...]:
    """What `namedtuple` takes for fields: texts in a sequence, or one text."""
    match node:
        case ast.Constant(value=str(text)):
            return tuple(text.replace(",", " ").split())
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return tuple(str(n.value) for n in elements if isinstance(n, ast.Constant))
        case _:
            return ()


def called(node: ast.AST) -> str:
    """The last part of what a call calls."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            return name
        case _:
            return ""


def read_classes(tree: ast.Module) -> dict[str, ClassScope]:
    """Every class of a module, however deep, by name."""
    return {node.name: _class(node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def read_module(tree: ast.Module) -> ModuleScope:
    """Everything that edits need to know about a module."""
    top = [n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    names, modules = _imports(tree)
    nodes = list(ast.walk(tree))
    strings = (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return ModuleScope(
        functions=tuple(_functions(tree)),
        classes=read_classes(tree),
        variables=tuple(name for name in bound_names(tree) if name not in top),
        definitions=tuple(dict.fromkeys(top)),
        imported=tuple(names),
        modules=tuple(modules),
        attributes=tuple(dict.fromkeys(n.attr for n in nodes if isinstance(n, ast.Attribute))),
        strings=tuple(dict.fromkeys(s for s in strings if 0 < len(s) <= 30 and "\n" not in s)),
        records=tuple(_records(nodes)),
    )


_LONGEST = 60
"""Conditions of more characters are not taken elsewhere."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleUsage:
    """One module. `conditions` are the most frequent first; `parts` tells what is read of a name: `a.b`, `a.c`."""

    calls: tuple[CallUsage, ...]
    conditions: tuple[Condition, ...]
    parts: Mapping[str, tuple[str, ...]]


def read_usage(tree: ast.Module) -> ModuleUsage:
    """What a module does, at all levels."""
    nodes = list(ast.walk(tree))
    return ModuleUsage(calls=tuple(_calls(nodes)), conditions=tuple(_conditions(nodes)), parts=_parts(nodes))


def _calls(nodes: Iterable[ast.AST]) -> Iterator[CallUsage]:
    for node in nodes:
        if isinstance(node, ast.Call) and (name := called(node)):
            named = (f"{word.arg or '**'}={ast.unparse(word.value)}" for word in node.keywords)
            arguments = (*map(ast.unparse, node.args), *named)
            yield CallUsage(code=ast.unparse(node), name=name, arguments=arguments, names=_names(node))


def _conditions(nodes: Iterable[ast.AST]) -> Iterator[Condition]:
    """Each test, and each part of one beside `and` or `or`; the most frequent first."""
    asked: Counter[str] = Counter()
    names: dict[str, frozenset[str]] = {}
    for node in nodes:
        tests = [node.test] if isinstance(node, (ast.If, ast.While, ast.IfExp)) else ()
        for test in node.values if isinstance(node, ast.BoolOp) else tests:
            code = ast.unparse(test)
            if code not in asked:
                names[code] = _names(test)
            asked[code] += 1
    return (Condition(code=code, names=names[code]) for code, _ in asked.most_common() if len(code) <= _LONGEST)


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _parts(nodes: Iterable[ast.AST]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, {})[node.attr] = None
    return {name: tuple(attributes) for name, attributes in found.items()}
