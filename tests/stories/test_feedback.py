"""What people do about what the bot did, and what the bot makes of it."""

from __future__ import annotations

import shutil
import time

import pytest
from inline_snapshot import snapshot

from memory.explain import explain
from memory.forget import feedback_of, forget
from memory.model import Post, PostKind, Signal, SignalKind
from memory.policy.learner import opaque_id
from memory.reflections import latest_reflections
from tests.databases import LONG_AGO
from tests.playground import fail
from tests.stories.pantry import BUG
from tests.stories.test_reviews import LABELLED
from tests.stories.town import REPOSITORY, Town
from workers.flows.feedback import MAX_POLLED
from workers.queue.runner import LONGEST_DELAY

pytestmark = pytest.mark.sandbox

EMPTY: dict[str, str | bytes | None] = {"pantry/empty.py": 'import os\n\n\ndef empty():\n    return f"empty"\n'}
"""A change with two findings, F401 and F541."""


def heard(town: Town, *decisions: str) -> list[tuple[SignalKind, str, float]]:
    """What counts about some decisions: what, by whom, how much."""
    live: list[Signal] = town.context.store.ledger.live_signals(decisions)
    return [(signal.kind, signal.actor.login, signal.weight) for signal in live]


def decision_on(town: Town, number: int, rule: str) -> str:
    (found,) = [each for each in town.sightings(number) if each.finding.rule == rule]
    return found.decision_id


def acceptance(town: Town, decision: str) -> float:
    """What the table expects of the like of what was chosen."""
    explained = explain(town.context.store, town.context.learner, decision)
    assert explained is not None
    return next(option.acceptance for option in explained.options if option.name == explained.decision.chosen)


@pytest.fixture
def reviewed(town: Town) -> int:
    """A pull request that was reviewed; its number."""
    return town.propose("empty", EMPTY)


@pytest.fixture
def fixed(town: Town) -> tuple[int, int, str]:
    """An issue that was answered with a fix: its number, the fix's, and the decision behind it."""
    issue = town.issue("The last of it cannot be taken", BUG)
    pull = town.fixes()[0].number
    return issue, pull, town.context.store.posts.on(town.key, pull)[0].decision_ids[0]


def test_reject(town: Town, reviewed: int) -> None:
    """A rejection in a remark's thread is answered there with its reach, and the like is expected to be less wanted."""
    decision = decision_on(town, reviewed, "F541")
    before = acceptance(town, decision)
    answer = town.reply(reviewed, town.remark_on(reviewed, "F541").id, "@apprentice reject because we like it so")
    assert answer == snapshot(
        [
            """\
Recorded as not wanted for 1 decision: similar results for F541 in kitchen/pantry become less likely; one verdict disables nothing. Other repositories are affected only after several of them give similar feedback.
<!-- marker -->\
"""
        ]
    )
    assert heard(town, decision) == [(SignalKind.REJECTED, "maya", 1.0)]
    assert acceptance(town, decision) < before
    assert heard(town, decision_on(town, reviewed, "F401")) == []


@pytest.mark.extended
def test_accept(town: Town, reviewed: int) -> None:
    """An acceptance is answered likewise."""
    decision = decision_on(town, reviewed, "F541")
    before = acceptance(town, decision)
    assert town.reply(reviewed, town.remark_on(reviewed, "F541").id, "@apprentice accept") == snapshot(
        [
            """\
Recorded as wanted for 1 decision: similar results for F541 in kitchen/pantry become more likely. Other repositories are affected only after several of them give similar feedback.
<!-- marker -->\
"""
        ]
    )
    assert acceptance(town, decision) > before


@pytest.mark.extended
def test_reject_review(town: Town, reviewed: int) -> None:
    """A verdict in the conversation is about the whole review."""
    assert town.say(reviewed, "@apprentice reject because this is a sketch") == snapshot(
        [
            """\
Recorded as not wanted for 2 decisions: similar results for F401, F541 in kitchen/pantry become less likely; one verdict disables nothing. Other repositories are affected only after several of them give similar feedback.
<!-- marker -->\
"""
        ]
    )
    both = [decision_on(town, reviewed, rule) for rule in ("F401", "F541")]
    assert heard(town, *both) == [(SignalKind.REJECTED, "maya", 1.0)] * 2


