"""A town for stories: a GitHub to play with, a real web process that hears it, and a worker that does what came in.

Everything is real but four things: GitHub is the playground, the worker does its jobs in the test's own thread when
`settle` is called, what failures look like is compared by words instead of by a language model, and a sandboxed run that
another story made is not made again (`known_runs`).
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from socket import create_server
from unittest.mock import patch

import uvicorn
from msgspec.structs import replace

from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.client import ShownCheck, ShownComment, ShownPull
from bot.playground.models import App
from bot.web.app import create_app
from memory.model import Sighting
from memory.model.jobs import JobState, StoredJob
from memory.retrieval.embeddings import HashedWords
from memory.store import open_store
from tests.databases import ThreadStore, migrated
from tests.playground import Maintainer, Playground, fail, minting_for
from tests.stories.known_runs import runs_kept
from tests.stories.pantry import FILES
from workers.errors import Retryable
from workers.flows import FLOWS, reviewed_change
from workers.job_context import JobContext, open_job_context
from workers.jobs import PollReactions, RepositoryRef
from workers.queue.enqueue import Send, rows
from workers.queue.runner import run_leased
from workers.review import untested
from workers.settings import WebSettings, WorkerSettings

REPOSITORY = "kitchen/pantry"
SECRET = "a secret for stories"
STARTUP_SECONDS = 300.0
BUDGET_SECONDS = 240.0
MAX_ROUNDS = 20
BOT = "apprentice[bot]"


class Clock:
    """The time, which a story can move on."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def pass_by(self, seconds: float) -> None:
        self._ahead += timedelta(seconds=seconds)


