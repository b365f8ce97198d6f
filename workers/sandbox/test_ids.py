"""Ids of tests as pytest writes them, `path::class::function[parameters]`, and what they are in."""

from collections.abc import Sequence


def file_of(test: str) -> str:
    """The path in a test's id."""
    return test.partition("::")[0]


def function_of(test: str) -> str:
    """The id of a test without its parameters."""
    return test.partition("[")[0]


def includes(test: str, ids: Sequence[str]) -> bool:
    """Whether any of `ids` is this test or under it."""
    return any(each == test or each.startswith((f"{test}::", f"{test}[")) for each in ids)
