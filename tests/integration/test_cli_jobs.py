"""`apprentice jobs`: what an operator sees of the queue, and what he may do with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from memory.model import Actor
from memory.model.jobs import JobState, NewJob
from memory.store import Store
from memory.store.jobs import MAX_ABANDONED
from tests.databases import migrated_store
from tests.integration.command_line import Ran, apprentice
from workers.jobs import AnswerQuestion, RepositoryRef, encode
from workers.queue.enqueue import rows

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = "\x1b[2J/merge @everyone"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    """One job of each kind of ending, and one that waits."""
    with migrated_store(home / "apprentice.db") as store:
        store.repositories.put("77", RepositoryRef(full_name="acme/scales", id=77, installation_id=3003))
        fresh = [NewJob(id=name * 32, kind="review", payload=b"{}", repository_id=77, number=3) for name in "abcd"]
        for age, job in enumerate(fresh):
            store.jobs.enqueue([job], now=NOW - timedelta(minutes=age))
        failed = store.jobs.lease("a" * 32, worker="w1", now=NOW, seconds=60)
        assert failed is not None
        store.jobs.fail(failed, now=NOW, reason=f"no such branch: {HOSTILE}")
        for again in range(MAX_ABANDONED + 1):
            store.jobs.lease("b" * 32, worker="w2", now=NOW + timedelta(minutes=again), seconds=1)
        running = store.jobs.lease("c" * 32, worker="w3", now=NOW, seconds=60)
        assert running is not None
        yield store


def jobs(home: Path, *arguments: str) -> Ran:
    return apprentice(home, "jobs", *arguments)


def state(store: Store, name: str) -> JobState:
    job = store.jobs.job(name * 32)
    assert job is not None
    return job.state


@pytest.mark.usefixtures("store")
def test_list(home: Path) -> None:
    """What is not done is listed, the dead ones and the reasons included; foreign text moves no cursor."""
    assert jobs(home, "list").out == snapshot("""\
4 jobs: ready, leased, failed, dead
  id            kind    state   about          attempts  since                      reason
  aaaaaaaaaaaa  review  failed  acme/scales#3  1         2026-03-01T12:00:00+00:00  no such branch: \\u001b[2J/merge @everyone
  bbbbbbbbbbbb  review  dead    acme/scales#3  5         2026-03-01T12:05:00+00:00  given up: 5 workers in a row stopped renewing its lease
  cccccccccccc  review  leased  acme/scales#3  1         2026-03-01T11:58:00+00:00
  dddddddddddd  review  ready   acme/scales#3  0         2026-03-01T11:57:00+00:00
