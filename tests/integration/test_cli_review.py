"""`apprentice review`, by the real command in the real sandbox, on git repositories that may be hostile."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.integration.command_line import (
    SOUND,
    apprentice,
    apprentice_process,
    committed,
    digest,
    git,
    untimed,
    written,
)

pytestmark = pytest.mark.sandbox

TILL = SOUND["shop/till.py"]
POOR = TILL.replace("def sell(self, name, count=1):", "def sell(self, name, count=1, notes=[]):").replace(
    "if count < 1:", "if count == None or count < 1:"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An Apprentice that knows nothing yet."""
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a poor change that also adds, vendors and deletes files."""
    root = committed(tmp_path / "shop", SOUND | {"old.py": "import os\n"})
    (root / "old.py").unlink()
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    return committed(root, {"shop/till.py": POOR, "vendor/lib/eager.py": "import os\nx = None == 1\n"})


def test_the_contract(home: Path, project: Path) -> None:
    """`review --json` keeps every key that scripts rely on; suggestions are proven, and files that were not read are named."""
    before = digest(project)
    ran = apprentice(home, "review", project, "--base", "HEAD~1", "--head", "HEAD", "--json")
    assert ran.code == 0, ran.err
    assert digest(project) == before
    document = ran.document()
    assert set(document) == {"findings", "coverage", "tests", "untested", "culprit", "fix", "unrepaired"}
    assert (document["culprit"], document["fix"]) == (None, None)
    tests = document["tests"]
    assert (tests["broken"], tests["ran"], tests["passed"], tests["whole"]) == ([], 7, 7, True)
    findings = {finding["rule"]: finding for finding in document["findings"]}
    assert {"B006", "E711"} <= set(findings)
    for finding in findings.values():
        assert set(finding) == {
            "fingerprint",
            "path",
            "line",
            "end_line",
            "rule",
            "category",
            "severity",
            "message",
            "suggestion",
            "decision",
        }
        assert finding["path"] == "shop/till.py"
        assert set(finding["decision"]) == {"id", "action", "probability", "arm", "why"}
        assert 0 < finding["decision"]["probability"] <= 1
    suggestion = findings["E711"]["suggestion"]
    assert set(suggestion) == {"start_line", "end_line", "replacement", "proof"}
    assert suggestion["replacement"] == "        if count is None or count < 1:\n"
    assert suggestion["start_line"] == suggestion["end_line"] == findings["E711"]["line"]
    assert suggestion["proof"]["suite"]["failed"] == 0
    assert suggestion["proof"]["suite"]["passed"] == 7
    coverage = {entry["path"]: (entry["status"], entry["reason"]) for entry in document["coverage"]}
    assert coverage.pop("shop/till.py")[0] == "read"
    assert set(coverage) == {"old.py", "logo.png", "vendor/lib/eager.py"}
    assert all(status != "read" and reason for status, reason in coverage.values()), coverage
    a_fingerprint_is_explained(home, findings["E711"])


def a_fingerprint_is_explained(home: Path, finding: dict[str, object]) -> None:
    decision = finding["decision"]
    assert isinstance(decision, dict)
    fingerprint = str(finding["fingerprint"])
    for reference in (fingerprint, fingerprint[:12], str(decision["id"])):
        explained = apprentice(home, "why", reference, "--json").document()
        assert (explained["decision_id"], explained["kind"]) == (decision["id"], "review")
        assert (explained["chosen"], explained["label"]) == (decision["action"], "E711")


def test_people_are_told_in_words(home: Path, project: Path) -> None:
    """Without --json every finding gets its place, its rule and what would be done with it."""
    ran = apprentice_process(home, "review", project, "--base", "HEAD~1")
    assert ran.code == 0, ran.err
    assert "shop/till.py:14 E711" in ran.out
    assert "not read: logo.png: " in ran.out
    verdict = ran.out.splitlines()[0]
    assert verdict.startswith("no test is broken: 7 tests passed; ")
    assert "; 1 file read, 2 not read; " in verdict
    listed = re.findall(r"\[[0-9a-f]{12}\]$", ran.out, re.MULTILINE)
    assert f"; {len(listed)} findings: " in verdict, "one number, of what is listed"


@pytest.mark.extended
def test_work_that_is_not_committed_is_reviewed(home: Path, project: Path) -> None:
    """Without a base the change starts at the main branch, and without a head it ends at the work tree: the broken test comes first."""
    nothing = apprentice_process(home, "review", project).out
    assert untimed(nothing) == "nothing to review: no file differs from main; # s\n"
    (project / "shop" / "till.py").write_text(POOR.replace("count < 1", "count < 2"))
    (project / "shop" / "new.py").write_text("import os\n")
    before = digest(project)
    ran = apprentice_process(home, "review", project)
    assert ran.code == 1, ran.err
    assert digest(project) == before
    first, second, *_ = ran.out.splitlines()
    assert first.startswith("tests are broken: 2 tests fail that pass without this change; 2 findings: ")
    assert second == snapshot("  tests/test_till.py::test_total: ValueError: nothing to sell (through shop/till.py:14)")
    assert "shop/new.py:1 F401" in ran.out


def test_only_the_change_is_reviewed(home: Path, project: Path) -> None:
    """Old findings on lines that the change does not touch are nobody's business."""
    committed(project, {"shop/prices.py": SOUND["shop/prices.py"] + '\n\nCURRENCY = "EUR"\n'})
    ran = apprentice(home, "review", project, "--base", "HEAD~1", "--json")
    assert ran.document()["findings"] == []
    assert [entry["path"] for entry in ran.document()["coverage"]] == ["shop/prices.py"]


