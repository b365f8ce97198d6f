"""Tell what an earlier round could have said: it is new to people, and their lines are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory.model import Finding
from workers.diffs import Change, FileStatus
from workers.flows.review_context import Before, Round, exported
from workers.job_context import JobContext
from workers.review.detectors.detector import MODEL
from workers.review.engine import Reviewed, review_change
from workers.review.matching import Known, LastSeen, identities
from workers.review.plan import Missed


def missed(this: Round, reviewed: Reviewed, said: Sequence[Finding], context: JobContext) -> Mapping[str, Missed]:
    """What is said for the first time in this round although the round before had the same lines to read.

    A finding on old lines may be new for what was pushed elsewhere, as an import that lost its last use. So today's
    detectors read the earlier head again, where there is such a finding: what they see there, was missed there. A model
    is not asked again: it could have said then what it says now of the same lines.
    """
    fresh = {finding.fingerprint for finding in said} - this.again.returns.keys()
    new = [finding for finding in reviewed.findings if finding.fingerprint in fresh]
    if not this.before or not new:
        return {}
    last = this.before[-1]
    change = this.since(last.sha, this.paths_of(last.sha) | {file.path for file in reviewed.change.files})
    if change is None:
        return {}
    old = [finding for finding in new if _stood(finding, change)]
    unread = {finding.fingerprint: why for finding in old if (why := _unread(finding, last, change))}
    read = [finding for finding in old if finding.fingerprint not in unread]
    seen = {finding.fingerprint for finding in read if finding.tool == MODEL}
    seen |= _seen_then(this, last, change, [each for each in read if each.tool != MODEL], context)
    return {
        finding.fingerprint: Missed(sha=last.sha, because=unread.get(finding.fingerprint, ""))
        for finding in old
        if finding.fingerprint in unread or finding.fingerprint in seen
    }


def _stood(finding: Finding, change: Change) -> bool:
    """Whether all lines of a finding were there before the change."""
    file = change.file(finding.path)
    own = range(finding.line, finding.end_line + 1)
    return file is None or (file.status is not FileStatus.ADDED and file.added_lines.isdisjoint(own))


def _unread(finding: Finding, last: Before, change: Change) -> str:
    file = change.file(finding.path)
    return last.unread.get(file.old_path if file else finding.path, "")


def _seen_then(
    this: Round, last: Before, change: Change, doubtful: Sequence[Finding], context: JobContext
) -> frozenset[str]:
    """Which of these today's detectors see on the changed lines of the earlier head."""
    if not doubtful:
        return frozenset()
    if last.sha == this.task.sha:
        return frozenset(finding.fingerprint for finding in doubtful)
    with exported(this.mirror, this.pull.base_sha, last.sha) as (base_tree, head_tree):
        then = review_change(
            context.sandbox,
            base_tree=base_tree,
            head_tree=head_tree,
            diff=this.mirror.diff(this.pull.base_sha, last.sha),
            project=None,
            may_run_tests=False,
            progress=context.progress,
            tools=context.settings.review_tools,
        )
    known = [Known(fingerprint=finding.fingerprint, finding=finding) for finding in then.findings]
    names = identities([LastSeen(known=known, change=change)], doubtful)
    marks = {each.fingerprint for each in known}
    return frozenset(own for own, name in names.items() if name in marks)
