"""What a model is shown of a change."""

from __future__ import annotations

from inline_snapshot import snapshot

from tests.unit.workers.agent.reviewed import PATH, delta
from workers.agent import findings
from workers.agent.findings import MAX_PARTS, NO_ROOM, PART, TOO_LONG, pages_of, shown


def test_numbers_are_those_of_the_new_side() -> None:
    """Added lines carry their number and a mark, what was taken away has none and stands where it stood."""
    (page,) = pages_of(delta(), PATH)
    assert page.text == snapshot('''\
<data-a19d679389b42c8ccf3ba529b30d52cd source="shop/till.py">
   1   | def paid(sums):
     - |     return sum(sums)
   2 + |     """In cents."""
   3 + |     total = sum(sums[1:])
   4 + |     return total
</data-a19d679389b42c8ccf3ba529b30d52cd>\
''')


def test_functions_around_changed_lines_are_shown_whole() -> None:
    """A short function is shown from its head to its end, what is far from the change is left out."""
    body = "".join(f"    x{n} = {n}\n" for n in range(30))
    before = f"import os\n\n\n{'A = 1' + chr(10) * 9}def f():\n{body}    return os\n"
    (page,) = pages_of(delta(before, before.replace("x20 = 20", "x20 = 21")), PATH)
    assert "def f():" in page.text
    assert "return os" in page.text
    assert "import os" not in page.text
    assert "\n…\n" in page.text


def test_a_function_that_is_too_long_is_shown_around_its_changes() -> None:
    """Where all of it does not fit, the lines around the change are shown."""
    body = "".join(f"    x{n} = '{'y' * 900}'\n" for n in range(40))
    before = f"def f():\n{body}    return x0\n"
    (page,) = pages_of(delta(before, before.replace("return x0", "return x1")), PATH)
    assert "def f():" not in page.text
    assert "x39" in page.text


def test_a_long_file_has_several_pages() -> None:
    """What does not fit into one part is shown in several, every line once, each with the file's name."""
    long = "".join(f"x{n} = '{'y' * 900}'\n" for n in range(60))
    pages = pages_of(delta("", long), PATH)
    assert len(pages) == 3
    assert all(f'source="{PATH} page {n} of 3"' in page.text for n, page in enumerate(pages, 1))
    assert all(len(page.text) <= PART for page in pages)
    assert [sum(f" x{n} = " in page.text for page in pages) for n in range(60)] == [1] * 60


def test_what_does_not_fit_is_told() -> None:
    """A change over some pages, and files over all parts, are unread with their reasons; code comes before tests."""
    huge = "".join(f"x{n} = '{'y' * 900}'\n" for n in range(150))
    large = "".join(f"x{n} = '{'y' * 900}'\n" for n in range(20))
    files = {f"f{n}": large for n in range(MAX_PARTS)}
    this = delta("", huge, "huge.py", test_last=large, **files)
    parts, unread = shown(this, sorted(this.head.sources))
    assert unread == {"huge.py": TOO_LONG, "test_last.py": NO_ROOM}
    assert len(parts) == MAX_PARTS
    assert all(sum(len(page.text) for page in part) <= PART for part in parts)


def test_removed_lines_of_a_file_that_lost_its_end() -> None:
    """What stood after the last line is shown there."""
    (page,) = pages_of(delta("a = 1\nb = 2\n", "a = 1\n"), PATH)
    assert "   1   | a = 1\n     - | b = 2\n" in page.text


def test_no_part_of_a_key_is_shown() -> None:
    """A change in the middle of a key shows no line of it, old or new, though neither has the key's first line."""
    lines = [f"MIIEvQIBADANBgkq{number:04}" for number in range(20)]
    before = "\n".join(["a = 1", "-----BEGIN PRIVATE " + "KEY-----", *lines, "-----END PRIVATE " + "KEY-----", ""])
    after = before.replace("kq0010", "kq0010changed")
    (page,) = pages_of(delta(before, after), PATH)
    assert "MIIE" not in page.text
    assert "     - | [secret removed]\n  13 + | [secret removed]\n" in page.text
    assert "MIIE" not in findings.excerpt(after, 13, 13)


def test_hidden_letters_are_spelt_out() -> None:
    """What a reader does not see in code is shown to the model as what it is."""
    (page,) = pages_of(delta("", "a = 1  # \u202e\n"), PATH)
    assert "⟨U+202E⟩" in page.text
    assert "\u202e" not in findings.excerpt("a = 1\n", 1, 1)
