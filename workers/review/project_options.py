"""A repository's own options of the tools, read as data: what is safe to honour, and nothing that names a file or code.

It is read from the base of a change: what a pull request writes into its configuration has no effect before the merge.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import islice, takewhile
from pathlib import Path, PurePosixPath

from workers.environments.tree_files import TreeFiles, table
from workers.review.detectors.rules import is_of

_CODE = re.compile(r"[A-Z]{1,5}[0-9]{0,4}")
_NAME = re.compile(r"[a-z][a-z0-9-]{1,99}")
_SECURITY = re.compile(r"S[0-9]*|P|PL|PLE|PLE2(5(0(2)?)?)?|ALL")
_PATTERN = re.compile(r"(?!/)(?!.*\.\.)[\w.*?/-]{1,200}")
_BRACES = re.compile(r"([^{}]*)\{([^{}]*)\}([^{}]*)")
_TARGET = re.compile(r"py3(?:[7-9]|1[0-4])")
_LENGTH = re.compile(r"[0-9]{1,3}")
_OLDEST, _NEWEST = 7, 14
_MINIMUM = re.compile(r"(?:>=|~=|==|>|\^)\s*3\.(\d{1,3})")
_KEY = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+){0,2}")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_MOST = 200
"""The number of codes, patterns and names beyond which none is read."""

RUFF_DEFAULTS = ("E4", "E7", "E9", "F")
FLAKE8_DEFAULTS = ("E", "F", "W")
"""What the linters report where a repository selects nothing."""

_LEFT_OUT = {
    "google": ("D203", "D204", "D213", "D215", "D400", "D401", "D404", "D406", "D407", "D408", "D409", "D413"),
    "numpy": ("D107", "D203", "D212", "D213", "D402", "D413", "D415", "D416", "D417"),
    "pep257": (
        *("D203", "D212", "D213", "D214", "D215", "D404", "D405", "D406", "D407", "D408", "D409", "D410", "D411"),
        *("D413", "D415", "D416", "D417"),
    ),
}
"""The rules that a convention for docstrings leaves out, as ruff does, unless they are selected by their whole code."""

_MYPY_CODE = re.compile(r"[a-z][a-z-]{1,40}")
MYPY_FLAGS = frozenset(
    {
        *("disallow_untyped_defs", "disallow_incomplete_defs", "check_untyped_defs", "disallow_any_generics"),
        *("strict_equality", "extra_checks", "implicit_optional", "strict_optional", "allow_redefinition"),
        *("local_partial_types", "warn_no_return"),
    }
)
"""Flags of mypy's that mean the same where imported modules are not there. Those about `Any` would not."""
_STRICT = ("disallow_untyped_defs", "disallow_incomplete_defs", "check_untyped_defs", "disallow_any_generics")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuffOptions:
    """A repository's choices among ruff's rules, by code; security rules cannot be ignored.

    `select` takes the place of Apprentice's selection; None where the repository makes none. `checked` is what its own
    linter looks for before what it ignores: its selection, or the linter's; nothing where it has no linter set up.
    `settings` are those of its rules, such as `lint.isort.combine-as-imports`, as ruff reads them; lists are not joined.
    With `preview` it lets ruff read as its next version will, and comments may name rules in words. `excluded` are patterns
    of what its own linter does not read.
    """

    select: tuple[str, ...] | None = None
    checked: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    line_length: int | None = None
    target_version: str | None = None
    settings: Mapping[str, str | list[str]] = field(default_factory=dict)
    preview: bool = False
    excluded: tuple[str, ...] = ()

    def without(self, code: str) -> RuffOptions:
        """The same choices but for one code, that ruff does not know."""

        def others(codes: Sequence[str]) -> tuple[str, ...]:
            return tuple(each for each in codes if each != code)

        return replace(
            self,
            select=None if self.select is None else others(self.select) or None,
            checked=others(self.checked),
            ignore=others(self.ignore),
            extend_select=others(self.extend_select),
            per_file_ignores={path: others(codes) for path, codes in self.per_file_ignores.items()},
        )

    def checks(self, rule: str, path: str) -> bool:
        """Whether the repository's own linter reports a rule in a file."""
        asked = any(code == "ALL" or is_of(rule, code) for code in self.checked)
        return asked and not any(is_of(rule, code) for code in self.ignore) and not self.is_ignored(rule, path)

    def is_ignored(self, rule: str, path: str) -> bool:
        """Whether the repository ignores a rule in a file, or all of the file, by ruff's patterns: a star crosses folders."""
        places = (path, *(str(place) for place in PurePosixPath(path).parents))
        excluded = any(_fits(place, pattern) for pattern in self.excluded for place in places)
        if excluded and not _SECURITY.fullmatch(rule):
            return True
        fitting = (codes for pattern, codes in self.per_file_ignores.items() if _fits(path, pattern))
        return any(is_of(rule, code) for codes in fitting for code in codes)


