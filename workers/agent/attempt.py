"""One attempt with a model: the loop or the tree search, as the strategy says, then the judgement of the tests."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from memory.model import AttemptOutcome, NearMiss
from workers.agent.checkout import Checkout, checked
from workers.agent.conversation import ModelConversation, truncated
from workers.agent.loop import MODEL_MISSING, AgentLoop, Run, RunEnd, finishing
from workers.agent.memory_context import Recall, recalling
from workers.agent.prompt_context import Assignment, MemoryParts, opening
from workers.agent.tools.editing import editing
from workers.agent.tools.reading import History, reading
from workers.agent.tools.testing import described, testing
from workers.agent.tools.tool import Toolset
from workers.agent.tree_search import WIDTH, Preference, TreeSearch
from workers.diffs import unified
from workers.llm.errors import ModelError
from workers.llm.messages import ChatMessage, ChatRole, FinishReason, Model, ModelRequest, Tier
from workers.llm.prompting import prompt
from workers.llm.untrusted import data, visible_text
from workers.repair.engines.search.learned_edits import shape_between
from workers.repair.judging.prove import PatchEvaluation, Prover
from workers.repair.result import AttemptResult

OPTIONAL_TOOLS = ("recall", "history", "symbol", "try_edits")
"""Tools that a run can do without, so that their use can be measured."""

LONGEST_WORDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """`prior` is the proof expected before any evidence; `most_files` how many may be edited; `proposes` without a loop."""

    name: str
    prior: float
    most_files: int = 20
    writes_tests: bool = False
    proposes: bool = False

    @property
    def prompt(self) -> str:
        """The name of its part of the prompt."""
        return f"strategy_{self.name.partition(':')[2]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptContext:
    """What the attempts of one repair share."""

    model: Model
    checkout: Checkout
    prover: Prover
    assignment: Assignment
    recall: Recall
    steps: int
    history: History | None = None
    preference: Preference = lambda diffs: [0.0] * len(diffs)
    progress: Callable[[str], None] = lambda _line: None


def attempt(
    context: AttemptContext,
    strategy: Strategy,
    remembered: MemoryParts,
    *,
    withheld: Collection[str],
    deadline: float,
) -> tuple[AttemptResult, Run]:
    """Try one strategy. A model that fails is no exception: the attempt ends with what it has."""
    context.checkout.clear(most_files=strategy.most_files)
    way = _propose if strategy.proposes else _work
    run, evaluation = way(context, strategy, remembered, withheld, deadline)
    return (_unproven if evaluation.proof is None else _proven)(context, run, evaluation), run


def _work(
    context: AttemptContext, strategy: Strategy, remembered: MemoryParts, withheld: Collection[str], deadline: float
) -> tuple[Run, PatchEvaluation]:
    """The loop, and the evaluation of what it edited."""
    checkout, prover = context.checkout, context.prover
    tools = (
        *reading(checkout, context.history),
        *editing(checkout, tests=strategy.writes_tests),
        *testing(checkout, prover.run, prover.failing),
        recalling(context.recall),
        finishing(),
    )
    system = prompt("repair", strategy=prompt(strategy.prompt))
    run = AgentLoop(
        model=context.model,
        tools=Toolset(each for each in tools if each.name not in withheld),
        conversation=ModelConversation(opening(system, context.assignment, remembered, withheld), purpose="repair"),
        steps=context.steps,
        deadline=deadline,
        progress=context.progress,
        state=checkout.diff,
    ).run()
    context.progress(f"{strategy.name}: {run.end}; proving what it edited")
    return run, prover.evaluate(checkout.edits)


def _propose(
    context: AttemptContext, strategy: Strategy, remembered: MemoryParts, withheld: Collection[str], deadline: float
) -> tuple[Run, PatchEvaluation]:
    """The tree search, whose nodes the tests judge one by one."""
    tree = TreeSearch(
        model=context.model,
        opening=opening(prompt("propose", count=WIDTH), context.assignment, remembered, withheld),
        checkout=context.checkout,
        prover=context.prover,
        deadline=deadline,
        most_files=strategy.most_files,
        preference=context.preference,
    )
    try:
        node, end, words = tree.search(), RunEnd.FINISHED, ""
    except ModelError as error:
        node, end, words = tree.best, RunEnd.of(error), str(error)
    run = Run(end=end, words=node.why if node else words, steps=tree.asked, messages=tree.opening)
    if node is None:
        return run, context.prover.evaluate({})
    context.checkout.apply(node.edits)
    return run, node.evaluation


def _proven(context: AttemptContext, run: Run, evaluation: PatchEvaluation) -> AttemptResult:
    checkout, edits = context.checkout, context.checkout.edits
    (path, *others) = sorted(edits)
    alone = not others and path in checkout.paths
    tests = context.prover.demonstrating(edits, checkout.added_tests)
    return AttemptResult(
        outcome=AttemptOutcome.PROVEN,
        candidates=run.steps,
        reflection=checked(checkout, _plain(run.words)) or "The edit is proven.",
        fixed=evaluation.passed,
        path=path,
        patch=checkout.diff() + "".join(unified(name, None, text) for name, text in sorted(tests.items())),
        proof=evaluation.proof,
        shape=shape_between(checkout.original(path), edits[path]) if alone else None,
        images=context.assignment.images,
        effort=_effort(context, run),
    )


def _unproven(context: AttemptContext, run: Run, evaluation: PatchEvaluation) -> AttemptResult:
    diff = context.checkout.diff()
    path = next(iter(sorted(context.checkout.edits)), "")
    return AttemptResult(
        outcome=_outcome(context, run, evaluation, edited=bool(diff)),
        candidates=run.steps,
        reflection=reflection(context.model, diff, evaluation, run),
        fixed=evaluation.passed,
        path=path,
        nearest=_nearest(diff, path, evaluation),
        images=context.assignment.images,
        effort=_effort(context, run),
        counts=run.end not in MODEL_MISSING,
    )


def _effort(context: AttemptContext, run: Run) -> float:
    return min(run.steps / max(context.steps, 1), 1.0)


def _outcome(context: AttemptContext, run: Run, evaluation: PatchEvaluation, *, edited: bool) -> AttemptOutcome:
    if edited and evaluation.passed == len(context.prover.failing):
        return AttemptOutcome.UNPROVEN
    spent = run.end is RunEnd.DEADLINE or run.end in MODEL_MISSING
    return AttemptOutcome.OUT_OF_BUDGET if spent else AttemptOutcome.NOTHING_PLAUSIBLE


def _nearest(diff: str, path: str, evaluation: PatchEvaluation) -> NearMiss | None:
    if not diff:
        return None
    first = next(iter(evaluation.report.failing()), None)
    return NearMiss(
        path=path,
        line=0,
        template="model",
        edit=diff,
        passed=evaluation.passed,
        error_type=first.error_type if first else "",
        message=first.message[:300] if first else evaluation.objection[:300],
    )


def reflection(model: Model, diff: str, evaluation: PatchEvaluation, run: Run) -> str:
    """What to remember of a failed attempt, in the model's words (Reflexion, Shinn et al. 2023); the facts where it has none."""
    facts = _facts(run, evaluation)
    if run.end in MODEL_MISSING:
        return facts
    material = [
        data("your edit", truncated(diff, 4_000) or "none", code=True),
        described(evaluation.report),
        data("verdict", facts),
        data("your last words", truncated(run.words, 1_000)),
    ]
    messages = (
        ChatMessage(role=ChatRole.SYSTEM, text=prompt("reflect")),
        ChatMessage(role=ChatRole.USER, text="\n\n".join(material)),
    )
    try:
        reply = model.reply(ModelRequest(messages=messages, purpose="reflect", tier=Tier.WEAK, max_tokens=400))
    except ModelError:
        return facts
    words = _plain(reply.text)
    return words if words and reply.finish is not FinishReason.REFUSED else facts


def _facts(run: Run, evaluation: PatchEvaluation) -> str:
    """How a run ended and the objection to what it edited, without any model's words."""
    why = f": {' '.join(visible_text(run.words).split())[:300]}" if run.end in MODEL_MISSING else ""
    return f"{run.end.capitalize()}{why}. {(evaluation.objection or 'nothing was proven').capitalize()}."


def _plain(text: str) -> str:
    return " ".join(visible_text(text).split())[:LONGEST_WORDS]
