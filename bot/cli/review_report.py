"""A review as values that every format for machines is made of, and the exit code that follows from them. Pure."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bot.cli.console import BAD_INPUT, FailOn
from bot.local import LocalReview
from memory.model import Action, Finding, Proof, Severity, Suggestion
from memory.policy.review_policy import PostingDecision
from workers.diffs import FileStatus, Hunk, parse_diff
from workers.messages import repair, tests
from workers.messages.markdown import counted
from workers.redaction import redact
from workers.review.broken_tests import BrokenTest, ComparedTests
from workers.review.engine import Reviewed

OURS = "apprentice"
BROKEN_TEST, CULPRIT, REPAIR = "broken-test", "breaking-part", "proven-repair"
NOT_READ, TESTS, HIDDEN = "not-read", "tests", "hidden"
FAILS = 1
"""The exit code of a review that fails."""

_FLOORS: Mapping[FailOn, Severity] = MappingProxyType(
    {
        FailOn.CRITICAL: Severity.CRITICAL,
        FailOn.MAJOR: Severity.MAJOR,
        FailOn.MINOR: Severity.MINOR,
        FailOn.ANY: Severity.INFO,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEdit:
    """`text`, whole lines, in place of the lines `start`..`end` of a file of the head; before `start` where `end` is less."""

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Edits that belong together, and what was shown about them; `text` is what a reader sees of them, new lines or a diff."""

    why: str
    edits: tuple[LineEdit, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportItem:
    """One thing that a review says about a place.

    `path` is empty where there is none, and `line` is 0 where only the file is known. `hidden` is why a pull request's
    review would not post it.
    """

    rule: str
    severity: Severity
    message: str
    fingerprint: str
    tool: str = OURS
    category: str = "correctness"
    path: str = ""
    line: int = 0
    end_line: int = 0
    hidden: str = ""
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLimit:
    """What the review did not do or does not show: a file that was not read, tests that did not run, no repair."""

    kind: str
    severity: Severity
    message: str
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewReport:
    """A review, in the order in which it is read. `place` is a file of the change, for what has no place of its own."""

    items: tuple[ReportItem, ...]
    limits: tuple[ReportLimit, ...]
    place: str
    breaks_tests: bool
    untested: bool

    def shown(self) -> list[ReportItem]:
        """The items without the hidden ones."""
        return [item for item in self.items if not item.hidden]

    def exit_code(self, fail_on: FailOn) -> int:
        """1 where a test is broken or a finding is as severe as `fail_on`; 2 where neither is, and no test could tell."""
        if fail_on is FailOn.NEVER:
            return 0
        floor = _FLOORS.get(fail_on)
        found = [item.severity for item in self.shown() if item.tool != OURS]
        if self.breaks_tests or (floor and any(severity.rank >= floor.rank for severity in found)):
            return FAILS
        return BAD_INPUT if self.untested else 0


def report_of(result: LocalReview) -> ReviewReport:
    """All that a review says: broken tests with what breaks and repairs them, findings by their severity, its limits."""
    reviewed, compared = result.reviewed, result.reviewed.tests
    findings = [_finding(each, result.decided[each.fingerprint]) for each in result.shown()]
    findings.sort(key=lambda item: -item.severity.rank)
    broken = [_broken(test) for test in compared.broken] if compared else []
    files = sorted(reviewed.change.files, key=lambda file: file.status is FileStatus.DELETED)
    return ReviewReport(
        items=(*broken[:1], *_patches(reviewed), *broken[1:], *findings),
        limits=(
            *(_limits_of_tests(compared) if reviewed.change.files else ()),
            *(_limit(TESTS, line) for line in tests.untested_parts(reviewed.untested)),
            *([_limit(TESTS, reviewed.unrepaired)] if reviewed.unrepaired else []),
            *_hidden(findings),
            *(_limit(NOT_READ, f"not read: {why}", path) for path, why in reviewed.not_read.items()),
        ),
        place=files[0].path if files else "",
        breaks_tests=bool(broken),
        untested=compared is not None and compared.tells_nothing,
    )


def _broken(test: BrokenTest) -> ReportItem:
    return ReportItem(
        rule=BROKEN_TEST,
        severity=Severity.CRITICAL,
        message=tests.described(test),
        fingerprint=_fingerprint(BROKEN_TEST, test.id),
        path=test.path or test.id.partition("::")[0],
        line=test.line,
        end_line=test.line,
    )


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _patches(reviewed: Reviewed) -> Iterator[ReportItem]:
    """The part of the change that breaks tests and the repair, as far as a review on GitHub would show them."""
    part, fix = reviewed.culprit, reviewed.fix
    if part is not None:
        without = f"without it they pass, and no other of {part.proof.suite.collected} tests is broken"
        what = f"this part of the change breaks tests: {without}"
        yield _patch(CULPRIT, Severity.CRITICAL, what, "takes this part of the change back", part.patch)
    if fix is None or fix.proof is None or (part is not None and fix.proof.contested):
        return
    proof = fix.proof
    what = f"the broken tests pass with this change: {_suite(proof)}. {repair.confidence(proof)}".strip()
    if proof.unusual:
        what += " Read it closely: it uses what a repair has no use for."
    settled = not proof.contested and not proof.unusual
    question = f" {repair.asked_result(proof)}" if proof.contested else ""
    yield _patch(REPAIR, Severity.INFO, f"{what}{question}", "makes the broken tests pass", fix.patch, settled=settled)


def _suite(proof: Proof) -> str:
    suite = proof.suite
    return f"suite {suite.passed} passed, {suite.failed} failed of {suite.collected}{repair.other_tests(proof)}"


def _patch(rule: str, severity: Severity, message: str, why: str, patch: str, *, settled: bool = True) -> ReportItem:
    """A patch of the head at its first lines. One that a person has to decide on is shown as a diff, and offers no edits."""
    edits = tuple(_edits(patch))
    first = edits[0] if edits else LineEdit(path="", start=0, end=0, text="")
    return ReportItem(
        rule=rule,
        severity=severity,
        message=message,
        fingerprint=_fingerprint(rule, patch),
        path=first.path,
        line=first.start,
        end_line=max(first.start, first.end),
        remedies=(Remedy(why=why, edits=_offered(edits) if settled else (), text=patch),),
    )


def _offered(edits: tuple[LineEdit, ...]) -> tuple[LineEdit, ...]:
    """None of them where one would have to be printed without a credential in it: it would write what is not meant."""
    return edits if all(redact(edit.text) == edit.text for edit in edits) else ()


def _edits(patch: str) -> Iterator[LineEdit]:
    """The edits of whole lines that a diff consists of, in its order."""
    for file in parse_diff(patch).files:
        for hunk in file.hunks:
            yield from _edits_of(hunk, file.path)


def _edits_of(hunk: Hunk, path: str) -> Iterator[LineEdit]:
    start = at = hunk.old_start + (hunk.old_count == 0)
    new: list[str] = []
    for line in (*hunk.lines, " "):
        if line.startswith("+"):
            new.append(f"{line[1:]}\n")
        elif line.startswith("-"):
            at += 1
        elif line.startswith("\\") and new:
            new[-1] = new[-1].removesuffix("\n")
        elif line.startswith(" "):
            if new or at > start:
                yield LineEdit(path=path, start=start, end=at - 1, text="".join(new))
            start, new = at + 1, []
            at = start


def _finding(finding: Finding, decided: PostingDecision) -> ReportItem:
    suggestion = finding.suggestion
    remedies: tuple[Remedy, ...] = ()
    if suggestion is not None and suggestion.proof is not None:
        start, end, text = suggestion.start_line, suggestion.end_line, suggestion.replacement
        edit = LineEdit(path=finding.path, start=start, end=end, text=text)
        passed = f"applied and tested: {counted(suggestion.proof.suite.passed, 'test')} passed before and after"
        shown = passed if suggestion.proof.repeats else "changes no code"
        why = f"suggested for {lines_of(suggestion)}, {shown}"
        remedies = (Remedy(why=why, edits=_offered((edit,)), text=text),)
    return ReportItem(
        rule=finding.rule,
        severity=finding.severity,
        message=finding.message,
        fingerprint=finding.fingerprint,
        tool=finding.tool,
        category=finding.category,
        path=finding.path,
        line=finding.line,
        end_line=finding.end_line,
        hidden=decided.why if decided.action is Action.HOLD else "",
        remedies=remedies,
    )


def lines_of(suggestion: Suggestion) -> str:
    """The lines that it replaces, in words."""
    first, last = suggestion.start_line, suggestion.end_line
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _limits_of_tests(compared: ComparedTests | None) -> Iterator[ReportLimit]:
    """What the tests leave open; nothing where all ran and none failed."""
    if compared is None:
        yield _limit(TESTS, "no test was run: the project has none that pytest would find")
    elif compared.tells_nothing:
        why = compared.trouble or "; ".join(line.removesuffix(".") for line in tests.remarks(compared))
        yield _limit(
            TESTS, f"no test could tell whether the change breaks something: {why}", severity=Severity.CRITICAL
        )
    else:
        yield from (_limit(TESTS, line, severity=Severity.MINOR) for line in tests.remarks(compared))


def _hidden(findings: Sequence[ReportItem]) -> Iterator[ReportLimit]:
    if hidden := sum(bool(item.hidden) for item in findings):
        yield _limit(HIDDEN, f"{counted(hidden, 'finding')} hidden, as in a pull request: little use is expected")


def _limit(kind: str, message: str, path: str = "", severity: Severity = Severity.INFO) -> ReportLimit:
    return ReportLimit(kind=kind, severity=severity, message=message, path=path)
