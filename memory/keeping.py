"""What in the episodic memory is the same, what speaks against what, what cites code that is gone, and what goes first. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence

from memory.model import AttemptOutcome, EditShape, Experience
from memory.store import Standing

CONTESTED = 0.5
"""What an edit weighs that people turned down in other repositories, and nobody judged in this one."""

LONGEST_CITED = 200_000
"""A file of more characters than this is not searched for cited code."""


def likeness(experience: Experience) -> str:
    """Equal for the same failure, edit and outcome in one repository, whenever and in whatever task that was."""
    failure = (experience.repository, experience.error_type, experience.signature)
    return _digest(*failure, experience.strategy, experience.path, edit_of(experience.shape), experience.outcome)


def edit_of(shape: EditShape | None) -> str:
    """Equal for equal shapes, empty without one."""
    return "" if shape is None else _digest(shape.template, shape.before, shape.after)


def verdict(here: Iterable[float], elsewhere: Iterable[float]) -> float:
    """What a proven edit weighs, of what people said about it: 1, `CONTESTED`, or 0 for one that is not to be made.

    Each number is the say about one experience, above 0 for the edit and below against it. People's word wins over a proof,
    since tests only say that an edit can be right; and the word of a repository's own people over everyone else's,
    since what one project turned down another may want. Where nobody here spoke, a no from elsewhere halves the weight:
    it is tried later, not never. Words of one place are added up, so that the last does not win because it is the last.
    """
    own, others = sum(here), sum(elsewhere)
    if own:
        return 1.0 if own > 0.0 else 0.0
    return CONTESTED if others < 0.0 else 1.0


def is_stale(experience: Experience, source: str | None) -> bool:
    """Whether the code that a patch cites is gone: its file holds it neither as it was before the patch nor as it was after.

    `source` is the text of `experience.path` as it is now, None where there is no such file. Without a patch nothing is cited.
    """
    sides = _cited(experience.patch)
    if not experience.path or not any(any(side) for side in sides):
        return False
    if source is None:
        return True
    lines = _squeezed(source[:LONGEST_CITED].splitlines())
    return not any(all(_holds(lines, block) for block in side) for side in sides)


def going(standings: Sequence[Standing], accepted: Collection[str], keep: int) -> list[str]:
    """The ids to forget so that `keep` stay: the useless first. `accepted` holds those that people accepted.

    What was proven and accepted outlives everything that was not, then what led to a repair, then what no other says too,
    then what was proven; among equals the newer stays.
    """

    def worth(each: Standing) -> tuple[bool, bool, bool, bool, float, str]:
        proven = each.outcome is AttemptOutcome.PROVEN
        age = each.created_at.timestamp()
        return (proven and each.id in accepted, each.helped > 0, not each.copy, proven, age, each.id)

    return [each.id for each in sorted(standings, key=worth)[: max(0, len(standings) - keep)]]


def _digest(*parts: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        text = part.encode("utf-8", "surrogatepass")
        digest.update(len(text).to_bytes(8, "big") + text)
    return digest.hexdigest()


def _cited(patch: str) -> tuple[list[list[str]], list[list[str]]]:
    """The changed lines of each hunk with what stands around them: as they were, and as they became."""
    before: list[list[str]] = []
    after: list[list[str]] = []
    for line in patch.splitlines():
        if line.startswith("@@"):
            before.append([])
            after.append([])
        elif before and not line.startswith("\\"):
            if not line.startswith("+"):
                before[-1].append(line[1:])
            if not line.startswith("-"):
                after[-1].append(line[1:])
    return [_squeezed(block) for block in before], [_squeezed(block) for block in after]


def _squeezed(lines: Iterable[str]) -> list[str]:
    """Lines without blank ones, and without what is only layout."""
    return [" ".join(line.split()) for line in lines if line.strip()]


def _holds(lines: Sequence[str], block: Sequence[str]) -> bool:
    size = len(block)
    return any(lines[start : start + size] == block for start in range(len(lines) - size + 1))
