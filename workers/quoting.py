"""Paths as git writes them in diffs: plain, or in quotes with C escapes (core.quotePath). Pure."""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_TO_ESCAPE = {value[0]: "\\" + key.decode() for key, value in _ESCAPED.items()} | {0x22: '\\"', 0x5C: "\\\\"}


def unquoted(name: str) -> str:
    """The path that git wrote as `name`; bytes that are not UTF-8 become surrogates, as in os.fsdecode."""
    if not (len(name) >= 2 and name.startswith('"') and name.endswith('"')):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(_unescape, raw).decode("utf-8", "surrogateescape")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPED.get(code, code)


def quoted(name: str) -> str:
    """`name` as git writes it in a diff: in quotes with escapes when it holds anything beside printable ASCII."""
    raw = name.encode("utf-8", "surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in _TO_ESCAPE for byte in raw):
        return name
    return '"' + "".join(_escape(byte) for byte in raw) + '"'


def _escape(byte: int) -> str:
    return _TO_ESCAPE.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}")
