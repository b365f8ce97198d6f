"""What bubblewrap says when it will not start becomes what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.sandbox.bubblewrap import explained


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("bwrap: No permissions to create new namespace, likely because …", "user.max_user_namespaces"),
        ("bwrap: setting up uid map: Permission denied", "user.max_user_namespaces"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths=unconfined"),
        ("bwrap: Unknown option --size", "0.6 or later"),
        ("", "no reason given"),
    ],
)
def test_each_refusal_has_a_remedy(said: str, remedy: str, tmp_path: Path) -> None:
    """The line names the setting to change."""
    assert remedy in explained(said, tmp_path / "no-apparmor")


def test_apparmor_is_named_where_it_is_the_reason(tmp_path: Path) -> None:
    """On a kernel whose AppArmor restricts user namespaces, that is what to change."""
    switch = tmp_path / "switch"
    switch.write_text("1\n")
    assert "AppArmor profile" in explained("bwrap: setting up uid map: Permission denied", switch)
