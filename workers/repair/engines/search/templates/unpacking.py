"""Values unpacked in the wrong order: the swapped arguments of assignment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import libcst as cst

from memory.model import Family
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.templates import template

_VALUES = (Family.ASSERTION, Family.VALUE, Family.LOOKUP, Family.TYPE, Family.ATTRIBUTE, Family.ARITHMETIC)
MOST_TARGETS = 5


@template(cst.Tuple, strategy="names", prior=0.5, families=_VALUES)
def unpacked_order(node: cst.Tuple, site: Site) -> Iterator[Edit]:
    """`d, m = date` → `m, d = date`; likewise in `for` and in comprehensions."""
    if not _is_target(node, site) or len(node.elements) > MOST_TARGETS:
        return
    for one, other in combinations(node.elements, 2):
        if not isinstance(one, cst.StarredElement) and not isinstance(other, cst.StarredElement):
            yield site.exchange(one.value, other.value, around=node)


def _is_target(node: cst.Tuple, site: Site) -> bool:
    match site.parent(node):
        case cst.AssignTarget():
            return True
        case cst.For(target=target) | cst.CompFor(target=target):
            return target is node
    return False
