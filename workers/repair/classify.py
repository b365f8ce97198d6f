"""Classify failures: which family an error belongs to, which failure of a run comes first, how to look it up, and what its
message gives away about the fix.
"""

import builtins
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

from memory.model import Failure, Family, Frame
from workers.sandbox.report import TestOutcome, TestReport, TestResult
from workers.sandbox.test_ids import file_of

_NAMES: dict[Family, tuple[str, ...]] = {
    Family.ASSERTION: ("AssertionError", "Failed"),
    Family.ATTRIBUTE: ("AttributeError", "FrozenInstanceError"),
    Family.NAME: ("NameError",),
    Family.TYPE: ("TypeError", "NotImplementedError"),
    Family.VALUE: ("ValueError", "JSONDecodeError", "ConversionSyntax"),
    Family.LOOKUP: ("LookupError",),
    Family.ARITHMETIC: ("ArithmeticError", "InvalidOperation", "DivisionByZero", "Overflow"),
    Family.IMPORT: ("ImportError",),
    Family.ITERATION: ("StopIteration", "StopAsyncIteration", "GeneratorExit"),
    Family.RECURSION: ("RecursionError",),
    Family.SYNTAX: ("SyntaxError",),
    Family.TIMEOUT: ("TimeoutError", "Timeout", "TimeoutExpired"),
    Family.IO: ("OSError", "EOFError", "UnsupportedOperation", "InvalidFileException"),
}
"""Builtins, whose subclasses follow the nearest ancestor named here, and well-known classes of libraries."""

_FAMILIES = {name: family for family, names in _NAMES.items() for name in names}

_SUFFIXES: dict[Family, tuple[str, ...]] = {
    Family.VALUE: (
        "DecodeError",
        "EncodeError",
        "ParseError",
        "ParserError",
        "ParsingError",
        "ValidationError",
        "ConversionError",
        "FormatError",
    ),
    Family.LOOKUP: ("NotFoundError", "NotFound", "DoesNotExist"),
    Family.TIMEOUT: ("Timeout",),
}


def _builtin_family(name: str) -> Family | None:
    found = getattr(builtins, name, None)
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        return None
    return next((_FAMILIES[base.__name__] for base in found.__mro__ if base.__name__ in _FAMILIES), Family.OTHER)


def family_of(error_type: str) -> Family:
    """The family of an exception's class name. A dotted name is read by its last part; an unknown one by how it ends."""
    name = error_type.rpartition(".")[2]
    known = _FAMILIES.get(name) or _builtin_family(name)
    if known is not None:
        return known
    for family, suffixes in _SUFFIXES.items():
        if name.endswith(suffixes):
            return family
    ending = max((n for n in dir(builtins) if n.endswith("Error") and name.endswith(n)), key=len, default="")
    return _builtin_family(ending) or Family.OTHER


TEST_WORDS = frozenset({"test", "tests", "testcase", "testcases"})
"""A directory with one of these words in its name holds tests and what they use."""


def belongs_to_tests(path: str) -> bool:
    """Whether a file belongs to the tests and is therefore neither blamed nor edited."""
    parts = PurePosixPath(path).parts
    name = parts[-1] if parts else ""
    named = name in ("conftest.py", "tests.py", "test.py") or name.endswith(("_test.py", "_tests.py"))
    return named or name.startswith("test_") or any(TEST_WORDS & set(part.split("_")) for part in parts[:-1])


def innermost(frames: tuple[Frame, ...]) -> Frame | None:
    """The frame nearest to the error that is not a test's, if there is one."""
    return next((frame for frame in reversed(frames) if not belongs_to_tests(frame.path)), None)


def _error_type(result: TestResult) -> str:
    # pytest-timeout fails a test through pytest.fail, which would read as a failed expectation.
    if result.error_type == "Failed" and result.message.startswith("Timeout"):
        return "Timeout"
    return result.error_type


def _place(result: TestResult) -> tuple[str, str, int]:
    """Where a test broke: path, function and line. One that computed too long was ended somewhere in a loop."""
    frame = innermost(result.frames)
    if frame is None:
        return "", "", 0
    return frame.path, frame.function, 0 if _error_type(result) == "Timeout" else frame.line


