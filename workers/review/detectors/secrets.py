"""Secrets that a change adds to any text file. Pure: nothing is run, and no message or anchor repeats a secret.

A token whose checksum holds is real, and a finding in any file. What only looks like a secret is none in tests,
examples and lock files, nor where it reads as a placeholder or has too little entropy to be one.
"""

import base64
import binascii
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from memory.model import Severity
from memory.parsing import BOM
from workers.diffs import split_lines
from workers.redaction import FORMATS, REDACTED
from workers.review.detectors.detector import Category, Delta, Detection, DetectorFailed, RawFinding, by_file
from workers.review.detectors.rules import is_lock_file

KNOWN, PRIVATE_KEY, PASSWORD = "SEC001", "SEC002", "SEC003"

MOST = 1_000
"""Secrets of a file: each may be on the line of any other one, and no record may repeat it."""

_KEY, _WEB_TOKEN = "a private key", "a JSON web token"
_KEY_BODY = re.compile(r"(?:\s|\\n|[\"'+,])*(?:[A-Za-z-]+: [^\n]*\n\s*)*([A-Za-z0-9+/=]{40,})")
_FORMATS = {name: re.compile(pattern, re.DOTALL) for name, pattern in FORMATS.items()}
_MIN_ENTROPY = 2.8
"""Bits a character; words and repetitions have less."""
_WORD = r"(?:passw(?:or)?d|passphrase|secret|token|api_?key|access_?key|auth_?key|private_?key)[\w.-]{0,60}"
_BEFORE_WORD = re.compile(r"[\w.-]{0,60}$")
_QUOTED = re.compile(
    rf"""(?P<name>{_WORD})["']?\]?\s{{0,9}}(?::\s{{0,9}}\w{{1,60}}\s{{0,9}})?(?:=|:|=>)\s{{0,9}}"""
    r"""[bru]?(?P<mark>["'])(?P<value>[^"'\s]{8,200})(?P=mark)""",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"\s*(?:export\s+|-\s+)?(?P<name>[\w.-]{{0,60}}{_WORD})\s{{0,9}}[=:]\s{{0,9}}"
    r"(?P<value>[^\s\"'#,;]{8,200})\s*$",
    re.IGNORECASE,
)
_BARE_SUFFIXES = frozenset({".env", ".ini", ".cfg", ".conf", ".yml", ".yaml", ".properties", ".sh", ".tfvars"})
_CODE = re.compile(r"[(){}\[\]<>$%*\s]|^\.|\.\.\.|://|^[\w.-]+/[\w./-]+$|@\w+\.\w+$")
_PLACEHOLDER = re.compile(
    r"example|sample|dummy|fake|placeholder|changeme|change[-_]me|replace|your|redacted|insert|todo|fixme|test|mock"
    r"|demo|secret_?key|password|passwd|hunter2|foobar|deadbeef|x{4,}|0{6,}|\*{3,}|1234567|abcdef|qwerty|none|null",
    re.IGNORECASE,
)
_NOT_VALUES = re.compile(
    r"hash|digest|sha\d|md5|checksum|integrity|fingerprint|commit|public|_id\b|url|path|file|type|name$", re.IGNORECASE
)
_WORDS = re.compile(r"[A-Za-z]+(?:[-_.:][A-Za-z]+)*")
_EXAMPLE_PATH = re.compile(
    r"(^|/)(tests?|testing|testdata|fixtures?|mocks?|examples?|samples?|demos?|cassettes|docs?)/"
    r"|(^|/)(test_[^/]*|[^/]*_test\.\w+|conftest\.py)$|[._-](example|sample|template|dist)\b|\.(md|rst)$",
    re.IGNORECASE,
)
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Secret:
    """A secret in a text, by the offsets of its characters."""

    rule: str
    kind: str
    start: int
    end: int


class Secrets:
    """The `ChangeDetector` of keys, tokens and passwords on added lines; no comment in the code silences it."""

    name = "secrets"

    def reads(self, path: str) -> bool:
        return bool(path)

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        return by_file(paths, lambda path: _added(path, delta))


def _added(path: str, delta: Delta) -> Iterator[RawFinding]:
    """The secrets that the change added; one that only moved within its file is old."""
    text, before, added = delta.head.sources[path], delta.base.get(path, ""), delta.added.get(path, frozenset())
    if not added:
        return
    lines = split_lines(text)
    old = {before[each.start : each.end] for each in (*_known(before), *_passwords(path, before))}
    found, first, counted = secrets_in(path, text), 1, 0
    if len(found) > MOST:
        raise DetectorFailed(f"over {MOST:,} secrets")
    values = [text[each.start : each.end] for each in found]
    for secret in found:
        first, counted = first + text.count("\n", counted, secret.start), secret.start
        value = text[secret.start : secret.end]
        line = next((line for line in range(first, first + value.count("\n") + 1) if line in added), None)
        if line is not None and value not in old:
            source = _without(lines[line - 1], value)
            for other in values:  # which may be on the same line
                source = source.replace(other, REDACTED)
            yield _finding(path, line, source, secret)


