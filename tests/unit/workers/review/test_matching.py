"""A finding is the same through shifted lines, edits, renames and rewording, and none takes the identity of another."""

from __future__ import annotations

import time
from collections.abc import Sequence
from difflib import unified_diff

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.model import Finding, Severity
from workers.diffs import Change, parse_diff, split_lines, unified
from workers.review.detectors.detector import Category, RawFinding
from workers.review.findings import seen_in
from workers.review.matching import KnownFinding, LastSeen, identities, path_now, stood_before, without_context

HEADER = "diff --git a/{0} b/{1}\nsimilarity index 90%\nrename from {0}\nrename to {1}\n"


def found(
    text: str, path: str = "a.py", *, message: str = "bad", tool: str = "ruff", rule: str = "R1"
) -> list[Finding]:
    """A finding on each line with BAD in it, as the review would see them."""
    raw = [
        RawFinding(
            path=path,
            line=number,
            end_line=number,
            column=1,
            tool=tool,
            rule=rule,
            category=Category.CORRECTNESS,
            severity=Severity.MINOR,
            message=message,
        )
        for number, line in enumerate(split_lines(text), 1)
        if "BAD" in line
    ]
    return [each.finding for each in seen_in(raw, {path: text})]


def bare(path: str, old: str, new: str, renamed: str = "") -> Change:
    """The change from one text to the other, without context."""
    body = list(unified_diff(split_lines(old), split_lines(new), n=0))[2:]
    names = HEADER.format(path, renamed) if renamed else f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    return parse_diff(names + "".join(body)) if body else Change(files=())


def known(findings: Sequence[Finding], *, gone: bool = False) -> list[KnownFinding]:
    return [KnownFinding(fingerprint=f"{number:032}", finding=each, gone=gone) for number, each in enumerate(findings)]


def matched(old: str, new: str, *, gone: bool = False, change: Change | None = None) -> list[int | None]:
    """For each finding of the new text, which one of the old it is."""
    was, now = known(found(old), gone=gone), found(new)
    names = identities([LastSeen(known=was, change=change or bare("a.py", old, new))], now)
    places = {each.fingerprint: number for number, each in enumerate(was)}
    return [places.get(names[each.fingerprint]) for each in now]


def matched_by_texts(old: str, new: str) -> list[int | None]:
    """The same where the earlier head cannot be had any more."""
    was, now = known(found(old)), found(new)
    names = identities([LastSeen(known=was, change=None)], now)
    places = {each.fingerprint: number for number, each in enumerate(was)}
    return [places.get(names[each.fingerprint]) for each in now]


BODY = "def f(x):\n    y = BAD(x, 1)\n    return y\n"


@pytest.mark.parametrize(
    "new",
    [
        "import os\n\n\n" + BODY,
        BODY.replace("BAD(x, 1)", "BAD(x, 2)"),
        BODY.replace("def f", "def renamed"),
        BODY.replace("y = BAD(x, 1)\n    return y", "return BAD(x, 1)"),
        "def g():\n    pass\n\n\n" + BODY.replace("(x)", "(z)").replace("x, 1", "z, 1"),
        BODY.replace("    y = BAD(x, 1)\n", "") + "\n\ndef late(x):\n    y = BAD(x, 1)\n    return y\n",
    ],
    ids=["shifted", "edited", "function renamed", "rewritten", "shifted and edited", "moved"],
)
def test_it_is_the_same(new: str) -> None:
    """What is done to the code around a finding, or to its line, leaves it the same while the rule is broken there."""
    assert matched(BODY, new) == [0]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("import os\n\n\n" + BODY.replace("def f", "def renamed"), [0]),
        (BODY.replace("BAD(x, 1)", "BAD(x, 2)"), [0]),
        (BODY + BODY, [0, None]),
        (BODY.replace("y = BAD(x, 1)\n    return y", "return BAD(x, 1)"), [None]),
    ],
    ids=["renamed and shifted", "edited", "doubled", "rewritten"],
)
def test_texts_alone(new: str, expected: list[int | None]) -> None:
    """Where the earlier head cannot be had, the texts must be much alike; what is rewritten is lost."""
    assert matched_by_texts(BODY, new) == expected


