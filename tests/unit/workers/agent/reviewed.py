"""What the tests of reviewing share: a model that answers as it is told, changes of one file, findings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory.model import Severity
from memory.retrieval.embeddings import HashedWords
from workers.agent.findings import ModelFinding, ReportedFinding
from workers.agent.reviewer import ModelReviewer
from workers.diffs import parse_diff, unified
from workers.llm.messages import FinishReason, ModelReply, ModelRequest, TokenUsage
from workers.review.detectors.detector import Category, Delta, SourceTree

PATH = "shop/till.py"
BEFORE = "def paid(sums):\n    return sum(sums)\n"
AFTER = 'def paid(sums):\n    """In cents."""\n    total = sum(sums[1:])\n    return total\n'


@dataclass
class Answering:
    """A model whose answers to each purpose come in turn, the last one again and again; errors are raised."""

    review: Sequence[object] = ({"findings": []},)
    critique: Sequence[object] = ({"verdicts": []},)
    asked: list[ModelRequest] = field(default_factory=list)

    def reply(self, ask: ModelRequest) -> ModelReply:
        answers = self.review if ask.purpose == "review" else self.critique
        made = sum(each.purpose == ask.purpose for each in self.asked)
        self.asked.append(ask)
        answer = answers[min(made, len(answers) - 1)]
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return ModelReply(
            text=text, calls=(), finish=FinishReason.STOP, usage=TokenUsage(prompt=1, completion=1), model="m"
        )

    def told(self, purpose: str) -> list[str]:
        """The last message of each request of a purpose."""
        return [each.messages[-1].text for each in self.asked if each.purpose == purpose]


def delta(before: str = BEFORE, after: str = AFTER, path: str = PATH, **others: str) -> Delta:
    """What became of one file; `others` are new ones, by their names without the suffix."""
    sources = {path: after, **{f"{name}.py": text for name, text in others.items()}}
    diff = unified(path, before or None, after) + "".join(unified(f"{n}.py", None, t) for n, t in others.items())
    change = parse_diff(diff)
    return Delta(
        head=SourceTree(sources=sources, target_version="py311"),
        base={path: before},
        added={file.path: file.added_lines for file in change.files},
        hunks={file.path: file.hunks for file in change.files},
    )


def said(**differing: object) -> dict[str, object]:
    """A finding as the model says it."""
    usual: dict[str, object] = {
        "path": PATH,
        "line": 3,
        "end_line": 3,
        "quote": "total = sum(sums[1:])",
        "category": "correctness",
        "severity": "major",
        "title": "The first is left out",
        "explanation": "paid([5]) is 0.",
        "replacement": None,
    }
    return usual | differing


def finding(**differing: object) -> ReportedFinding:
    """The same, read."""
    return ReportedFinding(**(said() | differing))  # type: ignore[arg-type]  # what each test says


def candidate(**differing: object) -> ModelFinding:
    """The same, checked."""
    usual: dict[str, object] = {
        "path": PATH,
        "line": 3,
        "end_line": 3,
        "category": Category.CORRECTNESS,
        "severity": Severity.MAJOR,
        "title": "The first is left out",
        "explanation": "paid([5]) is 0.",
    }
    return ModelFinding(**(usual | differing))  # type: ignore[arg-type]  # what each test says


def reviewer(model: Answering, title: str = "", **memory: object) -> ModelReviewer:
    """A reviewer that remembers this."""
    return ModelReviewer(
        model=model,
        embedder=HashedWords(),
        constitution="1. One.",
        title=title,
        **memory,  # type: ignore[arg-type]  # what each test says
    )
