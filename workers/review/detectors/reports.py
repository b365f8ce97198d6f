"""Reports of the operator's tools in our terms.

SARIF 2.1 is what many analysers write; rdjson and rdjsonl are the Reviewdog Diagnostic Format. Only the fields that are
used are read. Columns count pairs of UTF-16 bytes in SARIF, and bytes of UTF-8 in rdjson.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import msgspec

from memory.model import Severity
from workers.diffs import split_lines
from workers.json_fields import WrongField, below, field
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

LONGEST_RULE = 100
_FOUND_NOTHING = (0, 1)
"""Exit codes with which an empty report is believed."""


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    """Its lines; a report may have thousands of findings in one file."""
    return split_lines(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContext:
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
        lines = _lines(self.sources[path])
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
        return RawFinding(
            path=path,
            line=span.line,
            end_line=max(span.line, span.end_line - (span.end_column == 1 and span.end_line > span.line)),
            column=span.column,
            tool=self.tool,
            rule=(rule or self.tool).replace("\0", "\ufffd")[:LONGEST_RULE],  # PostgreSQL holds no NUL
            category=category or self.category,
            severity=severity,
            message=" ".join(message.split()),
            fix=fix,
        )


def findings_in(completed: CompletedRun, format_: str, reported: ReportContext) -> list[RawFinding]:
    """What a tool found; raises DetectorFailed for a broken report, and for an empty one of a tool that failed."""
    if completed.exit_code != 0 and not completed.stdout.strip():
        raise complaint(reported.tool, completed)
    findings = read_report(completed.stdout, format_, reported)
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


_NUMBERED = {1: "error", 2: "warning", 3: "info"}


def _of_rdjson(text: str, reported: ReportContext) -> list[RawFinding]:
    """The diagnostics of one document."""
    report = msgspec.json.decode(text)
    severity = below(report, "severity")
    return [_of_diagnostic(each, severity, reported) for each in field(report, "diagnostics", list)]


def _of_rdjsonl(text: str, reported: ReportContext) -> list[RawFinding]:
    """The diagnostics of a document with one a line."""
    diagnostics = [msgspec.json.decode(line) for line in text.split("\n") if line.strip()]
    return [_of_diagnostic(each, None, reported) for each in diagnostics]


def _of_diagnostic(diagnostic: object, otherwise: object, reported: ReportContext) -> RawFinding:
    """The finding; of its suggestions the first, as the others are other ways."""
    path = reported.path(field(diagnostic, "location.path", str))
    severity = below(diagnostic, "severity") or otherwise
    edits = tuple(
        replace(_of_range(field(each, "range", dict), path, reported), content=field(each, "text", str, ""))
        for each in field(diagnostic, "suggestions", list, [])[:1]
    )
    return reported.finding(
        path,
        _of_range(field(diagnostic, "location.range", dict, {}), path, reported),
        rule=field(diagnostic, "code.value", str, ""),
        severity=_severity(_NUMBERED.get(severity, "") if isinstance(severity, int) else str(severity)),
        message=field(diagnostic, "message", str),
        fix=ToolFix(edits=edits, safe=False) if edits else None,
    )


def _of_range(range_: object, path: str, reported: ReportContext) -> FixEdit:
    """The range in characters; one without columns is of whole lines."""
    line, first = field(range_, "start.line", int, 1), field(range_, "start.column", int, 0)
    ends = below(range_, "end") is not None
    last = field(range_, "end.line", int, 1) or line if ends else line
    end = field(range_, "end.column", int, 0) if ends else first
    column = reported.column(path, line, first, "utf-8") if first else 1
    whole = not first or not end
    end_column = len(reported.line(path, last)) + 1 if whole else reported.column(path, last, end, "utf-8")
    return FixEdit(line=line, column=column, end_line=last, end_column=end_column, content="")


# ── SARIF ──────────────────────────────────────────────────────────────────────────────────────────────────────────

_CATEGORIES = {category.value: category for category in Category}


def _of_sarif(text: str, reported: ReportContext) -> list[RawFinding]:
    """The results of a log; raises DetectorFailed for another version than 2.1, and for runs that did not succeed."""
    log = msgspec.json.decode(text)
    version, runs = field(log, "version", str), field(log, "runs", list)
    if not version.startswith("2.1"):
        raise DetectorFailed(f"{reported.tool} wrote SARIF {version[:20]}; 2.1 is read")
    for run in runs:
        invocations = field(run, "invocations", list, [])
        successful = all(field(each, "executionSuccessful", bool, True) for each in invocations)
        if not successful or below(run, "results") is None:
            raise DetectorFailed(f"{reported.tool} says that it did not succeed")
    results = [(each, run) for run in runs for each in field(run, "results", list)]
    return [found for each, run in results if (found := _of_result(each, run, reported))]


def _of_result(result: object, run: object, reported: ReportContext) -> RawFinding | None:
    """A result on a line; None for what passed, was suppressed, or names no place."""
    locations = (below(each, "physicalLocation") for each in field(result, "locations", list, []))
    place = next(filter(None, locations), None)
    failed = field(result, "kind", str, "fail") in ("fail", "open", "review")
    if place is None or not failed or below(result, "suppressions"):
        return None
    name = field(result, "ruleId", str, "") or field(result, "rule.id", str, "")
    rule = _rule(name, result, run)
    path = reported.path(_uri(below(place, "artifactLocation"), run))
    level = field(result, "level", str, "") or field(rule, "defaultConfiguration.level", str, "warning")
    score = below(rule, "properties.security-severity")
    tags = [str(tag).lower() for tag in field(rule, "properties.tags", list, [])]
    return reported.finding(
        path,
        _of_region(below(place, "region"), path, run, reported),
        rule=name or field(rule, "id", str, ""),
        severity=_severity(level, str(score)),
        message=field(result, "message.text", str, ""),
        fix=_fix(result, path, run, reported),
        category=Category.SECURITY if score else next((_CATEGORIES[tag] for tag in tags if tag in _CATEGORIES), None),
    )


def _rule(name: str, result: object, run: object) -> object:
    """The description of a result's rule, by its place in the list or by its name; None without one."""
    rules = field(run, "tool.driver.rules", list, [])
    index = max(field(result, "ruleIndex", int, -1), field(result, "rule.index", int, -1))
    if 0 <= index < len(rules):
        return rules[index]
    return next((each for each in rules if below(each, "id") == name), None)


