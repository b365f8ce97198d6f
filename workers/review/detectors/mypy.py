"""mypy: errors of types that a change brings, by its errors in the changed files before and after.

It sees the changed files alone: it takes what they import from elsewhere as `Any`. So it reports less than the project's
own run. What it would only say because an import is missing is left out.
"""

import ast
import importlib.util
import re
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from os.path import isfile
from pathlib import Path, PurePosixPath

import msgspec

from memory.model import Severity
from memory.parsing import functions_in, parsed
from workers.json_fields import field
from workers.ports import CompletedRun, Sandbox
from workers.review.detectors.detector import (
    Category,
    Delta,
    Detection,
    RawFinding,
    SourceTree,
    answer,
    complaint,
    in_parts,
    relative,
    run_tool,
)
from workers.review.detectors.rules import is_test_path
from workers.review.project_options import MypyOptions

_OLDEST = 10
"""mypy knows no older Python 3; for those it reads as the oldest that it knows."""

_INI = f".apprentice-{secrets.token_hex(8)}.ini"
_NOT_OURS = frozenset({"import-not-found", "import-untyped", "import", "unused-ignore", "annotation-unchecked", "note"})
_TYPED_SHARE = 0.5
_GOES_ON = frozenset({"Missing return statement", "Implicit return in function which does not return"})
"""Errors of a function that reaches its end."""
_SHAPED = frozenset({"type-arg", "call-arg", "operator", "index", "attr-defined"})
"""The errors that a base or decorator which mypy does not see brings about."""
_SHAPED_TEXT = re.compile(r'"__init_subclass__" of|arguments for type alias')
"""What these say of a class, or of a type with variables, without its name."""
_LINES_IN_MESSAGE = re.compile(r"\bline \d+")
NOT_INSTALLED = "it is not installed: install Apprentice with the extra types"


def is_installed() -> bool:
    """Whether the extra `types` is there."""
    return importlib.util.find_spec("mypy") is not None


class Mypy:
    """The `ChangeDetector` that runs mypy on both sides, on the files in `typed`, with the project's flags as data."""

    name = "mypy"

    def __init__(
        self,
        sandbox: Sandbox,
        typed: frozenset[str],
        options: MypyOptions | None = None,
        installed: Callable[[], bool] = is_installed,
    ) -> None:
        self._sandbox = sandbox
        self._typed = typed
        self._options = options or MypyOptions()
        self._installed = installed

    def reads(self, path: str) -> bool:
        return path in self._typed

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        if not self._installed():
            return Detection(unread={path: NOT_INSTALLED for path in paths if self.reads(path)})
        broken = {path: "it does not parse" for path in paths if self.reads(path) and not _parses(delta.head, path)}
        mine = [path for path in paths if self.reads(path) and path not in broken]
        head = self._errors(delta.head, mine)
        head = Detection(findings=head.findings, unread={**head.unread, **broken})
        accused = {found.path for found in head.findings}
        if not accused:
            return head
        base = SourceTree(
            sources={path: text for path, text in delta.base.items() if path in mine and text},
            target_version=delta.head.target_version,
        )
        before = self._errors(base, sorted(path for path in base.sources if _parses(base, path)))
        unclear = {path for path in mine if path in before.unread or path not in delta.base or not _parses(base, path)}
        new = new_among(head.findings, before.findings, delta.added)
        return Detection(
            findings=tuple(
                each for each in new if each.path not in unclear or each.line in delta.added.get(each.path, ())
            ),
            unread=head.unread,
        )

    def _errors(self, tree: SourceTree, paths: Sequence[str]) -> Detection:
        def read(some: Sequence[str]) -> Detection:
            flags = (f"{name} = {value}\n" for name, value in sorted(self._options.flags.items()))
            ours = {_INI: "".join(("[mypy]\n", *flags)).encode()}
            found = errors_in(run_tool(self._sandbox, _arguments(tree.target_version), tree, some, ours), self._options)
            if not found.findings:
                return found
            shaped, ending = _ShapedElsewhere(tree), cache(partial(_ending_with_calls, tree))
            own = (each for each in found.findings if not shaped.decides(each))
            # A function that ends with a call of another file, which is `Any` here, may never return from it.
            kept = (each for each in own if each.message not in _GOES_ON or each.line not in ending(each.path))
            return replace(found, findings=tuple(kept))

        return in_parts(tree, paths, read, failures=8)


def _ending_with_calls(tree: SourceTree, path: str) -> frozenset[int]:
    """The first lines of a file's functions that end with a call."""
    return frozenset(each.lineno for each in functions_in(tree.sources[path]) if _ends_with_call(each.body))


def _ends_with_call(body: Sequence[ast.stmt]) -> bool:
    """Whether a block, or one of the blocks that end it, has a call as its last statement."""
    match body[-1]:
        case ast.Expr(value=ast.Call() | ast.Await()):
            return True
        case ast.If(body=one, orelse=[*_, _] as other):
            blocks = [one, other]
        case ast.With(body=one) | ast.AsyncWith(body=one):
            blocks = [one]
        case ast.Match(cases=cases):
            blocks = [each.body for each in cases]
        case ast.Try(body=one, handlers=handlers, orelse=other, finalbody=last):
            blocks = [one, other, last, *(each.body for each in handlers)]
        case _:
            return False
    return any(_ends_with_call(block) for block in blocks if block)


