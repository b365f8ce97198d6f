"""Reports of the operator's tools in our terms.

SARIF 2.1 is what many analysers write; rdjson and rdjsonl are the Reviewdog Diagnostic Format. Only the fields that are
used are read. Columns count pairs of UTF-16 bytes in SARIF, and bytes of UTF-8 in rdjson.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

import msgspec

from memory.model import Severity
from workers.diffs import split_lines
from workers.ports import CompletedRun
from workers.review.detectors.detector import (
    Category,
    DetectorFailed,
    FixEdit,
    RawFinding,
    ToolFix,
    complaint,
    relative,
)

LONGEST_MESSAGE, LONGEST_RULE = 500, 100
_FOUND_NOTHING = (0, 1)
"""Exit codes with which an empty report is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What is known when a report is read: the tool's name, the files it was given, and its category where it names none."""

    tool: str
    sources: Mapping[str, str]
    category: Category

    def path(self, written: str) -> str:
        """The file that a report means; raises DetectorFailed for one that the tool was not given."""
        path = relative(unquote(urlsplit(written).path) if written.startswith("file:") else unquote(written))
        if path not in self.sources:
            raise DetectorFailed(f"{self.tool} reported on {path[:100]!r}, which it was not given")
        return path

    def line(self, path: str, number: int) -> str:
        """The text of a line without its end, empty for one that is not there."""
        lines = split_lines(self.sources[path])
        return lines[number - 1].rstrip("\r\n") if 1 <= number <= len(lines) else ""

    def column(self, path: str, line: int, column: int, encoding: str) -> int:
        """The column in characters of one in code units of an encoding (`utf-8`: bytes, `utf-16-le`: pairs of them)."""
        unit = 2 if encoding == "utf-16-le" else 1
        encoded = self.line(path, line).encode(encoding)
        before = len(encoded[: (column - 1) * unit].decode(encoding, "ignore"))
        return before + 1 + max(0, column - 1 - len(encoded) // unit)

    def finding(
        self,
        path: str,
        span: FixEdit,
        *,
        rule: str,
        severity: Severity,
        message: str,
        fix: ToolFix | None,
        category: Category | None = None,
    ) -> RawFinding:
        """A finding on the characters of `span`."""
        words = " ".join(message.split())
        return RawFinding(
            path=path,
            line=span.line,
            end_line=max(span.line, span.end_line - (span.end_column == 1 and span.end_line > span.line)),
            column=span.column,
            tool=self.tool,
            rule=(rule or self.tool)[:LONGEST_RULE],
            category=category or self.category,
            severity=severity,
            message=words if len(words) <= LONGEST_MESSAGE else words[: LONGEST_MESSAGE - 1] + "…",
            fix=fix,
        )


def findings_in(completed: CompletedRun, format_: str, reported: Reported) -> list[RawFinding]:
    """What a tool found; raises DetectorFailed for a broken report, and for an empty one of a tool that failed."""
    if completed.exit_code != 0 and not completed.stdout.strip():
        raise complaint(reported.tool, completed)
    findings = READERS[format_](completed.stdout, reported)
    if not findings and completed.exit_code not in _FOUND_NOTHING:
        raise complaint(reported.tool, completed)
    return findings


_WORDS = {"error": Severity.MAJOR, "warning": Severity.MINOR}
_SCORES = ((9.0, Severity.CRITICAL), (7.0, Severity.MAJOR), (4.0, Severity.MINOR))


def _severity(word: str, score: str = "") -> Severity:
    """Our severity for a report's word, or for a security score from 0 to 10 where there is one."""
    try:
        number = float(score)
    except ValueError:
        return _WORDS.get(word.lower(), Severity.INFO)
    return next((severity for least, severity in _SCORES if number >= least), Severity.INFO)


# ── rdjson ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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


_rdjson = msgspec.json.Decoder(_RdjsonReport)
_rdjson_line = msgspec.json.Decoder(_RdjsonDiagnostic)
_NUMBERED = {1: "error", 2: "warning", 3: "info"}


def _of_rdjson(text: str, reported: Reported) -> list[RawFinding]:
    """The diagnostics of one document."""
    try:
        report = _rdjson.decode(text)
    except msgspec.DecodeError as error:
        raise DetectorFailed(f"{reported.tool} wrote no rdjson: {str(error)[:150]}") from error
    return [_of_diagnostic(each, report.severity, reported) for each in report.diagnostics]


def _of_rdjsonl(text: str, reported: Reported) -> list[RawFinding]:
    """The diagnostics of a document with one a line."""
    try:
        diagnostics = [_rdjson_line.decode(line) for line in text.split("\n") if line.strip()]
    except msgspec.DecodeError as error:
        raise DetectorFailed(f"{reported.tool} wrote no rdjsonl: {str(error)[:150]}") from error
    return [_of_diagnostic(each, "", reported) for each in diagnostics]


def _of_diagnostic(diagnostic: _RdjsonDiagnostic, otherwise: str | int, reported: Reported) -> RawFinding:
    """The finding; of its suggestions the first, as the others are other ways."""
    path = reported.path(diagnostic.location.path)
    severity = diagnostic.severity or otherwise
    edits = tuple(
        replace(_of_range(each.range, path, reported), content=each.text) for each in diagnostic.suggestions[:1]
    )
    return reported.finding(
        path,
        _of_range(diagnostic.location.range, path, reported),
        rule=diagnostic.code.value,
        severity=_severity(_NUMBERED.get(severity, "") if isinstance(severity, int) else severity),
        message=diagnostic.message,
        fix=ToolFix(edits=edits, safe=False) if edits else None,
    )


def _of_range(range_: _Range, path: str, reported: Reported) -> FixEdit:
    """The range in characters; one without columns is of whole lines."""
    start, end = range_.start, range_.end or range_.start
    last = end.line or start.line
    column = reported.column(path, start.line, start.column, "utf-8") if start.column else 1
    whole = not start.column or not end.column
    end_column = len(reported.line(path, last)) + 1 if whole else reported.column(path, last, end.column, "utf-8")
    return FixEdit(line=start.line, column=column, end_line=last, end_column=end_column, content="")


# ── SARIF ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Read(msgspec.Struct, frozen=True, rename="camel"):
    """An object of a report; unknown fields are passed over."""


class _Text(_Read, frozen=True):
    text: str = ""


class _Artifact(_Read, frozen=True):
    uri: str = ""
    index: int = -1


class _Region(_Read, frozen=True):
    start_line: int = 1
    start_column: int = 1
    end_line: int = 0
    end_column: int = 0


class _Physical(_Read, frozen=True):
    artifact_location: _Artifact = _Artifact()
    region: _Region = _Region()


class _Location(_Read, frozen=True):
    physical_location: _Physical | None = None


class _Replacement(_Read, frozen=True):
    deleted_region: _Region
    inserted_content: _Text = _Text()


class _ArtifactChange(_Read, frozen=True):
    artifact_location: _Artifact
    replacements: tuple[_Replacement, ...]


class _SarifFix(_Read, frozen=True):
    artifact_changes: tuple[_ArtifactChange, ...]


class _RuleReference(_Read, frozen=True):
    id: str = ""
    index: int = -1


class _Result(_Read, frozen=True):
    message: _Text
    rule_id: str = ""
    rule_index: int = -1
    rule: _RuleReference = _RuleReference()
    kind: str = "fail"
    level: str = ""
    locations: tuple[_Location, ...] = ()
    fixes: tuple[_SarifFix, ...] = ()
    suppressions: tuple[object, ...] = ()


class _Properties(_Read, frozen=True):
    tags: tuple[str, ...] = ()
    security_severity: str | float = msgspec.field(default="", name="security-severity")


class _Configuration(_Read, frozen=True):
    level: str = "warning"


class _Rule(_Read, frozen=True):
    id: str
    default_configuration: _Configuration = _Configuration()
    properties: _Properties = _Properties()


class _Driver(_Read, frozen=True):
    rules: tuple[_Rule, ...] = ()


class _Tool(_Read, frozen=True):
    driver: _Driver


class _Invocation(_Read, frozen=True):
    execution_successful: bool = True


class _Run(_Read, frozen=True):
    tool: _Tool
    results: tuple[_Result, ...] | None = None
    invocations: tuple[_Invocation, ...] = ()
    artifacts: tuple[dict[str, msgspec.Raw], ...] = ()
    column_kind: str = "utf16CodeUnits"


class _Log(_Read, frozen=True):
    version: str
    runs: tuple[_Run, ...]


_log = msgspec.json.Decoder(_Log)
_CATEGORIES = {category.value: category for category in Category}


def _of_sarif(text: str, reported: Reported) -> list[RawFinding]:
    """The results of a log; raises DetectorFailed for what is no SARIF 2.1, and for runs that did not succeed."""
    try:
        log = _log.decode(text)
    except msgspec.DecodeError as error:
        raise DetectorFailed(f"{reported.tool} wrote no SARIF: {str(error)[:150]}") from error
    if not log.version.startswith("2.1"):
        raise DetectorFailed(f"{reported.tool} wrote SARIF {log.version[:20]}; 2.1 is read")
    for run in log.runs:
        if run.results is None or not all(each.execution_successful for each in run.invocations):
            raise DetectorFailed(f"{reported.tool} says that it did not succeed")
    return [found for run in log.runs for each in run.results or () if (found := _of_result(each, run, reported))]


def _of_result(result: _Result, run: _Run, reported: Reported) -> RawFinding | None:
    """A result on a line; None for what passed, was suppressed, or names no place."""
    place = next((each.physical_location for each in result.locations if each.physical_location), None)
    if place is None or result.kind not in ("fail", "open", "review") or result.suppressions:
        return None
    name, index = result.rule_id or result.rule.id, max(result.rule_index, result.rule.index)
    rules = run.tool.driver.rules
    rule = rules[index] if 0 <= index < len(rules) else next((each for each in rules if each.id == name), _Rule(id=""))
    path = reported.path(_uri(place.artifact_location, run))
    return reported.finding(
        path,
        _of_region(place.region, path, run, reported),
        rule=name or rule.id,
        severity=_severity(result.level or rule.default_configuration.level, str(rule.properties.security_severity)),
        message=result.message.text,
        fix=_fix(result.fixes, path, run, reported),
        category=_category(rule.properties),
    )


def _category(properties: _Properties) -> Category | None:
    if properties.security_severity:
        return Category.SECURITY
    return next((_CATEGORIES[tag.lower()] for tag in properties.tags if tag.lower() in _CATEGORIES), None)


def _uri(place: _Artifact, run: _Run) -> str:
    if place.uri or not 0 <= place.index < len(run.artifacts):
        return place.uri
    location = run.artifacts[place.index].get("location")
    return msgspec.json.decode(location, type=_Artifact).uri if location is not None else ""


def _of_region(region: _Region, path: str, run: _Run, reported: Reported) -> FixEdit:
    line, last = region.start_line, region.end_line or region.start_line
    column, end_column = region.start_column, region.end_column
    if run.column_kind == "utf16CodeUnits":
        column = reported.column(path, line, column, "utf-16-le")
        end_column = end_column and reported.column(path, last, end_column, "utf-16-le")
    end_column = end_column or len(reported.line(path, last)) + 1
    return FixEdit(line=line, column=column, end_line=last, end_column=end_column, content="")


def _fix(fixes: Sequence[_SarifFix], path: str, run: _Run, reported: Reported) -> ToolFix | None:
    """The first fix that edits nothing but the file of the finding."""
    for fix in fixes:
        if any(reported.path(_uri(each.artifact_location, run)) != path for each in fix.artifact_changes):
            continue
        replacements = (each for change in fix.artifact_changes for each in change.replacements)
        edits = tuple(
            replace(_of_region(each.deleted_region, path, run, reported), content=each.inserted_content.text)
            for each in replacements
        )
        if edits:
            return ToolFix(edits=edits, safe=False)
    return None


READERS: Mapping[str, Callable[[str, Reported], list[RawFinding]]] = {
    "sarif": _of_sarif,
    "rdjson": _of_rdjson,
    "rdjsonl": _of_rdjsonl,
}
"""How each format of a report is read; each raises DetectorFailed for text that is not of its format."""
