from __future__ import annotations

import pytest

from memory.model import Actor, Permission
from memory.rewards import SIGNALS_A_DAY, SIGNALS_ON_ONE_LABEL, is_limited, trusted

HUMAN = Actor(id=1, login="ada")
BOT = Actor(id=2, login="helper[bot]", is_bot=True)


@pytest.mark.parametrize(
    ("permission", "expected"),
    [("admin", 1.0), ("maintain", 1.0), ("write", 1.0), ("triage", 0.5), ("read", 0.0), ("none", 0.0)],
)
def test_weight_follows_permission(permission: str, expected: float) -> None:
    """Those who may write teach fully, triagers half, outsiders not at all."""
    assert trusted(Permission(permission), HUMAN) == expected


@pytest.mark.parametrize("permission", list(Permission))
def test_bots_never_teach(permission: Permission) -> None:
    """A bot has no weight, whatever it may do."""
    assert trusted(permission, BOT) == 0.0


@pytest.mark.parametrize("permission", list(Permission))
def test_author_judges_own_work_only_with_write_access(permission: Permission) -> None:
    """A pull request's author counts only where they could have merged it themselves."""
    may_write = permission in (Permission.ADMIN, Permission.MAINTAIN, Permission.WRITE)
    assert trusted(permission, HUMAN, is_author=True) == (1.0 if may_write else 0.0)


@pytest.mark.parametrize(
    ("signals", "on_label", "limited"),
    [
        (0, 0, False),
        (SIGNALS_A_DAY - 1, SIGNALS_ON_ONE_LABEL - 1, False),
        (SIGNALS_A_DAY, 0, True),
        (SIGNALS_ON_ONE_LABEL, SIGNALS_ON_ONE_LABEL, True),
    ],
)
def test_teaching_has_a_daily_limit(signals: int, on_label: int, *, limited: bool) -> None:
    """So many signals a day, and so many on one rule, count; the next one does not."""
    assert is_limited(signals, on_label) is limited
