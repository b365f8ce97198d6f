"""Which tests a branch breaks, by plain pytest in an ordinary environment: nothing of the product is asked.

What a repository locks for its developers is installed as locked: what a branch of pluggy breaks depends on the version of
pytest, which runs on it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.breaking_branches.branches import BASE, HEAD, Branch, Repository, git
from benchmarks.environments.checkouts import NotBuilt

RUNS = 2
NOT_BEGUN = ""
"""Stands for all tests where pytest does not begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How each test ended, in one run."""

    passed: frozenset[str]
    failed: frozenset[str]

    def breaks(self, test: str) -> bool:
        """Whether a test fails here; of a file that cannot be collected, and of no test, all that are in it count."""
        return test in self.failed

    def has(self, test: str) -> bool:
        """Whether it, or some test of a file, ran."""
        return any(not test or each == test or each.startswith(f"{test}::") for each in self.passed | self.failed)

    def passes(self, test: str) -> bool:
        """Whether it passes, or some of a file that can be collected."""
        inside = any(not test or each.startswith(f"{test}::") for each in self.passed)
        return test in self.passed or (inside and test not in self.failed and "::" not in test)


@dataclass(frozen=True, slots=True)
class Oracle:
    """A checkout of a repository in `directory`, and beside it an environment as a developer has one, unless `given`."""

    directory: Path
    repository: Repository
    given: Path | None = None

    @property
    def checkout(self) -> Path:
        """Where the tests run."""
        return self.directory / "checkout"

    @property
    def environment(self) -> Path:
        """Where the packages are."""
        return self.directory / "environment"

    @property
    def python(self) -> Path:
        """The interpreter that runs the tests."""
        return self.given or self.environment / "bin" / "python"

    def install(self, clone: Path) -> None:
        """Make both, once, with the checkout installed as it is edited. Raises NotBuilt."""
        if self.checkout.exists():
            return
        subprocess.run(["git", "clone", "-q", str(clone), str(self.checkout)], check=True, capture_output=True)
        git(self.checkout, "checkout", "-q", "--detach", self.repository.commit)
        if self.given is not None:
            return
        subprocess.run([sys.executable, "-m", "venv", str(self.environment)], check=True, capture_output=True)
        pip = [str(self.python), "-m", "pip", "install", "-q", *self.repository.needs, "-e", str(self.checkout)]
        done = subprocess.run([*pip, *self._locked()], capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotBuilt(f"pip: {done.stderr.strip().splitlines()[-1]}")

    def _locked(self) -> tuple[str, ...]:
        """pip's arguments for the versions in the repository's uv.lock, where it has one."""
        if not (self.checkout / "uv.lock").exists():
            return ()
        versions = self.directory / "locked.txt"
        words = (
            "--frozen",
            "--all-groups",
            "--no-emit-project",
            "--no-hashes",
            "--quiet",
            "--output-file",
            str(versions),
        )
        subprocess.run(
            [sys.executable, "-m", "uv", "export", *words], cwd=self.checkout, check=True, capture_output=True
        )
        return ("--constraint", str(versions))

    def newly_failing(self, branch: Branch, laid_out: Path) -> frozenset[str]:
        """The tests that fail at the head in each run and pass at the base, or are new; and files alike.

        A new test is in a file that the branch changes: a branch that breaks pytest itself makes it report others by wrong names.
        """
        git(self.checkout, "fetch", "-q", str(laid_out), f"+{BASE}:{BASE}", f"+{HEAD}:{HEAD}")
        base = [self.run(BASE) for _ in range(RUNS)]
        head = [self.run(HEAD) for _ in range(RUNS)]
        failed = frozenset[str].intersection(*(each.failed for each in head))
        changed = git(self.checkout, "diff", "--name-only", BASE, HEAD).splitlines()
        return frozenset(
            test
            for test in failed.difference(branch.flaky)
            if all(each.passes(test) for each in base)
            or (not any(each.has(test) for each in base) and test.partition("::")[0] in ("", *changed))
        )

    def passes_with(self, patch: str, tests: AbstractSet[str]) -> bool:
        """Whether the head with a patch passes these tests, and breaks none that passes at the base."""
        base = self.run(BASE)
        after = self.run(HEAD, patch)
        return all(map(after.passes, tests)) and not any(map(base.passes, after.failed))

    def run(self, side: str, patch: str = "") -> Ended:
        """Run the whole suite of one side."""
        git(self.checkout, "checkout", "-q", "--force", "--detach", side)
        git(self.checkout, "clean", "-fdq")
        if patch:
            apply = ["git", "-C", str(self.checkout), "apply", "-"]
            if subprocess.run(apply, input=patch, text=True, capture_output=True, check=False).returncode:
                return Ended(passed=frozenset(), failed=frozenset({NOT_BEGUN}))
        record = self.directory / "record.jsonl"
        record.unlink(missing_ok=True)
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
        own = {
            **self.repository.variables,
            "PYTHONDONTWRITEBYTECODE": "1",
            "RECORDED": str(record),
            "PYTHONPATH": str(Path(__file__).parent),
        }
        words = (
            "-m",
            "pytest",
            "-q",
            "-p",
            "recorder",
            "-p",
            "no:cacheprovider",
            "--continue-on-collection-errors",
            *self.repository.arguments,
        )
        subprocess.run(
            [str(self.python), *words], cwd=self.checkout, env=kept | own, capture_output=True, check=False, timeout=600
        )
        return _ended(record)


def _ended(record: Path) -> Ended:
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    reports = [msgspec.json.decode(line, type=tuple[str, str]) for line in lines]
    failed = frozenset(name for name, outcome in reports if outcome == "failed")
    passed = frozenset(name for name, outcome in reports if outcome == "passed") - failed
    return Ended(passed=passed, failed=failed if reports else frozenset({NOT_BEGUN}))
