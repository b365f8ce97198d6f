"""Reads one change with every detector: what they found, which suggestions were tried, and what was not read."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from memory.model import Attempt, Finding, Suggestion
from workers.configuration.schema import NOTHING_CHOSEN, RepositoryConfiguration
from workers.diffs import Change, FileChange, FileStatus, changed_lines, parse_diff, touched_lines
from workers.ports import Limits, Sandbox
from workers.review.broken_tests import ComparedTests, TestComparison
from workers.review.culprit import Culprit, CulpritSearch
from workers.review.detectors.configuration import RepositoryFile
from workers.review.detectors.dependencies import Dependencies
from workers.review.detectors.detector import ChangeDetector, Delta, Detection, Detector, SourceTree, joined
from workers.review.detectors.linters import Bandit, OperatorTool, Ruff, rule_codes
from workers.review.detectors.mypy import Mypy, typed_files
from workers.review.detectors.rules import SYNTAX_ERROR
from workers.review.detectors.secrets import Secrets
from workers.review.detectors.workflows import Workflows
from workers.review.findings import FindingWithFix, beside, is_on, is_severe, order, seen_in
from workers.review.import_graph import ImportGraph, reaching_tests
from workers.review.matching import stood_before
from workers.review.project_options import first_party, is_typed, mypy_options, ruff_options, target_version
from workers.review.read_report import (
    CoverageStatus,
    FileCoverage,
    ReadBudget,
    base_source,
    by_priority,
    coverage,
    printable,
    skipped,
    source_of,
    why_unedited,
    with_what_counts,
)
from workers.review.source import Unread, python_sources
from workers.review.suggestions import RunTests, SuggestionProver, drafts, suggested, that_help
from workers.review.untested import Untested, what_is_untested
from workers.sandbox.project import Project
from workers.sandbox.report import TestReport
from workers.sandbox.run_tests import run_tests
from workers.setting_types import ReviewTool


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorResults:
    """What was seen at the head, and for each detector that failed on a file, why (by path, then detector)."""

    detectors: Sequence[Detector]
    change_detectors: Sequence[ChangeDetector]
    delta: Delta
    seen: tuple[FindingWithFix, ...]
    unread: Mapping[str, Mapping[str, str]]

    def readers(self, path: str) -> list[str]:
        """The names of the detectors that read files of this kind."""
        return [each.name for each in (*self.detectors, *self.change_detectors) if each.reads(path)]

    def detect(self, tree: SourceTree) -> Detection:
        """What the detectors that read one tree see in another one."""
        paths = sorted(tree.sources)
        return joined(_side_by_side([partial(each.detect, tree, paths) for each in self.detectors]))

    def not_new(self, change: Change, doubted: Collection[str]) -> frozenset[str]:
        """What was there before the change, or may have been: in files whose base could not be read, everything.

        What was there is followed through the change, so that a file or a function with a new name brings nothing about.
        Asked of the files in `doubted` alone: to read a base takes as long as to read a head.
        """
        sources = {path: text for path, text in self.delta.base.items() if path in doubted}
        base = SourceTree(sources=sources, target_version=self.delta.head.target_version)
        detection = self.detect(base) if sources else Detection()
        before = seen_in(detection.findings, base.sources)
        broken = {each.finding.path for each in before if each.finding.rule == SYNTAX_ERROR}
        clear = base.sources.keys() - detection.unread.keys() - broken
        doubtful = (each for each in self.seen if each.finding.path not in clear)
        stood = stood_before([each.finding for each in before], [each.finding for each in self.seen], change)
        return stood | {each.finding.fingerprint for each in (*before, *doubtful)}


def read_change(
    detectors: Sequence[Detector], change_detectors: Sequence[ChangeDetector], delta: Delta
) -> DetectorResults:
    """Have every detector read what it can of the change, side by side: most of them wait for a tool."""
    paths = sorted(delta.head.sources)
    names = [each.name for each in (*detectors, *change_detectors)]
    of_tree = [partial(each.detect, delta.head, paths) for each in detectors]
    of_change = [partial(each.compare, delta, paths) for each in change_detectors]
    detections = dict(zip(names, _side_by_side([*of_tree, *of_change]), strict=True))
    unread: dict[str, dict[str, str]] = {}
    for name, detection in detections.items():
        for path, reason in detection.unread.items():
            unread.setdefault(path, {})[name] = reason
    return DetectorResults(
        detectors=detectors,
        change_detectors=change_detectors,
        delta=delta,
        seen=seen_in(joined(list(detections.values())).findings, delta.head.sources),
        unread=unread,
    )


def _side_by_side(readings: Sequence[Callable[[], Detection]]) -> list[Detection]:
    with ThreadPoolExecutor(max(len(readings), 1)) as threads:
        return [done.result() for done in [threads.submit(read) for read in readings]]


TEST_SECONDS = 300.0
"""Time to run the tests of both sides; the base runs in what the head leaves."""

PROOF_SECONDS = 300.0
"""Time for the test runs of the suggestions of one review; no run is begun after it."""

SHOWN_FILES = 3
"""How many of the files that are read the progress names."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """All that a review learned of a change.

    `findings` are on changed lines; `elsewhere` are on others: those that the change brought about, and severe ones in
    functions that it touches. `seen` are all in the changed files, posted or not. `tests` is what the tests say, None where
    none may be run or there are none; `untested` what of the change they do not test, where none is broken; `culprit` the
    part of the change that breaks some, and `fix` the attempt to repair the head that was proven; `unrepaired` says why
    there is none, where one was asked for. `note` says what is unusual about where the tests run. The numbers of what is left out are those of the repository's own file; `findings_over` is how many
    more there were than one review reports.
    """

    change: Change
    findings: tuple[Finding, ...]
    elsewhere: tuple[Finding, ...]
    coverage: tuple[FileCoverage, ...]
    seen: tuple[Finding, ...] = ()
    tests: ComparedTests | None = None
    untested: Untested | None = None
    culprit: Culprit | None = None
    fix: Attempt | None = None
    unrepaired: str = ""
    note: str = ""
    findings_left_out: int = 0
    files_left_out: int = 0
    findings_over: int = 0

    def worst(self, most: int) -> Reviewed:
        """The same with the worst findings where there are more than `most`; all count as seen."""
        ranked = sorted((*self.findings, *self.elsewhere), key=lambda each: (-each.severity.rank, order(each)))
        kept = {each.fingerprint for each in ranked[:most]}
        here, elsewhere = (
            tuple(each for each in findings if each.fingerprint in kept) for findings in (self.findings, self.elsewhere)
        )
        return replace(self, findings=here, elsewhere=elsewhere, findings_over=max(len(ranked) - most, 0))

    def under(self, names: Mapping[str, str]) -> Reviewed:
        """The same with the fingerprints of earlier rounds, by those of the findings' places."""
        here, elsewhere, seen = (
            tuple(replace(each, fingerprint=names[each.fingerprint]) for each in findings)
            for findings in (self.findings, self.elsewhere, self.seen)
        )
        return replace(self, findings=here, elsewhere=elsewhere, seen=seen)

    @property
    def standing(self) -> Counter[tuple[str, str]]:
        """How many of what was seen are on lines that did not change, by path and rule."""
        changed = changed_lines(self.change)
        return Counter((each.path, each.rule) for each in self.seen if not is_on(each, changed))

    @property
    def present(self) -> frozenset[str]:
        """The fingerprints of all findings in the changed files."""
        return frozenset(finding.fingerprint for finding in self.seen)

    @property
    def unread(self) -> frozenset[str]:
        """The paths that are there and were not fully read: no finding in them means nothing."""
        whole = (CoverageStatus.READ, CoverageStatus.SEARCHED)
        return frozenset(file.path for file in self.coverage if file.status not in whole) - self._gone

    @property
    def not_read(self) -> Mapping[str, str]:
        """The files that were not fully read, with the reason, those that were searched for secrets last.

        A deleted file leaves nothing to read.
        """
        lacking = [file for file in self.coverage if file.reason and file.status is not CoverageStatus.UNEDITED]
        lacking.sort(key=lambda file: file.status is CoverageStatus.SEARCHED)
        return {file.path: file.reason for file in lacking if file.path not in self._gone}

    @property
    def files_unedited(self) -> int:
        """How many files were only moved, or got another mode: there was nothing new to read in them."""
        return sum(file.status is CoverageStatus.UNEDITED for file in self.coverage)

    @property
    def _gone(self) -> frozenset[str]:
        return frozenset(printable(file.path) for file in self.change.files if file.status is FileStatus.DELETED)

    @property
    def files_read(self) -> int:
        """How many files every detector read."""
        return sum(not file.reason for file in self.coverage)