def _uri(place: object, run: object) -> str:
    uri, index = field(place, "uri", str, ""), field(place, "index", int, -1)
    artifacts = field(run, "artifacts", list, [])
    return uri if uri or not 0 <= index < len(artifacts) else field(artifacts[index], "location.uri", str, "")


def _of_region(region: object, path: str, run: object, reported: ReportContext) -> FixEdit:
    line, column = field(region, "startLine", int, 1), field(region, "startColumn", int, 1)
    last, end_column = field(region, "endLine", int, 0) or line, field(region, "endColumn", int, 0)
    if field(run, "columnKind", str, "utf16CodeUnits") == "utf16CodeUnits":
        column = reported.column(path, line, column, "utf-16-le")
        end_column = end_column and reported.column(path, last, end_column, "utf-16-le")
    end_column = end_column or len(reported.line(path, last)) + 1
    return FixEdit(line=line, column=column, end_line=last, end_column=end_column, content="")


def _fix(result: object, path: str, run: object, reported: ReportContext) -> ToolFix | None:
    """The first fix that edits nothing but the file of the finding."""
    for fix in field(result, "fixes", list, []):
        changes = field(fix, "artifactChanges", list)
        if any(reported.path(_uri(below(each, "artifactLocation"), run)) != path for each in changes):
            continue
        edits = tuple(
            replace(
                _of_region(field(each, "deletedRegion", dict), path, run, reported),
                content=field(each, "insertedContent.text", str, ""),
            )
            for change in changes
            for each in field(change, "replacements", list)
        )
        if edits:
            return ToolFix(edits=edits, safe=False)
    return None


_READERS: Mapping[str, Callable[[str, ReportContext], list[RawFinding]]] = {
    "sarif": _of_sarif,
    "rdjson": _of_rdjson,
    "rdjsonl": _of_rdjsonl,
}


def read_report(text: str, format_: str, reported: ReportContext) -> list[RawFinding]:
    """The findings in a report; raises DetectorFailed for text that is not of its format."""
    try:
        return _READERS[format_](text, reported)
    except (msgspec.DecodeError, RecursionError, WrongField) as error:
        name = "SARIF" if format_ == "sarif" else format_
        raise DetectorFailed(f"{reported.tool} wrote no {name}: {str(error)[:150]}") from error
