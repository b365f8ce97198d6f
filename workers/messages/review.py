"""What a review posts: comments on findings, the summary, the check run."""

from collections import Counter
from collections.abc import Mapping, Sequence

from memory.model import Finding, Proof, Severity
from workers.diffs import fence
from workers.messages.markdown import counted, first_of, marker, name, plain
from workers.messages.repair import culprit, fix_in_review, proof_section
from workers.messages.tests import blamed_on_part, headline, in_check, markdown, markdown_remarks, untested_parts
from workers.review.engine import Reviewed
from workers.review.plan import MissedFinding, RepairSuggestion, ReviewPlan

SHOWN_FINDINGS = 20
SHOWN_PLACES = 10
SHOWN_UNREAD = 10
SHOWN_UNREAD_IN_CHECK = 50
SHOWN_REASONS = 5
LONGEST_TEXT = 65_000
"""A text of over 65,536 characters would be refused."""
CUT = "The rest is too long for a review; the check run has all of it."

NOTHING_CHANGED = "Nothing changed: no file differs from the base"

CHECK_RUNNING = "Reading the change"
RUNNING = "Files, findings and tests of this commit are being looked at. What was found replaces this text."

CHECK_FAILED = "Not reviewed"
GIVEN_UP = "This commit is not reviewed: the pull request was pushed to or closed, or a later request has the review."

DUPLICATE = "GitHub posted this review twice, after a time-out. The other one counts."

ANNOTATION_LEVELS = {
    Severity.INFO: "notice",
    Severity.MINOR: "warning",
    Severity.MAJOR: "warning",
    Severity.CRITICAL: "failure",
}


def finding_comment(
    finding: Finding, *, with_suggestion: bool, bot_name: str, missed: MissedFinding | None = None
) -> str:
    """One inline comment; the command in it asks for the reason, with its figures."""
    lines = [
        f"**{plain(rule_name(finding))}** ({finding.severity}, {plain(finding.category)}): {plain(finding.message)}"
    ]
    if with_suggestion and finding.suggestion is not None:
        lines += ["", _suggestion(finding.suggestion.replacement), _suggestion_proof(finding.suggestion.proof)]
    lines += [
        "",
        f"<sub>{_missed(missed)}`@{bot_name} why {finding.fingerprint[:12]}`</sub>",
        marker(finding.fingerprint),
    ]
    return "\n".join(lines)


def rule_name(finding: Finding) -> str:
    """The rule as readers know it: with the tool, where its name alone does not show whose it is."""
    known = finding.rule.startswith(finding.tool) or any(map(str.isdigit, finding.rule))
    return finding.rule if known else f"{finding.tool} {finding.rule}"


def repair_comment(repair: RepairSuggestion, *, bot_name: str) -> str:
    """The inline comment that makes broken tests pass, with its proof."""
    proof = repair.suggestion.proof
    return "\n".join(
        [
            "With this change the broken tests pass:",
            "",
            _suggestion(repair.suggestion.replacement),
            *(["", *proof_section(proof)] if proof else []),
            "",
            f"<sub>`@{bot_name} why {repair.decision_id}`</sub>",
            marker(repair.fingerprint),
        ]
    )


def _missed(missed: MissedFinding | None) -> str:
    """An admission, before the rest of the line."""
    if missed is None:
        return ""
    why = ", where this file was not fully read" if missed.because else ""
    return f"missed in the review of {missed.sha[:7]}{why} · "


def _suggestion(replacement: str) -> str:
    """The block that GitHub can commit: whole lines, and none at all where lines are to go."""
    mark = fence(replacement)
    end = "\n" if replacement and not replacement.endswith("\n") else ""
    return f"{mark}suggestion\n{replacement}{end}{mark}"


def _suggestion_proof(proof: Proof | None) -> str:
    if proof is None:
        return ""
    if not proof.repeats:
        return "<sub>Applied and read again: it changes no code, so no test is run.</sub>"
    return (
        f"<sub>Applied and tested: {counted(proof.suite.passed, 'test')} passed before and after "
        f"({name(proof.command)}).</sub>"
    )


