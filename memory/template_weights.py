"""What repair templates weigh: how well they do by the tests, and how well maintainers like what they make.

Nothing is counted or kept here: both are derived from experiences and signals each time, so that feedback that was taken
back and experiences that were forgotten leave no trace, and the same memory gives the same weights.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory.model import AttemptOutcome, Experience, Factor, Family, Signal
from memory.rewards import MIN_WEIGHT, acceptance, clipped, millionths, weight_of
from memory.skills import parts_of
from memory.store.evidence import MILLION, QUORUM, Contributor, Sum, cell_for

# ── By the tests

PSEUDO_REPAIRS = 8.0
"""How many expected repairs the prior is worth. A template that was tried in vain falls to a half after as many."""

BOUNDS = (0.2, 5.0)

QUOTA = 200
"""How many attempts of one repository count, the first given: none may say alone how all others are repaired."""


def edit_weights(
    experiences: Iterable[Experience],
    family: Family,
    prior: Mapping[str, float],
    rejected: Collection[str] = frozenset(),
) -> dict[str, float]:
    """What to multiply each template's prior by for a family of failures; `prior` is by template, in any unit.

    An experience whose id is among the `rejected` repaired nothing: it counts as tries alone.

    A weight is the posterior mean of the template's relative rate of success under a Gamma prior around 1, as observed
    counts are shrunk towards expected ones in disease mapping (Clayton and Kaldor 1987, "Empirical Bayes estimates of
    age-standardized relative risks"). Within a family of failures the weight over all failures is the prior.
    Give the latest experiences first. Templates without experience are left out: their weight is 1.
    """
    counted: Counter[str] = Counter()
    everything = []
    for experience in experiences:
        counted[experience.repository] += 1
        if counted[experience.repository] <= QUOTA:
            everything.append(experience)
    kept = [replace(each, shape=None) if each.id in rejected else each for each in everything]
    relatives = [each for each in kept if each.family is family]
    return _weights(relatives, prior, _weights(kept, prior, {}))


def _weights(
    experiences: Iterable[Experience], prior: Mapping[str, float], base: Mapping[str, float]
) -> dict[str, float]:
    """Observed over expected repairs, shrunk towards `base`; every repair is expected in proportion to prior times tries.

    A repair by two edits is a half of one for each of their templates, as a verdict is.
    """
    tried, repaired = Counter[str](), defaultdict[str, float](float)
    for each in experiences:
        tried.update(each.tried)
        if each.outcome is AttemptOutcome.PROVEN and each.shape is not None:
            parts = parts_of(each.shape)
            for part in parts:
                repaired[part.template] += 1.0 / len(parts)
    chances = {name: count * prior[name] * base.get(name, 1.0) for name, count in tried.items() if name in prior}
    total = sum(chances.values())
    if not total:
        return dict(base)
    repairs = sum(repaired[name] for name in chances)
    found = dict(base)
    for name, chance in chances.items():
        expected = repairs * chance / total
        rate = (repaired[name] + PSEUDO_REPAIRS) / (expected + PSEUDO_REPAIRS)
        found[name] = min(max(base.get(name, 1.0) * rate, BOUNDS[0]), BOUNDS[1])
    return found


# ── By maintainers' verdicts

UNKNOWN = 0.5
"""How often an edit of a kind without any verdict is expected to be accepted; such a kind weighs 1."""

PSEUDO_VERDICTS = 1.0
"""How many verdicts a prior is worth: what other repositories say to this one, and UNKNOWN to them."""

LEAST = 0.1
"""The least weight: a kind that is always rejected stays findable."""

KIN = 0.75
"""What a verdict counts for the other templates of its strategy, and, times that, for other families of failures."""

HALF_LIFE = 4
"""The number of later verdicts on a strategy in its repository after which a verdict counts a half: tastes change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedEdit:
    """A proven edit and the feedback on it: by account its weight, at most one observation, and its mean, in millionths."""

    id: str
    repository: str
    family: Family
    templates: tuple[str, ...]
    verdicts: Mapping[int, Sum]
    judged_at: datetime


def judged_edits(experiences: Iterable[Experience], signals: Iterable[Signal]) -> list[JudgedEdit]:
    """The proven edits of templates that live signals judge, oldest verdict first; a resolved thread alone is no verdict."""
    given: defaultdict[str, list[Signal]] = defaultdict(list)
    for signal in signals:
        if weight_of(signal) > 0.0:
            given[signal.decision_id].append(signal)
    found = list[JudgedEdit]()
    for experience in experiences:
        if experience.shape is None or experience.id not in given:
            continue
        by_account: defaultdict[int, list[Signal]] = defaultdict(list)
        for signal in given[experience.id]:
            by_account[signal.actor.id].append(signal)
        judged = JudgedEdit(
            id=experience.id,
            repository=experience.repository,
            family=experience.family,
            templates=tuple(part.template for part in parts_of(experience.shape)),
            verdicts={account: _observation(each) for account, each in by_account.items()},
            judged_at=max(signal.created_at for signal in given[experience.id]),
        )
        if sum(weight for weight, _ in judged.verdicts.values()) >= millionths(MIN_WEIGHT):
            found.append(judged)
    return sorted(found, key=lambda each: (each.judged_at, each.id))


def _observation(signals: Sequence[Signal]) -> Sum:
    """The weight and the weighted value of what one account says of one edit; several signals are one verdict."""
    weight = millionths(clipped(sum(map(weight_of, signals))))
    return weight, round(weight * (acceptance(signals) or 0.0))


def verdict_weights(
    judged: Sequence[JudgedEdit], kinds: Mapping[str, str], *, repository: str, family: Family, quorum: int = QUORUM
) -> dict[str, float]:
    """What to multiply the priors of templates by for the verdicts on their edits; `kinds` is template to strategy.

    A weight is how often the template's edits are expected to be accepted here, relative to those of an unknown kind. What
    this repository says comes first, of this template and family in full; other repositories say how much a strategy is
    liked, under the rules of the table's acceptance: a quota each, and a quorum of repositories and accounts. Give the
    edits oldest verdict first. Templates about which nothing is known are left out: their weight is 1.
    """
    decayed = list(_decayed(judged, kinds))
    elsewhere = {kind: _elsewhere(decayed, kind, repository, quorum) for kind in set(kinds.values())}
    own = [each for each in decayed if each.edit.repository == repository]
    found = {}
    for template, kind in kinds.items():
        expected = _shrunk(own, template, kind, family, elsewhere[kind])
        if expected != UNKNOWN:
            found[template] = max(expected / UNKNOWN, LEAST)
    return found


@dataclass(frozen=True, slots=True)
class _DecayedVerdict:
    """One verdict on one template: `share` is what is left of it, times the template's part in the edit."""

    edit: JudgedEdit
    template: str
    kind: str
    share: float

    def sums(self, nearness: float) -> list[tuple[Contributor, Sum]]:
        """Weight and value by contributor, where they are so near."""
        left = self.share * nearness
        return [
            ((self.edit.repository, str(account)), (round(weight * left), round(value * left)))
            for account, (weight, value) in self.edit.verdicts.items()
        ]


def _decayed(judged: Sequence[JudgedEdit], kinds: Mapping[str, str]) -> Iterable[_DecayedVerdict]:
    """Each verdict, less the more verdicts on its strategy were given later in its repository."""
    later = Counter[tuple[str, str]]()
    for edit in reversed(judged):
        known = [template for template in edit.templates if template in kinds]
        for template in known:
            age = later[edit.repository, kinds[template]]
            yield _DecayedVerdict(edit, template, kinds[template], 0.5 ** (age / HALF_LIFE) / len(edit.templates))
        later.update({(edit.repository, kinds[template]) for template in known})


def _elsewhere(decayed: Iterable[_DecayedVerdict], kind: str, repository: str, quorum: int) -> float:
    """How often other repositories accept a strategy's edits, as far as they may say so here."""
    rows: defaultdict[Contributor, Sum] = defaultdict(lambda: (0, 0))
    for each in decayed:
        if each.kind == kind and each.edit.repository != repository:
            for contributor, (weight, value) in each.sums(1.0):
                rows[contributor] = (rows[contributor][0] + weight, rows[contributor][1] + value)
    cell = cell_for(rows, repository, Factor.ACCEPTANCE, quorum)
    return _mean(UNKNOWN, cell.weight, cell.weight * cell.mean) if cell else UNKNOWN


def _shrunk(own: Iterable[_DecayedVerdict], template: str, kind: str, family: Family, prior: float) -> float:
    """How often this repository accepts a template's edits, starting from what others say."""
    total = value = 0
    for each in own:
        if each.kind == kind:
            near = (1.0 if each.template == template else KIN) * (1.0 if each.edit.family is family else KIN)
            for _, (weight, worth) in each.sums(near):
                total, value = total + weight, value + worth
    return _mean(prior, total / MILLION, value / MILLION)


def _mean(prior: float, weight: float, value: float) -> float:
    return (PSEUDO_VERDICTS * prior + value) / (PSEUDO_VERDICTS + weight)
