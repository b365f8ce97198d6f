"""What a review posts: a decision for each finding, and its place: inline, in the summary, or nowhere."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Self

from memory.history.lessons import HistoryHint, HistoryLessons, SeenFinding
from memory.model import Action, Arm, Decision, Finding, Severity, Sighting, Suggestion
from memory.policy import review_policy
from memory.policy.learner import Learner
from memory.policy.review_policy import PostingDecision
from memory.preferences import PreferenceModel, option_of_finding
from memory.sharing import Learnings
from workers.diffs import Change, commentable_lines, patched, split_lines
from workers.review.engine import Reviewed
from workers.review.findings import order, rule_of
from workers.review.suggestions import difference

INLINE = frozenset({Action.INLINE, Action.INLINE_SUGGESTION})
_LONGEST_COMMENT = 20
"""A comment on more lines than this is on its first line alone."""

COMMENTS_A_RULE = 2
"""Inline comments on findings of one rule that is not critical; the summary names the places of the others together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineFinding:
    """A finding for lines `start_line`..`line` of the new side; with its suggestion, exactly on its lines."""

    finding: Finding
    with_suggestion: bool
    start_line: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairSuggestion:
    """A proven repair of what the change breaks, as a comment whose suggestion can be applied.

    `fingerprint` is that of the edit wherever its lines are: the same one is posted once.
    """

    decision_id: str
    path: str
    suggestion: Suggestion
    fingerprint: str


def repair_suggestion(reviewed: Reviewed, read: Callable[[str], str | None]) -> RepairSuggestion | None:
    """The repair of a review, if it is settled and within the lines of one file that GitHub takes comments on.

    `read` gives the texts of the head.
    """
    fix = reviewed.fix
    if fix is None or fix.proof is None or fix.proof.contested or fix.proof.unusual:
        return None
    texts = patched(fix.patch, read)
    path, after = next(iter(texts.items()))
    before, file = read(path), reviewed.change.file(path)
    if len(texts) > 1 or before is None or file is None:
        return None
    suggestion = difference(before, after, commentable_lines(file))
    if suggestion is None:
        return None
    replaced = "".join(split_lines(before)[suggestion.start_line - 1 : suggestion.end_line])
    edit = "\0".join([path, replaced, suggestion.replacement])
    return RepairSuggestion(
        decision_id=fix.decision_id,
        path=path,
        suggestion=replace(suggestion, proof=fix.proof),
        fingerprint=hashlib.sha256(edit.encode("utf-8", "surrogatepass")).hexdigest()[:32],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedFinding:
    """That the review of an earlier head missed a finding, and the reason if the file was not read then."""

    sha: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPlan:
    """What becomes of every finding.

    `held` is hidden, by decision; `repeated` was posted in an earlier round and is still there; `resolved` are the
    fingerprints that were posted earlier and are gone, `back` those that were reported as gone and are not. `missed` are,
    by fingerprint, those of the new that an earlier round should have posted. `repair` is the suggestion that makes
    broken tests pass, unless an earlier round posted it.
    """

    inline: tuple[InlineFinding, ...] = ()
    summary: tuple[Finding, ...] = ()
    held: tuple[Finding, ...] = ()
    repeated: tuple[Finding, ...] = ()
    resolved: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    missed: Mapping[str, MissedFinding] = field(default_factory=dict)
    repair: RepairSuggestion | None = None

    @property
    def new(self) -> tuple[Finding, ...]:
        """What is posted for the first time."""
        return (*(each.finding for each in self.inline), *self.summary)

    def without_comments(self) -> Self:
        """The same with every finding in the summary."""
        return replace(self, inline=(), summary=_ordered(self.new), repair=None)


def plan_review(
    reviewed: Reviewed,
    actions: Mapping[str, Action],
    *,
    earlier: Sequence[Sighting] = (),
    max_comments: int,
    gone: AbstractSet[str] = frozenset(),
    repair: RepairSuggestion | None = None,
) -> ReviewPlan:
    """Place each finding once.

    `actions` holds a decision for every fingerprint on changed lines; those elsewhere go to the summary unless theirs is
    to hold. Nothing posted about a file that was not fully read counts as resolved; nor does what was reported as `gone`,
    which may be back. Inline are the `repair` and the worst others up to `max_comments`, of one rule `COMMENTS_A_RULE`; the
    rest, and what is on lines that GitHub takes no comment on, goes to the summary.
    """
    posted = {each.finding.fingerprint: each.finding.path for each in earlier if each.action is not Action.HOLD}
    findings, present, unread = (*reviewed.findings, *reviewed.elsewhere), reviewed.present, reviewed.unread
    new = [finding for finding in findings if finding.fingerprint not in posted]
    held = [finding for finding in new if actions.get(finding.fingerprint) is Action.HOLD]
    wanted = {finding.fingerprint for finding in reviewed.findings if actions[finding.fingerprint] in INLINE}
    candidates = [finding for finding in new if finding.fingerprint in wanted]
    inline = _inline(candidates, actions, reviewed.change, max_comments - (repair is not None), repair)
    placed = {each.finding.fingerprint for each in inline} | {finding.fingerprint for finding in held}
    return ReviewPlan(
        inline=tuple(inline),
        summary=_ordered(finding for finding in new if finding.fingerprint not in placed),
        held=_ordered(held),
        repeated=_ordered(finding for finding in findings if finding.fingerprint in posted.keys() - gone),
        resolved=tuple(sorted(m for m, path in posted.items() if m not in present | gone and path not in unread)),
        back=tuple(sorted(posted.keys() & gone & present)),
        repair=repair,
    )


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=order))


