"""The form of an edit tells whether it weakens a check, guards something away, or silences a test."""

from __future__ import annotations

import pytest

from workers.repair.judging.overfit_signs import EditKind, kind_of

BEFORE = """
def weight(parcel, rates):
    if parcel.size > 3 and parcel.fragile:
        rates.append(parcel)
    parcel.seal()
    return rates[parcel.size] + 1
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("parcel.size > 3", "parcel.size >= 3", EditKind.PLAIN),
        ("rates[parcel.size]", "rates[parcel.size - 1]", EditKind.PLAIN),
        ("rates[parcel.size] + 1", "rates[parcel.size]", EditKind.PLAIN),
        ("parcel.fragile", "rates.fragile", EditKind.PLAIN),
        ("    parcel.seal()\n    return", "    parcel.seal()\n    parcel.size = 0\n    return", EditKind.PLAIN),
        ("and parcel.fragile:", "and parcel.fragile or rates:", EditKind.WIDENED),
        ("parcel.size > 3 and parcel.fragile", "(parcel.size > 3 or not rates) and parcel.fragile", EditKind.WIDENED),
        ("and parcel.fragile:", "and parcel.fragile and rates:", EditKind.NARROWED),
        ("parcel.size > 3 and parcel.fragile", "parcel.fragile", EditKind.DROPPED),
        ("parcel.size > 3 and", "not parcel.size and", EditKind.DROPPED),
        ("parcel.size > 3 and", "not isinstance(rates, list) and", EditKind.DROPPED),
        ("parcel.size > 3 and", "rates.size > 4 and", EditKind.PLAIN),
        ("parcel.size > 3 and", "str(parcel.size) > str(3) and", EditKind.AS_TEXT),
        ("parcel.size > 3 and", "abs(parcel.size) > abs(3) and", EditKind.PLAIN),
        ("parcel.size > 3 and", "str(parcel.size) > '3' and", EditKind.PLAIN),
        ("parcel.size > 3 and parcel.fragile", "True", EditKind.CONSTANT_CONDITION),
        ("rates[parcel.size] + 1", "0", EditKind.CONSTANT_RESULT),
        ("    parcel.seal()\n", "", EditKind.DELETED),
        ("    parcel.seal()\n", "    pass\n", EditKind.DELETED),
        ("    parcel.seal()\n", "    if parcel:\n        parcel.seal()\n", EditKind.GUARD),
        ("    parcel.seal()\n", "    if not rates:\n        return 0\n    parcel.seal()\n", EditKind.GUARD),
        ("rates[parcel.size] + 1", "(rates[parcel.size] + 1 if rates else 0)", EditKind.GUARD),
        ("rates[parcel.size] + 1", "(rates[parcel.size] + 1 if parcel.size == 17 else 0)", EditKind.SPECIAL_CASE),
        (
            "    parcel.seal()\n",
            "    try:\n        parcel.seal()\n    except Exception:\n        raise\n",
            EditKind.SWALLOWED,
        ),
        (
            "    parcel.seal()\n",
            "    try:\n        parcel.seal()\n    except KeyError:\n        pass\n",
            EditKind.SWALLOWED,
        ),
        (
            "    parcel.seal()\n",
            "    if parcel.size == 17:\n        return 40\n    parcel.seal()\n",
            EditKind.SPECIAL_CASE,
        ),
        ("    parcel.seal()\n", "    if parcel.size == 0:\n        return 1\n    parcel.seal()\n", EditKind.GUARD),
        ("rates[parcel.size] + 1", "rates[parcel.size + 1] + 1", EditKind.PLAIN),
        ("rates[parcel.size] + 1", "rates[parcel.size - 2] + 1", EditKind.SHIFTED),
        ("rates[parcel.size] + 1", "rates[parcel.size] + 0.5 + 1", EditKind.SHIFTED),
        ("    parcel.seal()\n", "    parcel.seal()\n    rates += 1\n", EditKind.SHIFTED),
        ("    parcel.seal()\n", "    parcel.seal()\n    rates += parcel.size\n", EditKind.PLAIN),
    ],
)
def test_the_kind_of_an_edit(old: str, new: str, kind: EditKind) -> None:
    """What was there before and after decides, not the template that made the edit."""
    assert old in BEFORE
    assert kind_of(BEFORE, BEFORE.replace(old, new)) is kind


@pytest.mark.parametrize(
    ("edited", "kind"),
    [
        ("str(key) in map(str, keys)", EditKind.AS_TEXT),
        ("int(key) in map(int, keys)", EditKind.PLAIN),
    ],
)
def test_a_comparison_with_the_texts_of_elements_coincides(edited: str, kind: EditKind) -> None:
    """What is asked of each element's text is asked of texts, too."""
    before = "def has(keys, key):\n    return key in keys\n"
    assert kind_of(before, before.replace("key in keys", edited)) is kind


