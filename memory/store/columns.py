"""Column types that keep a promise on every database."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator

from memory.errors import StoreError


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC in, aware UTC out. SQLite keeps no offset, so that what stands there is UTC without one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise StoreError(f"{value.isoformat()} has no time zone; give aware times only")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  # SQLAlchemy's signature
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class FreeText(TypeDecorator[str]):
    """Text from outside, readable in SQL: NUL, which PostgreSQL refuses, and lone surrogates become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  # SQLAlchemy's signature
        if value is None:
            return None
        clean = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return clean.replace("\0", "\ufffd")
