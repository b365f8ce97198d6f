"""A slip: a small edit of ours in one file of somebody's repository. None of that file's code is kept here."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import msgspec


class WrongOriginal(Exception):
    """The clone's file is not the one that the slip was made in."""


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """Characters `start` to `end` of the original file, counted from 0, give way to `text`."""

    start: int
    end: int
    text: str = ""


class Slip(msgspec.Struct, frozen=True, kw_only=True):
    """What a developer did wrong. `sha256` is that of the original file; `command` how the developer runs the failing tests.

    Without a command the whole suite is run, as the repository's own statements say. `seconds` is about what that takes.
    """

    repository: str
    commit: str
    file: str
    sha256: str
    story: str
    seconds: float
    edits: list[Edit]
    command: str = ""

    @property
    def directory(self) -> str:
        """The name of the repository's clone."""
        return self.repository.replace("/", "+")

    def original(self, checkout: Path) -> str:
        """The text of the file as it should be. Raises WrongOriginal."""
        content = (checkout / self.file).read_bytes()
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise WrongOriginal(f"{self.repository}: {self.file} is not as it is at commit {self.commit[:12]}")
        return content.decode()

    def slipped(self, original: str) -> str:
        """The text of the file with the slip."""
        text = original
        for edit in sorted(self.edits, key=lambda each: each.start, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text


class _File(msgspec.Struct):
    slip: list[Slip]


def slips(path: Path) -> list[Slip]:
    """Those that a TOML file holds."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).slip
