"""Risks in dependencies that a change adds: where they come from, whether they are pinned, what they are called. Pure."""

import configparser
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from memory.model import Severity
from memory.parsing import BOM
from workers.diffs import split_lines
from workers.environments.tree_files import parsed_ini, table, toml
from workers.review.detectors.detector import Category, Delta, Detection, DetectorFailed, RawFinding, by_file

SHORTEST = 5
"""Names shorter than this are close to too many others to mean anything."""


@cache
def popular() -> frozenset[str]:
    """The names that a typing error may be meant for."""
    return frozenset(Path(__file__).with_name("popular_packages.txt").read_text(encoding="utf-8").split())


@lru_cache(maxsize=4096)
def mistaken_for(name: str) -> str | None:
    """The very popular package whose name is one edit away from this other name, if there is one.

    An edit is a letter added, left out, changed, or swapped with its neighbour; a hyphen added or left out is one too.
    """
    own = canonicalize_name(name)
    if own in popular() or len(own) < SHORTEST:
        return None
    return next((known for known in sorted(popular()) if len(known) >= SHORTEST and is_one_edit(own, known)), None)


def is_one_edit(one: str, other: str) -> bool:
    """Whether one edit leads from one name to the other."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    at = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at : at + 2][::-1] == long[at : at + 2] and short[at + 2 :] == long[at + 2 :]
    return swapped or short[at + 1 :] == long[at + 1 :]


UNPINNED, UNTRACED, EXTRA_INDEX, LOOKALIKE = "DEP001", "DEP002", "DEP003", "DEP004"
_REQUIREMENTS = re.compile(r"(?:^|[-_.])(?:requirements|constraints)(?:[-_.]|$)")
_NAME = re.compile(r"[\w.-]+")
_INDEX = re.compile(r"^\s*(?:-i|--index-url|--extra-index-url|--find-links|-f|--trusted-host)[=\s]\s*(\S+)")
_TABLE = re.compile(r"tool\.(?:uv\.index|poetry\.source|pdm\.source)\]")
_URL = re.compile(r"\s*url\s*=\s*[\"']([^\"']+)")
_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTIONS = re.compile(r"(?<!\s)\s+--?[a-z].*$")
_COMMIT = re.compile(r"@(?=[a-f]*[0-9])[0-9a-f]{7,40}(?=$|[#?])|/archive/[0-9a-f]{40}\.")
_ARCHIVE = re.compile(r"https?://[^/]+/[^/]+/([^/]+)/(?:-/)?archive/")
_HASHED = re.compile(r"[#&]sha(?:256|384|512)=[0-9a-f]{64,}")
_PYPI = re.compile(r"https://(?:test\.)?pypi\.org/simple/?$")
MAX_NEW, MAX_PLACES = 1_000, 50
"""New requirements of a file that are looked at, and lines that one of them is looked for on."""
_MIN_PINNED = 3
"""How many requirements must be pinned, and all but the new ones, before an unpinned one is a finding."""

_ABOUT = {
    LOOKALIKE: (Severity.MAJOR, "`{0}` is one letter away from the popular `{1}`; make sure that it is meant."),
    UNTRACED: (
        Severity.MAJOR,
        "`{0}` is fetched from a place that can serve other code tomorrow; give the full commit, or the file's hash.",
    ),
    UNPINNED: (Severity.MINOR, "`{0}` is not pinned, while everything else in this file is."),
    EXTRA_INDEX: (
        Severity.MAJOR,
        "Packages may now come from another index; a name that exists on both can be taken over there.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRequirement:
    """One requirement, as written: `source` is a URL or a repository, empty for an index."""

    text: str
    name: str
    source: str
    pinned: bool


class Dependencies:
    """The `ChangeDetector` of what requirement files, pyproject.toml and setup.cfg newly ask for."""

    name = "dependencies"

    def reads(self, path: str) -> bool:
        pure = PurePosixPath(path)
        is_list = pure.suffix in (".txt", ".in") and (
            _REQUIREMENTS.search(pure.stem) or pure.parent.name == "requirements"
        )
        return pure.name in ("pyproject.toml", "setup.cfg") or bool(is_list)

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        changed = (path for path in paths if self.reads(path) and delta.added.get(path))
        return by_file(changed, lambda path: _risks(path, delta))


def _risks(path: str, delta: Delta) -> Iterator[RawFinding]:
    lines, added = split_lines(delta.head.sources[path]), sorted(delta.added[path])
    now = needed_in(path, delta.head.sources[path])
    try:
        before = needed_in(path, delta.base.get(path, ""))
    except DetectorFailed:
        before = []  # what could not be understood before gives nothing to compare with
    old, known = {each.text for each in before}, {each.name for each in before}
    new = list({each.text: each for each in now if each.text not in old}.values())
    if len(new) > MAX_NEW:
        raise DetectorFailed(f"over {MAX_NEW:,} new requirements")
    rest = [each for each in now if each.text in old]
    rest_is_pinned = len(rest) >= _MIN_PINNED and all(each.pinned or each.source for each in rest)
    index = _index(lines, added)
    for each in new:
        places = (number for word in _words(each.text)[:1] for number in index.get(word, ()))
        place = next((number for number in places if _is_on(each, lines[number - 1])), None)
        if place is not None:
            yield from _of_one(path, place, each, known=each.name in known, rest_is_pinned=rest_is_pinned)
    old_urls = {url for _, url in _urls(path, split_lines(delta.base.get(path, "")))}
    for number, url in _urls(path, lines):
        if number in delta.added[path] and not _PYPI.match(url) and url not in old_urls:
            yield _finding(path, number, EXTRA_INDEX)


def _index(lines: Sequence[str], numbers: Sequence[int]) -> Mapping[str, list[int]]:
    """The first lines on which each word is, but for those of comments."""
    index: dict[str, list[int]] = {}
    for number in numbers:
        for word in set(_words(_COMMENT.sub("", lines[number - 1]))):
            if len(places := index.setdefault(word, [])) < MAX_PLACES:
                places.append(number)
    return index


def _words(text: str) -> list[str]:
    """Its names, as an index of packages compares them."""
    return [canonicalize_name(word) for word in _NAME.findall(text)]


def _is_on(needed: WrittenRequirement, line: str) -> bool:
    """Whether a line holds the requirement, or the key that Poetry writes it under."""
    whole = rf"(?<![\w.-]){re.escape(needed.text)}(?![\w.-])"
    key = rf"\s*[\"']?{re.escape(needed.name).replace('-', '[-_.]')}[\"']?\s*="
    return re.search(whole, line) is not None or re.match(key, line, re.IGNORECASE) is not None


def _of_one(
    path: str, line: int, needed: WrittenRequirement, *, known: bool, rest_is_pinned: bool
) -> Iterator[RawFinding]:
    near = None if known else mistaken_for(needed.name)
    if near:
        yield _finding(path, line, LOOKALIKE, needed.name, near)
    if needed.source and not (_COMMIT.search(needed.source) or _HASHED.search(needed.source)):
        yield _finding(path, line, UNTRACED, needed.name)
    elif rest_is_pinned and not (needed.pinned or needed.source):
        yield _finding(path, line, UNPINNED, needed.name)


def _urls(path: str, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The indexes that a file names, with their lines: by an option, or as `url` in a table of uv, Poetry or PDM."""
    named = False
    for number, line in enumerate(lines, start=1):
        if path.endswith(".toml") and line.startswith("["):
            named = _TABLE.search(line) is not None
        if match := _INDEX.match(line) or (_URL.match(line) if named else None):
            yield number, match[1]


