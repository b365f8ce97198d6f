"""Git sends the token, and nobody who looks at its process finds it."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest

from workers.errors import Retryable
from workers.git import Mirror

TOKEN = "ghs_planted0token0of0one0repository"
SPY = """#!/bin/sh
{git} config --get http.extraHeader >> {heard}
env >> {seen}
printf '%s\\n' "$@" >> {seen}
exec {git} "$@"
"""


def test_the_token_is_in_no_argument_and_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process's arguments and environment can be read by others; git reads the token from our memory."""
    spy, heard, seen = tmp_path / "bin" / "git", tmp_path / "heard", tmp_path / "seen"
    spy.parent.mkdir()
    spy.write_text(SPY.format(git=shutil.which("git"), heard=heard, seen=seen))
    spy.chmod(0o755)
    monkeypatch.setenv("PATH", f"{spy.parent}:/usr/bin:/bin")
    with pytest.raises(Retryable):
        Mirror(tmp_path / "mirror", "https://127.0.0.1:9/a/b.git", TOKEN).fetch("0" * 40)
    basic = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    assert f"Authorization: Basic {basic}" in heard.read_text()
    assert "GIT_CONFIG_COUNT" in seen.read_text()
    assert TOKEN not in seen.read_text()
    assert basic not in seen.read_text()
    assert not [
        path for path in (tmp_path / "mirror").rglob("*") if path.is_file() and basic in path.read_text("latin1")
    ]
