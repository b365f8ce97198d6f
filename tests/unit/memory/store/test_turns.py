"""Whose turn it is: priorities, installations in turn, limits of what runs at once, and a cost that stays flat."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from memory.model.jobs import Claimer, JobState, LeasedJob, NewJob, Priority
from memory.store import Store
from memory.store.turns import ONE_IN
from tests.databases import migrated_store

RUN_CLAIMS = """
import sys
from datetime import datetime
from memory.store import open_store
from memory.model.jobs import Claimer
url, worker, now, most = sys.argv[1:]
with open_store(url) as store:
    while leased := store.jobs.claim(Claimer(name=worker, most=int(most)), now=datetime.fromisoformat(now), seconds=600):
        print(leased.id)
"""


def job(
    name: str, priority: Priority = Priority.REPAIR, installation: int = 1, repository: int = 1, actor: int = 1
) -> NewJob:
    return NewJob(
        id=name,
        kind=priority.name,
        payload=b"",
        priority=priority,
        installation_id=installation,
        repository_id=repository,
        actor_id=actor,
    )


ANYONE = Claimer(name="w")


def claim(store: Store, now: datetime, claimer: Claimer = ANYONE) -> LeasedJob | None:
    return store.jobs.claim(claimer, now=now, seconds=60)


def served(store: Store, now: datetime) -> Iterator[str]:
    """The jobs as they get their turns, each ended before the next one is taken."""
    while leased := claim(store, now):
        assert store.jobs.finish(leased, now=now)
        yield leased.id


def test_answers_before_reviews_before_repairs(store: Store, now: datetime) -> None:
    """Priorities go first, whatever waits longer."""
    store.jobs.enqueue([job(each.name, each) for each in reversed(Priority)], now=now)
    first = [next(served(store, now)) for _ in range(ONE_IN - 1)]
    assert first == ["QUICK", "QUESTION", "REVIEW"]


def test_installations_take_turns(store: Store, now: datetime) -> None:
    """However many jobs one installation has waiting, another's are between them."""
    flood = [job(f"flood{number:02}", installation=5) for number in range(20)]
    store.jobs.enqueue(flood, now=now)
    store.jobs.enqueue([job(f"few{number}", installation=9) for number in range(3)], now=now + timedelta(seconds=1))
    order = list(served(store, now + timedelta(minutes=1)))
    assert order[:6] == ["flood00", "few0", "flood01", "few1", "flood02", "few2"]
    assert len(order) == 23


def test_repositories_and_accounts_take_turns(store: Store, now: datetime) -> None:
    """Within an installation no repository fills the queue for the others, and within a repository no account."""
    store.jobs.enqueue([job(f"flood{number}", repository=1, actor=number % 2) for number in range(20)], now=now)
    store.jobs.enqueue([job("other account", repository=1, actor=7)], now=now)
    store.jobs.enqueue([job(f"other repository {number}", repository=2) for number in range(4)], now=now)
    order = list(served(store, now))
    assert order.index("other account") < 6, "one of three accounts of one of two repositories"
    assert max(order.index(f"other repository {number}") for number in range(4)) < 8


def test_no_priority_waits_for_ever(store: Store, now: datetime) -> None:
    """While answers keep coming in, a job of each other priority still gets its turn."""
    store.jobs.enqueue([job(each.name, each) for each in Priority], now=now)
    done: list[str] = []
    for number in range(ONE_IN * len(Priority)):
        store.jobs.enqueue([job(f"more{number}", Priority.QUICK)], now=now)
        done.append(next(served(store, now)))
    assert {each.name for each in Priority} <= set(done)


def test_one_process_is_kept_for_answers(store: Store, now: datetime) -> None:
    """Of a worker's three processes two take long jobs, and the third one answers while they run; so does each worker's."""
    store.jobs.enqueue([job(f"repair{number}") for number in range(9)], now=now)
    ours = [Claimer(name=f"host:1:{number}", processes=3) for number in range(3)]
    assert [claim(store, now, each) is None for each in ours] == [False, False, True]
    store.jobs.enqueue([job("help", Priority.QUICK, installation=2)], now=now)
    answer = claim(store, now, ours[2])
    assert answer is not None and answer.id == "help"
    assert claim(store, now, Claimer(name="host:2:1", processes=3)), "another worker has processes of its own"


