"""Modules cut into regions that parse and compile alone, so that an edit costs what its function costs, not its module.

A region is an outermost function, or a statement at the level of a module or class. All offsets are in UTF-8 bytes.
"""

from __future__ import annotations
import __future__

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import CodeType
from typing import Literal

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, ParentNodeProvider

from memory.parsing import BOM, older, read_module
from workers.repair.engines.search.project import Examples
from workers.repair.engines.search.scope import ModuleScope
from workers.repair.engines.search.type_inference import InferredTypes
from workers.repair.outline import FunctionNode, first_line, last_line
from workers.repair.running.in_sandbox.codeswap import fingerprint


@dataclass(frozen=True, slots=True)
class Splice:
    """Bytes `start`..`end` of a region are replaced by `code`."""

    start: int
    end: int
    code: str


def spliced(data: bytes, splices: Sequence[Splice]) -> bytes:
    """`data` with all splices made; they must not overlap."""
    for splice in sorted(splices, key=lambda s: (s.start, s.end), reverse=True):
        data = data[: splice.start] + splice.code.encode() + data[splice.end :]
    return data


_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_WRAP = b"class _:\n"
_REGION = "region"
_WARNED_OF = rf"({_REGION}|{re.escape(__name__)})\Z"
"""The module that the compiler warns about: its file's name, and since Python 3.12 or 3.13 that of the caller."""

UNITS = (cst.SimpleStatementLine, cst.BaseCompoundStatement, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase)
_STOPS = (*UNITS, cst.IndentedBlock)


@dataclass(frozen=True, slots=True)
class Unit:
    """One statement without the statements inside it: a simple line, or the header of a compound statement."""

    node: cst.CSTNode
    first_line: int
    last_line: int

    def nodes(self) -> Iterator[cst.CSTNode]:
        """The statement itself, then everything in its header, outermost first."""
        return _header(self.node, top=True)


