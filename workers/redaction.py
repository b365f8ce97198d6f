"""Removes credentials from everything that we post, log and show to a model: what looks like one, and our own exactly.

A second defence: no secret is near untrusted text in the first place.
"""

import functools
import html
import json
import re
import threading
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from urllib.parse import quote, quote_plus

_START = r"(?<![A-Za-z0-9])"
"""Before a credential; a name and an underscore may lead to it."""
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "a GitHub token": _START + r"(?:ghs_[A-Za-z0-9]{1,40}_[A-Za-z0-9._-]{36,}|gh[opsur]_[A-Za-z0-9]{16,}"
        r"|github_pat_[A-Za-z0-9_]{20,})",
        "a GitLab token": _START + r"glpat-[A-Za-z0-9_-]{20,}",
        "a Stripe key": _START + r"[rs]k_live_[A-Za-z0-9]{16,}",
        "a model provider's key": _START + r"sk-[A-Za-z0-9_-]{20,}",
        "an AWS access key": _START + r"(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        "a Google API key": _START + r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
        "a Slack token": _START + r"xox[abprs]-[A-Za-z0-9-]{10,}",
        "a Slack webhook": _START + r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}",
        "a SendGrid key": _START + r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
        "an npm token": _START + r"npm_[A-Za-z0-9]{36}\b",
        "a PyPI token": _START + r"pypi-AgE[A-Za-z0-9_-]{50,}",
        "a Hugging Face token": _START + r"hf_[A-Za-z0-9]{34}\b",
        # From the beginning of a word to its first `eyJ`: tried at each `eyJ` of a long word, it would be quadratic.
        "a JSON web token": r"(?<![A-Za-z0-9_-])(?:(?!\beyJ)[A-Za-z0-9_-])*\beyJ[A-Za-z0-9_-]{10,}+"
        r"\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}",
        "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?"
        r"(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        # Up to the last `@` before the path: a user's name and a password may hold others. Two stars are a removed one.
        "a password in a URL": r"(?<=://)[^\s/:]*:(?!\*\*@[^\s@]*(?:\s|\Z))[^\s/@]+(?:@[^\s/@\"'`<>]+)*(?=@)",
    }
)
"""The pattern of each kind of credential. That of a web token matches the rest of its word too."""

MARKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "a GitHub token": ("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_"),
        "a GitLab token": ("glpat-",),
        "a Stripe key": ("k_live_",),
        "a model provider's key": ("sk-",),
        "an AWS access key": ("AKIA", "ASIA"),
        "a Google API key": ("AIza",),
        "a Slack token": ("xox",),
        "a Slack webhook": ("hooks.slack.com",),
        "a SendGrid key": ("SG.",),
        "an npm token": ("npm_",),
        "a PyPI token": ("pypi-AgE",),
        "a Hugging Face token": ("hf_",),
        "a JSON web token": (".eyJ",),
        "a private key": ("PRIVATE KEY",),
        "a password in a URL": ("://",),
    }
)
"""One of these texts is in each credential of a kind: to look for them is far quicker than to try its pattern everywhere."""

REDACTED = "[secret removed]"


def redact(text: str) -> str:
    """The text with every credential replaced."""
    return _without(text, lambda _found: REDACTED)


def redact_lines(text: str) -> str:
    """The same with as many lines: of one alone, nothing shows that it is inside of a key."""
    return _without(text, lambda found: "\n".join(REDACTED for _ in found[0].split("\n")))


def _without(text: str, instead: Callable[[re.Match[str]], str]) -> str:
    rest = own_secrets.removed_from(text)
    possible = [kind for mark, kind in _KINDS if mark in rest]
    return _any_of(frozenset(possible)).sub(instead, rest) if possible else rest


_KINDS = tuple((mark, kind) for kind, marks in MARKS.items() for mark in marks)


@functools.cache
def _any_of(kinds: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(pattern for kind, pattern in FORMATS.items() if kind in kinds), re.DOTALL)


SHORTEST_SECRET = 8
"""Characters; the removal of a shorter secret would garble ordinary words."""
MAX_TOKENS = 500
"""Tokens that are remembered; they end after an hour, and their format is known."""


class OwnSecrets:
    """The secrets that this process holds, found exactly, in each form in which a text may hold them, the longest first.

    The time is linear in the text: each form is one search for a fixed string.
    """

    def __init__(self) -> None:
        self._lasting: dict[str, tuple[str, ...]] = {}
        self._adding = threading.Lock()
        self._tokens: deque[tuple[str, ...]] = deque(maxlen=MAX_TOKENS)

    def add(self, secret: str) -> None:
        """Remember a secret for the life of this process: the whole, and each line of a key."""
        with self._adding:
            known = dict(self._lasting)  # other threads may be reading the old one
            for part in (secret, *(line for line in secret.splitlines() if not line.startswith("-----"))):
                if len(part) >= SHORTEST_SECRET:
                    known[part] = tuple(sorted(set(_forms(part)), key=len, reverse=True))
            self._lasting = {part: known[part] for part in sorted(known, key=len, reverse=True)}

    def add_token(self, token: str) -> None:
        """Remember a token that ends by itself."""
        self._tokens.append(tuple(set(_forms(token))))

    def removed_from(self, text: str) -> str:
        """The text with every form of every secret replaced."""
        for forms in (*self._lasting.values(), *self._tokens):
            for form in forms:
                text = text.replace(form, "\n".join(REDACTED for _ in form.split("\n")))
        return text


own_secrets = OwnSecrets()
"""One for the process: a secret that one part of it read must not leave through another."""


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, and as JSON, Python, URLs, HTML, base64 and hexadecimal digits write it."""
    raw = secret.encode("utf-8", "surrogateescape")
    yield from (secret, html.escape(secret), repr(secret)[1:-1], repr(raw)[2:-1], raw.hex())
    yield from (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    for quoted in (quote(raw), quote(raw, safe=""), quote_plus(raw)):
        yield from (quoted, re.sub("%..", lambda found: found[0].lower(), quoted))
    # Base64 depends on how many bytes are before it; its first and last digit on the neighbours.
    for before in range(3):
        encoded = b64encode(bytes(before) + raw).decode()[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        yield from (encoded, encoded.translate(_URL_SAFE))


_URL_SAFE = str.maketrans("+/", "-_")
