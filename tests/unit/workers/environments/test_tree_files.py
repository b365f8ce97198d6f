"""Files of foreign projects, as they are found."""

from __future__ import annotations

import ast
import codecs
from pathlib import Path

import pytest

from workers.environments.tree_files import TreeFiles, ini, literal


@pytest.mark.parametrize(
    "data",
    [
        b"numpy\nscipy\n",
        b"numpy\r\nscipy\r\n",
        codecs.BOM_UTF8 + b"numpy\nscipy\n",
        codecs.BOM_UTF16_LE + "numpy\r\nscipy\r\n".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "numpy\nscipy\n".encode("utf-16-be"),
    ],
    ids=["plain", "Windows", "mark", "Windows' shell", "the other order"],
)
def test_a_text_is_read_however_it_was_written(data: bytes, tmp_path: Path) -> None:
    """With marks and line ends of Windows, whose shell writes lists of requirements in UTF-16."""
    (tmp_path / "requirements.txt").write_bytes(data)
    assert TreeFiles(tmp_path).text("requirements.txt") == "numpy\nscipy\n"


def test_a_mark_hides_no_project(tmp_path: Path) -> None:
    """What begins with it is read like any other."""
    (tmp_path / "pyproject.toml").write_bytes(codecs.BOM_UTF8 + b'[project]\nname = "shop"\n')
    assert TreeFiles(tmp_path).toml("pyproject.toml") == {"project": {"name": "shop"}}


@pytest.mark.parametrize(
    "text",
    ['a: "\\UFFFFFFFF"', "a: !!bool maybe", 'a: !!int ""', "a: !!timestamp x", f"a: {'9' * 5_000}", "a: [" * 3_000],
)
def test_yaml_that_cannot_be_read_is_empty(text: str, tmp_path: Path) -> None:
    """Whichever error its parser raises: most of these are not its own."""
    (tmp_path / "ci.yml").write_text(text)
    assert TreeFiles(tmp_path).yaml("ci.yml") == {}


def test_toml_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    """Python refuses a number of so many digits with an error that is not the parser's."""
    (tmp_path / "pyproject.toml").write_text(f"a = {'9' * 5_000}\n")
    assert TreeFiles(tmp_path).toml("pyproject.toml") == {}


def test_a_value_that_goes_on_from_nothing_is_no_section() -> None:
    """configparser itself fails at it, with an error of no kind that it names."""
    assert ini("[flake8]\nignore\n    E501\n") == {}


def test_keys_that_cannot_be_keys_are_left_out() -> None:
    """A table with tuples for keys keeps its other entries."""
    value = ast.parse("{('a', 'b'): 1, 'c': 2, 3: ['d']}", mode="eval").body
    assert literal(value, {}) == {"c": 2, 3: ["d"]}
