"""A completion taken apart into chunks, and put together again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model_server.counting import Tally
from bot.model_server.joining import Broken, joined
from bot.model_server.wire import DONE, Completion, Said, completion, events

words = st.none() | st.text(min_size=1, max_size=80)
calls = st.lists(st.tuples(st.text("fg", min_size=1), st.text(max_size=60)), max_size=3).map(tuple)


def made(said: Said) -> Completion:
    return completion(said, number=3, model="m", tally=Tally(calls=1, prompt=9, cached=2, completion=said.tokens))


@given(text=words, refusal=words, called=calls)
def test_nothing_is_lost_on_the_way(text: str | None, refusal: str | None, called: tuple[tuple[str, str], ...]) -> None:
    """Streamed with its usage and joined, an answer is what it was, but for the moment it was made."""
    whole = made(Said(text=text, refusal=refusal, calls=called))
    assert joined(b"".join(events(whole, with_usage=True)) + DONE) == whole


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_a_stream_without_its_end_is_broken(kept: int) -> None:
    """What never says why it ended is not taken for an answer."""
    sent = list(events(made(Said(text="x" * 60)), with_usage=False))
    with pytest.raises(Broken):
        joined(b"".join(sent[:kept]))


def test_a_malformed_chunk_is_broken() -> None:
    """A chunk that is no JSON makes the stream none."""
    with pytest.raises(Broken):
        joined(b"data: {\n\n")


def test_only_the_first_choice_is_read() -> None:
    """Where an endpoint gives several at once, their words are not mixed."""
    chunk = '{"id":"c","model":"m","choices":[{"index":%d,"delta":{"content":"%s"},"finish_reason":"stop"}],"usage":{}}'
    stream = "".join(f"data: {chunk % (index, text)}\n\n" for index, text in enumerate(("mine", "other")))
    assert joined(stream.encode()).choices[0].message.content == "mine"