def review_change(
    sandbox: Sandbox,
    *,
    base_tree: Path,
    head_tree: Path,
    diff: str,
    project: Callable[[Path], Project | None],
    may_run_tests: bool,
    progress: Progress,
    tools: Sequence[ReviewTool] = (),
    detectors: Sequence[ChangeDetector] = (),
    limits: Limits | None = None,
    configuration: RepositoryConfiguration = NOTHING_CHOSEN,
) -> Reviewed:
    """Review the change that `diff` describes between two checkouts; `project` gives that of a checkout, when it is needed.

    `tools` are the operator's; `detectors` read besides those that every review has; `limits` are those of one test run;
    `configuration` is the repository's, of the base branch. Where there is a project and its tests may be run, both sides
    are tested, and suggestions are proven. Raises BadInput for a broken diff and CannotRun when the sandbox does not start.
    """
    change, head, left_out = _head(head_tree, parse_diff(diff))
    if change.files:
        progress(_reading(sorted(head.sources), [f"{each.path} ({each.reason})" for each in left_out.values()]))
    reading = read_change(
        readers_of_trees(sandbox, base_tree, tools),
        (*readers_of_changes(sandbox, base_tree, head), *detectors),
        _delta(base_tree, change, head),
    )
    head_project = project(head_tree) if may_run_tests and change.files else None
    if head_project is None:
        return _reviewed(change, reading, left_out, lambda: None, progress, configuration)
    head_sources, base_sources = python_sources(head_tree), python_sources(base_tree)
    deadline = time.monotonic() + TEST_SECONDS
    comparison = TestComparison(
        sandbox=sandbox,
        head=head_project,
        base=lambda: project(base_tree) or replace(head_project, tree=base_tree),
        touched=touched_lines(change),
        limits=limits or Limits(),
        deadline=deadline,
        progress=progress,
    ).with_own_options()
    run, delta = _runner(sandbox, comparison.head, limits), reading.delta
    search = CulpritSearch(run, delta.base, delta.head.sources, comparison.head.command_line(), deadline)
    reaching = reaching_tests(change, head_sources, base_sources)
    tests, culprit = _what_breaks(comparison, reaching, search)
    untested = what_is_untested(comparison, delta, tests, reaching)
    prover = partial(_prover, run, comparison.head, ImportGraph(head_sources))
    reviewed = _reviewed(change, reading, left_out, prover, progress, configuration)
    return replace(reviewed, tests=tests, untested=untested, culprit=culprit, note=head_project.note)


