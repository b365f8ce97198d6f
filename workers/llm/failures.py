"""What an endpoint's refusal means, named for what the caller does next. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workers.llm.errors import CallFailed, ContextOverflow, Failure, ModelError, ModelUnavailable
from workers.redaction import REDACTED, redact
from workers.settings import PREFIX

_LONGEST = 300
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|max(?:imum)? model (?:context )?len|"
    r"exceeds? (?:the )?(?:available |maximum |model'?s )*context|context (?:size|length|window) (?:has been )?exceeded|"
    r"exceeded max context|prompt is too long|input is too long|too many tokens|max_new_tokens` must be",
    re.IGNORECASE,
)
"""As OpenAI, vLLM, llama.cpp, Ollama and text-generation-inference say it."""
_TOO_LONG_WITH = frozenset({400, 413, 422, 500})
_PASSING = frozenset({408, 409, 425, 429})
_NO_MONEY = re.compile(r"insufficient_quota|billing_hard_limit", re.IGNORECASE)
_WHERE = {
    401: f"it wants another key; check {PREFIX}MODEL_API_KEY",
    403: f"the key may not do that; check {PREFIX}MODEL_API_KEY and {PREFIX}MODEL",
    404: f"there is no such model or address; check {PREFIX}MODEL, {PREFIX}MODEL_WEAK and {PREFIX}MODEL_BASE_URL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer with a status that is no success. `detail` is all that its body says, `said` the line for people."""

    status: int
    said: str
    detail: str
    retry_after: str = ""


def error_of(refusal: Refusal) -> ModelError:
    """The error that a refusal is."""
    line = f"the model's API answered {refusal.status}: {refusal.said or 'nothing'}"
    if too_long(refusal.detail) and refusal.status in _TOO_LONG_WITH:
        return ContextOverflow(f"the request is longer than the model can read: {refusal.said}")
    if refusal.status in _WHERE:
        return ModelUnavailable(f"{line}; {_WHERE[refusal.status]}")
    if _NO_MONEY.search(refusal.detail):
        return ModelUnavailable(f"{line}; see to the account behind {PREFIX}MODEL_API_KEY")
    if refusal.status in _PASSING or refusal.status >= 500:
        return CallFailed(Failure(said=line, charged=False, retry_after=refusal.retry_after))
    return ModelUnavailable(line)


def too_long(detail: str) -> bool:
    """Whether an endpoint complains that a request is longer than its model can read."""
    return _TOO_LONG.search(detail) is not None


def clear_line(text: str, key: str) -> str:
    """What an endpoint said as one line that may be shown: no credential in it, least of all our key."""
    hidden = text.replace(key, REDACTED) if key else text
    return " ".join(redact(hidden).split())[:_LONGEST]
