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
    assert type(error_of(status, detail, detail)) is kind


@pytest.mark.parametrize(
    ("status", "charged"),
    [
        (408, True),
        (500, True),
        (502, True),
        (504, True),
        (524, True),
        (409, False),
        (425, False),
        (429, False),
        (503, False),
        (529, False),
    ],
)
def test_what_fails_late_may_be_charged(status: int, charged: bool) -> None:
    """A server or gateway that fails after the model may have begun is accounted; one that turns a request away is not."""
    found = error_of(status, "", "")
    assert isinstance(found, CallFailed)
    assert found.charged is charged


def test_a_clear_line_is_short_and_holds_no_credential() -> None:
    """Neither our key, whatever it looks like, nor another that an endpoint repeats."""
    said = f"bad\nkey hunter2 for https://ada:pw@host and ghp_{'a' * 20} {'x' * 900}"
    line = clear_line(said, "hunter2")
    assert line.startswith("bad key [secret removed] for https://[secret removed]@host and [secret removed]")
    assert len(line) == 300
    assert clear_line("nothing hidden", "") == "nothing hidden"
