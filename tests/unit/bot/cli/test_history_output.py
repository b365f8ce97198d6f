"""The pages of `learn` and `backtest`, as maintainers read them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from bot.cli import backtest_output, history_output
from bot.cli.history_output import MAX_LINES
from memory.history.backtest import HistoryTooShort, Verdict, backtest
from memory.history.lessons import PathClass, lessons
from memory.model import Action, Fate, PastFinding, Severity
from memory.policy.learner import Learner
from memory.store import Store
from tests.databases import migrated_store
from tests.json_contracts import documented, undocumented
from tests.unit.memory.history.pasts import past
from workers.history.forecast import (
    Forecast,
    HistoryForecast,
    HotFile,
    PostingRules,
    RuleForecast,
    VerdictExample,
    history_forecast,
)
from workers.history.learn import AskedRules, LearnedHistory
from workers.review.project_options import RuffOptions

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "memory.db") as opened:
        yield opened


NOW = datetime(2026, 1, 1, tzinfo=UTC)
RULES = AskedRules(
    asked={"F401", "B904", "E501", "S110"},
    options=RuffOptions(),
    names={"F401": "unused import", "B904": "raise without from", "E501": "line too long", "S110": "try except pass"},
)
READ = LearnedHistory(changes=120, findings=480, resumed=False)


def finding(at: int, rule: str, fate: Fate, *, path: str = "shop/cart.py") -> PastFinding:
    kinds = {
        "F401": ("maintainability", Severity.MINOR, True),
        "B904": ("maintainability", Severity.MINOR, False),
        "E501": ("style", Severity.INFO, False),
        "S110": ("security", Severity.MINOR, False),
        "D103": ("style", Severity.INFO, False),
    }
    category, severity, fixable = kinds[rule]
    return replace(past(at, rule=rule, path=path, fate=fate), category=category, severity=severity, fixable=fixable)


def history(changes: int) -> list[PastFinding]:
    """People fix unused imports in code, hardly those in tests, and leave the rest. No review asks for docstrings."""
    found = []
    for at in range(changes):
        found += [finding(at, "F401", Fate.LEFT if at % 8 == 0 else Fate.FIXED)]
        found += [finding(at, "F401", Fate.FIXED if at % 8 == 0 else Fate.LEFT, path="tests/test_cart.py")]
        found += [finding(at, "E501", Fate.LEFT), finding(at, "D103", Fate.LEFT)]
        found += [finding(at, "B904", Fate.FIXED if at % 4 == 0 else Fate.GONE, path="shop/pay.py")]
        found += [finding(at, "S110", Fate.LEFT)]
    return found


def learned(store: Store, findings: list[PastFinding], *, used: bool = True) -> HistoryForecast:
    known = lessons(findings, lambda each: RULES.reported(each) is not None) if used else None
    learner = Learner(store, random.Random(1), lambda: NOW, control_share=0.1)
    deciding = PostingRules(learner=learner, repository="o/shop", lessons=known)
    return history_forecast(findings, RULES, deciding, frozenset({"shop/cart.py", "tests/test_cart.py"}), used=used)


def page(found: HistoryForecast, read: LearnedHistory = READ) -> str:
    return "\n".join(history_output.learned_page("local:o/shop", "shop", read, found, 0.1)) + "\n"


def test_a_history_that_teaches(store: Store) -> None:
    """What is fixed and what is left, where, what the next review does with it, and why."""
    assert page(learned(store, history(120))) == snapshot("""\
o/shop: enough history to learn from, and reviews here use it.
Read now: 120 changes. Known: 720 findings of 120 changes; a review would now
  report 600 of them. Of these, 510 have a clear end: developers fixed 150 on
  their own (29.4 %; 25.6 to 33.5 %).
Fixed most: B904 30 of 30, F401 120 of 240. Left most: E501 0 of 120.
Files with most fixes: shop/cart.py 105 of 360, tests/test_cart.py 15 of 120
The next review                            fixed here   expected      how often
Posted inline (a comment on the line): 2 rules
  F401    unused import                    120 of 240    20 → 49 %     8 in 10
  B904    raise without from               30 of 30      20 → 53 %     8 in 10
Listed (in the summary, no comment): 2 rules
  E501    line too long                    0 of 120      15 →  6 %     6 in 10
  S110    try except pass                  0 of 120      20 →  5 %     9 in 10
