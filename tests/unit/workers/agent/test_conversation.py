from __future__ import annotations

import pytest

from tests.unit.workers.agent.scripted import Reader, said
from workers.agent.loop import ModelConversation
from workers.llm.errors import ContextOverflow
from workers.llm.messages import ChatMessage, ChatRole, ModelReply, ModelRequest

TASK = "The test test_total fails. " * 20
OPENING = (ChatMessage(role=ChatRole.SYSTEM, text="Repair."), ChatMessage(role=ChatRole.USER, text=TASK))


def answer(ask: ModelRequest) -> ModelReply:
    return said("I read.", ("read", f'{{"path": "a{len(ask.messages)}.py"}}'))


def talked(room: int, most: int, steps: int, size: int = 2_000) -> tuple[ModelConversation, Reader]:
    """A conversation of so many steps, each with an observation of `size`, with a model that can read `most` characters."""
    talk = ModelConversation(OPENING, purpose="test", room=room)
    model = Reader(most, answer, ContextOverflow)
    for step in range(steps):
        reply = talk.query(model, ())
        talk.observe(reply.calls[0], f"observation {step}\n" + "x" * size, left=9)
    return talk, model


def test_all_is_kept_while_there_is_room() -> None:
    """Nothing is shortened that fits."""
    talk, _ = talked(room=100_000, most=100_000, steps=5)
    assert [message.role for message in talk.messages[2:]] == [ChatRole.ASSISTANT, ChatRole.TOOL] * 5


def test_the_oldest_steps_give_way() -> None:
    """Beyond its room the oldest steps go, and their number is named; the task and the latest step stay whole."""
    _, model = talked(room=10_000, most=100_000, steps=20)
    sent = "\n".join(message.text for message in model.asked[-1].messages)
    assert TASK in sent
    assert "observation 18\n" + "x" * 2_000 in sent
    assert "observation 0\n" not in sent
    assert "steps are left out to save room" in sent
    assert all(sum(len(m.text) for m in ask.messages) < 16_000 for ask in model.asked)


def test_an_overflow_is_answered_with_less() -> None:
    """Where the model says that it is too long, more gives way, until it fits; every call is still answered."""
    _, model = talked(room=100_000, most=9_000, steps=12)
    last = model.asked[-1].messages
    assert sum(len(message.text) for message in last) <= 9_000
    assert TASK in last[1].text
    calls = [call.id for message in last for call in message.calls]
    assert calls == [message.call_id for message in last if message.role is ChatRole.TOOL]


def test_one_observation_that_is_too_long() -> None:
    """The only step there is is shortened too, head and tail."""
    _, model = talked(room=1_000_000, most=9_000, steps=2, size=60_000)
    assert sum(len(message.text) for message in model.asked[-1].messages) <= 9_000


def test_a_task_that_is_too_long() -> None:
    """Where the task alone is too long, that is said."""
    talk = ModelConversation(OPENING, purpose="test")
    with pytest.raises(ContextOverflow, match="the task alone"):
        talk.query(Reader(100, answer, ContextOverflow), ())


def test_memory_is_flat() -> None:
    """However long it goes on, what is kept does not grow."""
    _, model = talked(room=10_000, most=100_000, steps=300)
    sizes = [sum(len(message.text) for message in ask.messages) for ask in model.asked]
    assert max(sizes[150:]) <= max(sizes[:150]) * 1.05
