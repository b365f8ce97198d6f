"""What the agent keeps of its attempts helps it, and is not there with memory off: a scripted model, real tests, real HTTP.

The script solves a task only if a certain text is before it, so these tests show that the texts come, when and to whom they
should. How much a real model makes of them is for `python -m benchmarks.agent` to measure.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.model_server.script import Script, ScriptedCall, Turn, When
from bot.model_server.server import ModelServer
from memory.model import Actor, AttemptOutcome, Permission, RetryMode, SignalKind, Task, TaskKind
from memory.policy.learner import Learner
from memory.retrieval.embeddings import HashedWords
from memory.retrieval.experiences import Experiences
from memory.store import Store
from tests.databases import migrated_store
from tests.projects import PYPROJECT
from workers.agent.engine import STRATEGIES, LlmOptions
from workers.llm.client import models_of
from workers.repair.engines.engine import RepairDeps
from workers.repair.episode import repair
from workers.repair.result import Repaired
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover
from workers.settings import WorkerSettings

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

LESSON = "The bound itself is allowed, so compare with the size before the new one comes."
LESSON_ASKED = When(system=("four sentences",))
LOOPS = ("model:minimal", "model:related", "model:test_first")


def box(name: str) -> dict[str, str]:
    """A class that holds one thing too many, and its tests."""
    return {
        f"{name}.py": f"""
class {name.title()}:
    def __init__(self, size):
        self.size = size
        self.held = []

    def put(self, *names):
        for name in names:
            if len(self.held) <= self.size:
                self.held.append(name)
        return len(self.held)
""",
        f"test_{name}.py": f"""
from {name} import {name.title()}


def test_it_holds_no_more_than_its_size():
    assert [{name.title()}(size).put("a", "b", "c") for size in (1, 2, 5)] == [1, 2, 3]
