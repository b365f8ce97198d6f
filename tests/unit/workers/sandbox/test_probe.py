"""The plugin runs on the project's interpreter, however old."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from workers.sandbox import pytest_plugin, tracing

SOURCES = [Path(str(module.__file__)) for module in (pytest_plugin, tracing)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_it_is_python_3_8(source: Path) -> None:
    """Its syntax is that of Python 3.8."""
    assert ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8)).body


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_it_needs_nothing_but_pytest(source: Path) -> None:
    """It imports the standard library and pytest, and its annotations are not evaluated."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    imported = {node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 0}
    imported |= {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    assert "__future__" in imported
    assert {str(name).partition(".")[0] for name in imported} <= sys.stdlib_module_names | {"pytest", "_pytest"}


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ("a/test_x.py", True),
        ("a/test_x.py::TestC", True),
        ("a/test_x.py::TestC::test_m", True),
        ("a/test_x.py::TestC::test_m[1-a::b]", True),
        ("a/test_x.py::TestC::test_m[2]", False),
        ("a/test_x.py::Test", False),
        ("a/test_x", False),
    ],
)
def test_a_name_selects_what_is_under_it(wanted: str, kept: bool, tmp_path: Path) -> None:
    """A file, class or function stands for all its tests, a full id for itself."""
    (tmp_path / "select.json").write_text(f'["{wanted}"]')
    assert (
        pytest_plugin.Selection(str(tmp_path / "select.json"), None).keeps("a/test_x.py::TestC::test_m[1-a::b]") is kept
    )


@pytest.mark.parametrize(("lines", "text"), [([], ""), ([3], "3"), ([3, 4, 5], "3-5"), ([1, 3, 4, 9], "1,3-4,9")])
def test_lines_are_written_as_ranges(lines: list[int], text: str) -> None:
    """Neighbours are joined."""
    assert tracing.ranges(lines) == text


@pytest.mark.parametrize(
    ("filename", "path"),
    [
        ("/w/src/a.py", "src/a.py"),
        ("src/a.py", "src/a.py"),
        ("/w/../etc/a.py", None),
        ("/w2/a.py", None),
        ("/w/.venv/lib/a.py", None),
        ("/w/x/site-packages/a.py", None),
        ("<frozen os>", None),
    ],
)
def test_only_files_of_the_checkout_are_named(filename: str, path: str | None) -> None:
    """Installed packages, generated code and files elsewhere have no place in a report."""
    assert tracing.inside(filename, "/w") == path
