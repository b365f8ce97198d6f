"""The project beyond the edited module: who defines what, and what tests and docstrings show of a function."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from memory.model import Failure
from memory.parsing import parsed
from workers.repair.classify import belongs_to_tests, clues_of
from workers.repair.engines.search.evidence import Evidence, evidence_of
from workers.repair.engines.search.scope import ClassScope, ModuleScope, Signature
from workers.repair.outline import FunctionNode, called
from workers.sandbox.checkout_files import module_name

_DOCTEST = re.compile(r"^[ \t]*>>>[ \t]*(.+)$", re.MULTILINE)
_INTEGER = re.compile(r"(?<![\w.])\d{1,6}(?![\w.]*\w)")
_WORD = re.compile(r"[A-Za-z][\w-]{2,}")
_ORDINALS = {"twice": "2", "half": "2", "double": "2", "first": "1", "second": "2", "third": "3", "three": "3"}
_LONGEST = 60
_METHOD = re.compile(r"^[ \t]+(?:async )?def (\w+)\(", re.MULTILINE)
_DECORATED = re.compile(r"^[ \t]*[@)].*\n[ \t]+(?:async )?def (\w+)\(", re.MULTILINE)
_ASSIGNED = re.compile(r"\b(\w+)(?:: [^\n=]{1,80})? = ")
_DEFINED = r"^(?:(?:async )?def |class )?{}\b\s*[(:=]"
"""Where a name is defined at the top level of a module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """`calls` holds the literal arguments of each call that is shown; `numbers` and `words` are as written.

    `characters` are those of the literal strings, the rarest first: a letter says less than a bracket does.
    """

    calls: tuple[tuple[ast.expr, ...], ...] = ()
    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()
    characters: tuple[str, ...] = ()


def examples_of(name: str, docstring: str, tests: Mapping[str, str]) -> Examples:
    """What the docstring and the texts of the tests show of the function `name`."""
    calls: list[tuple[ast.expr, ...]] = []
    values: list[object] = []
    for text in (*_DOCTEST.findall(docstring), *(text for text in tests.values() if name in text)):
        nodes = _nodes(text.strip())
        names = {name, *_aliases(nodes, name)}
        for node in nodes:
            if isinstance(node, ast.Call) and called(node) in names:
                calls.append(tuple(node.args))
            elif isinstance(node, ast.Constant):
                values.append(node.value)
    strings = [value for value in values if isinstance(value, str)]
    numbers = [str(n) for n in values if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 1000]
    documented = [*_INTEGER.findall(docstring), *(n for word, n in _ORDINALS.items() if word in docstring.lower())]
    counts = Counter("".join(strings[:200]))
    return Examples(
        calls=tuple(calls[:20]),
        numbers=tuple(dict.fromkeys((*documented, *numbers)))[:40],
        words=tuple(dict.fromkeys(_WORD.findall(docstring)))[:200],
        strings=tuple(dict.fromkeys(s for s in strings if len(s) <= _LONGEST and "\n" not in s))[:40],
        characters=tuple(sorted(counts, key=lambda c: (c.isalnum(), -counts[c])))[:16],
    )


@lru_cache(maxsize=64)
def _nodes(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a text: a test file is read for one function after the other."""
    tree = parsed(text)
    return tuple(ast.walk(tree)) if tree is not None else ()


def _aliases(nodes: Sequence[ast.AST], name: str) -> Iterator[str]:
    """Parameters of the test file's own functions that are handed the function itself."""
    own = {node.name: node for node in nodes if isinstance(node, FunctionNode)}
    for node in nodes:
        target = own.get(called(node))
        if isinstance(node, ast.Call) and target is not None:
            for parameter, argument in zip(target.args.args, node.args, strict=False):
                if isinstance(argument, ast.Name) and argument.id == name:
                    yield parameter.arg


def _parsed(texts: Iterable[str]) -> Iterator[ast.Module]:
    """The trees of texts; what does not parse has nothing to offer."""
    return (tree for text in texts if (tree := parsed(text.strip())) is not None)


class ProjectSources:
    """All sources of the project, searched on demand, and its failure."""

    def __init__(self, sources: Mapping[str, str], failure: Failure) -> None:
        self.failure = failure
        self.clues = clues_of(failure)
        self._sources = {path: text for path, text in sources.items() if not belongs_to_tests(path)}
        self._tests = {path: text for path, text in sources.items() if belongs_to_tests(path)}
        self._examples: dict[tuple[str, str], Examples] = {}
        self._signatures: dict[str, tuple[Signature, ...]] = {}

    @cached_property
    def evidence(self) -> Evidence:
        """What the failing tests and the message show."""
        return evidence_of(self.failure, self._tests)

    def examples(self, name: str, docstring: str) -> Examples:
        """What the project's tests and a function's docstring show of it; asked once for each."""
        if (name, docstring) not in self._examples:
            self._examples[name, docstring] = examples_of(name, docstring, self._tests)
        return self._examples[name, docstring]

    def signatures(self, name: str) -> tuple[Signature, ...]:
        """The ways to call `name` that the project's modules define; asked once for each."""
        if name not in self._signatures:
            defined = re.compile(rf"\b(?:def|class) {re.escape(name)}\b|\b{re.escape(name)} = (?:\w+\.)?namedtuple\b")
            modules = _parsed(text for text in self._sources.values() if defined.search(text))
            self._signatures[name] = tuple(dict.fromkeys(s for m in modules for s in ModuleScope(m).signatures(name)))
        return self._signatures[name]

    def defining(self, name: str) -> tuple[str, ...]:
        """Import names of the modules that define `name` at their top level, shortest first."""
        pattern = re.compile(_DEFINED.format(re.escape(name)), re.MULTILINE)
        found = [module_name(path) for path, text in self._sources.items() if pattern.search(text)]
        return tuple(sorted(found, key=lambda module: (module.count("."), module)))

    def modules(self, name: str) -> tuple[str, ...]:
        """Import names of the modules whose last part is `name`."""
        return tuple(sorted(module for module in self._modules if module.rpartition(".")[2] == name))

    def definitions(self, module: str) -> tuple[str, ...]:
        """What a module defines at its top level."""
        text = self._modules.get(module, "")
        return tuple(dict.fromkeys(re.findall(_DEFINED.format(r"([A-Za-z_]\w*)"), text, re.MULTILINE)))

    @cached_property
    def _modules(self) -> Mapping[str, str]:
        """The texts of the modules, by import name."""
        return {module_name(path): text for path, text in self._sources.items()}

    @cached_property
    def methods(self) -> frozenset[str]:
        """The names of methods that are nowhere decorated, as properties are, or assigned."""
        text = "\n".join(self._sources.values())
        return frozenset(_METHOD.findall(text)).difference(_DECORATED.findall(text), _ASSIGNED.findall(text))

    def classes_having(self, name: str) -> Iterator[ClassScope]:
        """The classes that set, read of themselves, or define an attribute or method of this name."""
        return (scope for scope in self._classes if name in scope.attributes or name in scope.methods)

    @cached_property
    def _classes(self) -> tuple[ClassScope, ...]:
        modules = _parsed(text for text in self._sources.values() if "class " in text)
        return tuple(scope for module in modules for scope in ModuleScope(module).classes.values())
