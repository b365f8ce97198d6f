"""What `learn` prints: JSON, which is a contract that scripts rely on, and a page of at most 30 lines."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from textwrap import wrap

from bot.cli.console import Json, fields
from bot.cli.terminal import visible
from memory.history.lessons import ENOUGH, MAX_LIFT
from memory.intervals import wilson
from memory.model import Action, Severity
from memory.policy.review_policy import HOLD_BELOW, INLINE_ABOVE, OWN_LINTER_PRIOR, PRIOR, lifted
from workers.history.forecast import HistoryForecast, RuleForecast, usual
from workers.history.learn import LearnedHistory
from workers.history.outcomes import HORIZON
from workers.messages.markdown import counted
from workers.review.detectors.detector import Category
from workers.review.detectors.rules import ruff_equivalent
from workers.review.plan import COMMENTS_A_RULE

MAX_LINES, WIDTH = 30, 80
NAMED, FILES = 3, 4
"""Rules, and files, that a line names at most."""

DOES = {
    Action.INLINE_SUGGESTION: "posted inline",
    Action.INLINE: "posted inline",
    Action.SUMMARY: "listed",
    Action.HOLD: "hidden",
}
GROUPS = (
    (Action.INLINE, "Posted inline (a comment on the line)", 2),
    (Action.SUMMARY, "Listed (in the summary, no comment)", 1),
    (Action.HOLD, "Hidden (shown nowhere; never security, correctness or critical)", 1),
)
"""What happens to findings, in words, and the lines that the codes of a group may fill."""

COMMON = (Severity.INFO, Severity.MINOR, Severity.MAJOR)
"""The severities that a page explains: hardly any rule is critical."""

KINDS = (
    "Files: test = in test/, tests/, testing/, or test_*.py; docs = in doc*/, example*/; build = setup.py, noxfile.py, "
    "tasks.py; code = the rest."
)
"""What `PathClass` means."""


# ── learn ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def learned_json(name: str, read: LearnedHistory, found: HistoryForecast, control_share: float) -> Json:
    """`apprentice learn --json`."""
    low, high = found.share
    counts = ("changes", "findings", "reported", "seen", "fixed")
    examples = {"rejections": found.rejections, "acceptances": found.acceptances}
    return {
        "repository": name,
        **fields(read, "changes", "findings", "resumed"),
        "verdict": verdict(name, found),
        "evidence": {**fields(found, *counts), "low": low, "high": high},
        **fields(found, "enough", "used"),
        "control_share": control_share,
        "rules": [_rule_json(each) for each in found.rules],
        "files": [asdict(each) for each in found.files],
        **fields(found, "not_asked", "new_rules"),
        "feedback": {kind: example and asdict(example) for kind, example in examples.items()},
    }


def _rule_json(each: RuleForecast) -> Json:
    forecast = each.forecast
    return {
        **fields(each, "rule", "name", "places", "category", "severity", "fixed", "seen"),
        **fields(forecast, "prior", "expected", "action", "chances"),
        "chances_with_fix": forecast.with_fix,
    }


def verdict(name: str, found: HistoryForecast) -> str:
    """What learning came to, in a sentence or two."""
    if not found.used:
        return f"{name}: reviews here do not use the history, because APPRENTICE_LEARN_CHANGES is 0."
    if not found.enough:
        return (
            f"{name}: too little history to learn from. Fewer than {ENOUGH} findings show what developers wanted; "
            "until then reviews decide by severity, tested fixes and feedback."
        )
    return f"{name}: enough history to learn from, and reviews here use it."


def learned_page(name: str, path: str, read: LearnedHistory, found: HistoryForecast, control_share: float) -> list[str]:
    """`apprentice learn`: at most 30 lines."""
    head = [*wrapped(verdict(title(name), found)), *wrapped(_evidence(read, found)), *_habits(found)]
    foot = [*_notes(found, control_share), *wrapped(_next(path, found))]
    return [*head, *_decisions(found.rules, MAX_LINES - len(head) - len(foot)), *foot]


def _evidence(read: LearnedHistory, found: HistoryForecast) -> str:
    low, high = found.share
    now = f"Read now: {counted(read.changes, 'change')}{' since the last time' if read.resumed else ''}."
    if not found.findings:
        return f"{now} No finding is known yet: each is followed for {HORIZON} changes after its own."
    fixed = (
        f"Of these, {found.seen:,} have a clear end: developers fixed {found.fixed:,} on their own "
        f"({points(found.fixed / found.seen)} %; {points(low)} to {points(high)} %)."
        if found.seen
        else "None of these has a clear end."
    )
    return (
        f"{now} Known: {found.findings:,} findings of {counted(found.changes, 'change')}; "
        f"a review would now report {found.reported:,} of them. {fixed}"
    )


def _habits(found: HistoryForecast) -> list[str]:
    files = [f"{shown(each.path, 40)} {each.fixed} of {each.seen}" for each in found.files[:FILES] if each.fixed]
    return [*_fixed_and_left(found.rules), *_fitting("Files with most fixes: ", files, 1, rest="")]


def _fixed_and_left(rules: Sequence[RuleForecast]) -> list[str]:
    """As many rules as fit into a line."""
    fixed, left = ([_counted_rule(each) for each in some] for some in (_fixed(rules), _left(rules)))
    for most, least in ((3, 2), (2, 2), (2, 1), (1, 1)):
        parts = (
            f"Fixed most: {', '.join(fixed[:most])}." if fixed else "",
            f"Left most: {', '.join(left[:least])}." if left else "",
        )
        if 0 < len(line := " ".join(filter(None, parts))) <= WIDTH:
            return [line]
    return []


def _fixed(rules: Sequence[RuleForecast]) -> list[RuleForecast]:
    """The rules that developers surely fix most, by the lower end of the interval."""
    some = [each for each in rules if each.fixed]
    return sorted(some, key=lambda each: -wilson(each.fixed, each.seen)[0])[:NAMED]


def _left(rules: Sequence[RuleForecast]) -> list[RuleForecast]:
    """The rules that developers surely fix least, by the upper end; none that they always fixed."""
    fixed = {(each.rule, each.places) for each in _fixed(rules)}
    some = [each for each in rules if each.fixed < each.seen and (each.rule, each.places) not in fixed]
    return sorted(some, key=lambda each: wilson(each.fixed, each.seen)[1])[:NAMED]


def _counted_rule(each: RuleForecast) -> str:
    return f"{_coded(each)} {each.fixed} of {each.seen}"


def _coded(each: RuleForecast) -> str:
    """The code of a rule, with the kinds of files that this is about."""
    return f"{each.rule} ({', '.join(each.places)})" if each.places else each.rule


def _decisions(rules: Sequence[RuleForecast], room: int) -> list[str]:
    """A table of what the next review does, in at most `room` lines."""
    if not rules:
        return ["No rule that reviews here ask for was broken in this history."]
    rows, table = 0, _table(rules, 0)
    while rows < len(rules) and len(larger := _table(rules, rows + 1)) <= room:
        rows, table = rows + 1, larger
    return table[:room]


def _table(rules: Sequence[RuleForecast], rows: int) -> list[str]:
    """The groups with `rows` rows in all, dealt in turn, and the codes of their other rules."""
    members = [[each for each in rules if each.forecast.action is action] for action, _, _ in GROUPS]
    dealt = [0 for _ in members]
    for _ in range(rows):
        dealt[min((at for at, some in enumerate(members) if dealt[at] < len(some)), key=lambda at: dealt[at])] += 1
    lines = [f"{'The next review':<43}{'fixed here':<13}{'expected':<14}how often"]
    for (_, heading, most), some, count in zip(GROUPS, members, dealt, strict=True):
        lines.append(f"{heading}: {counted(len(some), 'rule') if some else 'no rule'}")
        lines += [_row(each) for each in some[:count]]
        lines += _fitting("  and " if count else "  ", _families(some[count:], some, rules), most)
    return lines


def _families(rest: Sequence[RuleForecast], group: Sequence[RuleForecast], rules: Sequence[RuleForecast]) -> list[str]:
    """The codes of rules; where all of a family are in one group, the family is named instead."""
    elsewhere = {family_of(each.rule) for each in rules if each not in group}
    of_family = Counter(family_of(each.rule) for each in rest)
    whole = {family for family, count in of_family.items() if count > 1 and family not in elsewhere}
    in_rows = {family_of(each.rule) for each in group if each not in rest}
    named = (
        f"all {'other ' if family in in_rows else ''}{family}"
        if (family := family_of(each.rule)) in whole
        else _coded(each)
        for each in rest
    )
    return list(dict.fromkeys(named))


def family_of(rule: str) -> str:
    """The letters of a rule's code."""
    return rule.rstrip("0123456789")


