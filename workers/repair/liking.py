"""How well people like plausible candidates, where a reward model knows. Pure but for the embedding."""

from __future__ import annotations

from collections.abc import Sequence

from memory.preferences.collecting import LONGEST_TEXT, Taste
from memory.preferences.features import changed_lines, of_patch, path_of, prior_of_patch
from memory.preferences.judged import Option
from workers.patches import unified
from workers.repair.candidates import Candidate


def liking(taste: Taste, candidates: Sequence[Candidate], before: Sequence[str]) -> tuple[float, ...]:
    """The strength of each candidate; `before` is the source of its module without it."""
    diffs = (unified(each.path, old, each.source) for each, old in zip(candidates, before, strict=True))
    return tuple(taste.strengths([_option(each, diff) for each, diff in zip(candidates, diffs, strict=True)]))


def _option(candidate: Candidate, diff: str) -> Option:
    """What share of the weight it has is what is being asked: all are taken to be alike in that."""
    return Option(
        prior=prior_of_patch(0.5),
        features=of_patch(
            template=candidate.template,
            strategy=candidate.strategy,
            path=candidate.path,
            lines=changed_lines(diff),
        ),
        text=diff[:LONGEST_TEXT],
    )


def liking_of_diffs(taste: Taste, diffs: Sequence[str]) -> list[float]:
    """The strength of patches that a model wrote."""
    return taste.strengths(
        [
            Option(
                prior=prior_of_patch(0.5),
                features=of_patch(template="", strategy="model", path=path_of(diff), lines=changed_lines(diff)),
                text=diff[:LONGEST_TEXT],
            )
            for diff in diffs
        ]
    )
