"""A review in the formats of other tools: SARIF 2.1.0, reviewdog's rdjsonl, and the commands of GitHub's runner. Pure.

What is quoted comes from elsewhere: it has no line ends, mentions and links, and each format's own marks are escaped.
"""

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from urllib.parse import quote

from bot.cli.console import Json
from bot.cli.review_report import (
    BROKEN_TEST,
    CULPRIT,
    HIDDEN,
    NOT_READ,
    OURS,
    REPAIR,
    TESTS,
    LineEdit,
    ReportItem,
    ReportLimit,
    ReviewReport,
)
from bot.cli.terminal import visible
from memory.model import Severity
from workers.messages.markdown import code, plain, words
from workers.messages.review import ANNOTATION_LEVELS
from workers.redaction import redact

HOME_PAGE = "https://github.com/OWNER/apprentice"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SHOWN_PER_LEVEL = 10
"""The number of annotations of one level that GitHub shows for a step."""


# ── SARIF 2.1.0 ──────────────────────────────────────────────────────────────────────────────────────────────────────

_SARIF_LEVELS = {"failure": "error", "warning": "warning", "notice": "note"}
_RANKS = {Severity.INFO: 10.0, Severity.MINOR: 40.0, Severity.MAJOR: 70.0, Severity.CRITICAL: 100.0}
_SECURITY_SEVERITIES = {Severity.INFO: "2.0", Severity.MINOR: "5.0", Severity.MAJOR: "8.0", Severity.CRITICAL: "9.5"}
"""As GitHub reads them: low, medium, high, critical."""

_OUR_RULES = {
    BROKEN_TEST: "The test passes at the base of the change and fails at its head each time that it runs, or the change adds it.",
    CULPRIT: "Without these lines of the change the broken tests pass, and no other test fails.",
    REPAIR: "The broken tests pass with this change, and the whole suite was run with it.",
}
_LIMITS = {
    NOT_READ: "A file of the change that was not fully read.",
    TESTS: "Tests that did not run, that were not compared, or that no repair was found for.",
    HIDDEN: "Findings that a pull request's review would not post.",
}
_OUR_PAGE = ("Apprentice's page on reviews describes it.", f"{HOME_PAGE}/blob/main/docs/review.md")
_PAGES = {
    "ruff": ("`ruff rule RULE` explains it.", "https://docs.astral.sh/ruff/rules/"),
    "bandit": ("bandit's documentation explains it.", "https://bandit.readthedocs.io/en/latest/plugins/index.html"),
    "mypy": ("mypy's documentation explains it.", "https://mypy.readthedocs.io/en/stable/error_code_list.html"),
}
"""What more there is to read about a tool's rules, and where."""


def sarif(report: ReviewReport, exit_code: int) -> str:
    """One run. Findings that a pull request's review would hide are there as suppressed ones."""
    rules: dict[str, Json] = {}
    for item in sorted(report.items, key=lambda item: -_RANKS[item.severity]):
        rules.setdefault(item.rule, _sarif_rule(item))
    order = list(rules)
    driver = {
        "name": OURS,
        "version": version(OURS),
        "informationUri": HOME_PAGE,
        "rules": list(rules.values()),
        "notifications": [{"id": kind, **_described(what, *_OUR_PAGE)} for kind, what in _LIMITS.items()],
    }
    invocation = {
        "executionSuccessful": not report.untested,
        "exitCode": exit_code,
        "toolExecutionNotifications": [_notification(limit) for limit in report.limits],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"{OURS}/review/"},
        "originalUriBaseIds": {"SRCROOT": {"description": _text("The root of the repository.")}},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [_sarif_result(item, order.index(item.rule), report.place) for item in report.items],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def json_text(document: object, indent: int | None = None) -> str:
    return visible(json.dumps(document, indent=indent, ensure_ascii=False)) + "\n"


