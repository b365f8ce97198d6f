from __future__ import annotations

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from memory.model import TaskKind
from memory.plain_yaml import MAX_BYTES, BadYaml
from memory.sharing import MAX_LESSONS, Learnings, Lesson, is_public, parse, render

LESSON = Lesson(
    about=TaskKind.REVIEW,
    label="B006",
    family="correctness",
    strategy="finding",
    mean=0.821,
    weight=14.0,
    teachers=3,
    since=date(2026, 1, 4),
    until=date(2026, 3, 1),
    decisions=("5d41402abc4b2a76",),
    taught_by=("https://github.com/acme/shop/pull/14",),
)
LEARNINGS = Learnings(source="acme/shop", lessons=(LESSON,))
TEXT = render(LEARNINGS)


def test_the_file_reads_well() -> None:
    """One entry a block, so that a change to one is a change of a few lines."""
    assert (
        snapshot("""\
# Lessons from feedback in this repository, as a prior for reviews and repairs. Review changes to it like code:
# Apprentice reads it from the base branch only. Remove an entry to end its effect.
version: 1
source: acme/shop
lessons:
- about: review
  label: B006
  family: correctness
  strategy: finding
  mean: 0.821
  weight: 14.0
  teachers: 3
  since: '2026-01-04'
  until: '2026-03-01'
  taught_by: ['https://github.com/acme/shop/pull/14']
  decisions: [5d41402abc4b2a76]
""")
        == TEXT
    )


names = st.from_regex(r"[A-Za-z][A-Za-z0-9_.:-]{0,20}", fullmatch=True)
lessons = st.builds(
    replace,
    st.just(LESSON),
    about=st.sampled_from(TaskKind),
    label=names,
    family=names,
    strategy=names,
    mean=st.integers(0, 1000).map(lambda n: n / 1000),
    weight=st.integers(0, 10_000).map(lambda n: n / 10),
    teachers=st.integers(2, 999),
)


@pytest.mark.slow
@given(st.lists(lessons, max_size=5, unique_by=lambda each: each.pattern))
def test_what_is_written_is_read_back(written: list[Lesson]) -> None:
    """Whatever the names: also those that YAML takes for a truth value, a number or a day."""
    ordered = tuple(sorted(written, key=lambda each: each.pattern))
    learnings = Learnings(source="acme/shop", lessons=ordered)
    assert parse(render(learnings)) == learnings


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ("version: 1", "version: 2", "line 3: version: Expected `int` <= 1; correct it, export the file again, or upgrade Apprentice"),
        ("version: 1", "version: one", "line 3: version: Expected `int`, got `str`; correct it"),
        ("teachers: 3", "teachers: 1", "line 12: lessons[0].teachers: Expected `int` >= 2; correct it"),
        ("mean: 0.821", "mean: .nan", "line 10: lessons[0].mean: Expected `float`, got `str`; correct it"),
        ("mean: 0.821", "mean: nan", "line 10: lessons[0].mean: Expected `float` >= 0.0; correct it"),
        ("weight: 14.0", "weight: 1e9", "line 11: lessons[0].weight: Expected `float` <= 1000000.0; correct it"),
        ("teachers: 3", "teachers: 2.5", "line 12: lessons[0].teachers: Expected `int`, got `str`; correct it"),
        ("  teachers: 3\n", "", "line 6: lessons[0]: Object missing required field `teachers`; correct it"),
        ("teachers: 3", "teachers: 3\n  code: x = 1", "line 6: lessons[0]: Object contains unknown field `code`; correct it"),
        ("mean: 0.821", "mean: 0.8\n  mean: 0.9", "line 11: 'mean' occurs twice or is no key; remove it"),
        ("about: review", "about: gossip", "line 6: lessons[0].about: Invalid enum value 'gossip'; correct it"),
        ("label: B006", 'label: "x = [1]"', "line 7: lessons[0].label: Expected `str` matching regex"),
        ("label: B006", 'label: "a\\u202eb"', "line 7: expected printable text of at most 300 characters"),
        ("label: B006", "label: [B006]", "line 7: lessons[0].label: Expected `str`, got `array`; correct it"),
        ("until: '2026-03-01'", "until: soon", "line 14: lessons[0].until: Invalid RFC3339 encoded date; correct it"),
        ("until: '2026-03-01'", "until: 2025-03-01", "line 6: until 2025-03-01 is before since 2026-01-04; correct it"),
        ("https://github.com/acme/shop/pull/14", "javascript:x", "line 15: lessons[0].taught_by[0]: Expected `str` matching regex"),
        ("source: ", "source: &a ", "line 4: anchors and aliases are not read; write the value out"),
        ("mean: 0.821", "mean: *a", "line 10: anchors and aliases are not read; write the value out"),
        ("mean: 0.821", "mean: !!python/object:os.system 1", "line 10: tags are not read; remove it"),
        ("lessons:", "lessons: {", "not valid YAML"),
        ("lessons:", "---\nlessons:", "not valid YAML"),
    ],
)  # fmt: skip
def test_each_error_names_its_line(was: str, becomes: str, message: str) -> None:
    """Each refusal names the line and what to do."""
    assert was in TEXT
    with pytest.raises(BadYaml) as refused:
        parse(TEXT.replace(was, becomes, 1))
    assert any(each in str(refused.value) for each in message.split("|")), refused.value


@pytest.mark.parametrize(
    "text",
    ["", "- 1", "x", "\0", "[" * 5000, "a: " * 5000, "a: &a [*a, *a]", "version: 1\nsource: a\nlessons: {}", "\ud800", "? [" * 999],
)  # fmt: skip
def test_what_is_no_such_file_is_refused(text: str) -> None:
    """Emptiness, nesting, references to itself and half characters are errors of ours, and quick."""
    with pytest.raises(BadYaml, match=r"^line \d+: "):
        parse(text)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """There is no third way."""
    with suppress(BadYaml):
        parse(text)


def test_sizes_are_bounded() -> None:
    """Too many bytes or entries are refused before they are looked at."""
    with pytest.raises(BadYaml, match="over 200,000 bytes"):
        parse("#" * (MAX_BYTES + 1))
    many = replace(LEARNINGS, lessons=tuple(replace(LESSON, label=f"B{n:04}") for n in range(MAX_LESSONS + 1)))
    with pytest.raises(BadYaml, match=f"length <= {MAX_LESSONS}|over 200,000 bytes"):
        parse(render(many))


def test_the_same_pattern_twice_is_refused() -> None:
    """Else an entry could count double."""
    with pytest.raises(BadYaml, match="line 17: B006 with finding occurs twice"):
        parse(render(replace(LEARNINGS, lessons=(LESSON, LESSON))))


@pytest.mark.parametrize(
    ("about", "label", "public"),
    [
        (TaskKind.REVIEW, "B006", True),
        (TaskKind.REVIEW, "PERF401", True),
        (TaskKind.REVIEW, "acme.billing", False),
        (TaskKind.REPAIR, "ZeroDivisionError", True),
        (TaskKind.REPAIR, "AcmeBillingError", False),
        (TaskKind.REPAIR, "print", False),
    ],
)
def test_names_from_a_project_are_its_code(about: TaskKind, label: str, public: bool) -> None:
    """Rules of tools and error types that everybody has may leave; a project's own may not."""
    assert is_public(about, label) is public
