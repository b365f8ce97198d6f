"""The place of an edit: a node in its statement, with everything in scope, and the edits that can be made there."""

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import libcst as cst

from memory.parsing import parse_expression
from workers.repair.engines.search.evidence import Evidence
from workers.repair.engines.search.option_weights import by_rank
from workers.repair.engines.search.project import Examples, ProjectSources
from workers.repair.engines.search.scope import FunctionScope, ModuleScope, Signature, bound_before, parameters
from workers.repair.engines.search.source_slice import Region, Splice, Unit
from workers.repair.engines.search.type_inference import InferredTypes


@lru_cache(maxsize=8192)
def precedence(code: str) -> int:
    """How tightly an expression's text binds: 0 for a lambda, 15 for a name, a call or a literal."""
    try:
        node = parse_expression(f"({code}\n)")
    except (SyntaxError, ValueError):
        return 0
    if node.col_offset > 1 or (node.col_offset == 1 and isinstance(node, (ast.Tuple, ast.GeneratorExp))):
        return 15  # in parentheses of its own
    match node:
        case ast.BinOp(op=op):
            return _LEVELS.get(type(op), 12)
        case ast.UnaryOp(op=ast.Not()):
            return 5
        case ast.UnaryOp() | ast.Await():
            return 13
        case ast.Constant(value=int() | float()) if not code[-1:].isalnum():
            return 14
    return _LEVELS.get(type(node), 15)


_LEVELS: dict[type[ast.AST], int] = {
    **dict.fromkeys((ast.Yield, ast.YieldFrom, ast.Lambda, ast.NamedExpr), 0),
    **dict.fromkeys((ast.Tuple, ast.GeneratorExp, ast.Starred), 1),
    ast.IfExp: 2,
    ast.BoolOp: 3,
    ast.Compare: 6,
    ast.BitOr: 7,
    ast.BitXor: 8,
    ast.BitAnd: 9,
    **dict.fromkeys((ast.LShift, ast.RShift), 10),
    **dict.fromkeys((ast.Add, ast.Sub), 11),
    ast.Pow: 14,
}


