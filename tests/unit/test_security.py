"""The threat model names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| asset", "| ---"))]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_threat_has_asset_attacker_defence_and_test() -> None:
    """A row without a test is a promise that nobody checks."""
    assert len(ROWS) >= 15
    for row in ROWS:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 4, row
        assert all(cells), row
        assert TEST.search(cells[3]), row


def test_the_named_tests_exist() -> None:
    """Each named function is in the named file, and is a test."""
    named = TEST.findall(PAGE)
    assert len(named) >= len(ROWS)
    for path, function in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert function in defined, f"{path} has no {function}"
        assert function.startswith("test_")


def test_the_page_is_found() -> None:
    """From the first page and from the architecture."""
    assert "(SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(../SECURITY.md)" in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
