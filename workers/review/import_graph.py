"""Which files of a tree import which, read without running them: the tests that reach a changed file."""

import ast
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from memory.parsing import parsed
from workers.diffs import Change
from workers.sandbox.checkout_files import is_test_file

DEEPEST = 30
"""Parts of a module's name: one name for each part of a path, with all parts behind it, is the square of the path."""

CONFTEST = "conftest.py"

MAX_TEST_FILES = 100
"""More test files than this are as well run as the whole suite."""


class ImportGraph:
    """Who imports whom among the Python files of a tree (text by path)."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._importers: dict[str, set[str]] = {}
        named = _files_by_name(sources)
        for path, text in sources.items():
            for name in _imported(path, text):
                for target in _resolved(name, named):
                    self._importers.setdefault(target, set()).add(path)
        self._tests = {path for path in sources if is_test_file(path)}

    def tests_of(self, path: str) -> tuple[str, ...]:
        """The test files to run for `path`, nearest first; empty when none reaches it or it is better to run them all."""
        return _nearest_first(self.reaching(path), [path])

    def reaching(self, path: str) -> dict[str, int]:
        """The test files that reach `path`, itself included, each with the imports on the shortest way there."""
        reached, waiting = {path: 0}, deque([path])
        while waiting:
            known = waiting.popleft()
            for importer in self._importers.get(known, set()) - reached.keys():
                reached[importer] = reached[known] + 1
                waiting.append(importer)
        conftests = {
            PurePosixPath(each).parent: reached[each] for each in reached if PurePosixPath(each).name == CONFTEST
        }
        for test in self._tests - reached.keys():
            above = [conftests[each] for each in PurePosixPath(test).parents if each in conftests]
            reached |= {test: min(above)} if above else {}
        return {test: reached[test] for test in reached.keys() & self._tests}


def _files_by_name(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Every file by each name that it can be imported under: where the import root lies is not known."""
    named: dict[str, set[str]] = {}
    for path in sources:
        parts = PurePosixPath(path.removesuffix("/__init__.py")).with_suffix("").parts[-DEEPEST:]
        for at in range(len(parts)):
            named.setdefault(".".join(parts[at:]), set()).add(path)
    return named


def _resolved(name: str, named: Mapping[str, set[str]]) -> Iterator[str]:
    """The files that importing `name` runs: the module, and the packages on the way to it."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield from named.get(".".join(parts[:end]), ())


def _imported(path: str, text: str) -> Iterator[str]:
    tree = parsed(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(path, node)
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_dotted(node.value):
            yield node.value  # import_module("pkg.module"), patch("pkg.module.name")


def _base(path: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = PurePosixPath(path).parent.parts
    kept = package[: len(package) - (node.level - 1)]
    return ".".join((*kept, *((node.module,) if node.module else ())))


def _is_dotted(text: str) -> bool:
    return len(text) < 200 and "." in text and all(part.isidentifier() for part in text.split("."))


def reaching_tests(change: Change, head: Mapping[str, str], base: Mapping[str, str]) -> tuple[str, ...]:
    """The test files of the head that reach a changed file, or one that is gone, nearest first; empty when it is better to
    run them all."""
    now, before = ImportGraph(head), ImportGraph(base)
    there = {file.path for file in change.files} & head.keys()
    gone = {file.old_path for file in change.files} - head.keys()
    found: dict[str, int] = {}
    for graph, paths in ((now, there), (before, gone)):
        for reached in (graph.reaching(path) for path in paths):
            if len(reached) <= MAX_TEST_FILES:
                found |= {test: min(away, found.get(test, away)) for test, away in reached.items() if test in head}
    return _nearest_first(found, there | gone)


def _nearest_first(found: Mapping[str, int], changed: Collection[str]) -> tuple[str, ...]:
    """Test files, those first that are named after what is changed; none where they are too many."""
    stems = {PurePosixPath(path).stem for path in changed}
    names = {form for stem in stems for form in (stem, f"test_{stem}", f"{stem}_test", f"test{stem}")}
    order = sorted(found, key=lambda test: (PurePosixPath(test).stem not in names, found[test], test))
    return tuple(order) if len(found) <= MAX_TEST_FILES else ()
