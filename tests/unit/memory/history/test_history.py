"""What the past says of a finding: by rule, in levels, decaying, and by what is seen beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.posting import PSEUDO_COUNTS, report, shares_of, weights_of
from memory.history.backtest import (
    AT_ONCE,
    BUDGET,
    LOT,
    ORACLE,
    OURS,
    RANKINGS,
    UNTAUGHT,
    HistoryTooShort,
    ReplayedScores,
    backtest,
    carried_over,
    posted_of_each,
    replay,
)
from memory.history.lessons import (
    HALF_LIFE,
    NAMES,
    PSEUDO_COUNT,
    WEIGHTS,
    PathClass,
    RuleShares,
    features,
    informative,
    path_class,
)
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


START = {"": 0.03, "UP*": 0.2, "UP006": 0.4}


def test_a_rule_starts_from_other_repositories_and_moves_by_its_own_past() -> None:
    """The rule's share elsewhere, else the family's, else that of all; as many findings here as `PSEUDO_COUNT` weigh as much."""
    shares = RuleShares(start=START)
    assert [shares.share(rule, 0) for rule in ("UP006", "UP007", "D103")] == pytest.approx([0.4, 0.2, 0.03])
    for number in range(int(PSEUDO_COUNT)):
        shares.add(past(number, rule="UP006", fate=Fate.LEFT, until=0))
    assert shares.share("UP006", 0) == pytest.approx(0.2)
    assert shares.share("UP007", 0) == pytest.approx(0.2)


def test_every_rule_starts_above_none_and_below_all() -> None:
    """The shares of other repositories that the product ships are shares, and there is one for rules that nobody knows."""
    shares = RuleShares()
    assert all(0.0 < share < 1.0 for share in shares.start.values())
    assert shares.share("F401", 0) > shares.share("no-such-rule", 0) > shares.share("D103", 0)


def test_what_says_nothing_counts_nothing() -> None:
    """Lines that went with much else are no evidence."""
    assert informative([past(0, fate=Fate.GONE), past(0, fate=Fate.REWRITTEN)]) == []


def test_many_of_one_change_weigh_as_their_root_and_decay() -> None:
    """Sixteen findings of a rule in one change are four observations, and half of that a half-life later."""
    shares = RuleShares()
    for _ in range(16):
        shares.add(past(0, burst=16, fate=Fate.FIXED, until=10))
    assert shares.sums["F401"].weight == pytest.approx(4.0)
    assert shares.sums["F401"].decayed(10 + int(HALF_LIFE)).weight == pytest.approx(2.0)


def test_there_is_a_weight_for_each_feature() -> None:
    """A finding's numbers stand in the order of their names."""
    assert len(WEIGHTS) == len(NAMES) == len(features(past(0), 0.3))


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


@pytest.mark.slow
def test_learning_tells_what_is_fixed() -> None:
    """In a world with habits ours is near the oracle, and has a head start over one without history."""
    result = backtest(_world())
    shares = {each.name: each.share.estimate for each in result.conclusion.compared}
    assert shares.keys() == {*RANKINGS, UNTAUGHT}
    assert shares[OURS] > 0.8 * shares[ORACLE]
    assert shares[OURS] >= shares[UNTAUGHT]


def test_a_budget_that_carries_over_is_silent_where_nothing_is_promising() -> None:
    """Of 200 changes every fifth is worth ten comments, the others none: most comments go there, as many as two of each change.

    No more than `AT_ONCE` go to one, and what comes later is never looked at.
    """
    change = np.repeat(np.arange(200), 10)
    worth = (change % 5 == 4).astype(np.float64)
    scores = worth + np.random.default_rng(1).random(len(worth)) / 2
    replayed = ReplayedScores(addressed=worth, change=change, scores={})
    carried, alone = (post(scores, replayed, BUDGET) for post in (carried_over, posted_of_each))
    assert 0.9 * alone.comments.sum() < carried.comments.sum() <= alone.comments.sum()
    assert carried.comments.max() == AT_ONCE
    assert carried.addressed.sum() > 2.5 * alone.addressed.sum()
    half = ReplayedScores(addressed=worth[:1000], change=change[:1000], scores={})
    assert carried_over(scores[:1000], half, BUDGET).comments.tolist() == carried.comments[:100].tolist()


@pytest.mark.slow
def test_lot_stands_beside_every_ranking_with_shares_and_volumes() -> None:
    """Both comparisons hold lot, and for each ranking the share, the volume and how many times lot's share that is."""
    result = backtest(_world())
    for compared in (result.conclusion, result.carried):
        lot = compared.of(LOT)
        assert lot.times_lot == pytest.approx(1.0)
        assert lot.comments == BUDGET * result.changes
        for each in compared.compared:
            assert each.times_lot == pytest.approx(each.share.estimate / lot.share.estimate)
            assert 0.0 < each.comments <= lot.comments
    assert result.carried.of(OURS).times_lot > 2.0


def test_the_shares_that_the_product_starts_from_are_of_rules_in_families() -> None:
    """Of all, of families drawn to all, and of rules drawn to their family, as many counted as the pulls say."""
    shares = shares_of([_world(100)])
    assert shares[""] == pytest.approx(120 / 600)
    assert shares["F*"] == pytest.approx(
        (100 + PSEUDO_COUNTS["family"] * shares[""]) / (100 + PSEUDO_COUNTS["family"]), abs=1e-3
    )
    assert shares["F401"] == pytest.approx(
        (100 + PSEUDO_COUNTS["rule"] * shares["F*"]) / (100 + PSEUDO_COUNTS["rule"]), abs=1e-3
    )
    assert shares["D100"] < shares["D*"] < shares["B007"] < shares["F401"]


def test_weights_follow_what_was_addressed() -> None:
    """Where habits are alike everywhere, the share of a rule weighs most of all."""
    weights = dict(zip(NAMES, weights_of([_world(100), _world(120), _world(140)]).tolist(), strict=True))
    assert weights["share"] > 0.5
    assert weights["share"] > max(abs(weights[name]) for name in ("standing", "burst", "test", "docs"))


@pytest.mark.slow
def test_a_benchmark_of_posting_prints_lot_and_counts_what_was_reached(capsys: pytest.CaptureFixture[str]) -> None:
    """Share, volume and times of lot in every row. Ours is three times lot here; the Wilson bound too, so that it is not ahead."""
    assert report("shop", backtest(_world())) == (True, False, True, False)
    printed = capsys.readouterr().out
    assert "  lot                 20.0% (18.8% to 21.3%) of 200, 1.00 times lot\n" in printed
    assert printed.count(" times lot") == 2 * 7 + 1


def test_a_short_past_is_refused() -> None:
    """A dozen findings show nothing, and nothing is shown."""
    with pytest.raises(HistoryTooShort, match="addressed"):
        backtest(_world(10))
    with pytest.raises(HistoryTooShort):
        backtest([])