""")
    document = jobs(home, "list", "--state", "dead", "--json").document()
    assert [(each["id"], each["state"]) for each in document["jobs"]] == [("b" * 32, "dead")]
    assert len(jobs(home, "list", "--repository", "acme/scales", "--most", "2", "--json").document()["jobs"]) == 2
    assert jobs(home, "list", "--kind", "fix", "--json").document()["jobs"] == []


def test_show(home: Path, store: Store) -> None:
    """All of a job, by how its id begins, its payload without credentials."""
    secret = "ghp_" + "a1B2" * 9
    question = AnswerQuestion(
        repository=RepositoryRef(full_name="acme/scales", id=77, installation_id=3003),
        actor=Actor(id=501, login="mara"),
        number=3,
        comment_id=9,
        explain=False,
        text=f"is {secret} safe?",
        on_pull=True,
    )
    (row,) = rows("a delivery", [question])
    store.jobs.enqueue([row], now=NOW)
    (shown,) = jobs(home, "show", row.id[:8], "--json").document()["jobs"]
    assert (shown["id"], shown["kind"], shown["payload"]["number"]) == (row.id, "question", 3)
    assert secret in encode(question).decode()
    assert secret not in json.dumps(shown)
    assert "state: ready" in jobs(home, "show", row.id).out


def test_retry(home: Path, store: Store) -> None:
    """A failed and a dead job are given back with all their attempts before them; one that is done or leased is not."""
    assert jobs(home, "retry", "aaaaaa", "bbbbbb").out == snapshot("2 of 2 jobs given back; the sweeper sends them\n")
    now = store.clock()
    assert set(store.jobs.due(now=now, limit=9)) >= {"a" * 32, "b" * 32}
    for name in "ab":
        again = store.jobs.lease(name * 32, worker="w", now=now, seconds=60)
        assert again is not None
        assert again.attempts == 1
        assert store.jobs.finish(again, now=now)
    ended = jobs(home, "retry", "aaaaaa", "cccccc")
    assert (ended.code, ended.complaint()) == snapshot(
        (2, "no job of these has ended without success or waits; `apprentice jobs list` shows their states")
    )


def test_retry_of_all_that_died(home: Path, store: Store) -> None:
    """Jobs can be named by their state."""
    assert jobs(home, "retry", "--state", "dead", "--json").document() == {"changed": ["b" * 32]}
    assert (state(store, "a"), state(store, "b")) == (JobState.FAILED, JobState.READY)


def test_cancel(home: Path, store: Store) -> None:
    """An open job ends; the worker that has it finds its lease gone, and its result is dropped."""
    running = store.jobs.lease("d" * 32, worker="w", now=NOW, seconds=60)
    assert running is not None
    assert jobs(home, "cancel", "dddddd").out == snapshot("1 of 1 jobs cancelled; nothing is posted about it\n")
    assert not store.jobs.renew(running, now=NOW, seconds=60)
    assert not store.jobs.finish(running, now=NOW, follow_ups=[NewJob(id="next", kind="fix", payload=b"")])
    assert store.jobs.job("next") is None
    job = store.jobs.job("d" * 32)
    assert job is not None
    assert (job.state, job.reason) == (JobState.FAILED, "cancelled by the operator")


def test_drain(home: Path, store: Store) -> None:
    """No worker takes a job and nothing is sent; what runs may end; the list says so; `resume` ends it."""
    waited = jobs(home, "drain", "--wait", "0.1")
    assert (waited.code, waited.out) == snapshot(
        (75, "workers take no more jobs, 1 still run; `apprentice jobs resume` ends that\n")
    )
    now = store.clock()
    assert store.jobs.lease("d" * 32, worker="w", now=now, seconds=60) is None
    assert store.jobs.due(now=now, limit=9) == []
    assert "workers take no jobs since" in jobs(home, "list").out
    assert jobs(home, "resume").out == snapshot("workers take jobs again\n")
    assert jobs(home, "resume").out == snapshot("workers were not drained\n")
    assert store.jobs.lease("d" * 32, worker="w", now=now, seconds=60) is not None


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("show",), "name a job by its id; `apprentice jobs list` shows them"),
        (("show", "ffffff"), "no job begins with 'ffffff'; `apprentice jobs list` shows ids"),
        (("show", "a"), "no job begins with 'a'; `apprentice jobs list` shows ids"),
        (("retry",), "name jobs to retry: their ids, or --state with --kind, --repository and --most"),
        (
            ("list", "--repository", "acme/nowhere"),
            "no job was ever about 'acme/nowhere'; `apprentice jobs list` shows what there is",
        ),
    ],
)
def test_unknown_jobs(home: Path, arguments: tuple[str, ...], line: str) -> None:
    """What is not there is refused with what to do."""
    refused = jobs(home, *arguments)
    assert (refused.code, refused.complaint()) == (2, line)


def test_prune(home: Path, store: Store) -> None:
    """`apprentice prune` removes what the settings no longer keep, and says how much of each."""
    long_ago = store.clock() - timedelta(days=100)
    store.jobs.enqueue([NewJob(id="old", kind="fix", payload=b"")], now=long_ago)
    leased = store.jobs.lease("old", worker="w", now=long_ago, seconds=60)
    assert leased is not None
    store.jobs.finish(leased, now=long_ago)
    assert apprentice(home, "prune", APPRENTICE_KEEP_JOBS_DAYS="399").out == snapshot(
        "pruned: deliveries 0, jobs 0, effects 0, mirrors 0, environments 0, scratch 0\n"
    )
    assert apprentice(home, "prune", "--json", APPRENTICE_KEEP_JOBS_DAYS="99").document()["jobs"] >= 1
    assert store.jobs.job("old") is None
    refused = apprentice(home, "prune", APPRENTICE_KEEP_EFFECTS_DAYS="10")
    assert (refused.code, refused.complaint()) == snapshot(
        (
            2,
            "APPRENTICE_KEEP_EFFECTS_DAYS: effects must be kept as long as jobs, 90 days; see docs/settings.md",
        )
    )
