"""A real worker killed with SIGKILL in the middle of its job, and started again: the job ends, and nothing is made twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from memory.model.jobs import JobState
from memory.store import Store, open_store
from tests.databases import LONG_AGO
from tests.playground import Maintainer, Playground
from tests.projects import PYPROJECT
from tests.stories.town import BOT, REPOSITORY, founded
from workers.job_context import LATE
from workers.queue.broker import make_celery, send
from workers.queue.sweeper import sweep
from workers.settings import Settings, environment_with

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

ROOT = Path(__file__).parents[2]
PATIENCE = 900.0
LEASE_SECONDS = 2.0
PUSH = ("POST", "/git-receive-pack$")
PULL = ("POST", "/pulls$")
COMMENT = ("POST", "/comments$")
REVIEW = ("POST", "/reviews$")
CHECK = ("POST", "/check-runs$")
RESULT = ("PATCH", r"/check-runs/\d+$")

BROKEN = {
    "pyproject.toml": PYPROJECT,
    "pantry/__init__.py": "",
    "pantry/units.py": 'def shown(amount):\n    return f"{amont} g"\n',
    "tests/test_units.py": "from pantry.units import shown\n\n\ndef test_shown():\n    assert shown(5) == '5 g'\n",
}
"""As small as can be repaired: the worker dies often here, and what it finds is tested elsewhere."""

LABELS = """import os


def label(name, notes=[]):
    if name == None:
        return f"nothing"
    return name
"""


@dataclass(kw_only=True)
class House:
    """A playground, the web process, the embedded broker, and workers that come and go."""

    playground: Playground
    home: Path
    store: Store
    environment: dict[str, str]
    killed: threading.Event = field(default_factory=threading.Event)
    lines: list[str] = field(default_factory=list)
    worker: subprocess.Popen[str] | None = None
    line_to_die_at: str = ""

    @contextmanager
    def working(self) -> Iterator[None]:
        """`apprentice worker` as a process of its own, leader of its session; its log is read as it comes."""
        command = [sys.executable, "-m", "bot.cli", "worker"]
        self.worker = subprocess.Popen(
            command, env=self.environment, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        reader = threading.Thread(target=self._read, args=(self.worker,), daemon=True)
        reader.start()
        try:
            yield
        finally:
            self.kill()
            self.worker.wait()
            reader.join()

    def _read(self, worker: subprocess.Popen[str]) -> None:
        assert worker.stderr is not None, "it was asked for"
        with worker.stderr:
            for line in worker.stderr:
                self.lines.append(line)
                if self.line_to_die_at and self.line_to_die_at in line and not self.killed.is_set():
                    self.die()

    def kill(self) -> None:
        """SIGKILL to the worker and its children."""
        assert self.worker is not None, "a worker was started"
        if self.worker.poll() is None:
            os.killpg(self.worker.pid, signal.SIGKILL)

    def die(self) -> None:
        """The death that the test is about."""
        self.kill()
        self.killed.set()

    def die_after(self, method: str, path: str) -> None:
        """The next such request has its effect, and nobody hears the answer."""
        self.playground.after(method, path, lambda _request: self.die())

    def sweep_until(self, condition: Callable[[], bool]) -> None:
        """Do as the sweeper does, until it is so."""
        celery = make_celery(Settings(home=self.home))
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "waited too long; the worker's log:\n" + "".join(self.lines)
            sweep(self.store, partial(send, celery), datetime.now(UTC), resend_after=LEASE_SECONDS)
            time.sleep(0.1)

    def ended(self) -> bool:
        """Nothing is left but the look for a duplicate, minutes later."""
        soon = datetime.now(UTC) + LATE / 2
        return not self.store.jobs.counts()[JobState.LEASED] and not self.store.jobs.due(
            now=soon, limit=1, resend_after=0.0
        )


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A house with nobody at work."""
    settings = Settings(home=tmp_path)
    queue = partial(send, make_celery(settings))
    with (
        founded(tmp_path, queue, lambda: datetime.now(UTC), BROKEN) as (playground, github),
        open_store(settings.database()) as store,
    ):
        environment = environment_with(
            **github,
            home=tmp_path,
            seed=7,
            control_share=0.0,
            workers=1,
            lease_seconds=LEASE_SECONDS,
            budget_seconds=240,
            embedder="words",
        )
        yield House(playground=playground, home=tmp_path, store=store, environment=environment)


