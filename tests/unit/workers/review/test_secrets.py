from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest

from workers.redaction import redact
from workers.review.detectors.detector import Category, Delta, FixEdit, RawFinding, SourceTree, ToolFix
from workers.review.detectors.secrets import Secrets, entropy, has_checksum
from workers.review.findings import seen_in

CHECKED = "ghp_" + "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17"
AWS = "AKIA" + "QR7TK2WXPL5VN3ZB"
KEY_BODY = "MIIEpAIBAAKCAQEAx7Vw3kQmN5c8RyTzPqLdF2uJhG9sBnXeKoWtYvA1iC4lD6rE0"
PRIVATE = "-----BEGIN RSA " + f"PRIVATE KEY-----\n{KEY_BODY}\n{KEY_BODY[::-1]}\n-----END RSA PRIVATE KEY-----\n"
TOKEN = ".".join(
    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
    for part in ({"alg": "HS256", "typ": "JWT"}, {"user": "ada", "admin": True})
)


def found(path: str, text: str, *, base: str = "", added: set[int] | None = None) -> tuple[RawFinding, ...]:
    lines = frozenset(range(1, text.count("\n") + 2)) if added is None else frozenset(added)
    head = SourceTree(sources={path: text}, target_version="py311")
    delta = Delta(head=head, base={path: base}, added={path: lines})
    return Secrets().compare(delta, [path]).findings


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("a.py", f'TOKEN = "{CHECKED}"\n', "SEC001"),
        ("deploy.sh", f"export AWS_ACCESS_KEY_ID={AWS}\n", "SEC001"),
        ("web/app.js", "const key = 'sk_live_" + "9aK3mQ7tZxR2vB8nW5yL';\n", "SEC001"),
        ("config.json", '{"maps": "AIza' + 'SyD3k9Qm2Lx7Rv5Tn8Wp1Zb4Yc6Hf0Jgq-u"}\n', "SEC001"),
        ("hook.txt", "https://hooks.slack.com/services/T8F2K3L9Q/B7M4N5P6R/" + "q9W8e7R6t5Y4u3I2o1P0aS7d\n", "SEC001"),
        ("a.py", f'BEARER = "{TOKEN}.c2lnbmF0dXJlX29mX3RoaXM"\n', "SEC001"),
        ("deploy/id_rsa", PRIVATE, "SEC002"),
        ("service.json", json.dumps({"private_key": PRIVATE}) + "\n", "SEC002"),
        ("settings.py", 'DATABASES = {"PASSWORD": "v9#Lq2!tRz7w"}\n', "SEC003"),
        ("client.py", 'connect(user="ada", password="Tr0ub4dor&3x")\n', "SEC003"),
        (".env", "API_KEY=f81d4fae7dec11d0a76500a0c91e6bf6\n", "SEC003"),
        ("app.yml", "  db_password: k3Yp9sVq2Lm\n", "SEC003"),
        (".env", "\ufeffDB_PASSWORD=k3Yp9sVq2Lm\n", "SEC003"),
        ("client.py", 'connect(token_type="bearer_one", password="k3Yp9sVq2Lm")\n', "SEC003"),
        ("run.sh", "curl https://ada:k3Yp9sVq2Lm@shop.internal/x\n", "SEC003"),
    ],
)
def test_an_added_secret_is_found_and_never_repeated(path: str, text: str, rule: str) -> None:
    """Known formats, key blocks and named values are found; neither message nor anchor holds the secret."""
    (one,) = found(path, text)
    assert one.rule == rule
    said = f"{one.message} {one.anchor}"
    for secret in (
        CHECKED,
        AWS,
        KEY_BODY,
        TOKEN,
        "v9#Lq2",
        "Tr0ub4dor",
        "k3Yp9sVq2Lm",
        "f81d4fae7d",
        "9aK3mQ7t",
        "SyD3k9",
    ):
        assert secret not in said


