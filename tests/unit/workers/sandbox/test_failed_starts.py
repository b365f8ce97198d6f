"""What a failed start of bubblewrap is taken for."""

from __future__ import annotations

import pytest

from workers.sandbox.bubblewrap import _NoReasonGivenError, _not_made


@pytest.mark.parametrize(
    ("output", "again"),
    [
        ("bwrap: Can't find source path /x: No such file or directory", False),
        ("", True),
        ("ruff failed\n  Cause: Unknown rule selector `W503` in `ignore` from the CLI", True),
    ],
)
def test_only_what_bubblewrap_says_ends_the_attempts(output: str, again: bool) -> None:
    """The output of a program that ended before it was looked at is no reason of bubblewrap's: it is started again."""
    assert isinstance(_not_made(output), _NoReasonGivenError) is again
