"""The composition root: settings become the parts that repair, review and the command line share."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Self

from memory.evaluation.rollback import current
from memory.model import Task
from memory.policy.learner import Learner
from memory.retrieval.embeddings import Embedder, open_embedder
from memory.retrieval.experiences import Experiences
from memory.store import Store, await_store, open_store
from workers.configuration.schema import ANY_ENVIRONMENT, NOTHING_CHOSEN, PATH, RepositoryConfiguration
from workers.environments.plan_memory import PlanMemory
from workers.environments.provide import Commit, Provider, without_environment, without_places
from workers.errors import BadInput, CannotRun
from workers.git import FETCHING_MUCH, Mirror, remove_least_used
from workers.ports import Image, Limits, Sandbox
from workers.repair.engines.engine import RepairDeps
from workers.sandbox.project import Project, discover
from workers.sandbox.tiers import open_sandbox
from workers.settings import PREFIX, WorkerSettings

if TYPE_CHECKING:  # a process without a model, or without GitHub, loads nothing of it
    from workers.agent.engine import LlmOptions
    from workers.llm.client import Models
    from workers.llm.messages import Model

Clock = Callable[[], datetime]


@dataclass(frozen=True, kw_only=True)
class Context:
    """What repair, review and the command line work with. A test can pass in every part of it."""

    settings: WorkerSettings
    store: Store
    learner: Learner
    experiences: Experiences
    embedder: Embedder
    clock: Clock
    rng: random.Random
    progress: Callable[[str], None]
    models: Models | None = None
    configuration: RepositoryConfiguration = NOTHING_CHOSEN

    def configured(self, configuration: RepositoryConfiguration) -> Self:
        """This context as a repository's own file wants it. Its limits count where they are below the operator's."""
        given, limits = self.settings, configuration.limits
        chosen = {"budget_seconds": limits.repair_seconds, "max_comments": limits.comments}
        narrowed = {name: min(getattr(given, name), most) for name, most in chosen.items() if most is not None}
        return replace(self, configuration=configuration, settings=given.model_copy(update=narrowed))

    def for_task(self, key: str) -> Self:
        """This context with a generator of its own: under a seed, a task draws the same numbers in any order of tasks."""
        rng = generator(self.settings, key)
        return replace(self, rng=rng, learner=_learner(self.store, rng, self.clock, self.settings))

    @cached_property
    def sandbox(self) -> Sandbox:
        """Opened when code first runs: a machine without a sandbox can do everything else."""
        return open_sandbox(self.settings)

    @property
    def limits(self) -> Limits:
        """The limits of one run of a project's tests."""
        wall = self.settings.sandbox_wall_seconds
        return Limits(wall_seconds=wall, cpu_seconds=ceil(2 * wall), memory_mb=self.settings.sandbox_memory_mb)

    def project(
        self,
        tree: Path,
        repository: str,
        *,
        python: Path | None = None,
        test_command: str | None = None,
        changed: Collection[str] = (),
        copy_of: Path | None = None,
        commit: Commit | None = None,
    ) -> Project:
        """The project in our own copy `tree`, on `python`, on the interpreter that is set, or in an environment that is made.

        Of several projects in the tree that of the files `changed` is meant. Where no environment can be made, the tests
        run on our own interpreter, and the project's `note` says why; so it does where the repository's own test command
        cannot be run. Raises BadInput, and CannotRun where the project asks for another Python than ours.
        """
        made = partial(self._project, tree, repository, python, changed, copy_of, commit)
        own, notes = self.configuration, list[str]()
        if (python or self.settings.python) and own.environment != ANY_ENVIRONMENT:
            notes.append(f"environment of {PATH} is not used: the interpreter of the tests was given")
        try:
            found = made(own.test_command or None if test_command is None else test_command)
        except BadInput as reason:
            if test_command is not None or not own.test_command:
                raise
            interpreter = str((python or self.settings.python or Path(sys.executable)).absolute())
            why = str(reason).replace(str(tree), "this repository").replace(interpreter, "the interpreter")
            notes.append(f"test-command of {PATH} is not used: {without_places(why, self.settings.home)}")
            try:
                found = made(None)
            except BadInput as none:
                raise BadInput(notes[-1]) from none
        for note in notes:
            self.progress(note)
        notes += [found.note] if found.note else []
        return replace(found, note="; ".join(notes), paths=own.paths)

    def _project(
        self,
        tree: Path,
        repository: str,
        python: Path | None,
        changed: Collection[str],
        copy_of: Path | None,
        commit: Commit | None,
        test_command: str | None,
    ) -> Project:
        if python := python or self.settings.python:
            return discover(tree, python=python, test_command=test_command, copy_of=copy_of)
        provider = Provider(
            sandbox=self.sandbox,
            home=self.settings.home,
            limits=self.limits,
            progress=self.progress,
            memory=PlanMemory(self.store, repository),
            clock=self.clock,
            commit=commit,
            choices=self.configuration.environment,
        )
        try:
            return provider.project_in(tree, changed, test_command, copy_of)
        except CannotRun as reason:
            if refused := without_environment(tree, changed):
                raise CannotRun(f"{reason}; {refused}") from reason
            why = without_places(str(reason), self.settings.home)
            note = f"{why}; the tests run on Apprentice's own Python, without the project's packages"
            self.progress(note)
            return replace(discover(tree, python=None, test_command=test_command, copy_of=copy_of), note=note)

    def repair_deps(self) -> RepairDeps:
        return RepairDeps(
            sandbox=self.sandbox,
            store=self.store,
            learner=self.learner,
            experiences=self.experiences,
            rng=self.rng,
            budget_seconds=self.settings.budget_seconds,
            limits=self.limits,
            progress=self.progress,
        )

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

    def local_mirror(self, path: Path, name: str) -> Mirror:
        """The bare copy of a repository on this disk."""
        return Mirror(self._place_of_mirror(name), str(path), fetching=FETCHING_MUCH)

    def _place_of_mirror(self, name: str) -> Path:
        """Its directory. Before a new one is made the least used ones go."""
        place = self.settings.home / "mirrors" / f"{name}.git"
        if not place.exists():
            remove_least_used(place.parent, seconds=self.settings.keep_files_days * 86_400.0)
        return place


