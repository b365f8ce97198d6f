"""Changes a plan by what failed under it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from memory.model import Plan
from workers.sandbox.report import TestOutcome, TestReport


class Stage(StrEnum):
    """Where a plan failed: no set of versions fits, a distribution could not be built, or tests could not run."""

    RESOLVE = "resolve"
    BUILD = "build"
    COLLECT = "collect"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFailure:
    """What failed under a plan. `text` is what the resolver, the build or pytest wrote.

    `subject` is the distribution at fault, empty where it is not known or is the project itself; `installed` the versions
    that were installed, by name.
    """

    stage: Stage
    text: str
    subject: str = ""
    installed: Mapping[str, str] = field(default_factory=dict)


def failure_of_run(report: TestReport, installed: Mapping[str, str]) -> PlanFailure | None:
    """What a run of tests says against its environment; None where nothing failed."""
    broken = [result for result in report.failing() if result.outcome is TestOutcome.ERROR]
    others = [result for result in report.failing() if result.outcome is not TestOutcome.ERROR]
    lines = [f"{result.error_type}: {result.message}" for result in (*broken, *others)]
    text = "\n".join(line for line in (report.trouble, *dict.fromkeys(lines)) if line)
    return PlanFailure(stage=Stage.COLLECT, text=text, installed=installed) if text else None


def mended(plan: Plan, failure: PlanFailure, tree: Path) -> Plan | None:  # noqa: ARG001 - the rules follow
    """The plan changed so that the failure may not come again, with the change in `mends`; None where nothing is known.

    A mend is never made twice, so calling this again and again ends.
    """
    return None
