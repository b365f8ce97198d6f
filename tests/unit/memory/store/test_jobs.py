"""Deliveries and jobs: stored once, handed to one worker at a time, never lost."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import StoreError
from memory.model.jobs import Delivery, JobState, LeasedJob, NewJob
from memory.store import Store
from memory.store.jobs import MAX_ABANDONED

HOUR = timedelta(hours=1)
RUN_ONE_LEASE = """
import sys
from datetime import datetime
from memory.store import open_store
url, worker, now, ids = sys.argv[1:]
with open_store(url) as store:
    for job_id in ids.split(","):
        if store.jobs.lease(job_id, worker=worker, now=datetime.fromisoformat(now), seconds=60):
            print(job_id)
"""


def record(store: Store, *, id: str, event: str, received_at: datetime, jobs: Sequence[NewJob] = ()) -> bool:  # noqa: A002
    """Record one delivery."""
    return store.jobs.record_deliveries([Delivery(id=id, event=event, received_at=received_at, jobs=tuple(jobs))])[0]


def job(job_id: str = "j1", run_after: datetime | None = None) -> NewJob:
    return NewJob(id=job_id, kind="fix", payload=b"\x00payload", run_after=run_after)


def lease(store: Store, now: datetime, *, job_id: str = "j1", worker: str = "w1") -> LeasedJob:
    leased = store.jobs.lease(job_id, worker=worker, now=now, seconds=60)
    assert leased is not None
    return leased


def test_a_delivery_is_stored_with_its_jobs(store: Store, now: datetime) -> None:
    """A new delivery and the jobs it implies are there after one call."""
    assert record(store, id="g1", event="issues", received_at=now, jobs=[job("a"), job("b")])
    assert store.jobs.delivery_count() == 1
    stored = store.jobs.job("a")
    assert stored is not None
    assert (stored.payload, stored.delivery_id, stored.state) == (b"\x00payload", "g1", JobState.READY)
    assert stored.created_at == now
    assert store.jobs.job("c") is None


def test_a_known_delivery_adds_nothing(store: Store, now: datetime) -> None:
    """A delivery id seen before is refused, whatever jobs come with it."""
    assert record(store, id="g1", event="issues", received_at=now, jobs=[job("a")])
    assert not record(store, id="g1", event="issues", received_at=now, jobs=[job("b")])
    assert store.jobs.counts()[JobState.READY] == 1


def test_several_deliveries_share_a_commit(store: Store, now: datetime) -> None:
    """A batch says of each delivery whether it was new, duplicates within the batch included."""
    batch = [Delivery(id=each, event="push", received_at=now, jobs=(job(f"of-{each}"),)) for each in ("a", "b", "a")]
    assert store.jobs.record_deliveries(batch) == [True, True, False]
    assert store.jobs.counts()[JobState.READY] == 2


deliveries = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.sampled_from(["x", "y", "z", None]),
        st.lists(
            st.tuples(st.sampled_from("123"), st.binary(max_size=5), st.sampled_from([None, -1, 1, 1000])), max_size=3
        ),
    ),
    max_size=8,
)


@given(batches=st.lists(deliveries, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_a_batch_is_as_if_one_came_after_the_other(batches: list[list[Any]], store: Store, now: datetime) -> None:
    """Whatever ids, bodies and jobs are the same, within the batch or before it: the same are new, and the same is stored."""

    def delivery(prefix: str, given: tuple[Any, ...]) -> Delivery:
        name, body, jobs = given
        new = [
            NewJob(
                id=prefix + key, kind="fix", payload=payload, number=number, run_after=number and now + number * HOUR
            )
            for key, payload, number in jobs
        ]
        return Delivery(
            id=prefix + name, event="push", received_at=now, body_hash=body and prefix + body, jobs=tuple(new)
        )

    def stored(prefix: str) -> list[object]:
        found = [store.jobs.job(prefix + key) for key in "123"]
        return [each and (each.payload, each.delivery_id.removeprefix(prefix), each.run_after) for each in found]

    together, alone = uuid.uuid4().hex, uuid.uuid4().hex
    for batch in batches:
        new = store.jobs.record_deliveries([delivery(together, each) for each in batch])
        assert new == [store.jobs.record_deliveries([delivery(alone, each)])[0] for each in batch]
    assert stored(together) == stored(alone)
    names = [[prefix + name for name in "abcd"] for prefix in (together, alone)]
    unknown = [{each[-1] for each in store.jobs.unknown_deliveries(ids)} for ids in names]
    assert unknown[0] == unknown[1]


def test_a_batch_of_any_size(store: Store, now: datetime) -> None:
    """More deliveries and jobs than a statement takes parameters are stored together."""
    batch = [
        Delivery(
            id=f"g{number}", event="push", received_at=now, jobs=tuple(job(f"{number}-{each}") for each in range(3))
        )
        for number in range(1500)
    ]
    assert store.jobs.record_deliveries(batch) == [True] * 1500
    assert store.jobs.counts()[JobState.READY] == 4500


def test_a_delivery_is_all_or_nothing(store: Store, now: datetime) -> None:
    """When one of its jobs cannot be stored, the delivery is not stored either."""
    broken = NewJob(id="b", kind=None, payload=b"")  # type: ignore[arg-type]  # what the database refuses
    with pytest.raises(StoreError, match="refused"):
        record(store, id="g1", event="issues", received_at=now, jobs=[job("a"), broken])
    assert store.jobs.delivery_count() == 0
    assert store.jobs.job("a") is None


def test_one_of_many_threads_stores_a_delivery(store: Store, now: datetime) -> None:
    """Of eight simultaneous copies of each of ten deliveries, one is stored, with its jobs once."""

    def deliver(number: int) -> bool:
        jobs = [job(f"{number % 10}-{each}") for each in ("x", "y")]
        return record(store, id=f"g{number % 10}", event="push", received_at=now, jobs=jobs)

    with ThreadPoolExecutor(8) as pool:
        stored = list(pool.map(deliver, range(80)))
    assert sum(stored) == 10
    assert store.jobs.delivery_count() == 10
    assert store.jobs.counts()[JobState.READY] == 20


def test_enqueue_knows_its_ids(store: Store, now: datetime) -> None:
    """Enqueuing an id again adds nothing and touches nothing."""
    assert store.jobs.enqueue([job("a"), job("b")], now=now) == 2
    leased = lease(store, now, job_id="a")
    assert store.jobs.enqueue([job("a"), job("c")], now=now) == 1
    assert store.jobs.finish(leased, now=now)


def test_a_lease_is_exclusive(store: Store, now: datetime) -> None:
    """While a lease runs nobody else gets the job; what is leased carries its payload and a count."""
    store.jobs.enqueue([job()], now=now)
    leased = lease(store, now)
    assert (leased.payload, leased.kind, leased.attempts, leased.worker) == (b"\x00payload", "fix", 1, "w1")
    assert store.jobs.lease("j1", worker="w2", now=now + timedelta(seconds=59), seconds=60) is None
    assert store.jobs.lease("unknown", worker="w2", now=now, seconds=60) is None


def test_one_of_many_threads_gets_a_lease(store: Store, now: datetime) -> None:
    """Eight threads that ask for the same jobs share them out without overlap."""
    ids = [f"j{number}" for number in range(10)]
    store.jobs.enqueue([job(each) for each in ids], now=now)

    def take(number: int) -> list[str]:
        return [each for each in ids if store.jobs.lease(each, worker=f"w{number}", now=now, seconds=60)]

    with ThreadPoolExecutor(8) as pool:
        taken = [each for share in pool.map(take, range(8)) for each in share]
    assert sorted(taken) == sorted(ids)


def test_one_of_many_processes_gets_a_lease(
    store: Store, database_url: str, now: datetime, run_together: Callable[[str, list[list[str]]], list[str]]
) -> None:
    """Processes that ask for the same jobs at once share them out without overlap."""
    ids = [f"j{number}" for number in range(20)]
    store.jobs.enqueue([job(each) for each in ids], now=now)
    arguments = [[database_url, f"w{number}", now.isoformat(), ",".join(ids)] for number in range(3)]
    taken = "".join(run_together(RUN_ONE_LEASE, arguments)).split()
    assert sorted(taken) == sorted(ids)


def test_a_job_waits_for_its_time(store: Store, now: datetime) -> None:
    """A job is neither due nor to be had before its run_after."""
    later = now + timedelta(minutes=5)
    store.jobs.enqueue([job(run_after=later)], now=now)
    assert store.jobs.due(now=now, limit=10) == []
    assert store.jobs.lease("j1", worker="w", now=now, seconds=60) is None
    assert store.jobs.oldest_ready(now) is None
    assert store.jobs.due(now=later, limit=10) == ["j1"]
    assert store.jobs.oldest_ready(later) == later


def test_a_stale_worker_is_fenced_off(store: Store, now: datetime) -> None:
    """After another worker has taken the job over, the first can record nothing at all."""
    store.jobs.enqueue([job()], now=now)
    stale = lease(store, now)
    after = now + timedelta(seconds=61)
    fresh = lease(store, after, worker="w2")
    assert not store.jobs.renew(stale, now=after, seconds=60)
    assert not store.jobs.postpone(stale, now=after, until=after, reason="late")
    assert not store.jobs.fail(stale, now=after, reason="late")
    assert not store.jobs.finish(stale, now=after, follow_ups=[job("follow-up")])
    assert store.jobs.job("follow-up") is None
    assert store.jobs.finish(fresh, now=after)


def test_finishing_twice_is_refused(store: Store, now: datetime) -> None:
    """A job ends once: its second end changes nothing and brings no follow-ups."""
    store.jobs.enqueue([job()], now=now)
    leased = lease(store, now)
    assert store.jobs.finish(leased, now=now, follow_ups=[job("next")])
    assert not store.jobs.finish(leased, now=now, follow_ups=[job("other")])
    assert not store.jobs.fail(leased, now=now, reason="too late")
    assert store.jobs.counts() == {
        JobState.READY: 1,
        JobState.LEASED: 0,
        JobState.DONE: 1,
        JobState.FAILED: 0,
        JobState.DEAD: 0,
    }


def test_a_renewed_lease_lasts(store: Store, now: datetime) -> None:
    """Renewing moves the moment from which others may take the job."""
    store.jobs.enqueue([job()], now=now)
    leased = lease(store, now)
    assert store.jobs.renew(leased, now=now + timedelta(seconds=50), seconds=60)
    assert store.jobs.lease("j1", worker="w2", now=now + timedelta(seconds=100), seconds=60) is None
    assert store.jobs.lease("j1", worker="w2", now=now + timedelta(seconds=110), seconds=60) is not None


def test_what_is_due_is_sent_once_in_a_while(store: Store, now: datetime) -> None:
    """A job sent to the queue is due again only after a while, a leased one as soon as its lease runs out."""
    store.jobs.enqueue([job("a"), job("b")], now=now)
    assert store.jobs.due(now=now, limit=10) == ["a", "b"]
    assert store.jobs.due(now=now, limit=1) == ["a"]
    store.jobs.mark_sent(["a", "b"], now)
    assert store.jobs.due(now=now + timedelta(seconds=29), limit=10) == []
    assert store.jobs.due(now=now + timedelta(seconds=30), limit=10) == ["a", "b"]
    assert store.jobs.due(now=now + timedelta(seconds=2), limit=10, resend_after=2) == ["a", "b"]
    assert store.jobs.lease("a", worker="w", now=now, seconds=3) is not None
    assert store.jobs.due(now=now + timedelta(seconds=2), limit=10) == []
    assert store.jobs.due(now=now + timedelta(seconds=3), limit=10) == ["a"]


def test_a_postponed_job_comes_back(store: Store, now: datetime) -> None:
    """A postponed job is due at its new time, with the reason kept and its leases counted."""
    store.jobs.enqueue([job()], now=now)
    store.jobs.mark_sent(["j1"], now)
    until = now + timedelta(seconds=20)
    assert store.jobs.postpone(lease(store, now), now=now, until=until, reason="rate limit")
    assert store.jobs.due(now=now, limit=1) == []
    assert store.jobs.due(now=until, limit=1) == ["j1"]
    stored = store.jobs.job("j1")
    assert stored is not None
    assert (stored.state, stored.reason, stored.run_after) == (JobState.READY, "rate limit", until)
    assert lease(store, until).attempts == 2


def test_a_job_that_silences_its_workers_dies(store: Store, now: datetime) -> None:
    """After five leases in a row that nobody ended, the job is dead and says why."""
    store.jobs.enqueue([job()], now=now)
    for number in range(MAX_ABANDONED):
        lease(store, now + timedelta(seconds=60 * number))
    after = now + timedelta(seconds=60 * MAX_ABANDONED)
    assert store.jobs.lease("j1", worker="w", now=after, seconds=60) is None
    stored = store.jobs.job("j1")
    assert stored is not None
    assert (stored.state, stored.ended_at) == (JobState.DEAD, after)
    assert stored.reason == "given up: 5 workers in a row stopped renewing its lease"
    assert store.jobs.due(now=after + timedelta(days=1), limit=1) == []


def test_a_job_given_back_is_no_poison(store: Store, now: datetime) -> None:
    """Leases that were ended properly do not count towards a job's death, however many."""
    store.jobs.enqueue([job()], now=now)
    for _ in range(2 * MAX_ABANDONED):
        assert store.jobs.postpone(lease(store, now), now=now, until=now, reason="busy")
    assert lease(store, now).attempts == 2 * MAX_ABANDONED + 1


