"""Webhooks that never arrived are asked for again, through the real PyGithub and the playground's delivery log."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from msgspec import structs

from bot.playground.api import PlaygroundResponse
from bot.playground.models import App, WebhookDelivery
from memory.model.jobs import Delivery, LeasedJob, NewJob
from memory.retrieval.embeddings import HashedWords
from memory.store.documents import HookLogPosition
from tests.databases import end_all, migrated_store
from tests.playground import Playground, fail, minting_for
from workers.errors import CannotRun, Unavailable
from workers.flows import maintenance
from workers.flows.maintenance import MAX_FAILURES
from workers.job_context import JobContext, open_job_context
from workers.jobs import RedeliverWebhooks
from workers.queue.enqueue import rows
from workers.queue.sweeper import enqueue_search
from workers.settings import WorkerSettings, load

pytestmark = pytest.mark.extended

LEASED = LeasedJob(id="a-job", kind="reconcile", payload=b"", attempts=1, token=1, worker="w")
NOBODY = "http://127.0.0.1:9/webhook"


@pytest.fixture
def playground() -> Iterator[Playground]:
    with Playground() as running:
        running.add_user("ada")
        running.add_repository("ada/engine", {"README.md": "# engine\n"})
        yield running


@pytest.fixture
def app(playground: Playground) -> App:
    made = playground.add_app("apprentice", owner="ada", webhook_secret="s" * 20)
    playground.set_webhook(made, NOBODY)
    playground.install(made, "ada/engine")
    playground.drain()
    return made


@pytest.fixture
def _minting(playground: Playground, app: App, tmp_path: Path) -> Iterator[None]:
    with minting_for(app, playground, tmp_path):
        yield


def later(playground: Playground, home: Path) -> JobContext:
    """A context for which an hour has passed since the webhooks were tried."""
    settings = load(WorkerSettings, home=home, github_url=playground.url)
    context = open_job_context(settings, embedder=HashedWords(), clock=lambda: datetime.now(UTC) + timedelta(hours=1))
    return under_lease(context)


def under_lease(context: JobContext) -> JobContext:
    """The context of a job, with its row."""
    context.store.jobs.enqueue([NewJob(id=LEASED.id, kind=LEASED.kind, payload=b"")])
    return context.for_job(LEASED, Event())


def tried(playground: Playground) -> list[str]:
    playground.drain()
    return [delivery.notice.guid for delivery in playground.world.deliveries]


def compare(context: JobContext) -> None:
    assert maintenance.redeliver(RedeliverWebhooks(), context) == ()


def in_the_log(playground: Playground, app: App, count: int, *, status: int = 502, **changes: object) -> list[str]:
    """So many more attempts to deliver a comment, all as old as now; their ids."""
    notice = playground.world.deliveries[-1].notice
    made = []
    for number in range(count):
        guid = f"{len(playground.world.deliveries)}-{number}"
        given = {"guid": guid, "event": "issue_comment", "action": "created"} | changes
        attempt = WebhookDelivery(
            id=playground.world.next_id(),
            notice=structs.replace(notice, **given),
            delivered_at=playground.world.now(),
            duration=0.1,
            status="",
            status_code=status,
        )
        playground.world.deliveries.append(attempt)
        made.append(guid)
    return made


def asked(playground: Playground) -> int:
    """How many attempts were requested so far."""
    return sum(1 for each in playground.requests if each.method == "POST" and each.path.endswith("/attempts"))


def pages(playground: Playground) -> int:
    return sum(1 for each in playground.requests if each.path == "/app/hook/deliveries")


@pytest.mark.usefixtures("_minting")
def test_what_was_never_stored_is_asked_for_again(playground: Playground, app: App, tmp_path: Path) -> None:
    """Each lost delivery that something follows from is sent once more under the same id; another comparison asks no more."""
    lost = in_the_log(playground, app, 3)
    in_the_log(playground, app, 1, status=202)
    context = later(playground, tmp_path)
    compare(context)
    assert set(tried(playground)[-5:]) >= set(lost)
    requested = asked(playground)
    compare(context)
    assert asked(playground) == requested


@pytest.mark.usefixtures("_minting")
def test_a_request_that_github_fails_at(playground: Playground, app: App, tmp_path: Path) -> None:
    """One 503 holds up no other request of the page, and is tried again; where GitHub is away few are tried."""
    in_the_log(playground, app, 4)
    in_the_log(playground, app, 1, status=202)
    context = later(playground, tmp_path)
    playground.before("POST", "/attempts$", fail(503), nth=3)
    with pytest.raises(Unavailable):
        compare(context)
    playground.undisturbed()
    tried(playground)
    before = asked(playground)
    compare(context)
    assert asked(playground) - before == 1
    tried(playground)
    in_the_log(playground, app, 7)
    in_the_log(playground, app, 1, status=202)
    playground.before("POST", "/attempts$", fail(503), nth=0)
    before = asked(playground)
    with pytest.raises(Unavailable):
        compare(context)
    assert asked(playground) - before == MAX_FAILURES


def test_of_several_searches_one_runs(tmp_path: Path) -> None:
    """Searches do not ask for the same at one time, nor take every worker."""
    with migrated_store(tmp_path / "a.db") as store:
        now = datetime.now(UTC)
        first, second = (rows(name, [RedeliverWebhooks()])[0] for name in ("first", "second"))
        store.jobs.enqueue([first, second], now=now)
        leased = [store.jobs.lease(each.id, worker="w", now=now, seconds=60.0) for each in (first, second)]
        assert [each is not None for each in leased] == [True, False]


@pytest.mark.usefixtures("_minting")
def test_what_github_does_not_send_again(playground: Playground, app: App, tmp_path: Path) -> None:
    """A delivery that GitHub refuses to send holds up no other, and is not asked for a second time."""
    in_the_log(playground, app, 2)
    in_the_log(playground, app, 1, status=202, event="push")
    context = later(playground, tmp_path)
    stored(playground, context, {"ping", "installation"})
    playground.before("POST", "/attempts$", fail(422, "Delivery is too old"))
    for _ in range(2):
        compare(context)
    assert asked(playground) == 2
    assert (position := context.store.hook_log.get("", HookLogPosition)) is not None
    assert position.cursor == ""


@pytest.mark.usefixtures("_minting")
def test_an_empty_page_is_read_past(playground: Playground, tmp_path: Path) -> None:
    """A page without deliveries says nothing of how old they are: the comparison goes on at the older ones."""
    context = later(playground, tmp_path)
    link = f'<{playground.url}/app/hook/deliveries?per_page=100&cursor=v1_9>; rel="next"'
    headers = {"Content-Type": "application/json; charset=utf-8"}
    empty = PlaygroundResponse(status=200, headers={**headers, "Link": link}, body=b"[]")
    last = PlaygroundResponse(status=200, headers=headers, body=b"[]")
    playground.before("GET", "/app/hook/deliveries", lambda _request: empty, nth=1)
    playground.before("GET", "/app/hook/deliveries", lambda _request: last, nth=2)
    compare(context)
    assert (position := context.store.hook_log.get("", HookLogPosition)) is not None
    assert position.cursor == ""


@pytest.mark.usefixtures("_minting")
def test_a_cursor_that_github_does_not_know(playground: Playground, app: App, tmp_path: Path) -> None:
    """The comparison ends with the reason, and the next one begins anew from the newest."""
    lost = in_the_log(playground, app, 1)
    in_the_log(playground, app, 150, status=202, event="push")
    context = later(playground, tmp_path)
    stored(playground, context, {"ping", "installation"})
    playground.before("GET", "/app/hook/deliveries", fail(422, "Invalid cursor"), nth=2)
    with pytest.raises(CannotRun, match="Invalid cursor"):
        maintenance.redeliver(RedeliverWebhooks(), context)
    assert (position := context.store.hook_log.get("", HookLogPosition)) is not None
    assert position.cursor == ""
    compare(context)
    assert asked(playground) == len(lost)


@pytest.mark.usefixtures("_minting")
def test_only_what_is_needed(playground: Playground, app: App, tmp_path: Path) -> None:
    """An event or action that nothing follows from is not asked for, nor what the web process refused for good."""
    for changes in ({"event": "push"}, {"action": "deleted"}, {"event": "issues", "action": None}):
        in_the_log(playground, app, 1, **changes)
    for status in (400, 413, 415):
        in_the_log(playground, app, 1, status=status)
    in_the_log(playground, app, 1, status=202, event="push")
    stored(playground, context := later(playground, tmp_path), {"ping", "installation"})
    compare(context)
    assert asked(playground) == 0


def stored(playground: Playground, context: JobContext, events: set[str]) -> None:
    for each in playground.world.deliveries:
        if each.notice.event in events:
            delivery = Delivery(id=each.notice.guid, event="ping", received_at=context.clock())
            context.store.jobs.record_deliveries([delivery])


@pytest.mark.usefixtures("_minting")
def test_what_was_stored_is_left_alone(playground: Playground, tmp_path: Path) -> None:
    """A delivery that reached the database is not asked for, however GitHub saw it end."""
    context, before = later(playground, tmp_path), tried(playground)
    stored(playground, context, {"ping", "installation"})
    compare(context)
    assert tried(playground) == before


@pytest.mark.usefixtures("_minting")
def test_what_is_on_its_way_is_left_alone(playground: Playground, tmp_path: Path) -> None:
    """A delivery of this minute may still arrive by itself."""
    settings = load(WorkerSettings, home=tmp_path, github_url=playground.url)
    before = tried(playground)
    compare(under_lease(open_job_context(settings, embedder=HashedWords())))
    assert tried(playground) == before


@pytest.mark.usefixtures("_minting")
def test_while_the_web_process_is_down(playground: Playground, tmp_path: Path) -> None:
    """Where the newest attempt failed one is requested to see whether it arrives now, and the others only when one did."""
    context = later(playground, tmp_path)
    for polls in (1, 2, 3):
        compare(context)
        playground.drain()
        assert (asked(playground), context.store.hook_log.get("", HookLogPosition)) == (polls, None)


def test_a_long_log_is_read_once(playground: Playground, app: App, tmp_path: Path) -> None:
    """After an outage the log is read page by page in several jobs, each within its limit of calls; the next comparison
    reads only what is new."""
    lost = in_the_log(playground, app, 20)
    received = in_the_log(playground, app, 9000, status=202)
    context = later(playground, tmp_path)
    for start in range(0, len(received), 500):
        batch = [
            Delivery(id=guid, event="issue_comment", received_at=context.clock()) for guid in received[start:][:500]
        ]
        context.store.jobs.record_deliveries(batch)
    stored(playground, context, {"ping", "installation"})
    jobs = 0
    while jobs == 0 or (position := context.store.hook_log.get("", HookLogPosition)) is None or position.cursor:
        before = len(playground.requests)
        with minting_for(app, playground, tmp_path):  # one a minute: each has the calls of a minute
            compare(context)
        jobs += 1
        assert len(playground.requests) - before <= maintenance.CALLS_AT_ONCE
        assert jobs < 20
    assert asked(playground) == len(lost)
    assert pages(playground) < 93 + jobs + 5
    playground.drain()
    before = pages(playground)
    context = dataclasses.replace(context, clock=lambda: datetime.now(UTC) + timedelta(hours=2))
    with minting_for(app, playground, tmp_path):
        compare(context)
    assert pages(playground) - before <= 4  # what came by the requests, and nothing behind it


@pytest.mark.usefixtures("_minting")
def test_a_comparison_under_way_goes_on_each_minute(playground: Playground, app: App, tmp_path: Path) -> None:
    """The sweeper enqueues its next part; where nothing is under way it waits for the next poll."""
    in_the_log(playground, app, 5)
    in_the_log(playground, app, 7000, status=202, event="push")
    context = later(playground, tmp_path)
    now = context.clock().replace(second=0)
    compare(context)
    end_all(context.store, now)
    found = list[int]()
    for seconds in (0, 10, 60):
        found.append(enqueue_search(context.store, now + timedelta(seconds=seconds), every=86_400.0))
        end_all(context.store, now + timedelta(seconds=seconds))
    assert found == [1, 0, 1]


def test_without_an_app_there_is_nothing_to_ask(tmp_path: Path) -> None:
    """A machine that is used locally alone asks GitHub nothing."""
    context = open_job_context(load(WorkerSettings, home=tmp_path), embedder=HashedWords())
    assert context.hook() is None
    assert maintenance.redeliver(RedeliverWebhooks(), context) == ()
