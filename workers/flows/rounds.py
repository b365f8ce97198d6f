"""One round of reviewing a pull request: its commits, the names of its effects, and what it knows of earlier rounds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import msgspec

from memory.errors import StoreError
from memory.model import Decision, Finding, FindingLocation, Sighting, Task, location_of
from memory.store.tasks import StoredTask
from workers.diffs import Change, FileStatus, parse_diff
from workers.errors import BadInput, CannotRun, Gone
from workers.flows.configured import ReadConfiguration
from workers.git import Mirror
from workers.job_context import JobContext
from workers.jobs import RepositoryRef, ReviewPull
from workers.ports import PullRequest
from workers.review.detectors.detector import MODEL
from workers.review.engine import Reviewed, review_change
from workers.review.matching import KnownFinding, LastSeen, identities, path_now, seen_before
from workers.review.plan import MissedFinding

if TYPE_CHECKING:
    from workers.github.adapter import GitHub

REVIEWED = "reviewed"

REPAIR_OF_REVIEW = "-repair"
"""After the id of a review's task: the task of repairing what the change breaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRound:
    """A round that ended: the head that it reviewed, why files of it were not fully read, by path, and the tests that it broke."""

    sha: str
    unread: Mapping[str, str]
    broken: frozenset[str] = frozenset()
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierFindings:
    """What became of the findings of earlier rounds, by the fingerprint under which they were posted.

    `here` has the places of those that are still there, `paths` the present names of their files, `gone` how many threads
    were closed for those reported as gone, and `returns` how often each was back before.
    """

    here: Mapping[str, FindingLocation] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    gone: Mapping[str, int] = field(default_factory=dict)
    returns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRound:
    """One review of one pull request at one commit. `earlier_rounds` have ended, oldest first.

    `other_base` is the base branch if the commit that the pull request was opened against is gone. A `silent` round posts
    its check run alone. `running` is its check run in progress.
    """

    context: JobContext
    job: ReviewPull
    task: Task
    github: GitHub
    pull: PullRequest
    mirror: Mirror
    diff: str
    earlier_findings: tuple[Sighting, ...]
    made: Mapping[str, Decision]
    may_run_tests: bool
    may_ask_model: bool
    earlier_rounds: tuple[EndedRound, ...]
    known: EarlierFindings = field(default_factory=EarlierFindings)
    other_base: str = ""
    configuration: ReadConfiguration = field(default_factory=ReadConfiguration)
    silent: bool
    running: int | None = None

    def key(self, effect: str) -> str:
        """The name of one effect of this round. A commit is reviewed once without a command, and again for each command and base.

        A head that was left and returned to is another round, for what was closed in between is open again.
        """
        anew = self.job.commanded or self.job.retargeted
        heads = [each.sha for each in self.earlier_rounds]
        times = sum(1 for at, sha in enumerate(heads) if sha == self.task.sha and heads[at + 1 : at + 2] != [sha])
        times -= bool(heads) and heads[-1] == self.task.sha
        about = self.task.id if anew else f"{self.task.sha}{f':return-{times}' if times else ''}"
        return key_of_push(self.job.repository, self.pull.number, about, effect)

    def key_of(self, what: Literal["gone", "back"], fingerprint: str) -> str:
        """The name of reporting a finding as gone, or of opening its threads again, once each time that it is."""
        times = self.known.returns.get(fingerprint, 0)
        return f"review:{self.job.repository.id}:{self.pull.number}:{fingerprint}:{what}{f':{times}' if times else ''}"

    def earlier_by_new_names(self) -> tuple[Sighting, ...]:
        """What earlier rounds decided upon, with the files under the names that they have now."""
        return tuple(
            replace(each, finding=replace(each.finding, path=path))
            if (path := self.known.paths.get(each.finding.fingerprint))
            else each
            for each in self.earlier_findings
        )

    def since(self, sha: str, paths: frozenset[str]) -> Change | None:
        """What changed in these files from an earlier head to this one; None where that head is gone.

        After a rebase the earlier head is in no branch, and GitHub may have deleted it.
        """
        if sha == self.task.sha:
            return Change(files=())
        try:
            self.mirror.fetch(sha)
            return parse_diff(self.mirror.between(sha, self.task.sha, sorted(paths)))
        except (Gone, CannotRun, BadInput):
            return None

    def paths_of(self, sha: str) -> frozenset[str]:
        """The files that the pull request changed up to a head, none where that head is gone."""
        try:
            self.mirror.fetch(sha)
            change = parse_diff(self.mirror.diff(self.pull.base_sha, sha))
        except (Gone, CannotRun, BadInput):
            return frozenset()
        return frozenset(path for file in change.files for path in (file.path, file.old_path))


