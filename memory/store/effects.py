"""Effects on GitHub, each made once: announced under a key before, confirmed with a reference after."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select, update

from memory.errors import StoreError
from memory.store.engine import insert_new
from memory.store.jobs import Effect, EffectState, EffectStatus
from memory.store.tables import effects


def find(connection: Connection, key: str) -> Effect | None:
    row = connection.execute(select(effects).where(effects.c.key == key)).one_or_none()
    return None if row is None else Effect(**row._mapping)


def begin(connection: Connection, key: str, job_id: str, now: datetime) -> EffectState:
    if insert_new(connection, effects, {"key": key, "job_id": job_id, "begun_at": now, "reference": ""}):
        return EffectState(status=EffectStatus.NEW)
    known = find(connection, key)
    if known is None or known.done_at is None:
        return EffectState(status=EffectStatus.UNFINISHED)
    return EffectState(status=EffectStatus.DONE, reference=known.reference)


def complete(connection: Connection, key: str, reference: str, now: datetime) -> None:
    if find(connection, key) is None:
        raise StoreError(f"effect {key} was never begun; call begin_effect before making it")
    open_one = update(effects).where(effects.c.key == key, effects.c.done_at.is_(None))
    connection.execute(open_one.values(done_at=now, reference=reference))
