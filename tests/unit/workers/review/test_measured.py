from __future__ import annotations

import pytest

from workers.review.measured import MEASURED, ON_TRIAL, may_interrupt


@pytest.mark.parametrize(
    ("tool", "rule", "measured", "allowed"),
    [
        ("semantic", "SEM001", {}, False),
        ("semantic", "SEM001", {"SEM001": 0.69}, False),
        ("semantic", "SEM001", {"SEM001": 0.7}, True),
        ("semantic", "SEM001", {"SEM002": 0.9}, False),
        ("untested", "TST001", {}, False),
        ("ruff", "F401", {}, True),
        ("secrets", "SEC001", {}, True),
        ("semgrep", "SEM001", {}, True),
    ],
)
def test_a_rule_on_trial_waits_for_its_measurement(
    tool: str, rule: str, measured: dict[str, float], allowed: bool
) -> None:
    """Only a measured precision lets it speak beside the code; rules that are not on trial need none."""
    assert may_interrupt(tool, rule, measured) == allowed


def test_what_was_measured_is_a_share_of_a_rule_on_trial() -> None:
    """The mapping holds precisions, and only of rules that need one."""
    assert all(
        0.0 <= precision <= 1.0 and not any(may_interrupt(t, rule, {}) for t in ON_TRIAL)
        for rule, precision in MEASURED.items()
    )
