from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workers.review.project_options import RUFF_DEFAULTS, RuffOptions, first_party, is_typed, mypy_options, ruff_options

RUFF = """\
line-length = 100
target-version = "py310"
extend = "/etc/passwd"
exclude = ["*"]

[lint]
ignore = ["E711", "S", "S602", "ALL", "PLE", "not a code", 7]
extend-select = ["D100", "bad;code"]

[lint.per-file-ignores]
"tests/*" = ["F401", "S101"]
"/etc/*" = ["F401"]
"../x" = ["F401"]
"a:b,c" = ["F401"]
"""
READ = RuffOptions(
    checked=(*RUFF_DEFAULTS, "D100"),
    ignore=("E711",),
    extend_select=("D100",),
    per_file_ignores={"tests/*": ("F401",)},
    line_length=100,
    target_version="py310",
    excluded=("*",),
)


def under(prefix: str, text: str) -> str:
    """The same tables below another one."""
    return f"[{prefix}]\n" + text.replace("[lint", f"[{prefix}.lint")


@pytest.mark.parametrize(
    ("name", "text"), [("ruff.toml", RUFF), (".ruff.toml", RUFF), ("pyproject.toml", under("tool.ruff", RUFF))]
)
def test_safe_options_of_ruff_are_read_as_data(tmp_path: Path, name: str, text: str) -> None:
    """Codes, patterns and numbers are taken; paths, plug-ins, and whatever would silence security are not."""
    (tmp_path / name).write_text(text)
    assert ruff_options(tmp_path) == READ


@pytest.mark.parametrize(
    "text", ["not toml", "line-length = 'x'\n[lint]\nignore = 3\n", "line-length = 9999\n", "lint = 1\n"]
)
def test_odd_options_of_ruff_say_nothing(tmp_path: Path, text: str) -> None:
    """What is not understood is not honoured, and hinders nobody."""
    (tmp_path / "ruff.toml").write_text(text)
    assert replace(ruff_options(tmp_path), checked=()) == RuffOptions()


RULES = """\
builtins = ["lazy"]
src = ["/etc"]

[lint]
dummy-variable-rgx = "^unused"
select = ["Q", "I"]

[lint.flake8-quotes]
inline-quotes = "single"
avoid-escape = false
"docstring quotes" = "single"

[lint.isort]
lines-after-imports = 2
known-first-party = ["till", "shop"]
sections = { django = ["django"] }
length-sort = 2024-01-01

[lint.flake8-bandit]
hardcoded-tmp-directory = []
"""


def test_the_settings_of_rules_are_read_as_data(tmp_path: Path) -> None:
    """What decides how a rule reads code is taken as TOML; what is no such setting, or softens a security rule, is not."""
    (tmp_path / "ruff.toml").write_text(RULES)
    assert ruff_options(tmp_path).settings == {
        "builtins": ['"lazy"'],
        "lint.dummy-variable-rgx": '"^unused"',
        "lint.flake8-quotes.inline-quotes": '"single"',
        "lint.flake8-quotes.avoid-escape": "false",
        "lint.isort.lines-after-imports": "2",
        "lint.isort.known-first-party": ['"till"', '"shop"'],
        "lint.isort.sections": '{"django" = ["django"]}',
    }


NAMED = """\
[lint]
preview = true
select = ["unused-import", "E", "no-such-rule"]
ignore = ["print", "assert", "D"]

[lint.per-file-ignores]
"tests/*" = ["magic-value-comparison", "S"]
"""


def test_rules_that_are_named_in_words_are_read_by_their_codes(tmp_path: Path) -> None:
    """As ruff takes either; a security rule cannot be ignored by its name, and a name that is not known counts as not there."""
    codes = {"unused-import": "F401", "print": "T201", "assert": "S101", "magic-value-comparison": "PLR2004"}
    (tmp_path / "ruff.toml").write_text(NAMED)
    assert ruff_options(tmp_path, lambda: codes) == RuffOptions(
        select=("F401", "E"),
        checked=("F401", "E"),
        ignore=("T201", "D"),
        per_file_ignores={"tests/*": ("PLR2004",)},
        preview=True,
    )


def test_names_are_not_looked_up_where_there_are_none(tmp_path: Path) -> None:
    """To ask ruff for all its rules costs a run."""

    def never() -> dict[str, str]:
        raise AssertionError("the file has codes alone")

    (tmp_path / "ruff.toml").write_text('[lint]\nselect = ["E"]\n[lint.per-file-ignores]\n"a.py" = ["F401"]\n')
    assert ruff_options(tmp_path, never).select == ("E",)