def test_a_failed_job_keeps_its_reason(store: Store, now: datetime) -> None:
    """A failed job is over; its reason survives characters that databases refuse."""
    store.jobs.enqueue([job()], now=now)
    leased = lease(store, now)
    assert store.jobs.fail(leased, now=now, reason="no such\x00commit \ud800")
    stored = store.jobs.job("j1")
    assert stored is not None
    assert (stored.state, stored.reason) == (JobState.FAILED, "no such\ufffdcommit \ufffd")


def test_an_effect_is_made_once(store: Store, now: datetime) -> None:
    """An effect is new the first time, unfinished until completed, and done with its first reference ever after."""
    assert store.jobs.effect("k") is None
    assert store.jobs.begin_effect("k", "j1", now) is None
    unfinished = store.jobs.begin_effect("k", "j1", now)
    assert unfinished is not None
    assert unfinished.done_at is None
    store.jobs.complete_effect("k", "comment:9", now)
    store.jobs.complete_effect("k", "comment:10", now)
    known = store.jobs.effect("k")
    assert known is not None
    assert (known.job_id, known.done_at, known.reference) == ("j1", now, "comment:9")
    assert store.jobs.begin_effect("k", "j2", now) == known


def test_an_effect_is_begun_before_it_is_completed(store: Store, now: datetime) -> None:
    """Completing an effect that was never begun is an error that says so."""
    with pytest.raises(StoreError, match="never begun"):
        store.jobs.complete_effect("k", "comment:9", now)


