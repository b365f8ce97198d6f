"""The only SQL. Everything learned is derived from what is stored here.

`open_store(url)` gives the store; each of its parts is one small class over the same database, and each public method is
one transaction unless it says otherwise. A Store belongs to one process: after a fork the child may go on using it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

from sqlalchemy import Connection, inspect, text

from memory.errors import StoreError, StoreUnavailable
from memory.store.calls import Calls
from memory.store.database import USE, Database, connect, is_lasting, queue_for
from memory.store.documents import Documents, PastFindings, RepositoryName
from memory.store.experiences import REFLECTIONS, TRAJECTORIES, StoredExperiences
from memory.store.job_control import JobControl
from memory.store.jobs import Jobs
from memory.store.ledger import Ledger, PolicyEvents
from memory.store.processes import DatabaseClock, Heartbeats, Measured
from memory.store.tasks import Posts, Tasks
from memory.store.upkeep import Upkeep

__all__ = ["Store", "await_store", "open_store"]

LONGEST_PAUSE = 5.0

HEAD = "0085"
"""The newest revision under memory/migrations/versions."""

_LOCK_ID = 0x41505052  # any constant that nothing else in the database uses


class Store:
    """Everything that is stored, by part."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.jobs = Jobs(database)
        """Deliveries, jobs, and effects on GitHub."""
        self.job_control = JobControl(database)
        self.upkeep = Upkeep(database)
        """Prunes old work, and says how the database is."""
        self.heartbeats = Heartbeats(database)
        self.measured = Measured(database)
        self.clock = DatabaseClock(database)
        """The one clock of everything that several processes compare: leases, and when a job may run."""
        self.ledger = Ledger(database)
        """Decisions, outcomes, signals, and the sums derived from them."""
        self.policy_events = PolicyEvents(database)
        self.experiences = StoredExperiences(database)
        self.reflections = Documents(database, REFLECTIONS)
        """By experience; a repository owns them."""
        self.trajectories = Documents(database, TRAJECTORIES)
        """By decision; a repository owns them."""
        self.posts = Posts(database)
        self.tasks = Tasks(database)
        """Repairs and reviews, with their attempts."""
        self.models = Documents(database, "reward_models")
        """Reward models by id; a kind of task owns them."""
        self.models_in_use = Documents(database, "reward_models_in_use")
        """The id of the model that ranks, by kind of task."""
        self.imports = Documents(database, "imports")
        """Learnings of other installations by source: a prior, never mixed into the sums, so that it can be removed exactly."""
        self.past = PastFindings(database)
        self.calls = Calls(database)
        """Calls to a model, and the budgets that they keep to."""
        self.repositories = Documents(database, "repositories")
        """The repositories that jobs were about, by GitHub's number."""
        self.hook_log = Documents(database, "hook_log")
        """One: how far GitHub's log of webhooks is compared, under an empty key."""
        self.review_cache = Documents(database, "readings")
        """What reviews that have not ended read, by commits, rights and configuration; a pull request owns them."""
        self.plans = Documents(database, "plans")
        """What came of each plan of an environment, by repository and plan; a repository owns them."""
        self.reasons = Documents(database, "reasons")
        """Why people rejected something, in their words, by signal."""

    def name_of(self, repository: str) -> str:
        """What people call a repository: as it was last called on GitHub. A local one is called what it is here."""
        known = self.repositories.get(repository, RepositoryName)
        return known.full_name if known else repository

    def named(self, name: str) -> list[str]:
        """The repositories that people may mean by a name or a number; of one name there are several after a deletion."""
        known = self.repositories.all(RepositoryName)
        same = [str(each.id) for each in known if each.full_name.casefold() == name.casefold()]
        return same or [name]

    def close(self) -> None:
        """Close the connections that this process holds."""
        self.database.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def open_store(url: str) -> Store:
    """The store at `url` (`sqlite:////absolute/path.db` or `postgresql://…`), its schema brought up to date.

    Creates an SQLite file and its directory. Raises StoreError for a URL that cannot work, a server or file that refuses us,
    and a schema that this code cannot upgrade; StoreUnavailable for a server that does not answer.
    """
    database = connect(url)
    with ExitStack() as closed_on_error:
        closed_on_error.callback(database.engine.dispose)
        try:
            _migrate(database)
        except StoreUnavailable as error:
            if is_lasting(error):
                raise StoreError(f"{error}; check APPRENTICE_DATABASE_URL: {USE}") from error
            raise
        closed_on_error.pop_all()
    return Store(database)


def await_store(url: str, *, seconds: float, report: Callable[[str], None]) -> Store:
    """The store at `url`, as soon as its database takes writes; `report` gets one line if that takes a while.

    Raises StoreUnavailable after `seconds`, and StoreError at once where waiting does not help.
    """
    deadline, pause = time.monotonic() + seconds, 0.1
    while True:
        try:
            with ExitStack() as closed_on_error:
                store = closed_on_error.enter_context(open_store(url))
                store.heartbeats.check()
                closed_on_error.pop_all()
                return store
        except StoreUnavailable as error:
            left = deadline - time.monotonic()
            if left <= 0:
                raise
            if pause == 0.1:
                report(f"waiting up to {seconds:g} s: {error}")
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE)


def _migrate(database: Database) -> None:
    """Run the migrations that are missing, once, however many processes start."""
    with database.reading() as connection:
        if _revision(connection) == HEAD:
            return
    with database.writing() as connection:
        queue_for(connection, _LOCK_ID)
        _upgrade(connection)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _upgrade(connection: Connection) -> None:
    from alembic import command  # slow to import, and needed only where the schema is old
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "memory:migrations")
    config.attributes["connection"] = connection
    known = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    found = _revision(connection)
    if found is not None and found not in known:
        if found < known[-1]:
            raise StoreError(
                f"the database's schema {found} is older than {known[-1]}, the first that this Apprentice upgrades; see "
                "Upgrade in deploy/runbook.md, or set APPRENTICE_DATABASE_URL to a new database"
            )
        raise StoreError(
            f"the database's schema {found} is newer than this Apprentice knows ({HEAD}); upgrade Apprentice"
        )
    command.upgrade(config, "head")
