"""What a call costs, before and after."""

from __future__ import annotations

from itertools import pairwise

from workers.llm.budgets import FREE, Price, most_of, price_of, tokens_of
from workers.llm.messages import ChatMessage, ChatRole, ModelRequest, TokenUsage, ToolCall, ToolSpec
from workers.ports import Image

PRICE = Price(prompt=2.5, cached=0.25, completion=10.0)


def ask(*messages: ChatMessage, tools: tuple[ToolSpec, ...] = ()) -> ModelRequest:
    return ModelRequest(messages=messages, purpose="x", tools=tools, max_tokens=100)


def test_a_price_is_read_as_it_is_set() -> None:
    """US dollars per million tokens are micros per token; none set is none."""
    assert price_of("2.5,0.25,10") == PRICE
    assert price_of("") == FREE


def test_cached_tokens_cost_less_and_fractions_count_as_whole() -> None:
    """Rounded up, so that money budgets hold."""
    assert PRICE.micros(TokenUsage(prompt=100, cached=60, completion=10)) == 40 * 2.5 + 60 * 0.25 + 100
    assert PRICE.micros(TokenUsage(prompt=1, completion=0)) == 3
    assert FREE.micros(TokenUsage(prompt=10**6, completion=10**6)) == 0


def test_estimates_are_upwards_in_every_script() -> None:
    """A token for each character where it takes three bytes; lone surrogates do no harm."""
    assert tokens_of("abcd") == 2
    assert tokens_of("漢字") == 2
    assert tokens_of("\ud800") == 1
    assert tokens_of("") == 0


def test_everything_that_is_sent_is_in_the_estimate() -> None:
    """Words, calls, pictures and tools all add to it, and the limit of the reply is in it whole."""
    words = ChatMessage(role=ChatRole.USER, text="x" * 300)
    call = ChatMessage(role=ChatRole.ASSISTANT, text="", calls=(ToolCall(id="1", name="grep", arguments="y" * 300),))
    picture = ChatMessage(role=ChatRole.USER, text="", images=(Image(media_type="image/png", content=b""),))
    tool = ToolSpec(name="grep", description="z" * 300, parameters={})
    sizes = [
        most_of(each).prompt
        for each in (ask(words), ask(words, call), ask(words, call, picture), ask(words, call, picture, tools=(tool,)))
    ]
    assert sizes[0] > 100
    assert all(more - less > 100 for less, more in pairwise(sizes))
    assert most_of(ask(words)).completion == 100
