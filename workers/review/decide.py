"""What to do with each finding, chosen by how maintainers answered similar findings before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from memory.history.lessons import HistoryHint, HistoryLessons
from memory.model import Action, Arm, Decision, Finding, Severity
from memory.policy import review_policy
from memory.policy.learner import Learner
from memory.policy.review_policy import PostingDecision
from memory.preferences.model import PreferenceModel
from memory.preferences.options import option_of_finding
from memory.sharing.lessons import Learnings
from workers.review.engine import Reviewed
from workers.review.findings import harm, order

INLINE = frozenset({Action.INLINE, Action.INLINE_SUGGESTION})


def decide(
    findings: Sequence[Finding],
    learner: Learner,
    *,
    task_id: str,
    repository: str,
    arm: Arm,
    slots: int,
    made: Mapping[str, Decision] = MappingProxyType({}),
    taste: PreferenceModel | None = None,
    learnings: Sequence[Learnings] = (),
    past: Mapping[str, HistoryHint] = MappingProxyType({}),
) -> Mapping[str, PostingDecision]:
    """A decision for every fingerprint; the worst findings choose first while there are inline `slots` left.

    `made` holds, by fingerprint, what an earlier worker on the same task decided before it died: that stays decided.
    Of findings as bad as each other, the one that people with this `taste` would rather read chooses first; `learnings`
    from elsewhere are a prior, and so is what the repository's `past` says of a finding, by fingerprint.
    """
    decided: dict[str, PostingDecision] = {}
    for finding in queue(findings, taste if arm is Arm.LEARNED and len(findings) > slots else None):
        decided[finding.fingerprint] = review_policy.decide_posting(
            learner,
            task_id,
            repository,
            finding,
            arm=arm,
            suggestion_proven=finding.suggestion is not None and finding.suggestion.proof is not None,
            slots_left=slots,
            learnings=learnings,
            past=past.get(finding.fingerprint),
            made=made.get(finding.fingerprint),
        )
        slots -= decided[finding.fingerprint].action in INLINE
    return decided


def queue(findings: Sequence[Finding], taste: PreferenceModel | None) -> list[Finding]:
    """The worst first; of equals the most liked where that is known, else by their place."""
    liking = taste.strengths([option_of_finding(each) for each in findings]) if taste else [0.0] * len(findings)
    pairs = sorted(zip(liking, findings, strict=True), key=lambda pair: (-harm(pair[1]), -pair[0], order(pair[1])))
    return [finding for _, finding in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A finding with what is seen beside it, as the past was read."""

    rule: str
    path: str
    tool: str
    severity: Severity
    fixable: bool
    standing: int
    burst: int


def hints(reviewed: Reviewed, lessons: HistoryLessons | None) -> Mapping[str, HistoryHint]:
    """By fingerprint, the hints of the lessons on the findings on changed lines; nothing without lessons."""
    if lessons is None:
        return {}
    burst = Counter(finding.rule for finding in reviewed.findings)
    return {
        finding.fingerprint: lessons.hint(
            Sight(
                rule=finding.rule,
                path=finding.path,
                tool=finding.tool,
                severity=finding.severity,
                fixable=finding.suggestion is not None,
                standing=reviewed.standing.get((finding.path, finding.rule), 0),
                burst=burst[finding.rule],
            )
        )
        for finding in reviewed.findings
    }
