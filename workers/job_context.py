"""What a job has besides: its lease, effects on GitHub that are each made once, and GitHub as the App's installation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from threading import Event
from typing import TYPE_CHECKING

from structlog.contextvars import bind_contextvars

from memory.model import Post, PostKind, Task, TaskKind
from memory.model.jobs import LeasedJob
from memory.retrieval.embeddings import Embedder
from memory.store import Store
from workers.configuration.schema import PATH
from workers.context import Clock, Context, open_context
from workers.errors import CannotRun, JobStopped, NoAccess, Unavailable
from workers.git import Mirror
from workers.jobs import Job, RepositoryRef
from workers.ports import SECONDS_BETWEEN_WRITES, MintedToken
from workers.queue.enqueue import rows
from workers.queue.runner import Flow
from workers.settings import WorkerSettings

if TYPE_CHECKING:  # the command line without GitHub loads nothing of it
    from workers.github.adapter import GitHub
    from workers.github.auth import InstallationTokens
    from workers.github.minting import MintingClient

IN_FLIGHT = timedelta(seconds=90)
"""How long another job's request may be under way."""

LATE = timedelta(minutes=5)
"""How long GitHub may go on with a request after our time-out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The effects of one job, while it holds its lease: each is announced under a key before it is made."""

    store: Store
    leased: LeasedJob
    lease_seconds: float
    clock: Callable[[], datetime]

    def once(
        self,
        key: str,
        *,
        make: Callable[[], int],
        find: Callable[[], int | None],
        look_again: Callable[..., Job] | None = None,
    ) -> int:
        """The id of the post or pull request made under `key`: made now, or found if an earlier worker made it and died.

        Calls `find` only when an earlier attempt may have succeeded, so the common path costs no extra request. After such an
        attempt a second one may still appear, even where one was found: `look_again` makes the job that looks for it later.
        Raises JobStopped, and Unavailable while another job may be making it.
        """
        jobs, now = self.store.jobs, self.clock()
        begun = jobs.begin_effect(key, self.leased.id, now, in_flight=IN_FLIGHT)
        if begun is not None and begun.done_at is not None:
            return int(begun.reference)
        if begun is not None and begun.job_id != self.leased.id and begun.begun_at > now - IN_FLIGHT:
            wait = begun.begun_at + IN_FLIGHT - now
            raise Unavailable("another job is doing the same", seconds=wait.total_seconds())
        found = None if begun is None else find()
        made = self._made(make, find) if found is None else found
        later = rows(key, [look_again(kept=made)]) if begun is not None and look_again else ()
        now = self.clock()
        follow_ups = [replace(row, run_after=now + LATE) for row in later]
        jobs.complete_effect(key, str(made), now, follow_ups=follow_ups)
        return made

    def _made(self, make: Callable[[], int], find: Callable[[], int | None]) -> int:
        """Made by the holder of the lease alone. What GitHub refuses because it is there already is found."""
        if not self.store.jobs.renew(self.leased, now=self.clock(), seconds=self.lease_seconds):
            raise JobStopped("another worker has this job now")
        try:
            return make()
        except CannotRun:
            found = find()
            if found is None:
                raise
            return found


@dataclass(frozen=True, kw_only=True)
class JobContext(Context):
    """A context whose flows act on GitHub.

    `hook` is None where no minting process runs. `drop_token` forgets the token for a repository, `defaults` reads the
    configuration file of a repository's owner.
    """

    connect: Callable[[RepositoryRef], GitHub]
    hook: Callable[[], MintingClient | None]
    defaults: Callable[[RepositoryRef], bytes | None] = lambda _repository: None
    flows: Mapping[type, Flow] = field(default_factory=dict)
    drop_token: Callable[[RepositoryRef], None] = lambda _repository: None
    leased: LeasedJob | None = None

    def for_job(self, leased: LeasedJob, stop: Event) -> JobContext:
        """This context, for the effects of one job. Its progress raises JobStopped when `stop` is set."""

        def progress(line: str) -> None:
            if stop.is_set():
                raise JobStopped("another worker has this job now, or what it is about is gone")
            self.progress(line)

        return replace(self, leased=leased, progress=progress)

    @property
    def job_id(self) -> str:
        return self._lease.id

    @property
    def _lease(self) -> LeasedJob:
        assert self.leased is not None, "a job runs under its lease"
        return self.leased

    @property
    def effects(self) -> Effects:
        """The effects of this job on GitHub, each made once."""
        seconds = self.settings.lease_seconds
        return Effects(store=self.store, leased=self._lease, lease_seconds=seconds, clock=self.clock)

    def task(self, kind: TaskKind, repository: RepositoryRef, *, sha: str, number: int) -> Task:
        """The task of this job, which the store knows from now on."""
        key, now = repository.key, self.clock()
        task = Task(id=self.job_id, kind=kind, repository=key, sha=sha, number=number, created_at=now)
        self.store.tasks.add(task)
        bind_contextvars(task=task.id)  # for the lines that follow
        return task

    def pinned(
        self, kind: TaskKind, repository: RepositoryRef, github: GitHub, *, sha: str, number: int
    ) -> tuple[Task, Mirror]:
        """The task of this job at the commit that the first worker on it found, and the mirror with that."""
        stored = self.store.tasks.get(self.task(kind, repository, sha=sha, number=number).id)
        assert stored is not None, "it was added just now, here or by an earlier worker"
        mirror = self.mirror(repository, github)
        mirror.fetch(stored.task.sha)
        return stored.task, mirror

    def watch(self, task: Task, kind: PostKind, post: int, decisions: tuple[str, ...], fingerprint: str = "") -> None:
        """Remember the decisions that a post is about, so that feedback on the post reaches them."""
        self.store.posts.add(
            Post(
                repository=task.repository,
                kind=kind,
                number=post if kind is PostKind.FIX_PULL else task.number,
                github_id=post,
                decision_ids=decisions,
                fingerprint=fingerprint,
                created_at=self.clock(),
            )
        )

    def mirror(self, repository: RepositoryRef, github: GitHub) -> Mirror:
        """The bare copy of a repository on GitHub."""
        return Mirror(self._place_of_mirror(str(repository.id)), github.clone_url(), github.token())


