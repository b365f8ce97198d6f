"""Keeps secrets out of everything that leaves: a last net under the rule that no secret is near untrusted text."""

from __future__ import annotations

import re

_SECRETS = re.compile(
    r"""
      \bgh[opsur]_[A-Za-z0-9]{16,}                       # GitHub tokens
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bsk-[A-Za-z0-9_-]{20,}                            # model providers' keys
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b                      # AWS access keys
    | \bxox[abprs]-[A-Za-z0-9-]{10,}                     # Slack tokens
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}   # JSON web tokens
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?<=://)[^\s/:@]+:[^\s/@]+(?=@)                    # credentials in a URL
    """,
    re.VERBOSE | re.DOTALL,
)
REDACTED = "[secret removed]"


def redact(text: str) -> str:
    """The text with everything that looks like a credential replaced."""
    return _SECRETS.sub(REDACTED, text)
