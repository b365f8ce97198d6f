from __future__ import annotations

import pytest

from workers.review.measured import MEASURED, may_interrupt


@pytest.mark.parametrize(
    ("rule", "measured", "allowed"),
    [
        ("SEM001", {}, False),
        ("SEM001", {"SEM001": 0.69}, False),
        ("SEM001", {"SEM001": 0.7}, True),
        ("SEM001", {"SEM002": 0.9}, False),
        ("TST001", {}, False),
        ("F401", {}, True),
        ("SEC001", {}, True),
    ],
)
def test_a_rule_on_trial_waits_for_its_measurement(rule: str, measured: dict[str, float], allowed: bool) -> None:
    """Only a measured precision lets it speak beside the code; rules that are not on trial need none."""
    assert may_interrupt(rule, measured) == allowed


def test_what_was_measured_is_a_share_of_a_rule_on_trial() -> None:
    """The mapping holds precisions, and only of rules that need one."""
    assert all(0.0 <= precision <= 1.0 and not may_interrupt(rule, {}) for rule, precision in MEASURED.items())
