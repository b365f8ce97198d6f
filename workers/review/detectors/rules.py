"""Which rules we ask for, and what each is about. Pure.

The selection is for signal: what is likely a bug or a hole comes first, then what wastes time or hides intent.
Rewrites of taste (pyupgrade, naming, formatting, docstrings) are left to the project's own linter.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath

from memory.model import Severity
from workers.review.detectors.detector import Category

RUFF_SELECT = (
    *("E711", "E713", "E714", "E721", "E722", "E9", "F", "PLE", "PLW", "B", "S"),
    *("ASYNC1", "ASYNC2", "YTT", "LOG", "G010", "G101", "ISC004", "PIE794", "PIE796"),
    *("RUF006", "RUF008", "RUF009", "RUF013", "RUF015", "RUF016", "RUF017", "RUF018", "RUF024", "RUF026"),
    *("RUF030", "RUF032", "RUF033", "RUF034", "RUF040", "RUF048", "RUF060", "RUF064", "RUF071"),
    *("SIM107", "SIM115", "SIM118", "SIM201", "SIM202", "SIM208", "SIM210", "SIM211", "SIM22", "SIM910"),
    *("C400", "C401", "C402", "C403", "C404", "C411", "C413", "C414", "C415", "C418", "C419"),
    *("PERF101", "PERF102", "PERF402"),
)
RUFF_ALWAYS = ("E9", "F63", "F7", "F82", "PLE")
"""What is broken rather than disliked: asked for whatever rules a repository selects."""

RUFF_IGNORE = (
    "F405",  # follows from F403, once for every name
    *("B028", "B905", "B911", "B912"),  # an explicit keyword is a matter of taste
    *("PLW0108", "PLW0602", "PLW0603", "PLW1641", "PLW2901", "PLW3301"),  # idioms that are mostly meant
    *("S101", "S311", "S310", "S603", "S607"),  # fire on ordinary code: assert, random, urlopen, any subprocess
)
_FRAMEWORK_DEFAULTS = (
    *("fastapi.Body", "fastapi.Cookie", "fastapi.Depends", "fastapi.File", "fastapi.Form", "fastapi.Header"),
    *("fastapi.Path", "fastapi.Query", "fastapi.Security", "typer.Argument", "typer.Option"),
)
"""Calls that belong in argument defaults: it is how these frameworks are used."""
RUFF_CONFIG: Mapping[str, tuple[str, ...]] = {
    "builtins": ("_",),  # installed by gettext
    "lint.flake8-bugbear.extend-immutable-calls": _FRAMEWORK_DEFAULTS,
}
"""Lists of names, to which a project adds its own."""
BANDIT_SKIP = (
    *("B101", "B310", "B311", "B603", "B607"),  # as above
    *("B401", "B402", "B403", "B404", "B405", "B406", "B407", "B408", "B409", "B411"),  # an import alone does no harm
)

SYNTAX_ERROR = "invalid-syntax"

_MAJOR_BUGS = (
    *("E722", "F", "PLE", "PLW0129", "PLW0133", "PLW0177", "PLW2101", "PIE79", "SIM107", "SIM22"),
    *("B006", "B012", "B015", "B018", "B020", "B023", "B031", "B035", "B039", "RUF006", "RUF008", "RUF016", "RUF024"),
)
_MINOR_BUGS = (
    *("E711", "E713", "E714", "E721", "F811", "PLW", "B", "ASYNC", "YTT", "LOG", "G010", "G101", "ISC004"),
    *("RUF009", "RUF013", "RUF018", "RUF026", "RUF030", "RUF032", "RUF033", "RUF034", "RUF040", "RUF048"),
    *("RUF060", "RUF064", "RUF071", "SIM115"),
)
"""By whole codes where a family is mostly taste: what a project selects beside ours is not called a bug."""
_MINOR_HOLES = ("S104", "S105", "S106", "S107", "S108", "S110", "S112", "S113")
_KINDS: Mapping[str, tuple[Category, Severity]] = {
    **dict.fromkeys(("", "F541", "B009", "B010"), (Category.STYLE, Severity.INFO)),
    **dict.fromkeys((SYNTAX_ERROR, "E9"), (Category.CORRECTNESS, Severity.CRITICAL)),
    **dict.fromkeys(_MAJOR_BUGS, (Category.CORRECTNESS, Severity.MAJOR)),
    **dict.fromkeys(_MINOR_BUGS, (Category.CORRECTNESS, Severity.MINOR)),
    **dict.fromkeys(("F401", "F403", "F84", "B904"), (Category.MAINTAINABILITY, Severity.MINOR)),
    **dict.fromkeys(("B007", "SIM"), (Category.MAINTAINABILITY, Severity.INFO)),
    **dict.fromkeys(("PLE2502",), (Category.SECURITY, Severity.CRITICAL)),
    **dict.fromkeys(("S",), (Category.SECURITY, Severity.MAJOR)),
    **dict.fromkeys(_MINOR_HOLES, (Category.SECURITY, Severity.MINOR)),
    **dict.fromkeys(("ASYNC2",), (Category.PERFORMANCE, Severity.MAJOR)),
    **dict.fromkeys(("B019", "RUF017"), (Category.PERFORMANCE, Severity.MINOR)),
    **dict.fromkeys(("RUF015", "C4", "PERF"), (Category.PERFORMANCE, Severity.INFO)),
}
"""What rules are about, by the beginning of their code."""


def is_of(rule: str, prefix: str) -> bool:
    """Whether a code begins with a prefix, as ruff means it: `S` is of bandit's rules, and SLF001 is none of them."""
    return rule.startswith(prefix) and _letters(rule) == _letters(prefix)


def _letters(code: str) -> str:
    return code.rstrip("0123456789")


@cache
def kind_of(rule: str) -> tuple[Category, Severity]:
    """What a rule of ruff is about and how much harm it means; the longest matching prefix decides."""
    return _KINDS[max((prefix for prefix in _KINDS if is_of(rule, prefix)), key=len, default="")]


_RUFF_EQUIVALENTS = {"B613": "PLE2502", "B703": "S308"}


def ruff_equivalent(rule: str) -> str:
    """The rule of ruff that equals this rule of bandit (ruff's S rules are bandit's, renumbered)."""
    return _RUFF_EQUIVALENTS.get(rule, f"S{rule[1:]}")


_TEST_PATH = re.compile(r"(^|/)tests?/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")


def is_test_path(path: str) -> bool:
    """Whether pytest's conventions make this a test's file."""
    return _TEST_PATH.search(path) is not None


_LOCK_FILE = re.compile(r"[-.]lock(?:\.\w+)?$|^(?:go\.sum|npm-shrinkwrap\.json)$")


def is_lock_file(path: str) -> bool:
    """Whether a tool writes there which packages it chose."""
    return _LOCK_FILE.search(PurePosixPath(path).name) is not None


def is_wanted(rule: str, path: str, category: Category) -> bool:
    """Whether a finding is worth a comment here.

    Tests hold passwords, temporary paths, shells and open files without harm; an import in a package's `__init__` is its face.
    """
    harmless = rule == "SIM115" or (category is Category.SECURITY and rule != "PLE2502")
    if harmless and is_test_path(path):
        return False
    return not (rule == "F401" and PurePosixPath(path).name == "__init__.py")