@contextmanager
def exported(mirror: Mirror, base: str, head: str) -> Iterator[tuple[Path, Path]]:
    """The commit that `head` branched off from `base`, and `head`, checked out without a `.git`."""
    with TemporaryDirectory(prefix="apprentice-") as scratch:
        start = mirror.merge_base(base, head)
        yield mirror.export(start, Path(scratch) / "base"), mirror.export(head, Path(scratch) / "head")


def summary_of(reviewed: Reviewed, *, silent: bool) -> str:
    """What is kept of a round that ended."""
    unread = {path: why for path, why in reviewed.not_read.items() if path in reviewed.unread}
    return json.dumps({"unread": unread, "broken": sorted(_broken(reviewed)), "silent": silent})


def _broken(reviewed: Reviewed) -> frozenset[str]:
    return frozenset(test.id for test in reviewed.tests.broken) if reviewed.tests else frozenset()


def newly_broken(current: ReviewRound, reviewed: Reviewed) -> frozenset[str]:
    """The broken tests that the last round did not report."""
    return _broken(reviewed) - (current.earlier_rounds[-1].broken if current.earlier_rounds else frozenset())


def ended_rounds(tasks: list[StoredTask], task: Task) -> tuple[EndedRound, ...]:
    """The rounds of a pull request that ended, oldest first, without this one."""
    others = (each for each in tasks if each.task.id != task.id and each.status == REVIEWED)
    kept = ({**json.loads(each.summary), "sha": each.task.sha} for each in others)
    return tuple(msgspec.convert(each, EndedRound) for each in kept)


def key_of_push(repository: RepositoryRef, number: int, about: str, effect: str) -> str:
    """The name of one effect of the round at a commit of a pull request, or of a job: its check run is known by it."""
    return f"review:{repository.id}:{number}:{about}:{effect}"


def with_known_findings(current: ReviewRound, reviewed: Reviewed) -> tuple[ReviewRound, Reviewed]:
    """The round with what it knows again, and its findings under the fingerprints of earlier rounds."""
    known = {sighting.finding.fingerprint: sighting for sighting in current.earlier_findings}
    returns = {fingerprint: sighting.returns for fingerprint, sighting in known.items()}
    current = replace(current, known=EarlierFindings(returns=returns))
    gone = _reported_gone(current, known)
    changes = _changes(current, known)
    at = {sha: [_known(each, gone) for each in known.values() if each.place.sha == sha] for sha in changes}
    names = identities([LastSeen(known=at[sha], change=change) for sha, change in changes.items()], reviewed.seen)
    here = {names[each.fingerprint]: location_of(each, current.task.sha) for each in reviewed.seen}
    found = EarlierFindings(
        here={fingerprint: place for fingerprint, place in here.items() if fingerprint in known},
        paths={mark: path_now(each.place.path, changes[each.place.sha]) for mark, each in known.items()},
        gone=gone,
        returns=returns,
    )
    return replace(current, known=found), reviewed.under(names)


def still_there(current: ReviewRound) -> list[Sighting]:
    """What earlier rounds decided upon and is still there, with where it is now."""
    known = {sighting.finding.fingerprint: sighting for sighting in current.earlier_findings}
    return [
        replace(known[mark], last=place, returns=times_returned(current, mark))
        for mark, place in current.known.here.items()
        if mark in known
    ]


def times_returned(current: ReviewRound, fingerprint: str) -> int:
    """How often a finding was back after it was reported as gone, this round included."""
    return current.known.returns.get(fingerprint, 0) + (fingerprint in current.known.gone)


def _reported_gone(current: ReviewRound, known: Mapping[str, Sighting]) -> dict[str, int]:
    """What an earlier round reported as gone, and how many threads it closed."""
    gone = {}
    for fingerprint in known:
        effect = current.context.store.jobs.effect(current.key_of("gone", fingerprint))
        if effect is not None and effect.done_at is not None and effect.job_id != current.context.job_id:
            gone[fingerprint] = int(effect.reference)
    return gone


def _changes(current: ReviewRound, known: Mapping[str, Sighting]) -> dict[str, Change | None]:
    """What changed since each head at which something was last seen, the newest head first."""
    places = [sighting.place for sighting in known.values()]
    rounds = {each.sha: number for number, each in enumerate(current.earlier_rounds)}
    heads = sorted({place.sha for place in places}, key=lambda sha: (-rounds.get(sha, -1), sha))
    paths = frozenset(place.path for place in places) | {file.path for file in parse_diff(current.diff).files}
    return {sha: current.since(sha, paths) for sha in heads}


