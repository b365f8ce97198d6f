"""Verifies on the raw bytes that a delivery comes from GitHub, before anything decodes them."""

import functools
import hashlib
import hmac

from workers.errors import BadInput

HEADER = "X-Hub-Signature-256"
UNSET = "there is no webhook secret; set APPRENTICE_WEBHOOK_SECRET to the secret of your GitHub App"


def sign(secret: bytes, body: bytes | bytearray) -> str:
    """The value of X-Hub-Signature-256 for `body`. Raises BadInput for an empty secret, which any sender could use."""
    if not secret:
        raise BadInput(UNSET)
    mac = _begun(secret).copy()
    mac.update(body)
    return "sha256=" + mac.hexdigest()


@functools.cache
def _begun(secret: bytes) -> hmac.HMAC:
    return hmac.new(secret, digestmod=hashlib.sha256)


def is_genuine(secret: bytes, body: bytes | bytearray, signature: str) -> bool:
    """Whether `signature` was made with `secret` over exactly these bytes; takes the same time either way."""
    return hmac.compare_digest(sign(secret, body).encode(), signature.encode(errors="surrogateescape"))
