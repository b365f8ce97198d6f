"""Which files an issue in words is about, by its words, by names, by what was changed before, and by what it writes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from workers.localisation.past_changes import EarlierChange
from workers.localisation.ranking import LikelyFile, PythonSource, alike, likely_files, likely_functions

WHEEL = '''"""What turns."""


class Wheel:
    def turn(self, water):
        """Turn by the water."""
        return water


def grind_all(grain):
    return [each for each in grain]
'''
SOURCES = (
    PythonSource("src/mill/wheel.py", WHEEL),
    PythonSource("src/mill/sack.py", "def fill(flour):\n    return flour\n"),
    PythonSource("src/mill/__init__.py", "import this\n"),
    PythonSource("docs/broken.py", "def (\n"),
)


def change(message: str, *sources: str, number: int = 0) -> EarlierChange:
    return EarlierChange(
        sha=message[:1] * 40,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        message=message,
        paths=sources,
        sources=sources,
        closes=(number,) if number else (),
    )


def ranked(text: str, *changes: EarlierChange) -> list[LikelyFile]:
    return likely_files(text, SOURCES, changes, most=5)


@pytest.mark.parametrize(
    "deep",
    [f"x = {' + '.join(['1'] * 2_000)}", "if a:\n    pass\n" + "elif b:\n    pass\n" * 1_200],
    ids=["summands", "branches"],
)
def test_code_that_is_nested_deeply(deep: str) -> None:
    """A valid file of many summands or branches is read like others, inner functions after outer ones."""
    text = f"{deep}\ndef a():\n    if x:\n        def b(): ...\n\nclass C:\n    def d(self): ...\n"
    found = [(each.name, each.is_function) for each in PythonSource("a.py", text).definitions]
    assert found == [("a", True), ("a.b", True), ("C", False), ("C.d", True)]


def test_words_lead() -> None:
    """The file with the words is first, and files without any are not listed."""
    assert [each.path for each in ranked("water comes too late")] == ["src/mill/wheel.py"]


def test_earlier_changes_lead_to_files_without_the_words() -> None:
    """A change that reads alike names its file, where no word of the issue is in it; the file's move to src is followed."""
    before = change("Leaks when it is wet", "mill/sack.py", number=4)
    (found,) = ranked("it leaks", before, change("Unrelated", "src/mill/wheel.py"))
    assert (found.path, found.change) == ("src/mill/sack.py", before)


def test_a_change_of_many_files_says_less_of_each() -> None:
    """Of two changes alike, the one of a single file counts more for it."""
    wide = change("leaks badly", "src/mill/wheel.py", "src/mill/__init__.py")
    assert next(each.path for each in ranked("leaks badly", wide, change("leaks badly", "src/mill/sack.py"))) == (
        "src/mill/sack.py"
    )


@pytest.mark.parametrize(
    "text",
    [
        'File "/usr/lib/python3/site-packages/mill/sack.py", line 3, in fill',
        r"C:\site-packages\mill\sack.py",
        "water water water: mill.sack.fill is slow",
        "see sack.py.",
    ],
)
def test_places_that_the_text_writes(text: str) -> None:
    """Paths of other machines and dotted modules name the file, before all words."""
    first = ranked(text)[0]
    assert (first.path, first.is_named) == ("src/mill/sack.py", True)


def test_identifiers_in_code() -> None:
    """An identifier that a file defines speaks for it, also in backticks; plain words are no identifiers."""
    assert ranked("`turn` and grind_all")[0].defines == ("grind_all", "turn")
    assert ranked("they turn")[0].defines == ()


def test_functions() -> None:
    """The functions most alike, with the class in the name and with their lines; one that the text writes comes first."""
    places = likely_functions("water; and grind_all", SOURCES, most=2)["src/mill/wheel.py"]
    assert [(each.name, each.line, each.end_line) for each in places] == [("grind_all", 10, 11), ("Wheel.turn", 5, 7)]
    named = likely_functions("`Wheel` is slow: each grain, each grain", SOURCES, most=2)["src/mill/wheel.py"]
    assert [each.name for each in named] == ["Wheel.turn", "grind_all"]  # of the class that the text writes


def test_alike() -> None:
    """The nearest messages, and none without a common word."""
    changes = [change("Wet grain"), change("Wet flour leaks"), change("Paint")]
    assert [each.message for each in alike("flour leaks", changes, most=3)] == ["Wet flour leaks"]


@pytest.mark.parametrize("text", ["", "x.py" * 5000, "a." * 10_000, "`" * 20_000, "/" * 20_000, "#1" * 10_000])
def test_odd_texts(text: str) -> None:
    """No text breaks it."""
    assert len(likely_files(text, SOURCES, [change("Paint", "src/mill/sack.py")], most=5)) <= 4


def test_an_empty_repository() -> None:
    """Nothing comes of nothing."""
    assert likely_files("water", (), (), most=5) == []
    assert likely_functions("water", (), most=2) == {}
