"""Tokens and the cache of prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model_server.script import TOKEN_CHARACTERS, count_tokens
from bot.model_server.server import BLOCK_TOKENS, PromptCache

SIZE = BLOCK_TOKENS * TOKEN_CHARACTERS


@pytest.mark.parametrize(("text", "wanted"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ä" * 8, 2)])
def test_a_token_is_four_characters(text: str, wanted: int) -> None:
    """Rounded up, by characters and not by bytes."""
    assert count_tokens(text) == wanted


@given(
    st.lists(st.text("ab", min_size=SIZE, max_size=SIZE), max_size=3),
    st.text("ab", max_size=SIZE - 1),
    st.text("c", max_size=SIZE),
)
def test_cached_is_the_common_beginning_in_whole_blocks(blocks: list[str], rest: str, other: str) -> None:
    """The longest beginning that an earlier prompt had, rounded down to blocks."""
    cache = PromptCache()
    shared = "".join(blocks)
    assert cache.cached_tokens("m", shared + rest) == 0
    assert cache.cached_tokens("m", shared + other) == len(blocks) * BLOCK_TOKENS
    assert cache.cached_tokens("m", shared + rest) == len(blocks) * BLOCK_TOKENS


def test_models_share_no_cache() -> None:
    """What one model has read, another has not."""
    cache = PromptCache()
    assert [cache.cached_tokens(model, "x" * SIZE) for model in ("a", "b", "a")] == [0, 0, BLOCK_TOKENS]


def test_a_block_in_another_place_is_not_cached() -> None:
    """Only beginnings count."""
    cache = PromptCache()
    cache.cached_tokens("m", "a" * SIZE + "b" * SIZE)
    assert cache.cached_tokens("m", "b" * SIZE) == 0