def _header(node: cst.CSTNode, *, top: bool = False) -> Iterator[cst.CSTNode]:
    if not top and isinstance(node, _STOPS):
        return
    yield node
    for child in node.children:
        yield from _header(child)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Where a region lies: its first and last line, and whether it is indented."""

    first_line: int
    last_line: int
    indented: bool


MAX_OPERANDS = 500
"""Of one `and` or `or`: they are flat to Python, and nested to LibCST."""

MAX_WRITTEN = 100_000
"""Nodes that the compiler writes for one statement."""


def _is_bomb(node: ast.BoolOp | ast.Try | ast.TryStar) -> bool:
    if isinstance(node, ast.BoolOp):
        return len(node.values) > MAX_OPERANDS
    try:
        return bool(node.finalbody) and _written(node) > MAX_WRITTEN
    except RecursionError:
        return True


def _written(node: ast.AST) -> int:
    """How many nodes the compiler writes: what a `finally` holds once more for each way out of its `try`."""
    if not isinstance(node, ast.Try | ast.TryStar):
        return 1 + sum(map(_written, ast.iter_child_nodes(node)))
    tried = (*node.body, *node.handlers, *node.orelse)
    ways = sum(isinstance(each, ast.Return | ast.Break | ast.Continue) for part in tried for each in ast.walk(part))
    return sum(map(_written, tried)) + (2 + ways) * sum(map(_written, node.finalbody))


class SourceModule:
    """One module's text, cut into regions. Raises SyntaxError when it does not parse."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.source = source
        self.tree = read_module(source)
        self.data = source.encode()
        self._mark = len(BOM.encode()) if source.startswith(BOM) else 0
        self.lines = _LINE.findall(self.data[self._mark :])
        self.extents = _merged(list(_extents(self.tree.body, indented=False)))
        self._regions: dict[Extent, Region | None] = {}

    @cached_property
    def scope(self) -> ModuleScope:
        """What the module defines and does with its names."""
        return ModuleScope(self.tree)

    @cached_property
    def futures(self) -> int:
        """The compiler flags that the module's `from __future__` imports switch on."""
        imports = [n for n in self.tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
        return sum(getattr(__future__, alias.name).compiler_flag for node in imports for alias in node.names)

    def extent_at(self, line: int) -> Extent | None:
        """The region's extent around a line."""
        return next((e for e in self.extents if e.first_line <= line <= e.last_line), None)

    def region(self, extent: Extent) -> Region | None:
        """The parsed region, None if LibCST cannot read it."""
        if any(extent.first_line <= line <= extent.last_line for line in self._bombs):
            return None
        if extent not in self._regions:
            start = self._offset(extent.first_line)
            text = b"".join(self.lines[extent.first_line - 1 : extent.last_line])
            data = (_WRAP if extent.indented else b"") + text
            try:
                tree = cst.parse_module(data.decode())
                faithful = tree.bytes == data  # else its offsets cannot be trusted
                self._regions[extent] = Region(self, extent, start, data, tree) if faithful else None
            except (cst.ParserSyntaxError, RecursionError):
                self._regions[extent] = None
        return self._regions[extent]

    @cached_property
    def _bombs(self) -> frozenset[int]:
        """Where statements begin that would end this process: LibCST has no stack for them, or they compile to gigabytes."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.BoolOp | ast.Try | ast.TryStar))
        return frozenset(node.lineno for node in nodes if _is_bomb(node))

    def import_place(self) -> tuple[int, str, str]:
        """Where a new import line goes, and the text before and behind it: below the imports or docstring at the top."""
        line, last = 0, None
        for node in self.tree.body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not (isinstance(node, (ast.Import, ast.ImportFrom)) or is_text):
                break
            line, last = last_line(node), node
        plain = isinstance(last, ast.Import) or (isinstance(last, ast.ImportFrom) and last.module != "__future__")
        return self._offset(line + 1), "\n" if last and not plain else "", "" if last else "\n\n"

    def _offset(self, line: int) -> int:
        """Where a line begins, in bytes."""
        return self._mark + sum(map(len, self.lines[: line - 1]))


def _extents(body: Sequence[ast.stmt], *, indented: bool) -> Iterator[Extent]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.body[0].lineno > node.lineno:
            yield from _extents(node.body, indented=True)
        else:
            yield Extent(first_line=first_line(node), last_line=last_line(node), indented=indented)


def _merged(extents: list[Extent]) -> list[Extent]:
    """Statements that share a line (`a = 1; b = 2`) are one region."""
    merged: list[Extent] = []
    for extent in extents:
        if merged and merged[-1].last_line >= extent.first_line:
            last = merged.pop()
            extent = replace(last, last_line=max(last.last_line, extent.last_line))
        merged.append(extent)
    return merged


def below(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes below one, in source order, without what functions and classes defined inside hold."""
    for child in node.children:
        yield child
        if not isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            yield from below(child)


class Region:
    """A piece of a module as a LibCST tree, with positions and parents. `data` is its text, wrapped when indented."""

    def __init__(self, module: SourceModule, extent: Extent, start: int, data: bytes, tree: cst.Module) -> None:
        self.module = module
        self.extent = extent
        self.start = start
        self.data = data
        self.prefix = len(_WRAP) if extent.indented else 0
        self.tree = tree
        self._types: dict[FunctionNode | None, InferredTypes] = {}
        self._below: dict[cst.CSTNode, tuple[cst.CSTNode, ...]] = {}
        wrapper = MetadataWrapper(tree, unsafe_skip_copy=True)
        self._spans = wrapper.resolve(ByteSpanPositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)

    def below(self, node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        """What `below` gives, asked once for each node."""
        if node not in self._below:
            self._below[node] = tuple(below(node))
        return self._below[node]

    def types(self, functions: Sequence[FunctionNode], examples: Examples) -> InferredTypes:
        """What types of values the names of a function, and of those around it, hold; asked once for each."""
        innermost = functions[0] if functions else None
        if innermost not in self._types:
            outer = self.types(functions[1:], Examples()).names if functions[1:] else {}
            self._types[innermost] = InferredTypes(innermost, examples, outer)
        return self._types[innermost]

    @cached_property
    def warned(self) -> bool:
        """Whether the compiler warns about the unedited text, or refuses it, as it does a `break` outside a loop."""
        return self._compiled(self.data, "error") is None

    def meaning(self, data: bytes) -> object:
        """What a text in the region's place compiles to; None if it does not, or if the compiler warns of it only now."""
        return self._compiled(data, "ignore" if self.warned else "error")

    def _compiled(self, data: bytes, on_warning: Literal["error", "ignore"]) -> object:
        with warnings.catch_warnings():
            # Of this text alone: other threads of the process, as one that imports torch, have the same filters.
            warnings.filterwarnings(on_warning, module=_WARNED_OF)
            try:
                return fingerprint(self._code(data))
            except (SyntaxError, Warning, ValueError, OverflowError, RecursionError, MemoryError):
                return None

    def _code(self, data: bytes) -> CodeType:
        compiled = partial(compile, mode="exec", flags=self.module.futures, dont_inherit=True, optimize=0)
        try:
            code: CodeType = compiled(data, _REGION)
        except SyntaxError as error:
            if (made := older(data.decode(), error)) is None:
                raise
            code = compiled(made.text, _REGION)
        return code

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Every statement, in source order."""
        wrapper = self.tree.body[0] if self.prefix else None
        found = [node for node in self._spans if isinstance(node, UNITS) and node is not wrapper]
        units = [Unit(node, self._first_line(node), self._last_line(node)) for node in found]
        return tuple(sorted(units, key=lambda unit: (unit.first_line, -unit.last_line)))

    def _first_line(self, node: cst.CSTNode) -> int:
        decorators = (each for each in getattr(node, "decorators", ()) if self.has(each))
        return self.line(min(self.span(each)[0] for each in (node, *decorators)))

    def _last_line(self, node: cst.CSTNode) -> int:
        ends = [self._spans[n] for n in _header(node, top=True) if n in self._spans and n is not node]
        if isinstance(node, cst.SimpleStatementLine) or not ends:
            return self.line(self.span(node)[1])
        return self.line(max(span.start + span.length for span in ends))

    def unit_at(self, line: int) -> Unit | None:
        """The statement whose own lines hold `line`, else the nearest one before it."""
        holding = [unit for unit in self.units if unit.first_line <= line <= unit.last_line]
        before = [unit for unit in self.units if unit.first_line <= line]
        found = holding or before
        return found[-1] if found else None

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where a node's text begins and ends; its own parentheses are outside."""
        span = self._spans[node]
        return span.start, span.start + span.length

    def outer_span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where a node's text begins and ends, its own parentheses included."""
        start, end = self.span(node)
        for _ in getattr(node, "lpar", ()):
            start, end = self.data.rfind(b"(", 0, start), self.data.find(b")", end) + 1
        return start, end

    def has(self, node: cst.CSTNode) -> bool:
        """Whether the node has text of its own here."""
        return node in self._spans

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node around; the module is its own."""
        return self._parents.get(node, self.tree)

    def text(self, start: int, end: int) -> str:
        """The source between two offsets."""
        return self.data[start:end].decode()

    def line(self, offset: int) -> int:
        """The module's line at an offset."""
        return self.extent.first_line + self.data.count(b"\n", self.prefix, max(offset, self.prefix))

    def line_start(self, offset: int) -> int:
        """The offset at which the line of `offset` begins."""
        return self.data.rfind(b"\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """The offset behind the newline that ends the line of `offset`."""
        found = self.data.find(b"\n", offset)
        return len(self.data) if found < 0 else found + 1

    def edited(self, splices: Sequence[Splice]) -> bytes:
        """The wrapped text with the splices made."""
        return spliced(self.data, splices)

    def module_source(self, edited: bytes, imports: Sequence[str]) -> str:
        """The whole module with this region's text replaced and lines added to its imports."""
        end = self.start + len(self.data) - self.prefix
        splices = [Splice(self.start, end, edited[self.prefix :].decode())]
        if imports:
            offset, before, behind = self.module.import_place()
            at = offset if offset <= self.start else max(offset, end)
            splices.append(Splice(at, at, before + "".join(f"{line}\n" for line in imports) + behind))
        return spliced(self.module.data, splices).decode()
