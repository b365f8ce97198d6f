from __future__ import annotations

import pytest

from workers.diffs import changed_lines, parse_diff, unified
from workers.review.detectors.dependencies import Dependencies, is_one_edit, mistaken_for
from workers.review.detectors.detector import Delta, Detection, SourceTree

COMMIT = "4f3c2b1a" * 5
PINNED = "click==8.1.7\nflask==3.0.0\njinja2==3.1.4\nrequests==2.32.3\n"
PYPROJECT = '[project]\nname = "shop"\ndependencies = [\n    "flask>=3",\n]\n'
SETUP = "[options]\ninstall_requires =\n    flask>=3\n"
POETRY = '[tool.poetry.dependencies]\npython = "^3.11"\nflask = "^3"\n'


def read(path: str, before: str, after: str) -> Detection:
    added = changed_lines(parse_diff(unified(path, before, after)))
    head = SourceTree(sources={path: after}, target_version="py311")
    return Dependencies().compare(Delta(head=head, base={path: before}, added=added), [path])


def rules(path: str, before: str, after: str) -> list[tuple[str, int]]:
    return [(found.rule, found.line) for found in read(path, before, after).findings]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("rich", "DEP001"),
        ("rich>=13", "DEP001"),
        ("rich==13.*", "DEP001"),
        ("rich @ git+https://github.com/Textualize/rich@main", "DEP002"),
        ("git+https://github.com/Textualize/rich.git", "DEP002"),
        ("-e git+https://github.com/Textualize/rich.git@v13#egg=rich", "DEP002"),
        ("--editable=git+https://github.com/Textualize/rich.git@v13#egg=rich", "DEP002"),
        ("https://example.org/rich-13.tar.gz", "DEP002"),
        ("--extra-index-url https://packages.example.org/simple", "DEP003"),
        ("--find-links=https://packages.example.org/", "DEP003"),
        ("reqeusts==2.32.3", "DEP004"),
        ("djang0==5.0", "DEP004"),
    ],
)
def test_a_risky_requirement_is_found_on_its_line(line: str, rule: str) -> None:
    """Unpinned among pinned, from a moving place, from another index, or named like a popular package."""
    assert rules("requirements.txt", PINNED, PINNED + line + "\n") == [(rule, 5)]


@pytest.mark.parametrize(
    ("section", "line", "rule"),
    [
        ("[tool.poetry.dependencies]", 'rich = {url = "https://example.org/rich-13.tar.gz"}', "DEP002"),
        ("[tool.poetry.dev-dependencies]", 'reqeusts = "*"', "DEP004"),
    ],
)
def test_every_table_of_poetry_is_read(section: str, line: str, rule: str) -> None:
    """Those for developers in its older form too, and archives by their address."""
    before = f"{section}\n"
    assert rules("pyproject.toml", before, f"{before}{line}\n") == [(rule, 2)]


def test_a_mark_hides_no_requirement() -> None:
    """The first line of a list of an editor of Windows is one of it."""
    assert rules("requirements.txt", "", "\ufeffreqeusts==2.32.3\n") == [("DEP004", 1)]


@pytest.mark.parametrize(
    "line",
    [
        "rich==13.7.1",
        "rich==13.7.1 --hash=sha256:" + "a" * 64,
        "rich==13.7.1  # for the tables",
        f"rich @ git+https://github.com/Textualize/rich@{COMMIT}",
        "https://example.org/rich-13.tar.gz#sha256=" + "a" * 64,
        "--index-url https://pypi.org/simple",
        "-r base.txt",
        "-e .",
        "# a comment about reqeusts",
        "./vendored/rich",
        "moto==5.0.0",
    ],
)
def test_an_ordinary_requirement_is_not_said(line: str) -> None:
    """Pinned versions, full commits, hashed files, options and paths are no risk."""
    assert rules("requirements/dev.txt", PINNED, PINNED + line + "\n") == []


def test_what_was_there_before_is_not_said() -> None:
    """A requirement that moved, or whose version changed, keeps its name; files that pin nothing want no pin."""
    assert rules("requirements.txt", "reqeusts==1\n", "reqeusts==2\n") == []
    assert rules("requirements.txt", "flask\nclick\nrich\n", "flask\nclick\nrich\nattrs\n") == []


@pytest.mark.parametrize(
    ("path", "before", "after", "found"),
    [
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace(",\n]", ',\n    "urlib3>=2",\n]'), [("DEP004", 5)]),
        ("pyproject.toml", PYPROJECT, PYPROJECT + "[dependency-groups]\ndev = ['pytset']\n", [("DEP004", 7)]),
        ("pyproject.toml", PYPROJECT, PYPROJECT + '[[tool.uv.index]]\nurl = "https://x.example"\n', [("DEP003", 7)]),
        ("pyproject.toml", POETRY, POETRY + 'rich = {git = "https://x.example/r", branch = "a"}\n', [("DEP002", 4)]),
        ("pyproject.toml", POETRY, POETRY + 'rich = "^13"\n', []),
        ("setup.cfg", SETUP, SETUP + "    numpyy\n", [("DEP004", 4)]),
        ("setup.cfg", SETUP, SETUP + "[metadata]\nname = numpyy\n", []),
    ],
)
def test_every_kind_of_file_is_understood(path: str, before: str, after: str, found: list[tuple[str, int]]) -> None:
    """Lists, groups, Poetry's tables and setuptools' options are read as data."""
    assert rules(path, before, after) == found


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [("pyproject.toml", "[project\n", "not TOML"), ("setup.cfg", "no section\n", "not an INI file")],
)
def test_a_file_that_cannot_be_understood_is_unread(path: str, text: str, reason: str) -> None:
    """Its silence would be no all-clear."""
    assert reason in read(path, "", text).unread[path]


@pytest.mark.parametrize(
    ("path", "mine"),
    [
        ("requirements.txt", True),
        ("requirements-dev.txt", True),
        ("dev-requirements.in", True),
        ("requirements/test.txt", True),
        ("services/api/requirements/base.txt", True),
        ("pyproject.toml", True),
        ("docs/install.txt", False),
        ("my_requirements.py", False),
    ],
)
def test_the_files_of_requirements_are_known_by_name(path: str, mine: bool) -> None:
    """Names decide."""
    assert Dependencies().reads(path) == mine


def test_one_edit_is_a_letter_more_less_other_or_swapped() -> None:
    """Two edits, and short names, are other names."""
    assert [mistaken_for(name) for name in ("requets", "request", "reqeusts", "pilow", "numpi")] == [
        *("requests", "requests", "requests", "pillow", "numpy")
    ]
    assert [mistaken_for(name) for name in ("requests", "Flask_Cors", "rqests2", "rich2", "httpx")] == [None] * 5
    assert not is_one_edit("abc", "abc")
