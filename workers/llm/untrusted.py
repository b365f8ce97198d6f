"""Other people's words before a model: marked as data, without what a reader cannot see. Pure.

No marking makes a model obey: what keeps harm away is that its tools can do none. This keeps honest models from being
misled by the cheap tricks: text that people do not see, text that plays the system, text that closes its own quotation.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from workers.redaction import redact

_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TOKENS = re.compile(r"<\|[^|>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?s>", re.IGNORECASE)
_KEPT = "\n\t"
_SHAPELESS = ("Cf", "Cc", "Co")


def seen(text: str) -> str:
    """What a person sees of a text: no HTML comments, no characters without a shape, nothing like a credential."""
    shown = _HTML_COMMENT.sub("", text.replace("\r\n", "\n"))
    visible = (each for each in shown if each in _KEPT or unicodedata.category(each) not in _SHAPELESS)
    return redact("".join(visible))


def verbatim(text: str) -> str:
    """A text to the letter, but that characters without a shape are spelt out and credentials are not."""
    return redact("".join(_shown(each) for each in text.replace("\r\n", "\n")))


def _shown(letter: str) -> str:
    shapeless = letter not in _KEPT and unicodedata.category(letter) in _SHAPELESS
    return f"⟨U+{ord(letter):04X}⟩" if shapeless else letter


def data(source: str, text: str, *, code: bool = False) -> str:
    """A text as data of a named source, between marks that it cannot write: their number is made of the text itself.

    `code` is given verbatim, other words as people see them. What chat templates take for their own is defused in both.
    """
    inner = _TOKENS.sub(lambda found: f"{found[0][0]}\u00a6{found[0][2:]}", verbatim(text) if code else seen(text))
    mark = hashlib.sha256(inner.encode(errors="replace")).hexdigest()[:8]
    return f'<data-{mark} source="{_label(source)}">\n{inner.strip(chr(10))}\n</data-{mark}>'


def _label(source: str) -> str:
    return re.sub(r"[^\w ./:@+-]", "_", source)[:120]
