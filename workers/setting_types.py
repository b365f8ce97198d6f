"""Settings that check what they are given: a model's address, key, price and principles, and an operator's tool for reviews."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, field_validator

_PRICE = re.compile(r"\d+(\.\d+)?(,\d+(\.\d+)?){2}")


def _address(url: str) -> str:
    """An address that can be connected to."""
    import httpx  # takes a tenth of a second, and most commands use no model

    try:
        parts = httpx.URL(url)
        fits = parts.scheme in ("http", "https") and parts.host.encode("idna") and (parts.port or 0) < 1 << 16
    except (httpx.InvalidURL, UnicodeError):  # the second of a host that no name can be
        fits = False
    if url and not fits:
        raise ValueError("write it as https://host/v1, or leave it empty")
    return url


def _key(key: SecretStr) -> SecretStr:
    """A key that fits into a header of HTTP, without the line feed at the end of a file."""
    text = key.get_secret_value().strip()
    if not (text.isascii() and text.isprintable()):
        raise ValueError("a key holds letters, digits and signs of ASCII on one line")
    return SecretStr(text)


def _price(price: str) -> str:
    if price and not _PRICE.fullmatch(price):
        raise ValueError("write three prices in US dollars per million tokens, as 2.5,0.25,10")
    return price


def _principles(path: Path | None) -> Path | None:
    """An existing text file with at least one numbered principle."""
    try:
        text = path.read_text(encoding="utf-8") if path else "1. Ours."
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8") from error
    if not re.search(r"^\d+\. \S", text, re.MULTILINE):
        raise ValueError(f"{path} has no principle; write each on a line, as `1. …`")
    return path


ModelAddress = Annotated[str, AfterValidator(_address)]
ModelKey = Annotated[SecretStr, AfterValidator(_key)]
ModelPrice = Annotated[str, AfterValidator(_price)]
Principles = Annotated[Path | None, AfterValidator(_principles)]


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
