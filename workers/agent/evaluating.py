"""What the tests say of the agent's edits: a quick look at the failing ones, and the whole proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory.model import Failure, Proof
from workers.ports import Limits, Sandbox
from workers.repair.prove import Unproven, prove, still_failing
from workers.repair.reproduce import Reproduction
from workers.sandbox.project import Project
from workers.sandbox.report import TestReport
from workers.sandbox.testing import run_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """`passed` counts the failing tests that pass with the edits; `objection` is why they are not proven."""

    report: TestReport
    passed: int
    proof: Proof | None = None
    objection: str = ""


class Evaluator:
    """Tests edits of one project against one failure. `runs` counts how often tests were run."""

    def __init__(
        self,
        sandbox: Sandbox,
        project: Project,
        reproduction: Reproduction,
        failure: Failure,
        limits: Limits | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._project = project
        self._reproduction = reproduction
        self._limits = limits
        self.failing = failure.failing_tests
        self.runs = 0

    def run(self, tests: tuple[str, ...], overlay: Mapping[str, bytes | None]) -> TestReport:
        """Run these tests, none: all, with files laid over the checkout."""
        self.runs += 1
        return run_tests(self._sandbox, self._project, tests=tests, overlay=overlay, limits=self._limits).report

    def screen(self, overlay: Mapping[str, bytes | None]) -> Evaluated:
        """Whether the failing tests pass."""
        report = self.run(self.failing, overlay)
        missing = still_failing(self.failing, report)
        objection = f"{len(missing)} of {len(self.failing)} failing tests still fail" if missing else ""
        return Evaluated(report=report, passed=len(self.failing) - len(missing), objection=objection)

    def prove(self, edits: Mapping[str, str]) -> Evaluated:
        """The proof of edits of the sources, without any test that was added; or what stands against them."""
        if not edits:
            return Evaluated(report=self._reproduction.failing_report, passed=0, objection="nothing was edited")
        overlay = {path: text.encode(errors="replace") for path, text in edits.items()}
        looked = self.screen(dict(overlay))
        if looked.objection:
            return looked
        shown = prove(
            self._sandbox,
            self._project,
            patch_overlay=overlay,
            before=self._reproduction.report,
            failing=self.failing,
            limits=self._limits,
        )
        self.runs += shown.runs if isinstance(shown, Unproven) else 1 + shown.repeats
        if isinstance(shown, Unproven):
            return Evaluated(report=looked.report, passed=looked.passed, objection=shown.reason)
        return Evaluated(report=looked.report, passed=looked.passed, proof=shown)

    def telling(self, edits: Mapping[str, str], tests: Mapping[str, str]) -> dict[str, str]:
        """Those of the added tests that fail without the edits and pass with them: only these show anything."""
        return {path: text for path, text in tests.items() if self._tells(path, text, edits)}

    def _tells(self, path: str, text: str, edits: Mapping[str, str]) -> bool:
        added: dict[str, bytes | None] = {path: text.encode(errors="replace")}
        repaired = added | {name: edited.encode(errors="replace") for name, edited in edits.items()}
        if not still_failing((path,), self.run((path,), added)):
            return False
        return not still_failing((path,), self.run((path,), repaired))
