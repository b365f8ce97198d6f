"""Which of some tests passed in a run."""

from collections.abc import Mapping, Sequence

from workers.environments.projects import few
from workers.sandbox.report import FAILURES, TestOutcome, TestReport, shortened


def still_failing(tests: Sequence[str], report: TestReport) -> tuple[str, ...]:
    """Those of `tests` that did not pass. A file, class or function includes all under it; one that is gone has failed."""
    outcomes = {result.id: result.outcome for result in report.results}
    return tuple(test for test in tests if not passes(test, outcomes))


def passes(test: str, outcomes: Mapping[str, TestOutcome]) -> bool:
    """Whether a test passed; a file, class or function does when some test under it passed and none failed."""
    if test in outcomes:
        return outcomes[test] is TestOutcome.PASSED
    under = {outcome for name, outcome in outcomes.items() if includes(test, [name])}
    return TestOutcome.PASSED in under and under.isdisjoint(FAILURES)


def includes(test: str, ids: Sequence[str]) -> bool:
    """Whether any of `ids` is this test or under it."""
    return any(each == test or each.startswith((f"{test}::", f"{test}[")) for each in ids)


def named(tests: Sequence[str]) -> str:
    """The first few tests, and how many more there are."""
    return few([*map(shortened, tests)])
