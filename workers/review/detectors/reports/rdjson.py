"""rdjson and rdjsonl, the Reviewdog Diagnostic Format. Pure; only the fields that are used are read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from workers.review.detectors.detector import DetectorFailed, RawFinding, ToolFix
from workers.review.detectors.reports.places import LONGEST_RULE, Reported, Span, in_characters, one_line, severity_of


class _Position(msgspec.Struct, frozen=True):
    line: int = 1
    column: int = 0


class _Range(msgspec.Struct, frozen=True):
    start: _Position = _Position()
    end: _Position | None = None


class _RdjsonLocation(msgspec.Struct, frozen=True):
    path: str
    range: _Range = _Range()


class _Code(msgspec.Struct, frozen=True):
    value: str = ""


class _Suggestion(msgspec.Struct, frozen=True):
    range: _Range
    text: str = ""


class _RdjsonDiagnostic(msgspec.Struct, frozen=True):
    message: str
    location: _RdjsonLocation
    severity: str | int = ""
    code: _Code = _Code()
    suggestions: tuple[_Suggestion, ...] = ()


class _RdjsonReport(msgspec.Struct, frozen=True):
    diagnostics: tuple[_RdjsonDiagnostic, ...]
    severity: str | int = ""


_whole = msgspec.json.Decoder(_RdjsonReport)
_line = msgspec.json.Decoder(_RdjsonDiagnostic)
_NUMBERED = {1: "error", 2: "warning", 3: "info"}


def findings_of(text: str, reported: Reported) -> list[RawFinding]:
    """The diagnostics of one rdjson document; raises DetectorFailed for what is none."""
    try:
        report = _whole.decode(text)
    except msgspec.DecodeError as error:
        raise DetectorFailed(f"{reported.tool} wrote no rdjson: {str(error)[:150]}") from error
    return [_raw(each, report.severity, reported) for each in report.diagnostics]


def findings_of_lines(text: str, reported: Reported) -> list[RawFinding]:
    """The diagnostics of rdjsonl, one a line; raises DetectorFailed when a line is none."""
    try:
        diagnostics = [_line.decode(line) for line in text.split("\n") if line.strip()]
    except msgspec.DecodeError as error:
        raise DetectorFailed(f"{reported.tool} wrote no rdjsonl: {str(error)[:150]}") from error
    return [_raw(each, "", reported) for each in diagnostics]


def _raw(diagnostic: _RdjsonDiagnostic, otherwise: str | int, reported: Reported) -> RawFinding:
    path = reported.path(diagnostic.location.path)
    span = _span(diagnostic.location.range, path, reported)
    severity = diagnostic.severity or otherwise
    return RawFinding(
        path=path,
        line=span.line,
        end_line=max(span.line, span.end_line - (span.end_column == 1 and span.end_line > span.line)),
        column=span.column,
        tool=reported.tool,
        rule=(diagnostic.code.value or reported.tool)[:LONGEST_RULE],
        category=reported.category,
        severity=severity_of(_NUMBERED.get(severity, "") if isinstance(severity, int) else severity),
        message=one_line(diagnostic.message),
        fix=_fix(diagnostic.suggestions, path, reported),
    )


def _span(range_: _Range, path: str, reported: Reported) -> Span:
    """The range in characters; columns count bytes of UTF-8, and a range without them is of whole lines."""
    start, end = range_.start, range_.end or range_.start
    last = reported.line(path, end.line or start.line)
    if not start.column:
        return Span(line=start.line, column=1, end_line=end.line or start.line, end_column=len(last) + 1)
    column = in_characters(reported.line(path, start.line), start.column, "utf-8")
    end_column = in_characters(last, end.column, "utf-8") if end.column else len(last) + 1
    return Span(line=start.line, column=column, end_line=end.line or start.line, end_column=end_column)


def _fix(suggestions: Sequence[_Suggestion], path: str, reported: Reported) -> ToolFix | None:
    """The first suggestion; the others are other ways."""
    if not suggestions:
        return None
    first = suggestions[0]
    return ToolFix(edits=(_span(first.range, path, reported).edit(first.text),), safe=False)
