"""The benchmark of first use: what it keeps of an output, and what it holds against a command."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from benchmarks.breaking_branches.branches import Kind
from benchmarks.first_use.__main__ import HERE, TRANSCRIPTS
from benchmarks.first_use.checks import patches, problems
from benchmarks.first_use.session import Command, Desk, Ran, Way, sessions
from benchmarks.first_use.transcript import normal, written

SESSIONS = sessions(HERE / "cases.toml")
PATCH = """diff --git a/sums.py b/sums.py
--- a/sums.py
+++ b/sums.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b

"""
REVIEW = f"""tests are broken: 1 test fails that passes without this change; 0 findings; 1 file read; 3.1 s
  test_sums.py::test_add: AssertionError: assert -1 == 5 (through sums.py:2)
this part of the change breaks them; without it they pass:
{PATCH}"""
FIX = f"""fixed: 1 failing test passes now; suite 2 passed, 0 failed; 14 candidates tried; 8.2 s
not applied; run again with --apply, or pipe --patch into `git apply`:
{PATCH}failed before: AssertionError: assert -1 == 5
  test_sums.py::test_add
why: apprentice why 4e46c8a8375842c5
"""
TRUTH = frozenset({"test_sums.py::test_add"})


def ran(words: str, out: str, code: int, way: Way = Way.PIPED, err: str = "running all tests\n") -> Ran:
    command = Command(repository="a/sums", words=words.split(), on="wrong", way=way)
    return Ran(command=command, code=code, out=out, err=err, applied="git apply --check ends with 0")


def found(one: Ran, truth: frozenset[str] = TRUTH, *, mends: bool = True) -> list[str]:
    return list(problems(one, truth, lambda _patch: mends))


def test_what_is_right_passes() -> None:
    """A review and a repair that say what plain pytest says have nothing against them."""
    assert found(ran("review", REVIEW, 1)) == []
    assert found(ran("fix .", FIX, 0)) == []
    assert found(ran("fix . --patch", PATCH, 0, Way.APPLIED, err=FIX)) == []
    assert found(ran("review", REVIEW, 1, Way.TERMINAL)) == []
    assert found(ran("review", "nothing to review: no file differs from main; 1.0 s\n", 0), frozenset()) == []


@pytest.mark.parametrize(
    ("one", "truth", "mends", "wrong"),
    [
        (ran("review", "", 1, err=""), TRUTH, True, "prints nothing"),
        (ran("fix .", FIX, 0, err="Traceback (most recent call last):\n"), TRUTH, True, "prints a traceback"),
        (ran("fix .", f"\x1b[1m{FIX}", 0), TRUTH, True, "prints codes for a terminal"),
        (ran("fix .", f"\x1b[31m{FIX}", 0, Way.COLOURLESS), TRUTH, True, "prints codes for a terminal"),
        (ran("fix .", f"{FIX}{'─' * 60}\n", 0, Way.TERMINAL), TRUTH, True, "draws beyond the width"),
        (ran("fix .", "note\n" * 30 + FIX, 0), TRUTH, True, "has no verdict on the first screen"),
        (ran("review", REVIEW, 0), TRUTH, True, "ends with 0, and 1 is right"),
        (ran("fix .", FIX, 3), TRUTH, True, "ends with 3, and 0 is right"),
        (ran("review", REVIEW, 1), TRUTH | {"b"}, True, "counts 1 failing tests, and plain pytest 2"),
        (
            ran("fix .", FIX, 0),
            frozenset({"test_sums.py::test_other"}),
            True,
            "names a test that does not fail: test_sums.py::test_add",
        ),
        (ran("fix .", FIX, 0), TRUTH, False, "shows a repair with which plain pytest fails"),
        (
            ran("fix . --patch", "", 0, Way.APPLIED, err=FIX),
            TRUTH,
            True,
            "prints a patch that does not apply, or one that is not proven",
        ),
        (ran("review", REVIEW, 1, Way.INTERRUPTED), TRUTH, True, "does not end as what is interrupted"),
        (ran("review", REVIEW, 2, Way.HEAD), TRUTH, True, "ends with 2 when its reader leaves"),
        (ran("fix .", "", 2, err="apprentice: no test ran\n"), TRUTH, True, "cannot run where plain pytest does"),
    ],
)
def test_each_check_finds_what_it_is_for(one: Ran, truth: frozenset[str], mends: bool, wrong: str) -> None:
    """For each check there is an output that fails it."""
    if "does not apply" in wrong:
        one = replace(one, applied="git apply --check ends with 128: error")
    assert wrong in found(one, truth, mends=mends)


def test_a_verdict_that_the_width_pushes_off_the_screen() -> None:
    """Rows count, and not lines: on 40 columns a long line takes several."""
    text = f"{'x' * 39 * 26}\n{FIX}"
    assert "has no verdict on the first screen" in found(ran("fix .", text, 0, Way.TERMINAL))
    assert found(ran("fix .", text, 0)) == []


def test_patches_are_taken_whole() -> None:
    """Each diff of a text is one patch, byte by byte, whatever stands around it."""
    assert list(patches(REVIEW + FIX)) == [PATCH.rstrip("\n") + "\n"] * 2
    assert list(patches("no diff\n")) == []


def test_what_varies_and_what_is_foreign_is_replaced() -> None:
    """Times, ids, places, what depends on the machine, and the code and messages of others are not kept."""
    text = (
        "\x1b[2mtests run on Python 3.11.7 with 9 packages in an environment of their own\x1b[0m\n"
        "after 10 s, still: running all tests\n"
        "trying strategy names\nnames: 3 candidates tried, none makes the failing tests pass\n"
        "trying strategy calls\ncalls: 1 candidate tried, none makes the failing tests pass\n"
        f"/tmp/x/sums/test_sums.py is there\n{REVIEW}"
        "  sums.py:2 F841 (minor) unused  [e7f8bc189e0f]\n    suggested for line 2, applied and tested:\n    secret = 1\n"
    )
    assert normal(text, (("/tmp/x/sums", "<checkout>"),)) == snapshot(
        [
            "tests run on Python # with # packages in an environment of their own",
            "trying strategy <strategy>",
            "<strategy>: # candidates tried, ...",
            "<checkout>/test_sums.py is there",
            "tests are broken: 1 test fails that passes without this change; 0 findings; 1 file read; # s",
            "  test_sums.py::test_add: AssertionError: <message> (through sums.py:2)",
            "this part of the change breaks them; without it they pass:",
            "diff --git a/sums.py b/sums.py",
            "--- a/sums.py",
            "+++ b/sums.py",
            "@@ -1,2 +1,2 @@",
            "-<code>",
            "+<code>",
            "",
            "  sums.py:2 F841 (minor) unused  [<id>]",
            "    suggested for line 2, applied and tested:",
            "<code>",
        ]
    )
    assert normal(FIX, ()) == snapshot(
        [
            "fixed: 1 failing test passes now; suite 2 passed, 0 failed; # candidates tried; # s",
            "not applied; run again with --apply, or pipe --patch into `git apply`:",
            "diff --git a/sums.py b/sums.py",
            "--- a/sums.py",
            "+++ b/sums.py",
            "@@ -1,2 +1,2 @@",
            "-<code>",
            "+<code>",
            "",
            "failed before: AssertionError: <message>",
            "  test_sums.py::test_add",
            "why: apprentice why <decision>",
        ]
    )


def test_a_transcript_has_each_command_with_its_end() -> None:
    """The state, the command as typed and its way, both outputs, and the exit code."""
    one = ran("fix . --patch", "", 0, Way.APPLIED)
    assert written("a/sums", "0123456789abcdef", [(one, ["running"], ["+<code>"])]) == snapshot("""\
