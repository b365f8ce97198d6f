"""Parses Python in a process of several threads, and syntax that is newer than the Python which runs us.

CPython 3.11 counts the depth of all syntax trees that are being made in one number. A garbage collection meanwhile may
run Python code, which lets another thread make its own tree; then one of the two ends with SystemError.
"""

import ast
import gc
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What reading a source may raise: one that is no Python, holds NUL characters, or is nested too deeply, in two ways."""

_lock = threading.Lock()
_pauses: list[bool] = []
"""One for each pause that lasts; the first says whether there were collections before."""


@contextmanager
def no_collections() -> Iterator[None]:
    """Pause garbage collection, in all threads, until the last such block ends."""
    with _lock:
        _pauses.append(gc.isenabled() if not _pauses else _pauses[0])
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            if _pauses.pop() and not _pauses:
                gc.enable()


BOM = "\ufeff"
"""The mark that some editors begin a file in UTF-8 with; Python skips it in bytes, and refuses it in text."""


MAX_PARTS = 100
_IMPORT = re.compile(r"\b(?:import|from)\b(?:[^\r\n\\;#]|\\(?:\r\n?|\n))*")
_PART = re.compile(r"\.(?:[ \t\f]|\\(?:\r\n?|\n))*[^\s.\\]")

MAX_LOOKED_AT = 10**9
"""Characters that CPython 3.11 looks at to find the expressions of one formatted string: all of it, for each."""
_TEXT = re.compile(
    r"""#[^\r\n]*|([A-Za-z]{0,2})(?:'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3})?|"{3}(?:[^"\\]|\\.|"(?!""))*(?:"{3})?"""
    r"""|'(?:[^'\\\n]|\\.)*'?|"(?:[^"\\\n]|\\.)*"?)""",
    re.DOTALL,
)
"""A comment, or a string from its prefix on, to the end of the text where it has none."""


def _is_heavy(text: str) -> bool:
    """Whether CPython needs the square of a text's length for it: then a megabyte fills the memory, or takes minutes.

    It keeps the name of each package on the way to a module, so 40 kB of `import a.a.a…` take half a gigabyte.
    """
    if text.count(".") > MAX_PARTS:
        named = (name for found in _IMPORT.finditer(text) for name in found[0].split(","))
        if any(name.count(".") > MAX_PARTS and len(_PART.findall(name)) > MAX_PARTS for name in named):
            return True
    if text.count("{") * len(text) <= MAX_LOOKED_AT:
        return False
    formatted = (found[0] for found in _TEXT.finditer(text) if "f" in (found[1] or "").lower())
    return any(each.count("{") * len(each) > MAX_LOOKED_AT for each in formatted)


def parse_module(text: str | bytes) -> ast.Module:
    """The syntax tree of a module, which may begin with BOM; raises as ast.parse does, and ValueError for a heavy one."""
    if _is_heavy(text if isinstance(text, str) else text.decode("latin-1")):
        raise ValueError("a name has too many parts, or a formatted string too many expressions")
    with no_collections():
        return ast.parse(text.removeprefix(BOM) if isinstance(text, str) else text)


def parse_expression(text: str) -> ast.expr:
    """The syntax tree of an expression; raises as ast.parse does."""
    with no_collections():
        return ast.parse(text, mode="eval").body


# ── Newer syntax ───────────────────────────────────────────────────────────────────────────────────────────────────


class OlderModule(NamedTuple):
    """A module in syntax that this Python reads, with each line as long as it was; `left_out` is what is not in it."""

    text: str
    left_out: tuple[str, ...] = ()


def read_module(text: str | bytes) -> ast.Module:
    """The syntax tree of a module, which is that of `older` where its syntax is too new; raises as ast.parse does."""
    try:
        return parse_module(text)
    except SyntaxError as error:
        if (made := older(text if isinstance(text, str) else text.decode(), error)) is None:
            raise
        return parse_module(made.text)


_no_warnings = threading.Lock()
"""Which warnings are shown is a setting of the whole process."""


def parsed(text: str | bytes) -> ast.Module | None:
    """The syntax tree that `read_module` gives; None for a text that cannot be read."""
    with _no_warnings, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the repository's odd escapes are no warnings of ours
        try:
            return read_module(text)
        except PARSE_ERRORS:
            return None


