"""Verifies on the raw bytes that a delivery comes from GitHub, before anything decodes them."""

from __future__ import annotations

import hashlib
import hmac

from workers.errors import BadInput

HEADER = "X-Hub-Signature-256"
_SCHEME = "sha256="


def sign(secret: bytes, body: bytes) -> str:
    """The value of X-Hub-Signature-256 for `body`."""
    return _SCHEME + hmac.new(_present(secret), body, hashlib.sha256).hexdigest()


def is_genuine(secret: bytes, body: bytes, signature: str) -> bool:
    """Whether `signature` was made with `secret` over exactly these bytes; takes the same time either way.

    Raises BadInput for an empty secret, which any sender could use.
    """
    return hmac.compare_digest(sign(secret, body).encode(), signature.encode(errors="surrogateescape"))


def _present(secret: bytes) -> bytes:
    if not secret:
        raise BadInput("there is no webhook secret; set APPRENTICE_WEBHOOK_SECRET to the secret of your GitHub App")
    return secret
