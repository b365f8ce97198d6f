"""Which lines may be at fault: coverage spectra, traceback, and what the failing tests speak of.

Spectrum-based localisation with Ochiai's coefficient (Abreu, Zoeteweij and van Gemund 2007, "On the accuracy of
spectrum-based fault localization"), fused with how near a line is to the error's traceback.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from memory.model import Failure, Family
from workers.repair.classify import clues_of, is_test_path
from workers.repair.engines.search.candidates import Suspect, likeness
from workers.repair.engines.search.project import module_name
from workers.repair.engines.search.scope import FunctionNode, called, own_nodes, parsed


def body_line(function: FunctionNode) -> int:
    """The first line of a function's body."""
    return max(function.lineno + 1, function.body[0].lineno)


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


class Outlines:
    """Syntax trees of the sources, read when first asked for; what does not parse has none, and nothing in it."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._nodes: dict[str, list[ast.AST]] = {}
        self._functions: dict[str, list[FunctionNode]] = {}
        self._statements: dict[str, dict[int, range]] = {}
        self._definitions: dict[tuple[str, int], tuple[int, ...]] = {}

    def nodes(self, path: str) -> list[ast.AST]:
        """Every node of a source, parents before their children."""
        if path not in self._nodes:
            tree = parsed(self._sources.get(path, ""))
            self._nodes[path] = list(ast.walk(tree)) if tree else []
        return self._nodes[path]

    def functions(self, path: str) -> list[FunctionNode]:
        """Every function of a source, however deep."""
        if path not in self._functions:
            self._functions[path] = [node for node in self.nodes(path) if isinstance(node, FunctionNode)]
        return self._functions[path]

    def classes(self, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
        """The classes of a name, with their sources' paths."""
        for path in [path for path, text in self._sources.items() if f"class {name}" in text]:
            yield from ((path, n) for n in self.nodes(path) if isinstance(n, ast.ClassDef) and n.name == name)

    def functions_at(self, path: str, line: int) -> list[FunctionNode]:
        """The functions around a line."""
        return [f for f in self.functions(path) if f.body[0].lineno <= line <= (f.end_lineno or f.lineno)]

    def function_lines(self, path: str, line: int) -> range:
        """The body of the innermost function around a line."""
        around = max(self.functions_at(path, line), key=lambda f: f.lineno, default=None)
        return range(body_line(around), (around.end_lineno or around.lineno) + 1) if around else range(0)

    def loop_headers(self, path: str, line: int) -> list[int]:
        """The lines of the `while` statements around a line, within its function."""
        around = max(self.functions_at(path, line), key=lambda f: f.lineno, default=None)
        loops = [node for node in ast.walk(around) if isinstance(node, ast.While)] if around else []
        return [loop.lineno for loop in loops if loop.lineno <= line <= (loop.end_lineno or loop.lineno)]

    def named_lines(self) -> Iterator[tuple[str, tuple[str, int]]]:
        """Every function's name with each line of its body; a class's name means its `__init__`."""
        for path in self._sources:
            for function in self.functions(path):
                for line in range(function.body[0].lineno, (function.end_lineno or function.lineno) + 1):
                    yield function.name, (path, line)

    def statement_lines(self, path: str, line: int) -> range:
        """The lines of the innermost statement around; of a compound one, its header's."""
        if path not in self._statements:
            self._statements[path] = _statement_map(self.nodes(path))
        return self._statements[path].get(line, range(line, line + 1))

    def definitions(self, path: str, function: FunctionNode) -> tuple[int, ...]:
        """Lines outside the function that assign names or attributes which it reads."""
        key = (path, function.lineno)
        if key not in self._definitions:
            nodes = list(own_nodes(function))
            names = {n.id for n in nodes if isinstance(n, ast.Name)} | {
                n.attr for n in nodes if isinstance(n, ast.Attribute)
            }
            self._definitions[key] = tuple(line for name, line in self._constants(path) if name in names)
        return self._definitions[key]

    def _constants(self, path: str) -> Iterator[tuple[str, int]]:
        blocks = [node.body for node in self.nodes(path)[:1] if isinstance(node, ast.Module)]
        while blocks:
            for node in blocks.pop(0):
                if isinstance(node, ast.ClassDef):
                    blocks.append(node.body)
                elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                    yield from ((name, node.lineno) for name in defined(node))


def _statement_map(nodes: Iterable[ast.AST]) -> dict[int, range]:
    lines: dict[int, range] = {}
    for node in nodes:
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            body = getattr(node, "body", None)
            last = node.end_lineno or node.lineno
            header = last if not body else max(node.lineno, min(body[0].lineno - 1, last))
            # Parents come before their children here, so the innermost statement has the last word.
            lines.update(dict.fromkeys(range(node.lineno, header + 1), range(node.lineno, header + 1)))
    return lines


Lines = dict[tuple[str, int], float]

SPECTRUM, TRACE, MENTION = 0.55, 0.35, 0.1
"""Shares of the three sources in a line's score; they sum to 1."""

OUTWARD = 0.75
"""What a frame is worth compared with the one inside it."""

SAME_FUNCTION = 0.3
"""What a line is worth when only its function is in the traceback."""

