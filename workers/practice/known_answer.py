"""A search session for a bug whose right code is known: candidates are compared with it instead of being run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from types import TracebackType

from memory.model import AttemptOutcome, Failure
from memory.preferences.model import PreferenceModel
from workers.ports import Limits, Sandbox
from workers.practice.planting import PlantedBug
from workers.repair.engines.search.candidates import Candidate, ScreenVerdict
from workers.repair.engines.search.session import SearchSession
from workers.repair.reproduce import Reproduction
from workers.repair.result import AttemptResult, AttemptTally, Clock
from workers.sandbox.run_tests import Project

LAYOUT = str.maketrans("", "", " \t\n\r()\\,\"'")
NEAR = 10
"""So many lines from the bug a candidate is compared by its syntax tree; others by their text."""


class KnownAnswer(SearchSession):
    """The search of one planted bug in `original`; what gives that again is proven. After `most` candidates it is given up."""

    def __init__(
        self,
        sandbox: Sandbox,
        project: Project,
        reproduction: Reproduction,
        failure: Failure,
        progress: Callable[[str], None],
        *,
        sources: Mapping[str, str] | None = None,
        weights: Mapping[str, float] | None = None,
        verdicts: Mapping[str, float] = {},
        taste: PreferenceModel | None = None,
        limits: Limits | None = None,
        proven_by: float,
        bug: PlantedBug,
        original: str,
        most: int,
    ) -> None:
        super().__init__(
            sandbox,
            project,
            reproduction,
            failure,
            progress,
            sources=sources,
            weights=weights,
            verdicts=verdicts,
            taste=taste,
            limits=limits,
            proven_by=proven_by,
        )
        self._bug = bug
        self._text = original.translate(LAYOUT)
        self._tree = meaning(original)
        self._left = most

    def __enter__(self) -> KnownAnswer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing was opened."""

    def attempt(
        self,
        candidates: Iterable[Candidate],
        *,
        strategies: Sequence[str],  # noqa: ARG002  named in reflections, which are not kept
        deadline: float,
        seed: int = 0,  # noqa: ARG002  for generated inputs: nothing is compared
    ) -> AttemptResult:
        """Compare candidates, best first, up to the right one, as long as any may be tried."""
        tally, clock = AttemptTally(failure=self._failure), Clock(deadline)
        found: Candidate | None = None
        for candidate in islice(filter(self._fresh, candidates), self._left):
            right = self._is_right(candidate)
            tally.add(ScreenVerdict(candidate=candidate, plausible=right, passed=0))
            if right:
                found = candidate
            if right or clock():
                break
        self._left -= tally.candidates
        return AttemptResult(
            outcome=AttemptOutcome.PROVEN if found else AttemptOutcome.NOTHING_PLAUSIBLE,
            candidates=tally.candidates,
            reflection="",
            first=tally.first,
            tried=dict(tally.tried),
            patch=self.diff(found) if found else "",
            shape=found.shape if found else None,
        )

    def _is_right(self, candidate: Candidate) -> bool:
        """Whether a candidate is the original again, layout and comments aside."""
        if candidate.path != self._bug.path:
            return False
        alike = candidate.source.translate(LAYOUT) == self._text
        near = abs(candidate.line - self._bug.line) <= NEAR and self._bug.commented
        return (alike or near) and meaning(candidate.source) == self._tree


def meaning(source: str) -> str | None:
    """The code without its layout; None where there is no such code."""
    try:
        return ast.dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError):
        return None
