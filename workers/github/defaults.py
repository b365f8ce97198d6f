"""Reads a file of the repository `.github` that a repository's owner has, where the App may."""

from __future__ import annotations

from base64 import b64decode

from github import UnknownObjectException

from workers.errors import CannotRun
from workers.github.auth import client, translated
from workers.ports import MintedToken


def owner_file(base_url: str, minted: MintedToken, installation_id: int, path: str) -> bytes | None:
    """A file at the default branch of the repository that a token reads; None without it."""
    doing = f"reading {path} of {minted.full_name}"
    with translated(doing):
        try:
            requester = client(base_url, minted.token, installation_id).requester
            _, answer = requester.requestJsonAndCheck("GET", f"/repos/{minted.full_name}/contents/{path}")
        except UnknownObjectException:
            return None
    if not isinstance(answer, dict) or answer.get("encoding") != "base64":  # a directory, or over 1 MB
        raise CannotRun(f"{path} of {minted.full_name} is no small file")
    return b64decode(answer["content"])
