"""The project's modules by their import names: who defines what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import PurePosixPath

from workers.repair.classify import is_test_path
from workers.repair.engines.search.examples import Examples, examples_of
from workers.repair.engines.search.scope import ClassScope, Signature, read_classes, read_module


def module_name(path: str) -> str:
    """The dotted name that a file is imported by; a leading `src` is left out."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts and parts[0] in ("src", "lib"):
        parts = parts[1:]
    if parts and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


class ProjectSources:
    """All sources of the project, searched on demand."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = {path: text for path, text in sources.items() if not is_test_path(path)}
        self._tests = {path: text for path, text in sources.items() if is_test_path(path)}
        self._examples: dict[tuple[str, str], Examples] = {}
        self._signatures: dict[str, tuple[Signature, ...]] = {}

    def examples(self, name: str, docstring: str) -> Examples:
        """What the project's tests and a function's docstring show of it; asked once for each."""
        if (name, docstring) not in self._examples:
            self._examples[name, docstring] = examples_of(name, docstring, self._tests)
        return self._examples[name, docstring]

    def signatures(self, name: str) -> tuple[Signature, ...]:
        """The ways to call `name` that the project's modules define; asked once for each."""
        if name not in self._signatures:
            defined = re.compile(rf"\b(?:def|class) {re.escape(name)}\b|\b{re.escape(name)} = (?:\w+\.)?namedtuple\b")
            modules = self._parsed(text for text in self._sources.values() if defined.search(text))
            self._signatures[name] = tuple(dict.fromkeys(s for m in modules for s in read_module(m).signatures(name)))
        return self._signatures[name]

    def defining(self, name: str) -> tuple[str, ...]:
        """Import names of the modules that define `name` at their top level, shortest first."""
        pattern = re.compile(rf"^(?:(?:async )?def |class )?{re.escape(name)}\b\s*[(:=]", re.MULTILINE)
        found = [module_name(path) for path, text in self._sources.items() if pattern.search(text)]
        return tuple(sorted(found, key=lambda module: (module.count("."), module)))

    def modules(self, name: str) -> tuple[str, ...]:
        """Import names of the modules whose last part is `name`."""
        found = [module_name(path) for path in self._sources]
        return tuple(sorted(module for module in found if module.rpartition(".")[2] == name))

    def definitions(self, module: str) -> tuple[str, ...]:
        """What a module defines at its top level."""
        text = next((text for path, text in self._sources.items() if module_name(path) == module), "")
        return tuple(
            dict.fromkeys(re.findall(r"^(?:(?:async )?def |class )?([A-Za-z_]\w*)\b\s*[(:=]", text, re.MULTILINE))
        )

    def classes_having(self, name: str) -> Iterator[ClassScope]:
        """The classes that set, read of themselves, or define an attribute or method of this name."""
        return (scope for scope in self._classes if name in scope.attributes or name in scope.methods)

    @cached_property
    def _classes(self) -> tuple[ClassScope, ...]:
        modules = self._parsed(text for text in self._sources.values() if "class " in text)
        return tuple(scope for module in modules for scope in read_classes(module).values())

    @staticmethod
    def _parsed(texts: Iterable[str]) -> Iterator[ast.Module]:
        for text in texts:
            with suppress(SyntaxError, ValueError, RecursionError):  # what does not parse has nothing to offer
                yield ast.parse(text)
