"""Reflexion: after an attempt that failed, the model says in words what to do differently (Shinn et al. 2023)."""

from __future__ import annotations

from workers.agent.clipping import clipped
from workers.agent.errors import OUT_OF_REACH
from workers.agent.evaluating import Evaluated
from workers.agent.loop import Run
from workers.agent.tools.testing import told
from workers.llm.errors import ModelError
from workers.llm.messages import Ask, Ended, Message, Model, Role, Tier
from workers.llm.prompting import prompt
from workers.llm.untrusted import data, seen

LONGEST = 900


def told_of(run: Run, evaluated: Evaluated) -> str:
    """How a run ended and what stands against what it edited, without any model's words."""
    why = f": {' '.join(seen(run.said).split())[:300]}" if run.end in OUT_OF_REACH else ""
    return f"{run.end.capitalize()}{why}. {(evaluated.objection or 'nothing was proven').capitalize()}."


def reflection(model: Model, diff: str, evaluated: Evaluated, run: Run) -> str:
    """What to remember of a failed attempt; made of the facts alone where the model gives nothing."""
    facts = told_of(run, evaluated)
    if run.end in OUT_OF_REACH:
        return facts
    material = [
        data("your edit", clipped(diff, 4_000) or "none", code=True),
        told(evaluated.report),
        data("verdict", facts),
        data("your last words", clipped(run.said, 1_000)),
    ]
    messages = (Message(role=Role.SYSTEM, text=prompt("reflect")), Message(role=Role.USER, text="\n\n".join(material)))
    try:
        reply = model.reply(Ask(messages=messages, purpose="reflect", tier=Tier.WEAK, max_tokens=400))
    except ModelError:
        return facts
    words = " ".join(seen(reply.text).split())
    return words[:LONGEST] if words and reply.ended is not Ended.REFUSED else facts