def _known(sighting: Sighting, gone: Mapping[str, int]) -> KnownFinding:
    mark, place = sighting.finding.fingerprint, sighting.place
    finding = replace(
        sighting.finding,
        path=place.path,
        line=place.line,
        end_line=place.end_line,
        anchor=place.anchor,
        message=place.message,
        fingerprint=place.mark,
    )
    return KnownFinding(fingerprint=mark, finding=finding, gone=mark in gone)


def missed(current: ReviewRound, reviewed: Reviewed, posted: Sequence[Finding]) -> Mapping[str, MissedFinding]:
    """What is posted for the first time in this round although the round before had the same lines to read.

    A finding on old lines may be new for what was pushed elsewhere, as an import that lost its last use. So today's
    detectors read the earlier head again, where there is such a finding: what they see there, was missed there. A model
    is not asked again: it could have reported the same lines then.
    """
    fresh = {finding.fingerprint for finding in posted} - current.known.returns.keys()
    new = [finding for finding in reviewed.findings if finding.fingerprint in fresh]
    if not current.earlier_rounds or not new or current.job.retargeted:
        return {}
    last = current.earlier_rounds[-1]
    change = current.since(last.sha, current.paths_of(last.sha) | {file.path for file in reviewed.change.files})
    if change is None:
        return {}
    old = [finding for finding in new if _is_older(finding, change)]
    before = {file.path: file.old_path for file in change.files}
    unread = {each.fingerprint: why for each in old if (why := last.unread.get(before.get(each.path, each.path)))}
    read = [finding for finding in old if finding.fingerprint not in unread]
    seen = {finding.fingerprint for finding in read if finding.tool == MODEL}
    seen |= _seen_then(current, last, change, [each for each in read if each.tool != MODEL])
    return {
        finding.fingerprint: MissedFinding(sha=last.sha, because=unread.get(finding.fingerprint, ""))
        for finding in old
        if finding.fingerprint in unread or finding.fingerprint in seen
    }


def _is_older(finding: Finding, change: Change) -> bool:
    """Whether all lines of a finding were there before the change."""
    file = change.file(finding.path)
    return file is None or (file.status is not FileStatus.ADDED and file.added_lines.isdisjoint(finding.lines))


def _seen_then(current: ReviewRound, last: EndedRound, change: Change, doubtful: Sequence[Finding]) -> frozenset[str]:
    """Which of these today's detectors see on the changed lines of the earlier head."""
    if not doubtful:
        return frozenset()
    if last.sha == current.task.sha:
        return frozenset(finding.fingerprint for finding in doubtful)
    with exported(current.mirror, current.pull.base_sha, last.sha) as (base_tree, head_tree):
        then = review_change(
            current.context.sandbox,
            base_tree=base_tree,
            head_tree=head_tree,
            diff=current.mirror.diff(current.pull.base_sha, last.sha),
            project=lambda _: None,
            may_run_tests=False,
            progress=current.context.progress,
            tools=current.context.settings.review_tools,
        )
    return seen_before(then.findings, doubtful, change)


# ── What a round read, kept until it ends: a retry, or the round that takes over, goes on from there ───────────────────

CACHE_VERSION = 2
"""A changed meaning of what is cached is a new version."""


def cached_review(current: ReviewRound, read: Callable[[], Reviewed]) -> Reviewed:
    """What this round reads, or what was read for it before, under the same commits, rights and configuration."""
    key, store = _cache_key(current), current.context.store
    with suppress(StoreError):  # of another version of ours
        if (known := store.review_cache.get(key, Reviewed)) is not None:
            current.context.progress("going on from what was read before")
            return known
    reviewed = read()
    store.review_cache.put(
        key, reviewed, owner=cache_owner(current.task.repository, current.pull.number), now=current.context.clock()
    )
    return reviewed


def cache_owner(repository: str, number: int) -> str:
    """Who owns what is cached of a pull request."""
    return f"{repository}#{number}"


def _cache_key(current: ReviewRound) -> str:
    rights = f"{current.may_run_tests}:{current.may_ask_model}:{current.context.settings.model}"
    chosen = msgspec.json.encode(current.context.configuration, order="deterministic")
    digest = hashlib.sha256(f"{rights}:{current.pull.title}:{current.pull.body}".encode() + chosen).hexdigest()[:16]
    owner = cache_owner(current.task.repository, current.pull.number)
    return f"{CACHE_VERSION}:{owner}:{current.pull.base_sha}:{current.task.sha}:{digest}"
