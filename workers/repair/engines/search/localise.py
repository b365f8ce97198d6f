"""Which lines may be at fault: coverage spectra, traceback, and what the failing tests speak of.

Spectrum-based localisation with Ochiai's coefficient (Abreu, Zoeteweij and van Gemund 2007, "On the accuracy of
spectrum-based fault localization"), fused with how near a line is to the error's traceback.
"""

import ast
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from memory.model import Failure, Family
from workers.line_matching import differing_lines
from workers.repair.candidates import Suspect
from workers.repair.classify import belongs_to_tests, clues_of
from workers.repair.engines.search.option_weights import similarity
from workers.repair.engines.search.scope import BINDING, defined, stored_names
from workers.repair.outline import (
    FunctionNode,
    Outline,
    Outlines,
    asked_for_values,
    body_lines,
    called,
    elifs_after,
    falls_off,
    is_within,
    last_line,
    own_nodes,
)
from workers.sandbox.checkout_files import module_name

Key = TypeVar("Key")
Lines = dict[tuple[str, int], float]

SPECTRUM, TRACE, MENTION = 0.55, 0.35, 0.1
"""Shares of the three sources in a line's score; they sum to 1."""

OUTWARD = 0.75
"""What a frame is worth compared with the one inside it."""

SAME_FUNCTION = 0.3
"""What a line is worth when only its function is in the traceback."""

HEADER, DEFINITION = 0.6, 0.45
"""What a function's header, and a constant's definition, are worth beside the lines that use them."""

DECIDES, BINDS = 0.8, 0.65
"""What the condition around a line is worth beside it, and what binds a name that the condition reads, or decides whether
that runs: a line that failing tests alone run is seldom at fault itself."""

UNRETURNED = 0.9
"""What the header of a function is worth beside the likeliest line that gives a value in one place and none at its end. Of
6,051 functions of 28 projects that give one, 76 end so; where the failure speaks of None, one that is asked for a value."""

CALLED_AFTER = 0.8
"""What the header of a function is worth that failing tests are called after and do not run: it may be called otherwise."""

CONSTRUCTOR = 0.9
"""What the header of `__init__` is worth when its class lacks an attribute: something else raised, but it forgot."""

NAMED_MODULE = 0.3
"""What the lines of a module are worth of which only its name is known."""

UNCHANGED = 0.4
"""What is left to other lines where a change broke the tests: it brought the fault, or else laid it bare."""

ORACLE = 0.3
"""What is left to lines that decide whether an assertion holds; see `_lowered`."""

MAX_NAMED = 5000
"""How many lines below a package that a test names may be suspected."""

