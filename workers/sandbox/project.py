"""A project as it can be tested: its checkout, its interpreter and its test command, found by reading its files."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath

from workers.configuration.schema import ALL_PATHS, PathChoices
from workers.errors import BadInput
from workers.sandbox.checkout_files import exists, is_file, is_test_file, python_files
from workers.sandbox.launching import prefixes
from workers.sandbox.test_ids import file_of

DEFAULT_COMMAND = ("python", "-m", "pytest")
SYSTEM_COMMANDS = (Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin"))
CONFIGURED_IN = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "pytest.toml": "",
    "pyproject.toml": "[tool.pytest",
    "setup.cfg": "[tool:pytest]",
    "tox.ini": "[pytest]",
}
"""The files where pytest reads its configuration, and the text that marks it there."""

LARGEST_CONFIGURATION = 1 << 20
"""Bytes of such a file in which the mark is looked for: a commit of a few kilobytes may hold one of half a gigabyte."""

NO_OWN_OPTIONS = ("-o", "addopts=")
"""Arguments of pytest that leave out the options which the project configures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A checkout that can be tested. `source_roots` are put on PYTHONPATH, relative to the tree, nearest first.

    The tests start in `directory`, with these `variables`, and those that the test command has `assigned`; their ids are
    relative to the tree. `note` is one line for the user about where they run, empty where nothing is unusual. `paths`
    holds the files that may be edited. `without_own_options` says that the environment left out, at the end of the test
    command, the options of pytest which the project configures.
    """

    tree: Path
    python: Path
    test_command: tuple[str, ...]
    source_roots: tuple[str, ...]
    read_only: tuple[Path, ...] = ()
    directory: str = "."
    variables: tuple[tuple[str, str], ...] = ()
    assigned: tuple[tuple[str, str], ...] = ()
    note: str = ""
    paths: PathChoices = ALL_PATHS
    without_own_options: bool = False

    def with_own_options(self) -> Project:
        if not self.without_own_options:
            return self
        return replace(self, test_command=self.test_command[: -len(NO_OWN_OPTIONS)], without_own_options=False)

    def starts_with(self, word: str) -> Path:
        """The path in the tree that an argument of the test command names, if it names any."""
        return self.tree / self.directory / file_of(word)

    def argument(self, path: str) -> str:
        """A path of the tree as the test command has to name it."""
        return os.path.relpath(path, self.directory)

    def holds(self, path: str) -> bool:
        """Whether a path of the tree lies where the tests start: beside it are other projects, which may not be installed."""
        return PurePosixPath(path).is_relative_to(self.directory)

    def command_line(self) -> str:
        """The test command as it is typed into a shell."""
        return " ".join(
            [*(f"{name}={shlex.quote(value)}" for name, value in self.assigned), shlex.join(self.test_command)]
        )

    def named_tests(self) -> frozenset[str]:
        """The files that the test command names: they are tests, whatever they are called."""
        if "--doctest-modules" in self.test_command:
            return frozenset()
        words = [file_of(word) for word in self.test_command[1:] if not word.startswith("-")]
        paths = (os.path.normpath(Path(self.directory, word)) for word in words if word.endswith(".py"))
        return frozenset(path for path in paths if is_file(self.tree / path))


def discover(
    tree: Path,
    *,
    python: Path | None,
    test_command: str | None,
    copy_of: Path | None = None,
    directory: str = ".",
    variables: tuple[tuple[str, str], ...] = (),
) -> Project:
    """The project in `tree`, which may be a copy of a user's directory. Its interpreter is `python`, or ours.

    Where no test command is given, the tree has to hold files that are called as tests are. One may begin with variables.

    It is never one that the tree holds: its author would choose what the sandbox shows of this machine.
    Raises BadInput with one line for the user when the project cannot be tested.
    """
    tree = tree.absolute()
    if not tree.is_dir():
        raise BadInput(f"{tree} is not a directory: name the root of a checkout")
    home = (copy_of or tree).absolute()
    assigned, words = _split(test_command) if test_command is not None else ((), default_command(tree))
    if not words:
        raise BadInput(f"no tests in {home}: there is no test_*.py, no *_test.py and no pytest configuration")
    interpreter = (python or Path(sys.executable)).absolute()
    prefixes(interpreter)
    return Project(
        tree=tree,
        python=interpreter,
        test_command=(_program(words[0], tree, home, interpreter), *words[1:]),
        source_roots=tuple(dict.fromkeys(root for start in (directory, ".") for root in _source_roots(tree, start))),
        directory=directory,
        variables=variables,
        assigned=assigned,
    )


def _source_roots(tree: Path, start: str) -> Iterator[str]:
    for root in (os.path.normpath(Path(start, "src")), start):
        if root == start or (tree / root).is_dir():
            yield root


def default_command(tree: Path) -> tuple[str, ...]:
    """Runs the tests where nothing says how; empty without any.

    They are those that pytest finds, else the files called `tests.py` or `…_tests.py`, as unittest, nose and Django have them.
    """
    if _has_tests(tree):
        return DEFAULT_COMMAND
    called = (file for file in python_files(tree) if file.name == "tests.py" or file.name.endswith("_tests.py"))
    others = [file.relative_to(tree).as_posix() for file in called]
    return (*DEFAULT_COMMAND, *others) if others else ()


def _has_tests(tree: Path) -> bool:
    for name, mark in CONFIGURED_IN.items():
        path = tree / name
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if mark.encode() in file.read(LARGEST_CONFIGURATION):
                    return True
    return any(is_test_file(file.name) for file in python_files(tree))


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_SET_BY_US = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE"})
"""What the sandbox sets for every run: a command that wants it otherwise has `env` set it once more."""


def _split(text: str) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The variables that a test command begins with, as in a shell or behind `env`, and its words."""
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadInput(f"the test command {text!r} cannot be split into words: {problem}") from None
    behind = words[1:] if words[:1] == ["env"] else words
    assigned = list(takewhile(_ASSIGNMENT.fullmatch, behind))
    command = behind[len(assigned) :] if assigned else words
    if not command:
        raise BadInput("the test command is empty: give one, or leave the option out for `python -m pytest`")
    variables = tuple((name, value) for name, _, value in (each.partition("=") for each in assigned))
    if "PYTEST_ADDOPTS" in dict(variables):
        raise BadInput("the test command sets PYTEST_ADDOPTS, which is needed here: write these options behind pytest")
    if not _SET_BY_US.isdisjoint(dict(variables)):
        return (), ("env", *assigned, *command)
    return variables, tuple(command)


