"""What is counted: tokens by a fixed rule, prefixes that were asked before, and calls; pure but for its own state."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum

CHARACTERS = 4
"""Characters of a token."""

BLOCK = 128
"""Tokens of a block: only whole ones are had ready, as providers do it."""


def tokens(text: str) -> int:
    """A quarter of the characters, rounded up."""
    return -(-len(text) // CHARACTERS)


class Prefixes:
    """The beginnings of all prompts so far, by model."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def cached(self, model: str, prompt: str) -> int:
        """Tokens at the beginning of the prompt that an earlier one began with; remembers this one."""
        chain = list(_chain(model, prompt))
        ready = next((number for number, digest in enumerate(chain) if digest not in self._known), len(chain))
        self._known.update(chain)
        return ready * BLOCK


def _chain(model: str, prompt: str) -> Iterator[bytes]:
    """A digest for each whole block, of all of the prompt up to its end."""
    running = hashlib.sha256(model.encode() + b"\0")
    size = BLOCK * CHARACTERS
    for start in range(0, len(prompt) - size + 1, size):
        running.update(prompt[start : start + size].encode("utf-8", "surrogatepass"))
        yield running.digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Calls and their tokens; `cached` are among `prompt`."""

    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Tally)})


class Outcome(StrEnum):
    """How a request ended.

    Completed with 200; cut as the script had it; malformed likewise, so that nobody can read its usage; abandoned by a
    client that hung up; or refused with an error.
    """

    COMPLETED = "completed"
    CUT = "cut"
    MALFORMED = "malformed"
    ABANDONED = "abandoned"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The count at one moment: completed calls by model, and how many requests ended otherwise."""

    models: Mapping[str, Tally] = field(default_factory=dict)
    cut: int = 0
    malformed: int = 0
    abandoned: int = 0
    refused: int = 0

    @property
    def total(self) -> Tally:
        """Completed calls of all models."""
        return sum(self.models.values(), Tally())

    @property
    def calls(self) -> int:
        return self.total.calls

    @property
    def prompt(self) -> int:
        return self.total.prompt

    @property
    def cached(self) -> int:
        return self.total.cached

    @property
    def completion(self) -> int:
        return self.total.completion

    def to_json(self) -> dict[str, object]:
        """For `GET /usage`."""
        return {
            **_document(self.total),
            "cut": self.cut,
            "malformed": self.malformed,
            "abandoned": self.abandoned,
            "refused": self.refused,
            "models": {model: _document(tally) for model, tally in sorted(self.models.items())},
        }


def counted(usage: Usage, outcome: Outcome, model: str, tally: Tally) -> Usage:
    """The count with one more request."""
    ended = {kind.value: getattr(usage, kind) for kind in Outcome if kind is not Outcome.COMPLETED}
    if outcome is Outcome.COMPLETED:
        return Usage(models={**usage.models, model: usage.models.get(model, Tally()) + tally}, **ended)
    ended[outcome.value] += 1
    return Usage(models=usage.models, **ended)


def _document(tally: Tally) -> dict[str, object]:
    return {
        "calls": tally.calls,
        "prompt_tokens": tally.prompt,
        "cached_tokens": tally.cached,
        "completion_tokens": tally.completion,
    }
