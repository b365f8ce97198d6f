"""What is installed is what was locked: every package by version and hash, and an audit that never reads like a result."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted(
    path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("requirements*.lock"), *ROOT.glob("deploy/*.lock"))
)
UNHASHED = "requirements-torch.lock"


def pinned(lock: str) -> dict[str, list[str]]:
    """The hashes of each package of a lock, by name and version."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {line[0]: [word for word in line[1:] if word.startswith("--hash=")] for line in lines}


@pytest.mark.parametrize("lock", [lock for lock in LOCKS if lock != UNHASHED])
def test_every_locked_package_has_hashes(lock: str) -> None:
    """A build whose bytes are others than those that the registry had is refused; pip gets no package besides."""
    found = pinned(lock)
    assert found
    for package, hashes in found.items():
        assert re.fullmatch(r"[\w.-]+==[\w.!]+", package), package
        assert hashes, f"{package} has no hash"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in hashes)


def test_torch_alone_has_none() -> None:
    """Its builds come from several indexes; the file says so, and holds nothing else."""
    assert [package.partition("==")[0] for package in pinned(UNHASHED)] == ["torch"]
    assert "no hash" in (ROOT / UNHASHED).read_text(encoding="utf-8")


def test_the_locks_agree() -> None:
    """No package is at two versions in what runs together."""
    versions: dict[str, set[str]] = {}
    for lock in (
        "requirements.lock",
        "requirements-dev.lock",
        "requirements-plugins.lock",
        "deploy/web-requirements.lock",
    ):
        for package in pinned(lock):
            name, _, version = package.partition("==")
            versions.setdefault(re.sub(r"[-_.]+", "-", name).lower(), set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def test_every_installation_checks_hashes() -> None:
    """Each place that installs a lock asks pip for hashes, except for torch's and for our own package."""
    commands = [
        line
        for path in ("Makefile", "deploy/Dockerfile")
        for line in (ROOT / path).read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        if re.search(r"\bpip install\b", line)
    ]
    installing = [part for line in commands for part in line.split("&&") if "pip install" in part]
    assert len(installing) >= 8
    for command in installing:
        hashed = "--require-hashes" in command or "$(LOCKED)" in command
        assert hashed or UNHASHED in command or re.search(r"--no-deps (-e \.|/src)", command), command
    assert (
        "--require-hashes" in (ROOT / "Makefile").read_text(encoding="utf-8").partition("LOCKED :=")[2].split("\n")[0]
    )


def test_ci_makes_a_bill_of_materials_and_audits() -> None:
    """Before the tests, in every run."""
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make sbom audit\n" in run
    assert run.index("make sbom audit") < run.index("make test-all")


@pytest.mark.parametrize(
    ("answer", "code", "said", "fails"),
    [
        ("No known vulnerabilities found", 0, "audit: no known vulnerability", False),
        ("Found 2 known vulnerabilities in 1 package", 1, "Found 2 known", True),
        ("ERROR: the service cannot be reached", 1, "audit SKIPPED, nothing was checked: ERROR", False),
    ],
)
def test_an_audit_that_saw_nothing_is_not_green(tmp_path: Path, answer: str, code: int, said: str, fails: bool) -> None:
    """A vulnerability fails; a service out of reach is told in one line."""
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\necho '{answer}'\nexit {code}\n")
    program.chmod(0o755)
    done = subprocess.run(
        [ROOT / "deploy" / "audit", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert (done.returncode != 0) is fails
    assert done.stdout.startswith(said)
    assert len(done.stdout.splitlines()) == 1