class _ShapedElsewhere:
    """The classes of a tree that a base, decorator or metaclass from other code shapes, as attrs does: mypy sees none of it."""

    def __init__(self, tree: SourceTree) -> None:
        self._names: set[str] = set()
        self._decorated: set[tuple[str, int]] = set()
        for path, text in tree.sources.items():
            module = parsed(text) if path.endswith((".py", ".pyi")) else None
            nodes = list(ast.walk(module)) if module else []
            imported = {name for node in nodes for name in _imported(node)}
            for node in nodes:
                if not isinstance(node, ast.ClassDef):
                    continue
                header = (*node.bases, *node.decorator_list, *(each.value for each in node.keywords))
                shaping = {each.id for part in header for each in ast.walk(part) if isinstance(each, ast.Name)}
                if not (imported | self._names).isdisjoint(shaping):
                    self._names.add(node.name)
                    parts = (part for each in node.body for part in getattr(each, "decorator_list", ()))
                    self._decorated |= {(path, part.lineno) for part in parts}

    def decides(self, found: RawFinding) -> bool:
        """Whether an error is about what such a class is made of: its arguments, operators or attributes."""
        if found.rule not in _SHAPED:
            return False
        if (found.path, found.line) in self._decorated or _SHAPED_TEXT.search(found.message):
            return True
        named = re.findall(r"\w+", " ".join(re.findall(r'"([^"]*)"', found.message)))
        return '" of "' not in found.message and not self._names.isdisjoint(named)


def _imported(node: ast.AST) -> Iterator[str]:
    """The names that an import binds to what is not of the standard library."""
    match node:
        case ast.Import(names=names):
            modules = {each.asname or each.name.partition(".")[0]: each.name for each in names}
        case ast.ImportFrom(module=str(module), names=names, level=0):
            modules = {each.asname or each.name: module for each in names}
        case ast.ImportFrom(names=names):
            modules = {each.asname or each.name: "." for each in names}
        case _:
            return
    yield from (name for name, module in modules.items() if module.partition(".")[0] not in sys.stdlib_module_names)


def _parses(tree: SourceTree, path: str) -> bool:
    """Whether mypy gets past the syntax of a file: one that it does not hides all others from it."""
    return parsed(tree.sources.get(path, "")) is not None


def typed_files(sources: Mapping[str, str], base: Path, *, all_of_them: bool) -> frozenset[str]:
    """The files that are checked: all that mypy can name in a typed repository, else those mostly annotated.

    A module with a stub beside it, in `sources` or in the checkout `base`, has its types there: mypy reads the stub alone.
    """
    parts = {path: PurePosixPath(path).with_suffix("").parts for path in sources if path.endswith((".py", ".pyi"))}
    stubbed = {path for path in parts if f"{path}i" in sources or isfile(base / f"{path}i")}  # noqa: PTH113 - names may be too long for a Path
    named = (path for path, names in parts.items() if path not in stubbed and all(map(str.isidentifier, names)))
    return frozenset(path for path in named if not is_test_path(path) and (all_of_them or _is_annotated(sources[path])))


def _is_annotated(text: str) -> bool:
    """Whether most functions are annotated."""
    functions = functions_in(text)
    annotated = [each for each in functions if each.returns or any(given.annotation for given in each.args.args)]
    return len(functions) > 0 and len(annotated) > _TYPED_SHARE * len(functions)


def _arguments(target_version: str) -> tuple[str, ...]:
    minor = max(_OLDEST, int(target_version.removeprefix("py3")))
    return (
        *("mypy", "--config-file", _INI, "--python-version", f"3.{minor}", "--platform", "linux"),
        *("--cache-dir", "/dev/null", "--no-incremental", "--no-site-packages", "--ignore-missing-imports"),
        *("--follow-imports", "silent", "--namespace-packages", "--explicit-package-bases"),
        *("--no-error-summary", "--output", "json"),
    )


def errors_in(completed: CompletedRun, options: MypyOptions) -> Detection:
    """mypy's JSON lines in our terms; raises DetectorFailed when it did not get through."""
    passed_over = _NOT_OURS | options.disabled

    def decode(text: str) -> tuple[list[object], tuple[RawFinding, ...]]:
        errors = [msgspec.json.decode(line) for line in text.splitlines() if line.strip()]
        real = (each for each in errors if field(each, "severity", str) == "error")
        return errors, tuple(raw for raw in map(_raw, real) if raw.rule not in passed_over)

    errors, findings = answer(Mypy.name, completed, decode)
    if completed.exit_code and not errors:
        raise complaint(Mypy.name, completed)
    return Detection(findings=findings)


def _raw(error: object) -> RawFinding:
    line = max(field(error, "line", int), 1)
    return RawFinding(
        path=relative(field(error, "file", str)),
        line=line,
        end_line=line,
        column=max(field(error, "column", int), 0) + 1,
        tool=Mypy.name,
        rule=field(error, "code", str, "") or "mypy",
        category=Category.CORRECTNESS,
        severity=Severity.MINOR,
        message=field(error, "message", str),
    )


def new_among(
    after: Sequence[RawFinding], before: Sequence[RawFinding], added: Mapping[str, frozenset[int]]
) -> list[RawFinding]:
    """The errors that were not there before: as many of each kind as there are more of, those on changed lines first."""
    known = Counter(_kind(each) for each in before)
    kept = []
    for each in sorted(after, key=lambda found: found.line in added.get(found.path, ())):
        known[_kind(each)] -= 1
        if known[_kind(each)] < 0:
            kept.append(each)
    return kept


def _kind(found: RawFinding) -> tuple[str, str, str]:
    """What an error is, on whatever line."""
    return found.path, found.rule, _LINES_IN_MESSAGE.sub("line", found.message)
