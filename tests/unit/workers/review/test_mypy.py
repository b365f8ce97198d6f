from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from workers.ports import CompletedRun, Ending, Workload
from workers.review.detectors.detector import Delta, DetectorFailed, RawFinding, SourceTree
from workers.review.detectors.mypy import Mypy, errors_in, new_among, typed_files
from workers.review.project_options import MypyOptions


def ended(*lines: object, exit_code: int = 1, stderr: str = "") -> CompletedRun:
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    return CompletedRun(exit_code=exit_code, ending=Ending.EXITED, stdout=text, stderr=stderr, report=b"", seconds=0.1)


def said(
    code: str | None = "arg-type", *, line: int = 3, severity: str = "error", message: str = "m"
) -> dict[str, object]:
    return {
        "file": "pkg/a.py",
        "line": line,
        "column": 4,
        "message": message,
        "hint": None,
        "code": code,
        "severity": severity,
    }


def found(*lines: object) -> tuple[RawFinding, ...]:
    return errors_in(ended(*lines), MypyOptions()).findings


def test_mypys_json_becomes_findings() -> None:
    """Errors do; notes, missing modules, and what the project does not want to hear do not."""
    lines = (said(), said("note", severity="note"), said("import-not-found"), said("misc"))
    (one,) = errors_in(ended(*lines), MypyOptions(disabled=frozenset({"misc"}))).findings
    assert (one.path, one.line, one.column, one.rule, one.category) == ("pkg/a.py", 3, 5, "arg-type", "correctness")


@pytest.mark.parametrize(
    ("completed", "reason"),
    [
        (ended(exit_code=2, stderr="mypy: error: no"), "exit code 2: mypy: error: no"),
        (ended("text"), "exit code 1"),
        (ended(), "exit code 1: it wrote nothing"),
    ],
)
def test_a_run_that_failed_says_so(completed: CompletedRun, reason: str) -> None:
    """Errors that are not told are no all-clear."""
    with pytest.raises(DetectorFailed, match=reason):
        errors_in(completed, MypyOptions())


class NothingRuns:
    """A sandbox that no tool may reach."""

    def run(self, workload: Workload) -> CompletedRun:
        raise AssertionError(workload.command)


def test_without_the_extra_each_typed_file_counts_as_not_read() -> None:
    """Nothing runs, and no file looks as if its types had been read."""
    tree = SourceTree(sources={"a.py": "x = 1\n", "b.py": "y = 2\n"}, target_version="py311")
    detector = Mypy(NothingRuns(), frozenset({"a.py"}), installed=lambda: False)
    seen = detector.compare(Delta(head=tree, base={}, added={}, hunks={}), ["a.py", "b.py"])
    assert (seen.findings, dict(seen.unread)) == (
        (),
        {"a.py": "it is not installed: install Apprentice with the extra types"},
    )


def test_only_new_errors_are_kept() -> None:
    """Of the same error several times as many are new as there are more now, on changed lines first."""
    before = found(said(message="see line 7"), said(message="old"))
    after = found(said(line=5, message="see line 9"), said(line=8, message="see line 9"), said(line=9, message="old"))
    kept = new_among(after, before, {"pkg/a.py": frozenset({5})})
    assert [each.line for each in kept] == [5]
    assert new_among([replace(each, path="b.py") for each in after], before, {}) != []


ANNOTATED = "def f(x: int) -> int:\n    return x\n\n\ndef g(x: int):\n    return x\n\n\ndef h(x):\n    return x\n"


def test_annotated_files_and_those_of_typed_repositories_are_checked() -> None:
    """Most functions say their types, or the repository says that it is typed; tests and what has no name are not."""
    sources = {"a.py": ANNOTATED, "b.py": "x = 1\n", "my-dir/c.py": ANNOTATED, "tests/d.py": ANNOTATED, "e.txt": ""}
    assert typed_files(sources, Path(), all_of_them=False) == {"a.py"}
    assert typed_files(sources, Path(), all_of_them=True) == {"a.py", "b.py"}


def test_a_module_with_a_stub_is_not_checked(tmp_path: Path) -> None:
    """Its types are in the stub, whether the change touches that or not."""
    (tmp_path / "a.pyi").touch()
    sources = {"a.py": ANNOTATED, "b.py": ANNOTATED, "b.pyi": "", "c.py": ANNOTATED}
    assert typed_files(sources, tmp_path, all_of_them=True) == {"b.pyi", "c.py"}
    longest = f"{'a' * 252}.py"
    assert typed_files({longest: ANNOTATED}, tmp_path, all_of_them=True) == {longest}
