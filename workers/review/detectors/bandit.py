"""bandit: security holes, graded by what it can tell of the arguments."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memory.model import Severity
from workers.ports import CompletedRun, Sandbox
from workers.review.detectors.detector import (
    Category,
    Detection,
    HeadTree,
    RawFinding,
    complaint,
    in_parts,
    relative,
    run_tool,
)
from workers.review.detectors.rules import BANDIT_SKIP, is_wanted

_FINISHED = (0, 1)
_SEVERITIES = {"LOW": Severity.MINOR, "MEDIUM": Severity.MAJOR, "HIGH": Severity.CRITICAL}
_QUOTING = frozenset({"B105", "B106", "B107"})
_INI = ".apprentice-bandit.ini"
"""Named on the command line, so that bandit looks for no `.bandit` of the repository's."""


class _BanditResult(msgspec.Struct, frozen=True):
    filename: str
    test_id: str
    issue_severity: str
    issue_text: str
    line_number: int
    line_range: tuple[int, ...]
    col_offset: int


class _BanditError(msgspec.Struct, frozen=True):
    filename: str
    reason: str


class _BanditReport(msgspec.Struct, frozen=True):
    errors: tuple[_BanditError, ...]
    results: tuple[_BanditResult, ...]


_decoder = msgspec.json.Decoder(_BanditReport)


class Bandit:
    """The `Detector` that runs bandit with our own selection, or with `everything`; `# nosec` comments are respected."""

    name = "bandit"

    def __init__(self, sandbox: Sandbox, *, everything: bool = False) -> None:
        self._sandbox = sandbox
        self._everything = everything

    def reads(self, path: str) -> bool:
        return path.endswith(".py")

    def detect(self, tree: HeadTree, paths: Sequence[str]) -> Detection:
        def read(some: Sequence[str]) -> Detection:
            arguments = (*_FORMAT, *(() if self._everything else _OURS))
            completed = run_tool(self._sandbox, arguments, tree, some, {_INI: b"[bandit]\n"})
            return findings_in(completed, everything=self._everything)

        return in_parts(tree, [path for path in paths if self.reads(path)], read)


_FORMAT = ("bandit", "--format", "json", "--quiet", "--exit-zero", "--ini", _INI, "--exclude", "")
_OURS = ("--confidence-level", "medium", "--skip", ",".join(BANDIT_SKIP))


def findings_in(completed: CompletedRun, *, everything: bool = False) -> Detection:
    """bandit's JSON in our terms, without what is not worth saying unless `everything` is wanted.

    Raises DetectorFailed when it is not there.
    """
    if completed.exit_code not in _FINISHED:
        raise complaint(Bandit.name, completed)
    try:
        report = _decoder.decode(completed.stdout)
    except msgspec.DecodeError as error:
        raise complaint(Bandit.name, completed) from error
    raw = (_raw(result) for result in report.results)
    return Detection(
        findings=tuple(each for each in raw if everything or is_wanted(each.rule, each.path, each.category)),
        unread={relative(error.filename): error.reason for error in report.errors},
    )


def _raw(result: _BanditResult) -> RawFinding:
    return RawFinding(
        path=relative(result.filename),
        line=result.line_number,
        end_line=max((result.line_number, *result.line_range)),
        column=result.col_offset + 1,
        tool=Bandit.name,
        rule=result.test_id,
        category=Category.SECURITY,
        severity=_SEVERITIES.get(result.issue_severity, Severity.MINOR),
        message=_message(result),
    )


def _message(result: _BanditResult) -> str:
    """bandit's own words, but for the password that it guesses: a comment is read by more people than the code may be."""
    return result.issue_text.partition(":")[0] if result.test_id in _QUOTING else result.issue_text
