"""Every sentence that people read on GitHub. Pure: values in, Markdown out.

Whatever is quoted here was written by somebody else, so it goes through `code` or `plain`, which keep it from
mentioning people, closing issues, running slash commands or breaking out of its fence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memory.model import Attempt, AttemptOutcome, Failure, Finding, Proof, Severity, Signal
from workers.patches import fence
from workers.redaction import redact

SHOWN_TESTS = 5
SHOWN_FINDINGS = 20
MESSAGE_LENGTH = 300
ZERO_WIDTH_SPACE = "\u200b"

_MARKER = re.compile(r"<!-- apprentice:(\S+) -->")
_CLOSING = re.compile(r"\b(clos(?:e|es|ed)|fix(?:es|ed)?|resolv(?:e|es|ed))(\s+#)", re.IGNORECASE)


def marker(key: str) -> str:
    """A hidden marker by which a comment of ours is found again."""
    return f"<!-- apprentice:{key} -->"


def marked(body: str) -> str:
    """The key in the marker of one of our comments, empty where there is none."""
    found = _MARKER.search(body)
    return found[1] if found else ""


def plain(text: str) -> str:
    """Somebody's words on one line: nobody is mentioned, nothing closed, no command begun, no markup hidden."""
    line = " ".join(redact(text).split())[:MESSAGE_LENGTH]
    line = line.replace("<", "&lt;").replace("@", f"@{ZERO_WIDTH_SPACE}").replace("`", "'")
    line = _CLOSING.sub(rf"\1{ZERO_WIDTH_SPACE}\2", line)
    return ZERO_WIDTH_SPACE + line if line.startswith("/") else line


def code(text: str, language: str = "") -> str:
    """Somebody's text in a fence that it cannot close."""
    text = redact(text)
    mark = fence(text)
    return f"{mark}{language}\n{text.rstrip()}\n{mark}"


def name(text: str) -> str:
    """A path, test or rule inside a sentence."""
    return f"`{plain(text)}`"


# --- repair -------------------------------------------------------------------------------------------------------


def fix_title(failure: Failure, path: str) -> str:
    """The title of a pull request that repairs a failure."""
    return f"Fix {plain(failure.error_type)} in {plain(path)}"


def fix_commit(failure: Failure, path: str, issue: int) -> str:
    """The message of the commit that carries a repair."""
    tests = "\n".join(f"- {test}" for test in failure.failing_tests[:SHOWN_TESTS])
    return f"Fix {failure.error_type} in {path}\n\nThese tests failed and pass now:\n{tests}\n\nFor #{issue}\n"


def fix_body(failure: Failure, attempt: Attempt, *, issue: int, key: str) -> str:
    """The body of a pull request that repairs a failure, with its proof."""
    proof = attempt.proof
    assert proof is not None, "only a proven attempt is published"
    return "\n".join(
        [
            f"Fixes #{issue}.",
            "",
            f"**What failed:** {_failure_line(failure)}",
            "",
            code(attempt.patch, "diff"),
            "",
            "**Proof**",
            "",
            *_proof_lines(proof),
            "",
            (
                f"Chosen strategy: {name(attempt.strategy)} (probability {attempt.probability:.2f}, "
                f"{_count(attempt.candidates, 'candidate')} tried). Decision {name(attempt.decision_id)}; "
                f"ask `@apprentice why {attempt.decision_id}` for the reasons."
            ),
            "",
            "Merging teaches me that this kind of edit is wanted here, closing that it is not.",
            marker(key),
        ]
    )


def fix_published(pull: int, attempt: Attempt, *, key: str) -> str:
    """The answer in the conversation that asked for a repair."""
    assert attempt.proof is not None, "only a proven attempt is published"
    return (
        f"I opened #{pull}: {_count(len(attempt.proof.passed_after), 'failing test')} now pass, "
        f"and so does the rest of the suite ({attempt.proof.suite.passed} passed, "
        f"run {attempt.proof.repeats}×).\n{marker(key)}"
    )


def fix_for_fork(attempt: Attempt, *, key: str) -> str:
    """A repair of a fork's pull request, whose branch is not ours to push to."""
    assert attempt.proof is not None, "only a proven attempt is published"
    return "\n".join(
        [
            "This makes the failing tests pass; the branch is a fork's, so please apply it there:",
            "",
            code(attempt.patch, "diff"),
            "",
            "**Proof**",
            "",
            *_proof_lines(attempt.proof),
            marker(key),
        ]
    )


