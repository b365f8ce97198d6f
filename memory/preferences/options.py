"""What maintainers choose among: findings and patches as named numbers, their verdicts, and the pairs that follow."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import log, log1p
from pathlib import PurePosixPath

from memory.model import Attempt, Confidence, Doubt, Finding, Severity, Signal, TaskKind
from memory.policy.review_policy import prior_of
from memory.rewards import say

RIVALS = 3
"""A rejected option is compared with at most this many accepted ones of its rule, the nearest in time."""

QUOTA = 500
"""Only the last judged decisions of each repository count, so that none dominates the others."""

_SEVERITIES = list(Severity)
_CONFIGURATION = frozenset({"setup.py", "conf.py", "noxfile.py", "tasks.py", "manage.py", "settings.py", "conftest.py"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceOption:
    """A finding or a patch as the model sees it: the expected chance of acceptance, and named numbers."""

    prior: float
    features: Mapping[str, float]

    @property
    def prior_odds(self) -> float:
        """The logarithm of the prior's odds."""
        return log(self.prior / (1.0 - self.prior))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedOption:
    """An option with its verdict in [-1, 1], not 0; `teacher` is the account behind most of it."""

    decision_id: str
    task_id: str
    kind: TaskKind
    repository: str
    label: str
    teacher: int
    known_at: datetime
    verdict: float
    option: PreferenceOption


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferencePair:
    """Two options, the accepted one and the rejected one. `weight` is above 0 and at most 1."""

    better: JudgedOption
    worse: JudgedOption
    weight: float


def option_of_finding(finding: Finding) -> PreferenceOption:
    """A finding as an option."""
    suggestion = finding.suggestion
    proven = suggestion is not None and suggestion.proof is not None
    return PreferenceOption(
        prior=prior_of(finding, suggestion_proven=proven),
        features={
            "severity": _SEVERITIES.index(finding.severity) / (len(_SEVERITIES) - 1),
            f"rule={finding.rule}": 1.0,
            f"category={finding.category}": 1.0,
            f"tool={finding.tool}": 1.0,
            f"path={file_kind(finding.path)}": 1.0,
            "suggested": float(suggestion is not None),
            "proven": float(proven),
            "size": _size(len(suggestion.replacement.splitlines()) if suggestion else 0),
        },
    )


def option_of_patch(
    patch: str,
    *,
    template: str,
    strategy: str,
    share: float = 0.5,
    confidence: Confidence = Confidence.UNCOMPARED,
    doubt: Doubt = Doubt.NONE,
) -> PreferenceOption:
    """A unified diff as an option; `share` is its part of the plausible weight."""
    return PreferenceOption(
        prior=min(max(share, 0.05), 0.95),
        features={
            f"template={template}": 1.0,
            f"strategy={strategy}": 1.0,
            f"path={file_kind(path_of(patch))}": 1.0,
            f"confidence={confidence}": 1.0,
            f"doubt={doubt or 'none'}": 1.0,
            "share": share,
            "size": _size(
                sum(line[:1] in ("+", "-") and line[:3] not in ("+++", "---") for line in patch.splitlines())
            ),
        },
    )


def option_of_attempt(attempt: Attempt) -> PreferenceOption:
    """A proven attempt's patch. Raises ValueError for one without proof."""
    if (proof := attempt.proof) is None:
        raise ValueError(f"the attempt of decision {attempt.decision_id} has no proof")
    return option_of_patch(
        attempt.patch,
        template=attempt.shape.template if attempt.shape else "",
        strategy=attempt.strategy,
        share=proof.share,
        confidence=proof.confidence,
        doubt=proof.doubt,
    )


def path_of(patch: str) -> str:
    """The file that a unified diff changes; empty where it names none."""
    named = (line[4:].split("\t")[0] for line in patch.splitlines() if line.startswith("+++ "))
    return next(named, "").removeprefix("b/")


def file_kind(path: str) -> str:
    """What kind of file a path names: test, document, configuration or source."""
    pure = PurePosixPath(path)
    if any(part in ("test", "tests") for part in pure.parts[:-1]) or pure.name.startswith("test_"):
        return "test"
    if pure.suffix in (".md", ".rst", ".txt") or "docs" in pure.parts[:-1]:
        return "document"
    return "configuration" if pure.name in _CONFIGURATION else "source"


def _size(lines: int) -> float:
    return log1p(lines) / 3.0


def verdict(signals: Iterable[Signal]) -> float:
    """The summed feedback on a decision, in [-1, 1]; 0 where none counts. Give signals that were not taken back."""
    return min(max(sum(map(say, signals)), -1.0), 1.0)


def teacher(signals: Iterable[Signal]) -> int:
    """The id of the account with the weightiest feedback; the lowest of equals. Raises ValueError without signals."""
    weight: defaultdict[int, float] = defaultdict(float)
    for signal in signals:
        weight[signal.actor.id] += abs(say(signal))
    return max(sorted(weight), key=weight.__getitem__)


def within_quota(judged: Iterable[JudgedOption]) -> list[JudgedOption]:
    """The last `QUOTA` of each repository, oldest first."""
    count: Counter[str] = Counter()
    kept = []
    for each in sorted(judged, key=lambda one: (one.known_at, one.decision_id), reverse=True):
        count[each.repository] += 1
        if count[each.repository] <= QUOTA:
            kept.append(each)
    return kept[::-1]


def pairs(judged: Sequence[JudgedOption]) -> list[PreferencePair]:
    """Accepted over rejected, within a task, or within a rule (or error type) of one repository; each pair once.

    A pair counts as much as the weaker of its verdicts.
    """
    found: dict[tuple[str, str], PreferencePair] = {}

    def compare(key: Callable[[JudgedOption], Hashable], most: int) -> None:
        groups: defaultdict[Hashable, list[JudgedOption]] = defaultdict(list)
        for each in judged:
            groups[key(each)].append(each)
        for group in groups.values():
            accepted = [each for each in group if each.verdict > 0.0]
            for worse in (each for each in group if each.verdict < 0.0):
                nearest = sorted(accepted, key=lambda one: (abs(one.known_at - worse.known_at), one.decision_id))
                for better in nearest[:most]:
                    weight = min(better.verdict, -worse.verdict)
                    pair = PreferencePair(better=better, worse=worse, weight=weight)
                    found[better.decision_id, worse.decision_id] = pair

    compare(lambda one: (one.kind, one.task_id), len(judged))
    compare(lambda one: (one.kind, one.repository, one.label), RIVALS)
    return balanced([found[key] for key in sorted(found)])


def balanced(found: Sequence[PreferencePair]) -> list[PreferencePair]:
    """The same pairs, those of one teacher alone weighing no more than all others together, where there are others."""
    alone: defaultdict[int, float] = defaultdict(float)
    for pair in found:
        if pair.better.teacher == pair.worse.teacher:
            alone[pair.better.teacher] += pair.weight
    loudest = max(sorted(alone), key=alone.__getitem__, default=None)
    others = sum(pair.weight for pair in found) - (0.0 if loudest is None else alone[loudest])
    if loudest is None or not 0.0 < others < alone[loudest]:
        return list(found)
    share = others / alone[loudest]
    return [
        replace(pair, weight=pair.weight * share) if {pair.better.teacher, pair.worse.teacher} == {loudest} else pair
        for pair in found
    ]