HEADER, DEFINITION = 0.6, 0.45
"""What a function's header, and a constant's definition, are worth beside the lines that use them."""

CONSTRUCTOR = 0.9
"""What the header of `__init__` is worth when its class lacks an attribute: something else raised, but it forgot."""

ORACLE = 0.3
"""What is left to lines that decide whether an assertion holds; see `_lowered`."""

_ORACLES = frozenset(
    {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__repr__", "__bool__", "__contains__"}
)

_LOCATED = re.compile(r"\(?([\w./-]+\.py)\"?, line (\d+)")


def suspects(
    failure: Failure,
    lines: Mapping[str, Mapping[str, frozenset[int]]],
    passing: Collection[str],
    *,
    sources: Mapping[str, str],
) -> list[Suspect]:
    """Lines that may be at fault, likeliest first; only Python files of `sources` that are no tests.

    `lines` holds, by test id and path, the lines that a test ran; without it the traceback alone speaks.
    A score goes to every line of the innermost statement around.
    """
    blamed = {path: text for path, text in sources.items() if path.endswith(".py") and not is_test_path(path)}
    outlines = Outlines(blamed)
    spectrum = _spectrum(failure, lines, passing)
    trace = _trace(failure, outlines)
    mention = _mentions(failure, sources, outlines) if spectrum or not trace else {}
    scores = _fused(spectrum, trace, mention, covered=bool(spectrum))
    scores = {key: score for key, score in scores.items() if key[0] in blamed}
    _raise(scores, _asked_for(failure, blamed))
    _raise(scores, _constructors(failure, outlines))
    _raise(scores, _outside(scores, outlines))
    scores = _lowered(scores, failure, sources, outlines)
    spread = _spread(scores, outlines)
    ordered = sorted(spread.items(), key=lambda item: (-item[1], item[0]))
    return [Suspect(path=path, line=line, score=min(1.0, score)) for (path, line), score in ordered if score > 0]


def _spectrum(failure: Failure, lines: Mapping[str, Mapping[str, frozenset[int]]], passing: Collection[str]) -> Lines:
    """Ochiai's coefficient of every line: failed(line) / sqrt(failed * (failed(line) + passed(line)))."""
    failed = [lines[test] for test in failure.failing_tests if test in lines]
    passed = [lines[test] for test in dict.fromkeys(passing) if test in lines and test not in failure.failing_tests]
    hit_failed, hit_passed = _hits(failed), _hits(passed)
    return {
        key: count / math.sqrt(len(failed) * (count + hit_passed.get(key, 0.0))) for key, count in hit_failed.items()
    }


def _hits(runs: Collection[Mapping[str, frozenset[int]]]) -> Lines:
    hits: Lines = {}
    for run in runs:
        for path, numbers in run.items():
            for line in numbers:
                hits[path, line] = hits.get((path, line), 0.0) + 1.0
    return hits


def _trace(failure: Failure, outlines: Outlines) -> Lines:
    """The traceback's lines, falling outwards, and a little for the rest of their functions.

    Where a test never ended, the condition of the loop that it was in is as suspect as the line that it happened to be on.
    """
    scores: Lines = {}
    frames = [frame for frame in failure.frames if not is_test_path(frame.path)]
    worth = 1.0
    for frame in reversed(frames):
        _raise(scores, {(frame.path, frame.line): worth})
        _raise(
            scores, {(frame.path, n): worth * SAME_FUNCTION for n in outlines.function_lines(frame.path, frame.line)}
        )
        if failure.family is Family.TIMEOUT:
            _raise(scores, {(frame.path, header): worth for header in outlines.loop_headers(frame.path, frame.line)})
        worth *= OUTWARD
    if not frames and (located := _LOCATED.search(failure.message)):
        _raise(scores, {(located.group(1), int(located.group(2))): 1.0})
    return scores


def _mentions(failure: Failure, sources: Mapping[str, str], outlines: Outlines) -> Lines:
    """Lines of functions whose names the failing tests use or bear."""
    words: set[str] = set()
    for path, last in _tests(failure):
        words.update((last, last.removeprefix("test_")))
        words.update(_used_in(sources.get(path, ""), last))
    return {key: 1.0 for name, key in outlines.named_lines() if name in words}


def _tests(failure: Failure) -> Iterator[tuple[str, str]]:
    """The failing tests' paths and functions."""
    for test in failure.failing_tests:
        path, _, name = test.partition("::")
        yield path, name.rpartition("::")[2].partition("[")[0]


def _used_in(source: str, test: str) -> set[str]:
    tree = parsed(source) or ast.Module(body=[], type_ignores=[])
    found = [n for n in ast.walk(tree) if isinstance(n, FunctionNode) and n.name == test]
    nodes = [node for function in found for node in ast.walk(function)]
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    return names | {n.attr for n in nodes if isinstance(n, ast.Attribute)}


def _fused(spectrum: Lines, trace: Lines, mention: Lines, *, covered: bool) -> Lines:
    keys = dict.fromkeys((*spectrum, *trace, *(() if covered else mention)))
    if not covered:
        # No spectrum: the traceback speaks alone, and what the test mentions only where there is none.
        return {key: trace.get(key, 0.0) or 0.4 * mention.get(key, 0.0) for key in keys}
    return {
        key: SPECTRUM * spectrum.get(key, 0.0) + TRACE * trace.get(key, 0.0) + MENTION * mention.get(key, 0.0)
        for key in keys
    }


def _asked_for(failure: Failure, sources: Mapping[str, str]) -> Lines:
    """The top-level definitions of a module that lacks an imported name."""
    clues = clues_of(failure)
    wanted, module = (clues.imported, clues.source) if clues.imported else (clues.attribute, clues.owner)
    if not wanted or failure.family not in (Family.IMPORT, Family.ATTRIBUTE):
        return {}
    path = next((path for path in sources if module_name(path) == module), "")
    outline = parsed(sources.get(path, ""))
    named = [(name, node.lineno) for node in (outline.body if outline else ()) for name in defined(node)]
    return {(path, line): 0.9 * likeness(name, wanted) for name, line in named}


def _constructors(failure: Failure, outlines: Outlines) -> Lines:
    """The `__init__` of the class that lacks an attribute, and of its bases: what should have set it."""
    clues, seen = clues_of(failure), set[str]()
    found: Lines = {}
    queue = [clues.owner.rpartition(".")[2]] if clues.attribute and failure.family is Family.ATTRIBUTE else []
    while queue:
        name = queue.pop()
        for path, node in outlines.classes(name) if name and name not in seen else ():
            queue.extend(base.id for base in node.bases if isinstance(base, ast.Name))
            for function in node.body:
                if isinstance(function, ast.FunctionDef) and function.name == "__init__":
                    body = outlines.function_lines(path, function.body[0].lineno)
                    _raise(found, {(path, line): CONSTRUCTOR * HEADER for line in body})
                    _raise(found, {(path, function.lineno): CONSTRUCTOR})
        seen.add(name)
    return found


def _lowered(scores: Lines, failure: Failure, sources: Mapping[str, str], outlines: Outlines) -> Lines:
    """Less for what an assertion itself calls: equality, order, truth, and functions reached only through them.

    Nearly any edit there makes every assertion pass, right or wrong: it weakens the oracle rather than mending what it
    judges. Such lines stay suspects, and keep their scores where there are no others.
    """
    if failure.family is not Family.ASSERTION:
        return scores
    judging = _judging(failure, {path for path, _ in scores}, sources, outlines)
    if judging.issuperset(scores):
        return scores
    return {key: score * ORACLE if key in judging else score for key, score in scores.items()}


def _judging(
    failure: Failure, paths: Collection[str], sources: Mapping[str, str], outlines: Outlines
) -> set[tuple[str, int]]:
    """The lines of the methods that assertions call, and of functions that nothing else speaks of."""
    used = {name for path, test in _tests(failure) for name in _used_in(sources.get(path, ""), test)}
    # A test that asks for the text compares it with a literal: `__repr__` is then what is judged, not the judge.
    names = _ORACLES - ({"__repr__"} if used & {"repr", "str", "format"} else set())
    functions = [(path, f) for path in sorted(paths) for f in outlines.functions(path)]
    while True:
        judges = [(path, f) for path, f in functions if f.name in names]
        lines = {(path, n) for path, f in judges for n in range(f.lineno, (f.end_lineno or f.lineno) + 1)}
        calls = {called(node) for _, function in judges for node in ast.walk(function)} - names
        only = {
            f.name
            for _, f in functions
            if f.name in calls and not f.name.startswith("__") and _only_within(lines, f.name, sources)
        }
        if not only:
            return lines
        names |= only


def _only_within(lines: Collection[tuple[str, int]], name: str, sources: Mapping[str, str]) -> bool:
    """Whether a name occurs on these lines only, its definitions aside; a comment elsewhere counts as a use."""
    use = re.compile(rf"(?<!def )\b{re.escape(name)}\b")
    texts = ((path, text) for path, text in sources.items() if path.endswith(".py") and name in text)
    return all(
        (path, number) in lines
        for path, text in texts
        for number, line in enumerate(text.split("\n"), start=1)
        if name in line and use.search(line)
    )


def _outside(scores: Lines, outlines: Outlines) -> Lines:
    """Lines that ran at import time, unseen by the tests' coverage: headers of suspected functions, constants they use."""
    found: Lines = {}
    for (path, line), score in scores.items():
        for function in outlines.functions_at(path, line):
            _raise(found, {(path, header): HEADER * score for header in range(function.lineno, body_line(function))})
            for definition in outlines.definitions(path, function):
                _raise(found, {(path, definition): DEFINITION * score})
    return found


def _spread(scores: Lines, outlines: Outlines) -> Lines:
    """Every line of a statement gets the statement's best score."""
    spread: Lines = {}
    for (path, line), score in scores.items():
        _raise(spread, {(path, n): score for n in outlines.statement_lines(path, line)})
    return spread


def _raise(scores: Lines, others: Mapping[tuple[str, int], float]) -> None:
    for key, score in others.items():
        scores[key] = max(score, scores.get(key, 0.0))