class Town:
    """One repository, its people, and Apprentice at work on it.

    maya is its admin, finn may write, tara may triage, olga is a stranger.
    """

    def __init__(self, playground: Playground, context: JobContext, clock: Clock, progress: list[str]) -> None:
        self.playground = playground
        self.context = context
        self.clock = clock
        self.progress = progress
        self.maya, self.finn, self.tara, self.olga = (
            Maintainer(playground, login) for login in ("maya", "finn", "tara", "olga")
        )

    # Time passes.

    def settle(self) -> None:
        """Deliver every webhook and do every job that is due, until nothing is left."""
        for _ in range(MAX_ROUNDS):
            self.playground.drain()
            due = self.context.store.jobs.due(now=self.clock(), limit=100, resend_after=0.0)
            if not due:
                return
            for job in due:
                run_leased(self.context, job, worker="town", send=nobody)
        raise AssertionError(f"still at work after {MAX_ROUNDS} rounds")

    def later(self, seconds: float) -> None:
        """What was postponed comes due."""
        self.clock.pass_by(seconds)
        self.settle()

    def poll(self) -> None:
        """Have the reactions read, as the sweeper does every few minutes."""
        (known,) = self.context.store.repositories.all(RepositoryRef)
        about = RepositoryRef(id=known.id, full_name=known.full_name, installation_id=known.installation_id)
        self.context.store.jobs.enqueue(rows(f"poll:{time.monotonic_ns()}", [PollReactions(repository=about)]))
        self.settle()

    def redeliver(self, event: str) -> None:
        """Have GitHub deliver the last event of this kind once more."""
        self.playground.drain()
        world = self.playground.world
        with world.lock:
            delivery = next(each for each in reversed(world.deliveries) if each.notice.event == event)
            world.send(replace(delivery.notice, redelivery=True))
        self.settle()

    def do_again(self, kind: str, *, first: bool = False) -> None:
        """Do the last job of a kind again, as after a worker that died before it could say that the job was done; or the first."""
        with self.context.store.database.writing() as connection:
            connection.exec_driver_sql(
                "UPDATE jobs SET state = 'ready' WHERE id = "
                f"(SELECT id FROM jobs WHERE kind = ? ORDER BY created_at {'' if first else 'DESC'} LIMIT 1)",
                (kind,),
            )
        self.settle()

    def lose_answer(self, method: str, path: str) -> None:
        """The bot's next such request has its effect, and is answered with an error."""
        lost = fail(502)

        def hook(request: PlaygroundRequest) -> PlaygroundResponse | None:
            return lost(request) if request.headers.get("user-agent", "").startswith("apprentice") else None

        self.playground.after(method, path, hook, nth=0)

    # What can be seen.

    def issue(self, title: str, body: str, by: Maintainer | None = None, labels: Sequence[str] = ()) -> int:
        """Open an issue (maya, if nobody else) and let the town settle; its number."""
        number = (by or self.maya).open_issue(REPOSITORY, title, body, labels)
        self.settle()
        return number

    def say(self, number: int, text: str, by: Maintainer | None = None) -> list[str]:
        """Comment (maya, if nobody else), let the town settle; what the bot answers to it in the conversation."""
        before = {each.id for each in self.maya.comments(REPOSITORY, number)}
        (by or self.maya).comment(REPOSITORY, number, text)
        self.settle()
        return [readable(each.body) for each in self.answers(number) if each.id not in before]

    def say_as_app(self, app: App, number: int, text: str) -> None:
        """Another bot comments."""
        self.as_app(app, "POST", f"issues/{number}/comments", {"body": text})

    def as_app(self, app: App, method: str, path: str, body: Mapping[str, object]) -> None:
        """Another bot does something."""
        world = self.playground.world
        with world.lock:
            installation = next(each for each in world.installations.values() if each.app is app)
            ids, granted = frozenset(installation.repository_ids), dict(app.permissions)
            token = world.issue_installation_token(installation, ids, granted)
        connection = HTTPConnection(self.playground.url.removeprefix("http://"), timeout=600)
        headers = {"Authorization": f"Bearer {token.value}"}
        connection.request(method, f"/repos/{REPOSITORY}/{path}", json.dumps(body), headers)
        assert connection.getresponse().status in (200, 201)
        connection.close()
        self.settle()

    def reply(self, number: int, comment: int, text: str, by: Maintainer | None = None) -> list[str]:
        """Answer a review comment; what the bot answers in its thread."""
        before = {each.id for each in self.maya.review_comments(REPOSITORY, number)}
        (by or self.maya).reply(REPOSITORY, number, comment, text)
        self.settle()
        found = self.maya.review_comments(REPOSITORY, number)
        return [readable(each.body) for each in found if each.author == BOT and each.id not in before]

    def answers(self, number: int) -> list[ShownComment]:
        """What the bot said in a conversation."""
        return [each for each in self.maya.comments(REPOSITORY, number) if each.author == BOT]

    def fixes(self, state: str = "open") -> list[ShownPull]:
        """The bot's pull requests."""
        return [each for each in self.maya.pulls(REPOSITORY, state) if each.author == BOT]

    def propose(
        self, branch: str, files: dict[str, str | bytes | None], by: Maintainer | None = None, *, draft: bool = False
    ) -> int:
        """Push a branch, open a pull request from it (finn, if nobody else) and let the town settle; its number."""
        author = by or self.finn
        author.push(REPOSITORY, branch, files, f"Work on {branch}")
        number = author.open_pull(REPOSITORY, head=branch, title=f"Work on {branch}", draft=draft)
        self.settle()
        return number

    def push(self, branch: str, files: dict[str, str | bytes | None], by: Maintainer | None = None) -> str:
        """Push to a branch (finn, if nobody else) and let the town settle; the commit."""
        sha = (by or self.finn).push(REPOSITORY, branch, files, f"More on {branch}")
        self.settle()
        return sha

    def reviews(self, number: int) -> list[ShownComment]:
        return [each for each in self.maya.reviews(REPOSITORY, number) if each.author == BOT and each.body]

    def remarks(self, number: int) -> list[ShownComment]:
        """The bot's inline comments that begin a thread."""
        found = self.maya.review_comments(REPOSITORY, number)
        return [each for each in found if each.author == BOT and not each.reply_to]

    def checks(self, number: int) -> list[ShownCheck]:
        """The check runs of a pull request's head."""
        return self.maya.checks(REPOSITORY, self.maya.pull(REPOSITORY, number).head_sha)

    def eyes(self, post: str) -> list[str]:
        """Who reacted with eyes to a post: `issues/1`, `issues/comments/5`, `pulls/comments/7`."""
        found = self.maya.request("GET", f"/repos/{REPOSITORY}/{post}/reactions")
        return [each["user"]["login"] for each in found if each["content"] == "eyes"]

    @property
    def key(self) -> str:
        """The repository as memory knows it."""
        return str(self.playground.world.repository(*REPOSITORY.split("/")).id)

    def sightings(self, number: int) -> list[Sighting]:
        return self.context.store.posts.sightings(self.key, number)

    def remark_on(self, number: int, rule: str) -> ShownComment:
        """The inline comment about the only finding of a rule."""
        (found,) = [each for each in self.remarks(number) if f"**{rule}**" in each.body]
        return found

    def digest(self) -> str:
        """The table's: equal when nothing was learned in between."""
        return self.context.store.ledger.cells_digest()

    def jobs(self, *ids: str) -> list[StoredJob]:
        found = [self.context.store.jobs.job(each) for each in ids]
        return [each for each in found if each is not None]

    def count(self, state: JobState) -> int:
        return self.context.store.jobs.counts()[state]


