"""The tools that read one side of a change: ruff, with fixes; bandit, with grades of holes; and the operator's own."""

import json
import re
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

import msgspec

from memory.model import Severity
from workers.json_fields import below, field
from workers.ports import CompletedRun, Sandbox
from workers.review.detectors.detector import (
    Category,
    Detection,
    DetectorFailed,
    FixEdit,
    RawFinding,
    SourceTree,
    ToolFix,
    answer,
    in_parts,
    relative,
    run_command,
    run_tool,
)
from workers.review.detectors.reports import ReportContext, findings_in
from workers.review.detectors.rules import (
    BANDIT_SKIP,
    RUFF_ALWAYS,
    RUFF_CONFIG,
    RUFF_IGNORE,
    RUFF_SELECT,
    SYNTAX_ERROR,
    is_wanted,
    kind_of,
)
from workers.review.project_options import RuffOptions
from workers.setting_types import ReviewTool


def _wanted(found: Iterable[RawFinding], everything: bool) -> tuple[RawFinding, ...]:
    return tuple(each for each in found if everything or is_wanted(each.rule, each.path, each.category))


# ── ruff ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_REFUSED = 2
_UNKNOWN = re.compile(r"(?:Unknown rule selector|Rule) `([A-Z]{1,5}[0-9]{0,4})`")
MAX_REFUSED = 12
"""How many codes of a repository that ruff does not know, or no longer knows, are left out one by one."""

_UNREADABLE = "E902"
_AT = ("", "[0-9]*/")
"""Where a file may be: at its place, or below a number, where suggestions are tried."""


class Ruff:
    """The `Detector` that runs ruff with our own selection, or with `everything`; `# noqa` comments are respected.

    `options` are the project's own, as data. Where ruff refuses one, it reads without it. `first_party` names its packages
    and modules: most of their files are not there when ruff runs, and without them it takes sorted imports for unsorted.
    """

    name = "ruff"

    def __init__(
        self,
        sandbox: Sandbox,
        options: RuffOptions | None = None,
        *,
        first_party: Sequence[str] = (),
        everything: bool = False,
    ) -> None:
        self._sandbox = sandbox
        self._options = options or RuffOptions()
        self._lists = {**RUFF_CONFIG, "lint.isort.known-first-party": tuple(first_party)}
        self._everything = everything

    def reads(self, path: str) -> bool:
        return path.endswith((".py", ".pyi"))

    def detect(self, tree: SourceTree, paths: Sequence[str]) -> Detection:
        def read(some: Sequence[str]) -> Detection:
            found, own = ruff_findings(self._run(tree, some), everything=self._everything), self._options
            kept = (each for each in found.findings if self._everything or not own.is_ignored(each.rule, each.path))
            marked = (replace(each, own_linter=own.checks(each.rule, each.path)) for each in kept)
            return replace(found, findings=tuple(marked))

        return in_parts(tree, [path for path in paths if self.reads(path)], read)

    def rules(self) -> dict[str, str]:
        """The names, by code, of the rules that it asks for, as ruff itself lists them; raises DetectorFailed."""
        nothing = SourceTree(sources={"nothing.py": ""}, target_version="py314")
        completed = self._run(nothing, tuple(nothing.sources), "--show-settings")
        listed = answer(Ruff.name, completed, lambda text: text.partition(_ENABLED)[2].partition("]")[0])
        return {code: name.replace("-", " ") for name, code in _RULE.findall(listed)}

    def _run(self, tree: SourceTree, paths: Sequence[str], *more: str) -> CompletedRun:
        """With the project's options, as far as ruff takes them."""
        options = self._options
        for _ in range(MAX_REFUSED):
            completed = run_tool(self._sandbox, (*self._arguments(tree, options), *more), tree, paths)
            if completed.exit_code != _REFUSED or options == RuffOptions():
                return completed
            options = _without_refused(options, completed.stderr)
        return run_tool(self._sandbox, (*self._arguments(tree, options), *more), tree, paths)

    def _arguments(self, tree: SourceTree, options: RuffOptions) -> tuple[str, ...]:
        length = ("--line-length", str(options.line_length)) if options.line_length else ()
        of_files = ((path, code) for path, codes in options.per_file_ignores.items() for code in codes)
        ignored = [f"{at}{path}:{code}" for path, code in of_files for at in _AT]
        left_out = (*(RUFF_IGNORE if options.select is None else ()), *options.ignore)
        selected = RUFF_SELECT if options.select is None else (*RUFF_ALWAYS, *options.select)
        selection = (
            *("--select", ",".join((*selected, *options.extend_select))),
            *(("--ignore", ",".join(left_out)) if left_out else ()),  # ruff refuses an empty list
            *(("--per-file-ignores", ",".join(ignored)) if ignored else ()),
        )
        return (
            *("ruff", "check", "--isolated", "--no-cache", "--output-format", "json"),
            *(
                ("--preview", "--config", "lint.explicit-preview-rules = true")
                if options.preview
                else ("--no-preview",)
            ),
            *("--target-version", options.target_version or tree.target_version),
            *(("--select", "ALL", "--quiet") if self._everything else selection),
            *length,
            *(part for each in _settings(self._lists, options.settings) for part in ("--config", each)),
        )


