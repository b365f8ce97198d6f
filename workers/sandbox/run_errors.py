"""Why a test run is not what it should be, in words for the user."""

from __future__ import annotations

from workers.ports import Completed, Ending, Limits
from workers.sandbox.decode import Heard
from workers.sandbox.project import Project

TAIL_CHARACTERS = 600
NO_SUCH_COMMAND = (126, 127)
PASSED, FAILED, INTERRUPTED, INTERNAL_ERROR, USAGE_ERROR, NOTHING_COLLECTED = range(6)
"""pytest's exit codes (pytest.ExitCode)."""


def trouble_of(project: Project, completed: Completed, heard: Heard, limits: Limits) -> str:
    """What went wrong with a run, beside failing tests; empty when nothing did."""
    if completed.ending is not Ending.EXITED:
        return _with_place(_cut(completed.ending, limits), heard)
    if not heard.sessions:
        return _never_began(project, completed)
    if heard.broken_files:
        return _not_collected(heard)
    if heard.finished < heard.sessions:
        return _with_place(f"pytest died with exit code {completed.exit_code}", heard) + _tail(completed)
    return _own_ending(completed, heard)


def cut_error(ending: Ending) -> str:
    """The error type of a test that was running when the run was cut."""
    match ending:
        case Ending.WALL_TIME | Ending.CPU_TIME:
            return "Timeout"
        case Ending.MEMORY:
            return "MemoryError"
        case Ending.EXITED | Ending.KILLED | Ending.OUTPUT:
            return "Crash"


def _cut(ending: Ending, limits: Limits) -> str:
    match ending:
        case Ending.WALL_TIME:
            return f"the tests ran longer than {limits.wall_seconds:g} s and were stopped"
        case Ending.CPU_TIME:
            return f"the tests used more than {limits.cpu_seconds} s of processor time and were stopped"
        case Ending.MEMORY:
            return f"the tests used more than {limits.memory_mb} MB of memory and were stopped"
        case Ending.OUTPUT:
            return f"the tests wrote more than {limits.output_kb} KB and were stopped"
        case Ending.KILLED | Ending.EXITED:
            return "the tests were killed"


def _never_began(project: Project, completed: Completed) -> str:
    said = completed.stderr + completed.stdout
    if "No module named pytest" in said or "No module named 'pytest'" in said:
        return (
            f"{project.python} has no pytest: install the project's test requirements into its environment, "
            "or name another interpreter"
        )
    if "apprentice_probe" in said:
        return "the test command hides PYTHONPATH from pytest: leave out python's -I and -E" + _tail(completed)
    if completed.exit_code in NO_SUCH_COMMAND:
        return f"the test command {project.test_command[0]!r} cannot be started in the sandbox" + _tail(completed)
    if completed.exit_code == USAGE_ERROR:
        return "pytest could not start" + _tail(completed)
    return f"the test command ran no pytest (exit code {completed.exit_code})" + _tail(completed)


def _not_collected(heard: Heard) -> str:
    first = heard.results[heard.broken_files[0]]
    count = len(heard.broken_files)
    what = "one file cannot" if count == 1 else f"{count} files cannot"
    return f"{what} be collected: {first.id}: {first.error_type}: {_line(first.message)}"


def _own_ending(completed: Completed, heard: Heard) -> str:
    match heard.exit_status:
        case 0 | 1:
            return ""
        case 2:
            return "pytest was interrupted" + _tail(completed)
        case 3:
            return "pytest met an internal error" + _tail(completed)
        case 4:
            return "pytest did not accept its arguments" + _tail(completed)
        case 5:
            return "no tests were collected"
        case other:
            return f"pytest ended with exit code {other}" + _tail(completed)


def _with_place(text: str, heard: Heard) -> str:
    running = next(iter(heard.running), "")
    return f"{text} during {running}" if running else text


def _tail(completed: Completed) -> str:
    """The end of what was written, on one line."""
    said = (completed.stderr.strip() or completed.stdout.strip())[-TAIL_CHARACTERS:]
    return f": {' | '.join(line.strip() for line in said.splitlines() if line.strip())}" if said else ""


def _line(message: str) -> str:
    return next((line.strip() for line in message.splitlines() if line.strip()), "no message")