def _what_breaks(
    comparison: TestComparison, reaching: Sequence[str], search: CulpritSearch
) -> tuple[ComparedTests, Culprit | None]:
    """What the tests of both sides say, those that reach the change first, and the part of it that breaks some."""
    tests = comparison.compare(reaching)
    if not tests.broken:
        return tests, None
    comparison.progress("looking for the part of the change that breaks them")
    culprit = search.culprit(tests)
    return culprit.placed(tests, comparison.touched) if culprit else tests, culprit


def _reading(paths: Sequence[str], unread: Sequence[str]) -> str:
    """What is being read and what is not, for the progress."""
    changed = len(paths) + len(unread)
    some = f"{len(paths)} of {changed}" if unread else str(changed)
    named = f"reading {some} changed file{'s' * (changed != 1)}{': ' * bool(paths)}{_first(paths)}"
    return f"{named}; not read: {_first(unread)}" if unread else named


def _first(files: Sequence[str]) -> str:
    more = f" and {len(files) - SHOWN_FILES} more" if len(files) > SHOWN_FILES else ""
    return f"{', '.join(files[:SHOWN_FILES])}{more}"


def _reviewed(
    change: Change,
    reading: DetectorResults,
    left_out: Mapping[str, FileCoverage],
    prover: Callable[[], SuggestionProver | None],
    progress: Progress,
    configuration: RepositoryConfiguration,
) -> Reviewed:
    """What was seen, by its place. Off the changed lines is reported what the change brought about or, if severe, is beside it."""
    suggestions = _suggestions(reading, change, prover, progress, configuration)
    all_seen, changed = tuple(each.finding for each in reading.seen), changed_lines(change)
    here = [finding for finding in all_seen if is_on(finding, changed)]
    off = [finding for finding in all_seen if not is_on(finding, changed)]
    near = beside([each for each in off if is_severe(each)], touched_lines(change), reading.delta.head.sources)
    before = reading.not_new(change, {finding.path for finding in off if finding not in near})
    elsewhere = [each for each in off if each in near or each.fingerprint not in before]
    kept_here, kept_elsewhere = (
        [kept for each in findings if (kept := configuration.kept(each))] for findings in (here, elsewhere)
    )
    return Reviewed(
        change=change,
        findings=tuple(replace(each, suggestion=suggestions.get(each.fingerprint)) for each in kept_here),
        elsewhere=tuple(kept_elsewhere),
        findings_left_out=len(here) + len(elsewhere) - len(kept_here) - len(kept_elsewhere),
        files_left_out=sum(not configuration.paths.hold(file.path) for file in change.files),
        coverage=tuple(
            left_out.get(path) or coverage(path, reading.readers(path), reading.unread.get(path, {}))
            for path in (file.path for file in change.files)
        ),
        seen=all_seen,
    )


