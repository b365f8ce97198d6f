"""What `learn` and `backtest` print: JSON, which is a contract that scripts rely on, and a page of at most 30 lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from bot.cli.terminal import visible
from memory.history.lessons import ENOUGH
from memory.intervals import wilson
from memory.model import Action, Severity
from memory.policy.review_policy import HOLD_BELOW, INLINE_ABOVE
from workers.history.learn import LearnedHistory
from workers.history.outlook import HistoryOutlook, HotFile, RuleOutlook, usual
from workers.review.plan import COMMENTS_A_RULE

Json = dict[str, object]

MOST_LINES, WIDTH = 30, 80
NAMED, FILES = 4, 4
"""Rules, and files, that a line names."""

DOES = {
    Action.INLINE_SUGGESTION: "posted inline",
    Action.INLINE: "posted inline",
    Action.SUMMARY: "listed in the summary",
    Action.HOLD: "hidden",
}
GROUPS = (
    (Action.INLINE, "Posted inline, a comment on the line"),
    (Action.SUMMARY, "Only listed in the summary"),
    (Action.HOLD, "Hidden"),
)


# ── learn ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def learned_json(name: str, read: LearnedHistory, found: HistoryOutlook, control_share: float) -> Json:
    """`apprentice learn --json`."""
    low, high = found.share
    return {
        "repository": name,
        "changes": read.changes,
        "findings": read.findings,
        "resumed": read.resumed,
        "verdict": verdict(name, found),
        "evidence": {
            "changes": found.changes,
            "findings": found.findings,
            "reported": found.reported,
            "seen": found.seen,
            "fixed": found.fixed,
            "low": low,
            "high": high,
        },
        "enough": found.enough,
        "used": found.used,
        "control_share": control_share,
        "rules": [_rule_json(each) for each in found.rules],
        "files": [{"path": each.path, "fixed": each.fixed, "seen": each.seen} for each in found.files],
        "new_rules": {str(severity): str(action) for severity, action in found.new_rules.items()},
        "feedback": {
            kind: example and {"rule": example.rule, "verdicts": example.verdicts}
            for kind, example in (("rejections", found.rejections), ("acceptances", found.acceptances))
        },
    }


def _rule_json(each: RuleOutlook) -> Json:
    forecast = each.forecast
    return {
        "rule": each.rule,
        "name": each.name,
        "places": [str(place) for place in each.places],
        "category": each.category,
        "severity": str(each.severity),
        "fixed": each.fixed,
        "seen": each.seen,
        "prior": forecast.prior,
        "expected": forecast.expected,
        "action": str(forecast.action),
        "chances": dict(forecast.chances),
        "chances_with_fix": dict(forecast.with_fix) if forecast.with_fix is not None else None,
    }


def verdict(name: str, found: HistoryOutlook) -> str:
    """What learning came to, in a sentence."""
    if not found.used:
        return f"{name}: APPRENTICE_LEARN_CHANGES is 0, so reviews here do not use the history."
    if not found.enough:
        return (
            f"{name}: too little history to learn from. Fewer than {ENOUGH} findings show what developers wanted; "
            "until then reviews decide by severity, tested fixes and feedback."
        )
    return f"{name}: enough history to learn from. Reviews here use it from now on."


def learned_page(name: str, path: str, read: LearnedHistory, found: HistoryOutlook, control_share: float) -> list[str]:
    """`apprentice learn`: at most 30 lines."""
    shown = _shown(name, WIDTH // 2)
    head = [*_wrapped(verdict(shown, found)), *_wrapped(_evidence(read, found))]
    habits = [
        *_listed("Fixed here", [_counted_rule(each) for each in _fixed(found.rules)]),
        *_listed("Left here", [_counted_rule(each) for each in _left(found.rules)]),
        *_listed("Hot files", [_counted_file(each) for each in found.files[:FILES] if each.fixed]),
    ]
    foot = [*_notes(found, control_share), *_wrapped(_next(path))]
    room = MOST_LINES - len(head) - len(habits) - len(foot) - 1
    return [*head, *habits, *_decisions(found.rules, room), "", *foot][:MOST_LINES]


def _evidence(read: LearnedHistory, found: HistoryOutlook) -> str:
    low, high = found.share
    fixed = (
        f"Developers fixed {found.fixed} of {found.seen} on their own ({_percent(low)} to {_percent(high)} % of such)."
        if found.seen
        else "None of them shows what developers wanted."
    )
    return (
        f"{read.changes:,} changes read{' since the last time' if read.resumed else ''}. "
        f"{found.findings:,} findings were followed; reviews here now report {found.reported:,} of them. {fixed}"
    )


def _fixed(rules: Sequence[RuleOutlook]) -> list[RuleOutlook]:
    """The rules that developers surely fix most, by the lower end of the interval."""
    some = [each for each in rules if each.fixed]
    return sorted(some, key=lambda each: -wilson(each.fixed, each.seen)[0])[:NAMED]


def _left(rules: Sequence[RuleOutlook]) -> list[RuleOutlook]:
    """The rules that developers surely fix least, by the upper end."""
    fixed = {(each.rule, each.places) for each in _fixed(rules)}
    some = [each for each in rules if each.seen and (each.rule, each.places) not in fixed]
    return sorted(some, key=lambda each: wilson(each.fixed, each.seen)[1])[:NAMED]


def _counted_rule(each: RuleOutlook) -> str:
    return f"{each.rule} {each.name}{_places(each)} ({each.fixed} of {each.seen})"


def _counted_file(each: HotFile) -> str:
    return f"{_shown(each.path, 40)} ({each.fixed} of {each.seen})"


def _places(each: RuleOutlook) -> str:
    return f" in {' and '.join(each.places)}" if each.places else ""


def _decisions(rules: Sequence[RuleOutlook], room: int) -> list[str]:
    """A table of what the next review does, in so many lines at most."""
    members = {action: [each for each in rules if each.forecast.action is action] for action, _ in GROUPS}
    groups = [(title, some) for action, title in GROUPS if (some := members[action])]
    rows = _rows([len(some) for _, some in groups], room - 1 - 2 * len(groups))
    lines = [f"{'The next review':<43}{'fixed here':<13}{'expected':<14}how often"]
    for (title, some), shown in zip(groups, rows, strict=True):
        lines.append(f"{title}: {len(some)} {'rule' if len(some) == 1 else 'rules'}")
        lines += [_row(each) for each in some[:shown]]
        if rest := some[shown:]:
            more = ", ".join(f"{each.rule}{_places(each)}" for each in rest)
            lines.append(_shortened(f"  {'and ' if shown else ''}{more}", WIDTH))
    return lines if groups else ["No rule that reviews here ask for was broken in this history."]


def _rows(wanted: Sequence[int], room: int) -> list[int]:
    """The lines of each group, dealt out in turn; a group that lacks one more gets the line that would name it."""
    shown = [0 for _ in wanted]
    while room > 0 and shown != list(wanted):
        for at, most in enumerate(wanted):
            if shown[at] < most and room > 0:
                shown[at] += 1
                room -= 1
    return [most if most - got == 1 else got for most, got in zip(wanted, shown, strict=True)]


def _row(each: RuleOutlook) -> str:
    forecast = each.forecast
    return (
        f"  {each.rule:<8}{_shortened(f'{each.name}{_places(each)}', 31):<32} {f'{each.fixed} of {each.seen}':<13}"
        f"{_percent(forecast.prior):>3} → {_percent(forecast.expected):>2} %     {_often(max(forecast.chances.values()))}"
    )


def _often(chance: float) -> str:
    return "nearly always" if chance >= 0.95 else f"{round(10 * chance)} in 10"


def _notes(found: HistoryOutlook, control_share: float) -> list[str]:
    """What the table does not show, and why it is so."""
    lines = []
    with_fix = [
        each.rule
        for each in found.rules
        if each.forecast.with_fix is not None
        and each.forecast.action is not Action.INLINE
        and usual(each.forecast.with_fix) is Action.INLINE_SUGGESTION
    ]
    if with_fix:
        text = f"Posted inline too, when the tool's fix passes the tests: {', '.join(dict.fromkeys(with_fix))}"
        lines.append(_shortened(text, WIDTH))
    lines += _wrapped(f"Rules without a past: {_new_rules(found)}. Never hidden: security, correctness, critical.")
    lines += _wrapped(
        "Why: expected is the chance that a finding is of use, by severity → with this history. "
        f"It is posted inline from {_percent(INLINE_ABOVE[Severity.MAJOR])} % (major), "
        f"{_percent(INLINE_ABOVE[Severity.MINOR])} % (minor), {_percent(INLINE_ABOVE[Severity.INFO])} % (info) on, "
        f"hidden under {_percent(HOLD_BELOW)} %. Chance has a part, so that the rest is tried too. "
        f"At most {COMMENTS_A_RULE} comments a rule; {_percent(control_share)} % of reviews ignore all this, to compare."
    )
    if feedback := _feedback(found):
        lines += _wrapped(feedback)
    return lines


def _new_rules(found: HistoryOutlook) -> str:
    by_action: dict[str, list[str]] = {}
    for severity in reversed(Severity):
        by_action.setdefault(DOES[found.new_rules[severity]], []).append(severity)
    return "; ".join(f"{' and '.join(severities)} {does}" for does, severities in by_action.items())


def _feedback(found: HistoryOutlook) -> str:
    """What verdicts of maintainers change, by example."""
    down, up = found.rejections, found.acceptances
    parts = [
        *((f"{down.verdicts} × reject of {down.rule} and it is only listed",) if down else ()),
        *((f"{up.verdicts} × accept of {up.rule} and it is posted inline",) if up else ()),
    ]
    return f"Feedback outweighs history: {'; '.join(parts)}." if parts else ""


def _next(path: str) -> str:
    return f"Next: apprentice backtest {_shown(path, 40)} (does it help?); apprentice review (see it)."


# ── Text ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _shown(text: str, most: int) -> str:
    """Text from elsewhere in one line; of a long one the end, which tells files apart."""
    line = visible(text.replace("\\", "\\\\")).replace("\n", "\\n").replace("\t", "\\t")
    return line if len(line) <= most else f"…{line[1 - most :]}"


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2].rpartition(' ')[0]} …"


def _wrapped(text: str) -> list[str]:
    return wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _listed(title: str, items: Iterable[str]) -> list[str]:
    """A title with what fits into its line."""
    text = "; ".join(items)
    return [_shortened(f"{title + ':':<12}{text}", WIDTH)] if text else []
