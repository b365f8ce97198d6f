"""What changed code uses that has no place in a repair: ways to the interpreter, the test framework or the report. Pure.

This reads names and proves nothing. It turns a proof into a question. The names are in unusual_names.toml.
"""

import ast
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from memory.parsing import PARSE_ERRORS, older, parse_module, parsed

_LISTED = tomllib.loads(Path(__file__).with_name("unusual_names.toml").read_text(encoding="utf-8"))
PLAIN_MODULES, ODD_MODULES = (frozenset(_LISTED[key].split()) for key in ("plain_modules", "odd_modules"))
PLAIN_ATTRIBUTES = {module: frozenset(names.split()) for module, names in _LISTED["plain_attributes"].items()}
NAMES, ATTRIBUTES, PLAIN_METHODS = (
    frozenset(_LISTED["odd"][k].split()) for k in ("names", "attributes", "plain_methods")
)

UTF_8 = ("utf-8", "utf-8-sig")
TEXTS = re.compile(
    r"/proc\b|pytest|apprentice|conftest|entry_points|__\w+__|\btest_\w|_test\.py\b"
    r"|\b(?:(?:ag|cr|gi)_(?:frame|code)|tb_(?:frame|next)|f_(?:back|globals|locals|builtins|code)|co_consts)\b",
    re.IGNORECASE,
)
"""In a string: files of processes, the test framework, tests, and attributes that are reached by their name."""

OWN_METHOD = re.compile(r"__\w+__")


def unusual(before: bytes, after: bytes) -> tuple[str, ...]:
    """What a changed module uses that is unusual, in words; empty for a plain edit. `before` is empty for a new module.

    What it used before in the very same expression does not count, nor do words of a module that did not parse before.
    """
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(after).readline)
        new = _used(after)
    except PARSE_ERRORS:
        return ("code that cannot be read",)
    if encoding not in UTF_8:
        return (f"code in the encoding {encoding}",)
    try:
        added = new - _used(before)
    except PARSE_ERRORS:
        known = before.decode(errors="replace")
        added = Counter(each for each in new if each[0].rpartition(" ")[2].rpartition(".")[2] not in known)
    return tuple(sorted({words for words, _ in added}))


def _used(text: bytes) -> Counter[tuple[str, str]]:
    """What a module uses, and each piece that this Python cannot read."""
    left_out: tuple[str, ...] = ()
    try:
        tree = parse_module(text)
    except SyntaxError as error:
        if (made := older(text.decode(), error)) is None:
            raise
        tree, left_out = parse_module(made.text), made.left_out
    return Counter(_Usage(tree).all()) + Counter(("syntax that is too new to be read", each) for each in left_out)


OF_TESTS = re.compile(
    r"import (?:pytest|unittest)|from (?:pytest|unittest) import \w+|(?:pytest|unittest)\.\w+|the text .*"
    r"|the module \w+ as a value"
)


def is_plain_test(path: str, text: bytes) -> bool:
    """Whether an added test is a Python file with nothing unusual but what tests are made of."""
    return path.endswith(".py") and all(OF_TESTS.fullmatch(each) for each in unusual(b"", text))


def examples(text: bytes) -> list[str]:
    """The docstrings of a module that hold examples, which may be tests; empty for what cannot be read."""
    tree = parsed(text)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = (ast.get_docstring(node) or "" for node in (ast.walk(tree) if tree else ()) if isinstance(node, kinds))
    return [each for each in found if ">>>" in each]