def _row(each: RuleForecast) -> str:
    forecast = each.forecast
    places = _coded(each).removeprefix(each.rule)
    named = f"{shortened(each.name, 32 - len(places))}{places}"
    return (
        f"  {each.rule:<8}{named:<32} {f'{each.fixed} of {each.seen}':<13}"
        f"{_moved(each):<15}{_often(max(forecast.chances.values()))}"
    )


def _moved(each: RuleForecast) -> str:
    return f"{_percent(each.forecast.prior):>3} → {_percent(each.forecast.expected):>2} %"


def _often(chance: float) -> str:
    return "nearly all" if chance >= 0.95 else f"{round(10 * chance)} in 10"


def _notes(found: HistoryForecast, control_share: float) -> list[str]:
    """What is left out, what the columns mean, and what decides."""
    return [
        *_not_reported(found),
        *_with_fix(found.rules),
        *_often_fixed(found.rules),
        *wrapped(
            "Expected: the chance that you find a comment useful. It starts by severity, or at "
            f"{_percent(OWN_LINTER_PRIOR)} % where your own linter reports it; the history moves it as such findings are fixed more or less than others here: {_starts()}."
        ),
        *wrapped(
            f"How often: a value is drawn near the expected one: from {_bars()} on posted, under {_percent(HOLD_BELOW)} % "
            f"hidden, else listed. At most {COMMENTS_A_RULE} comments a rule. In {_percent(control_share)} % of reviews the "
            "start alone counts."
        ),
        *(wrapped(KINDS) if any(each.places for each in found.rules) else ()),
        *wrapped(f"Rules without a past: {_new_rules(found)}.{_feedback(found)}"),
    ]


