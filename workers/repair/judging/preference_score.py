"""How much maintainers prefer plausible candidates, where a reward model ranks. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memory.preferences.model import PreferenceModel
from memory.preferences.options import option_of_patch
from workers.diffs import unified
from workers.repair.engines.search.candidates import Candidate


def liking(taste: PreferenceModel, candidates: Sequence[Candidate], before: Sequence[str]) -> tuple[float, ...]:
    """The strength of each candidate; `before` is the source of its module without it."""
    diffs = (unified(each.path, old, each.source) for each, old in zip(candidates, before, strict=True))
    options = [
        option_of_patch(diff, template=each.template, strategy=each.strategy)
        for each, diff in zip(candidates, diffs, strict=True)
    ]
    return tuple(taste.strengths(options))
