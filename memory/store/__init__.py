"""The only SQL. Everything learned is derived from what stands here.

`open_store(url)` gives the store; each of its rooms is one small class over the same database, and each public method
is one transaction unless it says otherwise. A Store belongs to one process: after a fork the child may go on using it.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType

from memory.errors import StoreError, StoreUnavailable
from memory.store.calls import Calls, CallState, Exceeded, Limit, Reservation, Scope, Spent, TaskSpent, Unit
from memory.store.engine import Database, connect
from memory.store.experiences import Entry, Experiences, Standing
from memory.store.imports import Imports
from memory.store.inbox import Inbox
from memory.store.jobs import Delivery, Effect, EffectState, EffectStatus, JobState, LeasedJob, NewJob, StoredJob
from memory.store.ledger import Ledger
from memory.store.models import Models
from memory.store.near import Near, open_near
from memory.store.past import Past, Walked
from memory.store.pictures import Pictures
from memory.store.policy_events import PolicyEvents
from memory.store.pools import QUORUM
from memory.store.posts import Posts
from memory.store.reasons import Reasons
from memory.store.record import Record
from memory.store.reflections import Reflections
from memory.store.repositories import KnownRepository, Repositories
from memory.store.schema import migrate
from memory.store.skills import Skills
from memory.store.summary import DecisionSummary
from memory.store.tasks import StoredTask, Tasks
from memory.store.trajectories import Trajectories

__all__ = [
    "QUORUM",
    "CallState",
    "Calls",
    "DecisionSummary",
    "Delivery",
    "Effect",
    "EffectState",
    "EffectStatus",
    "Entry",
    "Exceeded",
    "Experiences",
    "Imports",
    "Inbox",
    "JobState",
    "KnownRepository",
    "LeasedJob",
    "Ledger",
    "Limit",
    "Models",
    "Near",
    "NewJob",
    "Past",
    "Pictures",
    "PolicyEvents",
    "Posts",
    "Reasons",
    "Record",
    "Reflections",
    "Repositories",
    "Reservation",
    "Scope",
    "Skills",
    "Spent",
    "Standing",
    "Store",
    "StoreError",
    "StoreUnavailable",
    "StoredJob",
    "StoredTask",
    "TaskSpent",
    "Tasks",
    "Unit",
    "Walked",
    "open_near",
    "open_store",
]


@dataclass(frozen=True, slots=True)
class Store:
    """Everything that is kept, by room."""

    database: Database

    @property
    def inbox(self) -> Inbox:
        """Deliveries, jobs, and effects on GitHub."""
        return Inbox(self.database)

    @property
    def ledger(self) -> Ledger:
        """Decisions, outcomes, signals, and the cells derived from them."""
        return Ledger(self.database)

    @property
    def record(self) -> Record:
        """The ledger read in bulk, for evaluations."""
        return Record(self.database)

    @property
    def policy_events(self) -> PolicyEvents:
        """Which version of the policy is in use since when, and why."""
        return PolicyEvents(self.database)

    @property
    def experiences(self) -> Experiences:
        """What was tried at which failure, with vectors to find it again."""
        return Experiences(self.database)

    @property
    def skills(self) -> Skills:
        """What was generalised from accepted edits."""
        return Skills(self.database)

    @property
    def reflections(self) -> Reflections:
        """What attempts that failed ruled out."""
        return Reflections(self.database)

    @property
    def posts(self) -> Posts:
        """What stands on GitHub, and what was sighted."""
        return Posts(self.database)

    @property
    def tasks(self) -> Tasks:
        """Repairs and reviews, with their attempts."""
        return Tasks(self.database)

    @property
    def models(self) -> Models:
        """Reward models, and the decisions that they are trained on."""
        return Models(self.database)

    @property
    def imports(self) -> Imports:
        """What was imported from elsewhere, by source."""
        return Imports(self.database)

    @property
    def past(self) -> Past:
        """What became of the findings in a repository's past."""
        return Past(self.database)

    @property
    def calls(self) -> Calls:
        """Calls to a model, and the budgets that they keep to."""
        return Calls(self.database)

    @property
    def repositories(self) -> Repositories:
        """The repositories that jobs spoke of."""
        return Repositories(self.database)

    @property
    def reasons(self) -> Reasons:
        """Why people rejected what we did."""
        return Reasons(self.database)

    @property
    def pictures(self) -> Pictures:
        """What people showed in pictures."""
        return Pictures(self.database)

    @property
    def trajectories(self) -> Trajectories:
        """How the agent went about what it proved."""
        return Trajectories(self.database)

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

    Creates an SQLite file and its directory. Raises StoreError for a URL that cannot work and for a schema newer than
    this code, StoreUnavailable for a server that does not answer.
    """
    database = connect(url)
    with ExitStack() as closed_on_error:
        closed_on_error.callback(database.engine.dispose)
        migrate(database)
        closed_on_error.pop_all()
    return Store(database)
