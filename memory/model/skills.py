"""Learned edits, and what several of them have in common."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Statements that an edit put in the place of others, as source; a body of `...` alone is any body, left as it is.

    `inside` names the blocks around them, innermost first, up to the function (`If.body`); `roles` what the names in them are
    there: parameter, local, or of the module. `imports` are the lines that were added for them.
    """

    before: str
    after: str
    inside: tuple[str, ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    imports: tuple[str, ...] = ()


class SkillState(StrEnum):
    """`candidate`: proven, not accepted yet; `active`: from an accepted fix; `retired`: it stopped working."""

    CANDIDATE = "candidate"
    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """An edit with open parts, learned of the experiences `taught_by`.

    `before` and `after` are source with holes for what the examples do not share (see memory.terms). It applies
    inside of `inside`, where all names in `needs` are known, or `imports` bring them. `broader` is the id of the next
    more general skill of the same edits, `teachers` are the accounts that accepted any of them. `tries` are repairs in
    which it was tried, `wins` those of them that it proved and no maintainer rejected; `rate` is the mean of its posterior.
    """

    id: str
    before: str
    after: str
    inside: tuple[str, ...]
    families: tuple[str, ...]
    error_types: tuple[str, ...]
    needs: tuple[str, ...]
    imports: tuple[str, ...]
    taught_by: tuple[str, ...]
    repositories: tuple[str, ...]
    broader: str = ""
    teachers: tuple[int, ...] = ()
    tries: int = 0
    wins: int = 0
    rate: float = 0.0
    state: SkillState = SkillState.CANDIDATE
