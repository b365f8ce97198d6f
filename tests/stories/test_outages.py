"""GitHub is away, limits us, or does not take our token any more: nothing is lost, nothing is said twice, others go on."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta

import pytest
from inline_snapshot import snapshot
from structlog.testing import capture_logs

from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.models import HostedPull
from memory.model.jobs import JobState
from tests.playground import Hook, fail, secondary_limit
from tests.stories.town import BOT, REPOSITORY, Town, readable
from workers.queue.runner import LONGEST_DELAY, PATIENCE

pytestmark = pytest.mark.extended

COMMENT = ("POST", r"/issues/\d+/comments$")
OTHER = "forge/hammer"
JARS = "import os\n\n\ndef jar():\n    return 1\n"


def ours(hook: Hook) -> Hook:
    """The same, for the requests of Apprentice alone."""
    return lambda request: hook(request) if request.headers.get("user-agent", "").startswith("apprentice") else None


def answer(status: int, body: object, **headers: str) -> Hook:
    """A hook that gives this answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    given = {"Content-Type": "application/json", **named}
    return lambda _request: PlaygroundResponse(status=status, headers=given, body=json.dumps(body).encode())


def ask(town: Town) -> int:
    """Ask for help in a new issue; its number."""
    number = town.maya.open_issue(REPOSITORY, "How do I measure a cup?", "")
    town.maya.comment(REPOSITORY, number, "@apprentice help")
    town.settle()
    return number


def earliest(town: Town) -> datetime:
    """When the only job that waits may go on."""
    due = town.context.store.jobs.due(now=town.clock() + PATIENCE, limit=100, resend_after=0.0)
    (waiting,) = town.jobs(*due)
    return waiting.run_after


@pytest.mark.parametrize("where", [("GET", "."), ("POST", "/access_tokens$"), COMMENT])
def test_half_an_hour_without_github(where: tuple[str, str], town: Town) -> None:
    """Reads, writes and tokens that fail for half an hour cost the user time, and nothing else."""
    town.playground.before(*where, ours(fail(503)), nth=0)
    number = ask(town)
    for _ in range(2):
        town.later(LONGEST_DELAY.total_seconds())
    assert town.answers(number) == []
    town.playground.undisturbed()
    town.later(LONGEST_DELAY.total_seconds())
    assert len(town.answers(number)) == 1
    assert town.count(JobState.FAILED) == 0


def test_a_day_without_github(town: Town) -> None:
    """After 24 hours a job is given up, and the user is told as soon as GitHub is back."""
    town.playground.before(*COMMENT, ours(fail(502)), nth=0)
    number = ask(town)
    town.later(PATIENCE.total_seconds())
    assert town.count(JobState.FAILED) == 1
    town.later(LONGEST_DELAY.total_seconds())
    assert town.answers(number) == []
    town.playground.undisturbed()
    town.later(LONGEST_DELAY.total_seconds())
    (told,) = town.answers(number)
    assert readable(told.body) == snapshot("""\
I could not answer: gave up after 24 hours: GitHub answered 502 while commenting on #\u200b1
<!-- marker -->\
""")


