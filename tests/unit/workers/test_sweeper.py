"""What got lost is sent again; reactions are polled at a pace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.model import Post, PostKind
from memory.model.jobs import Delivery, NewJob
from memory.store import Store
from tests.databases import end_all, migrated_store
from workers.errors import Retryable
from workers.jobs import RepositoryRef
from workers.queue.sweeper import (
    MAX_PRUNED,
    enqueue_policy_check,
    enqueue_polls,
    enqueue_search,
    prune_rows,
    sweep,
    sweep_once,
)
from workers.settings import SweeperSettings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "a.db") as store:
        yield store


def quiet(ids: Sequence[str]) -> None:
    """A queue that takes everything and delivers nothing."""


def job(name: str, run_after: datetime = NOW) -> NewJob:
    return NewJob(id=name, kind="poll", payload=b"{}", run_after=run_after)


def test_never_sent(store: Store) -> None:
    """What was committed and never sent is sent, and then left in peace for a while."""
    store.jobs.enqueue([job("a"), job("b")], now=NOW)
    assert sorted(sweep(store, quiet, NOW)) == ["a", "b"]
    assert sweep(store, quiet, NOW + 5 * SECOND) == ()
    assert sorted(sweep(store, quiet, NOW + 60 * SECOND)) == ["a", "b"]
    assert sweep(store, quiet, NOW + 90 * SECOND, resend_after=600) == ()


def test_not_yet(store: Store) -> None:
    """A postponed job is sent when its time has come."""
    store.jobs.enqueue([job("a", NOW + 10 * SECOND)], now=NOW)
    assert sweep(store, quiet, NOW) == ()
    assert sweep(store, quiet, NOW + 10 * SECOND) == ("a",)


def test_silent_worker(store: Store) -> None:
    """A leased job is sent again only when its worker has let the lease run out; an ended one never."""
    store.jobs.enqueue([job("a")], now=NOW)
    store.jobs.lease("a", worker="w", now=NOW, seconds=30)
    assert sweep(store, quiet, NOW + 29 * SECOND) == ()
    assert sweep(store, quiet, NOW + 31 * SECOND) == ("a",)
    leased = store.jobs.lease("a", worker="v", now=NOW + 32 * SECOND, seconds=30)
    assert leased is not None
    store.jobs.finish(leased, now=NOW + 33 * SECOND)
    assert sweep(store, quiet, NOW + 999 * SECOND) == ()


def test_broken_queue(store: Store) -> None:
    """What the queue did not take counts as unsent, and is tried again by the next sweep."""

    def broken(ids: Sequence[str]) -> None:
        raise Retryable("the broker refuses messages")

    store.jobs.enqueue([job("a")], now=NOW)
    assert sweep(store, broken, NOW) == ()
    assert sweep(store, quiet, NOW) == ("a",)


def known(store: Store, repository: str, number: int) -> None:
    store.repositories.put(str(number), RepositoryRef(full_name=repository, id=number, installation_id=3003))


def watch(store: Store, repository: str, number: int) -> None:
    known(store, repository, number)
    store.posts.add(
        Post(
            repository=str(number),
            kind=PostKind.REVIEW_COMMENT,
            number=1,
            github_id=number,
            decision_ids=("d",),
            created_at=NOW,
        )
    )


def test_polls(store: Store) -> None:
    """Each repository with something to watch is polled once in every slot of time, however many sweepers there are."""
    watch(store, "acme/scales", 77)
    watch(store, "acme/ruler", 78)
    known(store, "acme/quiet", 79)
    assert enqueue_polls(store, NOW, every=600) == 2
    assert enqueue_polls(store, NOW + 300 * SECOND, every=600) == 0
    end_all(store, NOW + 400 * SECOND)
    assert enqueue_polls(store, NOW + 600 * SECOND, every=600) == 2


def test_a_night_without_workers_leaves_one_poll_each(store: Store) -> None:
    """While a repository's poll waits, or a search for lost webhooks, there is no other: nothing comes in a burst afterwards."""
    watch(store, "acme/scales", 77)
    watch(store, "acme/ruler", 78)
    night = [NOW + 600 * slot * SECOND for slot in range(60)]
    assert [enqueue_polls(store, now, every=600) for now in night] == [2] + [0] * 59
    assert [enqueue_search(store, now, every=600) for now in night] == [1] + [0] * 59
    end_all(store, night[-1])
    assert enqueue_search(store, night[-1] + 600 * SECOND, every=600) == 1


def test_nothing_to_poll(store: Store) -> None:
    """Where nothing is watched nothing is polled."""
    known(store, "acme/quiet", 79)
    assert enqueue_polls(store, NOW, every=600) == 0


def test_the_policy_is_judged_once_a_day(store: Store) -> None:
    """However many sweepers there are, and however often they look."""
    assert [enqueue_policy_check(store, NOW + hours * 3600 * SECOND) for hours in (0, 1, 24, 25)] == [1, 0, 1, 0]


def test_the_sweeper_prunes_until_none_is_too_old(store: Store) -> None:
    """A portion between two sweeps, as long as there may be more."""
    old = store.clock() - timedelta(days=40)
    count = MAX_PRUNED + 200
    store.jobs.record_deliveries([Delivery(id=f"d{each}", event="ping", received_at=old) for each in range(count)])
    settings = SweeperSettings()
    assert [prune_rows(store, settings) for _ in range(3)] == [True, False, False]
    assert store.jobs.delivery_count() == 0


def test_a_whole_sweep(store: Store, tmp_path: Path) -> None:
    """It leaves a heartbeat, brings forward what a wrong clock put off, and sends what is due."""
    now = store.clock()
    store.jobs.enqueue([job("far")], now=now + timedelta(days=900))
    sent: list[str] = []
    sweep_once(store, sent.extend, lambda: 0, SweeperSettings(home=tmp_path))
    assert "far" in sent
    assert store.heartbeats.last().keys() == {"sweeper"}
