"""One attempt with a model: the loop or the tree, as the strategy says, then the judgement of the tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass

from memory.model import AttemptOutcome, Failure, NearMiss
from memory.rewrites import rewrites
from workers.agent.branching import WIDTH, Liking, Tree
from workers.agent.briefing import Assignment, Remembered, opening
from workers.agent.checkout import Checkout
from workers.agent.citing import checked
from workers.agent.conversation import Conversation
from workers.agent.errors import OUT_OF_REACH, End, end_of
from workers.agent.evaluating import Evaluated, Evaluator
from workers.agent.loop import Agent, Run
from workers.agent.reflecting import reflection
from workers.agent.strategies import Strategy
from workers.agent.tools.editing import editing
from workers.agent.tools.reading import History, reading
from workers.agent.tools.recalling import Recall, finishing, recalling
from workers.agent.tools.testing import testing
from workers.agent.tools.tool import Toolset
from workers.llm.errors import ModelError
from workers.llm.messages import Message, Model
from workers.llm.prompting import prompt
from workers.llm.untrusted import seen
from workers.patches import unified
from workers.repair.engine import AttemptResult

OPTIONAL_TOOLS = ("recall", "history", "symbol", "try_edits")
"""Tools that a run can do without, so that their use can be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the attempts of one repair share."""

    model: Model
    checkout: Checkout
    evaluator: Evaluator
    assignment: Assignment
    recall: Recall
    steps: int
    history: History | None = None
    liking: Liking = lambda diffs: [0.0] * len(diffs)
    progress: Callable[[str], None] = lambda _line: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of an attempt: as the embedded engine tells it, the run, and what the next attempt is to know."""

    result: AttemptResult
    run: Run
    nearest: NearMiss | None


def attempt(
    bench: Bench, strategy: Strategy, remembered: Remembered, *, withheld: Collection[str], deadline: float
) -> Tried:
    """Try one strategy. A model that fails is no exception: the attempt ends with what it has."""
    bench.checkout.clear(most_files=strategy.most_files)
    before = bench.evaluator.runs
    run, evaluated = (_proposed if strategy.proposes else _worked)(bench, strategy, remembered, withheld, deadline)
    if evaluated.proof is None:
        return _failed(bench, run, evaluated, before)
    tests = bench.evaluator.telling(bench.checkout.edits, bench.checkout.added_tests)
    return _proven(bench, run, evaluated, tests, before)


def _worked(
    bench: Bench, strategy: Strategy, remembered: Remembered, withheld: Collection[str], deadline: float
) -> tuple[Run, Evaluated]:
    """The loop, and what the tests say of what it left."""
    tools = (
        *reading(bench.checkout, bench.history),
        *editing(bench.checkout, tests=strategy.writes_tests),
        *testing(bench.checkout, bench.evaluator.run, bench.evaluator.failing),
        recalling(bench.recall),
        finishing(),
    )
    system = prompt("repair", strategy=prompt(strategy.prompt))
    run = Agent(
        model=bench.model,
        tools=Toolset(each for each in tools if each.name not in withheld),
        talk=Conversation(opening(system, bench.assignment, remembered, withheld), purpose="repair"),
        steps=bench.steps,
        deadline=deadline,
        progress=bench.progress,
        state=bench.checkout.diff,
    ).run()
    bench.progress(f"{strategy.name}: {run.end}; proving what it edited")
    return run, bench.evaluator.prove(bench.checkout.edits)


def _proposed(
    bench: Bench, strategy: Strategy, remembered: Remembered, withheld: Collection[str], deadline: float
) -> tuple[Run, Evaluated]:
    """The tree, whose nodes the tests judge as they come."""
    tree = Tree(
        model=bench.model,
        opening=opening(prompt("propose", count=WIDTH), bench.assignment, remembered, withheld),
        checkout=bench.checkout,
        evaluator=bench.evaluator,
        deadline=deadline,
        most_files=strategy.most_files,
        liking=bench.liking,
    )
    try:
        node, end, said = tree.search(), End.FINISHED, ""
    except ModelError as error:
        node, end, said = tree.best, end_of(error), str(error)
    run = Run(end=end, said=node.why if node else said, steps=tree.asked, messages=tree.opening)
    if node is None:
        return run, bench.evaluator.prove({})
    bench.checkout.apply(node.edits)
    return run, node.evaluated


def _proven(bench: Bench, run: Run, evaluated: Evaluated, tests: Mapping[str, str], before: int) -> Tried:
    edits = bench.checkout.edits
    (path, *others) = sorted(edits)
    taught = () if others or path not in bench.checkout.paths else rewrites(bench.checkout.original(path), edits[path])
    result = AttemptResult(
        outcome=AttemptOutcome.PROVEN,
        candidates=run.steps,
        rivals=0,
        test_runs=bench.evaluator.runs - before,
        reflection=checked(bench.checkout, _words(run.said)) or "The edit is proven.",
        fixed=evaluated.passed,
        path=path,
        nearest=None,
        first=None,
        tried={},
        became=None,
        patch=bench.checkout.diff() + "".join(unified(name, None, text) for name, text in sorted(tests.items())),
        proof=evaluated.proof,
        rewrites=taught,
    )
    return Tried(result=result, run=run, nearest=None)


def _failed(bench: Bench, run: Run, evaluated: Evaluated, before: int) -> Tried:
    diff = bench.checkout.diff()
    said = reflection(bench.model, diff, evaluated, run)
    broke = bool(diff) and evaluated.passed == len(bench.evaluator.failing)
    spent = run.end is End.DEADLINE or run.end in OUT_OF_REACH
    path = next(iter(sorted(bench.checkout.edits)), "")
    result = AttemptResult(
        outcome=_outcome(broke=broke, spent=spent),
        candidates=run.steps,
        rivals=0,
        test_runs=bench.evaluator.runs - before,
        reflection=said,
        fixed=evaluated.passed,
        path=path,
        nearest=None,
        first=None,
        tried={},
        became=None,
    )
    return Tried(result=result, run=run, nearest=_nearest(diff, path, evaluated))


def _outcome(*, broke: bool, spent: bool) -> AttemptOutcome:
    if broke:
        return AttemptOutcome.UNPROVEN
    return AttemptOutcome.OUT_OF_BUDGET if spent else AttemptOutcome.NOTHING_PLAUSIBLE


def _nearest(diff: str, path: str, evaluated: Evaluated) -> NearMiss | None:
    if not diff:
        return None
    first = next(iter(evaluated.report.failing()), None)
    return NearMiss(
        path=path,
        line=0,
        template="model",
        edit=diff,
        passed=evaluated.passed,
        error_type=first.error_type if first else "",
        message=first.message[:300] if first else evaluated.objection[:300],
    )


def _words(text: str) -> str:
    return " ".join(seen(text).split())[:900]


def told(failure: Failure, messages: tuple[Message, ...], patch: str) -> str:
    """A run as an example for another one: the failure, what was called for, and the patch."""
    calls = [f"{call.name} {call.arguments[:200]}" for message in messages for call in message.calls]
    return "\n".join([f"{failure.error_type}: {seen(failure.message)[:300]}", *calls, patch])


def as_json(messages: tuple[Message, ...]) -> str:
    """A run's messages for training, without pictures."""
    return json.dumps([{**asdict(message), "images": len(message.images)} for message in messages], ensure_ascii=False)