def review_body(
    reviewed: Reviewed,
    plan: ReviewPlan,
    limits: Sequence[str],
    *,
    sha: str,
    reopened: int,
    bot_name: str,
    key: str,
    asked: bool = False,
) -> str:
    """The text above a review's comments: broken tests first. A user who `asked` reads also that none is broken."""
    inline = len(plan.inline) + (plan.repair is not None)
    posted = f"{counted(inline, 'comment')} below" if inline else "no new comment beside the code"
    unbroken = f" {headline(tests)}." if asked and (tests := reviewed.tests) and not tests.broken else ""
    lines = [*_tests_first(reviewed, plan.repair), f"Reviewed {sha[:12]}: {posted}.{unbroken}"]
    if plan.summary:
        lines += ["", "**Also seen**", "", *_summary(plan)]
    if plan.missed:
        unread = sum(1 for each in plan.missed.values() if each.because)
        why = f", {unread} of them in files not fully read then" if unread else ""
        lines += ["", f"{counted(len(plan.missed), 'finding')} missed in an earlier round{why}."]
    if plan.back:
        opened = f"; {counted(reopened, 'thread')} open again" if reopened else ""
        lines += ["", f"{counted(len(plan.back), 'earlier finding')} back{opened}."]
    if plan.repeated:
        lines += ["", f"{counted(len(plan.repeated), 'finding')} posted in an earlier round and still there."]
    if plan.resolved:
        lines += ["", f"{counted(len(plan.resolved), 'earlier finding')} no longer there; the threads are closed."]
    if plan.held:
        lines += ["", _hidden(plan.held)]
    for limit in limits:
        lines += ["", limit]
    if reviewed.not_read:
        lines += ["", "**Not read**", "", *(f"- {line}" for line in _not_read(reviewed.not_read, SHOWN_UNREAD))]
    react = f"\n\nReact 👍 or 👎, resolve, apply, or answer `@{bot_name} reject because …`: I learn from it."
    return _cut("\n".join(lines), f"{react if inline else ''}\n{marker(key)}")


def _cut(text: str, end: str) -> str:
    """A text that GitHub takes, with this end. What holds fences comes first, and has limits of its own."""
    if len(text) + len(end) <= LONGEST_TEXT:
        return text + end
    room = LONGEST_TEXT - len(end) - len(CUT) - 2
    return f"{text[:room].rpartition(chr(10))[0]}\n\n{CUT}{end}"


def _tests_first(reviewed: Reviewed, repair: RepairSuggestion | None) -> list[str]:
    """Broken tests, and a repair, or the part of the change that breaks them, which answers a repair that is a question or missing.

    Of a `repair` that has its own comment only the place is named.
    """
    broken = markdown(reviewed.tests) if reviewed.tests else []
    part, fix = reviewed.culprit, reviewed.fix
    if part and not repair:
        broken += ["", culprit(part.patch, part.proof, blamed_on_part(reviewed.tests))]
    if repair:
        place = name(f"{repair.path}:{repair.suggestion.start_line}")
        broken += ["", f"With the suggestion for {place} they pass."]
    elif fix and not (part and fix.proof and fix.proof.contested):
        broken += ["", fix_in_review(fix)]
    elif reviewed.unrepaired and not part:
        broken += ["", plain(reviewed.unrepaired)]
    if reviewed.tests and (others := markdown_remarks(reviewed.tests)):
        broken += ["", *others]
    return [*broken, ""] if broken else []


def limits(*, untested: bool, unasked: bool, bot_name: str) -> list[str]:
    """What was not done, and a maintainer can ask for."""
    has = f"`@{bot_name} review` by a maintainer has"
    tests = f"No test was run, because this comes from a fork; {has} them run."
    model = f"The model was not asked, because the author has no write access here; {has} it asked."
    return [*([tests] if untested else []), *([model] if unasked else [])]


def _not_read(coverage: Mapping[str, str], shown: int) -> list[str]:
    """The first files and why they were not read; of the others how many, by the commonest reasons."""
    shown_files = [f"{name(path)}: {plain(why)}" for path, why in list(coverage.items())[:shown]]
    rest = Counter(list(coverage.values())[shown:])
    if rest:
        common = [f"{counted(count, 'file')} {plain(why)}" for why, count in rest.most_common(SHOWN_REASONS)]
        others = rest.total() - sum(count for _, count in rest.most_common(SHOWN_REASONS))
        common += [f"{counted(others, 'file')} for other reasons"] if others else []
        shown_files.append(f"and {rest.total()} more: {'; '.join(common)}")
    return shown_files


def check_title(reviewed: Reviewed, *, findings: int, untested: bool = False, wrong: str = "") -> str:
    """The check run's one line: what was found, and what was not read or run; `wrong` is about the configuration."""
    if not reviewed.change.files and not wrong:
        return NOTHING_CHANGED
    tests, unread = reviewed.tests, len(reviewed.not_read)
    broken = len(tests.broken) if tests else 0
    parts = [f"{counted(broken, 'broken test')}"] if broken else []
    parts += [counted(findings, "finding")] if findings else []
    parts += [f"{counted(unread, 'file')} not read"] if unread else []
    parts += [wrong] if wrong else []
    parts = parts or ["Nothing found"]
    parts += (
        ["no test was run"] if untested else ["not all tests ran"] if tests and tests.trouble and not broken else []
    )
    return ", ".join(parts)


