"""How a project's environment is made, and what came of each way that was tried."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One way to make a project testable; paths are POSIX and relative to the tree. An empty field says nothing.

    `python` is a PEP 440 specifier, `minors` the Pythons to try in this order, such as `3.11`. `requirements` and
    `constraints` are PEP 508 lines; those of `groups` are among the requirements already. `project` is the directory
    that is installed editable with its `extras`, and `siblings` those it needs from the same tree. `lock` is the file
    that the constraints come from; with `before`, a day, nothing that was uploaded later is installed. `directory` is
    where the tests start, `variables` what they find in their environment. `source` is one line: where this was read.
    `mends` says what was changed after failures, and `notes` what could not be followed; neither changes what is installed.
    """

    source: str
    python: str = ""
    minors: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    project: str | None = None
    siblings: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    lock: str | None = None
    before: str = ""
    test_command: tuple[str, ...] = ()
    directory: str = "."
    variables: tuple[tuple[str, str], ...] = ()
    mends: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutcome:
    """What came of a plan. `read` is the plan as it was read, `plan` the same after all mends.

    `python` is the version that was used. `uncollected` counts files that could not be collected, `passed` and `failed`
    tests. `trouble` is one line: what went wrong in the end, empty without trouble. `seconds` is the time of all that, without a cache.
    """

    read: Plan
    plan: Plan
    built: bool
    python: str = ""
    collected: int = 0
    uncollected: int = 0
    passed: int = 0
    failed: int = 0
    trouble: str = ""
    seconds: float = 0.0
    at: datetime

    @property
    def worth(self) -> float:
        """Within [0, 1]: the share of tests that pass, files that cannot be collected counted as failing tests."""
        ran = self.passed + self.failed + self.uncollected
        return self.passed / ran if self.built and ran else 0.0
