"""Nouns as JSON: what goes in comes out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import StoreError
from memory.model import Attempt, Decision, Experience, Finding, Outcome, Post, Sighting, Signal, Task
from memory.store.database import dump, load

SIMPLE: Mapping[object, st.SearchStrategy[object]] = {
    str: st.text(st.characters(exclude_categories=()), max_size=20),  # NUL and lone surrogates included
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    type(None): st.none(),
}


def values(annotation: object) -> st.SearchStrategy[object]:
    """Any value of a type that occurs in the nouns."""
    if annotation in SIMPLE:
        return SIMPLE[annotation]
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*map(values, arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    if origin in (Union, UnionType):
        return st.one_of([values(each) for each in arguments])
    assert isinstance(annotation, type)
    if issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    return st.builds(annotation, **{name: values(each) for name, each in get_type_hints(annotation).items()})


@pytest.mark.slow
@pytest.mark.parametrize(
    "noun",
    [Attempt, Decision, Experience, Finding, Outcome, Post, Sighting, Signal, Task],
    ids=lambda noun: noun.__name__,
)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_noun_comes_back_as_it_was(noun: type[object], data: st.DataObject) -> None:
    """Any noun equals itself after being written and read, and its text holds nothing that a database refuses."""
    value = data.draw(values(noun))
    text = dump(value)
    assert text.isascii()
    assert "\0" not in text
    assert load(noun, text) == value
    assert dataclasses.is_dataclass(load(noun, text))


def test_what_cannot_be_read_says_so() -> None:
    """Stored text that is no such noun is one clear error that names the noun."""
    with pytest.raises(StoreError, match="a stored Decision cannot be read"):
        load(Decision, '{"id":"d1"}')
    with pytest.raises(StoreError, match="a stored Decision cannot be read"):
        load(Decision, "{")