def open_context(
    settings: WorkerSettings,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    progress: Callable[[str], None] = lambda _line: None,
) -> Context:
    """A context of real parts, by default on the database's clock. It opens the store, and not the sandbox yet."""
    store = open_store(settings.database())
    clock = clock or store.clock
    rng = generator(settings, "")
    embedder = embedder or open_embedder(settings.embedder)
    learner = _learner(store, rng, clock, settings)
    learner.keep_up()
    return Context(
        settings=settings,
        store=store,
        learner=learner,
        experiences=Experiences(store, embedder),
        embedder=embedder,
        clock=clock,
        rng=rng,
        progress=progress,
        models=_models(settings, store, clock),
    )


def check_worker(settings: WorkerSettings, report: Callable[[str], None]) -> None:
    """Look at the schema and the settings before the processes of a worker start. Raises StoreError, StoreUnavailable where
    the database does not answer for `start_seconds`, and BadInput."""
    limits = ("budget_seconds", "sandbox_wall_seconds", "model_seconds")
    least = sum(getattr(settings, name) for name in limits)
    if settings.job_seconds <= least:  # a job that keeps to the limits of what it runs is never ended for its time
        names = " and ".join(PREFIX + name.upper() for name in limits)
        raise BadInput(f"{PREFIX}JOB_SECONDS must be more than {names} together, {least:g}")
    with await_store(settings.database(), seconds=settings.start_seconds, report=report) as store:
        # Once, before several processes would.
        _learner(store, generator(settings, ""), store.clock, settings).keep_up()
        _models(settings, store, store.clock)


def _models(settings: WorkerSettings, store: Store, clock: Clock) -> Models | None:
    """The models that the settings name; their client is loaded only where they name one. Raises BadInput without it."""
    if not settings.model_base_url:
        return None
    if find_spec("openai") is None:
        raise BadInput(
            "APPRENTICE_MODEL_BASE_URL names a model, and its client is not installed: install Apprentice with the extra model"
        )
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
    """Random numbers for one purpose: fixed by the seed and the key, or fresh without a seed."""
    seed = None if settings.seed is None else f"{settings.seed}:{key}"
    return random.Random(seed)  # noqa: S311  chooses strategies, guards nothing
