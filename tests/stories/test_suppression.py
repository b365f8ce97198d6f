"""However often it is rejected, what is grave reaches the summary."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.model import Action, Actor, Permission, SignalKind
from tests.stories import town as founding
from tests.stories.pantry import FILES
from tests.stories.town import Town

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

REJECTIONS = 50
SHELL: dict[str, str | bytes | None] = {
    "pantry/shop.py": "import subprocess\n\n\ndef order(what):\n"
    '    return subprocess.call("order " + what, shell=True)\n'
}
"""One security finding, and nothing to suggest for it."""


def reject(town: Town, decision: str, teachers: list[tuple[Actor, Permission]]) -> None:
    """One rejection each, a day apart, so that no limit of a day mutes the teachers instead."""
    for number, (actor, permission) in enumerate(teachers):
        town.clock.pass_by(86_400)
        town.context.learner.record_signal(decision, SignalKind.REJECTED, actor, permission, f"comment:{number}")


@pytest.mark.parametrize(
    ("teachers", "weight"),
    [
        ([(Actor(id=100 + n, login=f"stranger-{n}"), Permission.READ) for n in range(REJECTIONS)], 0.0),
        ([(Actor(id=1, login="maya"), Permission.ADMIN)] * REJECTIONS, 1.0),
    ],
    ids=["outsiders", "one maintainer"],
)
def test_fifty_rejections_do_not_silence_security(
    town: Town, teachers: list[tuple[Actor, Permission]], weight: float
) -> None:
    """Taught by outsiders, nothing moves; taught by one maintainer, it is quieter, and still said in the next review."""
    first = town.propose("shop", SHELL)
    (seen,) = [each for each in town.sightings(first) if each.finding.category == "security"]
    digest = town.digest()
    reject(town, seen.decision_id, teachers)
    signals = town.context.store.ledger.live_signals([seen.decision_id])
    assert [signal.weight for signal in signals] == [weight] * REJECTIONS
    assert (town.digest() == digest) == (weight == 0.0)
    second = town.propose("again", {"pantry/again.py": SHELL["pantry/shop.py"]})
    (again,) = [each for each in town.sightings(second) if each.finding.category == "security"]
    assert again.action is not Action.HOLD
    (review,) = town.reviews(second)
    said = [review.body, *(remark.body for remark in town.remarks(second))]
    assert sum(f"**{again.finding.rule}**" in text for text in said) == 1


def test_what_the_own_linter_reports_as_well_is_in_the_check_run_alone(tmp_path: Path) -> None:
    """A review notifies people, and a line of its summary that CI gives them anyway is no reason to; a user who asks gets it."""
    text = '"""More."""\n\n\ndef more(given):\n    return given == None\n'
    with founding.town(tmp_path, {**FILES, "ruff.toml": '[lint]\nselect = ["E711"]\n'}) as town:
        number = town.propose("more", {"pantry/more.py": text})
        assert (town.reviews(number), town.remarks(number)) == ([], [])
        (check,) = town.checks(number)
        assert (check.conclusion, check.title, check.annotations) == ("neutral", "1 finding", 1)
        (why,) = town.say(number, "@apprentice why")
        assert why.startswith("I chose `summary`, which had a probability of ")
        town.push("more", {"pantry/more.py": text.replace("==", "is")})
        assert town.reviews(number) == []
        assert [each.title for each in town.checks(number)] == ["Nothing found"]
        town.say(number, "@apprentice review")
        assert len(town.reviews(number)) == 1
