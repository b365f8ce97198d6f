"""Finds how a project is tested by reading its files, runs its tests in a sandbox, and reports the results."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from workers.configuration.schema import ALL_PATHS, PathChoices
from workers.errors import BadInput
from workers.ports import CompletedRun, Ending, Limits, Sandbox, Workload
from workers.sandbox.checkout_files import exists, is_file, is_test_file, python_files
from workers.sandbox.launching import WORKSPACE, prefixes
from workers.sandbox.report import (
    MAX_LINES,
    OWN_ENDINGS,
    DecodedReport,
    TestReport,
    TestResult,
    cut_error,
    cut_short,
    decode,
    problem_of,
)

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

    The tests start in `directory`, with these `variables`; their ids are relative to the tree. `note` is one line for
    the user about where they run, empty where nothing is unusual. `paths` holds the files that may be edited.
    `without_own_options` says that the environment left out, at the end of the test command, the options of pytest which
    the project configures.
    """

    tree: Path
    python: Path
    test_command: tuple[str, ...]
    source_roots: tuple[str, ...]
    read_only: tuple[Path, ...] = ()
    directory: str = "."
    variables: tuple[tuple[str, str], ...] = ()
    note: str = ""
    paths: PathChoices = ALL_PATHS
    without_own_options: bool = False

    def with_own_options(self) -> Project:
        if not self.without_own_options:
            return self
        return replace(self, test_command=self.test_command[: -len(NO_OWN_OPTIONS)], without_own_options=False)

    def starts_with(self, word: str) -> Path:
        """The path in the tree that an argument of the test command names, if it names any."""
        return self.tree / self.directory / word.partition("::")[0]

    def argument(self, path: str) -> str:
        """A path of the tree as the test command has to name it."""
        return os.path.relpath(path, self.directory)

    def holds(self, path: str) -> bool:
        """Whether a path of the tree lies where the tests start: beside it are other projects, which may not be installed."""
        return PurePosixPath(path).is_relative_to(self.directory)

    def named_tests(self) -> frozenset[str]:
        """The files that the test command names: they are tests, whatever they are called."""
        if "--doctest-modules" in self.test_command:
            return frozenset()
        words = [word.partition("::")[0] for word in self.test_command[1:] if not word.startswith("-")]
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

    Where no test command is given, the tree has to hold files that are called as tests are.

    It is never one that the tree holds: its author would choose what the sandbox shows of this machine.
    Raises BadInput with one line for the user when the project cannot be tested.
    """
    tree = tree.absolute()
    if not tree.is_dir():
        raise BadInput(f"{tree} is not a directory: name the root of a checkout")
    home = (copy_of or tree).absolute()
    if test_command is None and not (command := default_command(tree)):
        raise BadInput(f"no tests in {home}: there is no test_*.py, no *_test.py and no pytest configuration")
    interpreter = (python or Path(sys.executable)).absolute()
    prefixes(interpreter)
    return Project(
        tree=tree,
        python=interpreter,
        test_command=command if test_command is None else _words_of(test_command, tree, home, interpreter),
        source_roots=tuple(dict.fromkeys(root for start in (directory, ".") for root in _source_roots(tree, start))),
        directory=directory,
        variables=variables,
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


def _words_of(text: str, tree: Path, home: Path, python: Path) -> tuple[str, ...]:
    """The words of the test command. Raises BadInput when its program does not exist."""
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadInput(f"the test command {text!r} cannot be split into words: {problem}") from None
    if not words:
        raise BadInput("the test command is empty: give one, or leave the option out for `python -m pytest`")
    return (_program(words[0], tree, home, python), *words[1:])


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


ROOT_OPTION = f"--rootdir={WORKSPACE}"
PLUGIN = "apprentice_probe"
PLUGIN_FILES = {"pytest_plugin.py": "__init__.py", "tracing.py": "tracing.py"}
CHILD_TRACING = Path(__file__).with_name("child_tracing.py")
PLAIN_TESTS = Path(__file__).with_name("plain_tests.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """`lines` maps test id → path → executed lines of code that is no test, and is empty without tracing.

    The id "" holds the lines that ran during collection: module bodies; `lines_cut` is whether there were too many to keep.
    `completed` is the process itself.
    """

    __test__ = False

    report: TestReport
    lines: Mapping[str, Mapping[str, frozenset[int]]]
    lines_cut: bool = False
    completed: CompletedRun


def run_tests(
    sandbox: Sandbox,
    project: Project,
    *,
    tests: Sequence[str] = (),
    overlay: Mapping[str, bytes | None] | None = None,
    limits: Limits | None = None,
    trace: bool | Sequence[str] = False,
    test_seconds: float | None = None,
    near_seconds: float | None = None,
) -> TestRun:
    """Run the project's test command; with `tests`, only those ids (a file, class or function selects all tests in it).

    Never raises for what the tests do: `report.trouble` holds the problem. Raises CannotRun when there is no sandbox.
    Ids are relative to the checkout's root. A trace is of all files of code, in which lines that seldom run may be missed,
    or of those that `trace` names, in full. A test that computes for more than `test_seconds` of processor time has failed
    with the error type Timeout. After `tests`, others of the same files run for `near_seconds` and then the run is ended,
    with a trouble that says so.
    """
    limits = limits or Limits()
    with _plugin(tests, trace=bool(trace)) as plugin:
        environment = {
            **base_environment(project, plugin),
            "PYTEST_ADDOPTS": f"-p {PLUGIN} {ROOT_OPTION}",
            "APPRENTICE_ROOT": str(WORKSPACE),
            **({"APPRENTICE_SELECT": str(plugin / "select.json")} if tests else {}),
            **({"APPRENTICE_TRACE": json.dumps([] if trace is True else trace)} if trace else {}),
            **({} if near_seconds is None else {"APPRENTICE_NEAR_SECONDS": str(near_seconds)}),
            **({} if test_seconds is None else {"APPRENTICE_TEST_SECONDS": str(test_seconds)}),
        }
        workload = Workload(
            command=_command(project, tests),
            tree=project.tree,
            python=project.python,
            overlay=overlay or {},
            env=environment,
            read_only=(*project.read_only, plugin),
            limits=limits,
            directory=project.directory,
        )
        completed = sandbox.run(workload)
    decoded = decode(completed.report)
    report, cut = _report(project, completed, decoded, limits), decoded.line_count >= MAX_LINES
    return TestRun(report=report, lines=decoded.lines, lines_cut=cut, completed=completed)


def run_plainly(
    sandbox: Sandbox, project: Project, tests: Sequence[str], overlay: Mapping[str, bytes | None], limits: Limits
) -> dict[str, TestResult]:
    """Run test functions without pytest: the results, by id, of those that need no more of it than plain_tests.py has."""
    files: dict[str, list[str]] = {}
    for path, _, name in (test.partition("::") for test in tests):
        files.setdefault(path, []).append(name)
    workload = Workload(
        command=("python", "-c", PLAIN_TESTS.read_text(encoding="utf-8"), json.dumps(files)),
        tree=project.tree,
        python=project.python,
        overlay=overlay,
        env={**base_environment(project), "APPRENTICE_ROOT": str(WORKSPACE)},
        read_only=project.read_only,
        limits=limits,
        directory=project.directory,
    )
    results = decode(sandbox.run(workload).report).results
    return {test: results[test] for test in tests if test in results}


def base_environment(project: Project, *first: Path) -> dict[str, str]:
    """The environment of the project's interpreter inside: import roots after `first`, no bytecode, one hash seed."""
    own, roots = dict(project.variables), (str(WORKSPACE / root) for root in project.source_roots)
    theirs = [str(WORKSPACE / project.directory / root) for root in own.get("PYTHONPATH", "").split(":") if root]
    return {
        **own,
        "PYTHONPATH": ":".join([*map(str, first), *roots, *theirs]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "LANG": "C.UTF-8",
    }


@contextmanager
def _plugin(tests: Sequence[str], *, trace: bool) -> Iterator[Path]:
    """A directory with the plugin alone: beside it on the import path our other modules would shadow the project's."""
    with tempfile.TemporaryDirectory(prefix="apprentice-probe-") as name:
        directory = Path(name)
        package = directory / PLUGIN
        package.mkdir()
        for shown in (directory, package):
            shown.chmod(0o755)
        for source, target in PLUGIN_FILES.items():
            text = Path(__file__).with_name(source).read_text(encoding="utf-8")
            # Tracers of the project's own, as Hypothesis has one, pass over code of no file.
            _write(package / target, f'exec(compile({text!r}, "<{PLUGIN}>", "exec"))\n')
        if trace:
            _write(directory / "sitecustomize.py", CHILD_TRACING.read_text(encoding="utf-8"))
        _write(directory / "select.json", json.dumps(list(tests)))
        yield directory


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)


def _command(project: Project, tests: Sequence[str]) -> tuple[str, ...]:
    """The test command; where it names no files itself, pytest is spared collecting those without a wanted test, and runs the
    others in the order in which they are wanted.

    The plugin deselects the rest in any case. Single tests that it names give way to the files of those that are wanted.
    """
    words, named = project.test_command, path_words(project)
    if not tests or not _is_pytest(words) or (named and not any("::" in words[at] for at in named)):
        return words
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
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
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
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


def _report(project: Project, completed: CompletedRun, decoded: DecodedReport, limits: Limits) -> TestReport:
    trouble = problem_of(completed, decoded, limits, python=project.python, program=project.test_command[0])
    whole = decoded.sessions > 0 and decoded.finished == decoded.sessions and decoded.exit_status in OWN_ENDINGS
    results = cut_short(decoded, cut_error(completed.ending), trouble)
    return TestReport(
        results=results,
        started=decoded.sessions > 0,
        complete=whole and not trouble,
        trouble=trouble,
        out_of_time=completed.ending is Ending.WALL_TIME,
        loaded=frozenset(decoded.loaded),
    )
