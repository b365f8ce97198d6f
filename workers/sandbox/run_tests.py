"""Runs a project's tests in a sandbox and reports the results."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from workers.ports import CompletedRun, Ending, Limits, Sandbox, Workload
from workers.sandbox.project import Project
from workers.sandbox.report import DecodedReport, TestReport, cut_short, decode

TAIL_CHARACTERS = 600
NO_SUCH_COMMAND = (126, 127)
PASSED, FAILED, INTERRUPTED, INTERNAL_ERROR, USAGE_ERROR, NOTHING_COLLECTED = range(6)
"""pytest's exit codes (pytest.ExitCode)."""

OWN_ENDINGS = (PASSED, FAILED)
"""Exit codes of a pytest that ran to its end."""

_ODD_ENDINGS = {
    INTERRUPTED: "pytest was interrupted",
    INTERNAL_ERROR: "pytest met an internal error",
    USAGE_ERROR: "pytest did not accept its arguments",
}


def problem_of(project: Project, completed: CompletedRun, decoded: DecodedReport, limits: Limits) -> str:
    """The problem of a run, apart from failing tests; empty without one."""
    if completed.ending is not Ending.EXITED:
        return _with_place(_CUTS.get(completed.ending, _KILLED)[1].format(limits), decoded)
    if not decoded.sessions:
        return _not_started(project, completed)
    if decoded.broken_files:
        return _not_collected(decoded)
    if decoded.finished < decoded.sessions:
        return _with_place(f"pytest died with exit code {completed.exit_code}", decoded) + _tail(completed)
    return _own_ending(completed, decoded)


def cut_error(ending: Ending) -> str:
    """The error type of a test that was running when the run was cut."""
    return _CUTS.get(ending, _KILLED)[0]


_CUTS = {
    Ending.WALL_TIME: ("Timeout", "the tests ran longer than {0.wall_seconds:g} s and were stopped"),
    Ending.CPU_TIME: ("Timeout", "the tests used more than {0.cpu_seconds} s of processor time and were stopped"),
    Ending.MEMORY: ("MemoryError", "the tests used more than {0.memory_mb} MB of memory and were stopped"),
    Ending.OUTPUT: ("Crash", "the tests wrote more than {0.output_kb} KB and were stopped"),
}
_KILLED = ("Crash", "the tests were killed")
"""The error type of a test that was running, and the problem of the run with its limits."""


def _not_started(project: Project, completed: CompletedRun) -> str:
    output = completed.stderr + completed.stdout
    if "No module named pytest" in output or "No module named 'pytest'" in output:
        return (
            f"{project.python} has no pytest: install the project's test requirements into its environment, "
            "or name another interpreter"
        )
    if "apprentice_probe" in output:
        return "the test command hides PYTHONPATH from pytest: leave out python's -I and -E" + _tail(completed)
    if completed.exit_code in NO_SUCH_COMMAND:
        return f"the test command {project.test_command[0]!r} cannot be started in the sandbox" + _tail(completed)
    if completed.exit_code == USAGE_ERROR:
        return "pytest could not start" + _tail(completed)
    return f"the test command ran no pytest (exit code {completed.exit_code})" + _tail(completed)


def _not_collected(decoded: DecodedReport) -> str:
    first = decoded.results[decoded.broken_files[0]]
    count = len(decoded.broken_files)
    what = "one file cannot" if count == 1 else f"{count} files cannot"
    return f"{what} be collected: {first.id}: {first.error_type}: {_line(first.message)}"


def _own_ending(completed: CompletedRun, decoded: DecodedReport) -> str:
    status = decoded.exit_status
    if status in OWN_ENDINGS:
        return ""
    if status == NOTHING_COLLECTED:
        return "no tests were collected"
    return _ODD_ENDINGS.get(status, f"pytest ended with exit code {status}") + _tail(completed)


def _with_place(text: str, decoded: DecodedReport) -> str:
    running = next(iter(decoded.running), "")
    return f"{text} during {running}" if running else text


def _tail(completed: CompletedRun) -> str:
    """The end of what was written, on one line."""
    output = (completed.stderr.strip() or completed.stdout.strip())[-TAIL_CHARACTERS:]
    return f": {' | '.join(line.strip() for line in output.splitlines() if line.strip())}" if output else ""


def _line(message: str) -> str:
    return next((line.strip() for line in message.splitlines() if line.strip()), "no message")


WORKSPACE = "/workspace"
ROOT_OPTION = f"--rootdir={WORKSPACE}"
PLUGIN = "apprentice_probe"
PLUGIN_FILES = {"pytest_plugin.py": "__init__.py", "tracing.py": "tracing.py"}
TRACE_OUTPUT_KB = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """`lines` maps test id → path → executed lines of code that is no test, and is empty without tracing.

    The id "" holds the lines that ran during collection: module bodies. `completed` is the process itself.
    """

    __test__ = False

    report: TestReport
    lines: Mapping[str, Mapping[str, frozenset[int]]]
    completed: CompletedRun