def functions_in(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function, method and inner function of a text; none of one that cannot be read."""
    tree = parsed(text)
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)] if tree else []


def older(text: str, error: SyntaxError) -> OlderModule | None:
    """A module that ends with this error in older syntax; None where the line with the error shows nothing newer.

    It serves for reading and not for running: type parameters are left out (PEP 695), `type X = v` is an assignment, and a
    template string (PEP 750) is a formatted one. Texts within formatted strings that have their quotes get other ones, and
    those with a backslash lose what they say (PEP 701). Exceptions without parentheses (PEP 758) look like Python 2.
    """
    line = text.split("\n")[(error.lineno or 1) - 1 :][:1]
    return _older(text) if line and _NEWER.search(line[0]) else None


_PARAMETERS = re.compile(r"(?:\b(?:def|class)|^[ \t]*type)[ \t]+\w+[ \t]*(?=\[)", re.MULTILINE)
_ALIAS = re.compile(r"^([ \t]*)(type[ \t]+(\w+))(?=[ \t]*[\[=])", re.MULTILINE)
_TEMPLATE = re.compile(r"(?<!['\"])\bt(?=[rR]?['\"])|(?<=\b[rR])t(?=['\"])")
_FORMATTED = re.compile(r"\b(?:[fF][rR]?|[rR][fF])['\"]")
_NEWER = re.compile("|".join(each.pattern for each in (_PARAMETERS, _ALIAS, _TEMPLATE, _FORMATTED)))


@lru_cache(maxsize=64)
def _older(text: str) -> OlderModule:
    closing, done = _closing(text), 0
    left_out: list[str] = []
    parts: list[str] = []
    for found in _PARAMETERS.finditer(text):
        start, end = found.end(), closing.get(found.end(), 0)
        if start >= done and end:
            left_out.append(text[start:end])
            parts += text[done:start], _blank(text[start:end])
            done = end
    text = "".join((*parts, text[done:]))
    text = _ALIAS.sub(lambda found: found[1] + found[3].ljust(len(found[2])), text)
    requoted = _Requoted(_TEMPLATE.sub("f", text))
    return OlderModule(requoted.text, (*left_out, *requoted.left_out))


def _closing(text: str) -> dict[int, int]:
    """Where what each square bracket opens ends, by the place of the bracket."""
    opened: list[int] = []
    ends: dict[int, int] = {}
    for found in re.finditer(r"[\[\]]", text):
        if found[0] == "[":
            opened.append(found.start())
        elif opened:
            ends[opened.pop()] = found.end()
    return ends


def _blank(text: str) -> str:
    """Spaces, and line ends that do not end the statement."""
    *above, last = text.split("\n")
    return "".join(f"{' ' * (len(line) - 1)}\\\n" for line in above) + " " * len(last)


_IN_CODE = re.compile(r"#[^\n]*|(?P<formatted>\b(?:[fF][rR]?|[rR][fF])|)(?P<quote>'''|\"\"\"|'|\")|[\[\](){}:]")


class _Requoted:
    """A text whose formatted strings hold no quotes of their own and no backslashes within braces."""

    def __init__(self, text: str) -> None:
        self.left_out: list[str] = []
        self._text = list(text)
        self._source = text
        self._code(0, ())

    @property
    def text(self) -> str:
        return "".join(self._text)

    def _code(self, at: int, around: tuple[str, ...]) -> int:
        """Go through code, in braces of strings with the quotes `around` up to the brace that ends it; where that is."""
        depth = 0
        while found := _IN_CODE.search(self._source, at):
            at = found.end()
            if found["quote"]:
                at = self._string(found, around)
            elif found[0] in "([{":
                depth += 1
            elif found[0] in ")]}" and not depth and around:
                return at
            elif found[0] in ")]}":
                depth -= 1
            elif found[0] == ":" and not depth and around:
                return self._literal(at, "}", around)
        return len(self._source)

    def _string(self, found: re.Match[str], around: tuple[str, ...]) -> int:
        """Go through a string that begins here; where it ends."""
        start, quote = found.start("quote"), found["quote"]
        clashes = any(quote == each or (len(each) == 1 and each == quote[0]) for each in around)
        other = next((each for each in "'\"" if each not in around), "") if clashes else quote
        within = (*around, other or quote) if found["formatted"] else ()
        end = self._literal(found.end(), quote, within)
        body = self._source[found.end() : end - len(quote)]
        if around and not found["formatted"] and ("\\" in body or (clashes and other in body)):
            self.left_out.append(body)
            self._put(found.end(), "x" * len(body))
        if clashes and other:
            self._put(start, other * len(quote))
            self._put(end - len(quote), other * len(quote))
        elif clashes:
            self.left_out.append(self._source[found.start() : end])
            self._put(found.start(), "0" * (end - found.start()))
        return end

    def _literal(self, at: int, end: str, around: tuple[str, ...]) -> int:
        """Go through the text of a string, or of a format up to its brace; `around` is empty where braces mean nothing."""
        text = self._source
        while at < len(text) and not text.startswith(end, at):
            if around and text[at] == "{" and (end == "}" or not text.startswith("{{", at)):
                at = self._code(at + 1, around)
            else:
                skips = text.startswith("{{", at) or (text[at] == "\\" and text[at : at + 2] != "\\{")
                at += 2 if skips and end != "}" else 1
        return at + len(end)

    def _put(self, at: int, text: str) -> None:
        self._text[at : at + len(text)] = text
