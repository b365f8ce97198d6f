"""A search session for comparing orders of candidates: it stops at the first plausible one, which is all that is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from memory.model import AttemptOutcome
from workers.repair.attempt import AttemptTally
from workers.repair.candidates import Candidate, ScreenVerdict
from workers.repair.engines.search.candidate_order import Stream
from workers.repair.engines.search.session import SearchSession
from workers.repair.result import AttemptResult
from workers.repair.running.runner_pool import RunnerPool
from workers.repair.time_allowance import Deadline

AT_ONCE = 8
"""So many candidates are tried together: at most so many in vain."""


class KnownVerdicts:
    """The verdicts on candidates of one case, each with its seconds, whatever order they are asked for in."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[ScreenVerdict, float]] = {}
        self.seconds = 0.0

    def of(
        self, candidates: Sequence[Candidate], pool: Callable[[], RunnerPool], deadline: Deadline
    ) -> Iterator[ScreenVerdict]:
        """Those of these candidates, in their order; what is not known is tried together, by a pool that is opened for it."""
        new = [candidate for candidate in candidates if _edit(candidate) not in self._known]
        opened = pool() if new else None
        began = time.monotonic()
        tried = list(opened.verdicts(new, deadline=deadline)) if opened else []
        each = (time.monotonic() - began) / max(len(tried), 1)
        self._known |= {_edit(verdict.candidate): (verdict, each) for verdict in tried}
        for candidate in candidates:
            verdict, seconds = self._known[_edit(candidate)]
            self.seconds += seconds
            yield replace(verdict, candidate=candidate)

    def forget(self) -> None:
        """Begin another case."""
        self._known.clear()


def _edit(candidate: Candidate) -> tuple[str, str]:
    return candidate.path, candidate.source


class FirstFound(SearchSession):
    """What passes the failing tests and those that cover it counts as proven; after `most` candidates nothing is tried.

    Verdicts that are `known` are looked up, for comparing orders of the same candidates.
    """

    def __init__(
        self,
        *given: Any,  # noqa: ANN401 - as a session takes it
        most: int,
        known: KnownVerdicts | None = None,
        **named: Any,  # noqa: ANN401
    ) -> None:
        """What is given beside `most` and `known` is as for any session."""
        super().__init__(*given, **named)
        self._left = most
        self._known = known
        self._is_open = known is None

    def _screened(self, stream: Stream, deadline: Deadline) -> Iterator[ScreenVerdict]:
        if self._known is None:
            yield from super()._screened(stream, deadline)
            return
        candidates = iter(stream)
        while several := list(islice(candidates, AT_ONCE)):
            for verdict in self._known.of(several, self._opened, deadline):
                self.screened.append(self.digest(verdict.candidate))
                yield verdict

    def _opened(self) -> RunnerPool:
        if not self._is_open:
            self._is_open = True
            self._pool.open()
        return self._pool

    def __enter__(self) -> FirstFound:
        """Nothing is opened where all may be known."""
        if self._known is None:
            super().__enter__()
        return self

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
        for verdict in islice(self._screened(stream, Deadline(deadline)), self._left):
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
