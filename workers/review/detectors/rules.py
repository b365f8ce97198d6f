"""Which rules we ask for, and what each is about. Pure.

The selection is for signal: what is likely a bug or a hole comes first, then what wastes time or hides intent.
Rewrites of taste (pyupgrade, naming, formatting, docstrings) are left to the project's own linter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath

from memory.model import Severity
from workers.review.detectors.detector import Category

RUFF_SELECT = (
    *("E711", "E712", "E713", "E714", "E721", "E722", "E9", "F", "PLE", "PLW", "B", "S"),
    *("ASYNC1", "ASYNC2", "YTT", "LOG", "G010", "G101", "ISC004", "PIE794", "PIE796", "RET503"),
    *("RUF006", "RUF008", "RUF009", "RUF013", "RUF015", "RUF016", "RUF017", "RUF018", "RUF024", "RUF026"),
    *("RUF030", "RUF032", "RUF033", "RUF034", "RUF040", "RUF048", "RUF060", "RUF064", "RUF071"),
    *("SIM107", "SIM115", "SIM118", "SIM201", "SIM202", "SIM208", "SIM210", "SIM211", "SIM22", "SIM910"),
    *("C400", "C401", "C402", "C403", "C404", "C411", "C413", "C414", "C415", "C418", "C419"),
    *("PERF101", "PERF102", "PERF402"),
)
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
RUFF_CONFIG = (
    'builtins = ["_"]',  # installed by gettext
    f"lint.flake8-bugbear.extend-immutable-calls = {json.dumps(_FRAMEWORK_DEFAULTS)}",
)
BANDIT_SKIP = (
    *("B101", "B310", "B311", "B603", "B607"),  # as above
    *("B401", "B402", "B403", "B404", "B405", "B406", "B407", "B408", "B409", "B411"),  # an import alone harms nobody
)

SYNTAX_ERROR = "invalid-syntax"

_KINDS: Mapping[str, tuple[Category, Severity]] = {
    "": (Category.STYLE, Severity.INFO),
    SYNTAX_ERROR: (Category.CORRECTNESS, Severity.CRITICAL),
    "E9": (Category.CORRECTNESS, Severity.CRITICAL),
    "E7": (Category.CORRECTNESS, Severity.MINOR),
    "E722": (Category.CORRECTNESS, Severity.MAJOR),
    "F": (Category.CORRECTNESS, Severity.MAJOR),
    "F401": (Category.MAINTAINABILITY, Severity.MINOR),
    "F403": (Category.MAINTAINABILITY, Severity.MINOR),
    "F541": (Category.STYLE, Severity.INFO),
    "F811": (Category.CORRECTNESS, Severity.MINOR),
    "F84": (Category.MAINTAINABILITY, Severity.MINOR),
    "PLE": (Category.CORRECTNESS, Severity.MAJOR),
    "PLE2502": (Category.SECURITY, Severity.CRITICAL),
    "PLW": (Category.CORRECTNESS, Severity.MINOR),
    "PLW0129": (Category.CORRECTNESS, Severity.MAJOR),
    "PLW0133": (Category.CORRECTNESS, Severity.MAJOR),
    "PLW0177": (Category.CORRECTNESS, Severity.MAJOR),
    "PLW2101": (Category.CORRECTNESS, Severity.MAJOR),
    "B": (Category.CORRECTNESS, Severity.MINOR),
    "B006": (Category.CORRECTNESS, Severity.MAJOR),
    "B012": (Category.CORRECTNESS, Severity.MAJOR),
    "B015": (Category.CORRECTNESS, Severity.MAJOR),
    "B018": (Category.CORRECTNESS, Severity.MAJOR),
    "B019": (Category.PERFORMANCE, Severity.MINOR),
    "B020": (Category.CORRECTNESS, Severity.MAJOR),
    "B023": (Category.CORRECTNESS, Severity.MAJOR),
    "B031": (Category.CORRECTNESS, Severity.MAJOR),
    "B035": (Category.CORRECTNESS, Severity.MAJOR),
    "B039": (Category.CORRECTNESS, Severity.MAJOR),
    "B007": (Category.MAINTAINABILITY, Severity.INFO),
    "B009": (Category.STYLE, Severity.INFO),
    "B010": (Category.STYLE, Severity.INFO),
    "B904": (Category.MAINTAINABILITY, Severity.MINOR),
    "S": (Category.SECURITY, Severity.MAJOR),
    "S104": (Category.SECURITY, Severity.MINOR),
    "S105": (Category.SECURITY, Severity.MINOR),
    "S106": (Category.SECURITY, Severity.MINOR),
    "S107": (Category.SECURITY, Severity.MINOR),
    "S108": (Category.SECURITY, Severity.MINOR),
    "S110": (Category.SECURITY, Severity.MINOR),
    "S112": (Category.SECURITY, Severity.MINOR),
    "S113": (Category.SECURITY, Severity.MINOR),
    "ASYNC": (Category.CORRECTNESS, Severity.MINOR),
    "ASYNC2": (Category.PERFORMANCE, Severity.MAJOR),
    "YTT": (Category.CORRECTNESS, Severity.MINOR),
    "LOG": (Category.CORRECTNESS, Severity.MINOR),
    "G": (Category.CORRECTNESS, Severity.MINOR),
    "ISC004": (Category.CORRECTNESS, Severity.MAJOR),
    "PIE79": (Category.CORRECTNESS, Severity.MAJOR),
    "RET": (Category.CORRECTNESS, Severity.MINOR),
    "RUF": (Category.CORRECTNESS, Severity.MINOR),
    "RUF006": (Category.CORRECTNESS, Severity.MAJOR),
    "RUF008": (Category.CORRECTNESS, Severity.MAJOR),
    "RUF016": (Category.CORRECTNESS, Severity.MAJOR),
    "RUF024": (Category.CORRECTNESS, Severity.MAJOR),
    "RUF015": (Category.PERFORMANCE, Severity.INFO),
    "RUF017": (Category.PERFORMANCE, Severity.MINOR),
    "SIM": (Category.MAINTAINABILITY, Severity.INFO),
    "SIM107": (Category.CORRECTNESS, Severity.MAJOR),
    "SIM115": (Category.CORRECTNESS, Severity.MINOR),
    "SIM22": (Category.CORRECTNESS, Severity.MAJOR),
    "C4": (Category.PERFORMANCE, Severity.INFO),
    "PERF": (Category.PERFORMANCE, Severity.INFO),
}


@cache
def kind_of(rule: str) -> tuple[Category, Severity]:
    """What a rule of ruff is about and how much harm it tells of; the longest matching prefix decides."""
    prefix = max((prefix for prefix in _KINDS if rule.startswith(prefix)), key=len)
    return _KINDS[prefix]


_TWINS = {"B613": "PLE2502", "B703": "S308"}


def twin(rule: str) -> str:
    """The rule of ruff that says the same as this rule of bandit (ruff's S rules are bandit's, renumbered)."""
    return _TWINS.get(rule, f"S{rule[1:]}")


_TEST_PATH = re.compile(r"(^|/)tests?/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")


def is_test_path(path: str) -> bool:
    """Whether pytest's conventions make this a test's file."""
    return _TEST_PATH.search(path) is not None


def is_selected(tool: str, rule: str) -> bool:
    """Whether a rule is among those that a review asks for."""
    if tool == "bandit":
        return rule not in BANDIT_SKIP
    return rule == SYNTAX_ERROR or (rule.startswith(RUFF_SELECT) and not rule.startswith(RUFF_IGNORE))


def is_wanted(rule: str, path: str, category: Category) -> bool:
    """Whether a finding is worth saying here.

    Tests hold passwords, temporary paths and shells that reach nobody; an import in a package's `__init__` is its face.
    """
    if category is Category.SECURITY and rule != "PLE2502" and is_test_path(path):
        return False
    return not (rule == "F401" and PurePosixPath(path).name == "__init__.py")
