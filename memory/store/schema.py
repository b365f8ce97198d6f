"""Bring a database's schema to what this code knows, once, however many processes start."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from memory.errors import StoreError
from memory.store.engine import Database

HEAD = "0009"
"""The newest revision under memory/migrations/versions."""

_LOCK_ID = 0x41505052  # any constant that nothing else in the database uses


def migrate(database: Database) -> None:
    """Run the migrations that are missing; raises StoreError for a schema newer than this code."""
    with database.reading() as connection:
        if _revision(connection) == HEAD:
            return
    with database.writing() as connection:
        if connection.dialect.name == "postgresql":  # on SQLite the write transaction itself is the lock
            connection.execute(text("SELECT pg_advisory_xact_lock(:id)"), {"id": _LOCK_ID})
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
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    found = _revision(connection)
    if found is not None and found not in known:
        raise StoreError(f"the database's schema {found} is newer than this Apprentice knows ({HEAD}); upgrade it")
    command.upgrade(config, "head")
