"""Runs a project's tests in a sandbox and says what came of it."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from workers.ports import Completed, Limits, Sandbox, Workload
from workers.sandbox.decode import Heard, cut_short, decode
from workers.sandbox.project import Project
from workers.sandbox.report import TestReport
from workers.sandbox.run_errors import cut_error, trouble_of

WORKSPACE = "/workspace"
PLUGIN = "apprentice_probe"
PLUGIN_FILES = {"probe.py": "__init__.py", "tracing.py": "tracing.py"}
TRACE_OUTPUT_KB = 65_536
OUR_TOOLS = ("hypothesispytest", "inline_snapshot", "randomly")
"""pytest plugins of our own development environment."""

OWN_ENDINGS = (0, 1)
"""Exit codes of a pytest that ran to its end: all passed, some failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """`lines` maps test id → path → executed lines of code that is no test, and is empty without tracing.

    The id "" stands for what ran while tests were collected: module bodies. `completed` is the process itself.
    """

    __test__ = False

    report: TestReport
    lines: Mapping[str, Mapping[str, frozenset[int]]]
    completed: Completed


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
    """Run the project's test command; with `tests`, only those ids (a file, class or function stands for all under it).

    Never raises for what the tests do: `report.trouble` says what went wrong. Raises CannotRun when there is no sandbox.
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
    heard = decode(completed.report)
    return TestRun(report=_report(project, completed, heard, limits), lines=heard.lines, completed=completed)


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
        "PYTEST_ADDOPTS": f"-p {PLUGIN} {common_options(project)}",
        "APPRENTICE_ROOT": WORKSPACE,
    }
    if selected:
        environment["APPRENTICE_SELECT"] = str(plugin / "select.json")
    if trace:
        environment["APPRENTICE_TRACE"] = "."
    if test_seconds is not None:
        environment["APPRENTICE_TEST_SECONDS"] = str(test_seconds)
    return environment


def common_options(project: Project) -> str:
    """pytest's options for every run of a project, beside its own.

    A project that runs on our interpreter asked for none of the tools that we are developed with, and one of them would
    shuffle its tests.
    """
    ours = OUR_TOOLS if project.python == Path(sys.executable).absolute() else ()
    return " ".join((*(f"-p no:{name}" for name in ours), f"--rootdir={WORKSPACE}"))


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


def _report(project: Project, completed: Completed, heard: Heard, limits: Limits) -> TestReport:
    trouble = trouble_of(project, completed, heard, limits)
    whole = heard.sessions > 0 and heard.finished == heard.sessions and heard.exit_status in OWN_ENDINGS
    results = cut_short(heard, cut_error(completed.ending), trouble)
    return TestReport(
        results=results,
        started=heard.sessions > 0,
        complete=whole and not trouble,
        exit_code=completed.exit_code,
        trouble=trouble,
    )
