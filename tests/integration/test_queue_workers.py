"""Real workers on both brokers: what is killed, wiped or poisonous costs time, never work, and never doubles an effect."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TextIO

import pytest
import redis
from structlog.testing import capture_logs

from memory.model import Actor
from memory.model.jobs import JobState
from memory.store import Store
from tests.conftest import RedisServer
from tests.databases import migrated_store
from workers.errors import Retryable
from workers.jobs import AnswerCommand, Fix, Job, RepositoryRef, ReviewPull
from workers.queue.broker import depth, make_celery, send
from workers.queue.enqueue import enqueue, rows
from workers.queue.sweeper import sweep
from workers.queue.worker import WorkerProcess, WorkerTimes
from workers.redaction import redact
from workers.settings import Settings

pytestmark = pytest.mark.extended

TOY_WORKER = Path(__file__).with_name("toy_worker.py")
PATIENCE = 900.0
REPOSITORY = RepositoryRef(id=77, full_name="acme/scales", installation_id=3003)
MARA = Actor(id=501, login="mara")


def fix(number: int, guidance: str = "") -> Fix:
    return Fix(repository=REPOSITORY, actor=MARA, number=number, pull=False, commanded=True, guidance=guidance)


def answer(argument: str = "") -> AnswerCommand:
    return AnswerCommand(repository=REPOSITORY, actor=MARA, number=1, comment_id=0, command="help", argument=argument)


class House:
    """One home, one broker, one store, and the workers started on them."""

    def __init__(self, home: Path, broker_url: str) -> None:
        self.home = home
        self.broker_url = broker_url
        self.settings = Settings(home=home, broker_url=broker_url)
        self.celery = make_celery(self.settings)
        self.store: Store = migrated_store(self.home / "apprentice.db")

    @contextmanager
    def worker(self, *job_seconds: str, log: TextIO | None = None) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, str(TOY_WORKER), str(self.home), self.broker_url, *job_seconds]
        process = subprocess.Popen(command, start_new_session=True, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def add(self, *jobs: Job) -> list[str]:
        """Commit jobs and send them; their ids."""
        new = rows("test", jobs)
        self.store.jobs.enqueue(new)
        ids = [row.id for row in new]
        assert enqueue(self.store, partial(send, self.celery), ids, datetime.now(UTC))
        return ids

    def lines(self, name: str) -> list[str]:
        path = self.home / name
        return path.read_text().splitlines() if path.exists() else []

    def wipe_broker(self) -> None:
        if self.broker_url:
            with redis.Redis.from_url(self.broker_url) as client:
                client.flushall()
        else:
            shutil.rmtree(self.home / "broker" / "messages")
            (self.home / "broker" / "messages").mkdir()

    def sweep_until(self, condition: Callable[[], bool]) -> None:
        def swept() -> bool:
            sweep(self.store, partial(send, self.celery), datetime.now(UTC), resend_after=2.0)
            return condition()

        wait_for(swept)

    def ended(self) -> bool:
        counts = self.store.jobs.counts()
        return counts[JobState.READY] + counts[JobState.LEASED] == 0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def runs(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(params=["embedded", pytest.param("redis", marks=pytest.mark.redis)])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    """The same code on the embedded broker and on a real Redis."""
    url = request.getfixturevalue("redis_url") if request.param == "redis" else ""
    house = House(tmp_path, url)
    yield house
    house.store.close()


def test_jobs_and_what_follows(house: House) -> None:
    """Every job is done once, and so is the job that follows from it."""
    jobs = house.add(*(fix(number) for number in range(20)))
    with house.worker() as worker:
        wait_for(lambda: house.store.jobs.counts()[JobState.DONE] == 40)
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
    assert Counter(house.lines("effects")) == Counter(jobs)
    assert len(set(house.lines("done"))) == len(house.lines("done")) == 20


def test_worker_killed_in_the_middle(house: House) -> None:
    """A worker killed with SIGKILL leaves no process behind; after a restart its job ends, with one effect."""
    (job,) = house.add(fix(1, "wait"))
    with house.worker() as worker:
        wait_for(lambda: len(house.lines("started")) == 1)
        child = int(house.lines("started")[0].split()[1])
        worker.send_signal(signal.SIGKILL)
        worker.wait(PATIENCE)
    wait_for(lambda: not runs(child))
    (house.home / "go").touch()
    with house.worker():
        house.sweep_until(house.ended)
    assert house.store.jobs.counts()[JobState.DONE] == 2
    assert house.lines("effects") == [job]
    assert len(house.lines("started")) == 2


def test_child_killed_after_its_effect(house: House) -> None:
    """A job that dies between its effect and the record of it is done again, and the effect found, not repeated."""
    (job,) = house.add(fix(1, "die after effect"))
    with house.worker():
        house.sweep_until(house.ended)
    assert house.lines("effects") == [job]
    assert [line.split()[0] for line in house.lines("started")] == [job, job]
    assert house.store.jobs.counts()[JobState.DONE] == 2


def test_idle_child_killed(house: House) -> None:
    """A child that is killed while it waits for work does not stop its siblings."""
    with house.worker() as worker:
        house.add(fix(0))
        wait_for(house.ended)
        for child in children(worker.pid):
            os.kill(child, signal.SIGKILL)
            house.add(*(ReviewPull(repository=REPOSITORY, actor=MARA, number=child * 10 + more) for more in range(4)))
            wait_for(house.ended)
    assert house.store.jobs.counts()[JobState.DONE] == 2 + 3 * 4


def test_broker_wiped(house: House) -> None:
    """What a broker forgot is sent again from the database."""
    jobs = house.add(*(fix(number) for number in range(5)))
    house.wipe_broker()
    assert depth(house.celery) == 0
    with house.worker():
        house.sweep_until(house.ended)
    assert Counter(house.lines("effects")) == Counter(jobs)


def test_poison(house: House) -> None:
    """A job that kills every worker it meets is given up after a few, its asker told; the jobs beside it are done."""
    poison, *others = house.add(fix(0, "poison"), *(fix(number) for number in range(1, 6)))
    with house.worker():
        house.sweep_until(house.ended)
    stored = house.store.jobs.job(poison)
    assert stored is not None
    assert (stored.state, stored.reason) == (JobState.DEAD, "given up: 5 workers in a row stopped renewing its lease")
    wait_for(lambda: house.lines("told") != [])
    assert set(house.lines("told")) == {stored.reason}
    assert Counter(house.lines("effects")) == Counter(others)
    assert sum(line.startswith(poison) for line in house.lines("started")) == 5


def test_sent_twice(house: House) -> None:
    """Two messages about one job are one job."""
    jobs = house.add(*(fix(number) for number in range(5)))
    send(house.celery, jobs)
    assert depth(house.celery) == 10
    with house.worker():
        wait_for(lambda: house.ended() and depth(house.celery) == 0)
    assert Counter(house.lines("effects")) == Counter(jobs)


LONGER_THAN_RETRIES = 6.0
"""The client of Redis tries again for some seconds by itself."""


@pytest.mark.redis
def test_redis_killed_while_all_work(redis_server: RedisServer, tmp_path: Path) -> None:
    """A worker whose jobs all end while Redis is away takes messages again when Redis is back."""
    house = House(tmp_path, redis_server.url)
    busy = house.add(fix(1, "wait"), fix(2, "wait"))
    house.add(answer("wait"))
    with house.store, house.worker():
        wait_for(lambda: house.store.jobs.counts()[JobState.LEASED] == 3)
        redis_server.kill()
        (house.home / "go").touch()
        wait_for(lambda: house.store.jobs.counts()[JobState.LEASED] == 0)
        time.sleep(LONGER_THAN_RETRIES)
        redis_server.start()
        send(house.celery, [busy[0]])
        wait_for(lambda: depth(house.celery) == 0)
    assert Counter(house.lines("effects")) == Counter(busy)


@pytest.mark.redis
def test_redis_stays_away(redis_server: RedisServer, tmp_path: Path) -> None:
    """Without a broker the workers find the jobs in the database themselves."""
    house = House(tmp_path, redis_server.url)
    with house.store, house.worker() as worker:
        house.add(fix(0))
        wait_for(house.ended)
        redis_server.kill()
        house.store.jobs.enqueue(rows("test", [fix(number) for number in range(1, 5)]))
        wait_for(house.ended)
        assert worker.poll() is None
    assert house.store.jobs.counts()[JobState.DONE] == 10


@pytest.mark.redis
def test_the_log_of_an_outage(redis_server: RedisServer, tmp_path: Path) -> None:
    """A Redis that goes and comes back is two lines in the log of its worker, however often it was tried."""
    house = House(tmp_path, redis_server.url)

    def log() -> str:
        return (tmp_path / "log").read_text()

    with house.store, (tmp_path / "log").open("w") as writing, house.worker(log=writing):
        house.add(fix(0))
        wait_for(house.ended)
        redis_server.kill()
        wait_for(lambda: "broker lost" in log())
        time.sleep(LONGER_THAN_RETRIES)
        redis_server.start()
        wait_for(lambda: "broker answers again" in log())
    assert log().count("broker lost") == 1
    assert "Trying again" not in log()


def test_a_job_without_a_message_ends_before_its_worker(house: House) -> None:
    """A worker that is asked to end lets a job that it found itself finish, as any other."""
    house.store.jobs.enqueue(rows("test", [fix(1, "wait")]))
    with house.worker() as worker:
        wait_for(lambda: len(house.lines("started")) == 1)
        worker.terminate()
        time.sleep(3.0)
        (house.home / "go").touch()
        assert worker.wait(PATIENCE) == 0
    assert len(house.lines("effects")) == 1
    assert house.store.jobs.counts()[JobState.DONE] == 1


def test_worker_that_takes_no_messages(house: House) -> None:
    """A worker that hands out no messages although some wait is ended, and its jobs are done before that."""
    with house.worker() as worker:
        house.add(fix(0))
        wait_for(house.ended)
        worker.send_signal(signal.SIGSTOP)
        house.add(fix(1), fix(2))
        wait_for(house.ended)
        assert worker.wait(PATIENCE) == -signal.SIGKILL
    assert depth(house.celery) > 0


def test_no_broker(tmp_path: Path) -> None:
    """A broker that is not there is an error of the kind that may pass."""
    celery = make_celery(Settings(home=tmp_path, broker_url="redis://127.0.0.1:1/0"))
    with pytest.raises(Retryable, match="the broker refuses messages"):
        send(celery, ["a"])


def test_a_message_without_a_database(tmp_path: Path) -> None:
    """A database that is away when a message comes, as at its restart, costs one line and no traceback."""
    with migrated_store(tmp_path / "apprentice.db") as store, capture_logs() as log:
        store.close()
        (tmp_path / "apprentice.db").unlink()
        WorkerProcess(lambda: store.jobs.delivery_count() > 0, lambda: 0, WorkerTimes()).on_message()
    assert [each["event"] for each in log] == ["look for jobs postponed"]


def test_the_name_of_a_broker(tmp_path: Path) -> None:
    """The log names a Redis by its address, without the password."""
    with make_celery(Settings(home=tmp_path, broker_url="redis://:k3Yp9sVq2Lm@127.0.0.1:1/0")).connection() as broker:
        assert redact(broker.as_uri()) == "redis://:**@127.0.0.1:1/0"


def test_messages_are_private(tmp_path: Path) -> None:
    """The embedded broker's folder is for its owner alone."""
    make_celery(Settings(home=tmp_path))
    assert (tmp_path / "broker" / "messages").stat().st_mode & 0o077 == 0