def _head(root: Path, change: Change) -> tuple[Change, SourceTree, dict[str, FileCoverage]]:
    """The change as it counts, the files to read, and what becomes of the others."""
    sources, left_out, as_counted = dict[str, str](), dict[str, FileCoverage](), dict[str, FileChange]()
    budget = ReadBudget()
    for file in by_priority(change.files):
        if reason := why_unedited(file):
            left_out[file.path] = skipped(file.path, reason, CoverageStatus.UNEDITED)
            continue
        try:
            text = budget.take(partial(source_of, root, file))
        except Unread as reason:
            left_out[file.path] = skipped(file.path, str(reason))
        else:
            sources[file.path], as_counted[file.path] = text, with_what_counts(file, text)
    counted = Change(files=tuple(as_counted.get(file.path, file) for file in change.files))
    return counted, SourceTree(sources=sources, target_version=target_version(root)), left_out


def _delta(base: Path, change: Change, head: SourceTree) -> Delta:
    """The same files as they were, under the names they have now; without those that cannot be read."""
    sources = {}
    for file in change.files:
        if file.path in head.sources:
            with suppress(Unread):
                sources[file.path] = base_source(base, file)
    hunks = {file.path: file.hunks for file in change.files if file.path in head.sources}
    return Delta(head=head, base=sources, added=changed_lines(change), hunks=hunks)


def _suggestions(
    reading: DetectorResults,
    change: Change,
    prover: Callable[[], SuggestionProver | None],
    progress: Progress,
    configuration: RepositoryConfiguration,
) -> dict[str, Suggestion]:
    reported = [each for each in reading.seen if configuration.kept(each.finding) is not None]
    possible = drafts(reported, reading.delta.head.sources, changed_lines(change))
    helpful = that_help(possible, reading.delta.head, reading.seen, reading.detect)
    tried = sum(not each.inert for each in helpful)
    proves = prover() if tried else None
    if proves is not None:
        changes = "1 suggested change" if tried == 1 else f"each of {tried} suggested changes"
        progress(f"trying {changes} by the tests that reach it")
    return suggested(helpful, proves)


def _prover(run: RunTests, project: Project, imports: ImportGraph) -> SuggestionProver:
    deadline = time.monotonic() + PROOF_SECONDS
    return SuggestionProver(run, imports, project.command_line(), clock=time.monotonic, deadline=deadline)


def _runner(sandbox: Sandbox, project: Project, limits: Limits | None) -> RunTests:
    def run(tests: Sequence[str], overlay: Mapping[str, bytes | None]) -> TestReport:
        return run_tests(sandbox, project, tests=tests, overlay=overlay, limits=limits).report

    return run


def readers_of_trees(sandbox: Sandbox, base: Path, tools: Sequence[ReviewTool]) -> tuple[Detector, ...]:
    """The detectors that read one side at a time; the project's options are those of the checkout `base`."""
    ruff = Ruff(sandbox, ruff_options(base, partial(rule_codes, sandbox)), first_party=first_party(base))
    return (ruff, Bandit(sandbox), *(OperatorTool(sandbox, tool) for tool in tools))


def readers_of_changes(sandbox: Sandbox, base: Path, head: SourceTree) -> tuple[ChangeDetector, ...]:
    """The detectors that compare both sides."""
    return (
        Secrets(),
        Dependencies(),
        Workflows(),
        RepositoryFile(),
        Mypy(sandbox, typed_files(head.sources, base, all_of_them=is_typed(base)), mypy_options(base)),
    )