Hidden (shown nowhere; never security, correctness or critical): no rule
Not reported (left out before): security in tests; rules not asked for: all D
Expected: the chance that you find a comment useful. It starts by severity, or
  at 5 % where your own linter reports it; the history moves it as such findings
  are fixed more or less than others here: info 15 % (4 to 44), minor 20 % (5 to
  53), major 60 % (25 to 87).
How often: a value is drawn near the expected one: from 40 % (info), 35 %
  (minor), 30 % (major) on posted, under 2 % hidden, else listed. At most 2
  comments a rule. In 10 % of reviews the start alone counts.
Rules without a past: critical, major posted inline; minor, info listed.
  Feedback counts more: 1 rejection lists F401, 1 acceptance posts E501.
Next: apprentice backtest shop, to see whether it helps.
""")


def test_a_short_history(store: Store) -> None:
    """It says that it is too short, and what decides instead."""
    assert page(learned(store, history(4)[:8]), replace(READ, changes=4, findings=8)) == snapshot("""\
o/shop: too little history to learn from. Fewer than 30 findings show what
  developers wanted; until then reviews decide by severity, tested fixes and
  feedback.
Read now: 4 changes. Known: 8 findings of 2 changes; a review would now report 7
  of them. Of these, 7 have a clear end: developers fixed 3 on their own
  (42.9 %; 15.8 to 75.0 %).
Fixed most: B904 1 of 1, F401 2 of 4. Left most: E501 0 of 1, S110 0 of 1.
Files with most fixes: shop/cart.py 1 of 4, tests/test_cart.py 1 of 2
The next review                            fixed here   expected      how often
Posted inline (a comment on the line): no rule
Listed (in the summary, no comment): 4 rules
  F401    unused import                    2 of 4        20 → 20 %     8 in 10
  B904    raise without from               1 of 1        20 → 20 %     8 in 10
  E501    line too long                    0 of 1        15 → 15 %     9 in 10
  S110    try except pass                  0 of 1        20 → 20 %     8 in 10
Hidden (shown nowhere; never security, correctness or critical): no rule
Not reported (left out before): security in tests; rules not asked for: all D
Listed findings go inline if the tool's fix passes the tests.
Expected: the chance that you find a comment useful. It starts by severity, or
  at 5 % where your own linter reports it; the history moves it as such findings
  are fixed more or less than others here: info 15 % (4 to 44), minor 20 % (5 to
  53), major 60 % (25 to 87).
How often: a value is drawn near the expected one: from 40 % (info), 35 %
  (minor), 30 % (major) on posted, under 2 % hidden, else listed. At most 2
  comments a rule. In 10 % of reviews the start alone counts.
Rules without a past: critical, major posted inline; minor, info listed.
  Feedback counts more: 1 acceptance posts F401.
Next: read more changes with --most, or run this again when there are more.
""")


def test_what_was_always_fixed_is_not_called_left(store: Store) -> None:
    """Also where more rules were fixed than there is room for."""
    findings = [finding(0, rule, Fate.FIXED) for rule in ("F401", "B904", "E501", "S110")]
    shown = page(learned(store, findings))
    assert "Fixed most:" in shown
    assert "Left most:" not in shown


def test_an_empty_history(store: Store) -> None:
    """Nothing was read the second time, and nothing is known."""
    assert page(learned(store, []), LearnedHistory(changes=0, findings=0, resumed=True)) == snapshot("""\
o/shop: too little history to learn from. Fewer than 30 findings show what
  developers wanted; until then reviews decide by severity, tested fixes and
  feedback.
Read now: 0 changes since the last time. No finding is known yet: each is
  followed for 100 changes after its own.
No rule that reviews here ask for was broken in this history.
Not reported (left out before): security in tests.
Expected: the chance that you find a comment useful. It starts by severity, or
  at 5 % where your own linter reports it; the history moves it as such findings
  are fixed more or less than others here: info 15 % (4 to 44), minor 20 % (5 to
  53), major 60 % (25 to 87).
How often: a value is drawn near the expected one: from 40 % (info), 35 %
  (minor), 30 % (major) on posted, under 2 % hidden, else listed. At most 2
  comments a rule. In 10 % of reviews the start alone counts.
