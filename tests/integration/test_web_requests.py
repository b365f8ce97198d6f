"""The web process as GitHub and strangers see it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from bot.web.app import create_app
from bot.web.signature import HEADER, sign
from memory.model.jobs import JobState, NewJob
from memory.store import Store, open_store
from tests.databases import ThreadStore, migrated_store
from workers.errors import BadInput, Retryable
from workers.settings import WebSettings

SECRET = "correct horse"
SAMPLES = Path(__file__).parents[1] / "unit" / "bot" / "samples"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ISSUE = json.dumps(
    {
        "action": "opened",
        "issue": {"number": 12, "title": "It fails", "body": "@apprentice fix"},
        "repository": {"id": 77, "full_name": "acme/scales"},
        "sender": {"id": 501, "login": "mara"},
        "installation": {"id": 3003},
    }
).encode()

Session = Callable[[httpx.AsyncClient], Coroutine[None, None, None]]


class Desk:
    """An application over a real store, with a queue that can be out of order."""

    def __init__(self, home: Path, **settings: object) -> None:
        self.settings = WebSettings(home=home, webhook_secret=SECRET, **settings)
        self.store = migrated_store(self.settings.home / "apprentice.db")
        self.sent: list[str] = []
        self.broken = False
        self.app = create_app(
            self.settings, self.store, self.send, lambda: NOW, [ThreadStore(self.store.jobs.record_deliveries)]
        )

    def send(self, ids: Sequence[str]) -> None:
        if self.broken:
            raise Retryable("the broker refuses messages: it is on fire")
        self.sent.extend(ids)

    def run(self, session: Session) -> None:
        """Do `session` with a client, to the end of the application's life."""

        async def life() -> None:
            transport = httpx.ASGITransport(app=self.app)
            async with (
                self.app.router.lifespan_context(self.app),
                httpx.AsyncClient(transport=transport, base_url="http://web.test") as client,
            ):
                await session(client)

        asyncio.run(life())

    def post(self, body: bytes = ISSUE, **headers: str | None) -> httpx.Response:
        """One delivery; a header given as None is left out."""
        answers: list[httpx.Response] = []

        async def session(client: httpx.AsyncClient) -> None:
            answers.append(await client.post("/webhook", content=body, headers=signed(body, **headers)))

        self.run(session)
        return answers[0]

    def get(self, path: str) -> httpx.Response:
        answers: list[httpx.Response] = []

        async def session(client: httpx.AsyncClient) -> None:
            answers.append(await client.get(path))

        self.run(session)
        return answers[0]


def signed(body: bytes, **changes: str | None) -> dict[str, str]:
    headers = {"X-GitHub-Event": "issues", "X-GitHub-Delivery": "d-1", HEADER: sign(SECRET.encode(), body)}
    headers |= {"Content-Type": "application/json"}
    named = {name.replace("_", "-"): value for name, value in changes.items()}
    return {name: value for name, value in (headers | named).items() if value is not None}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.store.close()


def test_delivery(desk: Desk) -> None:
    """A delivery is stored with its jobs, answered 202, and its jobs are sent."""
    answer = desk.post()
    assert (answer.status_code, answer.json()) == (202, {"jobs": 1, "duplicate": False})
    (job_id,) = desk.sent
    stored = desk.store.jobs.job(job_id)
    assert stored is not None
    assert (stored.kind, stored.delivery_id, stored.state) == ("fix", "d-1", JobState.READY)
    assert desk.store.jobs.due(now=NOW, limit=9) == []


def test_delivered_twice(desk: Desk) -> None:
    """GitHub's redelivery of the same id changes nothing."""
    desk.post()
    again = desk.post()
    assert (again.status_code, again.json()) == (202, {"jobs": 0, "duplicate": True})
    assert desk.store.jobs.delivery_count() == 1
    assert len(desk.sent) == 1


@pytest.mark.parametrize("event", ["issues", "issue_comment"])
def test_a_replayed_body_does_nothing(event: str, desk: Desk) -> None:
    """The signature covers the body alone: with another delivery id, or as another event, a body is still a known one."""
    desk.post()
    again = desk.post(X_GitHub_Delivery="d-2", X_GitHub_Event=event)
    assert again.json()["duplicate"]
    assert desk.store.jobs.delivery_count() == 1
    assert len(desk.sent) == 1


