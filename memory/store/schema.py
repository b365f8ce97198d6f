"""Bring a database's schema to what this code knows, once, however many processes start."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from memory.errors import StoreError
from memory.store.database import Database, queue_for

HEAD = "0010"
"""The newest revision under memory/migrations/versions."""

FIRST = "0010"
"""The oldest revision that can be upgraded."""

_LOCK_ID = 0x41505052  # any constant that nothing else in the database uses


def migrate(database: Database) -> None:
    """Run the migrations that are missing; raises StoreError for a schema that this code cannot upgrade."""
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
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    found = _revision(connection)
    if found is not None and found not in known:
        if found < FIRST:
            raise StoreError(
                f"the database's schema {found} is from before the first release and cannot be upgraded; "
                "move that database away, or set APPRENTICE_DATABASE_URL to a new one"
            )
        raise StoreError(f"the database's schema {found} is newer than this Apprentice knows ({HEAD}); upgrade it")
    command.upgrade(config, "head")