_ENABLED = "linter.rules.enabled = ["
_RULE = re.compile(r"^[ \t]*([a-z0-9-]+) \(([A-Z]+[0-9]+)\),?$", re.MULTILINE)


def rule_codes(sandbox: Sandbox) -> dict[str, str]:
    """The code of each rule by the name that ruff's configuration may give instead; none where ruff fails."""
    with suppress(DetectorFailed):
        return {words.replace(" ", "-"): code for code, words in Ruff(sandbox, everything=True).rules().items()}
    return {}


def _without_refused(options: RuffOptions, output: str) -> RuffOptions:
    """The options without the code that ruff names as unknown, as those of flake8's plug-ins are; where it names another
    reason without the settings of rules, and then none.
    """
    named = _UNKNOWN.search(output)
    rest = replace(options, settings={}) if options.settings else RuffOptions()
    left = options.without(named.group(1)) if named else rest
    return RuffOptions() if left == options else left


def _settings(lists: Mapping[str, Sequence[str]], own: Mapping[str, str | list[str]]) -> Iterator[str]:
    """The project's settings of rules as ruff's options, its lists after ours."""
    for key in {**lists, **own}:
        given = own.get(key, [])
        if isinstance(given, list):
            yield f"{key} = [{', '.join([*map(json.dumps, lists.get(key, ())), *given])}]"
        else:
            yield f"{key} = {given}"


def ruff_findings(completed: CompletedRun, *, everything: bool = False) -> Detection:
    """ruff's JSON in our terms, without what is not worth a comment unless `everything` is wanted; raises DetectorFailed."""
    found = answer(Ruff.name, completed, lambda text: list(map(_of_ruff, msgspec.json.decode(text, type=list))))
    return Detection(
        findings=_wanted(_first_syntax_errors(found), everything),
        unread={each.path: each.message for each in found if each.rule == _UNREADABLE},
    )


def _first_syntax_errors(found: Sequence[RawFinding]) -> Iterable[RawFinding]:
    """All findings, but of syntax errors the first of a file alone: the others mostly follow from it."""
    broken: set[str] = set()
    for finding in found:
        if finding.rule == _UNREADABLE or (finding.rule == SYNTAX_ERROR and finding.path in broken):
            continue
        if finding.rule == SYNTAX_ERROR:
            broken.add(finding.path)
        yield finding


_NEWER = "(syntax was added in Python"
"""What ruff says of syntax that the project's oldest Python lacks: a newer one reads the file, which may be for it alone."""


def _of_ruff(diagnostic: object) -> RawFinding:
    rule, line = field(diagnostic, "code", str, SYNTAX_ERROR), field(diagnostic, "location.row", int)
    ends_before = field(diagnostic, "end_location.column", int) == 1  # an end in column 1 lies before that line
    category, severity = kind_of(rule)
    message = field(diagnostic, "message", str)
    return RawFinding(
        path=relative(field(diagnostic, "filename", str)),
        line=line,
        end_line=max(line, field(diagnostic, "end_location.row", int) - ends_before),
        column=field(diagnostic, "location.column", int),
        tool=Ruff.name,
        rule=rule,
        category=category,
        severity=Severity.MAJOR if rule == SYNTAX_ERROR and _NEWER in message else severity,
        message=message,
        fix=_fix(below(diagnostic, "fix")),
    )


def _fix(fix: object) -> ToolFix | None:
    applicability = field(fix, "applicability", str, "")
    if applicability not in ("safe", "unsafe"):
        return None
    edits = tuple(
        FixEdit(
            line=field(edit, "location.row", int),
            column=field(edit, "location.column", int),
            end_line=field(edit, "end_location.row", int),
            end_column=field(edit, "end_location.column", int),
            content=field(edit, "content", str, ""),
        )
        for edit in field(fix, "edits", list)
    )
    return ToolFix(edits=edits, safe=applicability == "safe")