def test_a_repository_selects_its_own_rules(tmp_path: Path) -> None:
    """What is not broken is left to its choice."""
    (tmp_path / "ruff.toml").write_text('[lint]\nselect = ["E", "D1", "bad;code"]\n')
    assert ruff_options(tmp_path).select == ("E", "D1")


@pytest.mark.parametrize("name", [".flake8", "setup.cfg", "tox.ini"])
def test_what_flake8_is_told_is_read(tmp_path: Path, name: str) -> None:
    """Where ruff is not set up; security rules cannot be ignored here either."""
    section = "[flake8]\nextend-ignore =\n    E711,  # is meant\n    S602\nper-file-ignores =\n    tests/*: F401 F811\n    /etc/*: F401\n"
    (tmp_path / name).write_text(section + "select = E,W\nmax-line-length = 90\n")
    read = RuffOptions(
        select=("E", "W"),
        checked=("E", "W"),
        ignore=("E711",),
        per_file_ignores={"tests/*": ("F401", "F811")},
        line_length=90,
    )
    assert ruff_options(tmp_path) == read
    (tmp_path / "ruff.toml").write_text("line-length = 90\n")
    assert ruff_options(tmp_path) == RuffOptions(checked=RUFF_DEFAULTS, line_length=90)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ruff.toml", 'exclude = ["./docs/", "/etc", "../x"]\nextend-exclude = ["{a,b}.py"]\n[lint]\nexclude = ["s*/new/*"]\n'),
        ("setup.cfg", "[flake8]\nexclude = docs, a.py,\n    /etc, ../x\nextend-exclude =\n    b.py\n    s*/new/*\n"),
    ],
)  # fmt: skip
def test_what_the_projects_linter_does_not_read_is_ignored(tmp_path: Path, name: str, text: str) -> None:
    """By folder, name or path, as data that is broken on purpose is left out; not what is about security."""
    (tmp_path / name).write_text(text)
    options = ruff_options(tmp_path)
    paths = ("docs/a/b.py", "x/docs/c.py", "x/a.py", "b.py", "src/new/x/y.py", "src/old.py", "docs.py", "x/c.py")
    assert [path for path in paths if not options.is_ignored("F401", path)] == ["src/old.py", "docs.py", "x/c.py"]
    assert options.is_ignored("invalid-syntax", "b.py")
    assert not options.is_ignored("S602", "b.py")
    assert not options.is_ignored("PLE2502", "b.py")


def test_files_share_what_is_ignored(tmp_path: Path) -> None:
    """Several files before one colon of flake8's, on one line or many; braces and both tables of ruff's."""
    of_flake8 = "[flake8]\nper-file-ignores = a.py,b.py: F401,E501 c.py: E203\n    d.py\n    e.py:\n        F811\n"
    (tmp_path / "setup.cfg").write_text(of_flake8)
    assert ruff_options(tmp_path).per_file_ignores == {
        **dict.fromkeys(("a.py", "b.py"), ("F401", "E501")),
        "c.py": ("E203",),
        **dict.fromkeys(("d.py", "e.py"), ("F811",)),
    }
    first = '[lint.per-file-ignores]\n"{a,b}/*.py" = ["F401"]\n'
    (tmp_path / "ruff.toml").write_text(first + '[lint.extend-per-file-ignores]\n"a/*.py" = ["E501"]\n')
    assert ruff_options(tmp_path).per_file_ignores == {"a/*.py": ("F401", "E501"), "b/*.py": ("F401",)}


def test_the_own_linter_checks_what_it_selects_and_does_not_ignore(tmp_path: Path) -> None:
    """Its selection, or the linter's own; nothing where no linter is set up."""
    assert not ruff_options(tmp_path).checks("F401", "a.py")
    (tmp_path / "tox.ini").write_text("[flake8]\nignore = E711\n")
    found = ruff_options(tmp_path)
    assert (found.checks("F401", "a.py"), found.checks("E711", "a.py"), found.checks("B006", "a.py")) == (
        True,
        False,
        False,
    )
    (tmp_path / "ruff.toml").write_text('[lint]\nselect = ["B"]\n[lint.per-file-ignores]\n"tests/*" = ["B006"]\n')
    found = ruff_options(tmp_path)
    assert (found.checks("B006", "a.py"), found.checks("B006", "tests/a.py"), found.checks("F401", "a.py")) == (
        True,
        False,
        False,
    )
    (tmp_path / "ruff.toml").write_text('[lint]\nselect = ["ALL"]\n')
    assert ruff_options(tmp_path).checks("RUF100", "a.py")


@pytest.mark.parametrize(
    ("convention", "ignored"),
    [('"google"', True), ('"numpy"', True), ('"pep257"', True), ('"mine"', False), ("[1]", False)],
)
def test_a_convention_for_docstrings_leaves_rules_out(tmp_path: Path, convention: str, ignored: bool) -> None:
    """As ruff does, unless the repository selects one by its whole code."""
    (tmp_path / "ruff.toml").write_text(f'[lint]\nselect = ["D"]\n[lint.pydocstyle]\nconvention = {convention}\n')
    found = ruff_options(tmp_path)
    assert ("D413" in found.ignore, found.checks("D413", "a.py"), found.checks("D100", "a.py")) == (
        ignored,
        not ignored,
        True,
    )
    (tmp_path / "ruff.toml").write_text(
        f'[lint]\nselect = ["D", "D413"]\n[lint.pydocstyle]\nconvention = {convention}\n'
    )
    assert ruff_options(tmp_path).checks("D413", "a.py")


def test_a_code_can_be_left_out() -> None:
    """Of every choice; a selection that is empty then is none."""
    options = RuffOptions(select=("X1",), ignore=("X1", "E1"), per_file_ignores={"a": ("X1",)}, line_length=90)
    assert options.without("X1") == RuffOptions(ignore=("E1",), per_file_ignores={"a": ()}, line_length=90)


def test_the_nearer_file_of_ruff_wins(tmp_path: Path) -> None:
    """As ruff itself chooses."""
    (tmp_path / "ruff.toml").write_text("line-length = 90\n")
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 70\n")
    assert ruff_options(tmp_path).line_length == 90


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "pyproject.toml",
            "[tool.mypy]\nplugins = ['x']\ndisallow_untyped_defs = true\ndisable_error_code = ['misc']\n",
        ),
        ("mypy.ini", "[mypy]\nplugins = x\nmypy_path = /\ndisallow_untyped_defs = True\ndisable_error_code = misc\n"),
        (
            "setup.cfg",
            "[mypy]\npython_executable = /bin/sh\ndisallow_untyped_defs = yes\ndisable_error_code = misc, \n",
        ),
    ],
)
def test_safe_options_of_mypy_are_read_as_data(tmp_path: Path, name: str, text: str) -> None:
    """Flags and codes are taken; plug-ins, paths and executables are not."""
    (tmp_path / name).write_text(text)
    options = mypy_options(tmp_path)
    assert options is not None
    assert (dict(options.flags), options.disabled) == ({"disallow_untyped_defs": True}, {"misc"})


def test_strict_stands_for_its_flags(tmp_path: Path) -> None:
    """And what is said besides overrides it."""
    (tmp_path / "pyproject.toml").write_text("[tool.mypy]\nstrict = true\ncheck_untyped_defs = false\n")
    options = mypy_options(tmp_path)
    assert options is not None
    assert options.flags["disallow_untyped_defs"]
    assert not options.flags["check_untyped_defs"]


@pytest.mark.parametrize(
    ("path", "text", "typed"),
    [
        ("pkg/py.typed", "", True),
        ("src/pkg/py.typed", "", True),
        ("pyrightconfig.json", "{}", True),
        ("mypy.ini", "[mypy]\nstrict = True\n", True),
        ("setup.cfg", "[metadata]\nname = x\n", False),
        ("pyproject.toml", "[tool.ruff]\n", False),
    ],
)
def test_a_typed_repository_says_so(tmp_path: Path, path: str, text: str, typed: bool) -> None:
    """By a marker, or by the configuration of a type checker."""
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    assert is_typed(tmp_path) == typed


def test_the_projects_own_packages_and_modules_are_known(tmp_path: Path) -> None:
    """At the root and below src, also without `__init__.py`; no name that cannot be imported, and none of the standard library."""
    for path in (
        "src/shop/a.py",
        "src/space/within/__init__.py",
        "tests/b.py",
        "one.py",
        "docs/index.md",
        "types/x.py",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / 'a"]b').mkdir()
    (tmp_path / 'a"]b' / "c.py").touch()
    (tmp_path / "linked").symlink_to(tmp_path / "tests")
    assert first_party(tmp_path) == ("one", "shop", "space", "tests")
