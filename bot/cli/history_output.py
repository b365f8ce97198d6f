"""What `learn` and `backtest` print: JSON, which is a contract that scripts rely on, and a page of at most 30 lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from bot.cli.terminal import visible
from memory.history.backtest import BUDGET, BY_SEVERITY, DEFAULTS, LOT, ORACLE, OURS, UNTAUGHT, Backtest
from memory.history.conclusion import ComparedRanking, Conclusion, Verdict
from memory.history.lessons import ENOUGH
from memory.intervals import wilson
from memory.model import Action, Severity
from memory.policy.review_policy import HOLD_BELOW, INLINE_ABOVE
from workers.history.learn import LearnedHistory
from workers.history.outlook import HistoryOutlook, HotFile, RuleOutlook, usual
from workers.messages.markdown import counted
from workers.review.plan import COMMENTS_A_RULE

Json = dict[str, object]

MOST_LINES, WIDTH = 30, 80
NAMED, FILES, NOT_ASKED = 4, 4, 20
"""Rules, and files, that a line names at most."""

DOES = {
    Action.INLINE_SUGGESTION: "posted inline",
    Action.INLINE: "posted inline",
    Action.SUMMARY: "listed in the summary",
    Action.HOLD: "hidden",
}
GROUPS = (
    (Action.INLINE, "Posted inline, a comment on the line", 3),
    (Action.SUMMARY, "Only listed in the summary", 1),
    (Action.HOLD, "Hidden", 1),
)
"""What happens to findings, in words, and the lines that the codes of a group may fill."""


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
        "not_asked": list(found.not_asked),
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
    """What learning came to, in a sentence or two."""
    if not found.used:
        return f"{name}: reviews here do not use the history, because APPRENTICE_LEARN_CHANGES is 0."
    if not found.enough:
        return (
            f"{name}: too little history to learn from. Fewer than {ENOUGH} findings show what developers wanted; "
            "until then reviews decide by severity, tested fixes and feedback."
        )
    return f"{name}: enough history to learn from, and reviews here use it."


def learned_page(name: str, path: str, read: LearnedHistory, found: HistoryOutlook, control_share: float) -> list[str]:
    """`apprentice learn`: at most 30 lines."""
    head = [*_wrapped(verdict(_title(name), found)), *_wrapped(_evidence(read, found))]
    habits = [
        *_listed("Fixed here", [_counted_rule(each) for each in _fixed(found.rules)]),
        *_listed("Left here", [_counted_rule(each) for each in _left(found.rules)]),
        *_listed("Hot files", [_counted_file(each) for each in found.files[:FILES] if each.fixed]),
    ]
    foot = [*_notes(found, control_share), *_wrapped(_next(path, found))]
    room = MOST_LINES - len(head) - len(habits) - len(foot)
    return [*head, *habits, *_decisions(found.rules, room), *foot]


def _evidence(read: LearnedHistory, found: HistoryOutlook) -> str:
    low, high = found.share
    fixed = (
        f"Of {found.seen:,} with a clear end, developers fixed {found.fixed:,} on their own "
        f"({_points(found.fixed / found.seen)} %; {_points(low)} to {_points(high)} %)."
        if found.seen
        else "None of them has a clear end."
    )
    return (
        f"Read now: {counted(read.changes, 'change')}{' since the last time' if read.resumed else ''}. Known: "
        f"{found.findings:,} findings of {counted(found.changes, 'change')}; reviews here would now report "
        f"{found.reported:,} of them. {fixed}"
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
    return f"{each.rule} {_named(each, 26)} {each.fixed} of {each.seen}"


def _counted_file(each: HotFile) -> str:
    return f"{_shown(each.path, 26)} {each.fixed} of {each.seen}"


def _places(each: RuleOutlook) -> str:
    return f" ({', '.join(each.places)})" if each.places else ""


def _named(each: RuleOutlook, most: int) -> str:
    """The rule in words, shortened, with the kinds of files in full."""
    places = _places(each)
    return f"{_shortened(each.name, most - len(places))}{places}"


def _decisions(rules: Sequence[RuleOutlook], room: int) -> list[str]:
    """A table of what the next review does, in so many lines at most."""
    if not rules:
        return ["No rule that reviews here ask for was broken in this history."]
    members = {action: [each for each in rules if each.forecast.action is action] for action, _, _ in GROUPS}
    groups = [(title, lines, members[action]) for action, title, lines in GROUPS if members[action]]
    shown = [0 for _ in groups]
    table = _table(groups, shown)
    while True:
        for at, (_, _, some) in sorted(enumerate(groups), key=lambda pair: shown[pair[0]]):
            more = [count + (number == at) for number, count in enumerate(shown)]
            if shown[at] < len(some) and len(larger := _table(groups, more)) <= room:
                shown, table = more, larger
                break
        else:
            return table[:room]


def _table(groups: Sequence[tuple[str, int, Sequence[RuleOutlook]]], shown: Sequence[int]) -> list[str]:
    """The groups with so many rows each, and the codes of their other rules."""
    lines = [f"{'The next review':<43}{'fixed here':<13}{'expected':<14}how often"]
    for (title, most, some), rows in zip(groups, shown, strict=True):
        lines.append(f"{title}: {counted(len(some), 'rule')}")
        lines += [_row(each) for each in some[:rows]]
        lines += _codes(some[rows:], most, "  and " if rows else "  ")
    return lines


def _codes(rules: Sequence[RuleOutlook], most: int, start: str) -> list[str]:
    """The codes of rules in so many lines at most; what does not fit is counted."""
    codes = [f"{each.rule}{_places(each)}" for each in rules]
    for kept in range(len(codes), -1, -1):
        more = f"{len(codes) - kept} more (--json)"
        text = start + ", ".join([*codes[:kept], *((more,) if kept < len(codes) else ())])
        if len(lines := wrap(text, WIDTH, subsequent_indent="  ", drop_whitespace=True)) <= most:
            return [f"  {line.lstrip()}" for line in lines] if codes else []
    return []


def _row(each: RuleOutlook) -> str:
    forecast = each.forecast
    return (
        f"  {each.rule:<8}{_named(each, 32):<32} {f'{each.fixed} of {each.seen}':<13}"
        f"{_percent(forecast.prior):>3} → {_percent(forecast.expected):>2} %     {_often(max(forecast.chances.values()))}"
    )


def _often(chance: float) -> str:
    return "nearly all" if chance >= 0.95 else f"{round(10 * chance)} in 10"


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
    lines += _wrapped(
        "Why: expected = chance of being of use, by severity → with history and feedback; inline from "
        f"{_percent(INLINE_ABOVE[Severity.MAJOR])} % (major), {_percent(INLINE_ABOVE[Severity.MINOR])} % (minor), "
        f"{_percent(INLINE_ABOVE[Severity.INFO])} % (info) on; hidden under {_percent(HOLD_BELOW)} %."
    )
    lines.append(_shortened(f"Not reported: security in tests{_not_asked(found)}", WIDTH))
    lines += _wrapped(f"Never hidden: security, correctness, critical. Rules without a past: {_new_rules(found)}.")
    lines += _wrapped(
        "Averages: a finding counts less where its file has more of its rule. Each decision is drawn. "
        f"{COMMENTS_A_RULE} comments a rule; {_percent(control_share)} % of reviews ignore all this."
    )
    if feedback := _feedback(found):
        lines += _wrapped(feedback)
    return lines


def _not_asked(found: HistoryOutlook) -> str:
    return f"; rules not asked for: {', '.join(found.not_asked[:NOT_ASKED])}" if found.not_asked else ""


def _new_rules(found: HistoryOutlook) -> str:
    by_action: dict[str, list[str]] = {}
    for severity in reversed(Severity):
        by_action.setdefault(DOES[found.new_rules[severity]], []).append(severity)
    return "; ".join(f"{', '.join(severities)} {does}" for does, severities in by_action.items())


def _feedback(found: HistoryOutlook) -> str:
    """What verdicts of maintainers change, by example."""
    down, up = found.rejections, found.acceptances
    parts = [
        *((f"{down.verdicts} × reject lists {down.rule}",) if down else ()),
        *((f"{up.verdicts} × accept posts {up.rule}",) if up else ()),
    ]
    return f"Feedback outweighs history: {', '.join(parts)}." if parts else ""


def _next(path: str, found: HistoryOutlook) -> str:
    if not found.used:
        return "Next: unset APPRENTICE_LEARN_CHANGES to use the history."
    if not found.enough:
        return "Next: read more changes with --most, or run this again when there are more."
    return f"Next: apprentice backtest {_shown(path, 40)}, to see whether it helps."


# ── backtest ───────────────────────────────────────────────────────────────────────────────────────────────────────

CHOSEN = {
    OURS: "learned from the history",
    UNTAUGHT: "learned, begun without a history",
    LOT: "drawn by lot",
    BY_SEVERITY: "the most severe first",
    DEFAULTS: "rules of the tools' defaults first",
    "three dismissals": "rules not dismissed three times yet first",
    "Wilson bound": "rules that were fixed most often first",
    ORACLE: "the best possible: it knows the outcomes",
}
"""How each ranking chooses, in words; the other severities choose alike."""


def backtest_page(name: str, found: Backtest, *, all_rules: bool) -> list[str]:
    """`apprentice backtest`: the conclusion, why, and a table of at most 15 lines."""
    conclusion = found.conclusion
    lot = conclusion.of(conclusion.lot)
    pool = "all rules of ruff and bandit" if all_rules else "the rules that reviews here ask for"
    return [
        *_wrapped(f"{_title(name)}: {conclusion.verdict}."),
        *_wrapped(_because(conclusion)),
        *_wrapped(_advice(conclusion)),
        "",
        *_wrapped(
            f"Replayed: the last {found.changes:,} changes with findings of {pool}. Each way of choosing posts "
            f"{conclusion.comments_a_change:.1f} comments a change ({BUDGET} at most). Posting all {found.findings:,} findings "
            f"would be {found.findings / found.changes:.1f} a change; developers fixed {_points(found.base)} % of them on their own."
        ),
        "",
        f"{'Comments chosen by':<46}{'developers fixed':<25}times lot",
        *(_compared(each, lot) for each in conclusion.compared if each.name in CHOSEN),
        "",
        *_wrapped(
            "Fixed: on their own, within 100 changes, without any comment of ours; the rest was left, or silenced. "
            "Brackets: 95 % intervals over changes. No way of choosing but the best possible knows an outcome beforehand."
        ),
        "All figures: --verbose, --json. One rule alone: --rule UP.",
    ][:MOST_LINES]


def _because(conclusion: Conclusion) -> str:
    """The two comparisons that decide, with shares and intervals."""
    ours, lot, strongest = (conclusion.of(name) for name in (OURS, conclusion.lot, conclusion.strongest))
    named = dict.fromkeys((lot, strongest, conclusion.of(conclusion.against)))
    parts = [f"{_points(each.share.estimate)} % if chosen by “{CHOSEN[each.name]}” ({_ahead(each)})" for each in named]
    return f"Developers fixed {_points(ours.share.estimate)} % of what it chose to comment on; {'; '.join(parts)}."


def _ahead(each: ComparedRanking) -> str:
    """By how many points learning is ahead, or behind."""
    low, high = each.ahead.low, each.ahead.high
    if low > 0.0:
        return f"ahead by {_points(low)} to {_points(high)} points"
    if high < 0.0:
        return f"behind by {_points(-high)} to {_points(-low)} points"
    return f"no clear difference: {100 * low:+.1f} to {100 * high:+.1f} points"


def _advice(conclusion: Conclusion) -> str:
    if conclusion.verdict is Verdict.HELPS:
        return "Leave it on: nothing to do."
    if conclusion.verdict is Verdict.OFF:
        return (
            "To switch it off set APPRENTICE_LEARN_CHANGES=0 for workers and commands: reviews then decide by severity, "
            "tested fixes and feedback. Without the setting the history counts again."
        )
    if conclusion.more_changes is None:
        return (
            "Leave it as it is. The differences are too small, or point both ways, to say when more changes decide it."
        )
    return f"Leave it as it is. If the differences stay, about {conclusion.more_changes:,} more changes with findings decide it."


def _compared(each: ComparedRanking, lot: ComparedRanking) -> str:
    share = each.share
    acted = f"{_points(share.estimate)} % ({_points(share.low)} to {_points(share.high)} %)"
    times = f"{share.estimate / lot.share.estimate:.1f}" if lot.share.estimate else ""
    return f"  {CHOSEN[each.name]:<44}{acted:<25}{times:>4}"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


# ── Text ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def _title(name: str) -> str:
    """A repository's name for people."""
    return _shown(name.removeprefix("local:"), WIDTH // 2)


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
