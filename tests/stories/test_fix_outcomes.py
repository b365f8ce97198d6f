"""What becomes of a fix after it is proposed, told by the code that is merged."""

from __future__ import annotations

import pytest

from bot.playground.models import App
from memory.model import SignalKind
from tests.stories.pantry import BUG, SHELF
from tests.stories.test_feedback import acceptance
from tests.stories.test_fixes import MENDED
from tests.stories.town import REPOSITORY, Town

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

EDITED = MENDED.replace("if wanted > self.amount(name):", "if self.amount(name) - wanted < 0:")


@pytest.fixture
def fixed(town: Town) -> tuple[int, str, str]:
    """A proposed fix: its number, its branch, and the decision behind it."""
    town.issue("The last of it cannot be taken", BUG)
    (pull,) = town.fixes()
    return pull.number, pull.head_ref, town.context.store.posts.on(town.key, pull.number)[0].decision_ids[0]


def heard(town: Town, decision: str) -> list[tuple[SignalKind, str]]:
    live = town.context.store.ledger.live_signals([decision])
    return [(signal.kind, signal.actor.login) for signal in live]


def merge(town: Town, number: int) -> None:
    town.maya.merge(REPOSITORY, number)
    town.settle()


def proposed(town: Town, branch: str, text: str) -> int:
    """A pull request of finn's that makes this of the shelf."""
    return town.propose(branch, {"pantry/shelf.py": text})


def test_edited_before_the_merge(town: Town, fixed: tuple[int, str, str]) -> None:
    """A fix whose edit a user replaced before the merge counts as edited and hardly as accepted."""
    number, branch, decision = fixed
    town.push(branch, {"pantry/shelf.py": EDITED})
    merge(town, number)
    assert heard(town, decision) == [(SignalKind.FIX_EDITED, "maya")]


def test_more_before_the_merge(town: Town, fixed: tuple[int, str, str]) -> None:
    """Comments, another form and changes elsewhere leave our edit as it is: the fix counts as merged."""
    number, branch, decision = fixed
    formed = MENDED.replace(
        "if wanted > self.amount(name):", "if wanted > (\n            self.amount(name)\n        ):"
    )
    town.push(branch, {"pantry/shelf.py": f"# Our shelf.\n{formed}", "README.md": "# The pantry\n"})
    merge(town, number)
    assert heard(town, decision) == [(SignalKind.FIX_MERGED, "maya")]


def test_reverted_and_restored(town: Town, fixed: tuple[int, str, str]) -> None:
    """A merged change that takes a fix out takes its acceptance back and rejects it; one that brings it back undoes that."""
    number, _, decision = fixed
    merge(town, number)
    accepted, digest = acceptance(town, decision), town.digest()
    unrelated = proposed(town, "header", f"# Our shelf.\n{MENDED}")
    merge(town, unrelated)
    assert (heard(town, decision), town.digest()) == ([(SignalKind.FIX_MERGED, "maya")], digest)
    reverting = proposed(town, "revert", f"# Our shelf.\n{SHELF}")
    assert heard(town, decision) == [(SignalKind.FIX_MERGED, "maya")]
    merge(town, reverting)
    assert heard(town, decision) == [(SignalKind.FIX_REVERTED, "maya")]
    assert acceptance(town, decision) < accepted
    town.do_again("track")
    assert heard(town, decision) == [(SignalKind.FIX_REVERTED, "maya")]
    merge(town, proposed(town, "again", f"# Our shelf.\n{MENDED}"))
    assert heard(town, decision) == [(SignalKind.FIX_MERGED, "maya")]
    assert acceptance(town, decision) == accepted


def test_branch_from_before(town: Town, fixed: tuple[int, str, str]) -> None:
    """A branch that was begun before the fix and does not have it takes nothing out."""
    number, _, decision = fixed
    other = town.propose("begun", {"pantry/shelf.py": SHELF.replace('"""What there is', '"""All that there is')})
    merge(town, number)
    merge(town, other)
    assert heard(town, decision) == [(SignalKind.FIX_MERGED, "maya")]


@pytest.fixture
def queue(town: Town) -> App:
    """Another App, which merges and closes what users tell it to."""
    made = town.playground.add_app("queue", owner="kitchen")
    town.playground.install(made, REPOSITORY)
    return made


def ready(town: Town, number: int) -> None:
    town.maya.mark_ready(REPOSITORY, number)
    town.settle()


def test_merged_and_reverted_by_a_queue(town: Town, fixed: tuple[int, str, str], queue: App) -> None:
    """What a bot merges counts as of the user who marked the fix as ready, and its revert as of the author."""
    number, _, decision = fixed
    ready(town, number)
    town.as_app(queue, "PUT", f"pulls/{number}/merge", {})
    town.settle()
    assert heard(town, decision) == [(SignalKind.FIX_MERGED, "maya")]
    reverting = proposed(town, "revert", SHELF)
    town.as_app(queue, "PUT", f"pulls/{reverting}/merge", {})
    town.settle()
    assert heard(town, decision) == [(SignalKind.FIX_REVERTED, "finn")]


@pytest.mark.parametrize("landed", [True, False])
def test_closed_by_a_bot(landed: bool, town: Town, fixed: tuple[int, str, str], queue: App) -> None:
    """A close by a bot that pushed commits of its own with our edit is a merge; any other says nothing."""
    number, _, decision = fixed
    ready(town, number)
    if landed:
        pushed = {"pantry/shelf.py": f"# Our shelf.\n{MENDED}"}
        town.playground.commit(REPOSITORY, pushed, f"Merge #{number}", login="queue[bot]")
    town.as_app(queue, "PATCH", f"issues/{number}", {"state": "closed"})
    town.settle()
    assert heard(town, decision) == ([(SignalKind.FIX_MERGED, "maya")] if landed else [])


def test_applied_by_hand(town: Town, fixed: tuple[int, str, str]) -> None:
    """A user who pushes our edit and closes the fix has accepted it; opening it again takes that back."""
    number, _, decision = fixed
    before = town.digest()
    town.maya.push(REPOSITORY, "main", {"pantry/shelf.py": MENDED}, "Take what there is")
    town.maya.close(REPOSITORY, number)
    town.settle()
    assert heard(town, decision) == [(SignalKind.FIX_MERGED, "maya")]
    town.maya.reopen(REPOSITORY, number)
    town.settle()
    assert (heard(town, decision), town.digest()) == ([], before)