def test_no_finding_on_its_line_repeats_a_secret() -> None:
    """Neither what identifies another finding there nor a suggestion of it; two on one line hide each other's."""
    text = f'KEY = "{CHECKED}" if x == None else "", dict(password="k3Yp9sVq2Lm")\n'
    secrets = found("a.py", text)
    assert [each.rule for each in secrets] == ["SEC001", "SEC003"]
    edit = FixEdit(line=1, column=1, end_line=1, end_column=4, content="KEY")
    beside = replace(
        secrets[0],
        tool="ruff",
        rule="E711",
        anchor=None,
        fix=ToolFix(edits=(edit,), safe=True),
        category=Category.STYLE,
    )
    seen = seen_in([*secrets, beside], {"a.py": text})
    assert len(seen) == 3
    assert all(each.fix is None for each in seen)
    assert not any(secret in each.finding.anchor for each in seen for secret in (CHECKED, "k3Yp9sVq2Lm"))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", 'password = "your_password_here"\n'),
        ("a.py", 'password = os.environ["PASSWORD"]\n'),
        ("a.py", 'password = get_password("db-main-1")\n'),
        ("a.py", 'TOKEN_URL = "https://example.org/oauth2/token"\n'),
        ("a.py", 'password_hash = "5f4dcc3b5aa765d61d8327deb882cf99"\n'),
        ("a.py", 'token = "identifier"\nsecret_name = "prod/db-1/login"\n'),
        ("a.py", 'PASSWORD_FIELD = "user-password"\n'),
        ("a.py", 'key = "AKIA' + 'IOSFODNN7EXAMPLE"\n'),
        ("a.py", 'token = "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"\n'),
        ("app.yml", "db_password: ${{ secrets.DB_PASSWORD }}\n"),
        (".env.example", "API_KEY=f81d4fae7dec11d0a76500a0c91e6bf6\n"),
        ("tests/test_login.py", 'login(password="Tr0ub4dor&3x")\n'),
        ("tests/fixtures/id_rsa", PRIVATE),
        ("docs/keys.md", "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----\n"),
        ("a.py", 'HEADER = "-----BEGIN RSA PRIVATE KEY-----"\n'),
        ("poetry.lock", 'hash = "sha256:f81d4fae7dec11d0a76500a0c91e6bf6"\ntoken = "a81d4fae7dec11d0a76"\n'),
        ("package-lock.json", '"integrity": "sha512-v9Lq2tRz7wAAbb=="\n'),
        ("run.sh", "curl https://$USER:$PASSWORD@shop.internal/x\n"),
        ("run.py", 'url = f"https://{user}:{password}@shop.internal/x"\n'),
    ],
)
def test_what_only_looks_like_a_secret_is_not_said(path: str, text: str) -> None:
    """Placeholders, references, hashes, examples, fixtures and lock files are no secrets."""
    assert found(path, text) == ()


def test_a_token_with_a_valid_checksum_is_said_even_in_a_test() -> None:
    """A checksum that holds leaves no doubt, and a leaked token is leaked wherever it stands."""
    assert has_checksum(CHECKED)
    assert not has_checksum(CHECKED[:-1] + "x")
    assert [each.rule for each in found("tests/test_a.py", f"T = '{CHECKED}'\n")] == ["SEC001"]


def test_only_added_lines_count_and_a_moved_secret_is_old() -> None:
    """What stood in the file before is not this change's."""
    text = f'x = 1\nTOKEN = "{CHECKED}"\n'
    assert found("a.py", text, added={1}) == ()
    assert found("a.py", text, base=f'TOKEN = "{CHECKED}"\n') == ()


def test_a_key_whose_body_changed_is_new() -> None:
    """It is said on its first changed line, and the line is not kept."""
    (one,) = found("deploy/id_rsa", PRIVATE, base=PRIVATE.replace("MIIEpA", "MIIEpQ"), added={2})
    assert (one.line, one.anchor) == (2, "[secret removed]")


def test_long_lines_cost_what_they_are_long() -> None:
    """Nobody makes the search take longer than the text is."""
    assert found("a.py", ("a" * 4_900 + "\n") * 100 + ("password" * 600 + "\n") * 20) == ()


def test_what_is_detected_is_redacted_too() -> None:
    """Both read the same formats: a known secret leaves by no other way."""
    for secret in (CHECKED, AWS, PRIVATE.strip(), f"{TOKEN}.c2lnbmF0dXJlX29mX3RoaXM"):
        assert secret not in redact(f"before {secret} after")


def test_entropy_is_in_bits_a_character() -> None:
    """One letter holds none; four, evenly used, two bits each."""
    assert (entropy("aaaa"), entropy("abcd"), entropy("")) == (0.0, 2.0, 0.0)


def test_a_file_of_too_many_secrets_is_not_read() -> None:
    """Each may be repeated on the line of any other one, which costs the square of their number."""
    lines = [f'TOKEN = "ghp_zQWBuTSOoRi4A9spHcVY{number % 997:03}{number % 991:03}"\n' for number in range(1, 1_002)]
    assert len(found("a.py", "".join(lines[1:]))) == 1_000
    head = SourceTree(sources={"a.py": "".join(lines)}, target_version="py311")
    seen = Secrets().compare(Delta(head=head, base={}, added={"a.py": frozenset({1})}), ["a.py"])
    assert (seen.findings, dict(seen.unread)) == ((), {"a.py": "over 1,000 secrets"})
