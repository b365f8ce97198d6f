"""What an edit of a module replaced by what, as the smallest statements that hold the change. Pure; nothing is run."""

from __future__ import annotations

import ast
import builtins
import difflib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory.model import Rewrite
from memory.terms import ANY_BODY, NotSource, Term, Tree, names_in, read, term_of, written

MOST_MODULE = 1_000_000
"""Characters of a module that is compared."""

MOST_REWRITES = 6
"""An edit of more places teaches nothing that could be told in one."""

MOST_INSIDE = 4

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of a statement that hold statements, or clauses with some."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BUILTINS = frozenset(dir(builtins))

Statements = Sequence[ast.AST]

_ELIDED = (ast.Expr(value=ast.Constant(value=...)),)


@dataclass(frozen=True, slots=True)
class Place:
    """Where statements stand: what is around, innermost first, and the innermost function."""

    inside: tuple[str, ...] = ()
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None

    def within(self, node: ast.AST, block: str) -> Place:
        """The place in one of a statement's blocks."""
        if isinstance(node, ast.ClassDef):
            return Place()
        function = node if isinstance(node, _FUNCTIONS) else self.function
        around = () if isinstance(node, _FUNCTIONS) else self.inside
        return Place((f"{type(node).__name__}.{block}", *around)[:MOST_INSIDE], function)


