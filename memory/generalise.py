"""What proven edits have in common, as edits that can be made elsewhere. Pure.

Edits are merged two by two, the pair first that loses least, into ever more general ones, as in Getafix (Bader, Scott,
Pradel and Chandra 2019) and Revisar (Rolim et al. 2018); every merger is a skill, so that the most specific one that applies
can be tried first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from memory.groups import Group, Pair, Taught, alone, group_of, together
from memory.model import Skill
from memory.rewrites import imported_name
from memory.terms import EVERYWHERE, Tree, holes_in, names_in, size, written

MOST_TAUGHT = 120
"""So many edits are generalised, the latest: the time it takes grows with their square."""


def generalised(taught: Sequence[Taught]) -> tuple[Skill, ...]:
    """The skills that edits teach, the most specific first; of more than MOST_TAUGHT edits the first ones, so give the latest.

    The same edits teach the same skills, in whatever order they are given.
    """
    chosen = sorted(taught[:MOST_TAUGHT], key=lambda each: (each.rewrite.before, each.rewrite.after, each.experience))
    groups = [group for group in map(group_of, chosen) if group is not None]
    found: dict[str, Skill] = {}
    for group in (*map(alone, groups), *_mergers(groups)):
        if group is not None:
            skill = _skill(group)
            found[skill.id] = _with(found.get(skill.id), skill)
    ranked = sorted(found.values(), key=lambda each: (-_given(each), -len(each.taught_by), each.id))
    return tuple(replace(skill, broader=_broader(skill, ranked)) for skill in ranked)


def _broader(skill: Skill, skills: Sequence[Skill]) -> str:
    """The id of the skill with the fewest teachers that has all of this one's and more; "" where none has."""
    wider = [each for each in skills if set(each.taught_by) > set(skill.taught_by)]
    return min(wider, key=lambda each: (len(each.taught_by), each.id)).id if wider else ""


def _mergers(groups: Sequence[Group]) -> Iterator[Group]:
    """Every merger of two groups, until nothing is left that can be merged: the one first that loses least."""
    alive = dict(enumerate(_distinct(groups)))
    queue: list[tuple[float, int, int, Group]] = []
    for at in alive:
        _queue(queue, alive, at, [other for other in alive if other < at])
    following = len(alive)
    while queue:
        _, one, other, group = heapq.heappop(queue)
        if one not in alive or other not in alive:
            continue
        del alive[one], alive[other]
        alive[following] = group
        yield group
        _queue(queue, alive, following, [each for each in alive if each != following])
        following += 1


def _queue(
    queue: list[tuple[float, int, int, Group]], alive: Mapping[int, Group], at: int, others: Iterable[int]
) -> None:
    for other in others:
        if _may_merge(alive[at], alive[other]) and (group := together(alive[other], alive[at])) is not None:
            heapq.heappush(queue, (_loss(alive[at], alive[other], group), other, at, group))


def _distinct(groups: Sequence[Group]) -> list[Group]:
    """Groups of which no two are the same edit."""
    found: dict[tuple[object, ...], Group] = {}
    for group in groups:
        key = (group.shared[-1:], group.inside, group.imports)
        same = found.get(key)
        found[key] = replace(same, members=(*same.members, *group.members)) if same else group
    return list(found.values())


def _may_merge(one: Group, other: Group) -> bool:
    """Whether it is worth the try: the smallest parts, or the statements, are of the same kinds."""
    return _kinds(one.shared[0]) == _kinds(other.shared[0]) or _kinds(one.shared[-1]) == _kinds(other.shared[-1])


def _kinds(pair: Pair) -> tuple[object, ...]:
    return tuple(
        (each.kind, *(child.kind for child in each.children if isinstance(child, Tree) and each.kind == "[]"))
        if isinstance(each, Tree)
        else ()
        for each in pair
    )


def _loss(one: Group, other: Group, group: Group) -> float:
    """How much of two edits is lost in their merger; a hole to be filled at random is worth two nodes."""
    before, after = group.useful or group.shared[0]
    free = set(holes_in(after)) - set(holes_in(before))
    kept = size(before) + size(after) + len(group.inside)
    return sum(_extent(each) for each in (one, other)) / 2 - kept + 2 * len(free)


def _extent(group: Group) -> int:
    before, after = group.useful or group.shared[-1]
    return size(before) + size(after) + len(group.inside)


def _skill(group: Group) -> Skill:
    assert group.useful is not None
    before, after = group.useful
    known = {*names_in(before), *map(imported_name, group.imports)}
    teachers = {account for each in group.members for account in each.teachers}
    return Skill(
        id=group.id,
        before=written(before),
        after=written(after),
        inside=group.inside,
        families=_sorted(each.family for each in group.members),
        error_types=_sorted(each.error_type for each in group.members),
        needs=_sorted(name for name in names_in(after) if name not in known and name not in EVERYWHERE),
        imports=_sorted(group.imports),
        taught_by=_sorted(each.experience for each in group.members),
        repositories=_sorted(each.repository for each in group.members),
        teachers=tuple(sorted(teachers)),
    )


def _with(known: Skill | None, skill: Skill) -> Skill:
    """A skill that was found twice, taught by all that teach it."""
    if known is None:
        return skill
    return replace(
        skill,
        families=_sorted((*known.families, *skill.families)),
        error_types=_sorted((*known.error_types, *skill.error_types)),
        taught_by=_sorted((*known.taught_by, *skill.taught_by)),
        repositories=_sorted((*known.repositories, *skill.repositories)),
        teachers=tuple(sorted({*known.teachers, *skill.teachers})),
    )


def _sorted(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(texts)))


def _given(skill: Skill) -> int:
    return len(skill.before) + len(skill.after)