def test_a_genuine_body_may_repeat(desk: Desk) -> None:
    """Who resolves a thread, opens it and resolves it again sends the same bytes twice: GitHub puts no time into them."""
    body = (SAMPLES / "pull_request_review_thread.json").read_bytes()
    for name in ("d-1", "d-2"):
        answer = desk.post(body, X_GitHub_Event="pull_request_review_thread", X_GitHub_Delivery=name)
        assert answer.json() == {"jobs": 1, "duplicate": False}


def test_many_at_once(desk: Desk) -> None:
    """Deliveries that arrive together are each stored once, and each sender hears about its own."""

    async def session(client: httpx.AsyncClient) -> None:
        named = [(f"d-{number % 60}", ISSUE + b" " * (number % 60)) for number in range(90)]
        posts = [
            client.post("/webhook", content=body, headers=signed(body, X_GitHub_Delivery=name)) for name, body in named
        ]
        answers = [answer.json() for answer in await asyncio.gather(*posts)]
        assert sum(answer["jobs"] for answer in answers) == 60
        assert sum(answer["duplicate"] for answer in answers) == 30

    desk.run(session)
    assert desk.store.jobs.delivery_count() == 60
    assert len(set(desk.sent)) == len(desk.sent) == 60


def test_queue_out_of_order(desk: Desk) -> None:
    """A queue that takes nothing does not lose the delivery: the answer is the same and the sweeper finds the job."""
    desk.broken = True
    assert desk.post().status_code == 202
    assert len(desk.store.jobs.due(now=NOW, limit=9)) == 1
    assert "apprentice_unsent_jobs_total 1.0" in desk.get("/metrics").text


def test_a_queue_that_works_again(desk: Desk) -> None:
    """After an outage of the broker the next jobs are sent again; those of the outage are due for workers and sweeper."""
    desk.broken = True
    desk.post()
    desk.broken = False
    desk.post(ISSUE + b" ", X_GitHub_Delivery="d-2")
    (missed,) = desk.store.jobs.due(now=NOW, limit=9)
    assert len(desk.sent) == 1
    assert missed not in desk.sent