def rewrites(before: str, after: str) -> tuple[Rewrite, ...]:
    """What was rewritten between two texts of a module, in the order of the text; nothing for what cannot be told.

    Layout, comments and docstrings do not count.
    """
    if max(len(before), len(after)) > MOST_MODULE:
        return ()
    try:
        old, new = ast.parse(before), ast.parse(after)
        pairs = list(_changes(old.body, new.body, Place()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    imports = [line for one, other, _ in pairs for line in _imported(one, other)]
    changed = [pair for pair in pairs if not _only(pair, (ast.Import, ast.ImportFrom))]
    if not 0 < len(changed) <= MOST_REWRITES:
        return ()
    known = _bound(new.body)
    made = (_rewrite(*pair, known, imports) for pair in changed)
    return tuple(each for each in made if each is not None)


Change = tuple[list[ast.AST], list[ast.AST], Place]


def _changes(old: Statements, new: Statements, place: Place) -> Iterator[Change]:
    one, other = [ast.dump(each) for each in old], [ast.dump(each) for each in new]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "replace" and b - a == d - c:
            for left, right in zip(old[a:b], new[c:d], strict=True):
                yield from _within(left, right, place)
        elif kind != "equal":
            yield from _aligned(old[a:b], new[c:d], place)


def _aligned(old: Statements, new: Statements, place: Place) -> Iterator[Change]:
    """Runs of statements of different lengths: compound ones of the same kind and name are compared, others exchanged."""
    one, other = [_key(each) for each in old], [_key(each) for each in new]
    runs: list[Change] = []
    pairs: list[tuple[ast.AST, ast.AST]] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            pairs += zip(old[a:b], new[c:d], strict=True)
        else:
            runs.append((list(old[a:b]), list(new[c:d]), place))
    if not any(hasattr(one, "body") for one, _ in pairs):
        yield list(old), list(new), place
        return
    yield from runs
    for left, right in pairs:
        yield from _within(left, right, place)


def _key(node: ast.AST) -> str:
    return f"{type(node).__name__} {getattr(node, 'name', '')}"


def _within(old: ast.AST, new: ast.AST, place: Place) -> Iterator[Change]:
    """The changes between two statements: of what stands before their blocks, and of each block."""
    blocks = [name for name in BLOCKS if isinstance(getattr(old, name, None), list)]
    if type(old) is not type(new) or not blocks:
        if not (_is_text(old) and _is_text(new)):
            yield [old], [new], place
        return
    if ast.dump(_header(old)) != ast.dump(_header(new)):
        if any(bool(getattr(old, name)) != bool(getattr(new, name)) for name in blocks):
            yield [old], [new], place
            return
        yield [_header(old, _ELIDED)], [_header(new, _ELIDED)], place
    for name in blocks:
        yield from _changes(getattr(old, name), getattr(new, name), place.within(old, name))


def _header(node: ast.AST, block: Sequence[ast.AST] = ()) -> ast.AST:
    """A statement with another block in the place of those that hold something."""
    fields = dict(ast.iter_fields(node))
    taken = {name: list(block) for name in BLOCKS if isinstance(fields.get(name), list) and fields[name]}
    return type(node)(**fields | taken)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _only(change: Change, kinds: tuple[type[ast.AST], ...]) -> bool:
    return all(isinstance(each, kinds) for side in change[:2] for each in side)


def _imported(old: Statements, new: Statements) -> Iterator[str]:
    """Lines that import what was not imported, of a change of imports."""
    before = {line for each in old for line in _import_lines(each)}
    yield from (line for each in new for line in _import_lines(each) if line not in before)


def _import_lines(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (ast.unparse(ast.Import(names=[alias])) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__":
        yield from (ast.unparse(ast.ImportFrom(module=node.module, names=[a], level=0)) for a in node.names)


def imported_name(line: str) -> str:
    """What a line of `Rewrite.imports` binds; "" for any other line."""
    try:
        (node,) = ast.parse(line).body
    except (SyntaxError, ValueError):
        return ""
    if not isinstance(node, (ast.Import, ast.ImportFrom)) or len(node.names) != 1:
        return ""
    return node.names[0].asname or node.names[0].name.split(".")[0]


def library_name(line: str) -> str:
    """What a line of `Rewrite.imports` binds of the standard library, under the library's own name; "" for any other line."""
    _, *words = line.replace(".", " ").split()
    ours = not words or words[0] not in sys.stdlib_module_names or "as" in words
    return "" if ours else imported_name(line)


def _bound(body: Statements) -> frozenset[str]:
    """What a module's top level, or a function, binds."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
            continue
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                found.add(each.id)
            elif isinstance(each, ast.alias):
                found.add(each.asname or each.name.split(".")[0])
    return frozenset(found)


def _rewrite(
    old: Statements, new: Statements, place: Place, module: frozenset[str], imports: Sequence[str]
) -> Rewrite | None:
    try:
        before, after = _elided(term_of(list(old)), term_of(list(new)))
        sides = written(before), written(after)
        used = {*names_in(read(sides[0])), *names_in(read(sides[1]))}
    except (NotSource, ValueError, RecursionError):
        return None
    roles = _roles(used - _BUILTINS, place.function, module)
    return Rewrite(
        before=sides[0],
        after=sides[1],
        inside=place.inside,
        roles=tuple(roles.items()),
        imports=tuple(line for line in imports if imported_name(line) in used),
    )


def _roles(
    names: set[str], function: ast.FunctionDef | ast.AsyncFunctionDef | None, module: frozenset[str]
) -> Mapping[str, str]:
    if function is None:
        return dict.fromkeys(sorted(names & module), "module")
    given = function.args
    arguments = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    parameters = {each.arg for each in arguments if each is not None}
    local = _bound(function.body)
    of = {name: "parameter" if name in parameters else "local" if name in local else "module" for name in names}
    return {name: of[name] for name in sorted(of) if of[name] != "module" or name in module}


def _elided(old: Term, new: Term) -> tuple[Term, Term]:
    """Two terms with the bodies that they share as `...`: what is done in them does not matter."""
    if (
        isinstance(old, Tree)
        and isinstance(new, Tree)
        and old.kind == new.kind
        and len(old.children) == len(new.children)
    ):
        if old == new and _is_block(old):
            return ANY_BODY, ANY_BODY
        both = [_elided(one, other) for one, other in zip(old.children, new.children, strict=True)]
        if old.kind in _BRANCHING and both[-2:] == [(ANY_BODY, ANY_BODY)] * 2:
            both[-1] = (_NO_BODY, _NO_BODY)  # whether there is an `else` matters no more than what is in it
        return Tree(old.kind, tuple(one for one, _ in both)), Tree(new.kind, tuple(other for _, other in both))
    return old, new


_BRANCHING = frozenset({"If", "While", "For", "AsyncFor"})
_NO_BODY = Tree("[]", ())
_STATEMENTS = frozenset(each.__name__ for each in ast.stmt.__subclasses__())


def _is_block(term: Tree) -> bool:
    return term.kind == "[]" and any(isinstance(each, Tree) and each.kind in _STATEMENTS for each in term.children)


def levels(rewrite: Rewrite) -> tuple[tuple[Term, Term], ...]:
    """What was rewritten, with ever more of what is around it: the smallest expression first. Raises NotSource."""
    found: list[tuple[Term, Term]] = []
    old: Term = read(rewrite.before)
    new: Term = read(rewrite.after)
    while isinstance(old, Tree) and isinstance(new, Tree) and old != new:
        if old.kind == "[]" or (is_expression(old) and is_expression(new)):
            found.append((old, new))
        if old.kind != new.kind or len(old.children) != len(new.children):
            break
        differing = [pair for pair in zip(old.children, new.children, strict=True) if pair[0] != pair[1]]
        if len(differing) != 1:
            break
        old, new = differing[0]
    return tuple(reversed(found))


def is_expression(term: Term) -> bool:
    """Whether a term stands for a value."""
    return isinstance(term, Tree) and hasattr(ast, term.kind) and issubclass(getattr(ast, term.kind), ast.expr)
