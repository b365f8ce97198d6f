"""Practice on real projects: a real store, real sandboxes, real git."""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.forget import forget, learned_in
from memory.model import Family, Task, TaskKind
from memory.policy.learner import Learner
from memory.practice import Drill, practised_weights
from memory.retrieval.embeddings import HashedWords
from memory.retrieval.experiences import Experiences
from memory.skills import current
from memory.store import Store
from tests.databases import migrated_store
from workers.practice.past_bugs import past_bugs
from workers.practice.practice import Exercise, Practice, grounds, slips
from workers.repair.engines.engine import RepairDeps
from workers.repair.engines.search.templates import all_templates
from workers.repair.episode import repair
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.run_tests import discover

pytestmark = pytest.mark.sandbox

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PRIOR = {each.name: each.prior_for(Family.TYPE) for each in all_templates()}
TILL = """
def total(prices, discount=0):
    result = 0
    for price in prices:
        result += price
    return max(result - discount, 0)


def cheapest(prices, most):
    return sorted(prices)[:most]
"""
TESTS = """
from till import cheapest, total


def test_total():
    assert total([1, 2]) == 3
    assert total([1, 2], 2) == 1
    assert total([1], 2) == 0


def test_cheapest():
    assert cheapest([3, 1, 2], 2) == [1, 2]
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "till"
    made.mkdir()
    for name, text in (("till.py", TILL), ("test_till.py", TESTS), ("pytest.ini", "[pytest]\n")):
        (made / name).write_text(text)
    return made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return migrated_store(tmp_path / "memory.db")


def deps_of(store: Store) -> RepairDeps:
    return RepairDeps(
        sandbox=Bubblewrap(),
        store=store,
        learner=Learner(store, random.Random(1), lambda: NOW, control_share=0.0),
        experiences=Experiences(store, HashedWords()),
        rng=random.Random(1),
        budget_seconds=60.0,
        progress=lambda line: None,
    )


def practised(tree: Path, store: Store, most: int = 4) -> list[Exercise]:
    deps = deps_of(store)
    known = grounds(discover(tree, python=None, test_command=None), deps)
    practice = Practice(known=known, deps=deps, repository="o/till", sha="s", clock=lambda: NOW)
    return list(practice.exercises(slips(known, random.Random(2)), seconds=600.0, most=most))


def test_practice_leaves_the_tree_as_it_was_and_repairs_some_bugs(tree: Path, store: Store) -> None:
    """Of bugs that tests detect some are found again; no file stays changed."""
    found = practised(tree, store)
    assert len(found) == 4
    assert any(each.solved and each.template for each in found)
    assert (tree / "till.py").read_text() == TILL


def test_practice_is_no_experience(tree: Path, store: Store) -> None:
    """Nothing of a planted bug is recalled, replayed or counted as a repair."""
    practised(tree, store)
    assert store.practice.of("o/till", Drill)
    assert store.experiences.all() == []
    assert current(store) == ()
    assert store.ledger.logged(TaskKind.REPAIR) == []
    assert store.tasks.attempts_of_repairs() == {}


def test_practice_is_a_prior_of_the_next_repair(tree: Path, store: Store, tmp_path: Path) -> None:
    """After practice a repair begins with other odds than with an empty memory; a worth of 0 leaves practice out."""

    def odds(memory: Store, worth: float) -> dict[str, float]:
        task = Task(id=f"repair-{worth}", kind=TaskKind.REPAIR, repository="o/till", sha="s", number=0, created_at=NOW)
        memory.tasks.add(task)
        repair(task, discover(tree, python=None, test_command=None), replace(deps_of(memory), practice=worth))
        first = memory.ledger.decisions_of_task(task.id)[0]
        return dict(zip(first.available, first.probabilities, strict=True))

    practised(tree, store)
    (tree / "till.py").write_text(TILL.replace("[:most]", "[:prices]"))
    assert odds(store, 1.0) != odds(migrated_store(tmp_path / "unknown.db"), 1.0)
    assert set(practised_weights(store, "o/till", Family.TYPE, PRIOR, worth=0.0).values()) <= {1.0}
    assert practised_weights(store, "o/other", Family.TYPE, PRIOR) == {}


def test_practice_is_forgotten_exactly(tree: Path, store: Store) -> None:
    """After its repository is forgotten the table is the one before, and no drill is left; a rebuild gives the same."""
    before = store.ledger.cells_digest()
    practised(tree, store)
    learned = store.ledger.cells_digest()
    deps_of(store).learner.rebuild()
    assert before != learned == store.ledger.cells_digest()
    forget(store, learned_in(store, "o/till"), now=NOW, new_id=lambda: "none")
    assert store.ledger.cells_digest() == before
    assert store.practice.of("o/till", Drill) == []
    assert practised_weights(store, "o/till", Family.TYPE, PRIOR) == {}


def test_a_past_fix_is_taken_back(tree: Path) -> None:
    """A fix of few lines whose code still stands is planted as a bug; one whose code changed since is not."""

    def commit(subject: str, text: str) -> None:
        (tree / "till.py").write_text(text)
        for words in (("add", "."), ("-c", "user.name=m", "-c", "user.email=m@m", "commit", "-qm", subject)):
            subprocess.run(("git", "-C", str(tree), *words), check=True)

    subprocess.run(("git", "init", "-q", str(tree)), check=True)
    commit("start", TILL.replace("max(result - discount, 0)", "result - discount").replace("sorted(prices)", "prices"))
    commit("cheapest ones first", TILL.replace("max(result - discount, 0)", "result - discount"))
    commit("fix totals below zero", TILL)
    commit("fix a name", TILL.replace("price in prices", "each in prices").replace("+= price", "+= each"))
    commit("rename", TILL)
    head = subprocess.run(("git", "-C", str(tree), "rev-parse", "HEAD"), capture_output=True, text=True, check=True)
    (bug,) = past_bugs(tree, head.stdout.strip(), {"till.py": TILL})
    assert bug.source == TILL.replace("max(result - discount, 0)", "result - discount")
    assert TILL.splitlines()[bug.line - 1].strip() == "return max(result - discount, 0)"
