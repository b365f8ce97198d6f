"""What a refusal means for the caller, and what is shown of it."""

from __future__ import annotations

import pytest

from workers.llm.endpoint import clear_line, error_of
from workers.llm.errors import CallFailed, ModelUnavailable


@pytest.mark.parametrize(
    ("status", "detail", "kind"),
    [
        (429, "slow down", CallFailed),
        (408, "", CallFailed),
        (500, "", CallFailed),
        (529, "overloaded", CallFailed),
        (429, "insufficient_quota: see your plan", ModelUnavailable),
        (400, "bad", ModelUnavailable),
        (401, "bad", ModelUnavailable),
        (404, "the model `toy` does not exist", ModelUnavailable),
        (302, "", ModelUnavailable),
    ],
)
def test_only_what_may_pass_is_tried_again(status: int, detail: str, kind: type[Exception]) -> None:
    """Money that is used up does not come back within seconds."""
    found = error_of(status, detail, detail)
    assert type(found) is kind
    assert not isinstance(found, CallFailed) or not found.charged


def test_a_clear_line_is_short_and_holds_no_credential() -> None:
    """Neither our key, whatever it looks like, nor another that an endpoint repeats."""
    said = f"bad\nkey hunter2 for https://ada:pw@host and ghp_{'a' * 20} {'x' * 900}"
    line = clear_line(said, "hunter2")
    assert line.startswith("bad key [secret removed] for https://[secret removed]@host and [secret removed]")
    assert len(line) == 300
    assert clear_line("nothing hidden", "") == "nothing hidden"
