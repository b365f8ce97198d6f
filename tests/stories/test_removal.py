"""The App is removed from a repository, uninstalled or suspended, or the repository is archived: nothing more is asked for, and what
comes later works."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from memory.model.jobs import JobState
from tests.stories.test_identity import app_of
from tests.stories.test_outages import answer, ours
from tests.stories.town import BOT, REPOSITORY, Town
from workers.queue.sweeper import enqueue_polls

pytestmark = pytest.mark.sandbox

UNUSED: dict[str, str | bytes | None] = {"pantry/labels.py": "import os\n\n\ndef label(name):\n    return name\n"}
EVERY = 600.0


def asked(town: Town) -> int:
    """How often a token for a repository was asked for so far."""
    return sum(each.path.endswith("/access_tokens") for each in town.playground.requests)


def sweep(town: Town, times: int = 1) -> None:
    """What the sweeper enqueues every ten minutes is done."""
    for _ in range(times):
        town.clock.pass_by(EVERY)
        enqueue_polls(town.context.store, town.clock(), every=EVERY)
        town.settle()


def leave(town: Town, how: str) -> None:
    """Take the App away from the repository, while a command waits there."""
    number = town.maya.open_issue(REPOSITORY, "How do I measure a cup?", "")
    town.maya.comment(REPOSITORY, number, "@apprentice help")
    town.playground.drain()
    town.clock.pass_by(3600)  # no token lasts any more
    (installation,) = town.playground.world.installations.values()
    if how == "uninstalled":
        town.playground.uninstall(installation)
    elif how == "removed":
        town.playground.remove(installation, REPOSITORY)
    else:
        town.playground.delete(REPOSITORY)
    town.settle()


@pytest.mark.parametrize(
    "how", ["uninstalled", *(pytest.param(how, marks=pytest.mark.extended) for how in ("removed", "deleted"))]
)
def test_a_repository_that_is_gone(how: str, town: Town) -> None:
    """A command that waited ends without a report, and no later sweep asks for a token; of a deletion GitHub sends no event."""
    town.propose("labels", UNUSED)
    leave(town, how)
    assert town.context.store.job_control.listed([*JobState], kind="report", most=1) == []
    sweep(town)
    before = asked(town)
    sweep(town, 3)
    assert asked(town) == before


@pytest.mark.parametrize("how", ["uninstalled", pytest.param("removed", marks=pytest.mark.extended)])
def test_a_later_installation(how: str, town: Town) -> None:
    """Commands are answered again, and reactions to what is posted from then on are polled."""
    leave(town, how)
    town.playground.install(app_of(town), REPOSITORY)
    town.settle()
    assert len(town.say(town.issue("A question", ""), "@apprentice help")) == 1
    town.propose("labels", UNUSED)
    sweep(town)
    polls = town.context.store.job_control.listed([*JobState], kind="poll", most=9)
    assert [each.state for each in polls] == [JobState.DONE]


def test_an_archived_repository(town: Town) -> None:
    """What waits when it is archived ends with one line each in the log, and without reports that cannot be posted."""
    archived = ours(answer(403, {"message": "Repository was archived so is read-only."}))
    for method in ("POST", "PATCH", "PUT"):
        town.playground.before(method, "^/repos/", archived, nth=0)
    with capture_logs() as log:
        number = town.propose("labels", UNUSED)
        town.maya.comment(REPOSITORY, number, "@apprentice help")
        town.settle()
    ended = [each["reason"] for each in log if each["event"] == "job ended" and each["result"] != "done"]
    assert len(ended) == 2
    assert all("archived" in each for each in ended)
    assert town.context.store.job_control.listed([*JobState], kind="report", most=1) == []
    town.playground.undisturbed()
    assert len(town.say(number, "@apprentice review")) == 0
    assert len(town.reviews(number)) == 1


@pytest.mark.parametrize("announced", [pytest.param(False, marks=pytest.mark.extended), True])
def test_a_suspension(announced: bool, town: Town) -> None:
    """What waits goes on after it, at once where GitHub announces its end; a token is asked for once an hour until then."""
    town.propose("labels", UNUSED)
    number = town.maya.open_issue(REPOSITORY, "How do I measure a cup?", "")
    town.maya.comment(REPOSITORY, number, "@apprentice help")
    town.playground.drain()
    town.clock.pass_by(3600)
    suspended = ours(answer(403, {"message": "This installation has been suspended"}))
    town.playground.before("POST", "/access_tokens$", suspended, nth=0)
    before = asked(town)
    sweep(town, 11)
    assert asked(town) == before + 2
    assert town.count(JobState.FAILED) == 0
    town.playground.undisturbed()
    if announced:
        (installation,) = town.playground.world.installations.values()
        town.playground.unsuspend(installation)
    town.later(0 if announced else 3600)
    assert [each.author for each in town.answers(number)] == [BOT]


def test_a_default_branch_with_a_new_name(town: Town) -> None:
    """An open pull request is reviewed against the branch as it is called now, and an issue is answered."""
    number = town.propose("labels", UNUSED)
    world = town.playground.world
    with world.lock:
        where = world.repository(*REPOSITORY.split("/"))
        where.git.set_ref("refs/heads/trunk", where.git.branch("main"))
        where.git.run("update-ref", "-d", "refs/heads/main")
        where.default_branch = where.issues[number].base_ref = "trunk"
    town.push("labels", {"pantry/labels.py": "def label(name):\n    return name\n"})
    assert len(town.checks(number)) == 1
    issue = town.issue("It fails", "", labels=["apprentice"])
    assert len(town.answers(issue)) == 1
    assert town.count(JobState.FAILED) == 0


def test_a_branch_that_is_deleted(town: Town) -> None:
    """A review that waits ends without a post: GitHub closes the pull request."""
    town.finn.push(REPOSITORY, "labels", UNUSED, "Work on labels")
    number = town.finn.open_pull(REPOSITORY, head="labels", title="Work on labels")
    town.playground.drain()
    town.maya.delete_branch(REPOSITORY, "labels")
    town.settle()
    assert town.reviews(number) == town.checks(number) == town.answers(number) == []
    assert town.count(JobState.FAILED) == 0
