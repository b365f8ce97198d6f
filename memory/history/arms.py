"""Ways to choose what to say of a change, ours and those that it is held against. Each learns only from fates that are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from memory.history.chance import History
from memory.intervals import wilson
from memory.model import PastFinding, Severity

REFIT_EVERY = 50
"""Changes of the branch between two fits of the weights."""

DISMISSALS = 3

_SEVERITIES = tuple(Severity)
_RUFF_DEFAULTS = ("E4", "E7", "E9", "F")
"""What ruff reports unasked."""


class Arm(Protocol):
    """Scores findings as they come: the higher, the sooner it is said; below 0 it is not said at all."""

    def found(self, number: int, finding: PastFinding, /) -> float:
        """The score of a finding of the change under review; its fate is not to be looked at."""
        ...

    def decided(self, number: int, finding: PastFinding, /) -> None:
        """Told once, as soon as the fate is known."""
        ...


@dataclass(slots=True)
class Learned:
    """Ours: the chance that people see to it, by what they did so far."""

    history: History = field(default_factory=History)
    _fitted_at: int = 0

    def found(self, number: int, finding: PastFinding) -> float:
        if finding.position - self._fitted_at >= REFIT_EVERY:
            self.history.refit()
            self._fitted_at = finding.position
        return self.history.found(number, finding, finding.position)

    def decided(self, number: int, finding: PastFinding) -> None:
        self.history.decided(number, finding)


@dataclass(slots=True)
class Fixed:
    """A score that nothing changes."""

    score: Callable[[PastFinding], float]

    def found(self, _number: int, finding: PastFinding) -> float:
        return self.score(finding)

    def decided(self, _number: int, _finding: PastFinding) -> None:
        pass


@dataclass(slots=True)
class PerRule:
    """A score by how often a rule's findings were addressed, and how often not."""

    score: Callable[[int, int], float]
    _addressed: Counter[str] = field(default_factory=Counter)
    _kept: Counter[str] = field(default_factory=Counter)

    def found(self, _number: int, finding: PastFinding) -> float:
        return self.score(self._addressed[finding.rule], self._kept[finding.rule])

    def decided(self, _number: int, finding: PastFinding) -> None:
        if (addressed := finding.fate.addressed) is not None:
            (self._addressed if addressed else self._kept)[finding.rule] += 1


def _is_default(finding: PastFinding) -> bool:
    return finding.tool == "bandit" or finding.rule.startswith(_RUFF_DEFAULTS)


def _from(least: Severity) -> Callable[[PastFinding], float]:
    return lambda finding: float(_SEVERITIES.index(finding.severity) - _SEVERITIES.index(least))


def _muted(_addressed: int, kept: int) -> float:
    return 0.0 if kept < DISMISSALS else -1.0


def _wilson_bound(addressed: int, kept: int) -> float:
    return wilson(addressed, addressed + kept)[0]


OURS, UNTAUGHT, EVERYTHING = "learned", "without history", "everything"
DEFAULTS, MUTED, WILSON = "tools' defaults", "three dismissals", "Wilson bound"
ORACLE = "oracle"

ARMS: Mapping[str, Callable[[], Arm]] = {
    OURS: Learned,
    EVERYTHING: lambda: Fixed(lambda _: 0.0),
    DEFAULTS: lambda: Fixed(lambda finding: 0.0 if _is_default(finding) else -1.0),
    "severity minor up": lambda: Fixed(_from(Severity.MINOR)),
    "severity major up": lambda: Fixed(_from(Severity.MAJOR)),
    MUTED: lambda: PerRule(_muted),
    WILSON: lambda: PerRule(_wilson_bound),
    ORACLE: lambda: Fixed(lambda finding: float(bool(finding.fate.addressed))),
}
"""What is compared; each call makes one that has learned nothing."""
