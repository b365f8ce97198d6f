"""Every sentence that people read on GitHub. Pure: values in, Markdown out.

Whatever is quoted here was written by somebody else, so it goes through `code`, `name`, `plain` or `words`, which keep
it from mentioning people, closing issues, running slash commands or breaking out of its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import assert_never

from memory.model import Attempt, AttemptOutcome, Confidence, Doubt, Failure, Finding, Proof, Severity, Signal
from workers.markdown import code, name, plain, words
from workers.patches import fence

SHOWN_TESTS = 5
SHOWN_FINDINGS = 20

_MARKER = re.compile(r"<!-- apprentice:(\S+) -->")


def marker(key: str) -> str:
    """A hidden marker by which a comment of ours is found again."""
    return f"<!-- apprentice:{key} -->"


def marked(body: str) -> str:
    """The key in the marker of one of our comments, empty where there is none. Ours is the last: code may hold others."""
    found: list[str] = _MARKER.findall(body)
    return found[-1] if found else ""


# --- repair -------------------------------------------------------------------------------------------------------


def fix_title(failure: Failure, path: str) -> str:
    """The title of a pull request that repairs a failure."""
    return f"Fix {words(failure.error_type)} in {words(path)}"


def fix_commit(failure: Failure, path: str, issue: int) -> str:
    """The message of the commit that carries a repair."""
    tests = "\n".join(f"- {words(test)}" for test in failure.failing_tests[:SHOWN_TESTS])
    return f"{fix_title(failure, path)}\n\nThese tests failed and pass now:\n{tests}\n\nFor #{issue}\n"


def fix_body(failure: Failure, attempt: Attempt, *, issue: int, closes: bool, bot_name: str, key: str) -> str:
    """The body of a pull request that repairs a failure, with its proof. Merging it closes the issue when it `closes`."""
    proof = attempt.proof
    assert proof is not None, "only a proven attempt is published"
    return "\n".join(
        [
            f"{'Fixes' if closes else 'For'} #{issue}.",
            "",
            f"**What failed:** {_failure_line(failure)}",
            "",
            code(attempt.patch, "diff"),
            "",
            "**Proof**",
            "",
            *_proof_lines(proof),
            *_question(proof),
            "",
            (
                f"Chosen strategy: {name(attempt.strategy)} (probability {attempt.probability:.2f}, "
                f"{_count(attempt.candidates, 'candidate')} tried). Decision {name(attempt.decision_id)}; "
                f"ask `@{bot_name} why {attempt.decision_id}` for the reasons."
            ),
            "",
            "Merging teaches me that this kind of edit is wanted here, closing that it is not.",
            marker(key),
        ]
    )


def fix_published(pull: int, attempt: Attempt, *, key: str) -> str:
    """The answer in the conversation that asked for a repair."""
    assert attempt.proof is not None, "only a proven attempt is published"
    fixed = len(attempt.proof.passed_after)
    return (
        f"I opened #{pull}: {_count(fixed, 'failing test')} now {'passes' if fixed == 1 else 'pass'}, "
        f"and so does the rest of the suite ({attempt.proof.suite.passed} passed, "
        f"run {attempt.proof.repeats}×).{_but(attempt.proof)}\n{marker(key)}"
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
            *_question(attempt.proof),
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


def nothing_failing(sha: str, tests: int, *, bot_name: str, key: str) -> str:
    """What is said when the suite is green."""
    return (
        f"All {tests} tests pass at {sha[:12]}, so there is nothing for me to reproduce. "
        "Add a failing test, here in a ```` ```python ```` block or in the repository, and ask again: "
        f"`@{bot_name} fix`.\n{marker(key)}"
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


_DOUBTS = {
    Doubt.NONE: "",
    Doubt.SEARCH_CUT: "The search for other edits was cut short: please check that this one is right.",
    Doubt.FAR_FETCHED: "It is an unlikely edit, found after many others: please check that it is right.",
    Doubt.PRONE: (
        "It changes when something is done, which often fits the tests and nothing else: please check that it is right."
    ),
    Doubt.SILENCES: (
        "It takes something away, or gives a fixed result, which may silence the test rather than repair the code: "
        "please check that it is right."
    ),
}


def confidence(proof: Proof) -> str:
    """How far a proven change is to be trusted, by what other changes pass the same tests; empty when nobody looked."""
    others = f"{proof.plausible} different edits pass these tests"
    match proof.confidence:
        case Confidence.UNIQUE:
            said = "No other edit that was tried passes these tests."
        case Confidence.AGREED:
            said = f"{others}, and all behave alike on further calls like those of the tests."
        case Confidence.DISPUTED:
            said = (
                f"{others}, and they behave in {proof.clusters} different ways on further calls, {proof.alike} of them "
                "like this one: please decide."
            )
        case Confidence.UNCOMPARED if proof.plausible > 1:
            said = f"{others}, and there was no further call to compare them by: please check that this one is right."
        case Confidence.UNCOMPARED:
            said = ""
        case _:
            assert_never(proof.confidence)
    return f"{said} {_DOUBTS[proof.doubt]}".strip()


def asked_result(proof: Proof) -> str:
    """The question which of two results is right, in plain words; empty when no call tells two changes apart."""
    told = proof.telling
    return f"Which is right: {told.call} → {told.this} (this change) or {told.other} (the other one)?" if told else ""


def _question(proof: Proof) -> list[str]:
    """What the maintainer is asked about a disputed change, with the change that is the alternative."""
    told = proof.telling
    if told is None:
        return []
    return [
        "",
        "**Which result is right?**",
        "",
        f"{name(told.call)} gives {name(told.this)} with this change, and {name(told.other)} with this one instead:",
        "",
        code(told.patch, "diff"),
    ]


def _but(proof: Proof) -> str:
    """What is added to a success that people are asked about."""
    return f"\n\n{plain(confidence(proof))}" if proof.asked and confidence(proof) else ""


def _failure_line(failure: Failure) -> str:
    tests = ", ".join(name(test) for test in failure.failing_tests[:SHOWN_TESTS])
    more = len(failure.failing_tests) - SHOWN_TESTS
    rest = f" and {more} more" if more > 0 else ""
    message = f" {name(failure.message)}" if failure.message.strip() else ""
    return f"{name(failure.error_type)}{message} in {tests}{rest}"


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
        *([f"- {confidence(proof)}"] if confidence(proof) else []),
    ]


# --- review -------------------------------------------------------------------------------------------------------


CHECK_FAILED = "Not reviewed"

ANNOTATION_LEVELS = {
    Severity.INFO: "notice",
    Severity.MINOR: "warning",
    Severity.MAJOR: "warning",
    Severity.CRITICAL: "failure",
}


def finding_comment(finding: Finding, *, with_suggestion: bool, reason: str, bot_name: str) -> str:
    """One inline comment."""
    lines = [f"**{plain(finding.rule)}** ({finding.severity}, {plain(finding.category)}): {plain(finding.message)}"]
    if with_suggestion and finding.suggestion is not None:
        lines += ["", _suggestion(finding.suggestion.replacement), _suggestion_proof(finding.suggestion.proof)]
    lines += [
        "",
        f"<sub>{plain(reason)} · `@{bot_name} why {finding.fingerprint[:12]}`</sub>",
        marker(finding.fingerprint),
    ]
    return "\n".join(lines)


def annotation_message(finding: Finding) -> str:
    """A finding in the check run's own list."""
    return words(finding.message)