def failure_of(report: TestReport, changed: Collection[str] = ()) -> Failure | None:
    """The primary failure of a run, None when nothing failed.

    Errors of collection come first, because they hide the tests behind them. Otherwise a group of tests that broke with
    the same error at the same place: one with a file that was `changed` (by path), then the largest, then that seen first.
    """
    failing = report.failing()
    uncollected = [result for result in failing if result.outcome is TestOutcome.ERROR and "::" not in result.id]
    candidates = uncollected or list(failing)
    if not candidates:
        return None
    groups: dict[tuple[str, tuple[str, str, int], bool], list[TestResult]] = {}
    for result in candidates:
        touched = not {file_of(result.id), *(frame.path for frame in result.frames)}.isdisjoint(changed)
        groups.setdefault((_error_type(result), _place(result), touched), []).append(result)
    group = max(groups.items(), key=lambda each: (each[0][-1], len(each[1])))[1]
    first = group[0]
    return Failure(
        error_type=_error_type(first),
        family=family_of(_error_type(first)),
        message=first.message,
        frames=first.frames,
        failing_tests=tuple(result.id for result in group),
        operands=first.operands,
    )


_NOISE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"0x[0-9a-fA-F]+"), "<address>"),
    (re.compile(r"(?<![\w.~/\\-])(?:[A-Za-z]:)?(?:[\w.~-]*[/\\])+[\w.-]+"), "<path>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"(?<![A-Za-z_<])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"), "<number>"),
    (re.compile(r"\s+"), " "),
)


def normalised(text: str) -> str:
    """`text` in one line without what differs between two runs of the same failure: addresses, paths, ids, numbers."""
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    return text.strip()


def _test_name(test_id: str) -> str:
    name = test_id.rpartition("::")[2] or test_id
    return PurePosixPath(name.partition("[")[0]).name


def signature(failure: Failure) -> str:
    """What a failure is looked up by: error type, message without noise, functions from the error outwards, test names."""
    functions = dict.fromkeys(f.function for f in reversed(failure.frames) if not belongs_to_tests(f.path))
    tests = dict.fromkeys(_test_name(test) for test in failure.failing_tests)
    parts = (
        failure.error_type,
        normalised(failure.message)[:300],
        " ".join(list(functions)[:5]),
        " ".join(list(tests)[:5]),
    )
    return "\n".join(part for part in parts if part)


_NAME = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)'|free variable '(\w+)'")
_ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
_OWNER = re.compile(r"'([\w.]+)' object has no attribute|type object '([\w.]+)' has no|module '([\w.]+)' has no")
_CALLED = re.compile(r"\b(\w+)(?:\.__init__)?\(\) (?:takes|missing|got an unexpected)")
_KEYWORD = re.compile(r"unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"missing \d+ required [\w -]{0,40}?arguments?: (.+)")
_IMPORT = re.compile(r"cannot import name '(\w+)' from '?(?:partially initialized module ')?([\w.]+)'?")
_MODULE = re.compile(r"No module named '([\w.]+)'")
_UNRAISED = re.compile(r"DID NOT RAISE (.+)|\b(\w+) not raised")
_QUOTED = re.compile(r"'(\w+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clues:
    """Names quoted in an error's message; empty where it says nothing.

    `owner` is the type or module that lacks `attribute`; `source` the module that lacks `imported`; `unraised` what a
    test waited for in vain; `called` the function or class that got the wrong arguments.
    """

    undefined: str = ""
    attribute: str = ""
    owner: str = ""
    keyword: str = ""
    missing: tuple[str, ...] = ()
    imported: str = ""
    source: str = ""
    module: str = ""
    key: str = ""
    unraised: str = ""
    called: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        found = (self.undefined, self.attribute, self.keyword, self.key, self.imported, self.called, *self.missing)
        return tuple(name for name in found if name)


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return next((group for group in match.groups() if group), "") if match else ""


def clues_of(failure: Failure) -> Clues:
    text = failure.message
    imported = _IMPORT.search(text)
    key = _QUOTED.search(text) if failure.error_type.endswith("KeyError") else None
    return Clues(
        undefined=_first(_NAME, text),
        attribute=_first(_ATTRIBUTE, text),
        owner=_first(_OWNER, text),
        keyword=_first(_KEYWORD, text),
        missing=tuple(_QUOTED.findall(_first(_MISSING, text))),
        imported=imported.group(1) if imported else "",
        source=imported.group(2) if imported else "",
        module=_first(_MODULE, text),
        key=key.group(1) if key else "",
        unraised=_first(_UNRAISED, text),
        called=_first(_CALLED, text),
    )
