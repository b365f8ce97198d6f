"""A tool of the operator's that checks changed files in reviews, as its setting names it."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

OWN_DETECTORS = frozenset({"ruff", "bandit", "mypy", "secrets", "dependencies", "workflows", "configuration", "model"})

_OF_KERNEL = (Path("/proc"), Path("/sys"))
_SHOWN_NEVER = (*_OF_KERNEL, *map(Path, ("/dev", "/home", "/run", "/tmp", "/workspace")))  # noqa: S108 - nothing is written
"""What the sandbox has of its own, or nothing of: the host's holds sockets, processes and the files of its users."""


class ReviewTool(BaseModel):
    """An operator's tool that checks changed files in reviews.

    `{files}` in `command` is replaced by the files; without it they follow at the end. `show` are host paths that it needs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{1,30}$")
    command: tuple[str, ...] = Field(min_length=1)
    format: Literal["sarif", "rdjson", "rdjsonl"]
    files: tuple[str, ...] = Field(min_length=1)
    category: Literal["security", "correctness", "performance", "maintainability", "style"] = "maintainability"
    show: tuple[Path, ...] = ()

    @field_validator("name")
    @classmethod
    def _not_built_in(cls, name: str) -> str:
        if name in OWN_DETECTORS:
            raise ValueError(f"{name} is the name of a built-in detector; choose another name")
        return name

    @field_validator("command", "files")
    @classmethod
    def _not_empty(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if not all(word.strip() for word in words) or not words[0].isprintable():
            raise ValueError("no word may be empty")
        return words

    @field_validator("show")
    @classmethod
    def _narrow(cls, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        """The tool runs beside other people's code: what it is shown, that code may read."""
        for path in paths:
            if not path.is_absolute() or not path.exists():
                raise ValueError(f"{path} is not an absolute path that exists")
            real = path.resolve()
            of_kernel = any(real.is_relative_to(place) for place in _OF_KERNEL)
            if of_kernel or any(place.is_relative_to(real) for place in (Path.home(), *_SHOWN_NEVER)):
                raise ValueError(f"{path} would open more of this machine than a tool needs; name the tool's directory")
        return paths
