"""The failing test that an issue carries: a Python block in its text that defines one. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_BLOCK = re.compile(
    r"^(?P<mark>`{3,}|~{3,})(?:python|py|python3)\s*\n(?P<code>.*?)^(?P=mark)\s*$", re.DOTALL | re.MULTILINE
)
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
MAX_LENGTH = 20_000


def issue_test(body: str) -> str | None:
    """The first Python block that parses and defines a pytest test; None where there is none."""
    for match in _BLOCK.finditer(body.replace("\r\n", "\n")):
        code = match["code"]
        if len(code) <= MAX_LENGTH and _defines_test(code):
            return code
    return None


def _defines_test(code: str) -> bool:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name.startswith("test") for node in ast.walk(tree))


def path_of(issue: int, paths: Iterable[str]) -> str:
    """Where the test of an issue is kept: beside the repository's own tests, the nearest to the root of them."""
    homes = [PurePosixPath(path).parent for path in paths if _TEST_FILE.search(path)]
    home = min(homes, key=lambda directory: (len(directory.parts), str(directory)), default=PurePosixPath("tests"))
    return str(home / f"test_issue_{issue}.py")