class _Usage:
    """What one module uses: words, and the whole expression or statement that they are in."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._parents = {id(child): node for node in self._nodes for child in ast.iter_child_nodes(node)}
        imports = [node for node in self._nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
        self._imported = {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
        plain = [alias for node in imports if isinstance(node, ast.Import) for alias in node.names]
        self._modules = {
            a.asname or a.name.partition(".")[0]: a.name if a.asname else a.name.partition(".")[0] for a in plain
        }

    def all(self) -> Iterator[tuple[str, str]]:
        """Everything that is unusual."""
        for node in self._nodes:
            for words in (*self._imports(node), *self._names(node), *self._ways_round(node), *_definitions(node)):
                yield words, self._place(node)

    def _place(self, node: ast.AST) -> str:
        """The expression around a node, calls with their arguments included; for a statement, nothing more."""
        if isinstance(node, ast.stmt):
            return ""
        while isinstance(around := self._parents.get(id(node)), (ast.Attribute, ast.Call, ast.Subscript, ast.keyword)):
            node = around
        return ast.dump(node)

    def _imports(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Import(names=names):
                yield from (f"import {alias.name}" for alias in names if _is_odd_module(alias.name))
            case ast.ImportFrom(module=module, names=names, level=level):
                whole = module or ""
                for name in (alias.name for alias in names):
                    odd = _is_odd_module(whole) and not level
                    odd = odd or _is_odd_of(whole, name) or (_is_part(whole, name) and not level)
                    if odd or name == "*" or name in ("os", "sys") or _is_odd_name(name):
                        yield f"from {whole or '.'} import {name}"

    def _names(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Name(id=name) if name in NAMES:
                yield name
            case ast.Call(func=ast.Name(id="getattr"), args=[_, key, *_]):
                if not isinstance(key, ast.Constant) or key.value in ATTRIBUTES:
                    yield "getattr of an unusual name"
            case ast.Call(func=ast.Name(id="type"), args=[_, _, *_]):
                yield "a class made by a call of type"
            case ast.Attribute(value=ast.Name(id=owner), ctx=ast.Store() | ast.Del()) if owner in self._imported:
                yield f"a change of {owner}, which is imported"
            case ast.Attribute(value=owner, attr=name):
                module = self._modules.get(owner.id, "") if isinstance(owner, ast.Name) else ""
                odd = name in ATTRIBUTES or _is_odd_of(module, name) or _is_part(module, name)
                if odd or _is_odd_module(module) or name in ("os", "sys"):
                    yield f"{module}.{name}" if module else name
            case ast.Constant(value=str() | bytes() as text) if TEXTS.search(str(text)):
                yield f"the text {text!r:.60}"

    def _ways_round(self, node: ast.AST) -> Iterator[str]:
        """What reaches attributes by names that are nowhere written."""
        match node:
            case ast.Name(id="getattr") if not self._is_called(node):
                yield "getattr"
            case ast.Name(id=name) if self._is_module_as_value(node, name):
                yield f"the module {name} as a value"
            case ast.Call(func=ast.Name(id="wraps") | ast.Attribute(attr="wraps"), args=args, keywords=keywords):
                if len(args) != 1 or keywords or isinstance(args[0], ast.Starred):
                    yield "wraps with names of attributes"

    def _is_module_as_value(self, node: ast.AST, name: str) -> bool:
        """Whether a module of the standard library is taken as a whole, to be called otherwise or asked for names."""
        is_module = self._modules.get(name, "").partition(".")[0] in sys.stdlib_module_names
        is_owner = isinstance(self._parents.get(id(node)), ast.Attribute)
        return is_module and not is_owner and not self._is_parameter(node, name)

    def _is_parameter(self, node: ast.AST, name: str) -> bool:
        """Whether a name within the body of a function is that of a parameter of it."""
        while (around := self._parents.get(id(node))) is not None:
            if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                body = around.body if isinstance(around.body, list) else [around.body]
                given = [each for each in ast.iter_child_nodes(around.args) if isinstance(each, ast.arg)]
                if node in body and any(each.arg == name for each in given):
                    return True
            node = around
        return False

    def _is_called(self, node: ast.AST) -> bool:
        around = self._parents.get(id(node))
        return isinstance(around, ast.Call) and around.func is node


def _definitions(node: ast.AST) -> Iterator[str]:
    """Methods that change how objects compare or are reached, whatever gives them their name; hooks of pytest."""
    name = getattr(node, "asname", None) or getattr(node, "name", None)
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
        name = node.id if isinstance(node, ast.Name) else node.attr
    if isinstance(name, str) and OWN_METHOD.fullmatch(name) and name not in PLAIN_METHODS:
        yield f"a meaning of its own for {name}"
    if isinstance(name, str) and name.startswith("pytest_"):
        yield f"a hook of pytest, {name}"
    if isinstance(node, ast.keyword) and node.arg == "metaclass":
        yield "a metaclass"


def _is_odd_module(name: str) -> bool:
    """Whether a module reaches the interpreter or the tests; modules of the project and of its packages do not."""
    first, *_ = parts = name.split(".")
    tests = any(part in ("test", "tests", "conftest") or part.startswith("test_") for part in parts)
    return tests or first in ODD_MODULES or (first in sys.stdlib_module_names and first not in PLAIN_MODULES)


def _is_odd_of(module: str, name: str) -> bool:
    return module in PLAIN_ATTRIBUTES and name not in PLAIN_ATTRIBUTES[module]


def _is_part(module: str, name: str) -> bool:
    """Whether a module of the standard library has what it imports itself, or keeps to itself, under this name."""
    inner = name.startswith("_") or (name in sys.stdlib_module_names and name not in PLAIN_MODULES)
    return inner and module not in PLAIN_ATTRIBUTES and module.partition(".")[0] in sys.stdlib_module_names


def _is_odd_name(name: str) -> bool:
    return name in ATTRIBUTES or name in ODD_MODULES or name == "conftest" or name.startswith("test_")