""",
    }


def edit(name: str, new: str, when: When) -> tuple[Turn, ...]:
    """An edit of the comparison, and the end, wherever `when` holds."""
    old = "len(self.held) <= self.size"
    arguments: dict[str, object] = {"path": f"{name}.py", "old": old, "new": new}
    done = When(contains=(*when.contains, f"edited {name}.py"), lacks=when.lacks)
    todo = When(contains=when.contains, lacks=(*when.lacks, f"edited {name}.py"))
    return (
        Turn(calls=(ScriptedCall(name="edit", arguments=arguments),), when=todo),
        Turn(calls=(ScriptedCall(name="finish", arguments={"summary": f"{name}.py:9 {LESSON}"}),), when=done),
    )


def right(name: str, *texts: str) -> tuple[Turn, ...]:
    """The right edit, where these texts are in the prompt."""
    return edit(name, "len(self.held) < self.size", When(contains=(f"test_{name}.py::", *texts)))


def wrong(name: str) -> tuple[Turn, ...]:
    """The wrong one, everywhere else."""
    return edit(name, "len(self.held) != self.size + 2", When(contains=(f"test_{name}.py::",)))


class House:
    """A memory, and repairs by a scripted model that use it."""

    def __init__(self, home: Path, server: ModelServer) -> None:
        self.home = home
        self.store: Store = migrated_store(home / "memory.db")
        self.rng = random.Random(3)
        self.learner = Learner(self.store, self.rng, self.clock, control_share=0.0)
        settings = WorkerSettings(home=home, model_base_url=server.url, model="scripted")
        self.models = models_of(settings, self.store, self.clock, self.rng)

    @staticmethod
    def clock() -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def repair(
        self,
        name: str,
        *,
        mode: RetryMode = RetryMode.BOTH,
        remember: bool = True,
        attempts: int = 1,
        repository: str = "o/boxes",
    ) -> Repaired:
        """Have `name` repaired, in at most so many attempts."""
        root = self.home / uuid.uuid4().hex
        root.mkdir()
        for path, text in box(name).items():
            (root / path).write_text(text)
        (root / "pyproject.toml").write_text(PYPROJECT)
        task = Task(
            id=root.name, kind=TaskKind.REPAIR, repository=repository, sha=root.name, number=0, created_at=self.clock()
        )
        self.store.tasks.add(task)
        tools = RepairDeps(
            sandbox=Bubblewrap(),
            store=self.store,
            learner=self.learner,
            experiences=Experiences(self.store, HashedWords()),
            rng=self.rng,
            budget_seconds=240.0,
            progress=lambda line: None,
            retries=(mode,),
            remember=remember,
        )
        model = self.models(task.id, task.repository)
        llm = LlmOptions(model=model, seconds=120.0, steps=6, attempts=attempts, strategies=LOOPS)
        return repair(task, discover(root, python=None, test_command=None), tools, llm)

    def merged(self, repaired: Repaired, *accounts: int) -> None:
        assert repaired.proven is not None
        for account in accounts:
            actor = Actor(id=account, login=f"m{account}")
            decision = repaired.proven.decision_id
            self.learner.record_signal(decision, SignalKind.FIX_MERGED, actor, Permission.MAINTAIN, f"pull:{account}")


@contextmanager
def house(home: Path, *turns: Turn) -> Iterator[tuple[House, ModelServer]]:
    """A house whose model follows these turns, and says the lesson whenever it is asked to reflect."""
    script = Script(turns=(Turn(say=LESSON, when=LESSON_ASKED), *turns))
    with ModelServer(script) as server:
        found = House(home, server)
        with found.store:
            yield found, server


def outcomes(repaired: Repaired) -> list[AttemptOutcome]:
    return [attempt.outcome for attempt in repaired.attempts]


def test_a_reflection_helps_the_next_attempt(tmp_path: Path) -> None:
    """What the model wrote after it failed is before it at its next attempt, with which it succeeds."""
    with house(tmp_path, *right("crate", "Lessons of earlier tries", LESSON), *wrong("crate")) as (home, _):
        assert outcomes(home.repair("crate", attempts=2)) == [AttemptOutcome.NOTHING_PLAUSIBLE, AttemptOutcome.PROVEN]


def test_without_memory_it_does_not(tmp_path: Path) -> None:
    """With memory off, no attempt knows of another one: all of them fail."""
    with house(tmp_path, *right("crate", LESSON), *wrong("crate")) as (home, server):
        assert AttemptOutcome.PROVEN not in outcomes(home.repair("crate", attempts=3, remember=False))
        asked = [request for request in server.requests if request.tools]
        assert not any(LESSON in request.prompt for request in asked)


@pytest.mark.parametrize("control", [False, True])
def test_memory_is_not_asked_where_it_is_off(tmp_path: Path, control: bool) -> None:
    """Neither the control arm nor a repair without memory gets anything of the tool that asks it."""
    with house(tmp_path, *wrong("crate")) as (home, _):
        home.repair("crate")
    asks = Turn(calls=(ScriptedCall(name="recall", arguments={"like": "it holds more than its size"}),), times=1)
    with house(tmp_path, asks, *wrong("crate")) as (home, server):
        home.learner = Learner(home.store, home.rng, home.clock, control_share=float(control))
        home.repair("crate", remember=control)
        asked = [request.prompt for request in server.requests if request.tools]
        assert len(asked) == 3
        assert not any(LESSON in prompt for prompt in asked)


def test_a_lesson_serves_a_similar_task(tmp_path: Path) -> None:
    """A failure like one that was reflected upon is repaired at the first attempt; without memory it is not."""
    turns = (*right("crate", LESSON), *wrong("crate"), *right("chest", LESSON), *wrong("chest"))
    with house(tmp_path, *turns) as (home, _):
        home.repair("crate", attempts=2)
        assert outcomes(home.repair("chest", remember=False)) == [AttemptOutcome.NOTHING_PLAUSIBLE]
        assert outcomes(home.repair("chest")) == [AttemptOutcome.PROVEN]


@pytest.mark.parametrize(
    ("mode", "lesson", "last"),
    [
        (RetryMode.NONE, False, False),
        (RetryMode.LAST_ATTEMPT, False, True),
        (RetryMode.REFLECTION, True, False),
        (RetryMode.BOTH, True, True),
    ],
)
def test_retry_modes(tmp_path: Path, mode: RetryMode, lesson: bool, last: bool) -> None:
    """Each mode gives the second attempt what it is named for, and nothing else."""
    with house(tmp_path, *wrong("crate")) as (home, server):
        home.repair("crate", attempts=2, mode=mode)
        second = next(r for r in reversed(server.requests) if r.tools).prompt
        assert ("Lessons of earlier tries" in second) is lesson
        assert ("The last try, which failed" in second) is last


def test_rewards_are_in_the_context(tmp_path: Path) -> None:
    """What was tried at similar failures is in the prompt with what it was worth, bad and good; the code of others is not."""
    table = ("reward 0.", "nothing_plausible", "reward 0.97", "proven", "+            if len(self.held) < self.size:")
    turns = (*right("crate", LESSON), *wrong("crate"), *right("chest", *table), *wrong("chest"))
    with house(tmp_path, *turns) as (home, server):
        home.merged(home.repair("crate", attempts=2), 1)
        assert outcomes(home.repair("chest", mode=RetryMode.NONE, remember=False)) == [AttemptOutcome.NOTHING_PLAUSIBLE]
        assert outcomes(home.repair("chest", mode=RetryMode.NONE)) == [AttemptOutcome.PROVEN]
        home.repair("chest", mode=RetryMode.NONE, repository="p/elsewhere")
        theirs = next(request for request in reversed(server.requests) if request.tools).prompt
        assert "Similar failures" in theirs
        assert "crate.py" not in theirs
        assert "| AssertionError |" not in theirs


def test_skills_are_in_the_context(tmp_path: Path) -> None:
    """What people accepted is generalised, and is before the model as an edit to be made."""
    skill = ("Edits that repaired failures like this", "if len(self.held) < self.size")
    turns = (*right("crate", LESSON), *wrong("crate"), *right("chest", *skill), *wrong("chest"))
    with house(tmp_path, *turns) as (home, _):
        home.merged(home.repair("crate", attempts=2), 1, 2)
        assert outcomes(home.repair("chest", mode=RetryMode.NONE, remember=False)) == [AttemptOutcome.NOTHING_PLAUSIBLE]
        assert outcomes(home.repair("chest", mode=RetryMode.NONE)) == [AttemptOutcome.PROVEN]


def test_accepted_trajectories_are_examples(tmp_path: Path) -> None:
    """How an accepted repair was made is shown for a similar one; before anybody accepted it, it is not."""
    example = ("Repairs that maintainers here accepted", '"path":"crate.py"')
    turns = (*right("crate", LESSON), *wrong("crate"), *right("chest", *example), *wrong("chest"))
    with house(tmp_path, *turns) as (home, _):
        first = home.repair("crate", attempts=2)
        assert outcomes(home.repair("chest", mode=RetryMode.NONE)) == [AttemptOutcome.NOTHING_PLAUSIBLE]
        home.merged(first, 1)
        assert outcomes(home.repair("chest", mode=RetryMode.NONE)) == [AttemptOutcome.PROVEN]


def test_every_strategy_is_known_to_the_policy() -> None:
    """What the policy may choose is what settings may name."""
    assert {*STRATEGIES, "embedded"} == set(WorkerSettings(home=Path("/none")).model_strategies)
