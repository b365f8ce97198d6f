"""What `fix` and `review` print: JSON, which is a contract that scripts rely on, and text for users."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table

from bot.local import LocalReview
from memory.model import Action, Attempt, Finding, Proof, Suggestion
from memory.policy.review_policy import PostingDecision
from workers.messages import repair, tests
from workers.messages.markdown import counted
from workers.messages.review import fixing_command
from workers.repair.result import Repaired, RepairStatus
from workers.review.broken_tests import ComparedTests

Json = dict[str, object]

MOST_SET_ASIDE = 10
SHOWN_OF_A_RULE = 10


def _fields(value: object, *names: str) -> Json:
    """These attributes under their own names; tuples are lists in JSON."""
    return {name: getattr(value, name) for name in names}


def repaired_json(result: Repaired) -> Json:
    """`apprentice fix --json`."""
    proven, failure = result.proven, result.failure
    tried = ("strategy", "probability", "candidates", "rivals", "outcome", "reflection")
    return {
        "status": result.status,
        "failure": _fields(failure, "error_type", "family", "message", "failing_tests") if failure else None,
        "attempts": [_fields(attempt, *tried) for attempt in result.attempts],
        "patch": proven.patch if proven else None,
        "proof": _proof(proven.proof) if proven and proven.proof else None,
        "question": repair.asked_result(proven.proof) or None if proven and proven.proof else None,
        "flaky": list(result.flaky),
        "set_aside": list(result.set_aside),
        "candidates_tried": result.candidates,
        "test_runs": result.test_runs,
        "seconds": round(result.seconds, 3),
        "proof_seconds": round(result.proof_seconds, 3),
        "advice": _advice(result) or None,
        "note": result.note or None,
        "decision_ids": [attempt.decision_id for attempt in result.attempts],
    }


def cannot_run(reason: str) -> Json:
    """`apprentice fix --json` when nothing could be run."""
    none: Json = dict.fromkeys(("failure", "patch", "proof", "question", "advice", "note"))
    empty: Json = {name: [] for name in ("attempts", "flaky", "set_aside", "decision_ids")}
    zero = {"candidates_tried": 0, "test_runs": 0, "seconds": 0.0, "proof_seconds": 0.0}
    return {"status": "cannot_run", **none, **empty, **zero, "error": reason}


def reviewed_json(result: LocalReview) -> Json:
    """`apprentice review --json`."""
    return {
        "findings": [_finding(each, result.decided[each.fingerprint]) for each in result.shown()],
        "coverage": [_fields(each, "path", "status", "reason") for each in result.reviewed.coverage],
        "tests": _compared(result.reviewed.tests) if result.reviewed.tests else None,
        "culprit": result.reviewed.culprit.patch if result.reviewed.culprit else None,
        "fix": _fix(result.reviewed.fix) if result.reviewed.fix else None,
    }


def _fix(fix: Attempt) -> Json:
    return {"patch": fix.patch, "proof": _proof(fix.proof) if fix.proof else None, "decision_id": fix.decision_id}


def _compared(compared: ComparedTests) -> Json:
    names = ("id", "error_type", "message", "path", "line", "added")
    counts = ("ran", "passed", "whole", "trouble", "failing_before", "flaky", "unknown")
    return {"broken": [_fields(each, *names) for each in compared.broken], **_fields(compared, *counts)}


def _proof(proof: Proof) -> Json:
    challenged = ("perturbed", "canaries", "plain", "unusual")
    judged = ("confidence", "doubt", "asked", "undecided", "plausible", "alike", "clusters", "share", "cut")
    counts = ("passed", "failed", "skipped", "collected")
    suite = _fields(proof.suite, *counts)
    rest = None if proof.rest is None else {**_fields(proof.rest, *counts), "unrun": proof.unrun}
    return {
        **_fields(proof, "failed_before", "passed_after"),
        "suite": {**suite, "command": proof.command},
        "rest": rest,
        **_fields(proof, "repeats", *challenged, *judged),
        "telling": None if proof.telling is None else _fields(proof.telling, "call", "this", "other", "patch"),
    }


def _finding(finding: Finding, decided: PostingDecision) -> Json:
    names = ("fingerprint", "path", "line", "end_line", "rule", "category", "severity", "message")
    return {
        **_fields(finding, *names),
        "suggestion": _suggestion(finding.suggestion) if finding.suggestion else None,
        "decision": {
            **_fields(decided.decision, "id", "probability", "arm"),
            **_fields(decided, "action", "why"),
        },
    }


def _suggestion(suggestion: Suggestion) -> Json:
    proof = _proof(suggestion.proof) if suggestion.proof else None
    return {**_fields(suggestion, "start_line", "end_line", "replacement"), "proof": proof}


class Progress:
    """Prints what is being done, a line each.

    Off a terminal the first line waits for the second, so that a project that cannot be run gets one line: why.
    """

    def __init__(self, notes: Console) -> None:
        self._notes = notes
        self._held: list[str] | None = None if notes.is_terminal else []

    def __call__(self, line: str) -> None:
        if self._held == []:
            self._held.append(line)
            return
        for each in (*(self._held or ()), line):
            self._notes.print(each, style="dim", markup=False)
        self._held = None


def _advice(result: Repaired) -> str:
    """Where the time went, and the options that would help."""
    if (effort := result.effort) is None or result.failure is None:
        return ""
    first = result.failure.failing_tests[0]
    name = f"name one failing test (--test-command 'python -m pytest {first}') or " if effort.whole else ""
    more = f" To get further, {name}give more time (--budget {3 * effort.budget:.0f})."
    return f"{effort.described()}{'' if effort.exhausted else more}"


def print_repaired(result: Repaired, out: Console, *, applied: bool) -> None:
    """`apprentice fix`."""
    for line in result.set_aside[:MOST_SET_ASIDE]:
        out.print(f"set aside: {line}", markup=False)
    if (more := len(result.set_aside) - MOST_SET_ASIDE) > 0:
        out.print(f"set aside: {more} more, which --json names")
    if result.status is RepairStatus.NOTHING_FAILING:
        out.print(f"nothing fails: {result.tests} tests")
        return
    assert result.failure is not None, "what did not end green failed"
    out.print(f"[bold]{escape(result.failure.error_type)}[/] {escape(result.failure.message[:200])}")
    for test in result.failure.failing_tests:
        out.print(f"  {escape(test)}")
    out.print(_attempts_table(result))
    proven = result.proven
    if proven is None or proven.proof is None:
        out.print(f"[bold]not fixed[/] in {_seconds(result)}, {result.candidates} candidates tried")
        for line in (*(attempt.reflection for attempt in result.attempts[-1:]), _advice(result)):
            out.print(line, markup=False, highlight=False)
        return
    out.print(Syntax(proven.patch, "diff", background_color="default"))
    out.print(_proof_line(proven.proof))
    _confidence(proven.proof, out)
    where = "applied" if applied else "not applied; run again with --apply"
    if result.status is RepairStatus.UNDECIDED:
        where = "not applied; add a test of what is meant and run again, or apply it yourself"
    if proven.proof.cut:
        where = "not applied; give more time (--budget), so that the whole suite can run with it"
    if proven.proof.unusual:
        out.print(f"it uses what a repair has no use for: {', '.join(proven.proof.unusual)}", markup=False)
        where = "not applied; read it closely before you apply it"
    out.print(f"[bold]{result.status}[/] in {_seconds(result)}, {result.candidates} candidates tried ({where})")
    out.print(f"why: apprentice why {proven.decision_id}")


def _seconds(result: Repaired) -> str:
    """The time, with the part for proofs."""
    return f"{result.seconds:.1f} s" + (f", {result.proof_seconds:.1f} s of it proofs" if result.proof_seconds else "")


def _attempts_table(result: Repaired) -> Table:
    table = Table("strategy", "probability", "candidates", "outcome", box=None, pad_edge=False)
    for attempt in result.attempts:
        table.add_row(
            attempt.strategy,
            f"{attempt.probability:.2f}",
            str(attempt.candidates),
            attempt.outcome.replace("_", " "),
        )
    return table


def _proof_line(proof: Proof) -> str:
    suite = proof.suite
    return (
        f"proof: {len(proof.failed_before)} failing tests pass; suite {suite.passed} passed, {suite.failed} failed, "
        f"{suite.skipped} skipped of {suite.collected}, run {proof.repeats} times: {escape(proof.command)}"
        f"{escape(repair.other_tests(proof))}"
    )


def _confidence(proof: Proof, out: Console) -> None:
    """How sure the proof is; a disputed one ends with the question and the rival patch."""
    if confidence := repair.confidence(proof):
        out.print(f"confidence: {escape(confidence)}")
    if proof.telling is not None:
        out.print(escape(repair.asked_result(proof)))
        out.print(Syntax(proof.telling.patch, "diff", background_color="default"))


def print_reviewed(result: LocalReview, out: Console) -> None:
    """`apprentice review`: what the tests say first."""
    if not result.reviewed.change.files:
        out.print("nothing to review: no file differs")
        return
    if (compared := result.reviewed.tests) is not None:
        out.print(f"[bold]{escape(tests.headline(compared))}[/]")
        for line in tests.lines(compared):
            out.print(line, markup=False, highlight=False)
    if (part := result.reviewed.culprit) is not None:
        out.print("this part of the change breaks them; without it they pass:")
        out.print(Syntax(part.patch, "diff", background_color="default"))
    fix = result.reviewed.fix
    if fix is not None and fix.proof is not None and not (part and fix.proof.contested):
        out.print("with this change they pass:")
        out.print(Syntax(fix.patch, "diff", background_color="default"))
        out.print(_proof_line(fix.proof))
        _confidence(fix.proof, out)
    _print_findings(result, out)
    not_read = result.reviewed.not_read
    for path, reason in not_read.items():
        out.print(f"not read: {escape(path)}: {escape(reason)}")
    out.print(f"{len(result.shown())} findings, {result.reviewed.files_read} files read, {len(not_read)} not read")


def _print_findings(result: LocalReview, out: Console) -> None:
    """All findings, those of one rule together; how many of them would not be posted is counted."""
    groups: dict[str, list[Finding]] = {}
    for finding in result.shown():
        groups.setdefault(finding.rule, []).append(finding)
    hidden = sum(result.decided[finding.fingerprint].action is Action.HOLD for finding in result.shown())
    for findings in groups.values():
        for finding in findings[:SHOWN_OF_A_RULE]:
            _print_finding(finding, out)
        if (more := len(findings) - SHOWN_OF_A_RULE) > 0:
            out.print(f"  and {more} more of {findings[0].rule} (--json lists them)", markup=False)
        if len(findings) > 1 and (command := fixing_command(findings)):
            out.print(f"  {command} fixes what it can", markup=False, highlight=False)
    if hidden:
        out.print(f"{counted(hidden, 'finding')} a pull request's review would not post: little use is expected")


def _print_finding(finding: Finding, out: Console) -> None:
    out.print(
        f"{escape(finding.path)}:{finding.line} [bold]{escape(finding.rule)}[/] ({finding.severity}) "
        f"{escape(finding.message)}  {escape(f'[{finding.fingerprint[:12]}]')}"
    )
    if finding.suggestion is not None and finding.suggestion.proof is not None:
        suggestion = finding.suggestion
        out.print(f"  suggested for lines {suggestion.start_line}-{suggestion.end_line}, applied and tested:")
        out.print(Syntax(suggestion.replacement, "python", background_color="default"))