Rules without a past: critical, major posted inline; minor, info listed.
Next: read more changes with --most, or run this again when there are more.
""")


def test_a_history_that_is_switched_off(store: Store) -> None:
    """The page says so, and forecasts what is decided without it."""
    off = page(learned(store, history(120), used=False))
    assert off.splitlines()[:2] == snapshot(
        ["o/shop: reviews here do not use the history, because APPRENTICE_LEARN_CHANGES is", "  0."]
    )
    assert "20 → 20 %" in off


def test_the_keys_of_learn_are_documented(store: Store) -> None:
    """Each key of the document is in docs/commands.md, and each key there is in a document."""
    read = history_output.learned_json("local:o/shop", READ, learned(store, history(120)), 0.1)
    assert undocumented("learn", read) == set()
    assert documented()["learn"] >= {"verdict", "evidence", "rules", "files", "feedback"}


words = st.text(max_size=60)
counts = st.integers(min_value=0, max_value=10**6)
shares = st.floats(min_value=0.0, max_value=1.0)
chances = st.fixed_dictionaries({str(action): shares for action in (Action.INLINE, Action.SUMMARY, Action.HOLD)})
rules = st.builds(
    RuleForecast,
    rule=st.from_regex(r"[A-Z]{1,5}[0-9]{1,4}", fullmatch=True),
    name=st.from_regex(r"[a-z]{1,30}( [a-z]{1,30}){0,3}", fullmatch=True),
    places=st.lists(st.sampled_from(PathClass), unique=True).map(tuple),
    category=st.just("style"),
    severity=st.sampled_from(Severity),
    fixed=st.integers(min_value=0, max_value=9999),
    seen=st.integers(min_value=9999, max_value=99999),
    forecast=st.builds(Forecast, prior=shares, expected=shares, chances=chances, with_fix=st.none() | chances),
)
forecasts = st.builds(
    HistoryForecast,
    findings=counts,
    reported=counts,
    seen=st.integers(min_value=10**6, max_value=10**7),
    fixed=counts,
    changes=counts,
    enough=st.booleans(),
    used=st.booleans(),
    rules=st.lists(rules, max_size=60).map(tuple),
    files=st.lists(st.builds(HotFile, path=words, fixed=counts, seen=counts), max_size=9).map(tuple),
    new_rules=st.fixed_dictionaries({each: st.sampled_from(Action) for each in Severity}),
    not_asked=st.lists(st.from_regex(r"[A-Z]{1,5}[0-9]{1,4}", fullmatch=True)).map(tuple),
    rejections=st.none() | st.builds(VerdictExample, rule=st.just("ASYNC1234"), verdicts=counts),
    acceptances=st.none() | st.builds(VerdictExample, rule=st.just("ASYNC1234"), verdicts=counts),
)


@pytest.mark.extended
@given(found=forecasts, name=words, path=words)
def test_a_page_is_a_page(found: HistoryForecast, name: str, path: str) -> None:
    """Whatever was learned, and whatever files are called: at most 30 lines of at most 100 columns."""
    lines = history_output.learned_page(name, path, READ, found, 0.1)
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= 100
    assert not any("\n" in line or "\x1b" in line for line in lines)


# ── backtest ───────────────────────────────────────────────────────────────────────────────────────────────────────


def habits() -> list[PastFinding]:
    """Of four findings of one rule in a change the one is fixed whose file has no others of it."""
    rng, found = random.Random(1), []
    for at in range(200):
        hit = rng.randrange(4)
        for line in range(4):
            fate, standing = (Fate.FIXED, 0) if line == hit and rng.random() < 0.9 else (Fate.LEFT, 20)
            found.append(past(at, rule="UP006", line=line, standing=standing, burst=4, fate=fate))
    return found


def chance() -> list[PastFinding]:
    """Each of four findings is fixed by chance."""
    rng, fates = random.Random(1), (Fate.FIXED, Fate.LEFT, Fate.LEFT)
    return [
        past(at, rule=f"UP00{rng.randrange(4)}", line=line, fate=rng.choice(fates))
        for at in range(200)
        for line in range(4)
    ]


def turned() -> list[PastFinding]:
    """Two rules are fixed and six are left; from the middle on two others are fixed instead."""
    found = []
    for at in range(200):
        fixed = ("UP001", "UP002") if at < 100 else ("UP003", "UP004")
        for line in range(8):
            rule = f"UP00{line}"
            found.append(past(at, rule=rule, line=line, fate=Fate.FIXED if rule in fixed else Fate.LEFT, until=at + 3))
    return found


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        (habits(), Verdict.HELPS),
        (chance(), Verdict.UNKNOWN),
        (turned(), Verdict.OFF),
    ],
    ids=["habits", "chance", "turned"],
)
def test_verdicts(findings: list[PastFinding], verdict: Verdict) -> None:
    """Habits are learned, chance cannot be, and habits that turn mislead."""
    assert backtest(findings).conclusion.verdict is verdict


def shown(findings: list[PastFinding]) -> str:
    return "\n".join(backtest_output.backtest_page("local:o/shop", backtest(findings), all_rules=False)) + "\n"


def test_learning_helps() -> None:
    """The conclusion first, with both comparisons."""
    assert shown(habits()) == snapshot("""\
