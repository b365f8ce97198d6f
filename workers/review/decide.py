"""What to do with each finding, chosen by what people here made of the like before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from memory import posting
from memory.history.lessons import Word
from memory.learner import Learner
from memory.model import Action, Arm, Decision, Finding
from memory.preferences.collecting import Taste, option_of_finding
from memory.sharing.lessons import Learnings
from workers.review.findings import harm, order

INLINE = frozenset({Action.INLINE, Action.INLINE_SUGGESTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A recorded decision about a finding, with its reason in one line for people."""

    decision: Decision
    why: str

    @property
    def action(self) -> Action:
        """The decision in the words of review."""
        return Action(self.decision.chosen)


def decide(
    findings: Sequence[Finding],
    learner: Learner,
    *,
    task_id: str,
    repository: str,
    arm: Arm,
    slots: int,
    made: Mapping[str, Decision] = MappingProxyType({}),
    taste: Taste | None = None,
    learnings: Sequence[Learnings] = (),
    past: Mapping[str, Word] = MappingProxyType({}),
) -> Mapping[str, Decided]:
    """A decision for every fingerprint; the worst findings choose first while there are inline `slots` left.

    `made` holds, by fingerprint, what an earlier worker on the same task decided before it died: that stays decided.
    Of findings as bad as each other, the one that people with this `taste` would rather read chooses first; `learnings`
    from elsewhere are a prior, and so is what the repository's `past` says of a finding, by fingerprint.
    """
    decided: dict[str, Decided] = {}
    for finding in queue(findings, taste if arm is Arm.LEARNED and len(findings) > slots else None):
        proven = finding.suggestion is not None and finding.suggestion.proof is not None
        word = past.get(finding.fingerprint)
        appraisal = posting.appraise(
            learner, repository, finding, arm=arm, suggestion_proven=proven, learnings=learnings, past=word
        )
        decision = made.get(finding.fingerprint) or posting.decide_posting(
            learner,
            task_id,
            repository,
            finding,
            arm=arm,
            suggestion_proven=proven,
            slots_left=slots,
            learnings=learnings,
            past=word,
        )
        decided[finding.fingerprint] = Decided(decision=decision, why=posting.reason(decision, appraisal))
        slots -= decided[finding.fingerprint].action in INLINE
    return decided


def queue(findings: Sequence[Finding], taste: Taste | None) -> list[Finding]:
    """The worst first; of equals the most liked where that is known, else by their place."""
    liking = taste.strengths([option_of_finding(each) for each in findings]) if taste else [0.0] * len(findings)
    pairs = sorted(zip(liking, findings, strict=True), key=lambda pair: (-harm(pair[1]), -pair[0], order(pair[1])))
    return [finding for _, finding in pairs]