def _inline(
    findings: Sequence[Finding],
    actions: Mapping[str, Action],
    change: Change,
    max_comments: int,
    repair: RepairSuggestion | None,
) -> list[InlineFinding]:
    shown = {file.path: commentable_lines(file) for file in change.files}
    placed: list[InlineFinding] = []
    of_rule = Counter[str]()
    for finding in sorted(findings, key=lambda finding: (-finding.severity.rank, order(finding))):
        if of_rule[finding.rule] >= COMMENTS_A_RULE and finding.severity is not Severity.CRITICAL:
            continue
        lines = shown.get(finding.path, frozenset())
        wants = actions[finding.fingerprint] is Action.INLINE_SUGGESTION
        place = (_with_suggestion(finding, lines, placed, repair) if wants else None) or _without(finding, lines)
        if place is not None and len(placed) < max_comments:
            placed.append(place)
            of_rule[finding.rule] += 1
    return sorted(placed, key=lambda each: order(each.finding))


def _with_suggestion(
    finding: Finding, lines: frozenset[int], placed: Sequence[InlineFinding], repair: RepairSuggestion | None
) -> InlineFinding | None:
    """On the suggestion's own lines, if it was proven, can be posted there, and no other suggestion edits them."""
    suggestion = finding.suggestion
    if suggestion is None or suggestion.proof is None:
        return None
    wanted = range(suggestion.start_line, suggestion.end_line + 1)
    taken = [(each.finding.path, each.start_line, each.line) for each in placed if each.with_suggestion]
    if repair is not None:
        taken.append((repair.path, repair.suggestion.start_line, repair.suggestion.end_line))
    clash = any(
        path == finding.path and start <= suggestion.end_line and suggestion.start_line <= end
        for path, start, end in taken
    )
    if clash or not lines.issuperset(wanted):
        return None
    return InlineFinding(
        finding=finding, with_suggestion=True, start_line=suggestion.start_line, line=suggestion.end_line
    )


def _without(finding: Finding, lines: frozenset[int]) -> InlineFinding | None:
    """On the finding's lines as far as GitHub shows them in one piece, from the first such line on."""
    first = next((line for line in finding.lines if line in lines), None)
    if first is None:
        return None
    last = first
    while last < finding.end_line and last + 1 in lines:
        last += 1
    last = last if last - first < _LONGEST_COMMENT else first
    return InlineFinding(finding=finding, with_suggestion=False, start_line=first, line=last)


def decide(
    findings: Sequence[Finding],
    learner: Learner,
    *,
    task_id: str,
    repository: str,
    arm: Arm,
    slots: int,
    made: Mapping[str, Decision] = MappingProxyType({}),
    preferences: PreferenceModel | None = None,
    learnings: Sequence[Learnings] = (),
    past: Mapping[str, HistoryHint] = MappingProxyType({}),
    sampled: bool = True,
) -> Mapping[str, PostingDecision]:
    """A decision for every fingerprint; the worst findings choose first while there are inline `slots` left.

    `made` holds, by fingerprint, what an earlier worker on the same task decided before it died: that stays decided.
    Of equally bad findings, the one that the preference model `preferences` ranks higher chooses first; `learnings` from
    elsewhere are a prior, and so is the repository's `past`, by fingerprint. `sampled` is that of `decide_posting`.
    """
    decided: dict[str, PostingDecision] = {}
    for finding in in_posting_order(findings, preferences if arm is Arm.LEARNED and len(findings) > slots else None):
        decided[finding.fingerprint] = review_policy.decide_posting(
            learner,
            task_id,
            repository,
            finding,
            arm=arm,
            suggestion_proven=finding.proven,
            slots_left=slots,
            learnings=learnings,
            past=past.get(finding.fingerprint),
            made=made.get(finding.fingerprint),
            sampled=sampled,
        )
        slots -= decided[finding.fingerprint].action in INLINE
    return decided


def in_posting_order(findings: Sequence[Finding], preferences: PreferenceModel | None) -> list[Finding]:
    """The worst first; of equals the most liked where that is known, else by their place."""
    strengths = (
        preferences.strengths([option_of_finding(each) for each in findings]) if preferences else [0.0] * len(findings)
    )
    pairs = sorted(
        zip(strengths, findings, strict=True), key=lambda pair: (-pair[1].severity.rank, -pair[0], order(pair[1]))
    )
    return [finding for _, finding in pairs]


def hints(reviewed: Reviewed, lessons: HistoryLessons | None) -> Mapping[str, HistoryHint]:
    """By fingerprint, the hints of the lessons on the findings on changed lines; nothing without lessons."""
    if lessons is None:
        return {}
    burst, standing = Counter(finding.rule for finding in reviewed.findings), reviewed.standing
    return {
        finding.fingerprint: lessons.hint(
            SeenFinding(
                rule=rule_of(finding),  # a history has ruff's name of what both tools report
                path=finding.path,
                fixable=finding.suggestion is not None,
                standing=standing[finding.path, finding.rule],
                burst=burst[finding.rule],
            )
        )
        for finding in reviewed.findings
    }
