"""Tools that the operator configures: run in the sandbox on the changed files alone, heard through their reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from workers.ports import CompletedRun, Sandbox
from workers.review.detectors.detector import (
    Category,
    Detection,
    HeadTree,
    RawFinding,
    complaint,
    in_parts,
    run_command,
)
from workers.review.detectors.reports import rdjson, sarif
from workers.review.detectors.reports.places import Reported
from workers.settings import ReviewTool

_READERS: Mapping[str, Callable[[str, Reported], list[RawFinding]]] = {
    "sarif": sarif.findings_of,
    "rdjson": rdjson.findings_of,
    "rdjsonl": rdjson.findings_of_lines,
}
_FOUND_NOTHING = (0, 1)
"""Exit codes with which an empty report is believed."""


class Configured:
    """The `Detector` that runs one tool of the operator's; the repository's configuration is not there to be read."""

    def __init__(self, sandbox: Sandbox, tool: ReviewTool) -> None:
        self._sandbox = sandbox
        self._tool = tool

    @property
    def name(self) -> str:
        return self._tool.name

    def reads(self, path: str) -> bool:
        """Whether a pattern fits the path, or its name where the pattern has no slash.

        Where suggestions are tried, a file stands below a number.
        """
        top, _, rest = path.partition("/")
        own = rest if top.isdigit() else path
        return any(fnmatchcase(own if "/" in each else PurePosixPath(own).name, each) for each in self._tool.files)

    def detect(self, tree: HeadTree, paths: Sequence[str]) -> Detection:
        def read(some: Sequence[str]) -> Detection:
            completed = run_command(self._sandbox, self._command(some), tree, some, show=self._tool.show)
            reported = Reported(
                tool=self._tool.name,
                sources={path: tree.sources[path] for path in some},
                category=Category(self._tool.category),
            )
            return Detection(findings=tuple(findings_in(completed, self._tool.format, reported)))

        return in_parts(tree, [path for path in paths if self.reads(path)], read)

    def _command(self, paths: Sequence[str]) -> tuple[str, ...]:
        files = [f"./{path}" for path in paths]
        command = [sys.executable if word == "python" else word for word in self._tool.command]
        if "{files}" not in command:
            return (*command, *files)
        at = command.index("{files}")
        return (*command[:at], *files, *command[at + 1 :])


def findings_in(completed: CompletedRun, format_: str, reported: Reported) -> list[RawFinding]:
    """What a tool found; raises DetectorFailed for a broken report, and for an empty one of a tool that failed."""
    if completed.exit_code != 0 and not completed.stdout.strip():
        raise complaint(reported.tool, completed)
    findings = _READERS[format_](completed.stdout, reported)
    if not findings and completed.exit_code not in _FOUND_NOTHING:
        raise complaint(reported.tool, completed)
    return findings