def test_one_of_many_threads_makes_an_effect(store: Store, now: datetime) -> None:
    """Of eight threads that begin the same effect, one is told that it is new."""
    with ThreadPoolExecutor(8) as pool:
        new = [each is None for each in pool.map(lambda _: store.jobs.begin_effect("k", "j1", now), range(8))]
    assert sorted(new) == [False] * 7 + [True]


def test_limited_effects(store: Store, now: datetime) -> None:
    """Of many threads with an effect each, as many begin theirs as the limit leaves room for; no other job begins it again."""
    day = timedelta(days=1)

    def begun(number: int, job: str = "j", when: datetime = now, *, alone: bool = True) -> bool:
        key, begin = f"reply:{number}", store.jobs.begin_limited
        return begin(key, f"{job}{number}", when, among="reply:", most=3, alone=alone)

    store.jobs.begin_effect("reply-to:9", "j", now)
    with ThreadPoolExecutor(8) as pool:
        may = list(pool.map(begun, range(8)))
    assert sum(may) == 3
    first = may.index(True)
    assert begun(first), "the same job, after its worker died"
    assert not begun(first, "another")
    assert begun(first, "another", alone=False)
    assert not begun(may.index(False), "another", alone=False)
    assert begun(may.index(False), when=now + day + timedelta(seconds=1)), "the next day has room"


