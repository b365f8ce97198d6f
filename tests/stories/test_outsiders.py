"""What people without write access write, and how far it gets."""

from __future__ import annotations

import pytest

from bot.playground.api import PlaygroundRequest
from tests.playground import fail
from tests.stories.pantry import BUG
from tests.stories.test_fixes import TEST_OF_BUG
from tests.stories.town import BOT, REPOSITORY, Town, nobody, readable
from workers.flows.pinning import LOOKS
from workers.flows.replies import REPLIES_TO_OUTSIDERS
from workers.flows.review import REVIEWS_FOR_OUTSIDERS
from workers.jobs import decode
from workers.queue.enqueue import rows
from workers.queue.runner import LONGEST_DELAY, run_leased

NOTES = {"notes.md": "Rice.\n"}


def tree_of(town: Town, sha: str) -> list[str]:
    return (
        town.playground.world.repository(*REPOSITORY.split("/")).git.text("ls-tree", "-r", "--name-only", sha).split()
    )


def message_of(town: Town, sha: str) -> str:
    return town.playground.world.repository(*REPOSITORY.split("/")).git.commit(sha).message


@pytest.mark.sandbox
def test_outsiders_test_is_shown_and_not_committed(town: Town) -> None:
    """An outsider's test proves the fix and is shown in full; no commit of ours brings it to where CI would run it."""
    number = town.issue("The last of it cannot be taken", BUG, by=town.olga)
    town.say(number, "@apprentice fix")
    (pull,) = town.fixes()
    assert [path for path in tree_of(town, pull.head_sha) if "test_issue" in path] == []
    assert f"```python\n{TEST_OF_BUG.rstrip()}\n```" in pull.body
    assert "**Files:** `pantry/shelf.py`\n" in pull.body
    assert (
        "The test that came with the request is **not part of this pull request**, because its author has no write access here."
        in pull.body
    )


@pytest.mark.sandbox
@pytest.mark.extended
def test_own_test_beside_an_outsiders(town: Town) -> None:
    """A maintainer who brings a test with the command gets that one committed, whatever the outsider's issue holds."""
    number = town.issue("The last of it cannot be taken", BUG.replace("everything", "anything"), by=town.olga)
    town.say(number, f"@apprentice fix\n\n```python\n{TEST_OF_BUG}```")
    (pull,) = town.fixes()
    assert town.maya.read(REPOSITORY, f"tests/test_issue_{number}.py", pull.head_ref) == TEST_OF_BUG
    assert "test_anything" not in pull.body


@pytest.mark.extended
@pytest.mark.sandbox
def test_ci_waits_for_a_person(town: Town) -> None:
    """Our commit carries the mark that keeps CI from running; a person who marks the draft as ready takes it off, once."""
    town.issue("The last of it cannot be taken", BUG)
    (pull,) = town.fixes()
    before = message_of(town, pull.head_sha)
    assert before.splitlines()[0] == "Fix ValueError in pantry/shelf.py [skip ci]"
    town.maya.mark_ready(REPOSITORY, pull.number)
    town.settle()
    (ready,) = town.fixes()
    assert ready.head_sha != pull.head_sha, "GitHub runs CI for a new head only"
    assert message_of(town, ready.head_sha) == before.replace(" [skip ci]", "")
    bare = town.playground.world.repository(*REPOSITORY.split("/")).git
    assert bare.text("diff", pull.head_sha, ready.head_sha) == ""
    assert bare.commit(ready.head_sha).parents == bare.commit(pull.head_sha).parents
    account = town.playground.world.user(BOT)
    assert bare.commit(ready.head_sha).author.email == f"{account.id}+{BOT}@users.noreply.github.com"
    town.do_again("ci")
    assert town.fixes()[0].head_sha == ready.head_sha
    assert town.checks(pull.number) == [], "we do not review our own"


@pytest.mark.extended
@pytest.mark.sandbox
def test_a_repository_without_drafts(town: Town) -> None:
    """GitHub's free plans refuse drafts: the fix is proposed as a usual pull request that warns, and CI keeps waiting."""
    hosted = town.playground.world.repository(*REPOSITORY.split("/"))
    hosted.drafts = False
    number = town.issue("The last of it cannot be taken", BUG)
    (pull,) = town.fixes()
    assert not pull.draft
    assert pull.body.startswith(
        "**Do not merge this unread.** It is no draft, because this repository has none. Its commit carries `[\u200bskip ci]`: "
        "CI runs once a person pushes a commit on top. Take the mark out of the message of a squash merge.\n\n"
        f"Fixes #{number}."
    )
    assert "[skip ci]" in message_of(town, pull.head_sha).splitlines()[0]
    assert town.checks(pull.number) == [], "we do not review our own"


