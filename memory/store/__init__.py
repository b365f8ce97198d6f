"""The only SQL. Everything learned is derived from what is stored here.

`open_store(url)` gives the store; each of its parts is one small class over the same database, and each public method is
one transaction unless it says otherwise. A Store belongs to one process: after a fork the child may go on using it.
"""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

from memory.errors import StoreError, StoreUnavailable
from memory.store.calls import BudgetUnit, Calls, CallState, Exceeded, Limit, Reservation, Scope, Spent, TaskSpent
from memory.store.database import Database, connect
from memory.store.documents import (
    Documents,
    KnownRepository,
    PastFindings,
    Picture,
    RewardModels,
    Trajectory,
    Walked,
)
from memory.store.experiences import (
    PICTURES,
    TRAJECTORIES,
    WHOLE,
    IndexEntry,
    Reflections,
    StoredExperiences,
    Usefulness,
)
from memory.store.jobs import (
    Delivery,
    Effect,
    EffectState,
    EffectStatus,
    Inbox,
    JobState,
    LeasedJob,
    NewJob,
    StoredJob,
)
from memory.store.ledger import Ledger, PolicyEvents
from memory.store.pgvector import VectorTable, open_vector_table
from memory.store.posts import Posts
from memory.store.record import DecisionSummary, Record
from memory.store.schema import migrate
from memory.store.tasks import StoredTask, Tasks
from memory.store.totals import QUORUM

__all__ = [
    "QUORUM",
    "WHOLE",
    "BudgetUnit",
    "CallState",
    "Calls",
    "DecisionSummary",
    "Delivery",
    "Documents",
    "Effect",
    "EffectState",
    "EffectStatus",
    "Exceeded",
    "Inbox",
    "IndexEntry",
    "JobState",
    "KnownRepository",
    "LeasedJob",
    "Ledger",
    "Limit",
    "NewJob",
    "PastFindings",
    "Picture",
    "PolicyEvents",
    "Posts",
    "Record",
    "Reflections",
    "Reservation",
    "RewardModels",
    "Scope",
    "Spent",
    "Store",
    "StoreError",
    "StoreUnavailable",
    "StoredExperiences",
    "StoredJob",
    "StoredTask",
    "TaskSpent",
    "Tasks",
    "Trajectory",
    "Usefulness",
    "VectorTable",
    "Walked",
    "open_store",
    "open_vector_table",
]


class Store:
    """Everything that is stored, by part."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.inbox = Inbox(database)
        """Deliveries, jobs, and effects on GitHub."""
        self.ledger = Ledger(database)
        """Decisions, outcomes, signals, and the sums derived from them."""
        self.record = Record(database)
        """The ledger read in bulk, for evaluations."""
        self.policy_events = PolicyEvents(database)
        self.experiences = StoredExperiences(database)
        self.reflections = Reflections(database)
        self.trajectories = Documents(database, TRAJECTORIES)
        """By decision; a repository owns them."""
        self.pictures = Documents(database, PICTURES)
        """By experience and digest; an experience owns them."""
        self.posts = Posts(database)
        self.tasks = Tasks(database)
        """Repairs and reviews, with their attempts."""
        self.models = RewardModels(database)
        self.imports = Documents(database, "imports")
        """Learnings of other installations by source: a prior, never mixed into the sums, so that it can be removed exactly."""
        self.past = PastFindings(database)
        self.calls = Calls(database)
        """Calls to a model, and the budgets that they keep to."""
        self.repositories = Documents(database, "repositories")
        """The repositories that jobs were about, by full name."""
        self.reasons = Documents(database, "reasons")
        """Why people rejected something, in their words, by signal."""

    def close(self) -> None:
        """Close the connections that this process holds."""
        self.database.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(url: str) -> Store:
    """The store at `url` (`sqlite:////absolute/path.db` or `postgresql://…`), its schema brought up to date.

    Creates an SQLite file and its directory. Raises StoreError for a URL that cannot work and for a schema that this code
    cannot upgrade, StoreUnavailable for a server that does not answer.
    """
    database = connect(url)
    with ExitStack() as closed_on_error:
        closed_on_error.callback(database.engine.dispose)
        migrate(database)
        closed_on_error.pop_all()
    return Store(database)
