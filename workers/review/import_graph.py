"""Which files of a tree import which, read without running them: the tests that reach a changed file."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from memory.parsing import parsed
from workers.diffs import Change
from workers.sandbox.checkout_files import is_test_file

DEEPEST = 30
"""Parts of a module's name: one name for each part of a path, with all parts behind it, is the square of the path."""

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
        """The test files to run for `path`; empty when none reaches it or it is better to run them all."""
        found = self.reaching(path)
        return tuple(sorted(found)) if len(found) <= MAX_TEST_FILES else ()

    def reaching(self, path: str) -> set[str]:
        """The test files that reach `path`, itself included."""
        reached, waiting = {path}, [path]
        while waiting:
            for importer in self._importers.get(waiting.pop(), set()) - reached:
                reached.add(importer)
                waiting.append(importer)
        conftests = {PurePosixPath(each).parent for each in reached if PurePosixPath(each).name == "conftest.py"}
        below = {test for test in self._tests if not conftests.isdisjoint(PurePosixPath(test).parents)}
        return (reached & self._tests) | below


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
    """The test files of the head that reach a changed file, or one that is gone; empty when it is better to run them all."""
    now, before = ImportGraph(head), ImportGraph(base)
    there = {file.path for file in change.files} & head.keys()
    gone = {file.old_path for file in change.files} - head.keys()
    found = {test for path in there for test in now.tests_of(path)}
    found |= {test for path in gone for test in before.tests_of(path)} & head.keys()
    return tuple(sorted(found)) if len(found) <= MAX_TEST_FILES else ()
