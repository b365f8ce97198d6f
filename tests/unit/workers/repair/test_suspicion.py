"""The form of an edit tells whether it weakens a check, guards something away, or silences a test."""

from __future__ import annotations

import pytest

from workers.repair.judging.overfit_signs import Kind, kind_of

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
        ("parcel.size > 3", "parcel.size >= 3", Kind.PLAIN),
        ("rates[parcel.size]", "rates[parcel.size - 1]", Kind.PLAIN),
        ("rates[parcel.size] + 1", "rates[parcel.size]", Kind.PLAIN),
        ("parcel.fragile", "rates.fragile", Kind.PLAIN),
        ("    parcel.seal()\n    return", "    parcel.seal()\n    parcel.size = 0\n    return", Kind.PLAIN),
        ("and parcel.fragile:", "and parcel.fragile or rates:", Kind.WIDENED),
        ("parcel.size > 3 and parcel.fragile", "(parcel.size > 3 or not rates) and parcel.fragile", Kind.WIDENED),
        ("and parcel.fragile:", "and parcel.fragile and rates:", Kind.NARROWED),
        ("parcel.size > 3 and parcel.fragile", "parcel.fragile", Kind.DROPPED),
        ("parcel.size > 3 and", "not parcel.size and", Kind.DROPPED),
        ("parcel.size > 3 and", "not isinstance(rates, list) and", Kind.DROPPED),
        ("parcel.size > 3 and", "rates.size > 4 and", Kind.PLAIN),
        ("parcel.size > 3 and", "str(parcel.size) > str(3) and", Kind.AS_TEXT),
        ("parcel.size > 3 and", "abs(parcel.size) > abs(3) and", Kind.PLAIN),
        ("parcel.size > 3 and", "str(parcel.size) > '3' and", Kind.PLAIN),
        ("parcel.size > 3 and parcel.fragile", "True", Kind.CONSTANT_CONDITION),
        ("rates[parcel.size] + 1", "0", Kind.CONSTANT_RESULT),
        ("    parcel.seal()\n", "", Kind.DELETED),
        ("    parcel.seal()\n", "    pass\n", Kind.DELETED),
        ("    parcel.seal()\n", "    if parcel:\n        parcel.seal()\n", Kind.GUARD),
        ("    parcel.seal()\n", "    if not rates:\n        return 0\n    parcel.seal()\n", Kind.GUARD),
        ("rates[parcel.size] + 1", "(rates[parcel.size] + 1 if rates else 0)", Kind.GUARD),
        ("rates[parcel.size] + 1", "(rates[parcel.size] + 1 if parcel.size == 17 else 0)", Kind.SPECIAL_CASE),
        (
            "    parcel.seal()\n",
            "    try:\n        parcel.seal()\n    except Exception:\n        raise\n",
            Kind.SWALLOWED,
        ),
        (
            "    parcel.seal()\n",
            "    try:\n        parcel.seal()\n    except KeyError:\n        pass\n",
            Kind.SWALLOWED,
        ),
        ("    parcel.seal()\n", "    if parcel.size == 17:\n        return 40\n    parcel.seal()\n", Kind.SPECIAL_CASE),
        ("    parcel.seal()\n", "    if parcel.size == 0:\n        return 1\n    parcel.seal()\n", Kind.GUARD),
        ("rates[parcel.size] + 1", "rates[parcel.size + 1] + 1", Kind.PLAIN),
        ("rates[parcel.size] + 1", "rates[parcel.size - 2] + 1", Kind.SHIFTED),
        ("rates[parcel.size] + 1", "rates[parcel.size] + 0.5 + 1", Kind.SHIFTED),
        ("    parcel.seal()\n", "    parcel.seal()\n    rates += 1\n", Kind.SHIFTED),
        ("    parcel.seal()\n", "    parcel.seal()\n    rates += parcel.size\n", Kind.PLAIN),
    ],
)
def test_the_kind_of_an_edit(old: str, new: str, kind: Kind) -> None:
    """What was there before and after decides, not the template that made the edit."""
    assert old in BEFORE
    assert kind_of(BEFORE, BEFORE.replace(old, new)) is kind