@pytest.mark.extended
def test_a_poisoned_repository_runs_nothing(home: Path, tmp_path: Path) -> None:
    """No hook, monitor, filter, driver or helper of the repository's own configuration runs, for no command."""
    ran_here = tmp_path / "ran"
    ran_here.mkdir()
    root = committed(tmp_path / "shop", SOUND | {".gitattributes": "*.py filter=evil diff=evil merge=evil\n"})
    committed(root, {"shop/till.py": POOR})
    poison(root, ran_here)
    index = (root / ".git" / "index").stat().st_mtime
    for path in root.rglob("*.py"):
        os.utime(path, (index + 2, index + 2))  # what is newer than the index is read again, through the filter
    reviewed = apprentice(home, "review", root, "--base", "HEAD~1", "--json")
    assert reviewed.document()["findings"], reviewed.err
    applied = apprentice(home, "fix", root, "--apply")
    assert (applied.code, untimed(applied.out)) == (0, "nothing fails: 7 tests; # s\n")
    assert list(ran_here.iterdir()) == []
    assert (root / ".git" / "index").stat().st_mtime == index, "the index is the user's"
    git(root, "status", "--porcelain")
    assert {path.name for path in ran_here.iterdir()} >= {"monitor", "filter"}, "the traps do work"


def poison(root: Path, ran_here: Path) -> None:
    """Set a trap wherever git runs commands; each leaves its name."""

    def trap(name: str) -> str:
        script = written(root / ".git", {f"traps/{name}": f"#!/bin/sh\n: > {shlex.quote(str(ran_here))}/{name}\ncat\n"})
        (script / "traps" / name).chmod(0o755)
        return str(script / "traps" / name)

    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "post-merge"):
        trap(hook)
    settings = {
        "core.hooksPath": str(root / ".git" / "traps"),
        "core.fsmonitor": trap("monitor"),
        "filter.evil.clean": trap("filter"),
        "filter.evil.smudge": trap("filter"),
        "filter.evil.required": "true",
        "diff.evil.textconv": trap("textconv"),
        "diff.external": trap("external"),
        "merge.evil.driver": trap("driver"),
        "core.sshCommand": trap("ssh"),
        "core.pager": trap("pager"),
        "core.alternateRefsCommand": trap("alternates"),
        "uploadpack.packObjectsHook": trap("pack"),
        "credential.helper": trap("credential"),
        "remote.origin.url": f"ext::{trap('remote')}",
        "protocol.ext.allow": "always",
    }
    for key, value in settings.items():
        git(root, "config", key, value)