def _not_reported(found: HistoryForecast) -> list[str]:
    """What is dropped before anything is decided; whole families where a review reports none of their rules."""
    reported = {family_of(each.rule) for each in found.rules} | {
        family_of(ruff_equivalent(each.rule)) for each in found.rules if each.category == Category.SECURITY
    }
    families = [family_of(rule) for rule in found.not_asked]
    whole = list(dict.fromkeys(family for family in families if family not in reported))
    single = [rule for rule, family in zip(found.not_asked, families, strict=True) if family in reported]
    start = "Not reported (left out before): security in tests"
    if not found.not_asked:
        return [f"{start}."]
    return _fitting(f"{start}; rules not asked for: {'all ' if whole else ''}", [*whole, *single], 2)


def _with_fix(rules: Sequence[RuleForecast]) -> list[str]:
    """What a tested fix changes for rules that are not posted without one."""
    quiet = [each for each in rules if each.forecast.action is not Action.INLINE]
    kept = [
        each.rule
        for each in quiet
        if each.forecast.with_fix is not None and usual(each.forecast.with_fix) is not Action.INLINE_SUGGESTION
    ]
    if not any(each.forecast.with_fix is not None for each in quiet):
        return []
    start = "Listed findings go inline if the tool's fix passes the tests"
    return _fitting(f"{start}, but for ", list(dict.fromkeys(kept)), 1) if kept else [f"{start}."]


def _often_fixed(rules: Sequence[RuleForecast]) -> list[str]:
    """Rules that are surely fixed in most cases, so that a reader expects a comment, and not posted."""
    often = [
        f"{_counted_rule(each)} ({each.severity} {_moved(each).strip()})"
        for each in _fixed([each for each in rules if each.forecast.action is not Action.INLINE])
        if wilson(each.fixed, each.seen)[0] > 0.5
    ]
    return _fitting("Often fixed, but few, old or many at once: ", often, 1, rest="")


def _starts() -> str:
    """Where severities start, and how far the history may move them."""
    return ", ".join(
        f"{severity} {_percent(PRIOR[severity])} % ({_percent(lifted(PRIOR[severity], -MAX_LIFT))} to "
        f"{_percent(lifted(PRIOR[severity], MAX_LIFT))})"
        for severity in COMMON
    )


def _bars() -> str:
    """From which value severities are posted inline."""
    return ", ".join(f"{_percent(INLINE_ABOVE[severity])} % ({severity})" for severity in COMMON)


def _new_rules(found: HistoryForecast) -> str:
    by_action: dict[str, list[str]] = {}
    for severity in reversed(Severity):
        by_action.setdefault(DOES[found.new_rules[severity]], []).append(severity)
    return "; ".join(f"{', '.join(severities)} {does}" for does, severities in by_action.items())


def _feedback(found: HistoryForecast) -> str:
    """What verdicts of maintainers change, by example."""
    examples = (("rejection", "list", found.rejections), ("acceptance", "post", found.acceptances))
    parts = [
        f"{counted(each.verdicts, noun)} {verb}{'s' * (each.verdicts == 1)} {each.rule}"
        for noun, verb, each in examples
        if each
    ]
    return f" Feedback counts more: {', '.join(parts)}." if parts else ""


def _next(path: str, found: HistoryForecast) -> str:
    if not found.used:
        return "Next: unset APPRENTICE_LEARN_CHANGES to use the history."
    if not found.enough:
        return "Next: read more changes with --most, or run this again when there are more."
    return f"Next: apprentice backtest {shown(path, 40)}, to see whether it helps."


# ── Text ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def points(share: float) -> str:
    """A share in percent, with a decimal."""
    return f"{100 * share:.1f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"


def title(name: str) -> str:
    """A repository's name for people."""
    return shown(name.removeprefix("local:"), WIDTH // 2)


def shown(text: str, most: int) -> str:
    """Text from elsewhere in one line; of a long one the end, which tells files apart."""
    line = visible(text.replace("\\", "\\\\")).replace("\n", "\\n").replace("\t", "\\t")
    return line if len(line) <= most else f"…{line[1 - most :]}"


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2].rpartition(' ')[0]} …"


def wrapped(text: str) -> list[str]:
    """Text in lines of a page; a number stays beside its percent sign."""
    lines = wrap(text.replace(" %", "\u00a0%"), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return [line.replace("\u00a0%", " %") for line in lines]


def _fitting(start: str, items: Sequence[str], most: int, rest: str = " more (--json)") -> list[str]:
    """As many items as fit into so many lines, none of them cut; what does not fit is counted, unless `rest` is empty."""
    for kept in range(len(items), 0 if not rest else -1, -1):
        left = [f"{len(items) - kept}{rest}"] if rest and kept < len(items) else []
        lines = wrap(start + ", ".join([*items[:kept], *left]), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        if len(lines) <= most and items:
            return lines
    return []
