"""The search for one failure: propose candidates, screen them, prove the best, and report the result of each attempt."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from memory.model import AttemptOutcome, EditShape, Failure, Family, NearMiss
from memory.parsing import parsed
from memory.reflections import edit_digest
from workers.diffs import unified
from workers.environments.projects import few
from workers.ports import Limits, Sandbox
from workers.redaction import redact
from workers.repair.attempt import (
    LONGEST_MESSAGE,
    RIVAL_SECONDS,
    RIVAL_SHARE,
    RIVALS,
    AttemptTally,
    reflection,
    shortlist,
)
from workers.repair.candidates import Candidate, ScreenVerdict
from workers.repair.engines.search.candidate_order import NearMisses, Stream
from workers.repair.engines.search.localise import suspects
from workers.repair.engines.search.search import SearchSpace
from workers.repair.judging.proofs import Proofs
from workers.repair.judging.prove import Prover
from workers.repair.judging.ranking import Comparer
from workers.repair.reproduce import Reproduction, screening_tests, sources_of
from workers.repair.result import AttemptResult
from workers.repair.running.forkserver import Observe, Observed
from workers.repair.running.runner_pool import pool_for
from workers.repair.time_allowance import Deadline
from workers.sandbox.project import Project

REPORTED_EVERY, TRYING, SHOWN_LINES = 10.0, "editing", 3

MAX_DEMANDED = 8
"""How many of the tests that a proof found broken judge what is screened after it."""

SINGLES_FIRST, PAIRS_A_TURN = 400, 200
"""Candidates of one edit before any of two are tried, and how often the near misses are looked at again."""

RESUMED = 40
"""Candidates of one edit before any of two, where there is something to build upon."""

NARROWER = 60
"""How many conditions are tried next in a statement of which an edit repairs the failing tests and breaks others."""


class SearchSession:
    """What the attempts of one repair share: sources, suspects, and a pool of runners that is open between enter and exit."""

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
        limits: Limits | None = None,
        searched_by: float = math.inf,
        proven_by: float = math.inf,
    ) -> None:
        """No comparison lasts past `searched_by`, no proof past `proven_by` (of time.monotonic). `sources` are the Python files
        of the project, if they were read already. `weights` multiply the templates' priors, of which `verdicts` is the
        maintainers' part.
        """
        self.prover = Prover(sandbox, project, reproduction, failure, limits, templates=True, deadline=proven_by)
        self._failure = failure
        self._progress = progress
        self._proposed: set[tuple[str, str]] = set()
        self.screened: list[str] = []
        self._demanded: set[str] = set()
        self._near = NearMisses(failure)
        self._narrowed: set[tuple[str, int]] = set()
        self.sources = sources_of(project, reproduction) if sources is None else sources
        before = reproduction.before if reproduction.broken else {}
        found = suspects(failure, reproduction.lines, reproduction.passing, sources=self.sources, before=before)
        self._suspects = [each for each in found if project.paths.hold(each.path)]
        self._space = SearchSpace(sources=self.sources, suspects=self._suspects, failure=failure, weights=weights or {})
        suspicion = max((suspect.score for suspect in self._suspects), default=1.0)
        self._comparer = Comparer(sources=self.sources, failure=failure, suspicion=suspicion, verdicts=verdicts)
        wanted = screening_tests(reproduction, failure, self._suspects)
        self._pool = pool_for(sandbox, project, wanted, limits=limits)
        self._searched_by = searched_by
        self._deadline = Deadline(math.inf)

    def __enter__(self) -> SearchSession:
        self._pool.__enter__()
        if self._pool.note:
            self._progress(self._pool.note)
        self._progress(f"{TRYING} {self._suspected()}")
        if self._unread:
            self._progress(self._unread)
        return self

    def __exit__(self, *_error: object) -> None:
        self._pool.close()

    @property
    def test_runs(self) -> int:
        return self.prover.runs.count + self._pool.test_runs

    def proposed(
        self, strategies: Sequence[str], *, replay: Mapping[EditShape, float] = {}, seed: int = 0
    ) -> Iterator[Candidate]:
        """What these strategies and learned edits propose, best first."""
        return self._space.proposed(strategies, replay=replay, seed=seed)

    def with_pairs(
        self, singles: Iterator[Candidate], replay: Mapping[EditShape, float], *, resumed: bool
    ) -> Iterator[Candidate]:
        """Candidates of one edit, and once the likeliest are through those of two in turn with them.

        The first of two is a near miss, of this attempt or an earlier one. Where there is something to build upon, because
        this repair is `resumed` or a near miss is a learned edit, pairs begin earlier.
        """
        known = resumed or any(candidate.skills for candidate, _ in self._near.best())
        yield from islice(singles, RESUMED if known else SINGLES_FIRST)
        near: list[tuple[Candidate, float]] = []
        pairs: Iterator[Candidate] = iter(())
        for number, single in enumerate(singles):
            if number % PAIRS_A_TURN == 0 and self._near.best() != near:
                near = self._near.best()
                pairs = self._space.pairs(near, replay)
            yield single
            yield from islice(pairs, 1)
        yield from pairs if self._near.best() == near else self._space.pairs(self._near.best(), replay)

    def attempt(
        self, candidates: Iterable[Candidate], *, strategies: Sequence[str], deadline: float, seed: int = 0
    ) -> AttemptResult:
        """Try candidates, best first, until `deadline` (of time.monotonic). What was tried before is passed over.

        Once one passes the failing tests, its rivals and their comparison may use the time of all attempts.

        `strategies` are those that the candidates came from, for the result to name; none for learned edits.
        """
        before = len(self.screened)
        limit = self._deadline = self._pool.deadline = Deadline(deadline)
        tally = AttemptTally(failure=self._failure)
        stream = Stream(filter(self._fresh, candidates))
        verdicts = self._watched(self._screened(stream, limit), stream)
        proofs = Proofs(self.prover, seed, self._passing, self.diff)
        for verdict in verdicts:
            tally.add(verdict)
            if verdict.plausible:
                with limit.postponed(self._searched_by):
                    listed = shortlist(verdict.candidate, verdicts, tally, limit.share(RIVAL_SHARE, RIVAL_SECONDS))
                    if len(listed.candidates) > 1:
                        self._progress(
                            f"comparing what the {len(listed.candidates)} edits that pass do on further calls"
                        )
                    compared = self._comparer.compared(listed, self._observed, seed)
                    self._progress("running all tests with what passes, to prove it")
                    proofs.prove(compared)
            if proofs.finished():
                break
        outcome = outcome_of(proofs, spent=limit.expired)
        return self._result(tally, proofs, tuple(strategies), outcome, self.screened[before:])

    def _passing(self, candidates: Sequence[Candidate], tests: Mapping[str, float]) -> frozenset[Candidate]:
        """Those that pass these tests as well, of which the quickest screen everything from now on."""
        new = sorted(tests.keys() - self._demanded, key=lambda test: tests[test])
        seconds = {test: tests[test] for test in new[:MAX_DEMANDED]}
        if seconds:  # else a fork passes what fails afresh, and running it again shows nothing new
            self._demanded |= seconds.keys()
            self._pool.demand(seconds)
        verdicts = self._pool.verdicts(candidates, deadline=self._deadline)
        return frozenset(verdict.candidate for verdict in verdicts if verdict.plausible)

    def _observed(self, candidate: Candidate, observe: Observe) -> Observed | None:
        """How a candidate behaves; None where that cannot be observed, or where the time is up."""
        return self._pool.observed(candidate, observe) if not self._deadline() else None

    def _unsuspected(self) -> str:
        """Why there is nothing to try, if that is so."""
        reason = "the failing tests ran no line of the project that could be traced, and name no module"
        return "" if self._suspects else reason

    @cached_property
    def _unread(self) -> str:
        """Which files of suspected lines the Python that runs us cannot read, in a sentence; empty without any."""
        paths = dict.fromkeys(each.path for each in self._suspects)
        unread = [path for path in paths if parsed(self.sources[path]) is None]
        if not unread or self._failure.family is Family.SYNTAX:
            return ""
        ours = ".".join(map(str, sys.version_info[:2]))
        return f"Not edited, as Python {ours} runs Apprentice and cannot read it: {few(unread)}."

    def _suspected(self) -> str:
        """The likeliest lines, for the progress."""
        places = [f"{each.path}:{each.line}" for each in self._suspects[:SHOWN_LINES]]
        more = len(self._suspects) - len(places)
        return ", ".join([*places, *([f"{more} more lines"] if more else [])]) or f"nothing: {self._unsuspected()}"

    def diff(self, candidate: Candidate) -> str:
        """What a candidate changes, as a unified diff."""
        return unified(candidate.path, self.sources[candidate.path], candidate.source)

    def digest(self, candidate: Candidate) -> str:
        """A short name of what a candidate changes."""
        return edit_digest(candidate.path, self.sources[candidate.path], candidate.source)

    def tried(self, candidate: Candidate) -> bool:
        """Whether the same edit was proposed for a try before."""
        return (candidate.path, candidate.source) in self._proposed

    def _fresh(self, candidate: Candidate) -> bool:
        """Whether it was not; it is from now on."""
        known = self.tried(candidate)
        self._proposed.add((candidate.path, candidate.source))
        return not known

    def _screened(self, stream: Stream, deadline: Deadline) -> Iterator[ScreenVerdict]:
        """Verdicts on all that is in the stream: the pool reads ahead, so that more may be put there after its end."""
        while stream.left and not deadline():
            for verdict in self._pool.verdicts(stream, deadline=deadline):
                self.screened.append(self.digest(verdict.candidate))
                yield verdict

    def _watched(self, verdicts: Iterator[ScreenVerdict], stream: Stream) -> Iterator[ScreenVerdict]:
        """Pass verdicts on. The first plausible candidate has its rivals tried next.

        That its strategy came first is no reason to prefer an edit, and one that is alone says more than one of many. Where an
        edit is too broad, the condition that it lacks is looked for at once.
        """
        found, reported = 0, time.monotonic()
        for number, verdict in enumerate(verdicts, start=1):
            if (now := time.monotonic()) - reported >= REPORTED_EVERY:
                reported = now
                count, kind = number - found, "rival" if found else "candidate"
                self._progress(
                    f"{count} {kind}{'s' * (count != 1)} tried, now at {verdict.candidate.path}:{verdict.candidate.line}"
                )
            self._near.add(verdict)
            if verdict.plausible and not found:
                at = f"{verdict.candidate.path}:{verdict.candidate.line}"
                self._progress(f"an edit of {at} passes the failing tests; looking for others that do")
                stream.put_first(islice(filter(self._fresh, self._space.rivals(verdict.candidate)), RIVALS))
                found = number
            elif not found and self._is_too_broad(verdict):
                narrower = self._space.on(verdict.candidate.path, (verdict.candidate.line,)).proposed(("guards",))
                stream.put_first(islice(filter(self._fresh, narrower), NARROWER))
            yield verdict

    def _is_too_broad(self, verdict: ScreenVerdict) -> bool:
        """Whether it is the first in its line to repair all failing tests and break another one."""
        if verdict.plausible or verdict.passed < len(self._failure.failing_tests):
            return False
        place = (verdict.candidate.path, verdict.candidate.line)
        known = place in self._narrowed
        self._narrowed.add(place)
        return not known

    def nearest(self, tally: AttemptTally) -> NearMiss | None:
        """The candidate of an attempt that came closest, as the next attempt uses it."""
        if tally.nearest is None:
            return None
        found = tally.nearest.candidate
        return NearMiss(
            path=found.path,
            line=found.line,
            template=found.template,
            edit=self.diff(found),
            passed=tally.nearest.passed,
            error_type=tally.nearest.error_type,
            message=redact(tally.nearest.message)[:LONGEST_MESSAGE],
        )

    def _result(
        self,
        tally: AttemptTally,
        proofs: Proofs,
        strategies: tuple[str, ...],
        outcome: AttemptOutcome,
        screened: Sequence[str],
    ) -> AttemptResult:
        best = proofs.best
        shown = best.candidate if best else tally.shown()
        lesson = reflection(
            tally,
            strategies,
            outcome,
            proven=best.candidate if best else None,
            cut=best is not None and best.proof.cut,
            objection=proofs.objection or self._unsuspected(),
        )
        return AttemptResult(
            outcome=outcome,
            candidates=tally.candidates,
            rivals=tally.rivals,
            reflection=lesson if best else f"{lesson} {self._unread}".rstrip(),
            fixed=tally.nearest.passed if tally.nearest else 0,
            path=shown.path if shown else "",
            nearest=self.nearest(tally),
            first=tally.first,
            tried=dict(tally.tried),
            moved=best is None and tally.moved(),
            wasted=tally.wasted,
            ruled_out=tuple(screened),
            patch=self.diff(best.candidate) if best else "",
            late=self.diff(proofs.late) if proofs.late and not best else "",
            made_by=best.candidate.strategy if best else "",
            shape=best.candidate.shape if best else None,
            proof=best.proof if best else None,
        )


def outcome_of(proofs: Proofs, *, spent: bool) -> AttemptOutcome:
    """How an attempt ended; `spent` says that its time was used up."""
    if proofs.best is not None:
        return AttemptOutcome.PROVEN
    if proofs.made:
        return AttemptOutcome.UNPROVEN
    return AttemptOutcome.OUT_OF_BUDGET if spent else AttemptOutcome.NOTHING_PLAUSIBLE