def _text(text: str) -> Json:
    """A message; `[a](b)` in it would be a link."""
    escaped = text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]") if "](" in text else text
    return {"text": escaped}


def _sarif_rule(item: ReportItem) -> Json:
    rule = words(item.rule)
    more, page = _PAGES.get(item.tool, _OUR_PAGE)
    description = _OUR_RULES.get(item.rule, f"{rule}, a rule of {words(item.tool)} about {words(item.category)}.")
    security = {"security-severity": _SECURITY_SEVERITIES[item.severity]} if item.category == "security" else {}
    return {
        "id": item.rule,
        **_described(description, more.replace("RULE", rule), page),
        "defaultConfiguration": {"level": _sarif_level(item.severity)},
        "properties": {"tags": [item.category, item.tool], **security},
    }


def _described(what: str, more: str, page: str) -> Json:
    texts = {"shortDescription": _text(what), "fullDescription": _text(what), "help": _text(f"{what} {more}")}
    return {**texts, "helpUri": page}


def _sarif_level(severity: Severity) -> str:
    return _SARIF_LEVELS[ANNOTATION_LEVELS[severity]]


def _sarif_result(item: ReportItem, rule: int, place: str) -> Json:
    hidden = [{"kind": "external", "justification": words(item.hidden)}] if item.hidden else []
    fixes = [_fix(remedy.why, remedy.edits) for remedy in item.remedies if remedy.edits]
    message = words(item.message)
    undecided = "".join(f"\n\n{redact(remedy.text)}" for remedy in item.remedies if not remedy.edits)
    mark = {"apprenticeFingerprint/v1": item.fingerprint, "primaryLocationLineHash": f"{item.fingerprint}:1"}
    return {
        "ruleId": item.rule,
        "ruleIndex": rule,
        "level": _sarif_level(item.severity),
        "rank": _RANKS[item.severity],
        "message": _text(message + undecided),
        "locations": [_location(item.path or place, max(item.line, 1), max(item.end_line, 1))],
        "partialFingerprints": mark,
        "suppressions": hidden,
        **({"fixes": fixes} if fixes else {}),
        "properties": {"severity": item.severity.value, "category": item.category, "tool": item.tool},
    }


def _location(path: str, line: int = 0, end_line: int = 0) -> Json:
    region = {"region": {"startLine": line, "endLine": max(line, end_line)}} if line else {}
    return {"physicalLocation": {"artifactLocation": _artifact(path), **region}}


def _artifact(path: str) -> Json:
    """Relative to the root of the repository. A colon would make its first part a scheme."""
    return {"uri": quote(path, safe="/", errors="surrogateescape"), "uriBaseId": "SRCROOT"}


def _notification(limit: ReportLimit) -> Json:
    where = {"locations": [_location(limit.path)]} if limit.path else {}
    return {
        "descriptor": {"id": limit.kind},
        "level": _sarif_level(limit.severity),
        "message": _text(words(limit.message)),
        **where,
    }


def _fix(why: str, edits: Sequence[LineEdit]) -> Json:
    paths = dict.fromkeys(edit.path for edit in edits)
    changes = [
        {
            "artifactLocation": _artifact(path),
            "replacements": [_replacement(edit) for edit in edits if edit.path == path],
        }
        for path in paths
    ]
    return {"description": _text(words(why)), "artifactChanges": changes}


def _replacement(edit: LineEdit) -> Json:
    """Lines without columns end before their last line feed; an insertion and a deletion take whole lines with it."""
    if _is_linewise(edit):
        lines = {"startLine": edit.start, "endLine": edit.end}
        return {"deletedRegion": lines, "insertedContent": {"text": edit.text.removesuffix("\n")}}
    region = {"startLine": edit.start, "startColumn": 1, "endLine": edit.end + 1, "endColumn": 1}
    return {"deletedRegion": region, **({"insertedContent": {"text": edit.text}} if edit.text else {})}


def _is_linewise(edit: LineEdit) -> bool:
    return bool(edit.text) and edit.end >= edit.start


# ── rdjsonl, reviewdog's diagnostics, one a line ─────────────────────────────────────────────────────────────────────

_RD_SEVERITIES = {"failure": "ERROR", "warning": "WARNING", "notice": "INFO"}


def rdjsonl(report: ReviewReport) -> str:
    """Messages are Markdown, because reviewdog posts them as comments. Each edit of a patch is a diagnostic of its own."""
    diagnostics = [each for item in report.shown() for each in _diagnostics(item, report.place)]
    for limit in report.limits:
        where: Json = {"path": limit.path or report.place}
        diagnostics.append(_diagnostic(limit.kind, limit.severity, plain(limit.message), where))
    return "".join(map(json_text, diagnostics))


def _diagnostics(item: ReportItem, place: str) -> Iterator[Json]:
    """A comment of reviewdog's takes a suggestion for its own lines alone."""
    edits = [edit for remedy in item.remedies for edit in remedy.edits]
    message = plain(item.message)
    message += "".join(f"\n\n{code(remedy.text, 'diff')}" for remedy in item.remedies if not remedy.edits)
    if not edits:
        where = _rd_location(item.path or place, item.line, item.end_line)
        yield _diagnostic(words(item.rule), item.severity, message, where)
    for number, edit in enumerate(edits, 1):
        part = f" (part {number} of {len(edits)})" if len(edits) > 1 else ""
        where = _rd_location(edit.path, edit.start, max(edit.start, edit.end))
        suggestion = {"range": _rd_range(edit), "text": edit.text.removesuffix("\n" if _is_linewise(edit) else "")}
        diagnostic = _diagnostic(words(item.rule), item.severity, f"{message}{part}", where)
        yield diagnostic | {"suggestions": [suggestion]}


def _diagnostic(rule: str, severity: Severity, message: str, where: Json) -> Json:
    return {
        "message": message,
        "location": where,
        "severity": _RD_SEVERITIES[ANNOTATION_LEVELS[severity]],
        "source": {"name": OURS, "url": HOME_PAGE},
        "code": {"value": rule},
    }


def _rd_location(path: str, line: int, end_line: int) -> Json:
    return {"path": path, **({"range": {"start": {"line": line}, "end": {"line": end_line}}} if line else {})}


def _rd_range(edit: LineEdit) -> Json:
    """Without columns it is whole lines but for the last line feed; else up to the beginning of the line after."""
    if _is_linewise(edit):
        return {"start": {"line": edit.start}, "end": {"line": edit.end}}
    return {"start": {"line": edit.start, "column": 1}, "end": {"line": edit.end + 1, "column": 1}}


# ── Commands of GitHub's runner ──────────────────────────────────────────────────────────────────────────────────────

_COMMANDS = {"failure": "error", "warning": "warning", "notice": "notice"}


def github(report: ReviewReport) -> str:
    """Annotations, the worst first: as many of a level as GitHub shows, and how many more there are."""
    lines: dict[str, list[str]] = {command: [] for command in _COMMANDS.values()}
    for item in report.shown():
        lines[_COMMANDS[ANNOTATION_LEVELS[item.severity]]].append(_annotation(item))
    for limit in report.limits:
        command = _COMMANDS[ANNOTATION_LEVELS[limit.severity]]
        lines[command].append(
            _command(command, words(limit.message), title=f"apprentice: {limit.kind}", path=limit.path)
        )
    return "".join(f"{line}\n" for command, some in lines.items() for line in _first(command, some))


def cannot_run(reason: str) -> str:
    """An annotation that says why nothing could be reviewed."""
    return f"{_command('error', words(reason), title='apprentice cannot run')}\n"


def _first(command: str, lines: Sequence[str]) -> Sequence[str]:
    if len(lines) <= SHOWN_PER_LEVEL:
        return lines
    shown = lines[: SHOWN_PER_LEVEL - 1]
    more = f"and {len(lines) - len(shown)} more: GitHub shows {SHOWN_PER_LEVEL} of a level; apprentice review lists all"
    return [*shown, _command(command, more, title="apprentice")]


def _annotation(item: ReportItem) -> str:
    command = _COMMANDS[ANNOTATION_LEVELS[item.severity]]
    remedies = "".join(f"\n{words(remedy.why)}:\n{redact(remedy.text)}" for remedy in item.remedies)
    return _command(
        command, words(item.message) + remedies, title=item.rule, path=item.path, line=item.line, end_line=item.end_line
    )


def _command(command: str, message: str, *, title: str, path: str = "", line: int = 0, end_line: int = 0) -> str:
    place = {"file": path, "line": str(line or ""), "endLine": str(end_line or "")}
    properties = {name: value for name, value in {**place, "title": words(title)}.items() if value}
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {given}::{_data(message)}"


def _data(text: str) -> str:
    """Text of a command: what ends a line would begin another command."""
    text = visible(text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
