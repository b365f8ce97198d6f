"""How well each kind of edit has done: repairs by template, against what was expected of it for the candidates tried.

The weight of a template is the posterior mean of its relative rate of success under a Gamma prior around 1, as observed
counts are shrunk towards expected ones in disease mapping (Clayton and Kaldor 1987, "Empirical Bayes estimates of
age-standardized relative risks"). Rare templates keep their priors; within a family of failures the weight over all
failures is the prior.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from memory.model import AttemptOutcome, Experience, Family

PSEUDO_REPAIRS = 8.0
"""How many expected repairs the prior is worth. A template that was tried in vain falls to a half after as many."""

BOUNDS = (0.2, 5.0)

QUOTA = 200
"""So many attempts of one repository count, the first given: none may say alone how all others are repaired."""


@dataclass(slots=True)
class _Record:
    tried: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)

    def add(self, experience: Experience) -> None:
        self.tried.update(experience.tried)
        if experience.outcome is AttemptOutcome.PROVEN and experience.shape is not None:
            self.repaired[experience.shape.template] += 1


def edit_weights(experiences: Iterable[Experience], family: Family, prior: Mapping[str, float]) -> dict[str, float]:
    """What to multiply each template's prior by for a family of failures; `prior` is by template, in any unit.

    Give the latest experiences first. Templates without experience are left out: their weight is 1.
    """
    everything, relatives = _Record(), _Record()
    counted: Counter[str] = Counter()
    for experience in experiences:
        counted[experience.repository] += 1
        if counted[experience.repository] > QUOTA:
            continue
        everything.add(experience)
        if experience.family is family:
            relatives.add(experience)
    overall = _weights(everything, prior, {})
    return _weights(relatives, prior, overall) if relatives.tried else overall


def _weights(record: _Record, prior: Mapping[str, float], base: Mapping[str, float]) -> dict[str, float]:
    """Observed over expected repairs, shrunk towards `base`; every repair is expected in proportion to prior times tries."""
    chances = {name: tried * prior[name] * base.get(name, 1.0) for name, tried in record.tried.items() if name in prior}
    total = sum(chances.values())
    if not total:
        return dict(base)
    repairs = sum(record.repaired[name] for name in chances)
    found = dict(base)
    for name, chance in chances.items():
        expected = repairs * chance / total
        rate = (record.repaired[name] + PSEUDO_REPAIRS) / (expected + PSEUDO_REPAIRS)
        found[name] = min(max(base.get(name, 1.0) * rate, BOUNDS[0]), BOUNDS[1])
    return found
