"""The failing test that an issue carries: a Python block in its text that defines one. Pure."""

from __future__ import annotations

import ast
import re

_BLOCK = re.compile(r"^(?P<mark>`{3,}|~{3,})(?:python|py|python3)\s*\n(?P<code>.*?)^(?P=mark)\s*$", re.DOTALL | re.MULTILINE)
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


def path_of(issue: int, test_directory: str) -> str:
    """Where the test of an issue is kept."""
    return f"{test_directory}/test_issue_{issue}.py" if test_directory else f"test_issue_{issue}.py"
