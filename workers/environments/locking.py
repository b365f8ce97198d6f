"""Resolves requirements to an exact list of wheels with hashes. Nothing is executed: uv resolves with `--no-build`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion

from workers.environments.fetching import RemoteFile, source_of
from workers.environments.interpreters import Interpreter
from workers.environments.uv_command import PackageIndexes, UvFailed, run_uv
from workers.errors import CannotRun

MOST_BUILT = 12
"""Source distributions that are built for one environment."""

MOST_DOWNLOAD_MB = 3000

_WITHOUT_WHEEL = re.compile(r"Wheels are required for `([^`]+)`")
_HASH = re.compile(r"--hash[= ]sha256:([0-9a-f]{64})")
_ELSEWHERE = "not at the requested version"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedWheel:
    """One wheel of an environment."""

    name: str
    version: str
    file: RemoteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an environment shall hold: PEP 508 lines. `own` names are never looked up: the repository defines them itself."""

    requirements: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves on one interpreter. `build` makes a wheel of a source distribution."""

    interpreter: Interpreter
    given: PackageIndexes
    cache_directory: Path
    build: Callable[[RemoteFile], Path]
    progress: Callable[[str], None]

    def locked(self, wanted: Wanted, place: Path) -> tuple[LockedWheel, ...]:
        """The wheels; `place` is an empty directory for uv's files. Raises CannotRun with uv's reason.

        Pins that cannot all be met are given up, with a line that says so.
        """
        try:
            found = self._resolved(wanted, place)
        except UvFailed as reason:
            if not wanted.constraints:
                raise
            self.progress(f"the repository's pins cannot all be met on Python {self.interpreter.minor}: {reason}")
            found = self._resolved(Wanted(requirements=wanted.requirements, own=wanted.own), place)
        if (size := sum(each.file.size for each in found) >> 20) > MOST_DOWNLOAD_MB:
            raise CannotRun(f"the packages are {size} MB, over the limit of {MOST_DOWNLOAD_MB} MB: name lighter ones")
        return found

    def _resolved(self, wanted: Wanted, place: Path) -> tuple[LockedWheel, ...]:
        built: dict[str, Path] = {}
        given, stated = self.given, _stated_hashes((*wanted.requirements, *wanted.constraints))
        while True:
            try:
                found = tuple(self._chosen(self._compiled(wanted, place, built.values(), given)))
            except UvFailed as reason:
                missing = [canonicalize_name(name) for name in _WITHOUT_WHEEL.findall(str(reason))]
                missing = [name for name in dict.fromkeys(missing) if name not in built]
                if _ELSEWHERE in str(reason) and given.directories:
                    self.progress(f"{', '.join(given.directories)} has too few versions: the other indexes are asked")
                    given = given.without_directories()
                elif not missing or len(built) + len(missing) > MOST_BUILT:
                    raise
                for name in missing:
                    source = source_of(name, _versions(name, str(reason), wanted), self.interpreter.version, given)
                    _hold(source, stated)
                    built[name] = self.build(source)
            else:
                for wheel in found:
                    if canonicalize_name(wheel.name) not in built:
                        _hold(wheel.file, stated)
                return found

    def _compiled(
        self, wanted: Wanted, place: Path, built: Iterable[Path], given: PackageIndexes
    ) -> Sequence[Mapping[str, Any]]:
        """The packages of uv's lock (PEP 751)."""
        for name, lines in {
            "requirements": map(_bare, wanted.requirements),
            "constraints": map(_bare, wanted.constraints),
            "excludes": sorted(wanted.own),
        }.items():
            (place / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        text = run_uv(
            *(
                "pip",
                "compile",
                "--no-build",
                "--no-sources",
                "--no-header",
                "--no-annotate",
                "--format",
                "pylock.toml",
            ),
            *(
                "--python",
                str(self.interpreter.python),
                "--constraints",
                "constraints.txt",
                "--excludes",
                "excludes.txt",
            ),
            *(f"--find-links={wheel.parent}" for wheel in built),
            "requirements.txt",
            at=place,
            cache_directory=self.cache_directory,
            given=given,
        )
        packages: list[Mapping[str, Any]] = tomllib.loads(text).get("packages", [])
        return packages

    def _chosen(self, packages: Iterable[Mapping[str, Any]]) -> Iterator[LockedWheel]:
        ranks = self.interpreter.tags()
        for package in packages:
            usable = []
            for wheel in package.get("wheels", ()):
                file = _file(wheel)
                tags = _tags(file.filename)
                usable += [(ranks[tag], file) for tag in tags if tag in ranks]
            if not usable:
                raise CannotRun(
                    f"no wheel of {package['name']} {package['version']} fits Python {self.interpreter.minor}"
                )
            best = min(usable, key=lambda each: each[0])[1]
            yield LockedWheel(name=package["name"], version=package["version"], file=best)


def usable(lines: Iterable[str], progress: Callable[[str], None]) -> tuple[str, ...]:
    """The lines that name a distribution by name and versions; one that names an address or no distribution is left out."""
    kept = []
    for line in lines:
        try:
            requirement = Requirement(_bare(line))
        except InvalidRequirement:
            progress(f"left out, because it is no requirement: {line[:200]}")
            continue
        if requirement.url:
            progress(f"left out, because packages come from the operator's indexes alone: {line[:200]}")
        else:
            kept.append(line)
    return tuple(kept)


def _bare(line: str) -> str:
    """A requirement without the hashes that follow it."""
    return line.partition(" --hash")[0].strip()


def _file(wheel: Mapping[str, Any]) -> RemoteFile:
    url = wheel.get("url") or wheel["path"]
    name = wheel.get("name") or url.rpartition("/")[2]
    if not (sha256 := wheel.get("hashes", {}).get("sha256")):
        raise CannotRun(f"the index states no SHA-256 of {name}: refused")
    return RemoteFile(filename=name, url=url, sha256=sha256, size=wheel.get("size", 0))


def _tags(filename: str) -> frozenset[Tag]:
    try:
        return parse_wheel_filename(filename)[3]
    except (InvalidWheelFilename, InvalidVersion):
        return frozenset()


def _versions(name: str, reason: str, wanted: Wanted) -> SpecifierSet:
    """The versions of a distribution that the requirements allow, and those which its dependents ask for in uv's words."""
    found = SpecifierSet()
    for line in (*wanted.requirements, *wanted.constraints):
        requirement = Requirement(_bare(line))
        if canonicalize_name(requirement.name) == name:
            found &= requirement.specifier
    for words in re.findall(rf"(?:depends on|require) {re.escape(name)}([<>=!~][^\s]*[^\s,])", reason):
        with suppress(InvalidSpecifier):
            found &= SpecifierSet(words)
    return found


def _stated_hashes(lines: Iterable[str]) -> dict[str, set[str]]:
    """The hashes that a repository states, by the beginning of the names of files: distribution and version."""
    stated: dict[str, set[str]] = {}
    for line in lines:
        if hashes := _HASH.findall(line):
            requirement = Requirement(_bare(line))
            stated.setdefault(f"{canonicalize_name(requirement.name)}{requirement.specifier}", set()).update(hashes)
    return stated


def _hold(file: RemoteFile, stated: Mapping[str, Collection[str]]) -> None:
    """Raise CannotRun for a file whose hash the repository states otherwise."""
    name, version = (
        parse_wheel_filename(file.filename)[:2]
        if file.filename.endswith(".whl")
        else parse_sdist_filename(file.filename)
    )
    if (known := stated.get(f"{name}=={version}")) and file.sha256 not in known:
        raise CannotRun(f"{file.filename} has another hash than the repository states: refused")