def wrapped(code: str, needed: int) -> str:
    """`code`, in parentheses if it binds less tightly than `needed` (see `precedence`)."""
    return code if precedence(code) >= needed else f"({code})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Splices of one region that make one edit, `weight` telling it from others of its template: 1 at most, with 0 never made.

    `around` spans the source that its shape shows; `imports` are lines to add at the module's top.
    """

    splices: tuple[Splice, ...]
    around: tuple[int, int]
    weight: float = 1.0
    imports: tuple[str, ...] = ()

    @property
    def extent(self) -> tuple[int, int]:
        """Where what it replaces begins and ends."""
        return min((s.start for s in self.splices), default=0), max((s.end for s in self.splices), default=0)


_STATEMENTS = (cst.Assign, cst.AugAssign, cst.AnnAssign, cst.Return, cst.If, cst.While, cst.Expr, cst.For, cst.Assert)
_LOOSE = (*_STATEMENTS, cst.Arg, cst.Index, cst.Slice, cst.Element, cst.DictElement)
"""What needs no parentheses around an expression in it."""

_CONDITIONS = (cst.If, cst.While, cst.IfExp, cst.CompIf, cst.Assert, cst.BooleanOperation, cst.UnaryOperation)
_ASKING = (*_CONDITIONS, cst.Comparison, cst.ComparisonTarget)
"""What asks for the truth of an expression in it, or compares it."""


class Site:
    """One statement of one region, and what is known about it."""

    def __init__(self, region: Region, unit: Unit, project: ProjectSources) -> None:
        self.region = region
        self.unit = unit
        self.project = project
        self.failure = project.failure
        self.clues = project.clues

    # What is written here

    def code(self, node: cst.CSTNode) -> str:
        """A node's source, with its own parentheses."""
        if not self.region.has(node):
            return self.region.tree.code_for_node(node).strip()
        text = self.region.text(*self.region.span(node))
        return f"({text})" if getattr(node, "lpar", ()) and isinstance(node, cst.BaseExpression) else text

    def operand(self, node: cst.CSTNode, needed: int = 13) -> str:
        """A node's source, fit to stand beside an operator."""
        return wrapped(self.code(node), needed)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        return self.region.parent(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around, innermost first."""
        while (parent := self.region.parent(node)) is not node and parent is not self.region.tree:
            yield parent
            node = parent

    @cached_property
    def module(self) -> ModuleScope:
        return self.region.module.scope

    @cached_property
    def _functions(self) -> tuple[FunctionScope, ...]:
        """The functions around the statement, innermost first."""
        return self.module.functions_at(self.unit.first_line)

    @property
    def function(self) -> FunctionScope | None:
        """The innermost function around the statement."""
        return self._functions[0] if self._functions else None

    @property
    def receiver(self) -> str:
        """What the function calls its object, "" outside methods."""
        return self.function.receiver if self.function else ""

    @cached_property
    def definition(self) -> cst.FunctionDef | None:
        """The same function's node; the statement itself if it is a definition."""
        around = (self.unit.node, *self.ancestors(self.unit.node))
        return next((node for node in around if isinstance(node, cst.FunctionDef)), None)

    @cached_property
    def body(self) -> tuple[cst.CSTNode, ...]:
        """Everything in the innermost function, or in the region when there is none; nested definitions left out."""
        return self.region.below(self.definition.body if self.definition else self.region.tree)

    @cached_property
    def in_loop(self) -> bool:
        """Whether `break` and `continue` may stand here."""
        kinds = (cst.FunctionDef, cst.ClassDef, cst.For, cst.While)
        around = next((node for node in self.ancestors(self.unit.node) if isinstance(node, kinds)), None)
        return isinstance(around, (cst.For, cst.While))

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names of values in scope, nearest first: parameters, locals, those of functions around, then the module's."""
        around = [name for scope in self._functions[1:] for name in (*scope.parameters, *scope.local_names)]
        return tuple(dict.fromkeys((*self.local_variables, *around, *self.module.variables)))

    @cached_property
    def local_variables(self) -> tuple[str, ...]:
        """Parameters and locals only."""
        scope = self.function
        return tuple(dict.fromkeys((*scope.parameters, *scope.local_names))) if scope else ()

    @cached_property
    def names(self) -> frozenset[str]:
        """Everything that may be named here: values, definitions, modules, builtins."""
        known = (*self.variables, self.receiver, *self.callables, *self.module.modules, *vars(builtins))
        return frozenset(known)

    @cached_property
    def callables(self) -> tuple[str, ...]:
        """Functions and classes defined in or imported into the module."""
        return tuple(dict.fromkeys((*self.module.definitions, *self.module.imported)))

    def signatures(self, name: str) -> tuple[Signature, ...]:
        """The known ways to call `name`: those in the module, or else in the project."""
        return self.module.signatures(name) or self.project.signatures(name)

    @property
    def evidence(self) -> Evidence:
        """What the failing tests and the message show."""
        return self.project.evidence

    @cached_property
    def examples(self) -> Examples:
        """What the tests and the docstring show of the function; nothing outside one."""
        if self.function is None:
            return Examples()
        node = self.function.node
        return self.project.examples(node.name, ast.get_docstring(node) or "")

    @cached_property
    def types(self) -> InferredTypes:
        """What types of values the function's names hold, as far as is known."""
        return self.region.types([function.node for function in self._functions], self.examples)

    def kind(self, code: str) -> str:
        """The kind of an expression's text, "" when nothing is known."""
        return self.types.of_code(code)

    @cached_property
    def live(self) -> tuple[str, ...]:
        """Parameters and locals that may be bound when the statement runs, the last bound first; then those of functions around."""
        if self.function is None:
            return ()
        node = self.function.node
        outer = [(*bound_before(f.node, node.lineno), *parameters(f.node)) for f in self._functions[1:]]
        bound = reversed(bound_before(node, self.unit.last_line))
        return tuple(dict.fromkeys((*bound, *self.function.parameters, *chain.from_iterable(outer))))

    @cached_property
    def indent(self) -> str:
        """The white space before the statement."""
        line = self.text_before(self.unit.node)
        return line[: len(line) - len(line.lstrip())]

    def text_before(self, node: cst.CSTNode) -> str:
        """The text before a node on its line: the indentation of a statement that begins there."""
        start = self.region.span(node)[0]
        return self.region.text(self.region.line_start(start), start)

    @cached_property
    def step(self) -> str:
        """One level of indentation, as this file does it."""
        return "\t" if "\t" in self.indent else self.region.tree.default_indent if not self.region.prefix else "    "

    # What can be done here

    def replace(self, node: cst.CSTNode, code: str, *, weight: float = 1.0, around: cst.CSTNode | None = None) -> Edit:
        """Put `code` in a node's place, in parentheses where the text would otherwise read differently."""
        if isinstance(node, cst.BaseExpression):
            code = wrapped(code, self._floor(node))
        return self.token(node, code, weight=weight, around=around)

    def replacements(
        self, node: cst.CSTNode, codes: Iterable[str], *, weight: float = 1.0, step: float = 0.25
    ) -> Iterator[Edit]:
        """Put each of these in a node's place; `weight` is multiplied by what `by_rank` gives each."""
        return (self.replace(node, code, weight=rank * weight) for code, rank in by_rank(codes, step=step))

    def _floor(self, node: cst.BaseExpression) -> int:
        """How tightly a text must bind to stand in a node's place without parentheses."""
        if node.lpar or isinstance(self.parent(node), _LOOSE):
            return 2
        parent = self.parent(node)
        own = precedence(self.region.text(*self.region.span(node)))
        if isinstance(parent, cst.CompFor):
            return min(3, own)
        if isinstance(parent, cst.ComparisonTarget):
            return min(7, own)
        if isinstance(parent, (cst.BinaryOperation, cst.BooleanOperation, cst.UnaryOperation, cst.Comparison)):
            return min(precedence(self.region.text(*self.region.span(parent))) + 1, own)
        return own

    def token(self, node: cst.CSTNode, code: str, *, weight: float = 1.0, around: cst.CSTNode | None = None) -> Edit:
        """Put `code` in a node's place as it is: for operators, keywords, targets, parts of statements."""
        span = self.region.span(node)
        outer = self.region.span(around or node)
        if self._is_asked(node) and self._is_function(node, code):
            weight = 0.0  # what is not called is always true
        return self.splice(*span, code, weight=weight, around=(min(span[0], outer[0]), max(span[1], outer[1])))

    def _is_asked(self, node: cst.CSTNode) -> bool:
        whole = self.parent(node) if isinstance(self.parent(node), cst.Attribute) else node
        parent = self.parent(whole)
        return isinstance(parent, _ASKING) and getattr(parent, "test", whole) is whole

    def _is_function(self, node: cst.CSTNode, code: str) -> bool:
        if "." in code or getattr(self.parent(node), "attr", None) is node:
            return code.rpartition(".")[2] in self.project.methods
        return code in self.module.definitions and code not in self.local_variables

    def tokens(
        self, node: cst.CSTNode, codes: Iterable[str], *, step: float = 0.25, around: cst.CSTNode | None = None
    ) -> Iterator[Edit]:
        """Put each of these in a node's place as it is, weighed as by `by_rank`."""
        return (self.token(node, code, weight=weight, around=around) for code, weight in by_rank(codes, step=step))

    def exchange(self, one: cst.CSTNode, other: cst.CSTNode, *, around: cst.CSTNode, weight: float = 1.0) -> Edit:
        """Swap two nodes' texts."""
        first, second = self.region.outer_span(one), self.region.outer_span(other)
        splices = (Splice(*first, self.region.text(*second)), Splice(*second, self.region.text(*first)))
        return Edit(splices=splices, around=self.region.span(around), weight=weight)

    def splice(
        self, start: int, end: int, code: str, *, weight: float = 1.0, around: tuple[int, int] | None = None
    ) -> Edit:
        """Put `code` in the place of the region's bytes `start`..`end`."""
        return Edit(splices=(Splice(start, end, code),), around=around or (start, end), weight=weight)

    def lines_of(self, node: cst.CSTNode) -> tuple[int, int]:
        """The whole lines of a statement, decorators included."""
        starts = [self.region.span(node)[0]]
        starts += [self.region.span(d)[0] for d in getattr(node, "decorators", ()) if self.region.has(d)]
        return self.region.line_start(min(starts)), self.region.line_end(self.region.span(node)[1])

    def insert_before(self, lines: Sequence[str], *, weight: float) -> Iterator[Edit]:
        """Lines before the statement, at its indentation; nothing where none can stand (before `elif`, `except`)."""
        return self._inserted(self.lines_of(self.unit.node)[0], lines, weight)

    def insert_after(self, lines: Sequence[str], *, weight: float) -> Iterator[Edit]:
        """Lines behind the whole statement, at its indentation."""
        return self._inserted(self.lines_of(self.unit.node)[1], lines, weight)

    def _inserted(self, at: int, lines: Sequence[str], weight: float) -> Iterator[Edit]:
        text = "".join(f"{self.indent}{line}\n" for line in lines)
        missing = "" if at == 0 or self.region.data[at - 1 : at] == b"\n" else "\n"
        if self.siblings is not None:
            yield self.splice(at, at, missing + text, weight=weight)

    @cached_property
    def siblings(self) -> Sequence[cst.CSTNode] | None:
        """The statements of the block that holds this one; None for a header that is no statement of a block."""
        parent = self.parent(self.unit.node)
        body = parent.body if isinstance(parent, (cst.IndentedBlock, cst.Module)) else None
        return body if body is not None and any(node is self.unit.node for node in body) else None

    def rewrite(self, lines: Sequence[str], *, weight: float = 1.0) -> Edit:
        """Whole lines in the statement's place; no lines delete it. The lines carry their own indentation."""
        text = "".join(f"{line}\n" for line in lines)
        return self.splice(*self.lines_of(self.unit.node), text, weight=weight)

    def text_lines(self) -> list[str]:
        """The statement's whole lines, indentation included."""
        return self.region.text(*self.lines_of(self.unit.node)).splitlines()