@pytest.mark.parametrize(
    ("edited", "kind"),
    [
        ("text.replace(old, new, 0)", EditKind.CONSTANT_RESULT),
        ("text.replace(old, new, 2)", EditKind.PLAIN),
        ("text.split(old, 0)", EditKind.CONSTANT_RESULT),
        ("text[:0].replace(old, new, 1)", EditKind.CONSTANT_RESULT),
        ("text[0].replace(old, new, 1)", EditKind.PLAIN),
        ("0 * text.replace(old, new, 1)", EditKind.CONSTANT_RESULT),
    ],
)
def test_an_operation_that_does_nothing_is_a_constant_result(edited: str, kind: EditKind) -> None:
    """A zero that turns an operation off repairs it as little as its deletion."""
    before = "def put(text, old, new):\n    return text.replace(old, new, 1)\n"
    assert kind_of(before, before.replace("text.replace(old, new, 1)", edited)) is kind


def test_counting_in_a_loop_is_plain() -> None:
    """A counter that a loop lacks is no number that fits the tests."""
    before = "def count(rows):\n    found = 0\n    for row in rows:\n        row.seal()\n    return found\n"
    assert kind_of(before, before.replace("row.seal()\n", "row.seal()\n        found += 1\n")) is EditKind.PLAIN


@pytest.mark.parametrize(
    ("edited", "kind"),
    [
        ("TooLarge(parcel)", EditKind.TEXTLESS),
        ("TooLarge", EditKind.TEXTLESS),
        ("TooLarge('more than %s kg' % parcel)", EditKind.PLAIN),
        ("ValueError('over %s kg' % parcel.weight)", EditKind.PLAIN),
    ],
)
def test_an_error_without_its_text_is_told(edited: str, kind: EditKind) -> None:
    """An edit that drops what an error tells people may repair how the text is made, or hide it."""
    before = "def check(parcel):\n    raise TooLarge('over %s kg' % parcel.weight)\n"
    assert kind_of(before, before.replace("TooLarge('over %s kg' % parcel.weight)", edited)) is kind


def test_an_edit_that_repairs_the_syntax_is_plain() -> None:
    """What does not parse cannot be compared."""
    assert kind_of("x = (", "x = ()") is EditKind.PLAIN


def test_plain_edits_are_worth_most() -> None:
    """Every other kind overfits more often."""
    assert {kind for kind in EditKind if kind.factor == 1.0} == {EditKind.PLAIN}
    assert not EditKind.PLAIN.prone
    assert all(kind.prone for kind in EditKind if kind.silences)


def test_an_edit_that_leaves_a_variable_unread_is_told() -> None:
    """What was bound for a purpose and no longer serves any speaks against the edit."""
    before = "def total(rows):\n    return sum(row.cost for row in rows)\n"
    assert kind_of(before, before.replace("row.cost", "rows.cost")) is EditKind.UNREAD
    assert kind_of(before, before.replace("row.cost", "row.price")) is EditKind.PLAIN


def test_an_edit_that_leaves_one_answer_is_a_constant_result() -> None:
    """A function that says the same whatever happens tells nothing any more; one that still tells apart is plain."""
    before = (
        "def raises(call):\n    try:\n        call()\n        return False\n    except OSError:\n        return True\n"
    )
    assert kind_of(before, before.replace("False", "True")) is EditKind.CONSTANT_RESULT
    assert kind_of(before, before.replace("False", "None")) is EditKind.PLAIN
    alone = "def size():\n    return 3\n"
    assert kind_of(alone, alone.replace("3", "4")) is EditKind.PLAIN


@pytest.mark.parametrize(
    ("caught", "kind"),
    [
        ("Exception", EditKind.SWALLOWED),
        ("BaseException", EditKind.SWALLOWED),
        ("KeyError", EditKind.PLAIN),
        ("(ValueError, KeyError)", EditKind.PLAIN),
        ("(ValueError, Exception)", EditKind.SWALLOWED),
    ],
)
def test_to_catch_everything_may_silence_a_test(caught: str, kind: EditKind) -> None:
    """A handler of one error that is made one of all errors hides what is wrong, as a new one does."""
    before = "try:\n    weigh()\nexcept ValueError as error:\n    refuse(error)\n"
    assert kind_of(before, before.replace("ValueError", caught)) is kind
    several = before.replace("ValueError", "(ValueError, OSError)")
    assert kind_of(several, several.replace("OSError", "OSError, Exception")) is EditKind.SWALLOWED


def test_to_raise_any_error_silences_nothing() -> None:
    """What a handler catches counts, not what is raised, within a handler or elsewhere."""
    before = "try:\n    weigh()\nexcept ValueError:\n    raise KeyError\n"
    assert kind_of(before, before.replace("KeyError", "Exception")) is EditKind.PLAIN


def test_asking_for_the_separator_of_a_text_is_a_guard() -> None:
    """What the guarded expression itself names tells no test apart from other uses."""
    before = "def minor(version):\n    return version.split('.')[1]\n"
    for asked, kind in (("'.' in version", EditKind.GUARD), ("version == '3'", EditKind.SPECIAL_CASE)):
        assert kind_of(before, before.replace("[1]", f"[1] if {asked} else '0'")) is kind
