"""How a patch of a past bug is judged by the fixed version."""

import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.past_bugs.fixing import Document, Result
from benchmarks.past_bugs.judging import Verdict, judged
from workers.sandbox.project import Project, discover

ORIGINAL = "def last(items):\n    return items[-1] if items else None\n"
TESTS = "from code_of import last\n\n\ndef test_last():\n    assert last([1, 2]) == 2\n"


WRONG = ORIGINAL.replace("-1", "1")
"""The sign of the index is lost."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "code_of.py").write_text(ORIGINAL)
    (tmp_path / "test_code_of.py").write_text(TESTS)
    return discover(tmp_path, python=Path(sys.executable), test_command=None)


def patch(line: str) -> str:
    """The wrong line gives way to another one."""
    wrong = WRONG.splitlines()[1]
    return f"--- a/code_of.py\n+++ b/code_of.py\n@@ -1,2 +1,2 @@\n def last(items):\n-{wrong}\n+{line}\n"


def test_same_code_is_right_without_a_run(project: Project) -> None:
    """Only the layout may differ."""
    verdict = judged("code_of.py", WRONG, patch("    return (items[-1] if items else None)"), project, 10.0)
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
    verdict = judged("code_of.py", WRONG, patch(line), project, 10.0)
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