def needed_in(path: str, text: str) -> list[WrittenRequirement]:
    """Every requirement in a file; raises DetectorFailed when the file cannot be understood."""
    name = PurePosixPath(path).name
    written = (
        _in_pyproject(text) if name == "pyproject.toml" else _in_setup(text) if name == "setup.cfg" else _in_list(text)
    )
    found = (_needed(each) for each in written)
    return [each for each in found if each is not None]


_EDITABLE = re.compile(r"^(?:-e|--editable)(?:=|[ \t])[ \t]*")


def _in_list(text: str) -> Iterator[str]:
    for line in split_lines(text.removeprefix(BOM)):
        plain = _OPTIONS.sub("", _COMMENT.sub("", line.rstrip("\\\r\n")).strip()).strip()
        yield _EDITABLE.sub("", plain)


def _in_setup(text: str) -> Iterator[str]:
    try:
        parser = parsed_ini(configparser.ConfigParser(interpolation=None, strict=False), text.removeprefix(BOM))
    except configparser.Error as error:
        raise DetectorFailed(f"not an INI file ({str(error).splitlines()[0][:120]})") from error
    for section in parser.sections():
        for option, value in parser.items(section):
            if (section, option) in (("options", "install_requires"), ("options", "setup_requires")) or (
                section == "options.extras_require"
            ):
                yield from _in_list(value)