def test_a_copy_above_is_the_new_one() -> None:
    """An equal line that is added above takes the count of the old one, and not its name; the names differ."""
    old, new = "BAD = 1\n", "BAD = 1\nz = 0\nBAD = 1\n"
    change = parse_diff("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+BAD = 1\n+z = 0\n")
    assert matched(old, new, change=change) == [None, 0]
    now = found(new)
    names = identities(
        [LastSeen(known=[KnownFinding(fingerprint=now[0].fingerprint, finding=found(old)[0])], change=change)], now
    )
    assert names[now[1].fingerprint] == now[0].fingerprint
    assert names[now[0].fingerprint] not in (now[0].fingerprint, now[1].fingerprint)


def test_the_first_of_two_equal_lines_goes() -> None:
    """Which of equal findings is gone is told by its line, not by how many there are."""
    assert matched("BAD = 1\nx = 0\nBAD = 1\n", "x = 0\nBAD = 1\n") == [1]


def test_a_neighbour_is_not_it() -> None:
    """What was there beside a finding, and was not told, does not become it when that goes."""
    old, new = "x = BAD(1)\ny = 0\nz = BAD(2)\n", "y = 0\nz = BAD(2)\n"
    was, now = known(found(old))[:1], found(new)
    names = identities([LastSeen(known=was, change=bare("a.py", old, new))], now)
    assert names[now[0].fingerprint] == now[0].fingerprint


def test_what_is_other_code_is_new() -> None:
    """A line that has nothing of the old one is another finding, even in its place."""
    assert matched("q = BAD\n", "for name in sorted(directory.listing(), key=len): BAD(name)\n") == [None]


def test_what_is_gone_is_back_only_as_it_was() -> None:
    """People were told that it is gone: the same text brings it back, what is merely like it does not."""
    assert matched(BODY, "x = 1\n" + BODY, gone=True) == [0]
    assert matched(BODY, BODY.replace("BAD(x, 1)", "BAD(x, 2)"), gone=True) == [None]


def test_renamed_files() -> None:
    """A finding goes with its file, and with a file that was split off."""
    new = BODY.replace("x, 1", "x, 2")
    was, now = known(found(BODY)), found(new, "b.py")
    change = bare("a.py", BODY, new, renamed="b.py")
    assert identities([LastSeen(known=was, change=change)], now)[now[0].fingerprint] == was[0].fingerprint
    assert path_now("a.py", change) == "b.py"
    split = parse_diff(unified("a.py", BODY, None) + unified("b.py", None, BODY))
    same = found(BODY, "b.py")
    assert identities([LastSeen(known=was, change=split)], same)[same[0].fingerprint] == was[0].fingerprint


def test_words_do_not_matter_but_names_do() -> None:
    """A tool may say it otherwise; two findings of one line are told apart by what they name."""
    empty = Change(files=())
    was = known(found("BAD = 1\n", message="'os' imported but unused"))
    for message, same in (
        ("unused import", True),
        ("`os` imported, not used", True),
        ("'re' imported but unused", False),
    ):
        now = found("BAD = 1\n", message=message)
        names = identities([LastSeen(known=was, change=empty)], now)
        assert (names[now[0].fingerprint] == was[0].fingerprint) is same, message


def test_bandit_and_ruff_speak_of_the_same() -> None:
    """Where ruff failed in one of the rounds, bandit's word for it is the same finding."""
    was, now = known(found("BAD\n", tool="bandit", rule="B608")), found("BAD\n", rule="S608")
    names = identities([LastSeen(known=was, change=Change(files=()))], now)
    assert names[now[0].fingerprint] == was[0].fingerprint


def test_the_last_place_counts() -> None:
    """Of two that could be it, the one that was seen more recently is."""
    (now,) = found("BAD = 1\n")
    rounds = [
        LastSeen(known=[KnownFinding(fingerprint=name, finding=now)], change=Change(files=()))
        for name in ("new", "old")
    ]
    assert identities(rounds, [now]) == {now.fingerprint: "new"}