@pytest.mark.slow
def test_a_database_that_does_not_keep_up(desk: Desk, tmp_path: Path) -> None:
    """While a delivery has waited for 5 s, others are refused, and health is answered. All that were taken are stored."""

    async def session(client: httpx.AsyncClient) -> None:
        def post(number: int) -> asyncio.Task[httpx.Response]:
            body = ISSUE + b" " * number
            headers = signed(body, X_GitHub_Delivery=f"d-{number}")
            return asyncio.create_task(client.post("/webhook", content=body, headers=headers))

        other = sqlite3.connect(tmp_path / "apprentice.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        posts = [post(0)]
        while not posts[-1].done():
            await asyncio.sleep(0.2)
            posts.append(post(len(posts)))
            await asyncio.sleep(0.2)
        assert (await client.get("/healthz")).status_code == 200
        other.execute("ROLLBACK")
        other.close()
        *taken, refused = [await each for each in posts]
        assert {each.status_code for each in taken} == {202}
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
        assert refused.json() == {"error": "too many deliveries wait to be stored; redeliver it later"}
        assert desk.store.jobs.delivery_count() == len(taken)

    desk.run(session)


@pytest.mark.parametrize(
    ("body", "headers", "status", "error"),
    [
        (ISSUE, {HEADER: None}, 401, "there is no X-Hub-Signature-256 header; set the webhook's secret on GitHub"),
        (
            ISSUE,
            {HEADER: sign(b"wrong", ISSUE)},
            401,
            "the signature does not match; set the same secret on GitHub and in APPRENTICE_WEBHOOK_SECRET",
        ),
        (ISSUE, {HEADER: "sha1=00"}, 401, "the X-Hub-Signature-256 header is malformed; it is sha256= and 64"),
        (ISSUE, {"Content-Type": None}, 415, "the webhook's content type must be application/json"),
        (ISSUE, {"Content-Type": "application/x-www-form-urlencoded"}, 415, "the webhook's content type must be"),
        (ISSUE + b" ", {HEADER: sign(SECRET.encode(), ISSUE)}, 401, "the signature does not match"),
        (b"{nonsense", {}, 400, "the body is not JSON"),
        (b"{nonsense", {"X-GitHub-Event": "star"}, 400, "the body is not JSON"),
        (b"{nonsense", {HEADER: f"sha256={'0' * 64}"}, 401, "the signature does not match"),
        (b"[" * 100_000, {}, 400, "the body is nested too deeply to be read; GitHub sends no such body"),
        (b"[" * 100_000, {"X-GitHub-Event": "star"}, 400, "the body is nested too deeply"),
        (b'{"action": "opened", "issue": ' + b'{"x":' * 100_000, {}, 400, "the body is nested too deeply"),
        (ISSUE, {"X-GitHub-Event": None}, 400, "the X-GitHub-Event header is missing or malformed"),
        (ISSUE, {"X-GitHub-Delivery": None}, 400, "the X-GitHub-Delivery header is missing or malformed"),
        (ISSUE, {"X-GitHub-Delivery": "x" * 300}, 400, "the X-GitHub-Delivery header is missing or malformed"),
    ],
)
def test_bad_input(body: bytes, headers: dict[str, str | None], status: int, error: str, desk: Desk) -> None:
    """What cannot be taken is refused with one clear line, and nothing is stored."""
    answer = desk.post(body, **headers)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(error)
    assert "\n" not in answer.json()["error"]
    assert desk.store.jobs.delivery_count() == 0


@pytest.mark.parametrize(
    ("event", "body", "reason"),
    [
        ("star", b'{"action": "created"}', "event 'star' is not one that we act on"),
        ("issues", b'{"action": "closed"}', "issues.closed is not an action that we act on"),
        (
            "issues",
            b'{"action": "opened"}',
            "issues payload cannot be used: Object missing required field `repository`",
        ),
    ],
)
def test_ignored(event: str, body: bytes, reason: str, desk: Desk) -> None:
    """What is genuine and of no use is stored and answered with the reason, so that GitHub does not show an error."""
    answer = desk.post(body, X_GitHub_Event=event)
    assert (answer.status_code, answer.json()) == (202, {"jobs": 0, "duplicate": False, "ignored": reason})
    assert desk.store.jobs.delivery_count() == 1


def test_database_gone(desk: Desk, tmp_path: Path) -> None:
    """A delivery that cannot be stored is not acknowledged, and health says that the database is down."""
    desk.store.close()
    for file in tmp_path.glob("apprentice.db*"):
        file.unlink()
    (tmp_path / "apprentice.db").mkdir()
    answer = desk.post()
    assert (answer.status_code, answer.json()) == (
        503,
        {"error": "the delivery could not be stored; redeliver it later"},
    )
    assert desk.get("/healthz").status_code == 503
    assert desk.get("/metrics").status_code == 503


def test_no_secret(tmp_path: Path) -> None:
    """Without a webhook secret there is no application."""
    settings = WebSettings(home=tmp_path)
    with open_store(settings.database()) as store, pytest.raises(BadInput, match="set APPRENTICE_WEBHOOK_SECRET"):
        create_app(settings, store, print, lambda: NOW, [])


def test_health(desk: Desk) -> None:
    """Health tells how long the oldest ready job has waited."""
    assert desk.get("/healthz").json() == {"status": "ok", "oldest_ready_seconds": 0.0}
    enqueue(desk.store, NOW - timedelta(seconds=90))
    assert desk.get("/healthz").json() == {"status": "ok", "oldest_ready_seconds": 90.0}


def enqueue(store: Store, when: datetime) -> None:
    store.jobs.enqueue([NewJob(id="j", kind="fix", payload=b"{}", run_after=when)], now=when)


def test_metrics(desk: Desk) -> None:
    """Deliveries, duplicates, refusals and jobs are counted; names that strangers choose make no new series."""
    desk.post()
    desk.post()
    desk.post(b"{}", X_GitHub_Event="star", X_GitHub_Delivery="d-2")
    desk.post(X_Hub_Signature_256="sha256=00")
    desk.post(Content_Type="text/plain")
    lines = desk.get("/metrics").text.splitlines()
    for line in (
        'apprentice_deliveries_total{event="issues"} 1.0',
        'apprentice_deliveries_total{event="other"} 1.0',
        "apprentice_duplicate_deliveries_total 1.0",
        'apprentice_rejected_requests_total{reason="bad_signature"} 1.0',
        'apprentice_rejected_requests_total{reason="content_type"} 1.0',
        'apprentice_jobs{state="ready"} 1.0',
        "apprentice_webhook_seconds_count 3.0",
    ):
        assert line in lines
    assert not [line for line in lines if "star" in line]


def test_front_page(desk: Desk) -> None:
    """Whoever comes by with a browser reads what this is, in one line."""
    answer = desk.get("/")
    assert answer.text.count("\n") == 1
    assert "/webhook" in answer.text


def test_only_what_there_is(desk: Desk) -> None:
    """There are no generated documentation pages, and the webhook takes POST alone."""
    assert desk.get("/docs").status_code == 404
    assert desk.get("/openapi.json").status_code == 404
    assert desk.get("/webhook").status_code == 405


@pytest.mark.parametrize("size", [1024 * 1024, 1024 * 1024 + 1])
def test_largest_body(size: int, tmp_path: Path) -> None:
    """A body of exactly the cap is read; one byte more is refused, whether or not its length was announced."""
    desk = Desk(tmp_path, max_payload_mb=1)
    body = ISSUE + b" " * (size - len(ISSUE))

    async def session(client: httpx.AsyncClient) -> None:
        async def stream() -> object:
            yield body[:5000]
            yield body[5000:]

        for content in (body, stream()):
            answer = await client.post("/webhook", content=content, headers=signed(body))
            assert answer.status_code == (202 if size <= 1024 * 1024 else 413)

    desk.run(session)
    desk.store.close()


@pytest.mark.parametrize("headers", [{HEADER: None}, {"Content-Type": "text/plain"}, {"X-GitHub-Event": None}, {}])
def test_refused_before_the_body(headers: dict[str, str | None], tmp_path: Path) -> None:
    """What the headers already show to be wrong is answered without a look at the body."""
    desk, read = Desk(tmp_path, max_payload_mb=1), []

    async def session(client: httpx.AsyncClient) -> None:
        async def stream() -> AsyncIterator[bytes]:
            read.append(1)
            yield b" " * 1000

        wrong = signed(b"", **headers) | {"Content-Length": str(1024 * 1024 + 1)}
        answer = await client.post("/webhook", content=stream(), headers=wrong)
        assert answer.status_code in (400, 401, 413, 415)

    desk.run(session)
    assert read == []
    desk.store.close()


def test_too_much_arrives_at_once(tmp_path: Path) -> None:
    """Bodies that do not end hold a limited number of bytes together: the oldest are given up, and a delivery gets in."""
    desk = Desk(tmp_path, max_payload_mb=1)

    async def session(client: httpx.AsyncClient) -> None:
        ended = asyncio.Event()

        async def endless() -> AsyncIterator[bytes]:
            yield b" " * 900_000
            await ended.wait()

        slow = [asyncio.create_task(client.post("/webhook", content=endless(), headers=signed(b""))) for _ in range(10)]
        shed, _ = await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED)
        while len(shed) < 8:  # two of them fit into 2 MB
            left = [each for each in slow if not each.done()]
            await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            shed = {each for each in slow if each.done()}
        assert (await client.post("/webhook", content=ISSUE, headers=signed(ISSUE))).status_code == 202
        ended.set()
        answers = [await each for each in slow]
        assert [each.status_code for each in answers] == [503] * 8 + [401] * 2
        assert answers[0].headers["Retry-After"] == "30"
        assert answers[0].json() == {"error": "too much is arriving at once; send it again later"}

    desk.run(session)
    desk.store.close()
