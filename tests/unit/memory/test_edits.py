"""Weights of templates, from what they repaired for the candidates that they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memory.model import AttemptOutcome, EditShape, Experience, Family
from memory.skills import composed
from memory.template_weights import BOUNDS, QUOTA, edit_weights

PRIOR = {"swap": 0.5, "drop": 0.5, "wrap": 0.1}


def experience(
    tried: Mapping[str, int], repaired: str = "", family: Family = Family.ASSERTION, repository: str = "town/pantry"
) -> Experience:
    return Experience(
        id="one",
        repository=repository,
        task_id="t",
        error_type="AssertionError",
        family=family,
        signature="",
        path="a.py",
        strategy="operators",
        outcome=AttemptOutcome.PROVEN if repaired else AttemptOutcome.NOTHING_PLAUSIBLE,
        reflection="",
        patch="",
        shape=EditShape(template=repaired, before="$0", after="$1") if repaired else None,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        tried=tried,
    )


def test_without_experience_nothing_is_weighed() -> None:
    """The priors stand as they are."""
    assert edit_weights([], Family.ASSERTION, PRIOR) == {}


def test_what_repairs_more_than_expected_gains_and_what_was_tried_in_vain_loses() -> None:
    """Of two templates with one prior and as many tries, the one with the repairs comes out ahead."""
    weights = edit_weights([experience({"swap": 10, "drop": 10}, "swap")] * 8, Family.ASSERTION, PRIOR)
    assert weights["swap"] > 1.0 > weights["drop"]


def test_a_repair_counts_for_more_where_fewer_candidates_were_tried() -> None:
    """Equal repairs at a tenth of the tries are worth more."""
    cheap = experience({"swap": 10, "drop": 100}, "swap")
    dear = experience({"swap": 10, "drop": 100}, "drop")
    weights = edit_weights([cheap, dear] * 10, Family.ASSERTION, PRIOR)
    assert weights["swap"] > weights["drop"]


def test_a_repair_by_two_edits_is_a_half_of_one_for_both_templates() -> None:
    """Neither was tried in vain, and together they count as one repair."""
    tried = {"swap": 10, "wrap": 10, "drop": 10}
    swap, wrap = (EditShape(template=template, before="$0", after="$1") for template in ("swap", "wrap"))
    pair = replace(experience(tried, "swap"), shape=composed(swap, wrap))
    weights = edit_weights([pair] * 8, Family.ASSERTION, PRIOR)
    assert weights == edit_weights([experience(tried, "swap"), experience(tried, "wrap")] * 4, Family.ASSERTION, PRIOR)
    assert min(weights["swap"], weights["wrap"]) > 1.0 > weights["drop"]


def test_little_experience_moves_little() -> None:
    """One repair moves a weight by less than many of the same kind do, and no weight leaves its bounds."""
    once = edit_weights([experience({"swap": 5, "wrap": 5}, "wrap")], Family.ASSERTION, PRIOR)
    often = edit_weights([experience({"swap": 5, "wrap": 5}, "wrap")] * 200, Family.ASSERTION, PRIOR)
    assert 1.0 < once["wrap"] < often["wrap"] <= BOUNDS[1]
    assert BOUNDS[0] <= often["swap"] < 1.0


def test_a_family_goes_its_own_way_from_what_holds_for_all() -> None:
    """Experience of the family itself outweighs that of the others; a family without any takes the others'."""
    others = [experience({"swap": 10, "drop": 10}, "swap", Family.TYPE)] * 20
    own = [experience({"swap": 10, "drop": 10}, "drop", Family.LOOKUP)] * 20
    here = edit_weights([*others, *own], Family.LOOKUP, PRIOR)
    elsewhere = edit_weights([*others, *own], Family.VALUE, PRIOR)
    assert here["drop"] > here["swap"]
    assert elsewhere["drop"] == pytest.approx(elsewhere["swap"])


def test_templates_that_no_longer_exist_are_passed_over() -> None:
    """An old ledger names templates of its time."""
    assert edit_weights([experience({"gone": 3}, "gone")], Family.ASSERTION, PRIOR) == {}


def test_one_repository_has_no_more_than_its_share() -> None:
    """However often one repository is repaired in one way, what many others say is heard."""
    loud = [experience({"swap": 5, "drop": 5}, "swap", repository="loud/one")] * 1000
    quiet = [experience({"swap": 5, "drop": 5}, "drop", repository=f"quiet/{n}") for n in range(QUOTA)]
    weights = edit_weights([*loud, *quiet], Family.ASSERTION, PRIOR)
    assert weights["drop"] == pytest.approx(weights["swap"])


def test_edits_of_many_repositories_are_heard_within_the_share() -> None:
    """Below its share a repository's own experience decides."""
    weights = edit_weights([experience({"swap": 5, "drop": 5}, "swap")] * 100, Family.ASSERTION, PRIOR)
    assert weights["swap"] > weights["drop"]
