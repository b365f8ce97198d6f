"""Tokens."""

from __future__ import annotations

import pytest

from bot.model_server.script import count_tokens


@pytest.mark.parametrize(("text", "wanted"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ä" * 8, 2)])
def test_a_token_is_four_characters(text: str, wanted: int) -> None:
    """Rounded up, by characters and not by bytes."""
    assert count_tokens(text) == wanted
