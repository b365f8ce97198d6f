"""ruff: fast, and many of its findings come with a fix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from workers.ports import CompletedRun, Sandbox
from workers.review.detectors.detector import (
    Detection,
    FixEdit,
    HeadTree,
    RawFinding,
    ToolFix,
    complaint,
    in_parts,
    relative,
    run_tool,
)
from workers.review.detectors.rules import RUFF_CONFIG, RUFF_IGNORE, RUFF_SELECT, SYNTAX_ERROR, is_wanted, kind_of
from workers.review.project_options import RuffOptions

_FINISHED = (0, 1)
_REFUSED = 2
_AT = ("", "[0-9]*/")
"""Where a file stands: at its place, or below a number, where suggestions are tried."""

_SUFFIXES = (".py", ".pyi")


class _Place(msgspec.Struct, frozen=True):
    row: int
    column: int


class _Edit(msgspec.Struct, frozen=True):
    content: str
    location: _Place
    end_location: _Place


class _RuffFix(msgspec.Struct, frozen=True):
    applicability: str
    edits: tuple[_Edit, ...]


class _RuffDiagnostic(msgspec.Struct, frozen=True):
    code: str | None
    filename: str
    location: _Place
    end_location: _Place
    message: str
    fix: _RuffFix | None = None


_decoder = msgspec.json.Decoder(tuple[_RuffDiagnostic, ...])


class Ruff:
    """The `Detector` that runs ruff with our own selection, or with `everything`; `# noqa` comments are respected.

    `options` are the project's own, as data. Where ruff refuses them, it reads without them.
    """

    name = "ruff"

    def __init__(self, sandbox: Sandbox, options: RuffOptions | None = None, *, everything: bool = False) -> None:
        self._sandbox = sandbox
        self._options = options or RuffOptions()
        self._everything = everything

    def reads(self, path: str) -> bool:
        return path.endswith(_SUFFIXES)

    def detect(self, tree: HeadTree, paths: Sequence[str]) -> Detection:
        def read(some: Sequence[str]) -> Detection:
            arguments = partial(_arguments, tree.target_version, everything=self._everything)
            completed = run_tool(self._sandbox, arguments(self._options), tree, some)
            if completed.exit_code == _REFUSED and self._options != RuffOptions():
                completed = run_tool(self._sandbox, arguments(RuffOptions()), tree, some)
            return findings_in(completed, everything=self._everything)

        return in_parts(tree, [path for path in paths if self.reads(path)], read)


def _arguments(target_version: str, options: RuffOptions, *, everything: bool) -> tuple[str, ...]:
    configuration = [part for setting in RUFF_CONFIG for part in ("--config", setting)]
    length = ("--line-length", str(options.line_length)) if options.line_length else ()
    return (
        *("ruff", "check", "--isolated", "--no-cache", "--no-preview", "--output-format", "json"),
        *("--target-version", options.target_version or target_version),
        *(("--select", "ALL", "--quiet") if everything else _selection(options)),
        *length,
        *configuration,
    )


def _selection(options: RuffOptions) -> tuple[str, ...]:
    ignored = [f"{at}{path}:{code}" for path, codes in options.per_file_ignores.items() for code in codes for at in _AT]
    return (
        *("--select", ",".join((*RUFF_SELECT, *options.extend_select))),
        *("--ignore", ",".join((*RUFF_IGNORE, *options.ignore))),
        *(("--per-file-ignores", ",".join(ignored)) if ignored else ()),
    )


def findings_in(completed: CompletedRun, *, everything: bool = False) -> Detection:
    """ruff's JSON in our terms, without what is not worth saying unless `everything` is wanted.

    Raises DetectorFailed when it is not there.
    """
    if completed.exit_code not in _FINISHED:
        raise complaint(Ruff.name, completed)
    try:
        diagnostics = _decoder.decode(completed.stdout)
    except msgspec.DecodeError as error:
        raise complaint(Ruff.name, completed) from error
    found = _found(diagnostics)
    wanted = (each for each in found if everything or is_wanted(each.rule, each.path, each.category))
    return Detection(findings=tuple(wanted), unread=_unread(diagnostics))


def _unread(diagnostics: Sequence[_RuffDiagnostic]) -> dict[str, str]:
    return {relative(each.filename): each.message for each in diagnostics if each.code == "E902"}


def _found(diagnostics: Sequence[_RuffDiagnostic]) -> list[RawFinding]:
    broken: set[str] = set()
    found = []
    for diagnostic in diagnostics:
        finding = _raw(diagnostic)
        if finding.rule == SYNTAX_ERROR and finding.path in broken:
            continue  # what follows the first syntax error mostly follows from it
        if finding.rule == SYNTAX_ERROR:
            broken.add(finding.path)
        if finding.rule != "E902":
            found.append(finding)
    return found


def _raw(diagnostic: _RuffDiagnostic) -> RawFinding:
    rule = diagnostic.code or SYNTAX_ERROR
    category, severity = kind_of(rule)
    return RawFinding(
        path=relative(diagnostic.filename),
        line=diagnostic.location.row,
        end_line=_last_line(diagnostic.location, diagnostic.end_location),
        column=diagnostic.location.column,
        tool=Ruff.name,
        rule=rule,
        category=category,
        severity=severity,
        message=diagnostic.message,
        fix=_fix(diagnostic.fix),
    )


def _last_line(start: _Place, end: _Place) -> int:
    """The last line that holds a character of the range (an end in column 1 lies before that line)."""
    return max(start.row, end.row - (end.column == 1))


def _fix(fix: _RuffFix | None) -> ToolFix | None:
    if fix is None or fix.applicability not in ("safe", "unsafe"):
        return None
    edits = tuple(
        FixEdit(
            line=edit.location.row,
            column=edit.location.column,
            end_line=edit.end_location.row,
            end_column=edit.end_location.column,
            content=edit.content,
        )
        for edit in fix.edits
    )
    return ToolFix(edits=edits, safe=fix.applicability == "safe")
