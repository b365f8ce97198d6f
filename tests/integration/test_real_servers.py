"""The servers that tests ask for are what they seem."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
import redis


def test_redis_is_empty_and_remembers(redis_url: str) -> None:
    """A test gets a Redis of its own that answers real commands."""
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.rpush("list", "a", "b")
        assert client.lrange("list", 0, -1) == [b"a", b"b"]


def test_postgresql_is_empty(postgresql_url: str) -> None:
    """A test gets a PostgreSQL database of its own."""
    with psycopg.connect(postgresql_url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


@pytest.mark.extended
@pytest.mark.parametrize(("ci", "told"), [("true", "1 error"), ("", "1 skipped")])
def test_ci_insists_on_its_servers(ci: str, told: str, tmp_path: Path) -> None:
    """Where Redis is not installed its tests are skipped with a reason, but in CI they fail."""
    this = f"{Path(__file__)}::test_redis_is_empty_and_remembers"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:randomly", this],
        capture_output=True,
        text=True,
        env={**os.environ, "CI": ci, "PATH": str(tmp_path), "PYTEST_ADDOPTS": ""},
        cwd=Path(__file__).parents[2],
    )
    assert told in run.stdout
    assert "redis-server is not installed" in run.stdout
    assert run.returncode == (1 if ci else 0)
