"""A search session for comparing orders of candidates: it stops at the first plausible one, which is all that is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from memory.model import AttemptOutcome, Failure
from memory.preferences.model import PreferenceModel
from workers.ports import Limits, Sandbox
from workers.repair.engines.search.candidates import Candidate, Stream
from workers.repair.engines.search.session import SearchSession
from workers.repair.reproduce import Reproduction
from workers.repair.result import AttemptResult, AttemptTally, Clock
from workers.sandbox.run_tests import Project


class FirstFound(SearchSession):
    """What passes the failing tests and those that cover it counts as proven; after `most` candidates nothing is tried."""

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
        proven_by: float = math.inf,
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
        self._left = most

    def attempt(
        self,
        candidates: Iterable[Candidate],
        *,
        strategies: Sequence[str],  # noqa: ARG002  named in reflections, which are not read here
        deadline: float,
        seed: int = 0,  # noqa: ARG002  for generated inputs: nothing is compared
    ) -> AttemptResult:
        """Try candidates up to the first plausible one, as long as any may be tried."""
        tally = AttemptTally(failure=self._failure)
        stream = Stream(filter(self._fresh, candidates))
        found: Candidate | None = None
        before = len(self.screened)
        for verdict in islice(self._screened(stream, Clock(deadline)), self._left):
            tally.add(verdict)
            self._near.add(verdict)
            if verdict.plausible:
                found = verdict.candidate
                break
        self._left -= tally.candidates
        return AttemptResult(
            outcome=AttemptOutcome.PROVEN if found else AttemptOutcome.NOTHING_PLAUSIBLE,
            candidates=tally.candidates,
            reflection="",
            fixed=tally.nearest.passed if tally.nearest else 0,
            path=found.path if found else "",
            nearest=self.nearest(tally),
            first=tally.first,
            tried=dict(tally.tried),
            ruled_out=tuple(self.screened[before:]),
            patch=self.diff(found) if found else "",
            made_by=found.strategy if found else "",
            shape=found.shape if found else None,
        )
