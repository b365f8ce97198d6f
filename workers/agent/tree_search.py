"""A tree search over repairs: several are proposed at once and tested, and the model improves the nearest one, best first.

A tree of thoughts (Yao et al. 2023) whose thoughts are whole repairs and whose judge is the test suite; maintainers'
preferences decide between repairs that the tests do not tell apart.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Annotated

from msgspec import Meta, Struct

from workers.agent.checkout import Checkout, ToolFailed
from workers.agent.conversation import truncated
from workers.agent.tools.editing import replaced
from workers.agent.tools.testing import OneEdit, described
from workers.diffs import unified
from workers.llm.messages import ChatMessage, ChatRole, Model, ModelRequest
from workers.llm.prompting import prompt
from workers.llm.structured import ask_for
from workers.llm.untrusted import data
from workers.repair.judging.prove import PatchEvaluation, Prover

WIDTH, EXPANSIONS = 4, 4
"""Repairs asked for at once, and how often at most."""

Preference = Callable[[Sequence[str]], Sequence[float]]
"""How strongly maintainers prefer each of some diffs."""


class Proposal(Struct, forbid_unknown_fields=True):
    """One repair: why, in a sentence, and its replacements."""

    why: str
    edits: Annotated[list[OneEdit], Meta(min_length=1, max_length=12)]


class Proposals(Struct, forbid_unknown_fields=True):
    """Different repairs, the likeliest first."""

    repairs: Annotated[list[Proposal], Meta(min_length=1, max_length=8)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairNode:
    """A repair that was tried: the texts of its files, its diff, and the evaluation by the failing tests."""

    edits: Mapping[str, str]
    diff: str
    why: str
    evaluation: PatchEvaluation


@dataclass(kw_only=True)
class TreeSearch:
    """The repairs proposed for one failure. `best` is the nearest so far; `proven` ends it."""

    model: Model
    opening: tuple[ChatMessage, ...]
    checkout: Checkout
    prover: Prover
    deadline: float
    most_files: int
    clock: Callable[[], float] = time.monotonic
    preference: Preference = lambda diffs: [0.0] * len(diffs)
    tried: set[str] = field(default_factory=set)
    best: RepairNode | None = None
    asked: int = 0

    def search(self) -> RepairNode | None:
        """The first proven repair, or the one that came nearest; None when none could be tried. Raises ModelError."""
        frontier: list[tuple[float, int, RepairNode]] = []
        order = count()
        parent: RepairNode | None = None
        while self.asked < EXPANSIONS and self._in_time():
            for node in self._expanded(parent):
                if node.evaluation.proof is not None:
                    return node
                heapq.heappush(frontier, (-node.evaluation.passed, next(order), node))
            if not frontier:
                break
            parent = heapq.heappop(frontier)[-1]
        return self.best

    def _expanded(self, parent: RepairNode | None) -> list[RepairNode]:
        """What the model proposes next, tested: those that pass the failing tests proven, the most preferred first."""
        self.asked += 1
        ask = ModelRequest(messages=(*self.opening, *_feedback(parent)), purpose="propose")
        proposals = ask_for(self.model, ask, Proposals).repairs
        timely = takewhile(self._in_time, proposals)
        screened = [node for proposal in timely if (node := self._screened(proposal)) is not None]
        strengths = dict(zip((n.diff for n in screened), self.preference([n.diff for n in screened]), strict=True))
        nodes: list[RepairNode] = []
        for node in sorted(screened, key=lambda each: (-each.evaluation.passed, -strengths[each.diff])):
            nodes.append(self._judged(node))
            if nodes[-1].evaluation.proof is not None:
                break
        return nodes

    def _in_time(self, _proposal: Proposal | None = None) -> bool:
        """Whether something more may be begun."""
        return self.clock() < self.deadline

    def _screened(self, proposal: Proposal) -> RepairNode | None:
        """A repair with its evaluation by the failing tests; None for one that cannot be made or was tried."""
        try:
            edits = self._made(proposal)
            overlay = self.checkout.overlay_with(edits)
        except ToolFailed:
            return None
        diff = "".join(unified(path, self._before(path), text) for path, text in sorted(edits.items()))
        if not diff or diff in self.tried:
            return None
        self.tried.add(diff)
        return RepairNode(edits=edits, diff=diff, why=proposal.why, evaluation=self.prover.screen(overlay))

    def _made(self, proposal: Proposal) -> dict[str, str]:
        texts: dict[str, str] = {}
        for edit in proposal.edits:
            path = self.checkout.named(edit.path)
            before = texts[path] if path in texts else self.checkout.original(path)
            texts[path] = replaced(path, before, edit.old, edit.new)
        if len(texts) > self.most_files:
            raise ToolFailed(f"more than {self.most_files} files")
        return texts

    def _judged(self, node: RepairNode) -> RepairNode:
        """A node with its proof, if the failing tests pass; the nearest is kept."""
        if not node.evaluation.objection:
            node = RepairNode(
                edits=node.edits, diff=node.diff, why=node.why, evaluation=self.prover.evaluate(node.edits)
            )
        if self.best is None or node.evaluation.passed > self.best.evaluation.passed:
            self.best = node
        return node

    def _before(self, path: str) -> str:
        return self.checkout.original(path)


def _feedback(parent: RepairNode | None) -> tuple[ChatMessage, ...]:
    if parent is None:
        return ()
    text = prompt(
        "refine",
        feedback=f"{described(parent.evaluation.report)}\n{data('verdict', parent.evaluation.objection)}",
        patch=data("repair", truncated(parent.diff, 4_000), code=True),
        count=WIDTH,
    )
    return (ChatMessage(role=ChatRole.USER, text=text),)
