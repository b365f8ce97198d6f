"""Which test files reach a module through imports, read from the source. Pure.

A name is resolved to every file that it may mean, so the answer errs towards more tests, never towards fewer that a
plain `import` would reach; what is only reached in other ways (plugins, subprocesses) is not seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from workers.review.detectors.rules import is_test_path
from workers.review.source import parsed

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
        self._tests = {path for path in sources if _is_test_file(path)}

    def tests_of(self, path: str) -> tuple[str, ...]:
        """The test files that reach `path`, itself included; empty when none does or it is better to run them all."""
        found = self._reaching(path)
        return tuple(sorted(found)) if len(found) <= MAX_TEST_FILES else ()

    def _reaching(self, path: str) -> set[str]:
        reached, waiting = {path}, [path]
        while waiting:
            for importer in self._importers.get(waiting.pop(), set()) - reached:
                reached.add(importer)
                waiting.append(importer)
        return (reached & self._tests) | self._below_conftests(reached)

    def _below_conftests(self, reached: set[str]) -> set[str]:
        parents = {PurePosixPath(path).parent for path in reached if PurePosixPath(path).name == "conftest.py"}
        return {test for test in self._tests if not parents.isdisjoint(PurePosixPath(test).parents)}


def _is_test_file(path: str) -> bool:
    name = PurePosixPath(path).name
    return is_test_path(path) and (name.startswith("test_") or name.endswith("_test.py"))


def _module(path: str) -> tuple[str, ...]:
    """The parts of the dotted name of the file, seen from the root of the repository."""
    parts = PurePosixPath(path).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _files_by_name(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Every file by each name that it can be imported under: where the import root lies is not known."""
    named: dict[str, set[str]] = {}
    for path in sources:
        parts = _module(path)
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