def test_an_installation_has_its_limit(store: Store, now: datetime) -> None:
    """Beyond the limit an installation's long jobs wait, its answers do not, and another's jobs go on."""
    store.jobs.enqueue([job(f"repair{number}", installation=1) for number in range(5)], now=now)
    store.jobs.enqueue(
        [job("review", Priority.REVIEW, 1), job("help", Priority.QUICK, 1), job("z", installation=2)], now=now
    )
    limited = Claimer(name="w", most=2)
    taken = [claim(store, now, limited) for _ in range(5)]
    assert [each.id for each in taken if each][:2] == ["help", "review"]
    assert {each.id for each in taken if each} == {"help", "review", "repair0", "z"}
    assert taken[1] and store.jobs.finish(taken[1], now=now)
    again = claim(store, now, limited)
    assert again is not None and again.id == "repair1"


def test_what_cannot_run_holds_nothing_back(store: Store, now: datetime) -> None:
    """A held installation, a job before its time and the next round of a conversation are passed over."""
    store.jobs.enqueue([job("held", installation=1), job("later", installation=2)], now=now)
    store.jobs.enqueue(
        [replace(job(f"round{number}", installation=3), conversation="3#7") for number in (1, 2)], now=now
    )
    limit = store.jobs.lease("held", worker="w", now=now, seconds=60)
    later = store.jobs.lease("later", worker="w", now=now, seconds=60)
    assert limit and later
    hour = now + timedelta(hours=1)
    store.jobs.wait(limit, now=now, until=hour, reason="limited", installation_id=1)
    store.jobs.postpone(later, now=now, until=hour, reason="a branch moved")
    store.jobs.enqueue([job("also held", installation=1), job("free", Priority.BACKGROUND, installation=4)], now=now)
    taken = [claim(store, now) for _ in range(3)]
    assert [each and each.id for each in taken] == ["round1", "free", None]


def test_an_abandoned_job_has_its_turn(store: Store, now: datetime) -> None:
    """A job whose worker is gone is claimed again when its lease is over, in the turn of its installation."""
    store.jobs.enqueue([job("a", installation=1), job("b", installation=2), job("c", installation=1)], now=now)
    first, after = claim(store, now), now + timedelta(seconds=61)
    assert first is not None and first.id == "a"
    assert [each and each.id for each in (claim(store, after), claim(store, after))] == ["b", "a"]


def test_a_dead_job_takes_no_turn(store: Store, now: datetime) -> None:
    """Where the next one turns out to be dead, the claim goes on to the one after it."""
    store.jobs.enqueue([job("poison", installation=1), job("next", installation=1)], now=now)
    for number in range(5):
        assert store.jobs.lease("poison", worker="w", now=now + timedelta(minutes=number * 2), seconds=60)
    leased = claim(store, now + timedelta(minutes=11))
    assert leased is not None and leased.id == "next"
    assert store.jobs.counts()[JobState.DEAD] == 1


# ── Any jobs, any claimers ─────────────────────────────────────────────────────────────────────────────────────────

MOST, PROCESSES = 2, 3
NAMES = count()

new_jobs = st.builds(
    lambda priority, installation, repository, actor, rounds, later: (
        replace(
            job(f"j{next(NAMES)}", priority, installation, repository, actor),
            conversation=f"{repository}#{rounds}" if rounds else None,
        ),
        later,
    ),
    st.sampled_from(Priority),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 2),
    st.booleans(),
)


class Model:
    """What the claims should keep to, said without SQL."""

    def __init__(self) -> None:
        self.waiting: dict[str, NewJob] = {}
        self.running: dict[str, tuple[NewJob, LeasedJob]] = {}

    def may_run(self, each: NewJob, worker: str) -> bool:
        running = [job for job, _ in self.running.values()]
        if each.conversation and any(other.conversation == each.conversation for other in running):
            return False
        if each.priority is Priority.QUICK:
            return True
        long = [other for other in running if other.priority is not Priority.QUICK]
        ours = [leased for job, leased in self.running.values() if leased.worker.startswith(worker) and job in long]
        theirs = [other for other in long if other.installation_id == each.installation_id]
        return len(ours) < PROCESSES - 1 and len(theirs) < MOST


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(new_jobs, max_size=25), st.lists(st.tuples(st.integers(1, 2), st.integers(0, 4)), max_size=60))
def test_claims_keep_to_the_rules(
    tmp_path: Path, now: datetime, new: Sequence[tuple[NewJob, bool]], steps: Sequence[tuple[int, int]]
) -> None:
    """Only what may run is claimed, a claim fails only where nothing may run, and in the end everything was done once."""
    with migrated_store(tmp_path / f"{next(NAMES)}.db") as store:
        model, done = Model(), Counter[str]()
        late = now + timedelta(hours=1)
        store.jobs.enqueue([replace(each, run_after=late) if later else each for each, later in new], now=now)
        model.waiting = {each.id: each for each, later in new if not later}
        for worker, ends in [*steps, *((1, 0) for _ in new)]:
            step(store, model, now, f"host:{worker}:", done, ends)
        assert not model.waiting
        assert set(done) | set(model.running) == {each.id for each, later in new if not later}
        assert not done or max(done.values()) == 1