@pytest.mark.extended
def test_outsiders_verdict(town: Town, reviewed: int) -> None:
    """An outsider's verdict is noted and teaches nothing."""
    before = town.digest()
    comment = town.remark_on(reviewed, "F541").id
    assert town.reply(reviewed, comment, "@apprentice reject because no", by=town.olga) == snapshot(
        [
            """\
Recorded without effect: only feedback from users with write or triage access counts.
<!-- marker -->\
"""
        ]
    )
    assert heard(town, decision_on(town, reviewed, "F541")) == [(SignalKind.REJECTED, "olga", 0.0)]
    assert town.digest() == before


@pytest.mark.extended
def test_reactions(town: Town, reviewed: int) -> None:
    """Reactions are found by polling, weighed by who gave them, and taken back with the reaction, exactly."""
    before, remark, decision = town.digest(), town.remark_on(reviewed, "F541").id, decision_on(town, reviewed, "F541")
    up = town.maya.react(REPOSITORY, remark, "+1")
    town.olga.react(REPOSITORY, remark, "-1")
    town.tara.react(REPOSITORY, remark, "laugh")
    town.poll()
    assert sorted(heard(town, decision)) == [
        (SignalKind.REACTION_DOWN, "olga", 0.0),
        (SignalKind.REACTION_UP, "maya", 1.0),
    ]
    taught = town.digest()
    assert taught != before
    town.poll()
    assert town.digest() == taught
    town.maya.unreact(REPOSITORY, remark, up)
    town.poll()
    assert town.digest() == before
    town.maya.react(REPOSITORY, remark, "+1")
    town.poll()
    assert town.digest() == taught


@pytest.mark.extended
def test_a_poll_reads_so_many(town: Town) -> None:
    """Of many watched posts one poll reads some: to read all would use up GitHub's limit, and no review could be posted."""
    number = town.issue("Rice", "")
    for github_id in range(1, 2 * MAX_POLLED):
        post = Post(
            repository=town.key,
            kind=PostKind.REVIEW_COMMENT,
            number=number,
            github_id=github_id,
            decision_ids=(),
            created_at=town.clock(),
        )
        town.context.store.posts.add(post)
    town.poll()
    assert [each.path.endswith("/reactions") for each in town.playground.requests].count(True) == MAX_POLLED


@pytest.mark.extended
def test_reaction_to_a_fix(town: Town, fixed: tuple[int, int, str]) -> None:
    """A fix and the answer that names it stand for one decision; a reaction to either is kept apart and stays."""
    issue, pull, decision = fixed
    (answer,) = town.answers(issue)
    town.maya.request("POST", f"/repos/{REPOSITORY}/issues/comments/{answer.id}/reactions", {"content": "heart"})
    town.finn.request("POST", f"/repos/{REPOSITORY}/issues/{pull}/reactions", {"content": "+1"})
    for _ in range(2):
        town.poll()
        assert sorted(heard(town, decision)) == [
            (SignalKind.REACTION_UP, "finn", 1.0),
            (SignalKind.REACTION_UP, "maya", 1.0),
        ]


@pytest.mark.extended
def test_thread(town: Town, reviewed: int) -> None:
    """Resolving a thread says little, opening it again takes that back, and resolving it once more counts again."""
    before, remark, decision = town.digest(), town.remark_on(reviewed, "F541").id, decision_on(town, reviewed, "F541")
    for _ in range(2):
        town.maya.resolve(REPOSITORY, reviewed, remark)
        town.settle()
        assert heard(town, decision) == [(SignalKind.THREAD_RESOLVED, "maya", 1.0)]
        town.maya.unresolve(REPOSITORY, reviewed, remark)
        town.settle()
        assert (heard(town, decision), town.digest()) == ([], before)


def test_applied(town: Town, reviewed: int) -> None:
    """A suggestion committed with GitHub's button is noticed, whether it replaces lines or deletes them."""
    for rule in ("F541", "F401"):
        town.finn.apply_suggestions(REPOSITORY, reviewed, town.remark_on(reviewed, rule).id)
        town.settle()
        kinds = {kind for kind, _, _ in heard(town, decision_on(town, reviewed, rule))}
        assert kinds == {SignalKind.SUGGESTION_APPLIED, SignalKind.THREAD_RESOLVED}
    (check,) = town.checks(reviewed)
    assert (check.conclusion, check.title) == ("success", "Nothing found")


