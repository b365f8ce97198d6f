from __future__ import annotations

from itertools import count

import pytest

from tests.unit.workers.agent.scripted import Scripted, said
from workers.agent.checkout import ToolFailed
from workers.agent.loop import MAX_SILENT, NUDGE, AgentLoop, AgentRun, ModelConversation, RunEnd, finish
from workers.agent.tools import Toolset, tool
from workers.llm.errors import BadReply, BudgetSpent, ContextOverflow, ModelError, ModelUnavailable
from workers.llm.messages import ChatMessage, ChatRole, FinishReason, ModelReply

OPENING = (ChatMessage(role=ChatRole.SYSTEM, text="Repair."), ChatMessage(role=ChatRole.USER, text="It fails."))


def look(at: str) -> str:
    """Look at something."""
    if at == "nothing":
        raise ToolFailed("there is nothing to see")
    return f"{at} is green"


FINISH = ("finish", '{"summary": "Done."}')


def run(
    *replies: ModelReply | ModelError, steps: int = 20, clock: list[float] | None = None
) -> tuple[AgentRun, Scripted]:
    model, times = Scripted(replies), iter(clock or [0.0] * 100)
    agent = AgentLoop(
        model=model,
        tools=Toolset([tool(look), tool(finish)]),
        conversation=ModelConversation(OPENING, purpose="test"),
        steps=steps,
        deadline=1.0,
        clock=lambda: next(times),
    )
    return agent.run(), model


def observations(done: AgentRun) -> list[str]:
    return [message.text for message in done.messages if message.role is ChatRole.TOOL]


def test_it_steps_until_it_is_done() -> None:
    """Replies are asked for until one calls `finish`, whose words are the run's last; what tools said is in between."""
    done, model = run(said("I look.", ("look", '{"at": "it"}')), said("So.", FINISH))
    assert (done.end, done.words, done.steps) == (RunEnd.FINISHED, "Done.", 2)
    assert observations(done) == ["it is green"]
    assert [message.role for message in model.asked[-1].messages] == ["system", "user", "assistant", "tool"]
    assert [spec.name for spec in model.asked[0].tools] == ["look", "finish"]


def test_several_calls_in_one_reply() -> None:
    """Every call is answered by its id, in order."""
    done, _ = run(said("", ("look", '{"at": "a"}'), ("look", '{"at": "b"}')), said("", FINISH))
    told = [(message.call_id, message.text) for message in done.messages if message.role is ChatRole.TOOL]
    assert told == [("0", "a is green"), ("1", "b is green")]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("look", '{"at": "nothing"}'), "error: there is nothing to see"),
        (("look", '{"at": 3}'), "error: the arguments of look are wrong: Expected `str`, got `int` - at `$.at`"),
        (("look", "{at"), "error: the arguments of look are wrong: JSON is malformed"),
        (("look", ""), "error: the arguments of look are wrong: Object missing required field `at`"),
        (
            ("look", '{"at": "a", "all": 1}'),
            "error: the arguments of look are wrong: Object contains unknown field `all`",
        ),
        (("run", "{}"), "error: there is no tool 'run'; there are look, finish"),
    ],
)
def test_what_goes_wrong_is_told(call: tuple[str, str], told: str) -> None:
    """A tool that fails, arguments that are wrong, a tool that is none: the model is told, and goes on."""
    done, _ = run(said("", call), said("", FINISH))
    assert observations(done)[0].startswith(told)
    assert done.end is RunEnd.FINISHED


def test_words_alone() -> None:
    """A reply without a call is told to call a tool; after a few of them the run is over."""
    done, model = run(*(said("Hm.") for _ in range(MAX_SILENT + 1)))
    assert done.end is RunEnd.SILENT
    assert sum(message.text == NUDGE for message in model.asked[-1].messages) == MAX_SILENT


def test_words_that_were_cut() -> None:
    """The beginning of a reply that met its length limit is not the last word of a run."""
    done, _ = run(*(said("The function", finish=FinishReason.LENGTH) for _ in range(MAX_SILENT + 1)))
    assert (done.end, done.words) == (RunEnd.CUT, "")


def test_the_same_three_times() -> None:
    """A call that gives the same for the third time ends the run; one that gives something else does not."""
    done, _ = run(*(said("", ("look", '{"at": "it"}')) for _ in range(5)))
    assert (done.end, done.steps) == (RunEnd.LOOPED, 3)
    done, _ = run(*(said("", ("look", f'{{"at": "{n}"}}')) for n in range(5)), said("", FINISH))
    assert done.end is RunEnd.FINISHED


def test_the_same_call_after_a_change() -> None:
    """Tests that fail in the same words after every edit are no circle: something else was tried each time."""
    edits = count()
    agent = AgentLoop(
        model=Scripted([*(said("", ("look", '{"at": "it"}')) for _ in range(5)), said("", FINISH)]),
        tools=Toolset([tool(look), tool(finish)]),
        conversation=ModelConversation(OPENING, purpose="test"),
        steps=20,
        deadline=1.0,
        clock=lambda: 0.0,
        state=lambda: f"edit {next(edits)}",
    )
    assert agent.run().end is RunEnd.FINISHED


def test_many_calls_in_one_reply_keep_to_the_time() -> None:
    """No call is begun after the deadline, however many a reply holds."""
    calls = [("look", f'{{"at": "{number}"}}') for number in range(50)]
    done, _ = run(said("", *calls), clock=[0.0, 0.2, 0.5, 1.5])
    assert (done.end, len(observations(done))) == (RunEnd.DEADLINE, 2)


def test_steps_and_time_are_limits() -> None:
    """No reply is asked for after the last step, or after the deadline."""
    numbers = count()
    done, model = run(*(said("", ("look", f'{{"at": "{next(numbers)}"}}')) for _ in range(5)), steps=4)
    assert (done.end, len(model.asked)) == (RunEnd.STEPS, 4)
    assert "(1 steps left)" in observations(done)[2]
    done, model = run(said("", ("look", '{"at": "it"}')), clock=[0.5, 1.5])
    assert (done.end, len(model.asked)) == (RunEnd.DEADLINE, 1)
    assert model.asked[0].deadline == 1.0


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (BudgetSpent("no more"), RunEnd.BUDGET),
        (ModelUnavailable("gone"), RunEnd.UNAVAILABLE),
        (BadReply("what?"), RunEnd.UNREADABLE),
        (ContextOverflow("too long"), RunEnd.OVERFLOW),
    ],
)
def test_a_model_that_fails_ends_the_run(error: ModelError, end: RunEnd) -> None:
    """Whatever the model's end, it is told and never raised."""
    done, _ = run(said("", ("look", '{"at": "it"}')), *([error] * 20))
    assert done.end is end


def test_a_refusal_ends_the_run() -> None:
    """A model that declines is not asked again."""
    done, model = run(said("I cannot.", finish=FinishReason.REFUSED))
    assert (done.end, done.words, len(model.asked)) == (RunEnd.REFUSED, "I cannot.", 1)