def nobody(_ids: Sequence[str]) -> None:
    """The queue of a town: jobs are found in the database by `settle`."""
    raise Retryable("there is no queue here")


@contextmanager
def town(home: Path, files: Mapping[str, str] = FILES, **settings: object) -> Iterator[Town]:
    """Found the town and work in it. `settings` are those of the worker that differ.

    A repair in a review has all the time that it needs on a busy machine. What no test tests is not looked for, which would
    run the tests of each review twice more: a story about it sets `untested.SECONDS`.
    """
    clock, told = Clock(), list[str]()
    with (
        patch.object(reviewed_change, "HEAD_REPAIR_SECONDS", BUDGET_SECONDS),
        patch.object(reviewed_change, "HEAD_REPAIR_BESIDE_CULPRIT_SECONDS", BUDGET_SECONDS),
        patch.object(untested, "SECONDS", 0.0),
        runs_kept(home),
        founded(home, nobody, clock, files) as (playground, github),
    ):
        given = {
            "python": Path(sys.executable),
            "control_share": 0.0,
            "seed": 7,
            "budget_seconds": BUDGET_SECONDS,
            "learn_changes": 0,
            **github,
            **settings,
        }
        context = open_job_context(
            WorkerSettings(home=home, **given),
            embedder=HashedWords(),
            clock=clock,
            progress=told.append,
            flows=FLOWS,
            seconds_between_writes=0.0,
        )
        with context.store:
            yield Town(playground, context, clock, told)


@contextmanager
def founded(
    home: Path, send: Send, clock: Callable[[], datetime], files: Mapping[str, str] = FILES
) -> Iterator[tuple[Playground, dict[str, object]]]:
    """The repository, its people, and Apprentice listening; with the settings by which a worker finds them."""
    migrated(home / "apprentice.db")
    with Playground() as playground:
        for login in ("kitchen", "maya", "finn", "tara", "olga"):
            playground.add_user(login)
        playground.add_repository(REPOSITORY, files)
        for login, role in (("maya", "admin"), ("finn", "write"), ("tara", "triage")):
            playground.grant(REPOSITORY, login, role)
        app = playground.add_app("apprentice", owner="kitchen", webhook_secret=SECRET)
        with _web(home, send, clock) as url, minting_for(app, playground, home):
            playground.set_webhook(app, f"{url}/webhook")
            playground.install(app, REPOSITORY)
            yield playground, {"github_url": playground.url}


@contextmanager
def _web(home: Path, send: Send, clock: Callable[[], datetime]) -> Iterator[str]:
    """The web process, in a thread; the root of its address."""
    settings = WebSettings(home=home, webhook_secret=SECRET)
    with create_server(("127.0.0.1", 0)) as listening, open_store(settings.database()) as store:
        app = create_app(settings, store, send, clock, [ThreadStore(store.jobs.record_deliveries)])
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="web", daemon=True)
        thread.start()
        deadline = time.monotonic() + STARTUP_SECONDS
        while not server.started:
            assert thread.is_alive() and time.monotonic() < deadline, "the web process did not start"
            time.sleep(0.005)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


_CHANGING = (
    (re.compile(r"<!-- apprentice:\S+ -->"), "<!-- marker -->"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<fingerprint>"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "<sha>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<fingerprint>"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "<decision>"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\bin \d+ s\b"), "in <n> s"),
)


def readable(text: str) -> str:
    """A text of ours without what differs from run to run."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text
