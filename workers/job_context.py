"""What a job of the worker works with: the shared context, and GitHub as the App's installation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from memory.retrieval.embeddings import Embedder
from workers.context import Clock, Context, open_context, utc_now
from workers.errors import ApprenticeError
from workers.git import Mirror, Remote
from workers.github.adapter import GitHubRepository
from workers.github.auth import SECONDS_BETWEEN_WRITES, GitHubHook, InstallationTokens, app_of
from workers.jobs import Job, RepositoryRef
from workers.ports import AppHook, GitHub
from workers.queue.idempotency import Effects
from workers.queue.runner import Flow
from workers.settings import WorkerSettings


@dataclass(frozen=True, kw_only=True)
class JobContext(Context):
    """A context whose flows act on GitHub. `notify` publishes the failure of a job to the user who asked for it."""

    connect: Callable[[RepositoryRef], GitHub]
    hook: Callable[[], AppHook | None]
    flows: Mapping[type, Flow] = field(default_factory=dict)
    notify: Callable[[Job, ApprenticeError, JobContext], None] | None = None
    job_id: str = ""

    def for_job(self, job_id: str) -> JobContext:
        """This context, for the effects of one job."""
        return replace(self, job_id=job_id)

    def notify_failure(self, job: Job, error: ApprenticeError) -> None:
        """Publish to the user who asked that the job failed."""
        if self.notify is not None:
            self.notify(job, error, self)

    @property
    def effects(self) -> Effects:
        """The effects of this job on GitHub, each made once."""
        return Effects(self.store, self.job_id, self.clock)

    def mirror(self, repository: RepositoryRef, github: GitHub) -> Mirror:
        """The bare copy of a repository on GitHub."""
        remote = Remote(url=github.clone_url(), token=github.token())
        return Mirror(self.settings.home / "mirrors" / f"{repository.id}.git", remote)


def open_job_context(
    settings: WorkerSettings,
    *,
    embedder: Embedder | None = None,
    clock: Clock = utc_now,
    progress: Callable[[str], None] = lambda _line: None,
    flows: Mapping[type, Flow] | None = None,
    notify: Callable[[Job, ApprenticeError, JobContext], None] | None = None,
    seconds_between_writes: float = SECONDS_BETWEEN_WRITES,
) -> JobContext:
    """A worker's context. It opens the store, and neither GitHub nor the sandbox yet."""
    shared = open_context(settings, embedder=embedder, clock=clock, progress=progress)
    return JobContext(
        **vars(shared),
        connect=connector(settings, clock, seconds_between_writes),
        hook=lambda: _hook(settings),
        flows=flows or {},
        notify=notify,
    )


def connector(
    settings: WorkerSettings, clock: Clock, seconds_between_writes: float
) -> Callable[[RepositoryRef], GitHub]:
    """Opens repositories on GitHub as the App's installation; raises CannotRun when the App is not configured."""

    tokens = cache(lambda: InstallationTokens(app_of(settings), clock))

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
