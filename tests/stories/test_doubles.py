"""Rounds that overlap and answers that are lost: everything is posted once, and what GitHub makes too late is removed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from memory.model.jobs import JobState
from tests.playground import fail
from tests.stories import town as founding
from tests.stories.pantry import UNITS
from tests.stories.town import REPOSITORY, Town, nobody, readable
from workers.job_context import IN_FLIGHT, LATE
from workers.queue.runner import LONGEST_DELAY, run_leased
from workers.review.engine import Reviewed

pytestmark = pytest.mark.extended

JARS = 'import os\n\n\ndef jar():\n    return f"jar"\n'
REVIEWS = r"/pulls/\d+/reviews$"
COMMENTS = r"/issues/\d+/comments$"
CHECKS = r"/check-runs$"


def together(town: Town, *, workers: int = 2) -> None:
    """Deliver what is there, and do every job that is due, several at a time, as separate workers do."""
    for _ in range(20):
        town.playground.drain()
        due = town.context.store.jobs.due(now=town.clock(), limit=100, resend_after=0.0)
        if not due:
            return

        def work(job: str) -> None:
            run_leased(town.context, job, worker=threading.current_thread().name, send=nobody)

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, due))
    raise AssertionError("still at work")


def test_opened_and_commanded_at_once(town: Town) -> None:
    """A pull request that is opened, and a command two seconds later, get one review between them."""
    town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": JARS}, "Jars")
    number = town.finn.open_pull(REPOSITORY, head="jars", title="Jars")
    town.finn.comment(REPOSITORY, number, "@apprentice review")
    together(town)
    assert len(town.reviews(number)) == 1
    assert len({remark.body for remark in town.remarks(number)}) == len(town.remarks(number)) > 0
    assert town.count(JobState.FAILED) == 0


def test_a_command_while_the_first_review_is_read(town: Town) -> None:
    """A command that comes while the opened pull request is read takes its place: one review."""
    town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": JARS}, "Jars")
    number = town.finn.open_pull(REPOSITORY, head="jars", title="Jars")
    town.playground.after("POST", "/git-upload-pack$", once(lambda: command(town, number)))
    together(town)
    assert len(town.reviews(number)) == 1


def test_a_push_ends_the_reading(tmp_path: Path) -> None:
    """A push while the head before it is read ends that reading: what it would find is of no use."""
    with founding.town(tmp_path, lease_seconds=0.3) as town:
        town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": JARS}, "Jars")
        number = town.finn.open_pull(REPOSITORY, head="jars", title="Jars")
        left = town.maya.pull(REPOSITORY, number).head_sha

        def push() -> None:
            town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": JARS + "\n\nX = 1\n"}, "More")
            town.playground.drain()
            time.sleep(1.0)  # ten heartbeats

        town.playground.after("POST", r"/check-runs$", once(push))
        town.settle()
        assert [line.startswith("reading ") for line in town.progress].count(True) == 1
        assert len(town.reviews(number)) == len(town.checks(number)) == 1
        assert [each.title for each in town.maya.checks(REPOSITORY, left)] == ["Not reviewed"]


def test_a_strangers_command_takes_no_place(town: Town) -> None:
    """A stranger's command cancels no review."""
    town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": JARS}, "Jars")
    number = town.finn.open_pull(REPOSITORY, head="jars", title="Jars")
    town.olga.comment(REPOSITORY, number, "@apprentice review")
    together(town)
    assert len(town.reviews(number)) == 1


def test_a_push_while_the_first_review_posts(town: Town) -> None:
    """A push while a review is being posted has its own round after it, which repeats nothing."""
    town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": JARS}, "Jars")
    number = town.finn.open_pull(REPOSITORY, head="jars", title="Jars")

    def push() -> None:
        town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": JARS + "\n\nX = 1\n"}, "More")
        town.playground.drain()
        ids = town.context.store.jobs.due(now=town.clock(), limit=9, resend_after=0.0)
        for each in ids:  # what a second worker would do now
            run_leased(town.context, each, worker="second", send=nobody)

    town.playground.before("POST", REVIEWS, once(push))
    together(town)
    bodies = [remark.body.partition("<!--")[0] for remark in town.remarks(number)]
    assert len(set(bodies)) == len(bodies) > 0
    assert town.count(JobState.FAILED) == 0


