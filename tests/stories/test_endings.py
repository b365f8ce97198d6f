"""How findings end is told from the code that people push, and learned from as far as it tells anything."""

from __future__ import annotations

import pytest

from memory.model import SignalKind
from tests.stories.test_feedback import EMPTY, acceptance, decision_on, heard
from tests.stories.town import Town

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

PATH = "pantry/empty.py"
START = str(EMPTY[PATH])
FIXED, ELSEWHERE, SILENCED, REWRITTEN, GONE = (
    SignalKind.FINDING_FIXED,
    SignalKind.FINDING_FIXED_ELSEWHERE,
    SignalKind.FINDING_SILENCED,
    SignalKind.FINDING_REWRITTEN,
    SignalKind.FINDING_GONE,
)


@pytest.fixture
def number(town: Town) -> int:
    """A pull request that was reviewed, with F401 and F541."""
    return town.propose("empty", EMPTY)


@pytest.mark.parametrize(
    ("pushed", "ends"),
    [
        (START.replace('f"empty"', 'f"empty {os.sep}"'), {"F541": [FIXED], "F401": [ELSEWHERE]}),
        (START.replace('f"empty"', 'f"empty"  # noqa: F541'), {"F541": [SILENCED], "F401": []}),
        (START.replace('return f"empty"', "raise NotImplementedError"), {"F541": [REWRITTEN], "F401": []}),
        (None, {"F541": [GONE], "F401": [GONE]}),
    ],
)
def test_each_end(town: Town, number: int, pushed: str | None, ends: dict[str, list[SignalKind]]) -> None:
    """One push, and what it says of each finding; only what tells of the finding itself moves what is expected."""
    decisions = {rule: decision_on(town, number, rule) for rule in ends}
    before = {rule: acceptance(town, decision) for rule, decision in decisions.items()}
    town.push("empty", {PATH: pushed, "README.md": "# The pantry\n"})
    for rule, kinds in ends.items():
        assert [kind for kind, _, _ in heard(town, decisions[rule])] == kinds
        moved = acceptance(town, decisions[rule]) - before[rule]
        assert not kinds or (moved > 0, moved < 0) == (kinds[0] in (FIXED, ELSEWHERE), kinds[0] is SILENCED)


def test_what_comes_back_was_not_ended(town: Town, number: int) -> None:
    """A revert takes the end back, exactly; when it ends once more, that is heard anew."""
    decision, before = decision_on(town, number, "F541"), town.digest()
    for word in ("os.sep", "os.linesep"):
        town.push("empty", {PATH: START.replace('f"empty"', f'f"empty {{{word}}}"')})
        assert [kind for kind, _, _ in heard(town, decision)] == [FIXED]
        town.do_again("review")
        assert [kind for kind, _, _ in heard(town, decision)] == [FIXED]
        town.push("empty", EMPTY)
        assert heard(town, decision) == []
        assert town.digest() == before