def _fits(path: str, pattern: str) -> bool:
    short = pattern.replace("**/", "*")
    return any(fnmatchcase(each, short) for each in (path, path.rpartition("/")[2]))


@dataclass(frozen=True, slots=True, kw_only=True)
class MypyOptions:
    """A repository's choices for mypy: flags by name, and the error codes that it disables."""

    flags: Mapping[str, bool] = field(default_factory=dict)
    disabled: frozenset[str] = frozenset()


def ruff_options(base: Path, codes: Callable[[], Mapping[str, str]] = dict) -> RuffOptions:
    """From `.ruff.toml`, `ruff.toml` or `pyproject.toml`, whichever ruff would read; nothing from what is no TOML.

    Without any of ruff's, what the repository tells flake8: the codes are the same. `codes` gives the code of each rule by
    its name, and is called where the file names rules.
    """
    files = TreeFiles(base)
    own = next((name for name in (".ruff.toml", "ruff.toml") if files.place(name)), None)
    found = files.toml(own) if own else table(files.toml("pyproject.toml"), "tool", "ruff")
    if not found:
        return _of_flake8(files)
    lint = _with_codes({**found, **table(found, "lint")}, codes)
    of_files = (*table(lint, "per-file-ignores").items(), *table(lint, "extend-per-file-ignores").items())
    length, target = found.get("line-length"), found.get("target-version")
    convention = table(lint, "pydocstyle").get("convention")
    select, more = _codes(_strings(lint.get("select"))), _codes(_strings(lint.get("extend-select")))
    return RuffOptions(
        select=select or None,
        checked=(*(select or RUFF_DEFAULTS), *more),
        ignore=(
            *_harmless([*_strings(lint.get("ignore")), *_strings(lint.get("extend-ignore"))]),
            *(code for code in _LEFT_OUT.get(str(convention), ()) if code not in (*select, *more)),
        ),
        extend_select=more,
        per_file_ignores=_ignores((each, wanted) for pattern, wanted in of_files for each in _alternatives(pattern)),
        line_length=length if isinstance(length, int) and not isinstance(length, bool) and 1 <= length <= 320 else None,
        target_version=target if isinstance(target, str) and _TARGET.fullmatch(target) else None,
        settings=_settings({"builtins": found.get("builtins")}, "") | _settings(lint, "lint."),
        preview=lint.get("preview") is True,
        excluded=_patterns(each for table in (found, lint) for key in _EXCLUDING for each in _strings(table.get(key))),
    )


_CHOICES = ("select", "extend-select", "ignore", "extend-ignore", "per-file-ignores", "extend-per-file-ignores")


def _with_codes(lint: Mapping[str, object], codes: Callable[[], Mapping[str, str]]) -> Mapping[str, object]:
    """ruff's table of its linter with the codes of the rules that it names in words."""
    chosen = {key: lint[key] for key in _CHOICES if key in lint}
    lists = (each for value in chosen.values() for each in (value.values() if isinstance(value, dict) else (value,)))
    if not any(_NAME.fullmatch(word) for each in lists for word in _strings(each)):
        return lint
    known = codes()

    def in_codes(value: object) -> object:
        if isinstance(value, dict):
            return {key: in_codes(each) for key, each in value.items()}
        return [known.get(word, word) for word in _strings(value)]

    return {**lint, **{key: in_codes(value) for key, value in chosen.items()}}


