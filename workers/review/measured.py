"""Which rules of our own may speak beside the code: those whose precision was measured on history. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ON_TRIAL = frozenset({"semantic", "untested"})
"""Detectors that are ours and new: their rules stand in the summary until a measurement lets them out of it."""

MEASURED: Mapping[str, float] = MappingProxyType({})
"""The precision of rules on trial over the histories of repositories, judged by people. None has been measured."""

LEAST_PRECISION = 0.7
"""A comment beside the code interrupts: fewer than seven right ones in ten are not worth that."""


def may_interrupt(tool: str, rule: str, measured: Mapping[str, float] = MEASURED) -> bool:
    """Whether what a tool finds by a rule may stand inline; the rest goes to the summary."""
    return tool not in ON_TRIAL or measured.get(rule, 0.0) >= LEAST_PRECISION
