"""Only what was signed with our secret is GitHub's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.web.signature import is_genuine, sign
from workers.errors import BadInput

secrets = st.binary(min_size=1, max_size=64)


def test_published_example() -> None:
    """The signature in GitHub's own documentation comes out."""
    expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert sign(b"It's a Secret to Everybody", b"Hello, World!") == expected


@given(secrets, st.binary())
def test_own_signature_is_genuine(secret: bytes, body: bytes) -> None:
    """Whatever the secret and the bytes, what was signed with the one over the other is accepted."""
    assert is_genuine(secret, body, sign(secret, body))


@given(secrets, st.binary(), st.binary())
def test_other_bytes_are_not_genuine(secret: bytes, body: bytes, other: bytes) -> None:
    """A signature holds for its own bytes and no others."""
    assert is_genuine(secret, other, sign(secret, body)) == (other == body)


@given(secrets, st.binary(), st.text())
def test_any_text_can_be_refused(secret: bytes, body: bytes, signature: str) -> None:
    """A signature of any text, not only ASCII, is refused without an error."""
    assert is_genuine(secret, body, signature) == (signature == sign(secret, body))


def test_no_secret() -> None:
    """With an empty secret nothing is genuine: it is an error."""
    with pytest.raises(BadInput, match="APPRENTICE_WEBHOOK_SECRET"):
        is_genuine(b"", b"{}", "sha256=00")