_SETTINGS = frozenset(
    {
        *("builtins", "lint.dummy-variable-rgx", "lint.typing-modules", "lint.task-tags", "lint.allowed-confusables"),
        *("lint.flake8-annotations", "lint.flake8-boolean-trap", "lint.flake8-bugbear", "lint.flake8-builtins"),
        *("lint.flake8-comprehensions", "lint.flake8-errmsg", "lint.flake8-gettext", "lint.flake8-implicit-str-concat"),
        *("lint.flake8-import-conventions", "lint.flake8-pytest-style", "lint.flake8-quotes", "lint.flake8-self"),
        *("lint.flake8-tidy-imports", "lint.flake8-type-checking", "lint.flake8-unused-arguments", "lint.isort"),
        *("lint.mccabe", "lint.pep8-naming", "lint.pycodestyle", "lint.pydoclint", "lint.pydocstyle", "lint.pyflakes"),
        *("lint.pylint", "lint.pyupgrade", "lint.ruff"),
    }
)
"""What decides how a rule reads code, without those of security rules. None of it names a file to read."""


def _settings(given: Mapping[str, object], above: str) -> dict[str, str | list[str]]:
    """The settings of rules in a table, by their whole keys, each value as TOML; of a list each element."""
    found: dict[str, str | list[str]] = {}
    for name, value in given.items():
        for key, one in table(given, name).items() or [("", value)]:
            whole = f"{above}{name}{'.' * bool(key)}{key}"
            if f"{above}{name}" in _SETTINGS and _KEY.fullmatch(whole) and len(found) < _MOST:
                with suppress(ValueError):
                    found[whole] = list(map(_value, one[:_MOST])) if isinstance(one, list) else _value(one)
    return found


def _value(value: object) -> str:
    """A value as TOML on one line; raises ValueError for one that no setting of a rule has."""
    match value:
        case bool() | int():
            return str(value).lower()
        case str() if len(value) <= _MOST:
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{', '.join(map(_value, value[:_MOST]))}]"
        case dict():
            return f"{{{', '.join(f'{_value(key)} = {_value(each)}' for key, each in islice(value.items(), _MOST))}}}"
        case _:
            raise ValueError(f"no setting: {value!r}")


_FLAKE8 = (".flake8", "setup.cfg", "tox.ini")
RUFF_FILES = (".ruff.toml", "ruff.toml", "pyproject.toml", *_FLAKE8)
"""The files that `ruff_options` reads."""


def _of_flake8(files: TreeFiles) -> RuffOptions:
    """From the first file with a section for flake8."""
    found = next(filter(None, (files.ini(name).get("flake8") for name in _FLAKE8)), {})
    length = found.get("max-line-length", "")
    select, more = _codes(_listed(found.get("select"))), _codes(_listed(found.get("extend-select")))
    return RuffOptions(
        select=select or None,
        checked=(*(select or FLAKE8_DEFAULTS), *more) if found else (),
        ignore=_harmless([*_listed(found.get("ignore")), *_listed(found.get("extend-ignore"))]),
        extend_select=more,
        per_file_ignores=_ignores(_files_with_codes(found.get("per-file-ignores", ""))),
        line_length=int(length) if _LENGTH.fullmatch(length) and 1 <= int(length) <= 320 else None,
        excluded=_patterns(each for key in _EXCLUDING for each in _listed(found.get(key))),
    )


def _ignores(of_files: Iterable[tuple[str, object]]) -> dict[str, tuple[str, ...]]:
    """The codes that are ignored in files, by pattern; those of a pattern that occurs twice together."""
    found: dict[str, tuple[str, ...]] = {}
    for pattern, wanted in islice(of_files, _MOST):
        if _PATTERN.fullmatch(pattern) and (codes := _harmless(wanted)):
            found[pattern] = (*found.get(pattern, ()), *codes)
    return found


_EXCLUDING = ("exclude", "extend-exclude")


def _patterns(wanted: Iterable[str]) -> tuple[str, ...]:
    """The patterns of files and folders that ruff or flake8 is asked not to read."""
    each_one = (each for pattern in wanted for each in _alternatives(pattern.removeprefix("./").rstrip("/")))
    return tuple(dict.fromkeys(islice(filter(_PATTERN.fullmatch, each_one), _MOST)))


