"""A fix that was accepted in one place is made in another: real projects, a real store, real sandboxes."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from benchmarks.repair.firstfound import FirstFound
from memory.model import Actor, Permission, RetryMode, SignalKind, Task, TaskKind
from memory.policy.learner import Learner
from memory.reflections import latest_reflections
from memory.retrieval.embeddings import HashedWords
from memory.retrieval.experiences import Experiences
from memory.skills import SkillState, current, tried_as, usable
from memory.store import Store
from tests.databases import migrated_store
from tests.projects import PYPROJECT
from workers.repair.engines.engine import RepairDeps
from workers.repair.engines.search.session import SearchSession
from workers.repair.episode import repair
from workers.repair.result import Repaired
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

SHELF = {
    "shelf.py": """
class Shelf:
    def __init__(self, size):
        self.size = size
        self.held = []

    def put(self, *names):
        for name in names:
            if len(self.held) - 1 < self.size:
                self.held.append(name)
        return len(self.held)
""",
    "test_shelf.py": """
from shelf import Shelf


def test_it_holds_no_more_than_its_size():
    assert [Shelf(size).put("a", "b", "c") for size in (1, 2, 5)] == [1, 2, 3]


def test_it_holds_what_there_is():
    assert Shelf(3).put("a") == 1
""",
}

QUEUE = {
    "queue_of.py": """
class Queue:
    def __init__(self, most):
        self.most = most
        self.waiting = []
        self.refused = []

    def join(self, *people):
        before = len(self.waiting) + len(self.refused)
        for one in people:
            if one in self.waiting:
                continue
            if len(self.waiting) - 1 < self.most:
                self.waiting.append(one)
            else:
                self.refused.append(one)
        return len(self.waiting), len(self.refused) + before - before
""",
    "test_queue_of.py": """
from queue_of import Queue


def test_those_who_wait_and_those_who_are_refused():
    assert Queue(2).join("x", "y", "z") == (2, 1)
    assert Queue(1).join("x", "y", "z") == (1, 2)


def test_some():
    assert Queue(4).join("x", "x") == (1, 0)
""",
}


class House:
    """A memory with its learner, and repairs that use both."""

    def __init__(self, home: Path) -> None:
        self.store: Store = migrated_store(home / "memory.db")
        self._home = home
        self._clock = lambda: datetime(2026, 1, 1, tzinfo=UTC)
        self.learner = Learner(self.store, random.Random(1), self._clock, control_share=0.0)

    def repair(
        self,
        name: str,
        files: dict[str, str],
        *,
        session: Callable[..., SearchSession] = SearchSession,
        retries: tuple[RetryMode, ...] = (RetryMode.NONE,),
        gives_up: bool = True,
    ) -> Repaired:
        root = self._home / uuid.uuid4().hex
        root.mkdir()
        for path, text in files.items():
            (root / path).write_text(text)
        (root / "pyproject.toml").write_text(PYPROJECT)
        task = Task(
            id=root.name,
            kind=TaskKind.REPAIR,
            repository=f"o/{name}",
            sha=root.name,
            number=0,
            created_at=self._clock(),
        )
        self.store.tasks.add(task)
        tools = RepairDeps(
            sandbox=Bubblewrap(),
            store=self.store,
            learner=self.learner,
            experiences=Experiences(self.store, HashedWords()),
            rng=random.Random(1),
            budget_seconds=240.0,
            gives_up=gives_up,
            progress=lambda line: None,
            session=session,
            retries=retries,
        )
        return repair(task, discover(root, python=None, test_command=None), tools)

    def merged(self, repaired: Repaired, *accounts: int) -> None:
        assert repaired.proven is not None
        for account in accounts:
            self.learner.record_signal(
                repaired.proven.decision_id,
                SignalKind.FIX_MERGED,
                Actor(id=account, login=f"m{account}"),
                Permission.MAINTAIN,
                f"pull:{account}",
            )


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    found = House(tmp_path)
    with found.store:
        yield found


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[House]:
    (tmp_path / "fresh").mkdir()
    found = House(tmp_path / "fresh")
    with found.store:
        yield found


def candidates(repaired: Repaired) -> int:
    assert repaired.first is not None
    return repaired.first.candidates


def test_an_accepted_fix_is_made_elsewhere_in_fewer_candidates(house: House, fresh: House) -> None:
    """Two maintainers merge a fix; the same slip under other names in another repository is repaired sooner."""
    taught = house.repair("shelf", SHELF)
    assert usable(current(house.store), "o/queue") == ()
    house.merged(taught, 1, 2)
    (skill,) = usable(current(house.store), "o/queue")
    assert (skill.state, skill.repositories, skill.teachers) == (SkillState.ACTIVE, ("o/shelf",), (1, 2))
    learned, cold = house.repair("queue", QUEUE), fresh.repair("queue", QUEUE)
    assert candidates(learned) < candidates(cold)
    (used,) = (each for each in house.store.experiences.all() if each.repository == "o/queue")
    assert used.tried[tried_as(skill.name)] == candidates(learned)
    again = next(each for each in current(house.store) if each.name == skill.name)
    assert (again.tries, again.wins) == (1, 1)


def test_what_is_taken_back_is_no_skill_any_more(house: House) -> None:
    """Without the merges nothing reaches other repositories, and with them again it is the same skill as before."""
    taught = house.repair("shelf", SHELF)
    house.merged(taught, 1, 2)
    before = current(house.store)
    assert taught.proven is not None
    for account in (1, 2):
        house.learner.retract(taught.proven.decision_id, SignalKind.FIX_MERGED, f"pull:{account}")
    assert usable(current(house.store), "o/queue") == ()
    house.merged(taught, 3, 4)
    assert [replace(skill, teachers=(1, 2)) for skill in current(house.store)] == list(before)


@pytest.mark.parametrize(("name", "files"), [("shelf", SHELF), ("queue", QUEUE)])
def test_a_second_attempt_does_not_begin_anew(name: str, files: dict[str, str], house: House, fresh: House) -> None:
    """Cut off before its patch, a strategy leaves what it ruled out: the next time its first candidate is the patch.

    The next repair begins with other strategies: the table has learned that this one failed.
    """
    first = fresh.repair(name, files, session=partial(FirstFound, most=200))
    assert first.proven is not None
    cold = candidates(first)
    cut = house.repair(name, files, session=partial(FirstFound, most=cold - 1))
    assert cut.proven is None
    assert sum(len(each.ruled_out) for each in latest_reflections(house.store, f"o/{name}")) == cold - 1
    again = house.repair(name, files, session=partial(FirstFound, most=200), retries=(RetryMode.LAST_ATTEMPT,))
    assert again.proven is not None
    assert (again.proven.strategy, again.proven.candidates) == (first.proven.strategy, 1)
    assert again.proven.candidates < cold
    chosen = [each.decision.chosen for each in house.store.ledger.logged(TaskKind.REPAIR)]
    assert "retry:last_attempt" in chosen
