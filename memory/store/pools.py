"""What of the table reaches beyond a repository: each repository's share of a cell up to a quota, and who stands behind it.

A pool is a function of the cell's rows alone, in integers, so that however it came about it is the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from memory.model import Factor

MILLION = 1_000_000

QUOTA = 20 * MILLION
"""As much as one repository counts for in a cell that others read, in millionths of an observation.

As many as the broad levels are worth to a reader two or three times over: enough to be heard, too few to drown others.
What is stored depends on it: after changing it, run `apprentice rebuild`.
"""

QUORUM = 2
"""How many other repositories, and for acceptance people, must have taught a cell before it reaches a repository."""

Sum = tuple[int, int]
"""Weight and value, in millionths."""

Witness = tuple[str, str]
"""Repository and teacher; the teacher is empty where tests decided."""


class Pool(NamedTuple):
    """The quota-bounded sum over all repositories, how many of them have evidence, and how many people gave it."""

    weight: int = 0
    value: int = 0
    repositories: int = 0
    people: int = 0

    def plus(self, other: Pool) -> Pool:
        """Both together."""
        return Pool(
            self.weight + other.weight,
            self.value + other.value,
            self.repositories + other.repositories,
            self.people + other.people,
        )

    def minus(self, other: Pool) -> Pool:
        """What is left without `other`."""
        return self.plus(Pool(-other.weight, -other.value, -other.repositories, -other.people))


NOBODY = Pool()


def share(weight: int, value: int) -> Pool:
    """What one repository's evidence counts for with others; nothing when all of it was taken back."""
    if weight <= 0:
        return NOBODY
    if weight <= QUOTA:
        return Pool(weight, value, 1)
    return Pool(QUOTA, QUOTA * value // weight, 1)


def pool(rows: Mapping[Witness, Sum]) -> Pool:
    """The pool of one cell's rows."""
    repositories: dict[str, Sum] = {}
    people: dict[str, int] = {}
    for (repository, teacher), (weight, value) in rows.items():
        known = repositories.get(repository, (0, 0))
        repositories[repository] = (known[0] + weight, known[1] + value)
        people[teacher] = people.get(teacher, 0) + weight
    total = Pool(people=sum(1 for teacher, weight in people.items() if teacher and weight > 0))
    for weight, value in repositories.values():
        total = total.plus(share(weight, value))
    return total


def reaching(shared: Pool, own: Sum, only_here: int, factor: Factor, quorum: int) -> Pool:
    """What of a pool reaches a repository that has `own` evidence itself, `only_here` of its people having none elsewhere.

    Nothing below the quorum. Repositories as well as people, because whoever owns a repository can let in accounts of
    their own to teach there.
    """
    mine = share(*own)  # has no people of its own
    repositories = shared.repositories - mine.repositories
    if repositories < quorum or (factor is Factor.ACCEPTANCE and shared.people - only_here < quorum):
        return NOBODY
    return Pool(shared.weight - mine.weight, shared.value - mine.value, repositories, shared.people)
