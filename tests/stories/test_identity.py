"""Names change hands; what is remembered, and who is who, goes by GitHub's numbers."""

from __future__ import annotations

import pytest

from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.models import App
from memory.model import SignalKind
from memory.model.jobs import JobState
from tests.playground import Maintainer, fail
from tests.stories.pantry import FILES
from tests.stories.town import BOT, REPOSITORY, Town
from workers.jobs import PollReactions, RepositoryRef
from workers.messages.markdown import marker
from workers.queue.enqueue import rows
from workers.queue.sweeper import enqueue_polls

pytestmark = pytest.mark.extended

RENAMED = "kitchen/larder"
UNUSED = {"pantry/labels.py": "import os\n\n\ndef label(name):\n    return name\n"}


def app_of(town: Town) -> App:
    return next(each for each in town.playground.world.apps.values() if each.slug == "apprentice")


def taken_over(town: Town) -> str:
    """Rename the repository and let another one take its name; the key of the new one."""
    town.playground.rename(REPOSITORY, RENAMED)
    town.playground.add_repository(REPOSITORY, FILES)
    town.playground.grant(REPOSITORY, "maya", "admin")
    town.playground.install(app_of(town), REPOSITORY)
    town.settle()
    return town.key


def transfer(town: Town) -> int:
    """Give the repository to another owner, with an installation of the App there; the number of that one."""
    town.playground.add_user("cellar")
    town.playground.rename(REPOSITORY, "cellar/pantry")
    with town.playground.world.lock:
        for each in town.playground.world.installations.values():
            each.repository_ids.clear()
    return town.playground.install(app_of(town), "cellar/pantry").id


def said_by_us(town: Town, repository: str, number: int) -> list[str]:
    return [each.body for each in town.maya.comments(repository, number) if each.author == BOT]


def test_a_renamed_repository_keeps_its_memory(town: Town) -> None:
    """The findings, decisions and posts are still its own, and it is called by its new name."""
    number = town.propose("labels", UNUSED)
    known, seen = town.key, town.sightings(number)
    assert seen
    town.playground.rename(REPOSITORY, RENAMED)
    town.finn.push(RENAMED, "labels", {"pantry/more.py": "A = 1\n"}, "More")
    town.settle()
    assert len([each for each in town.maya.review_comments(RENAMED, number) if each.author == BOT]) == 1, (
        "not said again"
    )
    assert {each.decision_id for each in town.context.store.posts.sightings(known, number)} == {
        s.decision_id for s in seen
    }
    town.maya.comment(RENAMED, number, "@apprentice why")
    town.settle()
    assert "review in kitchen/larder, F401" in said_by_us(town, RENAMED, number)[-1]


def test_a_transferred_repository_keeps_its_memory(town: Town) -> None:
    """Another owner, and another installation of the App: the same number."""
    number = town.propose("labels", UNUSED)
    known = town.key
    transfer(town)
    town.maya.comment("cellar/pantry", number, "@apprentice why")
    town.settle()
    assert "review in cellar/pantry, F401" in said_by_us(town, "cellar/pantry", number)[-1]
    (stored,) = [each for each in town.context.store.repositories.all(RepositoryRef) if each.key == known]
    assert stored.full_name == "cellar/pantry"


def test_a_job_from_before_a_transfer(town: Town) -> None:
    """It is done as the new installation, and never brings the old one back; the reactions are polled as before."""
    number = town.propose("labels", UNUSED)
    known, store = town.key, town.context.store
    (before,) = store.repositories.all(RepositoryRef)
    town.maya.comment(REPOSITORY, number, "@apprentice why")
    town.playground.drain()
    installation = transfer(town)
    town.maya.comment("cellar/pantry", number, "@apprentice help")
    town.settle()
    town.do_again("answer", first=True)
    assert [each.installation_id for each in store.repositories.all(RepositoryRef)] == [installation]
    assert "review in cellar/pantry, F401" in said_by_us(town, "cellar/pantry", number)[-1]
    store.jobs.enqueue(rows("late", [PollReactions(repository=before)]))
    enqueue_polls(store, town.clock(), every=600)
    town.settle()
    assert all(post.watched for post in store.posts.on(known, number))
    assert town.count(JobState.FAILED) == 0