@pytest.mark.extended
@pytest.mark.parametrize("command", ["review", "fix"])
def test_pushed_to_after_the_command(command: str, town: Town) -> None:
    """What a fork's author pushes after a maintainer has commanded is not what the maintainer meant."""
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "notes", NOTES, "Notes")
    number = town.olga.open_pull(REPOSITORY, head="olga:notes", title="Notes", draft=True)
    town.settle()
    town.maya.comment(REPOSITORY, number, f"@apprentice {command}")
    town.olga.push(fork, "notes", {"tests/test_evil.py": "raise SystemExit\n"}, "More")
    town.settle()
    (answer,) = town.answers(number)
    doing = {"review": "review", "fix": "repair"}[command]
    assert readable(answer.body).splitlines()[0] == (
        f"I did not {doing} this pull request: it was pushed to since you asked; ask again."
    )
    assert town.checks(number) == []
    assert [line for line in town.progress if line.startswith(("reproducing", "reading"))] == []


@pytest.mark.extended
def test_never_seen_before(town: Town) -> None:
    """A fork's pull request of which we knew no commit is not taken as it comes: the answer names what it is now."""
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "notes", NOTES, "Notes")
    number = town.olga.open_pull(REPOSITORY, head="olga:notes", title="Notes", draft=True)
    town.settle()
    with town.context.store.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM jobs")
    (answer,) = town.say(number, "@apprentice review")
    assert answer.startswith("I did not review this pull request: I knew none of its commits when you asked; it is at ")
    town.say(number, "@apprentice review")
    assert len(town.checks(number)) == 1


@pytest.mark.extended
def test_an_event_of_an_earlier_push_comes_late(town: Town) -> None:
    """Where a lost event of an earlier push comes after that of a later one, the second command is about the head that is there."""
    number = town.propose("notes", NOTES, draft=True)
    known = town.context.store.jobs.about("track", int(town.key), number)[-1].payload
    town.push("notes", {"more.md": "Salt.\n"})
    town.context.store.jobs.enqueue(rows("redelivered", [decode(known)]))
    town.say(number, "@apprentice review")
    for _ in range(LOOKS):
        town.later(LONGEST_DELAY.total_seconds())
    (answer,) = town.answers(number)
    assert answer.body.startswith("I did not review this pull request: it was pushed to since you asked; ask again.")
    town.say(number, "@apprentice review")
    assert len(town.checks(number)) == 1


@pytest.mark.extended
def test_one_reply_to_each_account_and_conversation(town: Town) -> None:
    """However many commands and verdicts strangers write, each gets one reply in a conversation."""
    number, other = town.issue("Rice", ""), town.issue("Salt", "")
    assert len(town.say(number, "@apprentice fix", by=town.olga)) == 1
    for text in ("@apprentice help", "@apprentice reject because no", "@apprentice nonsense"):
        assert town.say(number, text, by=town.olga) == []
    assert len(town.say(number, "@apprentice help", by=town.tara)) == 1
    assert len(town.say(other, "@apprentice accept", by=town.olga)) == 1
    assert town.say(other, "@apprentice accept", by=town.olga) == []
    assert len(town.say(number, "@apprentice help")) == 1, "those with write access get every answer"


def test_a_strangers_question_in_a_thread(town: Town) -> None:
    """The reply is in the thread of the command."""
    number = strangers_pull(town)
    line = town.olga.comment_on_line(REPOSITORY, number, "notes.md", 1, "@apprentice why")
    town.settle()
    assert [(each.author, each.reply_to) for each in town.maya.review_comments(REPOSITORY, number)] == [
        ("olga", None),
        (BOT, line),
    ]
    assert town.answers(number) == []


COMMANDS = ("fix", "review", "ask what is this?", "explain", "why", "share", "help", "accept", "reject", "nonsense")


def strangers_pull(town: Town, body: str = "") -> int:
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "notes", NOTES, "Notes")
    return town.olga.open_pull(REPOSITORY, head="olga:notes", title="Notes", body=body, draft=True)


def said_on(town: Town, number: int) -> int:
    """How many replies of the bot a conversation has, its review threads included."""
    in_threads = [each for each in town.maya.review_comments(REPOSITORY, number) if each.author == BOT]
    return len(town.answers(number)) + len(in_threads) + len(town.reviews(number)) + len(town.checks(number))


def test_ten_ways_to_ask_get_one_reply(town: Town) -> None:
    """The description, all commands at once, an edit, a line, a thread, a review, the same again: one reply for all."""
    every = "\n\n".join(f"@apprentice {command}" for command in COMMANDS)
    number = strangers_pull(town, every)
    comment = town.olga.comment(REPOSITORY, number, "Rice?")
    town.olga.comment(REPOSITORY, number, every)
    town.olga.request("PATCH", f"/repos/{REPOSITORY}/issues/comments/{comment}", {"body": every})
    line = town.olga.comment_on_line(REPOSITORY, number, "notes.md", 1, every)
    town.olga.reply(REPOSITORY, number, line, every)
    town.olga.reply(REPOSITORY, number, line, "@apprentice accept")
    town.olga.review(REPOSITORY, number, every)
    town.olga.comment(REPOSITORY, number, "/apprentice fix")
    town.settle()
    for event in ("issue_comment", "pull_request_review_comment", "pull_request_review", "pull_request"):
        town.redeliver(event)
    assert said_on(town, number) == 1
    other = town.issue("Rice", every, by=town.olga)
    town.say(other, every, by=town.olga)
    assert len(town.answers(other)) == 1, "another conversation has its own"