a/sums at 0123456789ab: what a new user reads. `!` is standard error, `|` standard output.

# wrong, not committed
$ apprentice fix . --patch  | git apply --check
! running
| +<code>
git apply --check ends with 0
ends with 0
""")


def test_the_sessions() -> None:
    """Six repositories; each way occurs twice; every change is met, and every command meets one that is there."""
    assert len(SESSIONS.repository) == 6
    ways = Counter(each.way for each in SESSIONS.command)
    assert {way for way in Way if ways[way] < 2} == set()
    assert {each.on for each in SESSIONS.command} - {""} == {each.name for each in SESSIONS.branch}
    for repository in SESSIONS.repository:
        session = SESSIONS.of(repository)
        assert {each.words[0] for each in session} >= {"review", "fix"}
        assert any(not each.on for each in session), "a clean tree"
        kinds = {change.kind for each in session if (change := SESSIONS.change(each))}
        assert kinds == {Kind.BREAKS, Kind.HARMLESS}


def test_every_session_is_kept() -> None:
    """Each has a transcript with all its commands, and without any code."""
    assert {each.stem for each in TRANSCRIPTS.glob("*.txt")} == {each.directory for each in SESSIONS.repository}
    for repository in SESSIONS.repository:
        text = (TRANSCRIPTS / f"{repository.directory}.txt").read_text(encoding="utf-8")
        assert text.count("\n$ apprentice ") == len(SESSIONS.of(repository))
        assert not re.findall(r"^\| (?!--- |\+\+\+ )[-+](?!<code>).*", text, re.MULTILINE)


@pytest.mark.extended
@pytest.mark.slow
def test_a_command_is_run_as_its_way_says(tmp_path: Path) -> None:
    """Piped and on a terminal the same is printed, and a terminal gets styles."""
    desk = Desk(checkout=tmp_path, home=tmp_path / "home")
    piped, shown = (desk.run(Command(repository="", words=["review"], way=way)) for way in (Way.PIPED, Way.TERMINAL))
    assert (piped.code, shown.code, piped.out) == (2, 2, "")
    assert shown.err == piped.err == "apprentice: . is not inside a git repository; give the root of one\n"