@pytest.mark.slow
def test_many_of_one_kind_take_no_long_time() -> None:
    """Thousands of equal findings, half of them on new lines, are matched in the time of a few."""
    old, new = (
        "".join(f"BAD = {n % 7}\n" for n in range(4000)),
        "x = 1\n" + "".join(f"BAD = {n % 5}\n" for n in range(4000)),
    )
    was, now = known(found(old)), found(new)
    start = time.process_time()
    everything = LastSeen(known=was, change=None)
    assert len(set(identities([everything], now).values())) == 4000
    assert time.process_time() - start < 20.0


def test_new_names_bring_nothing_about() -> None:
    """What stood in a function before it had another name, in a file with another name, stood there before the change."""
    new = BODY.replace("def f", "def renamed") + "\n\nBAD\n"
    change = bare("a.py", BODY, new, renamed="b.py")
    present = found(new, "b.py")
    assert stood_before(found(BODY, "b.py"), present, change) == {present[0].fingerprint}


LINES = st.lists(
    st.sampled_from(["x = BAD(1)", "x = BAD(2)", "BAD", "pass", "", "return BAD + 1", "y = 2"]), max_size=9
)


def text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@given(LINES, LINES, st.booleans(), st.booleans())
def test_no_two_have_one_name(old: Sequence[str], new: Sequence[str], gone: bool, had: bool) -> None:
    """Whatever was pushed, every finding has a name of its own, and each known one is one present finding at most."""
    before, after = text(old), text(new)
    now = found(after)
    was = [KnownFinding(fingerprint=each.fingerprint, finding=each, gone=gone) for each in found(before)]
    names = identities([LastSeen(known=was, change=bare("a.py", before, after) if had else None)], now)
    assert names.keys() == {each.fingerprint for each in now}
    assert len(set(names.values())) == len(names)


@given(LINES, LINES)
def test_context_is_taken_away(old: Sequence[str], new: Sequence[str]) -> None:
    """A diff with context, without it, is the one that git would have written without."""
    with_context, bare_one = parse_diff(unified("a.py", text(old), text(new))), bare("a.py", text(old), text(new))
    made = without_context(with_context)
    assert [each.hunks for each in made.files] == [each.hunks for each in bare_one.files]


@given(LINES, LINES, st.randoms(use_true_random=False))
def test_the_order_of_things_does_not_matter(old: Sequence[str], new: Sequence[str], chance: object) -> None:
    """What is matched depends on what was seen, not on the order in which it is told."""
    before, after = text(old), text(new)
    was, now, change = known(found(before)), found(after), bare("a.py", before, after)
    mixed_was, mixed_now = was[:], now[:]
    chance.shuffle(mixed_was)  # type: ignore[attr-defined]  # hypothesis has no name for its Random
    chance.shuffle(mixed_now)  # type: ignore[attr-defined]  # as above
    one = identities([LastSeen(known=was, change=change)], now)
    assert identities([LastSeen(known=mixed_was, change=change)], mixed_now) == one


@given(LINES, st.lists(st.sampled_from(["# note", "", "import os", "y = BAD"]), max_size=5), st.data())
@settings(max_examples=60)
def test_a_shift_loses_nothing(old: Sequence[str], added: Sequence[str], data: st.DataObject) -> None:
    """Lines that are put in anywhere, flagged ones as well, leave every finding what it was."""
    at = data.draw(st.integers(0, len(old)))
    before, after = text(old), text([*old[:at], *added, *old[at:]])
    head = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n"
    hunk = f"@@ -{at},0 +{at + 1},{len(added)} @@\n" + "".join(f"+{line}\n" for line in added)
    was, now = known(found(before)), found(after)
    names = identities([LastSeen(known=was, change=parse_diff(head + hunk) if added else Change(files=()))], now)
    kept = [names[each.fingerprint] for each in now if not at < each.line <= at + len(added)]
    assert kept == [each.fingerprint for each in was]
