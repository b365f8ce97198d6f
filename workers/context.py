"""The composition root: settings become everything that a flow may touch."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from memory.embed import EMBEDDERS, Embedder
from memory.experiences import Experiences
from memory.learner import Learner
from memory.model import Task, TaskKind
from memory.preferences.collecting import Taste, taste
from memory.rollback import current
from memory.store import Store, open_store
from workers.errors import ApprenticeError
from workers.git import Mirror, Remote
from workers.github.adapter import GitHubRepository
from workers.github.auth import SECONDS_BETWEEN_WRITES, GitHubHook, Tokens, app_of
from workers.jobs import Job, RepositoryRef
from workers.ports import AppHook, GitHub, Image, Sandbox
from workers.queue.idempotency import Effects
from workers.queue.runner import Flow
from workers.repair.engines.engine import RepairDeps
from workers.sandbox.detect import open_sandbox
from workers.settings import WorkerSettings

if TYPE_CHECKING:  # a process without a model loads nothing of it
    from workers.agent.engine import LlmOptions
    from workers.llm.client import Models
    from workers.llm.messages import Model

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The one clock of production."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Context:
    """What a flow may touch. Everything in it can be passed in by a test."""

    settings: WorkerSettings
    store: Store
    learner: Learner
    experiences: Experiences
    embedder: Embedder
    clock: Clock
    rng: random.Random
    connect: Callable[[RepositoryRef], GitHub]
    progress: Callable[[str], None]
    hook: Callable[[], AppHook | None]
    models: Models | None = None
    flows: Mapping[type, Flow] = field(default_factory=dict)
    teller: Callable[[Job, ApprenticeError, Context], None] | None = None
    job_id: str = ""

    def for_job(self, job_id: str) -> Context:
        """This context, for one job's effects."""
        return replace(self, job_id=job_id)

    def for_task(self, key: str) -> Context:
        """This context with choices of their own: under a seed, the same task meets the same chances in any order."""
        rng = generator(self.settings, key)
        return replace(self, rng=rng, learner=_learner(self.store, rng, self.clock, self.settings))

    def tell(self, job: Job, error: ApprenticeError) -> None:
        """Tell whoever asked that the job failed."""
        if self.teller is not None:
            self.teller(job, error, self)

    @cached_property
    def sandbox(self) -> Sandbox:
        """Opened when code is first to be run: without one, everything else still works."""
        return open_sandbox(self.settings)

    def repair_deps(self) -> RepairDeps:
        """What a repair works with."""
        return RepairDeps(
            sandbox=self.sandbox,
            store=self.store,
            learner=self.learner,
            experiences=self.experiences,
            rng=self.rng,
            budget_seconds=self.settings.budget_seconds,
            progress=self.progress,
            taste=partial(self.taste, TaskKind.REPAIR),
        )

    def taste(self, kind: TaskKind, repository: str) -> Taste | None:
        """What people of a repository like, where a reward model is in force that knows."""
        return taste(self.store, self.embedder, kind, repository)

    def model(self, task_id: str, repository: str) -> Model | None:
        """The model with the accounts of one task; None where none is set."""
        return None if self.models is None else self.models(task_id, repository)

    def llm_options(
        self,
        task: Task,
        *,
        guidance: str = "",
        history: Callable[[str, int], Sequence[str]] | None = None,
        images: tuple[Image, ...] = (),
    ) -> LlmOptions | None:
        """What a repair with a model needs; None where none is set."""
        model = self.model(task.id, task.repository)
        if model is None:
            return None
        from workers.agent.engine import LlmOptions

        given = self.settings
        return LlmOptions(
            model=model,
            seconds=given.model_seconds,
            steps=given.model_steps,
            strategies=given.model_strategies,
            guidance=guidance,
            history=history,
            images=images,
        )

    @property
    def effects(self) -> Effects:
        return Effects(self.store, self.job_id, self.clock)

    def mirror(self, repository: RepositoryRef, github: GitHub) -> Mirror:
        """Our bare copy of a repository on GitHub."""
        remote = Remote(url=github.clone_url(), token=github.token())
        return Mirror(self.settings.home / "mirrors" / f"{repository.id}.git", remote)

    def local_mirror(self, path: Path, name: str) -> Mirror:
        """Our bare copy of a repository on this disk."""
        return Mirror(self.settings.home / "mirrors" / f"{name}.git", Remote(url=str(path)))


def build(
    settings: WorkerSettings,
    *,
    embedder: Embedder | None = None,
    clock: Clock = utc_now,
    progress: Callable[[str], None] = lambda _line: None,
    flows: Mapping[type, Flow] | None = None,
    teller: Callable[[Job, ApprenticeError, Context], None] | None = None,
    seconds_between_writes: float = SECONDS_BETWEEN_WRITES,
) -> Context:
    """A context on real parts; opens the store, touches neither GitHub nor the sandbox yet."""
    store = open_store(settings.database())
    rng = generator(settings, "")
    embedder = embedder or EMBEDDERS[settings.embedder]()
    return Context(
        settings=settings,
        store=store,
        learner=_learner(store, rng, clock, settings),
        experiences=Experiences(store, embedder),
        embedder=embedder,
        clock=clock,
        rng=rng,
        connect=connector(settings, clock, seconds_between_writes),
        progress=progress,
        hook=lambda: _hook(settings),
        models=_models(settings, store, clock),
        flows=flows or {},
        teller=teller,
    )


def _models(settings: WorkerSettings, store: Store, clock: Clock) -> Models | None:
    """The models that the settings name; their client is loaded only where they name one."""
    if not settings.model_base_url:
        return None
    from workers.llm.client import models_of

    return models_of(settings, store, clock, generator(settings, "models"))


def _learner(store: Store, rng: random.Random, clock: Clock, settings: WorkerSettings) -> Learner:
    """A learner with the version of the policy that is in use now."""
    return Learner(
        store,
        rng,
        clock,
        control_share=settings.control_share,
        quorum=settings.quorum,
        policy_version=current(store).version,
    )


def generator(settings: WorkerSettings, key: str) -> random.Random:
    """Chances for one purpose: fixed by the seed and the key, or fresh without a seed."""
    seed = None if settings.seed is None else f"{settings.seed}:{key}"
    return random.Random(seed)  # noqa: S311  chooses strategies, guards nothing


def connector(
    settings: WorkerSettings, clock: Clock, seconds_between_writes: float
) -> Callable[[RepositoryRef], GitHub]:
    """Opens repositories on GitHub as the App's installation; raises CannotRun when the App is not configured."""

    tokens = cache(lambda: Tokens(app_of(settings), clock))

    def connect(repository: RepositoryRef) -> GitHub:
        return GitHubRepository(
            settings.github_url,
            repository,
            lambda: tokens().token(repository),
            seconds_between_writes=seconds_between_writes,
        )

    return connect


def _hook(settings: WorkerSettings) -> AppHook | None:
    """The App's webhook log; None where no App is configured."""
    return GitHubHook(app_of(settings)) if settings.app_id else None