def test_an_answer_does_not_wait_for_repairs(house: House) -> None:
    """While repairs run in all processes that take them, and more wait, a question of another kind is answered."""
    house.add(*(fix(number, "wait") for number in range(9)))
    with house.worker():
        wait_for(lambda: len(house.lines("started")) == 2)
        (asked,) = house.add(answer())
        wait_for(lambda: house.lines("done") == [asked])
        assert len(house.lines("started")) == 2
        (house.home / "go").touch()
        wait_for(house.ended)
    assert len(house.lines("effects")) == 9


def test_a_job_that_hangs(house: House) -> None:
    """A job that never ends has failed after its time, the user is told, and its process takes other jobs again."""
    hanging = house.add(*(fix(number, "hang") for number in range(2)))
    others = house.add(*(fix(number) for number in range(2, 5)))
    with house.worker("2"):
        house.sweep_until(house.ended)
    stored = [house.store.jobs.job(each) for each in hanging]
    assert {(each.state, each.reason) for each in stored if each} == {
        (JobState.FAILED, "gave up: it ran longer than 2 s")
    }
    assert house.lines("told") == ["gave up: it ran longer than 2 s"] * 2
    assert Counter(house.lines("effects")) == Counter(others)


def test_a_job_that_freezes(house: House) -> None:
    """A job in which no other thread can run, not even its heartbeat, ends with its process, and dies after five of them."""
    (frozen,) = house.add(fix(0, "freeze"))
    others = house.add(*(fix(number) for number in range(1, 4)))
    with house.worker():
        house.sweep_until(house.ended)
    stored = house.store.jobs.job(frozen)
    assert stored is not None
    assert (stored.state, stored.reason) == (JobState.DEAD, "given up: 5 workers in a row stopped renewing its lease")
    assert Counter(house.lines("effects")) == Counter(others)
