"""A plug-in of pytest: one line of JSON for each report that decides how a test, or a file that is collected, ended."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


def pytest_sessionstart() -> None:
    """Tell that pytest began."""
    _write("", "began")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """What failed in any phase, and what its call gave otherwise; an expected failure is neither."""
    if report.failed or (report.when == "call" and not hasattr(report, "wasxfail")):
        _write(report.nodeid, report.outcome)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be collected."""
    if report.failed:
        _write(report.nodeid, report.outcome)


def _write(name: str, outcome: str) -> None:
    with Path(os.environ["RECORDED"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, outcome]) + "\n")