@pytest.mark.extended
def test_applied_in_a_batch(town: Town) -> None:
    """Suggestions that one commit applies, two of them for lines beside each other, count like those that are applied alone."""
    number = town.propose("labels", LABELLED)
    town.finn.apply_suggestions(REPOSITORY, number, *(remark.id for remark in town.remarks(number)))
    town.settle()
    kinds = [[kind for kind, _, _ in heard(town, seen.decision_id)] for seen in town.sightings(number)]
    assert kinds == [[SignalKind.SUGGESTION_APPLIED, SignalKind.THREAD_RESOLVED]] * 4


@pytest.mark.extended
def test_applied_by_hand(town: Town, reviewed: int) -> None:
    """A suggestion typed in by hand counts as well; an unrelated push does not."""
    town.push("empty", {"README.md": "# The pantry\n"})
    assert heard(town, decision_on(town, reviewed, "F541")) == []
    town.push("empty", {"pantry/empty.py": 'import os\n\n\ndef empty():\n    return "empty"\n'})
    assert heard(town, decision_on(town, reviewed, "F541")) == [(SignalKind.SUGGESTION_APPLIED, "finn", 1.0)]


@pytest.mark.extended
def test_reactions_at_the_close(town: Town, reviewed: int) -> None:
    """At the close its reactions are read a last time, and it is watched no longer; the merge itself is no verdict."""
    town.maya.react(REPOSITORY, town.remark_on(reviewed, "F541").id, "-1")
    town.maya.merge(REPOSITORY, reviewed)
    town.settle()
    left = (SignalKind.FINDING_LEFT, "maya", 1.0)
    assert sorted(heard(town, decision_on(town, reviewed, "F541"))) == [left, (SignalKind.REACTION_DOWN, "maya", 1.0)]
    assert heard(town, decision_on(town, reviewed, "F401")) == [left]
    assert town.context.store.posts.watched(town.key, LONG_AGO) == []


def test_fix_closed_and_merged(town: Town, fixed: tuple[int, int, str]) -> None:
    """Closing a fix teaches; opening it again takes that back exactly; closing it anew counts anew; a merge outweighs."""
    issue, pull, decision = fixed
    before, expected = town.digest(), acceptance(town, decision)
    for _ in range(2):
        town.maya.close(REPOSITORY, pull)
        town.settle()
        assert heard(town, decision) == [(SignalKind.FIX_CLOSED, "maya", 1.0)]
        assert acceptance(town, decision) < expected
        town.maya.reopen(REPOSITORY, pull)
        town.settle()
        assert (heard(town, decision), town.digest()) == ([], before)
        assert pull in {post.number for post in town.context.store.posts.watched(town.key, LONG_AGO)}
        time.sleep(1.05)  # GitHub's times count seconds: a close within the same one is the first delivery, sent again
    town.maya.merge(REPOSITORY, pull)
    town.settle()
    assert heard(town, decision) == [(SignalKind.FIX_MERGED, "maya", 1.0)]
    assert acceptance(town, decision) > expected
    assert town.maya.request("GET", f"/repos/{REPOSITORY}/issues/{issue}")["state"] == "closed"


@pytest.mark.extended
def test_an_event_that_is_overtaken_by_its_undoing(town: Town, fixed: tuple[int, int, str]) -> None:
    """A closing that could be recorded only after the fix was opened again counts no more."""
    _, pull, decision = fixed
    before = town.digest()
    town.maya.close(REPOSITORY, pull)
    town.maya.reopen(REPOSITORY, pull)
    town.settle()
    for kind in ("feedback", "track"):
        town.do_again(kind, first=True)
    assert (heard(town, decision), town.digest()) == ([], before)
    assert pull in {post.number for post in town.context.store.posts.watched(town.key, LONG_AGO)}


@pytest.mark.extended
def test_fix_rejected(town: Town, fixed: tuple[int, int, str]) -> None:
    """A rejection where the fix was asked for, or in the fix itself, is about the fix; both together count once each."""
    issue, pull, decision = fixed
    (first,) = town.say(issue, "@apprentice reject because it hides the cause")
    (second,) = town.say(pull, "@apprentice reject", by=town.finn)
    assert first.startswith("Recorded as not wanted for 1 decision: ")
    assert second == first
    assert sorted(heard(town, decision)) == [
        (SignalKind.REJECTED, "finn", 1.0),
        (SignalKind.REJECTED, "maya", 1.0),
    ]


