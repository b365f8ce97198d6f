"""GitHub's numbers instead of names: of a job's repository, issue and account, and for all that was remembered under a
repository's name. What no job was about was learned by local commands, and says so.
"""

from __future__ import annotations

import json

from alembic import op
from sqlalchemy import BigInteger, Column, Connection, inspect, text

from memory.migrations.versions.v0010_first import forbid_changes
from memory.store.tables import jobs

revision = "0020"
down_revision = "0010"
branch_labels = None
depends_on = None

NUMBERS = ("repository_id", "number", "actor_id")
TABLES = ("tasks", "decisions", "experiences", "posts", "sightings")
"""Tables that hold the repository in a column and in the body."""

_OWNED = "('reflections', 'trajectories', 'past_findings', 'past_walked', 'past_lessons')"


def upgrade() -> None:
    """The first revision makes the tables as they are declared now: only an older database lacks anything.

    The next revision derives the Q-table anew, by the numbers.
    """
    connection = op.get_bind()
    if NUMBERS[0] in {column["name"] for column in inspect(connection).get_columns(jobs.name)}:
        return
    for name in NUMBERS:
        op.add_column(jobs.name, Column(name, BigInteger))
    known = {index["name"] for index in inspect(connection).get_indexes(jobs.name)}
    for index in jobs.indexes:
        if index.name not in known:
            index.create(connection)
    _allow_changes(connection)
    for name, key in _keys(connection).items():
        _rename(connection, name, key)
    forbid_changes("decisions")


def _allow_changes(connection: Connection) -> None:
    """Of the ledger's entries the decisions name their repository."""
    if connection.dialect.name == "sqlite":
        op.execute("DROP TRIGGER decisions_no_update")
        op.execute("DROP TRIGGER decisions_no_delete")
    else:
        op.execute("DROP FUNCTION decisions_refuse() CASCADE")


def _keys(connection: Connection) -> dict[str, str]:
    """The key of each repository by its name now; a name that one had before stays as it is."""
    rows = text("SELECT key, body FROM documents WHERE kind = 'repositories' ORDER BY created_at, key")
    documents = [(row.key, str(json.loads(row.body)["id"])) for row in connection.execute(rows)]
    latest = {number: name for name, number in documents}
    used = " UNION ".join(f"SELECT repository FROM {table}" for table in (*TABLES, "model_calls"))  # noqa: S608
    past = "SELECT owner AS repository FROM documents WHERE kind = 'past_walked'"
    names = connection.execute(text(f"{used} UNION {past}")).scalars()
    local = set(names) - {name for name, _ in documents} - {""}
    return {name: f"local:{name.removeprefix('local/')}" for name in sorted(local)} | {
        name: number for number, name in latest.items()
    }


def _rename(connection: Connection, name: str, key: str) -> None:
    old, new = json.dumps(name), json.dumps(key)
    given = {"name": name, "key": key, "old": f'"repository":{old}', "new": f'"repository":{new}'}
    changed = "SET {0} = :key, body = replace(body, :old, :new) WHERE {0} = :name"
    statements = [
        *(f"UPDATE {table} {changed.format('repository')}" for table in TABLES),
        "UPDATE model_calls SET repository = :key WHERE repository = :name",
        f"UPDATE documents {changed.format('owner')} AND kind IN {_OWNED}",
        "UPDATE documents SET key = :key WHERE key = :name AND kind IN ('past_walked', 'past_lessons', 'repositories')",
    ]
    for statement in statements:
        connection.execute(text(statement), {each: given[each] for each in given if f":{each}" in statement})
    inside = "UPDATE documents SET key = replace(key, :old, :new), body = replace(body, :old, :new) WHERE "
    for which in ("kind = 'past_findings' AND owner = :key", "kind = 'reward_models'"):  # which list it among others
        parts = {"old": old, "new": new} | ({"key": key} if ":key" in which else {})
        connection.execute(text(inside + which), parts)
