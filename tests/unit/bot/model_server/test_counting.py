"""Tokens, prefixes and accounts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model_server.counting import BLOCK, CHARACTERS, Outcome, Prefixes, Tally, Usage, counted, tokens

SIZE = BLOCK * CHARACTERS


@pytest.mark.parametrize(("text", "wanted"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ä" * 8, 2)])
def test_a_token_is_four_characters(text: str, wanted: int) -> None:
    """Rounded up, by characters and not by bytes."""
    assert tokens(text) == wanted


@given(
    st.lists(st.text("ab", min_size=SIZE, max_size=SIZE), max_size=3),
    st.text("ab", max_size=SIZE - 1),
    st.text("c", max_size=SIZE),
)
def test_cached_is_the_common_beginning_in_whole_blocks(blocks: list[str], rest: str, other: str) -> None:
    """The longest beginning that an earlier prompt had, rounded down to blocks."""
    prefixes = Prefixes()
    shared = "".join(blocks)
    assert prefixes.cached("m", shared + rest) == 0
    assert prefixes.cached("m", shared + other) == len(blocks) * BLOCK
    assert prefixes.cached("m", shared + rest) == len(blocks) * BLOCK


def test_models_share_no_cache() -> None:
    """What one model has read, another has not."""
    prefixes = Prefixes()
    assert [prefixes.cached(model, "x" * SIZE) for model in ("a", "b", "a")] == [0, 0, BLOCK]


def test_a_block_in_another_place_is_not_cached() -> None:
    """Only beginnings count."""
    prefixes = Prefixes()
    prefixes.cached("m", "a" * SIZE + "b" * SIZE)
    assert prefixes.cached("m", "b" * SIZE) == 0


def test_only_completed_calls_are_tallied() -> None:
    """Others are counted by how they ended, without their tokens."""
    usage = Usage()
    tally = Tally(calls=1, prompt=10, cached=4, completion=3)
    for outcome, model in ((Outcome.COMPLETED, "a"), (Outcome.COMPLETED, "b"), (Outcome.COMPLETED, "a")):
        usage = counted(usage, outcome, model, tally)
    for outcome in Outcome:
        if outcome is not Outcome.COMPLETED:
            usage = counted(usage, outcome, "a", tally)
    assert (usage.calls, usage.prompt, usage.cached, usage.completion) == (3, 30, 12, 9)
    assert (usage.cut, usage.malformed, usage.abandoned, usage.refused) == (1, 1, 1, 1)
    assert usage.models["a"] == Tally(calls=2, prompt=20, cached=8, completion=6)
    assert usage.to_json() == {
        "calls": 3,
        "prompt_tokens": 30,
        "cached_tokens": 12,
        "completion_tokens": 9,
        "cut": 1,
        "malformed": 1,
        "abandoned": 1,
        "refused": 1,
        "models": {
            "a": {"calls": 2, "prompt_tokens": 20, "cached_tokens": 8, "completion_tokens": 6},
            "b": {"calls": 1, "prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 3},
        },
    }