def _program(name: str, tree: Path, home: Path, python: Path) -> str:
    """The program as the sandbox finds it; BadInput when the sandbox cannot find it."""
    if name in ("python", "python3"):
        return name
    if "/" in name:
        if _runs(tree / name):
            return name
        if _runs(home / name):
            return str(home / name)
    elif any(_runs(place / name) for place in (python.parent, *SYSTEM_COMMANDS)):
        return name
    raise BadInput(
        f"the test command's program {name!r} does not exist in the checkout, beside {python} or in /usr/bin: "
        "name one that does (shell syntax needs sh -c '…')"
    )


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


# ── The test command, and which tests it names ──


def command_for(project: Project, tests: Sequence[str]) -> tuple[str, ...]:
    """The test command; where it names no files itself, pytest is spared collecting those without a wanted test, and runs the
    others in the order in which they are wanted.

    The plugin deselects the rest in any case. Single tests that it names give way to the files of those that are wanted.
    """
    words, named = project.test_command, path_words(project)
    if not tests or not _is_pytest(words) or (named and not any("::" in words[at] for at in named)):
        return words
    files = dict.fromkeys(file_of(test) for test in tests)
    there = all(exists(project.tree / file) for file in files)
    return (*_without(words, named), *map(project.argument, files)) if there else words


def _is_pytest(words: Sequence[str]) -> bool:
    name = PurePosixPath(words[0]).name
    return name in ("pytest", "py.test") or (name.startswith("python") and tuple(words[1:3]) == ("-m", "pytest"))


_TAKES_A_VALUE = frozenset({
    "-c", "-k", "-m", "-n", "-o", "-p", "-r", "-W", "--basetemp", "--confcutdir", "--cov", "--cov-config", "--deselect",
    "--ignore", "--ignore-glob", "--junitxml", "--maxfail", "--override-ini", "--rootdir",
})  # fmt: skip
"""Options of pytest, pytest-cov and pytest-xdist whose value is a word of its own, which may be called as a file is."""


def path_words(project: Project) -> list[int]:
    """The places of those words of the test command that name files and directories to run."""
    words = project.test_command
    first = 3 if words[1:2] == ("-m",) else 1
    places = (at for at in range(first, len(words)) if words[at - 1] not in _TAKES_A_VALUE)
    return [at for at in places if not words[at].startswith("-") and exists(project.starts_with(words[at]))]


def _without(words: Sequence[str], places: Collection[int]) -> tuple[str, ...]:
    return tuple(word for at, word in enumerate(words) if at not in places)


def whole_suite(project: Project) -> Project | None:
    """The project with a command that runs all its tests; None where its own names no paths, or those of all test files."""
    words, named = project.test_command, path_words(project)
    if not named or not _is_pytest(words):
        return None
    whole = [project.starts_with(words[at]) for at in named if "::" not in words[at]]
    files = [file for file in python_files(project.tree) if is_test_file(file.name)]
    if all(any(file.is_relative_to(path) for path in whole) for file in files):
        return None
    return replace(project, test_command=_without(words, named))


def with_files_of(project: Project, tests: Sequence[str]) -> Project:
    """The project with a command that names the files of these tests in place of its paths; as it is where it names single tests."""
    words, named = project.test_command, path_words(project)
    files = dict.fromkeys(file_of(test) for test in tests)
    there = all(exists(project.tree / file) for file in files)
    if not _is_pytest(words) or not there or any("::" in words[at] for at in named):
        return project
    return replace(project, test_command=(*_without(words, named), *map(project.argument, files)))


def with_tests(project: Project, tests: Sequence[str]) -> Project:
    """The project with a command that runs these tests too, where its own names single tests."""
    words = project.test_command
    if not _is_pytest(words) or not any("::" in words[at] for at in path_words(project)):
        return project
    split = (test.partition("::") for test in tests)
    more = (f"{project.argument(path)}::{name}" for path, _, name in split)
    return replace(project, test_command=(*words, *more))
