"""Where skills fit, and the edits that they make there."""

from __future__ import annotations

from textwrap import dedent

import pytest

from memory.generalise import generalised
from memory.groups import Taught
from memory.model import Failure, Family, Skill
from memory.rewrites import rewrites
from workers.repair.candidates import Suspect
from workers.repair.search import propose
from workers.repair.skills import templates_of

FAILURE = Failure(
    error_type="AssertionError", family=Family.ASSERTION, message="", frames=(), failing_tests=("test_a.py::test",)
)

TAUGHT = dedent(
    """\
    import os

    def f(rows, limit):
        found = [rows, "a"]
        if rows.size < limit:
            return found
        for row in rows:
            found.append(row.name)
        return found
    """
)

ELSEWHERE = dedent(
    """\
    import sys

    class Box:
        def put(self, things, most):
            kept = [things, 'b']
            if (self.count   <
                    most):  # full
                return kept
            if things.size < most:  # room
                return kept
            for thing in things:
                kept.append(thing.title)
            return kept
    """
)


def skills(old: str, new: str) -> tuple[Skill, ...]:
    """What one edit of TAUGHT teaches."""
    edited = TAUGHT.replace(old, new)
    assert edited != TAUGHT
    taught = [
        Taught(experience="e", repository="o/r", error_type="AssertionError", family="assertion", rewrite=each)
        for each in rewrites(TAUGHT, edited)
    ]
    return generalised(taught)


def made(found: tuple[Skill, ...], source: str = ELSEWHERE) -> list[str]:
    """The lines that candidates of skills put in the place of others, likeliest first."""
    suspects = [Suspect(path="box.py", line=n, score=0.9) for n in range(1, source.count("\n") + 1)]
    candidates = propose({"box.py": source}, suspects, FAILURE, strategies=(), learned=templates_of(found))
    before = source.splitlines()
    return ["|".join(line.strip() for line in each.source.splitlines() if line not in before) for each in candidates]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "rows.size < limit",
            "rows.size <= limit",
            ["if things.size <= most:  # room", "if (self.count <= most):  # full"],
        ),
        ("return found", "return sorted(found)", ["return sorted(kept)"] * 3),
        ("found.append(row.name)", "found.extend(row.name)", ["kept.extend(thing.title)"]),
        ('[rows, "a"]', 'os.path.join(rows, "a")', []),
        ('[rows, "a"]', "[rows]", ["kept = [things]"]),
    ],
)
def test_an_edit_is_made_elsewhere(old: str, new: str, expected: list[str]) -> None:
    """With the names of the place; its text is left as it is but for what changes; what is not known there is not used."""
    assert made(skills(old, new)) == expected


def test_missing_imports_are_brought_along() -> None:
    """A skill that needs a module imports it."""
    edited = TAUGHT.replace("import os\n", "import os\nimport copy\n").replace("[rows, ", "[copy.copy(rows), ")
    taught = [
        Taught(experience="e", repository="o/r", error_type="E", family="assertion", rewrite=each)
        for each in rewrites(TAUGHT, edited)
    ]
    assert made(generalised(taught)) == ["import copy|kept = [copy.copy(things), 'b']"]


def test_added_statements_take_the_names_of_the_place() -> None:
    """A guard is tried with the nearest names that play the same part, at every statement that may be at fault."""
    found = made(skills("    found = [rows", "    if limit is None:\n        return None\n    found = [rows"))
    assert "if most is None:|return None" in found
    assert all(line.startswith(("if most", "if self", "if things")) for line in found)


def test_a_skill_that_cannot_be_read_is_left_out() -> None:
    """What comes from elsewhere may be no Python at all."""
    (skill,) = skills("return found", "return sorted(found)")[:1]
    broken = Skill(
        id="x",
        before="return (",
        after="",
        inside=(),
        families=(),
        error_types=(),
        needs=(),
        imports=(),
        taught_by=(),
        repositories=(),
    )
    assert len(templates_of([broken, skill])) == 1
