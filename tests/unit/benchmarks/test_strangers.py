"""The benchmark of slips: what a slip is, and how a patch of one is judged by the original."""

import hashlib
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.strangers.__main__ import HERE, Document, Result
from benchmarks.strangers.judging import Verdict, judged
from benchmarks.strangers.slips import Edit, Slip, WrongOriginal, slips
from workers.sandbox.run_tests import Project, discover

ORIGINAL = "def last(items):\n    return items[-1] if items else None\n"
TESTS = "from code_of import last\n\n\ndef test_last():\n    assert last([1, 2]) == 2\n"
LONGEST_TEXT = 80


def slip(original: str = ORIGINAL) -> Slip:
    """The sign of the index is lost."""
    at = ORIGINAL.index("-1")
    return Slip(
        repository="a/b",
        commit="0" * 40,
        file="code_of.py",
        sha256=hashlib.sha256(original.encode()).hexdigest(),
        story="",
        seconds=1.0,
        edits=[Edit(start=at, end=at + 1)],
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "code_of.py").write_text(ORIGINAL)
    (tmp_path / "test_code_of.py").write_text(TESTS)
    return discover(tmp_path, python=Path(sys.executable), test_command=None)


def patch(line: str) -> str:
    """The slipped line gives way to another one."""
    slipped = slip().slipped(ORIGINAL).splitlines()[1]
    return f"--- a/code_of.py\n+++ b/code_of.py\n@@ -1,2 +1,2 @@\n def last(items):\n-{slipped}\n+{line}\n"


def test_committed_slips_hold_no_code() -> None:
    """At least 24 slips, each in a repository of its own; what they write is short, and of the original only a digest is kept."""
    listed = slips(HERE / "slips.toml")
    assert len({each.repository for each in listed}) == len(listed) >= 24
    assert all(each.edits and len(each.sha256) == 64 for each in listed)
    assert all(sum(len(edit.text) for edit in each.edits) <= LONGEST_TEXT for each in listed)


def test_edits_are_at_places_of_the_original() -> None:
    """Several edits of one file do not move one another."""
    two = Slip(
        **{name: getattr(slip(), name) for name in ("repository", "commit", "file", "sha256", "story", "seconds")},
        edits=[Edit(start=0, end=3, text="async def"), Edit(start=4, end=8, text="first")],
    )
    assert two.slipped(ORIGINAL).startswith("async def first(items)")


def test_another_original_is_refused(tmp_path: Path) -> None:
    """A clone at another commit would be given the slip at a wrong place."""
    (tmp_path / "code_of.py").write_text(f"# moved\n{ORIGINAL}")
    with pytest.raises(WrongOriginal, match=r"a/b: code_of\.py is not as it is"):
        slip().original(tmp_path)


def test_same_code_is_right_without_a_run(project: Project) -> None:
    """Only the layout may differ."""
    verdict = judged(slip(), patch("    return (items[-1] if items else None)"), project, 10.0)
    assert verdict == Verdict(same_code=True)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("line", "lost", "differs"),
    [
        ("    return items[len(items) - 1] if items else None", 0, False),
        ("    return max(items)", 0, True),
        ("    return items[0]", 1, True),
    ],
)
def test_patch_is_judged_by_tests_and_by_calls(project: Project, line: str, lost: int, differs: bool) -> None:
    """Another form is right; what fits the tests alone is told by calls near theirs, and what breaks them by them too."""
    verdict = judged(slip(), patch(line), project, 10.0)
    assert (verdict.lost, verdict.different > 0) == (lost, differs)
    assert verdict.calls > 0
    assert verdict.right is not differs


@pytest.mark.parametrize(
    ("document", "silent"),
    [
        ({"status": "not_fixed", "candidates_tried": 9}, True),
        ({"status": "nothing_failing"}, True),
        ({"status": "cannot_run", "error": "pytest is missing"}, False),
        ({"status": "not_fixed", "attempts": [{"reflection": "time ran out after 9 candidates"}]}, False),
    ],
)
def test_silence_is_an_end_without_a_patch_and_without_a_reason(document: dict[str, object], silent: bool) -> None:
    """Candidates alone are no answer, nor that nothing fails where something does; an error and a last reflection are."""
    reason = msgspec.convert(document, Document).reason
    result = Result(
        repository="a/b", commit="", status="", seconds=1.0, searching_after=None, candidates=9, reason=reason
    )
    assert result.silent is silent
    assert not msgspec.structs.replace(result, patch="+").silent