def _in_pyproject(text: str) -> Iterator[str]:
    try:
        document = toml(text)
    except ValueError as error:
        raise DetectorFailed(f"not TOML ({str(error)[:120]})") from error
    project, build, groups = (table(document, key) for key in ("project", "build-system", "dependency-groups"))
    lists = [project.get("dependencies"), build.get("requires"), *groups.values()]
    lists += table(project, "optional-dependencies").values()
    for found in lists:
        yield from (each for each in found if isinstance(each, str)) if isinstance(found, list) else ()
    poetry = table(document, "tool", "poetry")
    tables = [poetry, *(group for group in table(poetry, "group").values() if isinstance(group, dict))]
    for each in tables:
        yield from _of_poetry(table(each, "dependencies"))
        yield from _of_poetry(table(each, "dev-dependencies"))


def _of_poetry(table: Mapping[str, object]) -> Iterator[str]:
    for name, wanted in table.items():
        if isinstance(wanted, dict) and isinstance(wanted.get("git"), str):
            revision = wanted.get("rev") or wanted.get("branch") or wanted.get("tag") or "HEAD"
            yield f"{name} @ git+{wanted['git']}@{revision}"
        elif isinstance(wanted, dict) and isinstance(wanted.get("url"), str):
            yield f"{name} @ {wanted['url']}"
        elif name != "python":
            yield name


def _needed(text: str) -> WrittenRequirement | None:
    """The requirement that a text states; None for options, paths and what is no requirement."""
    if re.match(r"(git|hg|svn|bzr)\+|https?://", text):
        name = re.search(r"egg=([\w.-]+)", text) or _ARCHIVE.match(text)
        named = name[1] if name else re.split(r"[@#?]", text)[0].rstrip("/").rpartition("/")[2].removesuffix(".git")
        return WrittenRequirement(
            text=text, name=canonicalize_name(named), source=text, pinned=bool(_COMMIT.search(text))
        )
    try:
        parsed = Requirement(text)
    except (InvalidRequirement, RecursionError):
        return None
    pinned = any(each.operator in ("==", "===") and "*" not in each.version for each in parsed.specifier)
    return WrittenRequirement(text=text, name=canonicalize_name(parsed.name), source=parsed.url or "", pinned=pinned)


def _finding(path: str, line: int, rule: str, *names: str) -> RawFinding:
    severity, message = _ABOUT[rule]
    return RawFinding(
        path=path,
        line=line,
        end_line=line,
        tool=Dependencies.name,
        rule=rule,
        category=Category.MAINTAINABILITY if rule == UNPINNED else Category.SECURITY,
        severity=severity,
        message=message.format(*names),
    )