def test_a_new_repository_of_an_old_name_inherits_nothing(town: Town) -> None:
    """Deleted and made again: no finding, no decision, no history, although number and name of the pull request agree."""
    number = town.propose("labels", UNUSED)
    old, (decision,) = town.key, {each.decision_id for each in town.sightings(number)}
    town.playground.delete(REPOSITORY)
    town.playground.add_repository(REPOSITORY, FILES)
    town.playground.grant(REPOSITORY, "maya", "admin")
    town.playground.install(app_of(town), REPOSITORY)
    town.settle()
    assert town.key != old
    assert town.context.store.tasks.by_repository(town.key) == []
    issue = town.issue("A question", "")
    assert issue == number
    (answer,) = town.say(issue, f"@apprentice why {decision}")
    assert answer.startswith("I know no decision or finding")
    (answer,) = town.say(issue, "@apprentice why")
    assert answer.startswith("I have made no decision here yet")


def test_a_job_finds_its_repository(town: Town) -> None:
    """What was asked before a rename is answered there, and not in the repository that has taken the name meanwhile."""
    number = town.issue("A question", "")
    town.maya.comment(REPOSITORY, number, "@apprentice help")
    town.playground.drain()
    town.clock.pass_by(7200)  # no token from before the rename lasts any more
    taken_over(town)
    assert town.issue("Another question", "") == number
    assert town.answers(number) == []
    (answer,) = said_by_us(town, RENAMED, number)
    assert answer.startswith("| command |")


def test_a_name_that_changes_hands_while_a_token_lasts(town: Town) -> None:
    """With a token from before the change, nothing of ours gets to the repository that has taken the name."""
    number = town.issue("A question", "")
    assert len(town.say(number, "@apprentice help")) == 1
    town.maya.comment(REPOSITORY, number, "@apprentice fix")
    town.playground.drain()
    taken_over(town)
    assert town.issue("Another question", "") == number
    assert (town.answers(number), town.fixes()) == ([], [])


def test_a_renamed_teacher(town: Town) -> None:
    """An account keeps its weight under a new name, also for what it said before; one that takes the old name has none."""
    number = town.propose("labels", UNUSED, by=town.maya)
    (remark,) = town.remarks(number)
    (decision,) = town.context.store.posts.on(town.key, number)[0].decision_ids
    town.finn.reply(REPOSITORY, number, remark.id, "@apprentice accept")
    town.playground.drain()
    finn = town.playground.world.user("finn")
    town.playground.rename_user("finn", "flynn")
    town.playground.add_user("finn")
    town.settle()
    Maintainer(town.playground, "finn").reply(REPOSITORY, number, remark.id, "@apprentice reject")
    town.settle()
    Maintainer(town.playground, "flynn").reply(REPOSITORY, number, remark.id, "@apprentice reject")
    town.settle()
    signals = town.context.store.ledger.signals(decision)
    given = [(s.actor.id, s.kind, s.weight) for s in signals if not s.retracts]
    other = town.playground.world.user("finn").id
    assert given == [
        (finn.id, SignalKind.ACCEPTED, 1.0),
        (other, SignalKind.REJECTED, 0.0),
        (finn.id, SignalKind.REJECTED, 1.0),
    ]


def test_a_copied_marker(town: Town) -> None:
    """Another bot that copies our hidden marker does not make us believe that we have answered already."""
    number = town.issue("A question", "")
    (installation,) = town.playground.world.installations
    olga = town.playground.world.user("olga")
    other = town.playground.add_app("other", owner="kitchen")
    town.playground.install(other, REPOSITORY)
    town.say_as_app(other, number, marker(f"outsider:{installation}:{town.key}:{number}:{olga.id}:reply"))
    town.playground.before("POST", r"/issues/\d+/comments$", failing_for_us, nth=0)
    town.olga.comment(REPOSITORY, number, "@apprentice help")
    town.settle()
    town.playground.undisturbed()
    town.later(60)
    assert len(town.answers(number)) == 1


def failing_for_us(request: PlaygroundRequest) -> PlaygroundResponse | None:
    return fail(502)(request) if request.headers.get("user-agent", "").startswith("apprentice") else None


def test_a_bot_of_our_branch_names_is_reviewed(town: Town) -> None:
    """Another App's pull request from a branch that is called like ours is not ours: it gets its review."""
    other = town.playground.add_app("other", owner="kitchen")
    town.playground.install(other, REPOSITORY)
    town.finn.push(REPOSITORY, "apprentice/fix-1", UNUSED, "Labels")
    number = town.finn.open_pull(REPOSITORY, head="apprentice/fix-1", title="Labels", draft=True)
    with town.playground.world.lock:
        pull = town.playground.world.repository(*REPOSITORY.split("/")).issues[number]
        pull.author, pull.via = other.bot, other
    town.maya.mark_ready(REPOSITORY, number)
    town.settle()
    assert len(town.checks(number)) == 1
