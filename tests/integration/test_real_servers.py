"""The servers that tests ask for are what they seem."""

from __future__ import annotations

import psycopg
import redis


def test_redis_is_empty_and_remembers(redis_url: str) -> None:
    """A test gets a Redis of its own that answers real commands."""
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.rpush("list", "a", "b")
        assert client.lrange("list", 0, -1) == [b"a", b"b"]


def test_postgresql_is_empty_and_has_vectors(postgresql_url: str) -> None:
    """A test gets a PostgreSQL database of its own, with pgvector at hand."""
    with psycopg.connect(postgresql_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
        connection.execute("CREATE EXTENSION vector")
        assert connection.execute("SELECT '[3,4]'::vector <-> '[0,0]'").fetchone() == (5.0,)
