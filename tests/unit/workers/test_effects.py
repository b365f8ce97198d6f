"""An effect on GitHub is made once, by the job that may make it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.model.jobs import NewJob, StoredJob
from memory.store import Store
from tests.databases import migrated_store
from workers.errors import CannotRun, JobStopped, Unavailable
from workers.job_context import IN_FLIGHT, LATE, Effects
from workers.jobs import RemoveDuplicate, RepositoryRef, decode

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
REPOSITORY = RepositoryRef(id=77, full_name="acme/scales", installation_id=3003)


class Site:
    """A stand-in for GitHub that counts what is made; `found` is what a look finds."""

    def __init__(self) -> None:
        self.made = 0
        self.found: int | None = None
        self.refuses = False

    def make(self) -> int:
        if self.refuses:
            raise CannotRun("GitHub answered 422")
        self.made += 1
        return self.made

    def find(self) -> int | None:
        return self.found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "apprentice.db") as store:
        store.jobs.enqueue([NewJob(id=each, kind="poll", payload=b"") for each in "ab"], now=NOW)
        yield store


def effects_of(store: Store, job: str, now: datetime = NOW) -> Effects:
    leased = store.jobs.lease(job, worker="w", now=now, seconds=60)
    assert leased is not None
    return Effects(store=store, leased=leased, lease_seconds=60, clock=lambda: now)


def test_another_job_may_be_making_it(store: Store) -> None:
    """A job waits while another may be making the same, and makes it itself when that can no longer be."""
    site = Site()
    store.jobs.begin_effect("k", "a", NOW)
    with pytest.raises(Unavailable) as waiting:
        effects_of(store, "b", NOW + IN_FLIGHT / 3).once("k", make=site.make, find=site.find)
    assert (site.made, waiting.value.seconds) == (0, (IN_FLIGHT * 2 / 3).total_seconds())
    assert effects_of(store, "b", NOW + IN_FLIGHT).once("k", make=site.make, find=site.find) == 1


def test_a_lost_lease_makes_nothing(store: Store) -> None:
    """A worker whose job has gone to another makes no effect any more."""
    site, slow = Site(), effects_of(store, "a")
    store.jobs.lease("a", worker="other", now=NOW + timedelta(seconds=61), seconds=60)
    with pytest.raises(JobStopped, match="another worker"):
        slow.once("k", make=site.make, find=site.find)
    assert site.made == 0


def test_refused_because_it_is_there(store: Store) -> None:
    """What GitHub refuses because an earlier request made it is found; what is not there is refused."""
    site = Site()
    site.refuses = True
    with pytest.raises(CannotRun):
        effects_of(store, "a").once("k", make=site.make, find=site.find)
    site.found = 9
    assert effects_of(store, "b").once("l", make=site.make, find=site.find) == 9


@pytest.mark.parametrize("found", [None, 9])
def test_a_second_look(store: Store, found: int | None) -> None:
    """What was announced before is looked for later, also where one is there: of two attempts both may come late."""
    site, here = Site(), effects_of(store, "a")

    def again(kept: int) -> RemoveDuplicate:
        return RemoveDuplicate(repository=REPOSITORY, number=1, key="k", kept=kept)

    def looks() -> list[StoredJob]:
        found = [store.jobs.job(each) for each in store.jobs.due(now=NOW + LATE, limit=9)]
        return [each for each in found if each and each.kind == "duplicate"]

    here.once("new", make=site.make, find=site.find, look_again=again)
    assert looks() == []
    store.jobs.begin_effect("k", "a", NOW)
    site.found = found
    kept = here.once("k", make=site.make, find=site.find, look_again=again)
    (later,) = looks()
    assert decode(later.payload) == again(kept)
    assert later.run_after == NOW + LATE
