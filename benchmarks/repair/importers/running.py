"""Whether the tests of a few files fail: run in the sandbox, as everything that others wrote."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.repair.cases import write_tree
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import discover
from workers.sandbox.report import TestReport
from workers.sandbox.testing import run_tests


def fails(files: Mapping[str, str], command: str) -> bool:
    """Whether some test fails with these files, texts by path."""
    return bool(reported(files, command).failing())


def reported(files: Mapping[str, str], command: str) -> TestReport:
    """What the tests say of these files."""
    with tempfile.TemporaryDirectory(prefix="apprentice-case-") as scratch:
        tree = Path(scratch) / "tree"
        write_tree(tree, files)
        return run_tests(Bubblewrap(), discover(tree, python=None, test_command=command)).report
