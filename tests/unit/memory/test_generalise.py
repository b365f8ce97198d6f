"""What edits have in common."""

from __future__ import annotations

from itertools import permutations
from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from memory.generalise import MOST_TAUGHT, generalised
from memory.groups import Taught, group_of, is_useful, together
from memory.model import Rewrite
from memory.rewrites import levels
from memory.terms import Term, pattern
from memory.unify import matched


def taught(before: str, after: str, number: int = 0, **more: object) -> Taught:
    rewrite = Rewrite(before=before, after=after, **more)  # type: ignore[arg-type]  # names checked by Rewrite
    return Taught(
        experience=f"e{number}", repository=f"o/{number}", error_type="E", family="assertion", rewrite=rewrite
    )


LIMIT = taught("if row.size < self.limit:\n    ...", "if row.size <= self.limit:\n    ...", 1)
COUNT = taught("if len(rows) < self.limit:\n    ...", "if len(rows) <= self.limit:\n    ...", 2)
WHILE = taught("while a + 1 < n:\n    ...", "while a + 1 <= n:\n    ...", 3)
GUARD = taught("return rows[0]", "return rows[0] if rows else None", 4)


def edits(*given: Taught) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(skill.before, skill.after, skill.taught_by) for skill in generalised(given) if len(skill.taught_by) > 1]


def test_the_most_that_is_common_is_kept() -> None:
    """Two conditions share the attribute; with a loop's they share the comparison alone."""
    assert edits(LIMIT, COUNT, WHILE) == [
        ("if __0_expr__ < self.limit:\n    ...", "if __0_expr__ <= self.limit:\n    ...", ("e1", "e2")),
        ("__0_expr__ < __1_expr__", "__0_expr__ <= __1_expr__", ("e1", "e2", "e3")),
    ]


def test_a_broader_skill_is_named() -> None:
    """The hierarchy is kept: each skill knows the next one that all of its teachers and more taught."""
    pair, broad = (skill for skill in generalised((LIMIT, COUNT, WHILE)) if len(skill.taught_by) > 1)
    assert (pair.broader, broad.broader) == (broad.id, "")


def test_what_would_fit_anything_is_no_skill() -> None:
    """Bare holes, other names for names, and new code that cannot be guessed are left out."""
    for before, after in (("__0_expr__", "not __0_expr__"), ("f(a)", "f(__0_Call__)"), ("a", "a")):
        assert not is_useful(pattern(before), pattern(after))
    assert edits(taught("x = a", "x = f(b)", 1), taught("return c", "return d[0]", 2)) == []


def test_one_edit_is_a_skill_of_its_own() -> None:
    """Alone, an edit has its names left open where they say nothing elsewhere, and keeps what it brought."""
    (skill,) = generalised((taught("return load(path)", "return load(path, encoding='utf-8')"),))
    assert (skill.before, skill.after) == (
        "return __0_Name__(__1_Name__)",
        "return __0_Name__(__1_Name__, encoding='utf-8')",
    )


def test_what_new_code_needs_is_named() -> None:
    """Names that only the new code has must be known where it is used, unless an import brings them."""
    (skill,) = generalised((taught("return a.b", "return copied(a.b)"),))
    assert skill.needs == ("copied",)
    (skill,) = generalised((taught("return a.b", "return copy.copy(a.b)", imports=("import copy",)),))
    assert (skill.needs, skill.imports) == ((), ("import copy",))


def test_the_place_that_edits_share_is_a_condition() -> None:
    """What both stand in stays, innermost first."""
    one = taught("x -= f(a)", "x += f(a)", 1, inside=("If.body", "For.body"))
    other = taught("x -= f(b)", "x += f(b)", 2, inside=("If.body", "While.body"))
    (skill,) = (each for each in generalised((one, other)) if len(each.taught_by) > 1)
    assert skill.inside == ("If.body",)


def test_the_order_of_teaching_does_not_matter() -> None:
    """Every order of the same edits gives the same skills."""
    expected = generalised((LIMIT, COUNT, WHILE, GUARD))
    assert all(generalised(order) == expected for order in permutations((LIMIT, COUNT, WHILE, GUARD)))


def test_the_time_is_bounded() -> None:
    """Of too many edits the first are generalised."""
    many = [taught(f"return f({number})", f"return g({number})", number) for number in range(MOST_TAUGHT + 5)]
    skills = generalised(many)
    assert max(len(skill.taught_by) for skill in skills) == MOST_TAUGHT


NAMES = st.sampled_from(["a", "b", "row.size", "len(rows)", "rows[0]", "1"])
HEADS = st.sampled_from(["return {0}", "x = {0}", "if {0}:\n    ...", "f({0}, 1)"])


@st.composite
def rewritten(draw: st.DrawFn) -> Taught:
    """An operator exchanged, or a call put around."""
    head, left, right = draw(HEADS), draw(NAMES), draw(NAMES)
    one, other = draw(st.sampled_from([("{} < {}", "{} <= {}"), ("{} + {}", "{} - {}"), ("{} + {}", "abs({} + {})")]))
    return taught(
        head.format(one.format(left, right)), head.format(other.format(left, right)), draw(st.integers(0, 99))
    )


@given(rewritten(), rewritten())
def test_every_teacher_is_an_instance(one: Taught, other: Taught) -> None:
    """What two edits share fits each of them at some level, old code and new with the same holes."""
    groups = group_of(one), group_of(other)
    assert groups[0] is not None
    assert groups[1] is not None
    found = together(groups[0], groups[1])
    if found is None or found.useful is None:
        return
    for each in (one, other):
        assert any(_fits(found.useful, level) for level in levels(each.rewrite)), dedent(str(found.useful))


def _fits(useful: tuple[Term, Term], level: tuple[Term, Term]) -> bool:
    bound: dict[int, Term] = {}
    return all(matched(pattern_, term, bound) for pattern_, term in zip(useful, level, strict=True))


@given(rewritten(), rewritten())
def test_two_groups_share_the_same_either_way(one: Taught, other: Taught) -> None:
    """Generalisation is commutative."""
    first, second = group_of(one), group_of(other)
    assert first is not None
    assert second is not None
    found = together(first, second), together(second, first)
    assert next(each and (each.useful, each.inside) for each in found) == (
        found[1] and (found[1].useful, found[1].inside)
    )