def open_job_context(
    settings: WorkerSettings,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    progress: Callable[[str], None] = lambda _line: None,
    flows: Mapping[type, Flow] | None = None,
    seconds_between_writes: float = SECONDS_BETWEEN_WRITES,
) -> JobContext:
    """A worker's context. It opens the store, and neither GitHub nor the sandbox yet."""
    shared = open_context(settings, embedder=embedder, clock=clock, progress=progress)
    from workers.github.auth import InstallationTokens  # a command without GitHub loads nothing of it
    from workers.github.minting import MintingClient

    minting = MintingClient(settings.socket())
    tokens = InstallationTokens(_noting_mint(minting, shared.store), shared.clock)
    return JobContext(
        **vars(shared),
        connect=_connector(settings, minting, tokens, shared.store, seconds_between_writes),
        drop_token=tokens.drop,
        hook=lambda: minting if settings.socket().exists() else None,
        defaults=_owner_file(settings, minting, shared.clock),
        flows=flows or {},
    )


def _noting_mint(minting: MintingClient, store: Store) -> Callable[[int, int], MintedToken]:
    """Mints tokens, and notes the name and the installation of each repository. A job may be older than what it has by now."""

    def mint(repository: int, installation: int) -> MintedToken:
        minted = minting.mint(repository, installation)
        known = RepositoryRef(id=repository, full_name=minted.full_name, installation_id=installation)
        store.repositories.keep(known.key, known)
        return minted

    return mint


def _connector(
    settings: WorkerSettings,
    minting: MintingClient,
    tokens: InstallationTokens,
    store: Store,
    seconds_between_writes: float,
) -> Callable[[RepositoryRef], GitHub]:
    """Opens repositories on GitHub as the App's installation; raises Unavailable when no minting process answers.

    A job from before a transfer is done as the installation that has the repository by now.
    """
    from workers.github.adapter import GitHub
    from workers.github.auth import OwnAccount

    own = OwnAccount(minting.identity)

    def connect(repository: RepositoryRef) -> GitHub:
        try:
            repository = tokens.current(repository)
        except NoAccess:
            known = store.repositories.get(repository.key, RepositoryRef)
            if known is None or known.installation_id == repository.installation_id:
                raise
            repository = tokens.current(known)
        return GitHub(
            settings.github_url,
            repository,
            lambda: tokens.token(repository),
            own,
            seconds_between_writes=seconds_between_writes,
        )

    return connect


def _owner_file(
    settings: WorkerSettings, minting: MintingClient, clock: Clock
) -> Callable[[RepositoryRef], bytes | None]:
    """Reads the file of a repository's owner as the App's installation, which may not have the repository that holds it.

    Asks for a token once a minute: the minting process gives so many a minute, and each review reads this file.
    """
    from workers.github.auth import owner_file

    minted_for = lru_cache(maxsize=1000)(lambda installation, _minute: minting.mint_defaults(installation))

    def read(repository: RepositoryRef) -> bytes | None:
        minted = minted_for(repository.installation_id, int(clock().timestamp() // 60))
        if minted is None or minted.full_name == repository.full_name:
            return None
        return owner_file(settings.github_url, minted, repository.installation_id, PATH)

    return read
