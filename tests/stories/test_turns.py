"""Whoever asks is answered, however much work of others waits."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from memory.model import Actor
from memory.model.jobs import Claimer, JobState
from tests.stories import town as founding
from tests.stories.town import REPOSITORY, nobody
from workers.jobs import Fix, RepositoryRef
from workers.queue.enqueue import rows
from workers.queue.runner import run_next


def test_help_beside_five_hundred_repairs(tmp_path: Path) -> None:
    """Where an installation has 500 repairs waiting and one running, another's `help` is the next job of the other process."""
    with founding.town(tmp_path, workers=2) as town:
        loud = RepositoryRef(id=9_000_001, full_name="loud/shop", installation_id=9_000_001)
        actor = Actor(id=9, login="loud")
        repairs = [
            Fix(repository=loud, actor=actor, number=number, pull=False, commanded=True) for number in range(500)
        ]
        jobs, now = town.context.store.jobs, town.clock()
        flood = rows("flood", repairs)
        jobs.enqueue(flood, now=now)
        running = jobs.claim(Claimer(name="host:1:1", processes=2), now=now, seconds=3600)
        assert running is not None and running.kind == "fix"

        number = town.maya.open_issue(REPOSITORY, "What can you do?", "")
        town.maya.comment(REPOSITORY, number, "@apprentice help")
        town.playground.drain()
        assert run_next(town.context, worker="host:1:2", send=nobody)

        assert [answer.body.splitlines()[0] for answer in town.answers(number)] == ["| command | what it does |"]
        assert Counter(job.state for job in town.jobs(*(each.id for each in flood))) == {
            JobState.READY: 499,
            JobState.LEASED: 1,
        }