@pytest.mark.parametrize("path", [REVIEWS, COMMENTS, CHECKS])
def test_a_write_that_comes_too_late(path: str, town: Town) -> None:
    """What GitHub makes after it gave us an error, and after we made it again, is found later and removed."""
    late: list[PlaygroundRequest] = []

    def lost(request: PlaygroundRequest) -> PlaygroundResponse | None:
        if not request.headers.get("user-agent", "").startswith("apprentice") or late:
            return None
        late.append(request)
        return fail(504)(request)

    town.playground.before("POST", path, lost, nth=0)
    town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": JARS}, "Jars")
    number = town.finn.open_pull(REPOSITORY, head="jars", title="Jars")
    if path == COMMENTS:
        town.finn.comment(REPOSITORY, number, "@apprentice help")
    town.settle()
    town.later(LONGEST_DELAY.total_seconds() / 60)
    remarks = [remark.id for remark in town.remarks(number)]
    (sent,) = late
    town.playground.answer(sent)
    town.later(LATE.total_seconds())
    assert [remark.id for remark in town.remarks(number)] == remarks
    if path == COMMENTS:
        assert len(town.answers(number)) == 1
    elif path == CHECKS:
        checks = {each.name: each.conclusion for each in town.checks(number)}
        assert checks == {"Apprentice": "neutral", "Apprentice (posted twice)": "skipped"}
    else:
        kept, second = town.reviews(number)
        assert kept.body.startswith("Reviewed ")
        assert second.body == "GitHub posted this review twice, after a time-out. The other one counts."


SMALL = {
    "pantry/__init__.py": "",
    "pantry/units.py": 'def shown(amount):\n    return f"{amont} g"\n',
    "tests/test_units.py": "from pantry.units import shown\n\n\ndef test_shown():\n    assert shown(5) == '5 g'\n",
}


def test_a_pull_request_that_comes_too_late(tmp_path: Path) -> None:
    """A pull request that GitHub opens after it gave us an error is found where GitHub refuses a second one."""
    late: list[PlaygroundRequest] = []
    with founding.town(tmp_path, SMALL) as town:

        def lost(request: PlaygroundRequest) -> PlaygroundResponse | None:
            late.append(request)
            if len(late) == 1:
                return fail(504)(request)
            town.playground.undisturbed()
            town.playground.answer(late[0])
            return None

        town.playground.before("POST", "/pulls$", lost, nth=0)
        number = town.issue("Nothing can be shown", "@apprentice fix")
        town.later(LONGEST_DELAY.total_seconds())
        (fix,) = town.fixes()
        (answer,) = town.answers(number)
        assert f"I opened #{fix.number}" in answer.body
        assert town.count(JobState.FAILED) == 0


def test_a_retried_review_goes_on(town: Town) -> None:
    """A review that could not be posted is not read and proven again, and shows what it would have shown."""
    broken: dict[str, str | bytes | None] = {"pantry/units.py": UNITS.replace("amount >= 1000", "amount > 1000")}
    town.finn.push(REPOSITORY, "kilo", broken, "Kilo")
    town.playground.before("POST", REVIEWS, fail(502), nth=0)
    number = town.finn.open_pull(REPOSITORY, head="kilo", title="Kilo")
    town.settle()
    town.playground.undisturbed()
    town.later(LONGEST_DELAY.total_seconds())
    assert [line.startswith("reading ") for line in town.progress].count(True) == 1
    (review,), (check,) = town.reviews(number), town.checks(number)
    again = town.propose("again", broken)
    (other,), (second,) = town.reviews(again), town.checks(again)
    assert readable(review.body) == readable(other.body)
    shown, anew = ([proof(remark.body) for remark in town.remarks(each)] for each in (number, again))
    assert shown == anew != []
    assert (check.title, check.conclusion) == (second.title, second.conclusion) == ("1 broken test", "failure")
    assert town.context.store.review_cache.all(Reviewed) == []


def test_two_jobs_of_one_key(town: Town) -> None:
    """While one job may still be posting something, another that would post the same waits, and then finds it."""
    number = town.propose("jars", {"pantry/jars.py": JARS})
    store = town.context.store
    with store.database.writing() as connection:
        connection.exec_driver_sql(
            "UPDATE effects SET done_at = NULL, reference = '', job_id = 'x' WHERE key LIKE '%:check'"
        )
        connection.exec_driver_sql("UPDATE jobs SET state = 'ready' WHERE kind = 'review'")
    town.settle()
    town.later(IN_FLIGHT.total_seconds())
    assert len(town.checks(number)) == 1
    assert town.count(JobState.FAILED) == 0


def proof(body: str) -> str:
    """A remark down to what its proof was run on; probabilities follow."""
    return readable(body).partition("- only Python sources were changed")[0]


def command(town: Town, number: int) -> None:
    town.finn.comment(REPOSITORY, number, "@apprentice review")
    town.playground.drain()


def once(act: Callable[[], None]) -> Callable[[PlaygroundRequest], None]:
    """A hook that acts and lets the request go on."""
    return lambda _request: act()
