"""A maintainer does not like a fix; the next failure of the kind is repaired otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from memory.model import EditShape
from tests.stories.pantry import FILES
from tests.stories.town import REPOSITORY, Town, town

pytestmark = pytest.mark.sandbox

PRICES = {
    "pantry/prices.py": '''"""What things cost."""

from collections import defaultdict


def with_default(prices):
    return defaultdict(int, prices)


def cheapest(prices, names):
    return min(with_default(prices)[name] for name in names)


def price(prices, name):
    return prices[name]
''',
    "tests/test_prices.py": """from pantry.prices import cheapest, price


def test_price():
    assert price({"rice": 3}, "rice") == 3


def test_price_of_unknown():
    assert price({"rice": 3}, "salt") == 0


def test_cheapest():
    assert cheapest({"rice": 3}, ["rice", "salt"]) == 0
""",
}
STOCK = {
    "pantry/stock.py": '''"""What is in the cellar."""

from collections import Counter


class Stock:
    def __init__(self, **held):
        self.held = held

    def complete(self, held):
        return Counter(held)

    def lacks(self, name):
        return not self.complete(self.held)[name]

    def amount(self, name):
        return self.held[name]
''',
    "tests/test_stock.py": """from pantry.stock import Stock


def test_amount():
    assert Stock(nails=4).amount("nails") == 4


def test_amount_of_what_is_not_held():
    assert Stock(nails=4).amount("glue") == 0


def test_lacks():
    assert [Stock(nails=4).lacks(name) for name in ("nails", "glue")] == [False, True]
""",
}


def asked(here: Town, files: Mapping[str, str | None], title: str) -> int:
    """Have a failure repaired that is pushed to main; the number of the fix."""
    known = {each.number for each in here.fixes()}
    here.push("main", dict(files), by=here.maya)
    here.say(here.issue(title, ""), "@apprentice fix")
    (pull,) = [each for each in here.fixes() if each.number not in known]
    return pull.number


def made(here: Town, number: int) -> tuple[EditShape, list[str]]:
    """The edit of a fix without its names, and the kinds of edits that were tried for it, in order."""
    (decision, *_) = here.context.store.posts.on(here.key, number)[0].decision_ids
    chosen = here.context.store.experiences.get(decision)
    assert chosen is not None and chosen.shape is not None
    attempts = [e for e in reversed(here.context.store.experiences.all()) if e.task_id == chosen.task_id]
    return chosen.shape, list(dict.fromkeys(template for each in attempts for template in each.tried))


@pytest.mark.extended
def test_a_closed_guard_and_the_next_failure(tmp_path: Path) -> None:
    """A guard against a missing key is closed; at the next missing key it waits its turn, and a conversion is proposed.

    Where nobody closed the first fix, the guard that it learned is tried at once, and proposed again.
    """
    found = {}
    for closed in (False, True):
        with town(tmp_path / str(closed), FILES) as here:
            first = asked(here, PRICES, "No price for salt")
            guard, _ = made(here, first)
            assert guard == EditShape(template="subscript_to_get", before="$0 [ $1 ]", after="$0 . get ( $1 , 0 )")
            if closed:
                here.maya.close(REPOSITORY, first)
                here.settle()
            found[closed] = made(here, asked(here, dict.fromkeys(PRICES) | STOCK, "No glue"))
    (edit, tried), (other, tried_then) = found[False], found[True]
    assert (edit, tried[0]) == (guard, "subscript_to_get")
    assert other == EditShape(template="own_conversion", before="$0", after="$1 ( $0 )")
    assert tried_then[0] != "subscript_to_get"
