"""Runs a project's tests in a sandbox, and reports the results."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workers.ports import CompletedRun, Ending, Limits, Sandbox, Workload
from workers.sandbox.launching import WORKSPACE
from workers.sandbox.project import Project, command_for
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
            command=command_for(project, tests),
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
    own, roots = dict((*project.variables, *project.assigned)), (str(WORKSPACE / root) for root in project.source_roots)
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