def run_tests(
    sandbox: Sandbox,
    project: Project,
    *,
    tests: Sequence[str] = (),
    overlay: Mapping[str, bytes | None] | None = None,
    limits: Limits | None = None,
    trace: bool = False,
    test_seconds: float | None = None,
) -> TestRun:
    """Run the project's test command; with `tests`, only those ids (a file, class or function selects all tests in it).

    Never raises for what the tests do: `report.trouble` holds the problem. Raises CannotRun when there is no sandbox.
    Ids are relative to the checkout's root. Tracing raises the cap on output. A test that computes for more than
    `test_seconds` of processor time has failed with the error type Timeout.
    """
    limits = limits or Limits()
    if trace:
        limits = replace(limits, output_kb=max(limits.output_kb, TRACE_OUTPUT_KB))
    with _plugin(tests) as plugin:
        workload = Workload(
            command=_command(project, tests),
            tree=project.tree,
            python=project.python,
            overlay=overlay or {},
            env=_environment(project, plugin, selected=bool(tests), trace=trace, test_seconds=test_seconds),
            read_only=(*project.read_only, plugin),
            limits=limits,
        )
        completed = sandbox.run(workload)
    decoded = decode(completed.report)
    return TestRun(report=_report(project, completed, decoded, limits), lines=decoded.lines, completed=completed)


def import_path(project: Project) -> tuple[str, ...]:
    """The project's import roots as they are called inside the sandbox."""
    return tuple(str(PurePosixPath(WORKSPACE, root)) for root in project.source_roots)


def base_environment(project: Project, *first: Path) -> dict[str, str]:
    """The environment of the project's interpreter inside: import roots after `first`, no bytecode, one hash seed."""
    return {
        "PYTHONPATH": ":".join([*map(str, first), *import_path(project)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "LANG": "C.UTF-8",
    }


@contextmanager
def _plugin(tests: Sequence[str]) -> Iterator[Path]:
    """A directory with the plugin alone: beside it on the import path our other modules would shadow the project's."""
    with tempfile.TemporaryDirectory(prefix="apprentice-probe-") as name:
        directory = Path(name)
        package = directory / PLUGIN
        package.mkdir(mode=0o755)
        directory.chmod(0o755)
        for source, target in PLUGIN_FILES.items():
            _write(package / target, Path(__file__).with_name(source).read_text(encoding="utf-8"))
        _write(directory / "select.json", json.dumps(list(tests)))
        yield directory


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)


def _environment(
    project: Project, plugin: Path, *, selected: bool, trace: bool, test_seconds: float | None
) -> dict[str, str]:
    environment = {
        **base_environment(project, plugin),
        "PYTEST_ADDOPTS": f"-p {PLUGIN} {ROOT_OPTION}",
        "APPRENTICE_ROOT": WORKSPACE,
    }
    if selected:
        environment["APPRENTICE_SELECT"] = str(plugin / "select.json")
    if trace:
        environment["APPRENTICE_TRACE"] = "."
    if test_seconds is not None:
        environment["APPRENTICE_TEST_SECONDS"] = str(test_seconds)
    return environment


def _command(project: Project, tests: Sequence[str]) -> tuple[str, ...]:
    """The test command; where it names no paths itself, pytest is spared collecting files without a wanted test.

    The plugin deselects the rest in any case, so nothing depends on this.
    """
    words = project.test_command
    if not tests or not _is_pytest(words) or any(_is_path(project, word) for word in words[1:]):
        return words
    files = sorted({test.partition("::")[0] for test in tests})
    return (*words, *files) if all((project.tree / file).exists() for file in files) else words


def _is_pytest(words: Sequence[str]) -> bool:
    name = PurePosixPath(words[0]).name
    return name in ("pytest", "py.test") or (name.startswith("python") and tuple(words[1:3]) == ("-m", "pytest"))


def _is_path(project: Project, word: str) -> bool:
    return not word.startswith("-") and (project.tree / word.partition("::")[0]).exists()


def _report(project: Project, completed: CompletedRun, decoded: DecodedReport, limits: Limits) -> TestReport:
    trouble = problem_of(project, completed, decoded, limits)
    whole = decoded.sessions > 0 and decoded.finished == decoded.sessions and decoded.exit_status in OWN_ENDINGS
    results = cut_short(decoded, cut_error(completed.ending), trouble)
    return TestReport(
        results=results,
        started=decoded.sessions > 0,
        complete=whole and not trouble,
        exit_code=completed.exit_code,
        trouble=trouble,
    )
