"""The ways to go about a repair where there is a model: arms of the policy, with what is expected of each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memory.model import EMBEDDED

EMBEDDED_PRIOR = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """`prior` is the proof expected before any evidence; `most_files` how many may be edited; `proposes` without a loop."""

    name: str
    prior: float
    most_files: int = 20
    writes_tests: bool = False
    proposes: bool = False

    @property
    def prompt(self) -> str:
        """The name of what a model is told of it."""
        return f"strategy_{self.name.partition(':')[2]}"


STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        each.name: each
        for each in (
            Strategy(name="model:minimal", prior=0.45, most_files=1),
            Strategy(name="model:related", prior=0.4),
            Strategy(name="model:test_first", prior=0.35, writes_tests=True),
            Strategy(name="model:propose", prior=0.4, proposes=True),
        )
    }
)


def priors(names: Iterable[str]) -> dict[str, float]:
    """The proof expected of arms, the embedded engine among them."""
    return {name: EMBEDDED_PRIOR if name == EMBEDDED else STRATEGIES[name].prior for name in names}
