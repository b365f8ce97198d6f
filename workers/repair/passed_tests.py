"""Which of some tests passed in a run."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from workers.environments.projects import few
from workers.sandbox.report import FAILURES, TestOutcome, TestReport, shortened

LONGEST_ID = 2000
"""How much of an id is read for what the test is in."""

_ENDS = re.compile(r"::|\[")


def still_failing(tests: Sequence[str], report: TestReport) -> tuple[str, ...]:
    """Those of `tests` that did not pass. A file, class or function includes all under it; one that is gone has failed."""
    passed = passing(tests, {result.id: result.outcome for result in report.results})
    return tuple(test for test in tests if test not in passed)


def passing(tests: Collection[str], outcomes: Mapping[str, TestOutcome]) -> frozenset[str]:
    """Those of `tests` that passed; a file, class or function did when some test under it passed and none failed."""
    wanted = {test for test in tests if test not in outcomes}
    under: defaultdict[str, set[TestOutcome]] = defaultdict(set)
    for name, outcome in outcomes.items() if wanted else ():
        for above in wanted.intersection(name[: match.start()] for match in _ENDS.finditer(name[:LONGEST_ID])):
            under[above].add(outcome)
    known = {test: {outcomes[test]} for test in tests if test in outcomes} | under
    return frozenset(test for test, seen in known.items() if TestOutcome.PASSED in seen and seen.isdisjoint(FAILURES))


def named(tests: Sequence[str]) -> str:
    """The first few tests, and how many more there are."""
    return few([*map(shortened, tests)])
