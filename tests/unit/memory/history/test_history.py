"""What the past says of a finding: by rule, in levels, fading, and by what is seen beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.history import CHANGES, advantage, starts
from memory.history.backtest import BUDGET, ORACLE, OURS, RANKINGS, UNTAUGHT, HistoryTooShort, backtest, replay
from memory.history.lessons import BASE, ELSEWHERE, HALF_LIFE, NAMES, Levels, PathClass, features, path_class
from memory.history.rankings import Ranking, interval_of, once
from memory.model import Fate, PastFinding
from tests.unit.memory.history.pasts import past


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/shop/cart.py", PathClass.CODE),
        ("tests/unit/cart.py", PathClass.TEST),
        ("shop/test_cart.py", PathClass.TEST),
        ("shop/conftest.py", PathClass.TEST),
        ("docs/examples/cart.py", PathClass.DOCS),
        ("examples/cart.py", PathClass.DOCS),
        ("setup.py", PathClass.BUILD),
        ("shop/contest.py", PathClass.CODE),
    ],
)
def test_path_classes(path: str, kind: PathClass) -> None:
    """Projects name folders and files by what they are for."""
    assert path_class(path) is kind


def test_a_rule_borrows_from_its_family_and_an_unknown_one_from_all() -> None:
    """Nothing known: the base. A family that is fixed lifts its rules; what is fixed in code is less so in tests."""
    levels = Levels()
    assert levels.share("UP006", "a.py", 0) == BASE
    for number in range(30):
        levels.add(past(number, rule="UP006", fate=Fate.FIXED))
        levels.add(past(number, rule="D103", fate=Fate.LEFT))
        levels.add(past(number, rule="UP006", path="tests/test_a.py", fate=Fate.LEFT))
    code, test = levels.share("UP006", "a.py", 30), levels.share("UP006", "tests/test_a.py", 30)
    assert test < 0.5 < code
    assert levels.share("D103", "a.py", 30) < levels.share("X1", "a.py", 30) < levels.share("UP007", "a.py", 30)


def test_what_says_nothing_counts_nothing() -> None:
    """Lines that went with much else are no evidence."""
    levels = Levels()
    levels.add(past(0, fate=Fate.GONE))
    levels.add(past(0, fate=Fate.REWRITTEN))
    assert levels.sums == {}


def test_many_of_one_change_weigh_as_their_root_and_fade() -> None:
    """Sixteen findings of a rule in one change are four observations, and half of that a half-life later."""
    levels = Levels()
    for _ in range(16):
        levels.add(past(0, burst=16, fate=Fate.FIXED, until=10))
    assert levels.sums["F401"].weight == pytest.approx(4.0)
    assert levels.sums["F401"].faded(10 + int(HALF_LIFE)).weight == pytest.approx(2.0)


def test_there_is_a_weight_for_each_feature() -> None:
    """A finding's numbers stand in the order of their names."""
    assert len(ELSEWHERE) == len(NAMES) == len(features(past(0), 0.3))


def _world(changes: int = 200) -> list[PastFinding]:
    """People fix unused imports within three changes, leave docstrings, and fix the rest now and then."""
    found = []
    for at in range(changes):
        found.append(past(at, rule="F401", fate=Fate.FIXED, until=at + 3))
        found += [past(at, rule=f"D10{n}", line=n, fate=Fate.LEFT, until=at + 40) for n in range(4)]
        found.append(past(at, rule="B007", line=9, fate=Fate.FIXED if at % 5 == 0 else Fate.LEFT, until=at + 40))
    return found


def test_a_fate_is_known_to_later_reviews_only() -> None:
    """Ours begins knowing nothing, and what it scores does not hang on fates of the time after."""
    world = _world()
    turned = [each if each.position < 150 else replace(each, fate=Fate.SILENCED) for each in world]
    ours, theirs = (replay(each, share=0.9).scores[OURS] for each in (world, turned))
    until = sum(20 <= each.position < 150 for each in world)
    assert ours[:until].tolist() == theirs[:until].tolist()


def test_learning_tells_what_is_fixed() -> None:
    """In a world with habits ours is near the oracle, and has a head start over one without history."""
    result = backtest(_world())
    arms = {arm.name: arm for arm in result.arms}
    assert set(arms) == {*RANKINGS, UNTAUGHT}
    assert arms[ORACLE].keeping.estimate == pytest.approx(1.0 / result.base, rel=0.01)
    assert arms[OURS].keeping.estimate > 0.8 * arms[ORACLE].keeping.estimate
    assert arms["everything"].posted_lift.estimate == pytest.approx(1.0)
    assert [changes for changes, _ in result.curve][-1] == result.changes


def test_many_installations_are_compared() -> None:
    """One begins at every twenty scored changes; where people never change their ways, history is worth something at once."""
    begun = starts(replay(_world(200)), _world(200), BUDGET)
    assert len(begun) == 100 // CHANGES
    assert all(each.taught[0] == each.untaught[0] for each in begun)
    head_start = advantage(begun)
    assert head_start is not None
    assert head_start.low > 0.0
    assert advantage(()) is None


def test_a_short_past_is_refused() -> None:
    """A dozen findings show nothing, and nothing is shown."""
    with pytest.raises(HistoryTooShort, match="addressed"):
        backtest(_world(10))
    with pytest.raises(HistoryTooShort):
        backtest([])


def test_measures_by_hand() -> None:
    """Six findings of three changes, three addressed."""
    scores = np.array([0.9, 0.8, 0.7, 0.6, -1.0, 0.4])
    addressed = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    ranking = Ranking(scores, addressed, np.array([0, 0, 0, 1, 1, 2]))
    counts = once(3)
    posted = ranking.posted(counts)
    assert (posted.comments, posted.addressed, posted.kept, posted.suppressed) == (5.0, 2.0, pytest.approx(2 / 3), 1.0)
    assert ranking.keeping(0.6)(counts).comments == 3.0
    assert ranking.budget(1)(counts).share == pytest.approx(1 / 3)
    assert ranking.volume(lambda _: 1.0)(counts).lift == pytest.approx(2.0)
    whole = interval_of(lambda drawn: ranking.posted(drawn).share, 3)
    assert whole.low <= whole.estimate <= whole.high