def fix_not_found(failure: Failure, attempts: Sequence[Attempt], *, seconds: float, key: str) -> str:
    """What is said when no repair could be proven: what was tried, and what came closest."""
    tried = [f"| {name(a.strategy)} | {a.candidates} | {_OUTCOMES[a.outcome]} |" for a in attempts]
    learned = [f"- {plain(a.reflection)}" for a in attempts if a.reflection]
    return "\n".join(
        [
            f"I could reproduce this but found no fix that I can prove, in {seconds:.0f} s.",
            "",
            f"**What fails:** {_failure_line(failure)}",
            "",
            "| strategy | candidates | outcome |",
            "| --- | --- | --- |",
            *tried,
            "",
            *(["**What I learned from it**", "", *learned, ""] if learned else []),
            marker(key),
        ]
    )


def nothing_failing(sha: str, tests: int, *, key: str) -> str:
    """What is said when the suite is green."""
    return (
        f"All {tests} tests pass at {sha[:12]}, so there is nothing for me to reproduce. "
        "Add a failing test, here in a ```` ```python ```` block or in the repository, and ask again: "
        f"`@apprentice fix`.\n{marker(key)}"
    )


def could_not(doing: str, reason: str, *, key: str) -> str:
    """What is said when work ended in an error."""
    return f"I could not {doing}: {plain(reason)}\n{marker(key)}"


_OUTCOMES = {
    AttemptOutcome.PROVEN: "proven",
    AttemptOutcome.UNPROVEN: "passed the failing tests, broke others",
    AttemptOutcome.NOTHING_PLAUSIBLE: "nothing passed the failing tests",
    AttemptOutcome.OUT_OF_BUDGET: "ran out of time",
}


def _failure_line(failure: Failure) -> str:
    tests = ", ".join(name(test) for test in failure.failing_tests[:SHOWN_TESTS])
    more = len(failure.failing_tests) - SHOWN_TESTS
    rest = f" and {more} more" if more > 0 else ""
    return f"{name(failure.error_type)} {plain(failure.message)} in {tests}{rest}"


def _proof_lines(proof: Proof) -> list[str]:
    tests = ", ".join(name(test) for test in proof.passed_after[:SHOWN_TESTS])
    more = len(proof.passed_after) - SHOWN_TESTS
    rest = f" and {more} more" if more > 0 else ""
    return [
        f"- failed before, pass now: {tests}{rest}",
        (
            f"- whole suite with the change: {proof.suite.passed} passed, {proof.suite.failed} failed, "
            f"{proof.suite.skipped} skipped of {proof.suite.collected} "
            f"(before: {proof.before.passed} passed, {proof.before.failed} failed)"
        ),
        f"- run {proof.repeats}× in a sandbox without network: {name(proof.command)}",
        "- no test, fixture or configuration file was changed to get there",
    ]


# --- review -------------------------------------------------------------------------------------------------------


CHECK_FAILED = "Not reviewed"

ANNOTATION_LEVELS = {
    Severity.INFO: "notice",
    Severity.MINOR: "warning",
    Severity.MAJOR: "warning",
    Severity.CRITICAL: "failure",
}


def finding_comment(finding: Finding, *, with_suggestion: bool, reason: str) -> str:
    """One inline comment."""
    lines = [f"**{plain(finding.rule)}** ({finding.severity}, {plain(finding.category)}): {plain(finding.message)}"]
    if with_suggestion and finding.suggestion is not None:
        replacement = finding.suggestion.replacement.rstrip("\n")
        mark = fence(replacement)
        lines += ["", f"{mark}suggestion", replacement, mark, _suggestion_proof(finding.suggestion.proof)]
    lines += [
        "",
        f"<sub>{plain(reason)} · `@apprentice why {finding.fingerprint[:12]}`</sub>",
        marker(finding.fingerprint),
    ]
    return "\n".join(lines)


def annotation_message(finding: Finding) -> str:
    """A finding in the check run's own list."""
    return plain(finding.message)


def _suggestion_proof(proof: Proof | None) -> str:
    if proof is None:
        return ""
    return (
        f"<sub>Applied and tested: {_count(proof.suite.passed, 'covering test')} passed before and after "
        f"({name(proof.command)}).</sub>"
    )