LIMITS = {
    "secondary": secondary_limit(300),
    "too many": fail(429, "Too many requests", retry_after=300),
    "primary": lambda request: answer(
        403,
        {"message": "API rate limit exceeded for installation ID 7."},
        x_ratelimit_remaining="0",
        x_ratelimit_reset=str(int(time.time()) + 300),
    )(request),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_on_writes(limit: str, town: Town) -> None:
    """What GitHub asks to wait is waited, and then one answer is given."""
    town.playground.before(*COMMENT, ours(LIMITS[limit]), nth=0)
    begun = town.clock()
    number = ask(town)
    assert earliest(town) >= begun + timedelta(seconds=299)
    town.playground.undisturbed()
    town.later(303)
    assert len(town.answers(number)) == 1


def test_one_limit_stops_one_installation(town: Town) -> None:
    """While one installation waits for the end of its limit, another is answered, and no request is made for the first."""
    (app,) = town.playground.world.apps.values()
    town.playground.add_user("forge")
    town.playground.add_repository(OTHER, {"README.md": "A hammer.\n"})
    town.playground.grant(OTHER, "maya", "write")
    town.playground.install(app, OTHER)
    town.playground.before("POST", f"/repos/{REPOSITORY}/issues/.*/comments$", ours(secondary_limit(300)), nth=0)
    ask(town)
    sent = len(town.playground.requests)
    second = ask(town)
    assert not [each for each in town.playground.requests[sent:] if each.actor == BOT]
    number = town.maya.open_issue(OTHER, "Help?", "")
    town.maya.comment(OTHER, number, "@apprentice help")
    town.settle()
    assert [each.author for each in town.maya.comments(OTHER, number)] == ["maya", BOT]
    town.playground.undisturbed()
    town.later(301)
    assert len(town.answers(second)) == 1


@pytest.mark.parametrize("by", ["api", "git"])
def test_a_token_that_is_revoked(by: str, town: Town) -> None:
    """A token that GitHub does not take any more is dropped, and the next one does the work."""
    number = ask(town)

    def revoke(_request: PlaygroundRequest) -> None:
        world = town.playground.world
        with world.lock:
            for token in [each for each in world.tokens.values() if each.installation]:
                del world.tokens[token.value]

    if by == "api":
        town.playground.after("GET", "/permission$", ours(revoke))
        town.maya.comment(REPOSITORY, number, "@apprentice help")
        town.settle()
        assert len(town.answers(number)) == 1
        town.later(6)
        assert len(town.answers(number)) == 2
    else:
        town.playground.before("GET", "/info/refs$", revoke)
        number = town.propose("jars", {"pantry/jars.py": JARS})
        assert town.checks(number) == []
        town.later(6)
        assert len(town.checks(number)) == 1
    assert town.count(JobState.FAILED) == 0


def test_a_clock_that_is_wrong(town: Town) -> None:
    """Where GitHub takes no signature of this machine's time the log names the clock, and the work goes on once it is right."""
    world = town.playground.world
    right = world.now
    world.now = lambda: right() - timedelta(hours=1)
    with capture_logs() as log:
        number = ask(town)
    (reason,) = {each["reason"] for each in log if each["event"] == "job ended" and "reason" in each}
    assert "401" in reason
    assert reason.endswith("check this machine's clock")
    world.now = right
    town.later(60)
    assert len(town.answers(number)) == 1


@pytest.mark.parametrize("change", ["push", "reopen"])
def test_github_shows_what_was_before(change: str, town: Town) -> None:
    """Where GitHub shows a pull request as it was before the event, it is looked at again, and the review is not lost."""
    town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": JARS}, "Jars")
    number = town.finn.open_pull(REPOSITORY, head="jars", title="Jars")
    if change == "reopen":
        town.finn.close(REPOSITORY, number)
    town.settle()
    before = town.finn.request("GET", f"/repos/{REPOSITORY}/pulls/{number}")
    town.playground.before("GET", rf"/pulls/{number}$", ours(answer(200, before)), nth=0)
    if change == "reopen":
        town.finn.reopen(REPOSITORY, number)
    else:
        town.finn.push(REPOSITORY, "jars", {"pantry/jars.py": f"{JARS}\n\nJAR = jar()\n"}, "More")
    town.settle()
    town.playground.undisturbed()
    town.later(LONGEST_DELAY.total_seconds())
    assert len(town.checks(number)) == 1


def test_check_runs_that_github_refuses(town: Town) -> None:
    """Without that permission a review is posted all the same, once, and one line of the log names what is missing."""
    (installation,) = town.playground.world.installations.values()
    del installation.permissions["checks"]
    with capture_logs() as log:
        number = town.propose("jars", {"pantry/jars.py": JARS})
    town.do_again("review")
    assert len(town.reviews(number)) == 1
    assert town.answers(number) == []
    assert town.count(JobState.FAILED) == 0
    (line,) = [each for each in log if each["event"] == "check run not written"]
    assert "check the App's permissions" in line["error"]
    installation.permissions["checks"] = "write"
    town.later(3600)
    town.push("jars", {"pantry/jars.py": JARS.replace("import os\n", "")})
    assert len(town.checks(number)) == 1


SHELVES = "".join(f"def shelf_{number}(jars=[]):\n    return jars\n\n\n" for number in range(120))


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_annotations_in_several_requests(lost: str, town: Town) -> None:
    """An error between the requests of one check run costs none of its annotations, and adds none twice."""
    watch = town.playground.before if lost == "request" else town.playground.after
    watch("PATCH", r"/check-runs/\d+$", ours(fail(502)), nth=2)
    number = town.propose("shelves", {"pantry/shelves.py": SHELVES})
    assert [each.annotations for each in town.checks(number)] == [50 if lost == "request" else 100]
    town.later(LONGEST_DELAY.total_seconds())
    (check,) = town.checks(number)
    assert check.annotations == len(town.sightings(number)) >= 120


GRAPHQL = {
    "limited": {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]},
    "secondary": {"message": "You have exceeded a secondary rate limit.", "documentation_url": "https://docs"},
    "broken": {"data": None, "errors": [{"message": "Something went wrong while executing your query."}]},
}


@pytest.mark.parametrize("kind", GRAPHQL)
def test_graphql_fails_with_status_200(kind: str, town: Town) -> None:
    """GraphQL tells of limits and of its own failures in answers that look like successes: they are waited for too."""
    number = town.propose("jars", {"pantry/jars.py": JARS})
    town.playground.before("POST", "/graphql$", ours(answer(200, GRAPHQL[kind])), nth=0)
    town.push("jars", {"pantry/jars.py": JARS.replace("import os\n", "")})
    town.later(61)
    town.playground.undisturbed()
    town.later(LONGEST_DELAY.total_seconds())
    assert town.count(JobState.FAILED) == 0
    pull = town.playground.world.repository(*REPOSITORY.split("/")).issues[number]
    assert isinstance(pull, HostedPull)
    assert [thread.resolved_by is None for thread in pull.threads] == [False]
