"""Answers to questions about the code, by an agent that can only read; an answer cites path and line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from workers.agent.checkout import Checkout, ToolFailed, checked, existing
from workers.agent.loop import AgentLoop, ModelConversation, RunEnd, RunOver
from workers.agent.tools import History, Toolset, reading, tool
from workers.llm.messages import Model, first_messages
from workers.llm.prompt_text import data, prompt, rendered_text

STEPS = 15
LONGEST = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """`text` is empty where there is no answer, and `why` says why; `cites` are places that exist."""

    text: str
    cites: tuple[str, ...] = ()
    why: str = ""


def answer(
    model: Model,
    checkout: Checkout,
    question: str,
    *,
    about: Sequence[tuple[str, str]] = (),
    deadline: float,
    history: History | None = None,
    progress: Callable[[str], None] = lambda _line: None,
) -> ModelAnswer:
    """Answer a question about a checkout; `about` are sources and their texts, such as a finding or a change.

    A model that fails is no exception: there is no answer then.
    """
    given: list[ModelAnswer] = []

    def reply(
        text: Annotated[str, Meta(min_length=1, max_length=LONGEST)], cites: Annotated[list[str], Meta(max_length=12)]
    ) -> str:
        """Answer the question, in a few short paragraphs. `cites` are the places that the answer rests on, as path:line."""
        if not text.strip():
            raise ToolFailed("an answer has words")
        given.append(ModelAnswer(text=checked(checkout, text), cites=existing(checkout, cites)))
        raise RunOver(RunEnd.FINISHED, text)

    parts = [data(source, text, code=True) for source, text in about]
    asked = "\n\n".join([*parts, f"# The question\n{data('question', rendered_text(question))}"])
    run = AgentLoop(
        model=model,
        tools=Toolset([*reading(checkout, history), tool(reply)]),
        conversation=ModelConversation(first_messages(prompt("answer"), asked), purpose="answer"),
        steps=STEPS,
        deadline=deadline,
        progress=progress,
    ).run()
    if given:
        return given[0]
    words = run.words.strip()
    if run.end is RunEnd.SILENT and words:
        return ModelAnswer(text=checked(checkout, words[:LONGEST]))
    return ModelAnswer(text="", why=f"{run.end}: {words}" if words else run.end)