def review_body(
    *,
    sha: str,
    inline: int,
    summary: Sequence[Finding],
    held: int,
    resolved: int,
    coverage: Mapping[str, str],
    key: str,
) -> str:
    """The text above a review's comments. `coverage` maps files that were not fully read to the reason."""
    lines = [f"Reviewed {sha[:12]}: {_count(inline, 'comment')} below."]
    if summary:
        lines += ["", "**Also seen**", "", *(_summary_line(f) for f in summary[:SHOWN_FINDINGS])]
        if len(summary) > SHOWN_FINDINGS:
            lines.append(f"- and {len(summary) - SHOWN_FINDINGS} more in the check run")
    if resolved:
        lines += ["", f"{_count(resolved, 'earlier finding')} no longer there; the threads are closed."]
    if held:
        lines += ["", f"{_count(held, 'finding')} held back because the like was not wanted here before."]
    if coverage:
        lines += ["", "**Not read**", "", *(f"- {name(path)}: {plain(why)}" for path, why in coverage.items())]
    lines += [
        "",
        "React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.",
        marker(key),
    ]
    return "\n".join(lines)


def check_title(*, findings: int, unread: int) -> str:
    """The check run's one line."""
    if not findings and not unread:
        return "Nothing found"
    parts = [_count(findings, "finding")] if findings else []
    parts += [f"{_count(unread, 'file')} not read"] if unread else []
    return ", ".join(parts)


def check_summary(*, read: int, coverage: Mapping[str, str], repeated: int) -> str:
    """The check run's text: what was read and what was not."""
    lines = [f"{_count(read, 'file')} read."]
    if repeated:
        lines.append(f"{_count(repeated, 'finding')} said in an earlier round, not repeated.")
    lines += [f"- not read: {name(path)}: {plain(why)}" for path, why in coverage.items()]
    return "\n".join(lines)


def _summary_line(finding: Finding) -> str:
    return f"- {name(f'{finding.path}:{finding.line}')} **{plain(finding.rule)}** {plain(finding.message)}"


# --- conversation -------------------------------------------------------------------------------------------------


def outsider(login: str, *, key: str) -> str:
    """The answer to a command by somebody who may not give any."""
    return (
        f"{plain(login)}, only people with write access to this repository can ask me to work; "
        f"a maintainer can repeat your command.\n{marker(key)}"
    )


def help_text(bot_name: str, *, key: str) -> str:
    """The answer to `help`."""
    return "\n".join(
        [
            "| command | what it does |",
            "| --- | --- |",
            f"| `@{bot_name} fix` | reproduce the failing tests and open a draft pull request with a proven fix |",
            f"| `@{bot_name} review` | review this pull request now, running its tests |",
            f"| `@{bot_name} why ID` | explain a decision: what was known, the odds, the alternatives |",
            f"| `@{bot_name} accept`, `@{bot_name} reject because …` | tell me whether this was useful |",
            f"| `@{bot_name} help` | this table |",
            "",
            "People with write access can command and teach. Reactions, applied suggestions, merges and closes teach too.",
            marker(key),
        ]
    )


def misunderstood(problem: str, suggestion: str, bot_name: str, *, key: str) -> str:
    """The answer to a command that does not exist."""
    hint = f"Did you mean `@{bot_name} {suggestion}`?" if suggestion else f"Try `@{bot_name} help`."
    return f"{plain(problem)} {hint}\n{marker(key)}"


def receipt(signals: Sequence[Signal], *, wanted: bool, scope: str, key: str) -> str:
    """What a verdict changed, and how far it reaches."""
    counted = sum(1 for s in signals if s.weight)
    if not counted:
        return f"Noted, without effect: only people with write access teach me.\n{marker(key)}"
    verb = "wanted" if wanted else "not wanted"
    return (
        f"Noted as {verb}: {_count(counted, 'decision')} re-weighed. It changes how likely I am to do the like "
        f"for {plain(scope)}, and to a lesser degree elsewhere; nothing is switched off by one verdict.\n{marker(key)}"
    )


def nothing_to_judge(*, key: str) -> str:
    """The answer to a verdict where nothing of ours stands."""
    return f"I have done nothing here that could be judged; answer one of my comments instead.\n{marker(key)}"


def why(explanation: str, *, key: str) -> str:
    """The answer to `why`."""
    return f"{code(explanation)}\n{marker(key)}"


def unknown_decision(reference: str, *, key: str) -> str:
    """The answer to `why` about something that was never decided."""
    return (
        f"I know no decision or finding {name(reference)}. "
        f"The ids stand at the foot of my comments and pull requests.\n{marker(key)}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