def of_pull(job_id: str) -> NewJob:
    return NewJob(id=job_id, kind="review", payload=b"", repository_id=1, number=7, conversation="1#7")


def test_one_round_at_a_time(store: Store, now: datetime) -> None:
    """Of the jobs of one conversation one is leased at a time; the next one is free, and is sent again, when that ends."""
    store.jobs.enqueue([of_pull("a"), of_pull("b"), job("c")], now=now)
    first = lease(store, now, job_id="a")
    store.jobs.mark_sent(["b", "c"], now)
    assert store.jobs.lease("b", worker="w2", now=now, seconds=60) is None
    assert store.jobs.due(now=now, limit=9, resend_after=0) == ["c"]
    store.jobs.finish(first, now=now)
    assert store.jobs.due(now=now, limit=9, resend_after=999) == ["b"]
    assert lease(store, now, job_id="b").id == "b"


def test_a_dead_worker_frees_its_conversation(store: Store, now: datetime) -> None:
    """A lease that ran out holds no other job of the conversation back."""
    store.jobs.enqueue([of_pull("a"), of_pull("b")], now=now)
    lease(store, now, job_id="a")
    assert lease(store, now + timedelta(seconds=61), job_id="b").id == "b"
    assert store.jobs.lease("a", worker="w3", now=now + timedelta(seconds=62), seconds=60) is None


def test_two_workers_and_one_conversation(store: Store, now: datetime) -> None:
    """Workers that ask at the same time for different jobs of one conversation get one lease among them."""
    names = [f"r{number}" for number in range(8)]
    store.jobs.enqueue([of_pull(name) for name in names], now=now)
    with ThreadPoolExecutor(8) as pool:
        leased = pool.map(lambda name: store.jobs.lease(name, worker=name, now=now, seconds=60), names)
    assert sum(each is not None for each in leased) == 1


def test_an_announcement_by_another_job_holds_for_a_while(store: Store, now: datetime) -> None:
    """While another job may be making an effect it stays that job's; later it passes on, to one job alone."""
    wait = timedelta(seconds=90)
    store.jobs.begin_effect("k", "a", now)
    known = store.jobs.begin_effect("k", "b", now + wait / 2, in_flight=wait)
    assert known is not None and known.job_id == "a"
    store.jobs.begin_effect("k", "b", now + wait, in_flight=wait)
    known = store.jobs.begin_effect("k", "c", now + wait, in_flight=wait)
    assert known is not None and known.job_id == "b"