def die_and_rise(house: House, job: Callable[[], object]) -> None:
    """Give the job, wait for the death, start another worker, wait for the end."""
    with house.working():
        job()
        house.playground.drain()
        house.sweep_until(house.killed.is_set)
    assert not house.ended(), "the worker died when there was nothing left to do"
    with house.working():
        house.sweep_until(house.ended)
    counts = house.store.jobs.counts()
    assert (counts[JobState.FAILED], counts[JobState.DEAD]) == (0, 0)


IN_EVERY_RUN = {"pushed"}
"""A death between an effect on GitHub and our note of it; `make test-all` tries the others."""


def points_of(table: Iterable[str]) -> list[object]:
    """The points of a table, those that only `make test-all` tries with their mark."""
    return [pytest.param(each, marks=() if each in IN_EVERY_RUN else pytest.mark.extended) for each in table]


# One point between any two effects of a job on GitHub; a fix has one before its first.

FIX_POINTS: dict[str, Callable[[House], None]] = {
    "proven": lambda house: setattr(house, "line_to_die_at", " is proven after "),
    "pushed": lambda house: house.die_after(*PUSH),
    "pull request made": lambda house: house.die_after(*PULL),
    "comment made": lambda house: house.die_after(*COMMENT),
}


@pytest.mark.parametrize("point", points_of(FIX_POINTS))
def test_fix(point: str, house: House) -> None:
    """A fix whose worker is killed here is finished by the next: one branch, one pull request, one comment."""
    maya = Maintainer(house.playground, "maya")
    FIX_POINTS[point](house)
    die_and_rise(house, lambda: maya.open_issue(REPOSITORY, "Nothing can be shown", "@apprentice fix"))
    branches = maya.request("GET", f"/repos/{REPOSITORY}/branches")
    (branch,) = [each["name"] for each in branches if each["name"] != "main"]
    (pull,) = maya.pulls(REPOSITORY, state="all")
    (comment,) = maya.comments(REPOSITORY, 1)
    assert (pull.head_ref, pull.author, pull.draft, pull.state) == (branch, BOT, True, "open")
    assert (comment.author, f"I opened #{pull.number}" in comment.body) == (BOT, True)


REVIEW_POINTS: dict[str, Callable[[House], None]] = {
    "review made": lambda house: house.die_after(*REVIEW),
    "check run made": lambda house: house.die_after(*CHECK),
    "its result made": lambda house: house.die_after(*RESULT),
}


@pytest.mark.parametrize("point", points_of(REVIEW_POINTS))
def test_review(point: str, house: House) -> None:
    """A review whose worker is killed here is finished by the next: one review, each remark once, one check run."""
    finn = Maintainer(house.playground, "finn")
    finn.push(REPOSITORY, "labels", {"pantry/labels.py": LABELS}, "Print labels")
    REVIEW_POINTS[point](house)
    die_and_rise(house, lambda: finn.open_pull(REPOSITORY, head="labels", title="Print labels"))
    (review,) = finn.reviews(REPOSITORY, 1)
    remarks = finn.review_comments(REPOSITORY, 1)
    (check,) = finn.checks(REPOSITORY, finn.pull(REPOSITORY, 1).head_sha)
    (key,) = house.store.named(REPOSITORY)
    seen = house.store.posts.sightings(key, 1)
    assert review.body.startswith("Reviewed ")
    assert len({remark.body for remark in remarks}) == len(remarks) > 0
    assert {post.github_id for post in house.store.posts.watched(key, LONG_AGO)} == {remark.id for remark in remarks}
    assert (check.title, check.annotations) == (f"{len(seen)} findings", len(seen))
