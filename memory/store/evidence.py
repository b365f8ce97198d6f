"""What evidence adds up to: by contributor, less as it gets older, and pooled over repositories within a quota each. Pure."""

import math
from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from memory.model import PERIOD, Cell, Factor

MILLION = 1_000_000

QUOTA = 20 * MILLION
"""As much as one repository counts for in a cell that others read, in millionths of an observation.

Two or three times the weight of the broad levels to a reader: enough to count, too little to outweigh all others.
"""

QUORUM = 2
"""How many other repositories, and for acceptance people, must have taught a cell before it reaches a repository."""

Sum = tuple[int, int]
"""Weight and value, in millionths."""

Contributor = tuple[str, str]
"""Repository and teacher; the teacher is empty where tests decided."""

EvidenceKey = tuple[str, str, int]
"""A contributor and the period of the decisions: one row of a cell."""

CellKey = tuple[str, str, str, str]
"""Scope, key, strategy, factor: one cell of the table."""

Sums = dict[CellKey, dict[EvidenceKey, Sum]]
"""For each cell, what each contributor adds to it in each period."""

CELL_COLUMNS = ("scope", "key", "strategy", "factor")
EVIDENCE_COLUMNS = ("repository", "teacher", "period")

HALF_LIFE = timedelta(days=180)
"""Evidence this old weighs a half: people, code and the engine change. That of remembered cases is the same."""


@cache
def decay(periods: int) -> int:
    """What is left of evidence after `periods`, in millionths."""
    return round(MILLION * math.exp2(-max(periods, 0) * (PERIOD / HALF_LIFE)))


def decayed(rows: Mapping[EvidenceKey, Sum], period: int | None) -> dict[Contributor, Sum]:
    """The rows of a cell by contributor, as they count in a period; None: in full. Rounded down, so that they are whole numbers."""
    sums: dict[Contributor, Sum] = {}
    for (repository, teacher, then), (weight, value) in rows.items():
        left = MILLION if period is None else decay(period - then)
        known = sums.get((repository, teacher), (0, 0))
        sums[repository, teacher] = (known[0] + weight * left // MILLION, known[1] + value * left // MILLION)
    return sums


class Pool(NamedTuple):
    """A sum, over how many repositories with evidence, and how many people gave it. Each is within its quota in that of all."""

    weight: int = 0
    value: int = 0
    repositories: int = 0
    people: int = 0


def within_quota(weight: int, value: int) -> Sum:
    """What one repository's evidence counts for with others; nothing when all of it was taken back."""
    if weight <= 0:
        return 0, 0
    return (weight, value) if weight <= QUOTA else (QUOTA, QUOTA * value // weight)


def pool_of_all(rows: Mapping[Contributor, Sum]) -> Pool:
    """The pool of all repositories, of one cell's rows."""
    repositories: dict[str, Sum] = {}
    for (repository, _), (weight, value) in rows.items():
        known = repositories.get(repository, (0, 0))
        repositories[repository] = (known[0] + weight, known[1] + value)
    shares = [within_quota(*each) for each in repositories.values()]
    return Pool(
        weight=sum(weight for weight, _ in shares),
        value=sum(value for _, value in shares),
        repositories=sum(weight > 0 for weight, _ in shares),
        people=_people(rows),
    )


def pool_of_one(rows: Mapping[Contributor, Sum]) -> Pool:
    weight, value = (sum(each[part] for each in rows.values()) for part in (0, 1))
    return Pool(weight, value, int(weight > 0), _people(rows))


def pools_of_each(rows: Mapping[Contributor, Sum]) -> dict[str, Pool]:
    """The pool of each repository that has any of these rows."""
    of: defaultdict[str, dict[Contributor, Sum]] = defaultdict(dict)
    for contributor, each in rows.items():
        of[contributor[0]][contributor] = each
    return {repository: pool_of_one(own) for repository, own in of.items()}


def _people(rows: Mapping[Contributor, Sum]) -> int:
    weights: dict[str, int] = {}
    for (_, teacher), (weight, _) in rows.items():
        weights[teacher] = weights.get(teacher, 0) + weight
    return sum(1 for teacher, weight in weights.items() if teacher and weight > 0)


def cell_for(rows: Mapping[Contributor, Sum], repository: str, factor: Factor, quorum: int) -> Cell | None:
    """The evidence of one cell for a repository: its own in full, and the pool of all others where they are a quorum.

    Repositories count as well as people, because the owner of a repository can add any number of accounts to teach there.
    """
    own = {contributor: each for contributor, each in rows.items() if contributor[0] == repository}
    others = pool_of_all({contributor: each for contributor, each in rows.items() if contributor not in own})
    weight, value, repositories, _ = pool_of_one(own)
    if others.repositories >= quorum and (factor is Factor.PROOF or others.people >= quorum):
        weight, value, repositories = weight + others.weight, value + others.value, repositories + others.repositories
    return cell_of(weight, value, repositories)


def cell_of(weight: int, value: int, repositories: int) -> Cell | None:
    """A cell of these sums; None without evidence."""
    return Cell(weight / MILLION, value / weight, repositories) if weight > 0 else None


def sums_for(quorum: int, of_people: bool, *sums: int) -> tuple[int, int, int] | None:
    """What `cell_for` makes a cell of, by the pools of all and of one repository, in numbers alone: it is asked of every row.

    None where the rows must tell whether others are a quorum of people: some of this repository's may have taught elsewhere too.
    """
    weight, value, repositories, people, own_weight, own_value, own_repositories, own_people = sums
    others = people - own_people
    if others < quorum <= people:
        return None
    if repositories - own_repositories < quorum or (of_people and others < quorum):
        return own_weight, own_value, own_repositories
    shared_weight, shared_value = within_quota(own_weight, own_value)
    return own_weight + weight - shared_weight, own_value + value - shared_value, repositories