_ORACLES = frozenset(
    {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__repr__", "__bool__", "__contains__"}
)

_LOCATED = re.compile(r"(?<![\w./-])([\w./-]+\.py)\"?, line (\d{1,9})")


def suspects(
    failure: Failure,
    lines: Mapping[str, Mapping[str, frozenset[int]]],
    passing: Collection[str],
    *,
    sources: Mapping[str, str],
    before: Mapping[str, bytes | None] = {},
) -> list[Suspect]:
    """Lines that may be at fault, likeliest first; only Python files of `sources` that are no tests.

    `lines` holds, by test id and path, the lines that a test ran; without it the traceback alone speaks.
    A score goes to every line of the innermost statement around. `before` holds the files of a change that broke the tests,
    as they had been, None for new ones.
    """
    blamed = {path: text for path, text in sources.items() if path.endswith(".py") and not belongs_to_tests(path)}
    outlines = {path: Outline(text) for path, text in blamed.items()}
    spectrum, trace = _spectrum(failure, lines, passing), _trace(failure, outlines)
    used = _used(failure, sources)
    mention = _mentions(failure, used, outlines) if spectrum or not trace else {}
    scores = {key: score for key, score in _fused(spectrum, trace, mention).items() if key[0] in blamed}
    scores = scores or _named_modules(failure, sources, outlines)
    _raise(scores, _likely_definitions(failure, outlines))
    _raise(scores, _constructors(failure, outlines))
    _raise(scores, _deciding(scores, outlines))
    _raise(scores, _outside(failure, scores, outlines))
    _raise(scores, _named_by_tests(failure, scores, outlines))
    if failure.family is Family.ASSERTION:
        scores = _lowered(scores, used, sources, outlines)
    former = {path: (before[path] or b"").decode(errors="replace") for path in blamed.keys() & before.keys()}
    changed = {path: differing_lines(text, blamed[path]) for path, text in former.items()}
    spread = _of_change(_spread(scores, outlines), changed)
    ordered = sorted(spread.items(), key=lambda item: (-item[1], item[0]))
    return [Suspect(path=path, line=line, score=min(1.0, score)) for (path, line), score in ordered if score > 0]


def _spectrum(failure: Failure, lines: Mapping[str, Mapping[str, frozenset[int]]], passing: Collection[str]) -> Lines:
    """Ochiai's coefficient of every line: failed(line) / sqrt(failed * (failed(line) + passed(line)))."""
    failed = [lines[test] for test in failure.failing_tests if test in lines]
    passed = [lines[test] for test in dict.fromkeys(passing) if test in lines and test not in failure.failing_tests]
    hit_failed, hit_passed = _hits(failed), _hits(passed)
    return {key: count / math.sqrt(len(failed) * (count + hit_passed[key])) for key, count in hit_failed.items()}


def _hits(runs: Collection[Mapping[str, frozenset[int]]]) -> Counter[tuple[str, int]]:
    return Counter((path, line) for run in runs for path, numbers in run.items() for line in numbers)


def _trace(failure: Failure, outlines: Outlines) -> Lines:
    """The traceback's lines, falling outwards, and a little for the rest of their functions.

    Where a test never ended, the condition of the loop that it was in is as suspect as the line that it happened to be on.
    """
    scores: Lines = {}
    frames = [frame for frame in failure.frames if not belongs_to_tests(frame.path)]
    worth = 1.0
    for frame in reversed(frames):
        _raise(scores, {(frame.path, frame.line): worth})
        for function in outlines[frame.path].functions_at(frame.line)[:1] if frame.path in outlines else ():
            _raise(scores, {(frame.path, n): worth * SAME_FUNCTION for n in body_lines(function)})
            if failure.family is Family.TIMEOUT:
                loops = [node for node in ast.walk(function) if isinstance(node, ast.While)]
                headers = [loop.lineno for loop in loops if loop.lineno <= frame.line <= last_line(loop)]
                _raise(scores, {(frame.path, header): worth for header in headers})
        worth *= OUTWARD
    if not frames and (located := _LOCATED.search(failure.message)):
        _raise(scores, {(located.group(1), int(located.group(2))): 1.0})
    return scores


def _mentions(failure: Failure, used: set[str], outlines: Outlines) -> Lines:
    """Lines of functions whose names the failing tests use or bear."""
    tests = {test for _, test in _tests(failure)}
    words = used | tests | {test.removeprefix("test_") for test in tests}
    named = [(path, f) for path, outline in outlines.items() for f in outline.functions if f.name in words]
    return {(path, line): 1.0 for path, f in named for line in range(f.body[0].lineno, last_line(f) + 1)}


def _tests(failure: Failure) -> Iterator[tuple[str, str]]:
    """The failing tests' paths and functions."""
    for test in failure.failing_tests:
        path, _, name = test.partition("::")
        yield path, name.rpartition("::")[2].partition("[")[0]


def _used(failure: Failure, sources: Mapping[str, str]) -> set[str]:
    """The names and attributes in the failing tests."""
    outlines = {path: Outline(sources.get(path, "")) for path, _ in _tests(failure)}
    tests = [f for path, test in _tests(failure) for f in outlines[path].functions if f.name == test]
    return _words(node for function in tests for node in ast.walk(function))


def _named_modules(failure: Failure, sources: Mapping[str, str], outlines: Outlines) -> Lines:
    """Where nothing else speaks: the modules that the failing tests' files name, and below these, if that is not very much."""
    tests = [Outline(sources.get(path, "")) for path in dict.fromkeys(path for path, _ in _tests(failure))]
    nodes = [node for outline in tests for node in outline.nodes]
    words = {alias.name for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}
    words |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    words |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    around = {each for word in words for each in _packages(word)}
    named = {path for path in outlines if not around.isdisjoint((path, path.rpartition("/")[2], module_name(path)))}
    below = {path for path in outlines if _packages(module_name(path)) & words}
    own, all_of_them = (
        {(path, line): NAMED_MODULE for path in paths for line in outlines[path].statements}
        for paths in (named, named | below)
    )
    return own if own and len(all_of_them) > MAX_NAMED else all_of_them


def _packages(module: str) -> set[str]:
    """A module's dotted name and those of the packages around it."""
    parts = module.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def _fused(spectrum: Lines, trace: Lines, mention: Lines) -> Lines:
    if not spectrum:
        # The traceback speaks alone, and what the test mentions only where there is none.
        return {key: trace.get(key, 0.0) or 0.4 * mention[key] for key in (*trace, *mention)}
    return {
        key: SPECTRUM * spectrum.get(key, 0.0) + TRACE * trace.get(key, 0.0) + MENTION * mention.get(key, 0.0)
        for key in (*spectrum, *trace)
    }


def _likely_definitions(failure: Failure, outlines: Outlines) -> Lines:
    """The top-level definitions of a module that lacks an imported name."""
    clues = clues_of(failure)
    wanted, module = (clues.imported, clues.source) if clues.imported else (clues.attribute, clues.owner)
    if not wanted or failure.family not in (Family.IMPORT, Family.ATTRIBUTE):
        return {}
    path = next((path for path in outlines if module_name(path) == module), "")
    named = [(name, node.lineno) for node in (outlines[path].body if path else ()) for name in defined(node)]
    return {(path, line): 0.9 * similarity(name, wanted) for name, line in named}


def _constructors(failure: Failure, outlines: Outlines) -> Lines:
    """The `__init__` of the class that lacks an attribute, and of its bases: what should have set it."""
    clues, seen = clues_of(failure), set[str]()
    found: Lines = {}
    queue = [clues.owner.rpartition(".")[2]] if clues.attribute and failure.family is Family.ATTRIBUTE else []
    while queue:
        name = queue.pop()
        for path, node in _classes(outlines, name) if name and name not in seen else ():
            queue.extend(base.id for base in node.bases if isinstance(base, ast.Name))
            for function in node.body:
                if isinstance(function, ast.FunctionDef) and function.name == "__init__":
                    _raise(found, {(path, line): CONSTRUCTOR * HEADER for line in body_lines(function)})
                    _raise(found, {(path, function.lineno): CONSTRUCTOR})
        seen.add(name)
    return found


def _deciding(scores: Lines, outlines: Outlines) -> Lines:
    """The lines that decide whether a suspected one runs: a backward slice (Weiser 1981), cut short after bindings."""
    within: dict[tuple[str, FunctionNode], dict[int, float]] = {}
    for (path, line), score in scores.items():
        for function in outlines[path].functions_at(line)[:1]:
            within.setdefault((path, function), {})[line] = score
    found: Lines = {}
    for (path, function), lines in within.items():
        nodes = list(own_nodes(function))
        conditions = [node for node in nodes if isinstance(node, ast.If | ast.While)]
        innermost: dict[ast.If | ast.While, float] = {}
        for line, score in lines.items():
            around = [condition for condition in conditions if is_within(condition, line)]
            _raise(innermost, dict.fromkeys(around[-1:], score))
        for condition, score in innermost.items():
            read = _words(ast.walk(condition.test))
            earlier = [
                n for n in nodes if isinstance(n, BINDING) and n.lineno < condition.lineno and stored_names(n) & read
            ]
            deciding = [each for n in earlier for each in conditions if is_within(each, n.lineno)]
            _raise(found, {(path, node.lineno): BINDS * score for node in (*earlier, *deciding)})
            _raise(found, {(path, node.lineno): DECIDES * score for node in (condition, *elifs_after(condition))})
    return found


def _classes(outlines: Outlines, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """The classes of a name, with their sources' paths."""
    for path, outline in outlines.items():
        nodes = outline.nodes if f"class {name}" in outline.source else ()
        yield from ((path, node) for node in nodes if isinstance(node, ast.ClassDef) and node.name == name)


def _lowered(scores: Lines, used: set[str], sources: Mapping[str, str], outlines: Outlines) -> Lines:
    """Less for what an assertion itself calls: equality, order, truth, and functions reached only through them.

    Nearly any edit there makes every assertion pass, right or wrong: it weakens the oracle rather than repairing what it
    judges. Such lines stay suspects, and keep their scores where there are no others.
    """
    judging = _judging(used, {path for path, _ in scores}, sources, outlines)
    if judging.issuperset(scores):
        return scores
    return {key: score * ORACLE if key in judging else score for key, score in scores.items()}


def _judging(
    used: set[str], paths: Collection[str], sources: Mapping[str, str], outlines: Outlines
) -> set[tuple[str, int]]:
    """The lines of the methods that assertions call, and of functions that nothing else speaks of."""
    # A test that asks for the text compares it with a literal: `__repr__` is then what is judged, not the judge.
    names = _ORACLES - ({"__repr__"} if used & {"repr", "str", "format"} else set())
    functions = [(path, f) for path in sorted(paths) for f in outlines[path].functions]
    while True:
        judges = [(path, f) for path, f in functions if f.name in names]
        lines = {(path, n) for path, f in judges for n in range(f.lineno, last_line(f) + 1)}
        calls = {called(node) for _, function in judges for node in ast.walk(function)} - names
        inner = {f.name for _, f in functions if f.name in calls and not f.name.startswith("__")}
        only = {name for name in inner if _only_within(lines, name, sources)}
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


def _outside(failure: Failure, scores: Lines, outlines: Outlines) -> Lines:
    """Lines that ran at import time, unseen by the tests' coverage: headers of suspected functions, constants they use.

    A constant in capitals counts wherever it is defined, as one of a base class or of a module of settings is.
    """
    likeliest = max(scores.values(), default=0.0)
    suspected: dict[tuple[str, FunctionNode], float] = {}
    for (path, line), score in scores.items():
        _raise(suspected, {(path, function): score for function in outlines[path].functions_at(line)})
    found: Lines = {}
    capitals: dict[str, float] = {}
    constants = {path: _constants(outlines[path].body) for path in {path for path, _ in suspected}}
    asked = asked_for_values(function for _, function in suspected) if "None" in failure.message else set()
    for (path, function), score in suspected.items():
        _raise(found, {(path, header): HEADER * score for header in range(function.lineno, body_lines(function).start)})
        read = _words(own_nodes(function))
        _raise(found, {(path, line): DEFINITION * score for name in read for line in constants[path].get(name, ())})
        _raise(capitals, {name: DEFINITION * score for name in read if name.isupper()})
        _raise(found, {(path, function.lineno): UNRETURNED * likeliest} if falls_off(function, asked) else {})
    _raise(found, _assigned(capitals, outlines))
    return found


def _named_by_tests(failure: Failure, scores: Lines, outlines: Outlines) -> Lines:
    """The headers of functions that failing tests are called after and do not run: `test_load_all_waits` speaks of `load_all`.

    A single word says too little.
    """
    parts = [name.removeprefix("test_").split("_") for _, name in _tests(failure)]
    begun = {"_".join(words[:count]) for words in parts for count in range(2, len(words) + 1)}
    named = [(path, f) for path, outline in outlines.items() for f in outline.functions if f.name in begun]
    longest = max((len(f.name) for _, f in named), default=0)
    likeliest = max(scores.values(), default=0.0)
    return {
        (path, f.lineno): CALLED_AFTER * likeliest
        for path, f in named
        if len(f.name) == longest and not any((path, line) in scores for line in body_lines(f))
    }


def _assigned(worth: Mapping[str, float], outlines: Outlines) -> Lines:
    """The lines that begin with an assignment to one of these names, with what each is worth."""
    assigned = re.compile(rf"^[ \t]*({'|'.join(map(re.escape, worth))})\b[^=\n]*=(?!=)", re.MULTILINE)
    texts = {path: outline.source for path, outline in outlines.items()} if worth else {}
    found = ((path, match) for path, text in texts.items() for match in assigned.finditer(text))
    return {(path, match.string.count("\n", 0, match.start(1)) + 1): worth[match[1]] for path, match in found}


def _spread(scores: Lines, outlines: Outlines) -> Lines:
    """Every line of a statement gets the statement's best score."""
    spread: Lines = {}
    for (path, line), score in scores.items():
        lines = outlines[path].statements.get(line, range(line, line + 1))
        _raise(spread, {(path, n): score for n in lines})
    return spread


def _of_change(scores: Lines, changed: Mapping[str, frozenset[int]]) -> Lines:
    """More for the lines of a change, the likeliest of which is as suspect as a line can be, and less for all others."""
    touched = {key: score for key, score in scores.items() if key[1] in changed.get(key[0], ())}
    likeliest = max(touched.values(), default=0.0)
    if not likeliest:
        return scores
    return {k: touched[k] / likeliest if k in touched else UNCHANGED * score for k, score in scores.items()}


def _raise(scores: dict[Key, float], others: Mapping[Key, float]) -> None:
    for key, score in others.items():
        scores[key] = max(score, scores.get(key, 0.0))


def _constants(body: Iterable[ast.stmt]) -> dict[str, list[int]]:
    """What assignments outside functions define, with their lines."""
    found: dict[str, list[int]] = {}
    left = [*body]
    for node in left:
        if isinstance(node, ast.ClassDef):
            left += node.body
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for name in defined(node):
                found.setdefault(name, []).append(node.lineno)
    return found


def _words(nodes: Iterable[ast.AST]) -> set[str]:
    """The names and attributes among nodes."""
    found = list(nodes)
    names = {n.id for n in found if isinstance(n, ast.Name)}
    return names | {n.attr for n in found if isinstance(n, ast.Attribute)}