# ── bandit ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_SEVERITIES = {"LOW": Severity.MINOR, "MEDIUM": Severity.MAJOR, "HIGH": Severity.CRITICAL}
_QUOTING = frozenset({"B105", "B106", "B107"})
_INI = f".apprentice-{secrets.token_hex(8)}.ini"
"""Named on the command line, so that bandit looks for no `.bandit` of the repository's; the name cannot be taken already."""

_FORMAT = ("bandit", "--format", "json", "--quiet", "--exit-zero", "--ini", _INI, "--exclude", "")
_OURS = ("--confidence-level", "medium", "--skip", ",".join(BANDIT_SKIP))


class Bandit:
    """The `Detector` that runs bandit with our own selection, or with `everything`; `# nosec` comments are respected."""

    name = "bandit"

    def __init__(self, sandbox: Sandbox, *, everything: bool = False) -> None:
        self._sandbox = sandbox
        self._everything = everything

    def reads(self, path: str) -> bool:
        return path.endswith(".py")

    def detect(self, tree: SourceTree, paths: Sequence[str]) -> Detection:
        def read(some: Sequence[str]) -> Detection:
            arguments = _FORMAT if self._everything else (*_FORMAT, *_OURS)
            completed = run_tool(self._sandbox, arguments, tree, some, {_INI: b"[bandit]\n"})
            return bandit_findings(completed, everything=self._everything)

        return in_parts(tree, [path for path in paths if self.reads(path)], read)


def bandit_findings(completed: CompletedRun, *, everything: bool = False) -> Detection:
    """bandit's JSON in our terms, without what is not worth a comment unless `everything` is wanted; raises DetectorFailed."""

    def decode(text: str) -> Detection:
        report = msgspec.json.decode(text)
        errors = field(report, "errors", list)
        return Detection(
            findings=_wanted(map(_of_bandit, field(report, "results", list)), everything),
            unread={relative(field(each, "filename", str)): field(each, "reason", str) for each in errors},
        )

    return answer(Bandit.name, completed, decode)


def _of_bandit(result: object) -> RawFinding:
    """bandit's own words, but for the password that it guesses: a comment has more readers than the code may have."""
    rule, message = field(result, "test_id", str), field(result, "issue_text", str)
    line = field(result, "line_number", int)
    return RawFinding(
        path=relative(field(result, "filename", str)),
        line=line,
        end_line=max((line, *msgspec.convert(field(result, "line_range", list), list[int]))),
        column=field(result, "col_offset", int) + 1,
        tool=Bandit.name,
        rule=rule,
        category=Category.SECURITY,
        severity=_SEVERITIES.get(field(result, "issue_severity", str), Severity.MINOR),
        message=message.partition(":")[0] if rule in _QUOTING else message,
    )


# ── the operator's tools ───────────────────────────────────────────────────────────────────────────────────────────


class OperatorTool:
    """The `Detector` that runs one tool of the operator's, without the repository's configuration."""

    def __init__(self, sandbox: Sandbox, tool: ReviewTool) -> None:
        self._sandbox = sandbox
        self._tool = tool

    @property
    def name(self) -> str:
        return self._tool.name

    def reads(self, path: str) -> bool:
        """Whether a pattern fits the path, or its name where the pattern has no slash.

        Where suggestions are tried, a file is below a number.
        """
        top, _, rest = path.partition("/")
        own = rest if top.isdigit() else path
        return any(fnmatchcase(own if "/" in each else PurePosixPath(own).name, each) for each in self._tool.files)

    def detect(self, tree: SourceTree, paths: Sequence[str]) -> Detection:
        def read(some: Sequence[str]) -> Detection:
            files = [f"./{path}" for path in some]
            command = [sys.executable if word == "python" else word for word in self._tool.command]
            at = command.index("{files}") if "{files}" in command else len(command)
            command[at : at + 1] = files
            completed = run_command(self._sandbox, tuple(command), tree, some, show=self._tool.show)
            sources = {path: tree.sources[path] for path in some}
            reported = ReportContext(tool=self._tool.name, sources=sources, category=Category(self._tool.category))
            return Detection(findings=tuple(findings_in(completed, self._tool.format, reported)))

        return in_parts(tree, [path for path in paths if self.reads(path)], read)