o/shop: learning helps here.
Keep learning on: nothing to do.

Learning must win two comparisons. Of its comments developers fixed 46.0 %; of
  as many comments chosen
- at random: 23.0 %. Won, by 21.8 to 24.2 points;
- by the strongest simple rule, “the most severe first”: 23.0 %. Won, by 21.8 to
  24.2 points.

Replayed: the last 100 changes with findings of the rules that reviews here ask
  for. Each way of choosing posts as many comments: here 2 a change at most, 200
  together. Of all 400 findings developers fixed 23.0 %; the share on the page
  of learn is that of the whole history.

Comments chosen by                            developers fixed        × random
  learned from the history                    46.0 % (43.5 to 48.5 %) 2.00
  the best possible: it knows the outcomes    46.0 % (43.5 to 48.5 %) 2.00
  learned, begun without a history            46.0 % (43.5 to 48.5 %) 2.00
  at random                                   23.0 % (21.8 to 24.2 %) 1.00
  rules of the tools' defaults first          23.0 % (21.8 to 24.2 %) 1.00
  the most severe first                       23.0 % (21.8 to 24.2 %) 1.00
  rules left less than three times first      23.0 % (21.8 to 24.2 %) 1.00
  rules that were fixed most often first      23.0 % (21.8 to 24.2 %) 1.00
Where a change may leave its comments to later ones: learned from the history
  47.9 % of 192, 2.08 × random; “the most severe first” 23.0 % of 200, 1.00 ×.
Fixed: on their own, within 100 changes, without any comment of ours; the rest
  was left, or silenced. Brackets: 95 % intervals.
All figures: --json. One rule or family alone: --rule UP.
""")


def test_nothing_to_learn() -> None:
    """No clear difference, and no promise."""
    assert shown(chance()).splitlines()[:7] == snapshot(
        [
            "o/shop: cannot tell.",
            "Keep learning on: no simpler way of choosing is shown to be better. The",
            "  differences are too small, or point both ways, to say when more changes decide",
            "  it.",
            "",
            "Learning must win two comparisons. Of its comments developers fixed 30.8 %; of",
            "  as many comments chosen",
        ]
    )


def test_better_switched_off() -> None:
    """It says what to set."""
    assert shown(turned()).splitlines()[:9] == snapshot(
        [
            "o/shop: switch it off.",
            "To switch learning off set APPRENTICE_LEARN_CHANGES=0 for workers and commands:",
            "  reviews then decide by severity, tested fixes and feedback.",
            "",
            "Learning must win two comparisons. Of its comments developers fixed 15.5 %; of",
            "  as many comments chosen",
            "- at random: 25.0 %. Lost, by 2.5 to 16.0 points;",
            "- by the strongest simple rule, “the most severe first”: 25.0 %. Lost, by 2.5 to",
            "  16.0 points.",
        ]
    )


def test_too_short_for_a_conclusion() -> None:
    """It says that learning needs less than a comparison, and what to do."""
    with pytest.raises(HistoryTooShort) as raised:
        backtest(habits()[:120])
    assert backtest_output.too_short("local:o/shop", raised.value, all_rules=False) == snapshot("""\
o/shop: cannot tell whether learning helps; keep it on. Of the later
  changes, which are replayed, 15 have findings, and developers fixed 14 of
  these; a comparison needs 20 changes and 20 fixed findings. Learning needs
  less: 30 findings with a clear end. Read more changes with --most, or run this
  again when there are more; --all-rules replays every rule, not only those that
  reviews here ask for.\
""")


def test_the_keys_of_backtest_are_documented() -> None:
    """Each key of the document is in docs/commands.md."""
    document = {"repository": "o/shop", "all_rules": False, **asdict(backtest(turned()))}
    assert undocumented("backtest", document) == set()
