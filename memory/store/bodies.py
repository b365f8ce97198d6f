"""Nouns as JSON text, for the columns that nothing is looked up by.

The JSON is pure ASCII: NUL and lone surrogates, which do occur in test output, come back as they were on every database.
"""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

from memory.errors import StoreError

Noun = TypeVar("Noun")


def dump(noun: object) -> str:
    """`noun`, a frozen value of memory.model or a plain JSON value, as text."""
    return json.dumps(msgspec.to_builtins(noun), separators=(",", ":"))


def load(kind: type[Noun], text: str) -> Noun:
    """The noun that `dump` made `text` of."""
    try:
        return msgspec.convert(json.loads(text), kind)
    except (ValueError, msgspec.ValidationError) as error:
        raise StoreError(f"a stored {kind.__name__} cannot be read: {error}") from error