@pytest.mark.extended
def test_a_reason_after_our_copy_is_lost(town: Town, fixed: tuple[int, int, str]) -> None:
    """A worker with an empty disk hears why a fix was rejected like any other: it fetches what the fix was made of."""
    issue, _, decision = fixed
    shutil.rmtree(town.context.settings.home / "mirrors")
    assert town.say(issue, "@apprentice reject because it hides the cause")[0].startswith("Recorded as not wanted")
    (kept,) = latest_reflections(town.context.store, town.key, 1)
    assert (kept.id, len(kept.ruled_out)) == (decision, 1)


@pytest.mark.extended
def test_heard_twice(town: Town, reviewed: int) -> None:
    """A verdict whose job is done again counts once; rebuilding the table from the ledger changes nothing."""
    town.reply(reviewed, town.remark_on(reviewed, "F541").id, "@apprentice reject")
    taught, said = town.digest(), len(town.maya.review_comments(REPOSITORY, reviewed))
    town.do_again("feedback")
    assert (town.digest(), len(town.maya.review_comments(REPOSITORY, reviewed))) == (taught, said)
    town.context.learner.rebuild()
    assert town.digest() == taught


@pytest.mark.extended
def test_a_change_of_mind(town: Town, reviewed: int) -> None:
    """Of the verdicts that an account writes on a finding the last counts, with its reason, however often it is repeated."""
    remark, decision = town.remark_on(reviewed, "F541").id, decision_on(town, reviewed, "F541")
    town.reply(reviewed, remark, "@apprentice reject because we like it so")
    rejected = town.digest()
    town.reply(reviewed, remark, "@apprentice accept", by=town.finn)
    both = town.digest()
    for text in ("accept", "reject", "reject", "reject because it is slow"):
        (answer,) = town.reply(reviewed, remark, f"@apprentice {text}")
        assert answer.startswith("Recorded as")
    assert sorted(heard(town, decision)) == [(SignalKind.ACCEPTED, "finn", 1.0), (SignalKind.REJECTED, "maya", 1.0)]
    assert town.digest() == both != rejected
    (signal,) = [each for each in town.context.store.ledger.live_signals([decision]) if each.actor.login == "maya"]
    assert town.context.store.reasons.get(signal.id, str) == "it is slow"


@pytest.mark.extended
def test_forgotten_before_its_answer(town: Town, reviewed: int) -> None:
    """A verdict that an operator has forgotten while its answer waits for GitHub stays forgotten when that is posted."""
    before, remark = town.digest(), town.remark_on(reviewed, "F541").id
    town.playground.before("POST", r"/replies$", fail(502), nth=2)
    assert town.reply(reviewed, remark, "@apprentice reject because we like it so") == []
    assert town.digest() != before
    lessons = feedback_of(town.context.store, town.playground.world.user("maya").id)
    forget(town.context.store, lessons, now=town.clock(), new_id=opaque_id)
    town.later(LONGEST_DELAY.total_seconds())
    assert town.digest() == before


@pytest.mark.extended
def test_why(town: Town, reviewed: int) -> None:
    """`why` explains the comment above it, else the last decision of a conversation, or the one that is named."""
    last = town.context.store.posts.on(town.key, reviewed)[-1].decision_ids[-1]
    bare = town.say(reviewed, "@apprentice why")
    issue = town.issue("Why is that?", "")
    assert town.say(issue, f"@apprentice why {last}") == bare
    assert "Options, with the odds then and the beliefs now:" in bare[0]
    remark = town.remark_on(reviewed, "F541")
    asked = remark.body.partition("`@apprentice why ")[2].partition("`")[0]
    (answer,) = town.reply(reviewed, remark.id, f"@apprentice why {asked}")
    assert "review in kitchen/pantry, F541 (style)" in answer
    assert "Chose inline_suggestion" in answer
    (answer,) = town.say(reviewed, "@apprentice why f541")
    assert "review in kitchen/pantry, F541 (style)" in answer, "a finding in a list has no id that readers see"
    for rule in ("F541", "F401"):
        (answer,) = town.reply(reviewed, town.remark_on(reviewed, rule).id, "@apprentice why")
        assert f"review in kitchen/pantry, {rule} (" in answer