def _alternatives(pattern: str) -> list[str]:
    """A pattern of ruff's without its braces: `{a,b}/c` is `a/c` and `b/c`."""
    braces = _BRACES.fullmatch(pattern)
    return [f"{braces[1]}{each}{braces[3]}" for each in braces[2].split(",")] if braces else [pattern]


def _files_with_codes(text: str) -> Iterator[tuple[str, list[str]]]:
    """The files of a value of flake8's, each with its codes. Files that share codes are listed before one colon."""
    *before, last = [_listed(part) for part in text.split(":")]
    files = before[0] if before else []
    for words in (*before[1:], last):
        codes = list(takewhile(_CODE.fullmatch, words))
        yield from ((file, codes) for file in files)
        files = words[len(codes) :]


def _listed(text: str | None) -> list[str]:
    """The codes of a value of flake8's, without its comments."""
    lines = [line.partition("#")[0] for line in (text or "").splitlines()]
    return [code for line in lines for code in re.split(r"[,\s]+", line) if code]


def _codes(wanted: Sequence[str]) -> tuple[str, ...]:
    return tuple(code for code in wanted if _CODE.fullmatch(code))


def _harmless(wanted: object) -> tuple[str, ...]:
    """The codes in a list, but for security rules and whatever would take them along."""
    return tuple(code for code in _strings(wanted) if _CODE.fullmatch(code) and not _SECURITY.fullmatch(code))


def target_version(root: Path) -> str:
    """The oldest Python that the project declares, as ruff writes it; the newest we know when it declares none."""
    stated = table(TreeFiles(root).toml("pyproject.toml"), "project").get("requires-python")
    minors = [int(minor) for minor in _MINIMUM.findall(stated)] if isinstance(stated, str) else []
    return f"py3{max(_OLDEST, min(*minors, _NEWEST))}" if minors else f"py3{_NEWEST}"


def first_party(base: Path) -> tuple[str, ...]:
    """The names of the project's own packages and modules, at the root and below `src`, but for those of the standard library."""
    found = (
        path for folder in (base, base / "src") if folder.is_dir() for path in folder.iterdir() if _is_imported(path)
    )
    names = {path.name.removesuffix(".py") for path in found} - sys.stdlib_module_names
    return tuple(sorted(filter(_MODULE.fullmatch, names))[:_MOST])


def _is_imported(path: Path) -> bool:
    """Whether it is a Python file, or a directory with some in it or in packages below it."""
    if path.is_symlink():
        return False
    return path.suffix == ".py" or any(next(path.glob(pattern), None) for pattern in ("*.py", "*/__init__.py"))


def mypy_options(base: Path) -> MypyOptions | None:
    """From `mypy.ini`, `.mypy.ini`, `pyproject.toml` or `setup.cfg`; None where mypy is not set up."""
    files = TreeFiles(base)
    own, hidden, shared = (files.ini(name).get("mypy") for name in ("mypy.ini", ".mypy.ini", "setup.cfg"))
    in_pyproject = table(files.toml("pyproject.toml"), "tool", "mypy")
    found = next(filter(None, (own, hidden, in_pyproject, shared)), None)
    if found is None:
        return None
    flags = dict.fromkeys(_STRICT, True) if _truth(found.get("strict")) else {}
    flags |= {name: truth for name in MYPY_FLAGS if (truth := _truth(found.get(name))) is not None}
    disabled = found.get("disable_error_code")
    codes = re.split(r"[,\s]+", disabled) if isinstance(disabled, str) else _strings(disabled)
    return MypyOptions(flags=flags, disabled=frozenset(code for code in codes if _MYPY_CODE.fullmatch(code)))


def is_typed(base: Path) -> bool:
    """Whether the repository declares that it is typed: by mypy's or pyright's configuration, or a marker in a package."""
    if mypy_options(base) is not None or (base / "pyrightconfig.json").is_file():
        return True
    return any(path.is_file() for depth in ("*", "*/*") for path in base.glob(f"{depth}/py.typed"))


def _truth(value: object) -> bool | None:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    return value if isinstance(value, bool) else words.get(value.lower()) if isinstance(value, str) else None


def _strings(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)][:_MOST] if isinstance(value, list) else []