def check_summary(
    reviewed: Reviewed,
    plan: ReviewPlan,
    limits: Sequence[str],
    *,
    untested: bool = False,
    other_base: str = "",
    configured: Sequence[str] = (),
) -> str:
    """The check run's text: what was read and what was not; `other_base` is a branch that it had to be compared with."""
    lines = [
        *(in_check(reviewed.tests) if reviewed.tests else []),
        *untested_parts(reviewed.untested, name),
        f"{counted(reviewed.files_read, 'file')} read.",
    ]
    if unedited := reviewed.files_unedited:
        lines.append(f"{counted(unedited, 'file')} only moved, or with another mode: nothing new to read.")
    if other_base:
        lines.append(
            f"The commit that this was opened against is gone; compared with where it left {name(other_base)} as that is now."
        )
    if still := len(plan.repeated) + len(plan.back):
        lines.append(f"{counted(still, 'finding')} posted in an earlier round, not repeated.")
    if plan.resolved:
        lines.append(f"{counted(len(plan.resolved), 'earlier finding')} no longer there.")
    if reviewed.findings_over:
        lines.append(f"The worst findings are reported; there are {reviewed.findings_over} more.")
    if plan.held:
        lines.append(_hidden(plan.held))
    if untested:
        lines.append("No test was run, because this comes from a fork.")
    lines += [*limits, *configured]
    lines += [f"- not read: {line}" for line in _not_read(reviewed.not_read, SHOWN_UNREAD_IN_CHECK)]
    return "\n".join(lines)


def _hidden(held: Sequence[Finding]) -> str:
    """How many findings are not shown, and of which rules; the reason is an estimate, and not always a verdict."""
    rules = Counter(map(rule_name, held)).most_common()
    named = ", ".join(f"{count} of {plain(rule)}" for rule, count in rules[:SHOWN_REASONS])
    more = f" and {counted(len(rules) - SHOWN_REASONS, 'more rule')}" if len(rules) > SHOWN_REASONS else ""
    return f"{counted(len(held), 'finding')} hidden because little use is expected: {named}{more}."


def _summary(plan: ReviewPlan) -> list[str]:
    """A line for each rule, what is critical first; those that an earlier round missed have their own."""
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(plan.summary, key=lambda each: each.severity is not Severity.CRITICAL):
        missed = finding.fingerprint in plan.missed
        groups.setdefault(finding.fingerprint if missed else finding.rule, []).append(finding)
    lines = [
        _summary_line(some[0], plan.missed.get(some[0].fingerprint)) if len(some) == 1 else _group_line(some)
        for some in groups.values()
    ]
    more = sum(len(some) for some in list(groups.values())[SHOWN_FINDINGS:])
    return [*lines[:SHOWN_FINDINGS], *([f"- and {more} more in the check run"] if more else [])]


def _group_line(findings: Sequence[Finding]) -> str:
    """What findings of one rule have in common, and their places; of messages that differ the first."""
    first = findings[0]
    whose = "" if all(each.message == first.message for each in findings) else "the first: "
    places = first_of(findings, SHOWN_PLACES, lambda each: name(f"{each.path}:{each.line}"))
    command = fixing_command(findings)
    fixed = f"; {name(command)} fixes what it can" if command else ""
    rule = f"**{plain(rule_name(first))}**{_grave(first)}"
    return f"- {rule} {len(findings)} times, {places}: {whose}{plain(first.message)}{fixed}"


def fixing_command(findings: Sequence[Finding]) -> str:
    """The command that fixes findings of one rule, empty where there is none."""
    fixable = all(each.tool == "ruff" for each in findings) and any(
        each.suggestion and each.suggestion.safe for each in findings
    )
    return f"ruff check --select {findings[0].rule} --fix" if fixable else ""


def _summary_line(finding: Finding, missed: MissedFinding | None) -> str:
    admitted = f" ({_missed(missed).removesuffix(' · ')})" if missed else ""
    rule = f"**{plain(rule_name(finding))}**{_grave(finding)}"
    return f"- {name(f'{finding.path}:{finding.line}')} {rule} {plain(finding.message)}{admitted}"


def _grave(finding: Finding) -> str:
    """The severity of what must not be passed over in a list."""
    return f" ({finding.severity})" if finding.severity is Severity.CRITICAL else ""


CLOSED = "it is closed"
MOVED = "it was pushed to since you asked; ask again"


def unseen(sha: str) -> str:
    """Why a command is about no commit that we know of."""
    return f"I knew none of its commits when you asked; it is at {sha[:12]} now, so look at that and ask again"


def overtaken(doing: str, why: str) -> str:
    """The answer to a command about a pull request that is not what it was when the command was given."""
    return f"I did not {doing} this pull request: {why}."