def test_counting_in_a_loop_is_plain() -> None:
    """A counter that a loop lacks is no number that fits the tests."""
    before = "def count(rows):\n    found = 0\n    for row in rows:\n        row.seal()\n    return found\n"
    assert kind_of(before, before.replace("row.seal()\n", "row.seal()\n        found += 1\n")) is Kind.PLAIN


@pytest.mark.parametrize(
    ("edited", "kind"),
    [
        ("TooLarge(parcel)", Kind.TEXTLESS),
        ("TooLarge", Kind.TEXTLESS),
        ("TooLarge('more than %s kg' % parcel)", Kind.PLAIN),
        ("ValueError('over %s kg' % parcel.weight)", Kind.PLAIN),
    ],
)
def test_an_error_without_its_text_is_told(edited: str, kind: Kind) -> None:
    """An edit that drops what an error tells people may repair how the text is made, or hide it."""
    before = "def check(parcel):\n    raise TooLarge('over %s kg' % parcel.weight)\n"
    assert kind_of(before, before.replace("TooLarge('over %s kg' % parcel.weight)", edited)) is kind


def test_an_edit_that_repairs_the_syntax_is_plain() -> None:
    """What does not parse cannot be compared."""
    assert kind_of("x = (", "x = ()") is Kind.PLAIN


def test_plain_edits_are_worth_most() -> None:
    """Every other kind overfits more often."""
    assert {kind for kind in Kind if kind.factor == 1.0} == {Kind.PLAIN}
    assert not Kind.PLAIN.prone
    assert all(kind.prone for kind in Kind if kind.silences)


def test_an_edit_that_leaves_a_variable_unread_is_told() -> None:
    """What was bound for a purpose and no longer serves any speaks against the edit."""
    before = "def total(rows):\n    return sum(row.cost for row in rows)\n"
    assert kind_of(before, before.replace("row.cost", "rows.cost")) is Kind.UNREAD
    assert kind_of(before, before.replace("row.cost", "row.price")) is Kind.PLAIN


def test_an_edit_that_leaves_one_answer_is_a_constant_result() -> None:
    """A function that says the same whatever happens tells nothing any more; one that still tells apart is plain."""
    before = (
        "def raises(call):\n    try:\n        call()\n        return False\n    except OSError:\n        return True\n"
    )
    assert kind_of(before, before.replace("False", "True")) is Kind.CONSTANT_RESULT
    assert kind_of(before, before.replace("False", "None")) is Kind.PLAIN
    alone = "def size():\n    return 3\n"
    assert kind_of(alone, alone.replace("3", "4")) is Kind.PLAIN


@pytest.mark.parametrize(
    ("caught", "kind"),
    [
        ("Exception", Kind.SWALLOWED),
        ("BaseException", Kind.SWALLOWED),
        ("KeyError", Kind.PLAIN),
        ("(ValueError, KeyError)", Kind.PLAIN),
        ("(ValueError, Exception)", Kind.SWALLOWED),
    ],
)
def test_to_catch_everything_may_silence_a_test(caught: str, kind: Kind) -> None:
    """A handler of one error that is made one of all errors hides what is wrong, as a new one does."""
    before = "try:\n    weigh()\nexcept ValueError as error:\n    refuse(error)\n"
    assert kind_of(before, before.replace("ValueError", caught)) is kind
    several = before.replace("ValueError", "(ValueError, OSError)")
    assert kind_of(several, several.replace("OSError", "OSError, Exception")) is Kind.SWALLOWED


def test_to_raise_any_error_silences_nothing() -> None:
    """What a handler catches counts, not what is raised, within a handler or elsewhere."""
    before = "try:\n    weigh()\nexcept ValueError:\n    raise KeyError\n"
    assert kind_of(before, before.replace("KeyError", "Exception")) is Kind.PLAIN


def test_asking_for_the_separator_of_a_text_is_a_guard() -> None:
    """What the guarded expression itself names tells no test apart from other uses."""
    before = "def minor(version):\n    return version.split('.')[1]\n"
    for asked, kind in (("'.' in version", Kind.GUARD), ("version == '3'", Kind.SPECIAL_CASE)):
        assert kind_of(before, before.replace("[1]", f"[1] if {asked} else '0'")) is kind
