"""Where Alembic starts. The caller hands in a connection whose transaction holds the lock: all revisions or none."""

from alembic import context

from memory.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
