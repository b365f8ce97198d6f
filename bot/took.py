"""What a model took, and what it was given beside the task, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from bot.sheets import Sheet
from memory.costs import Costs, PerAccepted
from memory.store import Spent
from memory.usefulness import PartUse

MICROS = 1_000_000


def parts_told(parts: Sequence[PartUse]) -> list[Sheet]:
    """What the model is given beside the task, held against its absence."""
    if not parts:
        return []
    head = ("repository", "part", "runs with it", "proven", "without", "proven", "chance that it helps", "")
    rows = tuple(
        (
            each.repository,
            each.part,
            str(each.use.given),
            str(each.use.proven_given),
            str(each.use.left_out),
            str(each.use.proven_left_out),
            f"{each.raises:.2f}",
            "dropped" if each.dropped else "",
        )
        for each in parts
    )
    return [Sheet(title="Parts of the prompt, and tools, left out now and then", columns=head, rows=rows)]


def costs_told(costs: Costs | None) -> list[Sheet]:
    """What a model took; nothing where none was asked."""
    if costs is None:
        return []
    head = ("repository", "purpose", "model", "calls", "failed", "read", "from cache", "written", "US dollars")
    notes = tuple(map(_per_accepted, costs.per_accepted))
    return [Sheet(title="What the model took", columns=head, rows=tuple(map(_spent, costs.calls)), notes=notes)]


def _spent(spent: Spent) -> tuple[str, ...]:
    counts = (spent.calls, spent.failed, spent.prompt, spent.cached, spent.completion)
    return (spent.repository, spent.purpose, spent.tier, *map(str, counts), _dollars(spent.micros))


def _per_accepted(each: PerAccepted) -> str:
    if each.tokens_each is None or each.micros_each is None:
        return f"an accepted {each.what}: not known yet, none of {each.tasks} tasks led to one"
    took = f"{each.tokens_each:.0f} tokens, {_dollars(each.micros_each)} US dollars"
    return f"an accepted {each.what}: {took} ({each.accepted} accepted, {each.tasks} tasks)"


def _dollars(micros: float) -> str:
    return f"{micros / MICROS:.4f}"
