"""What looks like a credential is removed, whichever way it is looked for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.redaction import FORMATS, MARKS, REDACTED, redact, redact_lines

CREDENTIALS = {
    "a GitHub token": "ghs_" + "a1B2" * 9,
    "a GitLab token": "glpat-" + "a1B2" * 5,
    "a Stripe key": "sk_live_" + "a1B2" * 5,
    "a model provider's key": "sk-" + "a1B2" * 5,
    "an AWS access key": "ASIA" + "A1B2" * 4,
    "a Google API key": "AIza" + "a1B2_" * 7,
    "a Slack token": "xoxb-" + "1234567890",
    "a Slack webhook": "hooks.slack.com/services/T" + "A1B2C3/B" + "A1B2C3/" + "a1B2" * 4,
    "a SendGrid key": "SG." + "a" * 22 + "." + "b" * 43,
    "an npm token": "npm_" + "a1B2" * 9,
    "a PyPI token": "pypi-AgE" + "a1B2_" * 10,
    "a Hugging Face token": "hf_" + "a1" * 17,
    "a JSON web token": "eyJ" + "a1B2C" * 2 + ".eyJ" + "a1B2C" * 2 + "." + "a1B2C" * 2,
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----\nabc",
    "a password in a URL": "://ada:k3Yp9sVq2Lm@",
}
EVERYWHERE = re.compile("|".join(FORMATS.values()), re.DOTALL)
PIECES = st.sampled_from(
    [*CREDENTIALS.values(), *(mark for marks in MARKS.values() for mark in marks), "-", "\n", " ", "eyJ"]
)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_credential_of_each_kind_is_removed(kind: str) -> None:
    """Also where nothing else in the text looks like one."""
    assert REDACTED in redact(f"it is ({CREDENTIALS[kind]})")
    assert CREDENTIALS[kind].strip(":/@") not in redact(f"it is ({CREDENTIALS[kind]})")


def test_lines_keep_their_numbers() -> None:
    """Every line of a key is replaced by itself."""
    key = "-----BEGIN PRIVATE " + "KEY-----\nabc\ndef\n-----END PRIVATE " + "KEY-----"
    assert redact_lines(f"a\n'{key}'\nb") == f"a\n'{REDACTED}\n{REDACTED}\n{REDACTED}\n{REDACTED}'\nb"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("ghs_12345_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjM0NSJ9.a1B2-c3_D4", ""),
        ("redis://:k3Yp9sVq2Lm@db:6379/0", "redis://@db:6379/0"),
        ("postgres://ada:k3Yp@9sVq@2Lm@db/shop", "postgres://@db/shop"),
        ("redis://:**@k3Yp9sVq2Lm@db", "redis://@db"),
        ("smtp://ada@shop.example:k3Yp9sVq2Lm@mail", "smtp://@mail"),
        ("x_ghp_" + "a1B2" * 9, "x_"),
        ("KEY_AKIA" + "A1B2" * 4, "KEY_"),
    ],
)
def test_forms_of_credentials(text: str, rest: str) -> None:
    """A web token within a token, passwords and users' names with `@` or no user, and a token after an underscore."""
    assert redact(text) == (rest.replace("@", f"{REDACTED}@") if "@" in rest else rest + REDACTED)


@pytest.mark.parametrize(
    "text",
    [
        "self._ghs_token_of_the_installation = None",
        "http://:8080/a@b",
        "git@github.com:o/r",
        "task_sk-learn",
        "x://h:80",
        "ssh://git@h:22/a@b",
        "redis://:**@db:6379/0: refused",
    ],
)
def test_code_is_no_credential(text: str) -> None:
    """Names and addresses of ordinary code stay."""
    assert redact(text) == text


@given(st.lists(PIECES | st.text(max_size=8), max_size=12))
def test_marks_leave_nothing_out(parts: list[str]) -> None:
    """What is found by marks is what all patterns find everywhere."""
    text = "".join(parts)
    assert redact(text) == EVERYWHERE.sub(REDACTED, text)
