"""The programs and the scripted maintainer of `benchmarks.taste`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import pytest

from benchmarks.taste.__main__ import (
    CONVERSION,
    FOLLOWED,
    GUARD,
    OTHER,
    Answer,
    Phase,
    Program,
    kind_of,
    meetings,
    programs,
    rows,
)
from workers.diffs import unified


def failing(program: Program, source: str) -> list[str]:
    """The tests of a program that fail with this source."""
    names: dict[str, object] = {}
    exec(compile(source, "program", "exec"), names)
    exec(compile(program.tests, "tests", "exec"), names)
    found = []
    for name, test in names.items():
        if name.startswith("test_") and callable(test):
            try:
                test()
            except (AttributeError, LookupError, TypeError, ValueError):
                found.append(name)
    return found


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_a_guard_and_a_conversion_repair_it_alike(program: Program) -> None:
    """As it is, one test fails with an error; with either fix none does, and a reader tells the two kinds apart."""
    assert program.source.count(program.line) == 1
    assert len(failing(program, program.source)) == 1
    for kind, fix in ((GUARD, program.guard), (CONVERSION, program.conversion)):
        fixed = program.source.replace(program.line, fix)
        assert failing(program, fixed) == []
        assert kind_of(unified("a.py", program.source, fixed)) == kind


def test_other_edits_are_neither() -> None:
    """The maintainer has no opinion about an edit of another kind."""
    assert kind_of(unified("a.py", "x = a < b\n", "x = a <= b\n")) == OTHER


def test_every_round_has_every_program_under_a_new_name() -> None:
    """So many bugs in a row meet all programs, no bug comes twice, and a seed gives one order."""
    known = [program for program in programs() if program.kept]
    assert len(known) == FOLLOWED == len([program for program in programs() if not program.kept])
    met = list(islice(meetings(1, known), 4 * FOLLOWED))
    assert len({word for _, word in met}) == len(met)
    assert {program.name for program, _ in met[:FOLLOWED]} == {program.name for program in known}
    assert met == list(islice(meetings(1, known), 4 * FOLLOWED))


def test_what_never_followed_is_told() -> None:
    """The figures count the seeds that followed in time, and the others."""

    def answered(*liked: bool | None) -> tuple[Answer, ...]:
        return tuple(Answer(program="p", kind=GUARD, template="t", candidates=1, liked=each) for each in liked)

    phases = [
        Phase(seed=0, likes=GUARD, changed=False, answers=answered(False, True, None), verdicts=1),
        Phase(seed=0, likes=CONVERSION, changed=True, answers=answered(False), verdicts=None),
    ]
    shown: Mapping[str, str] = dict(rows(phases))
    assert shown["verdicts, at first"] == "1 (median of 1; 1 to 1): 1 of 1 seeds within 15"
    assert shown["liked, at first"] == "1 of 2 judged fixes, of 3 bugs"
    assert shown["verdicts, after the change"] == "never: 0 of 1 seeds within 25"
