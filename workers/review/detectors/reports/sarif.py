"""SARIF 2.1: what many analysers write. Pure; only the fields that are used are read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from workers.review.detectors.detector import Category, DetectorFailed, FixEdit, RawFinding, ToolFix
from workers.review.detectors.reports.places import LONGEST_RULE, Reported, Span, in_characters, one_line, severity_of


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


class _Fix(_Read, frozen=True):
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
    fixes: tuple[_Fix, ...] = ()
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


_decoder = msgspec.json.Decoder(_Log)
_CATEGORIES = {category.value: category for category in Category}


def findings_of(text: str, reported: Reported) -> list[RawFinding]:
    """The results of a log; raises DetectorFailed for what is no SARIF 2.1, and for runs that did not succeed."""
    try:
        log = _decoder.decode(text)
    except msgspec.DecodeError as error:
        raise DetectorFailed(f"{reported.tool} wrote no SARIF: {str(error)[:150]}") from error
    if not log.version.startswith("2.1"):
        raise DetectorFailed(f"{reported.tool} wrote SARIF {log.version[:20]}; 2.1 is read")
    for run in log.runs:
        if run.results is None or not all(each.execution_successful for each in run.invocations):
            raise DetectorFailed(f"{reported.tool} says that it did not succeed")
    return [found for run in log.runs for result in run.results or () if (found := _raw(result, run, reported))]


def _raw(result: _Result, run: _Run, reported: Reported) -> RawFinding | None:
    """A result on a line; None for what passed, was suppressed, or stands nowhere."""
    place = next((each.physical_location for each in result.locations if each.physical_location), None)
    if place is None or result.kind not in ("fail", "open", "review") or result.suppressions:
        return None
    rule = _rule(result, run.tool.driver.rules)
    path = reported.path(_uri(place.artifact_location, run))
    span = _span(place.region, path, run, reported)
    properties = rule.properties if rule else _Properties()
    level = result.level or (rule.default_configuration.level if rule else "warning")
    return RawFinding(
        path=path,
        line=span.line,
        end_line=max(span.line, span.end_line - (span.end_column == 1 and span.end_line > span.line)),
        column=span.column,
        tool=reported.tool,
        rule=(result.rule_id or result.rule.id or (rule.id if rule else "") or reported.tool)[:LONGEST_RULE],
        category=_category(properties, reported.category),
        severity=severity_of(level, str(properties.security_severity)),
        message=one_line(result.message.text),
        fix=_fix(result.fixes, path, run, reported),
    )


def _rule(result: _Result, rules: Sequence[_Rule]) -> _Rule | None:
    index = max(result.rule_index, result.rule.index)
    if 0 <= index < len(rules):
        return rules[index]
    name = result.rule_id or result.rule.id
    return next((rule for rule in rules if rule.id == name), None)


def _category(properties: _Properties, otherwise: Category) -> Category:
    if properties.security_severity:
        return Category.SECURITY
    return next((_CATEGORIES[tag.lower()] for tag in properties.tags if tag.lower() in _CATEGORIES), otherwise)


def _uri(place: _Artifact, run: _Run) -> str:
    if place.uri or not 0 <= place.index < len(run.artifacts):
        return place.uri
    location = run.artifacts[place.index].get("location")
    return msgspec.json.decode(location, type=_Artifact).uri if location is not None else ""


def _span(region: _Region, path: str, run: _Run, reported: Reported) -> Span:
    end_line = region.end_line or region.start_line
    end_column = region.end_column or len(reported.line(path, end_line)) + 1
    start_column = region.start_column
    if run.column_kind == "utf16CodeUnits":
        start_column = in_characters(reported.line(path, region.start_line), start_column, "utf-16-le")
        if region.end_column:
            end_column = in_characters(reported.line(path, end_line), end_column, "utf-16-le")
    return Span(line=region.start_line, column=start_column, end_line=end_line, end_column=end_column)


def _fix(fixes: Sequence[_Fix], path: str, run: _Run, reported: Reported) -> ToolFix | None:
    """The first fix that edits nothing but the file of the finding."""
    for fix in fixes:
        edits: list[FixEdit] = []
        for change in fix.artifact_changes:
            if reported.path(_uri(change.artifact_location, run)) != path:
                break
            edits += (_edit(each, path, run, reported) for each in change.replacements)
        else:
            if edits:
                return ToolFix(edits=tuple(edits), safe=False)
    return None


def _edit(replacement: _Replacement, path: str, run: _Run, reported: Reported) -> FixEdit:
    return _span(replacement.deleted_region, path, run, reported).edit(replacement.inserted_content.text)
