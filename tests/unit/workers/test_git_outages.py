"""Which failures of git are outages, which mean that the token is refused, and which may be final."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.playground import Playground, fail
from workers.errors import Retryable, TokenRefused, Unavailable
from workers.git import Mirror
from workers.git_command import GitCommandFailed, run_git

INFO = ("GET", "/info/refs$")
PACK = ("POST", "/git-upload-pack$")


@pytest.mark.parametrize(
    ("where", "status", "kind"),
    [
        (INFO, 503, Unavailable),
        (INFO, 429, Unavailable),
        (INFO, 401, TokenRefused),
        (INFO, 403, Retryable),
        (INFO, 404, Retryable),
        (PACK, 502, Unavailable),
        (PACK, 403, Retryable),
    ],
)
def test_answers_to_git(where: tuple[str, str], status: int, kind: type[Retryable], tmp_path: Path) -> None:
    """By the status that git gets from the server, in each of its two requests."""
    with Playground() as playground:
        playground.add_user("acme")
        playground.add_repository("acme/scales", {"README.md": "Scales.\n"})
        token = playground.token_for("acme")
        playground.before(*where, fail(status), nth=0)
        mirror = Mirror(tmp_path / "mirror.git", f"{playground.url}/acme/scales.git", token)
        with pytest.raises(Retryable) as failed:
            mirror.fetch("main")
    assert type(failed.value) is kind


def test_no_server(tmp_path: Path) -> None:
    """A server that cannot be reached is an outage."""
    with pytest.raises(Unavailable):
        Mirror(tmp_path / "mirror.git", "http://127.0.0.1:9/acme/scales.git", "t").fetch("main")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job waits for room: where git says that there is none, and where it fails without a reason on a full disk."""
    with pytest.raises(Unavailable, match="disk is full"):
        run_git("-c", "alias.full=!head -c 1 /dev/zero > /dev/full", "full", at=tmp_path)
    with pytest.raises(GitCommandFailed):
        run_git("ls-tree", "HEAD", at=tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=0))
    with pytest.raises(Unavailable, match="disk is full: git ls-tree could not write"):
        run_git("ls-tree", "HEAD", at=tmp_path)