def with_another_worker(town: Town) -> None:
    """Do all jobs; another worker does what is due while the first comment is on its way."""

    def meanwhile(_request: PlaygroundRequest) -> None:
        for job in town.context.store.jobs.due(now=town.clock(), limit=100, resend_after=0.0):
            run_leased(town.context, job, worker="another", send=nobody)

    town.playground.before("POST", r"/issues/\d+/comments$", meanwhile)
    town.settle()


def test_two_workers_give_a_stranger_one_reply(town: Town) -> None:
    """A second command that is looked at while the reply to the first one is being posted gets none."""
    number = town.issue("Rice", "")
    for text in ("@apprentice fix", "@apprentice help"):
        town.olga.comment(REPOSITORY, number, text)
    town.playground.drain()
    with_another_worker(town)
    assert len(town.answers(number)) == 1
    assert len(town.progress) == 1


@pytest.mark.extended
def test_the_limit_of_a_day_holds_over_conversations_and_workers(town: Town) -> None:
    """With room for one reply, two conversations at once get one."""
    first, second = town.issue("Rice", ""), town.issue("Salt", "")
    (installation,) = town.playground.world.installations
    for other in range(REPLIES_TO_OUTSIDERS - 1):
        town.context.store.jobs.begin_effect(f"outsider:{installation}:1:1:{other}", "j", town.clock())
    for number in (first, second):
        town.olga.comment(REPOSITORY, number, "@apprentice help")
    town.playground.drain()
    with_another_worker(town)
    assert len(town.answers(first)) + len(town.answers(second)) == 1


def test_a_reply_to_a_stranger_counts_once(town: Town) -> None:
    """With room for two replies, strangers in two conversations get one each."""
    numbers = [town.issue("Rice", ""), town.issue("Salt", "")]
    (installation,) = town.playground.world.installations
    for other in range(REPLIES_TO_OUTSIDERS - 2):
        town.context.store.jobs.begin_effect(f"outsider:{installation}:1:1:{other}", "j", town.clock())
    assert [len(town.say(number, "@apprentice help", by=town.olga)) for number in numbers] == [1, 1]


def test_a_strangers_command_that_fails_says_nothing(town: Town) -> None:
    """Where we may not reply, a conversation that was locked perhaps, no check run speaks in the reply's place."""
    number = strangers_pull(town)
    town.olga.comment(REPOSITORY, number, "@apprentice review")
    town.playground.drain()
    town.playground.before("POST", rf"/issues/{number}/comments$", fail(403, "Locked"), nth=0)
    town.settle()
    assert said_on(town, number) == 0


@pytest.mark.extended
def test_replies_to_strangers_are_few_a_day(town: Town) -> None:
    """Many strangers in many conversations do not make us talk either: one installation has so many replies a day."""
    number = town.issue("Rice", "")
    (installation,) = town.playground.world.installations
    for other in range(REPLIES_TO_OUTSIDERS):
        town.context.store.jobs.begin_effect(f"outsider:{installation}:1:1:{other}", "j", town.clock())
    assert town.say(number, "@apprentice fix", by=town.olga) == []
    why = "one of theirs was answered already, or 30 outsiders' commands were answered within a day"
    assert town.progress == [f"no reply to olga: {why}"]
    town.clock.pass_by(86_400)
    assert len(town.say(number, "@apprentice fix", by=town.olga)) == 1


@pytest.mark.extended
def test_reviews_for_strangers_are_limited_a_day(town: Town) -> None:
    """Beyond the limit a stranger's commit gets a neutral check that says how to get a review; a maintainer gets it."""
    (installation,) = town.playground.world.installations
    for other in range(REVIEWS_FOR_OUTSIDERS):
        town.context.store.jobs.begin_effect(f"outsider-review:{installation}:1:1:{other}", "j", town.clock())
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "notes", NOTES, "Notes")
    number = town.olga.open_pull(REPOSITORY, head="olga:notes", title="Notes")
    town.settle()
    (check,) = town.checks(number)
    assert (check.title, check.conclusion) == ("Not reviewed", "neutral")
    assert "200 commits by authors without write access were reviewed within a day" in check.summary
    town.say(number, "@apprentice review")
    assert {each.title for each in town.checks(number)} == {"Not reviewed", "Nothing found"}


@pytest.mark.extended
def test_base_branches_that_strangers_choose_are_limited_a_day(town: Town) -> None:
    """Each other base branch that a stranger chooses counts like a commit."""
    (installation,) = town.playground.world.installations
    for other in range(REVIEWS_FOR_OUTSIDERS - 1):
        town.context.store.jobs.begin_effect(f"outsider-review:{installation}:1:1:{other}", "j", town.clock())
    town.finn.push(REPOSITORY, "next", NOTES, "Notes")
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "more", {"more.md": "Beans.\n"}, "More")
    number = town.olga.open_pull(REPOSITORY, head="olga:more", title="More")
    town.settle()
    town.olga.retarget(REPOSITORY, number, "next")
    town.settle()
    assert [each.title for each in town.checks(number)] == ["Not reviewed", "Nothing found, no test was run"]
