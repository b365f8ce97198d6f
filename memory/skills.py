"""Skills: accepted edits that were generalised, how well they do, and where they may be used.

Nothing is counted here: teachers come from the ledger, tries and wins from the experiences, so that whatever is taken back
or forgotten is as if it had never been, and the same memory gives the same skills.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

from memory.generalise import generalised
from memory.groups import Taught
from memory.model import AttemptOutcome, Experience, Signal, Skill, SkillState
from memory.rewards import say
from memory.rewrites import library_name
from memory.store import QUORUM, Store
from memory.terms import EVERYWHERE, TELLING, pattern, words_in

PRIOR_WINS, PRIOR_LOSSES = 0.1, 1.9
"""A skill that nobody tried repairs one failure in twenty that it fits, and that is worth two tries: edits of other
repositories hardly ever fit (docs/repair.md)."""

PRIOR_RATE = PRIOR_WINS / (PRIOR_WINS + PRIOR_LOSSES)

TEACHING, ACCEPTING = 0.25, 0.25
"""What an edit that taught a skill is worth as a win, as it would have repaired that, and what each person who took it is."""

UPPER = 1.645
"""Standard deviations above the mean that the upper bound of a rate stands, about its 95 % quantile."""

MOST_READ = 5000
"""Experiences that skills are derived of, the latest."""

MOST_USED = 60
"""Skills that one repair looks for places of, the best."""

_PREFIX = "skill:"
_VERSION = "1"


def template_of(skill: Skill) -> str:
    """What a skill's edits are counted under, beside those of templates."""
    return f"{_PREFIX}{skill.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What people made of fixes, by the id of the decision: the sum of what they said, and who was for it."""

    against: Mapping[str, float] = field(default_factory=dict)
    teachers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def rejected(self, decision: str) -> bool:
        """Whether those whose word counts were, taken together, against it."""
        return self.against.get(decision, 0.0) > 0.0


def verdicts(signals: Iterable[Signal]) -> Verdicts:
    """The verdicts in signals that stand."""
    against: defaultdict[str, float] = defaultdict(float)
    teachers: dict[str, list[int]] = {}
    for signal in signals:
        said = say(signal)
        against[signal.decision_id] -= said
        if said > 0.0:
            teachers.setdefault(signal.decision_id, []).append(signal.actor.id)
    return Verdicts(against=against, teachers={key: tuple(dict.fromkeys(ids)) for key, ids in teachers.items()})


def derived(experiences: Sequence[Experience], said: Verdicts) -> tuple[Skill, ...]:
    """The skills of these experiences, given newest first, the most specific skills first."""
    taught = [each for experience in experiences for each in _taught(experience, said)]
    return tuple(_judged(skill, experiences, said) for skill in generalised(taught))


def _taught(experience: Experience, said: Verdicts) -> list[Taught]:
    if experience.outcome is not AttemptOutcome.PROVEN or said.rejected(experience.id):
        return []
    return [
        Taught(
            experience=experience.id,
            repository=experience.repository,
            error_type=experience.error_type,
            family=experience.family,
            rewrite=rewrite,
            teachers=said.teachers.get(experience.id, ()),
        )
        for rewrite in experience.rewrites
    ]


def _judged(skill: Skill, experiences: Sequence[Experience], said: Verdicts) -> Skill:
    name = template_of(skill)
    tried = [each for each in experiences if each.tried.get(name)]
    won = [each for each in tried if _won(each, name) and not said.rejected(each.id)]
    tries, wins = len({each.task_id for each in tried}), len({each.task_id for each in won})
    judged = replace(skill, tries=tries, wins=wins, rate=mean(skill, tries, wins))
    return replace(judged, state=_state(judged))


def _won(experience: Experience, name: str) -> bool:
    shape = experience.shape
    return experience.outcome is AttemptOutcome.PROVEN and shape is not None and shape.template == name


def _state(skill: Skill) -> SkillState:
    if upper(skill) < PRIOR_RATE:
        return SkillState.RETIRED
    return SkillState.ACTIVE if skill.teachers else SkillState.CANDIDATE


def _evidence(skill: Skill, tries: int, wins: int) -> tuple[float, float]:
    """The parameters of the rate's Beta posterior."""
    taught = TEACHING * len(skill.taught_by) + ACCEPTING * len(skill.teachers)
    return PRIOR_WINS + wins + taught, PRIOR_LOSSES + tries - wins


def mean(skill: Skill, tries: int, wins: int) -> float:
    """The posterior mean of how often a skill repairs where it is tried."""
    successes, failures = _evidence(skill, tries, wins)
    return successes / (successes + failures)


def upper(skill: Skill) -> float:
    """The upper bound of that rate."""
    successes, failures = _evidence(skill, skill.tries, skill.wins)
    total = successes + failures
    rate = successes / total
    return min(1.0, rate + UPPER * sqrt(rate * (1.0 - rate) / (total + 1.0)))


def usable(skills: Iterable[Skill], repository: str, quorum: int = QUORUM) -> tuple[Skill, ...]:
    """The skills to be tried in a repository, the best first.

    What a repository's own fixes taught may be tried there; elsewhere only what `quorum` people accepted, and what
    shows nothing of the code that taught it.
    """
    open_here = [each for each in skills if each.state is not SkillState.RETIRED and _reaches(each, repository, quorum)]
    return tuple(sorted(open_here, key=lambda each: -each.rate)[:MOST_USED])


def _reaches(skill: Skill, repository: str, quorum: int) -> bool:
    return repository in skill.repositories or (len(skill.teachers) >= quorum and is_public(skill))


def is_public(skill: Skill) -> bool:
    """Whether all that a skill spells out means the same everywhere: builtins, the standard library, telling constants."""
    library = {library_name(line) for line in skill.imports}
    spelled = {word for side in (skill.before, skill.after) for word in words_in(pattern(side))}
    return "" not in library and spelled <= EVERYWHERE | TELLING | library


def current(store: Store) -> tuple[Skill, ...]:
    """The skills of what is remembered now: as they are kept, or derived anew where anything has changed since."""
    sources = f"{_VERSION} {store.skills.sources()}"
    if store.skills.stamp() == sources:
        return tuple(store.skills.all())
    experiences = store.experiences.all(limit=MOST_READ)
    proven = [each.id for each in experiences if each.outcome is AttemptOutcome.PROVEN]
    skills = derived(experiences, verdicts(store.ledger.live_signals(proven)))
    store.skills.replace(skills, sources)
    return skills
