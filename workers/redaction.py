"""Removes credentials from everything that we post. A second defence: no secret is near untrusted text in the first place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "a GitHub token": r"\bgh[opsur]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
        "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}",
        "a Stripe key": r"\b[rs]k_live_[A-Za-z0-9]{16,}",
        "a model provider's key": r"\bsk-[A-Za-z0-9_-]{20,}",
        "an AWS access key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        "a Google API key": r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
        "a Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
        "a Slack webhook": r"\bhooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}",
        "a SendGrid key": r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
        "an npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
        "a PyPI token": r"\bpypi-AgE[A-Za-z0-9_-]{50,}",
        "a Hugging Face token": r"\bhf_[A-Za-z0-9]{34}\b",
        "a JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?"
        r"(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        "a password in a URL": r"(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",
    }
)
"""The pattern of each kind of credential."""

_SECRETS = re.compile("|".join(FORMATS.values()), re.DOTALL)
REDACTED = "[secret removed]"


def redact(text: str) -> str:
    """The text with every credential replaced."""
    return _SECRETS.sub(REDACTED, text)