def _suggestion(replacement: str) -> str:
    """The block that GitHub can commit: whole lines, and none at all where lines are to go."""
    mark = fence(replacement)
    end = "\n" if replacement and not replacement.endswith("\n") else ""
    return f"{mark}suggestion\n{replacement}{end}{mark}"


def _suggestion_proof(proof: Proof | None) -> str:
    if proof is None:
        return ""
    return (
        f"<sub>Applied and tested: {_count(proof.suite.passed, 'test')} passed before and after "
        f"({name(proof.command)}).</sub>"
    )


def review_body(
    *,
    sha: str,
    inline: int,
    summary: Sequence[Finding],
    held: int,
    repeated: int,
    resolved: int,
    coverage: Mapping[str, str],
    untested: bool,
    bot_name: str,
    key: str,
) -> str:
    """The text above a review's comments. `coverage` maps files that were not fully read to the reason."""
    said = f"{_count(inline, 'comment')} below" if inline else "no new comment beside the code"
    lines = [f"Reviewed {sha[:12]}: {said}."]
    if summary:
        lines += ["", "**Also seen**", "", *(_summary_line(f) for f in summary[:SHOWN_FINDINGS])]
        if len(summary) > SHOWN_FINDINGS:
            lines.append(f"- and {len(summary) - SHOWN_FINDINGS} more in the check run")
    if repeated:
        lines += ["", f"{_count(repeated, 'finding')} said in an earlier round and still there."]
    if resolved:
        lines += ["", f"{_count(resolved, 'earlier finding')} no longer there; the threads are closed."]
    if held:
        lines += ["", f"{_count(held, 'finding')} held back because the like was not wanted here before."]
    if untested:
        lines += [
            "",
            f"No test was run, because this comes from a fork; `@{bot_name} review` by a maintainer has them run.",
        ]
    if coverage:
        lines += ["", "**Not read**", "", *(f"- {name(path)}: {plain(why)}" for path, why in coverage.items())]
    lines += [
        "",
        f"React 👍 or 👎, resolve, apply, or answer `@{bot_name} reject because …`: I learn from it.",
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


def check_summary(*, read: int, coverage: Mapping[str, str], repeated: int, held: int, untested: bool) -> str:
    """The check run's text: what was read and what was not."""
    lines = [f"{_count(read, 'file')} read."]
    if repeated:
        lines.append(f"{_count(repeated, 'finding')} said in an earlier round, not repeated.")
    if held:
        lines.append(f"{_count(held, 'finding')} held back because the like was not wanted here before.")
    if untested:
        lines.append("No test was run, because this comes from a fork.")
    lines += [f"- not read: {name(path)}: {plain(why)}" for path, why in coverage.items()]
    return "\n".join(lines)


def _summary_line(finding: Finding) -> str:
    return f"- {name(f'{finding.path}:{finding.line}')} **{plain(finding.rule)}** {plain(finding.message)}"


def overtaken(*, closed: bool, key: str) -> str:
    """The answer to a command to review what is no longer there to be reviewed."""
    why = "it is closed" if closed else "it was pushed to since you asked; ask again"
    return f"I did not review this pull request: {why}.\n{marker(key)}"


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
    said = plain(problem)
    return f"{said[:1].upper()}{said[1:]}. {hint}\n{marker(key)}"


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
    if not reference:
        return f"I have decided nothing here yet. Ask with an id: they stand at the foot of what I post.\n{marker(key)}"
    return (
        f"I know no decision or finding {name(reference)}. "
        f"The ids stand at the foot of my comments and pull requests.\n{marker(key)}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