def _without(source: str, value: str) -> str:
    """A line with its part of the secret replaced; a line within a key is nothing else."""
    first = value.split("\n")[0]
    return source.replace(first, REDACTED) if first in source else REDACTED


def _finding(path: str, line: int, anchor: str, secret: _Secret) -> RawFinding:
    return RawFinding(
        path=path,
        line=line,
        end_line=line,
        tool=Secrets.name,
        rule=secret.rule,
        category=Category.SECURITY,
        severity=Severity.MAJOR if secret.rule == PASSWORD else Severity.CRITICAL,
        message=f"{secret.kind[0].upper()}{secret.kind[1:]} is added here; "
        "revoke it, and read it from the environment or a secret store: history keeps what a commit removes.",
        anchor=" ".join(anchor.split()),
    )


def secrets_in(path: str, text: str) -> list[_Secret]:
    """Every secret in the text of a file, in order, none inside another."""
    quiet = _EXAMPLE_PATH.search(path) is not None or is_lock_file(path)  # what looks like a secret is expected there
    known = [secret for secret in _known(text) if _is_reported(secret, text, quiet=quiet)]
    named = [] if quiet else list(_passwords(path, text))
    taken = bytearray(len(text))
    for secret in known:
        taken[secret.start : secret.end] = b"\1" * (secret.end - secret.start)
    free = [secret for secret in named if not (taken[secret.start] or taken[secret.end - 1])]
    return sorted((*known, *free), key=lambda secret: secret.start)


def _known(text: str) -> Iterator[_Secret]:
    for kind, pattern in _FORMATS.items():
        for match in pattern.finditer(text):
            rule = PRIVATE_KEY if kind == _KEY else PASSWORD if kind == "a password in a URL" else KNOWN
            start = match.start() + max(match[0].find("eyJ") if kind == _WEB_TOKEN else 0, 0)
            yield _Secret(rule=rule, kind=kind, start=start, end=match.end())


def _is_reported(secret: _Secret, text: str, *, quiet: bool) -> bool:
    value = text[secret.start : secret.end]
    if has_checksum(value):
        return True
    if quiet or _PLACEHOLDER.search(value):
        return False
    if secret.kind == _KEY:
        body = _KEY_BODY.match(value.partition("KEY")[2].lstrip("BLOCK -"))
        return body is not None and entropy(body.group(1)) >= _MIN_ENTROPY
    if secret.kind == _WEB_TOKEN:
        return _is_web_token(value)
    if secret.rule == PASSWORD:
        password = value.partition(":")[2]
        return not _CODE.search(password) and entropy(password) >= _MIN_ENTROPY
    return entropy(value) >= _MIN_ENTROPY


def has_checksum(token: str) -> bool:
    """Whether it is a token of GitHub's or npm's whose last six characters are the checksum of those before."""
    prefix, _, body = token.partition("_")
    if len(body) != 36 or prefix not in ("ghp", "gho", "ghu", "ghs", "ghr", "npm"):
        return False
    number, written = zlib.crc32(body[:30].encode()), ""
    while number:
        number, digit = divmod(number, 62)
        written = _BASE62[digit] + written
    return body[30:] == written.rjust(6, "0")


def _is_web_token(value: str) -> bool:
    head = value.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return False
    return (
        isinstance(header, dict) and "alg" in header and not value.split(".")[1].startswith("eyJzdWIiOiIxMjM0NTY3ODkw")
    )


def _passwords(path: str, text: str) -> Iterator[_Secret]:
    pure = PurePosixPath(path)
    settings = pure.suffix in _BARE_SUFFIXES or pure.name.startswith(".env")
    offset = 0
    for line in split_lines(text):
        bare = _BARE.match(line.removeprefix(BOM)) if settings else None
        quoted = list(_QUOTED.finditer(line))
        skipped = 0 if quoted else len(line) - len(line.removeprefix(BOM))
        for match in quoted or ([bare] if bare else []):
            before = _BEFORE_WORD.search(match.string, max(0, match.start("name") - 60), match.start("name"))
            name = f"{before[0] if before else ''}{match['name']}"
            if _is_password(name, match["value"]):
                start, end = (offset + skipped + at for at in match.span("value"))
                yield _Secret(rule=PASSWORD, kind=f"a secret value for `{name[-60:]}`", start=start, end=end)
        offset += len(line)


def _is_password(name: str, value: str) -> bool:
    """Whether a value given to a name like `password` is hard to guess."""
    if _NOT_VALUES.search(name) or _CODE.search(value) or _PLACEHOLDER.search(value) or _WORDS.fullmatch(value):
        return False
    kinds = sum(re.search(kind, value) is not None for kind in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]"))
    return value.isascii() and kinds >= 2 and any(map(str.isdigit, value)) and entropy(value) >= _MIN_ENTROPY


def entropy(text: str) -> float:
    """Shannon's entropy of the characters, in bits each; 0 for an empty text."""
    counts = Counter(text)
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())