def step(store: Store, model: Model, now: datetime, worker: str, done: Counter[str], ends: int) -> None:
    """One claim by a worker; then some running jobs end, the oldest first, all of them for 0."""
    name = f"{worker}{len(done)}"
    leased = claim(store, now, Claimer(name=name, processes=PROCESSES, most=MOST))
    allowed = [each for each in model.waiting.values() if model.may_run(each, worker)]
    if leased is None:
        assert allowed == []
    else:
        assert model.waiting[leased.id] in allowed
        model.running[leased.id] = (model.waiting.pop(leased.id), leased)
    for each in list(model.running)[: len(model.running) if ends == 0 else ends - 1]:
        assert store.jobs.finish(model.running.pop(each)[1], now=now)
        done[each] += 1


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=40))
def test_turns_are_even(tmp_path: Path, now: datetime, who: Sequence[tuple[int, int, int]]) -> None:
    """Of one priority no installation gets a second turn while another one waits for its first."""
    with migrated_store(tmp_path / f"{next(NAMES)}.db") as store:
        new = {f"j{number}": each for number, each in enumerate(who)}
        store.jobs.enqueue([job(name, Priority.REVIEW, *each) for name, each in new.items()], now=now)
        order = [new[name][0] for name in served(store, now)]
    assert Counter(order) == Counter(installation for installation, _, _ in who)
    left = Counter(order)
    for first, second in pairwise(order):
        left[first] -= 1
        others = [each for each, number in left.items() if number and each != first]
        assert second != first or not others


# ── Several at the same time ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_processes_share_the_jobs_out(
    store: Store, database_url: str, now: datetime, run_together: Callable[[str, list[list[str]]], list[str]]
) -> None:
    """Claims at the same time never give one job twice, and leave none."""
    ids = [f"j{number}" for number in range(60)]
    store.jobs.enqueue([job(each, installation=number % 3) for number, each in enumerate(ids)], now=now)
    taken = run_together(RUN_CLAIMS, [[database_url, f"host:{number}:1", now.isoformat(), "0"] for number in range(3)])
    assert sorted("".join(taken).split()) == sorted(ids)


def test_a_limit_holds_at_the_same_time(
    store: Store, database_url: str, now: datetime, run_together: Callable[[str, list[list[str]]], list[str]]
) -> None:
    """Claims at the same time do not take more of an installation's jobs together than each alone may."""
    store.jobs.enqueue([job(f"j{number}") for number in range(30)], now=now)
    taken = run_together(RUN_CLAIMS, [[database_url, f"host:{number}:1", now.isoformat(), "4"] for number in range(3)])
    assert len("".join(taken).split()) == 4


def test_threads_and_one_conversation(store: Store, now: datetime) -> None:
    """Claims at the same time take one round of a conversation among them."""
    store.jobs.enqueue(
        [replace(job(f"r{number}", Priority.REVIEW), conversation="1#7") for number in range(8)], now=now
    )
    with ThreadPoolExecutor(8) as pool:
        leased = list(pool.map(lambda number: claim(store, now, Claimer(name=f"w{number}")), range(8)))
    assert sum(each is not None for each in leased) == 1


# ── Cost ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def instructions(store: Store, act: Callable[[], object]) -> int:
    """How many hundreds of instructions SQLite executes for it."""
    counted = count()

    def watch(connection: sqlite3.Connection, _record: object) -> None:
        connection.set_progress_handler(lambda: next(counted) and None, 100)

    store.database.engine.dispose()
    event.listen(store.database.engine, "connect", watch)
    act()
    event.remove(store.database.engine, "connect", watch)
    store.database.engine.dispose()
    return next(counted)


@pytest.mark.parametrize("installations", [1, 2000])
def test_a_claim_costs_the_same_among_many(tmp_path: Path, now: datetime, installations: int) -> None:
    """With 20,000 jobs waiting, also where all but one must wait, SQLite executes about as much for a claim as with 20."""
    with migrated_store(tmp_path / "a.db") as store:
        costs = []
        for number in (20, 20_000):
            new = [job(f"j{each}", installation=1 + each % installations) for each in range(number)]
            store.jobs.enqueue(new, now=now)
            claim(store, now)
            costs.append(instructions(store, lambda: claim(store, now)))
        assert costs[1] <= 2 * costs[0] + 10
