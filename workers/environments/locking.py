"""Resolves requirements to an exact list of wheels with hashes. Nothing is executed: uv builds nothing."""

import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from packaging.pylock import PackageSdist, PackageWheel, Pylock, PylockSelectError, PylockValidationError
from packaging.requirements import Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name

from workers.environments.fetching import RemoteFile
from workers.environments.interpreters import Interpreter
from workers.environments.metadata import name_of, requirement
from workers.environments.store import EnvironmentStore
from workers.environments.uv_command import PackageIndexes, UvFailed, run_uv
from workers.errors import CannotRun

MAX_BUILT = 12
"""Source distributions that are built for one environment."""

MAX_DOWNLOAD_MB, MAX_CONFLICTS = 3000, 6

_WITHOUT_WHEEL = re.compile(r"Wheels are required for `([^`]+)`")
_WORD = re.compile(r"[\w.-]+")
_ELSEWHERE = "not at the requested version"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedWheel:
    name: str
    version: str
    file: RemoteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an environment shall hold: PEP 508 lines. `own` names are never looked up: the repository defines them itself.

    `before` is a day, such as 2024-02-29, after which nothing was uploaded; empty for no limit.
    """

    requirements: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    own: frozenset[str] = frozenset()
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver(ABC):
    """Resolves on one interpreter. `printed` holds what `say_once` wrote."""

    store: EnvironmentStore
    interpreter: Interpreter
    given: PackageIndexes
    progress: Callable[[str], None]
    printed: set[str] = field(default_factory=set)

    @abstractmethod
    def wheel_of(self, source: RemoteFile) -> Path:
        """The wheel of a source distribution."""

    def locked(self, wanted: Wanted, place: Path) -> tuple[LockedWheel, ...]:
        """The wheels; `place` is an empty directory for uv's files. Raises CannotRun with uv's reason.

        Pins that cannot be met together are given up, with a line that says so: those that uv names, in the end all.
        """
        for attempt in range(1, MAX_CONFLICTS + 1):
            try:
                found = self._resolved(wanted, place)
                break
            except UvFailed as reason:
                if not wanted.constraints:
                    raise
                named = set(map(canonicalize_name, _WORD.findall(str(reason))))
                free = [line for line in wanted.constraints if name_of(Requirement(line)) not in named]
                if attempt + 1 >= MAX_CONFLICTS or len(free) == len(wanted.constraints):
                    free = []
                given_up = len(wanted.constraints) - len(free)
                self.progress(
                    f"{given_up} of the repository's pins cannot be met on Python {self.interpreter.minor}: {reason}"
                )
                wanted = replace(wanted, constraints=tuple(free))
        if (size := sum(each.file.size for each in found) >> 20) > MAX_DOWNLOAD_MB:
            raise CannotRun(f"the packages are {size} MB, over the limit of {MAX_DOWNLOAD_MB} MB: name lighter ones")
        return found

    def _resolved(self, wanted: Wanted, place: Path) -> tuple[LockedWheel, ...]:
        """Where a distribution has no wheel, uv names its source as if that required nothing, and we build it."""
        given = self.given.without_directories() if wanted.before else self.given  # a directory states no days
        sources, built = set[str](), dict[str, Path]()
        while True:
            try:
                found = self._compiled(wanted, place, sources - built.keys(), built.values(), given)
            except UvFailed as reason:
                missing = set(map(canonicalize_name, _WITHOUT_WHEEL.findall(str(reason)))) - sources
                if _ELSEWHERE in str(reason) and given.directories:
                    self.say_once(f"too few versions in {', '.join(given.directories)}: the other indexes are asked")
                    given = given.without_directories()
                elif not missing or len(sources | missing) > MAX_BUILT:
                    raise
                sources |= missing
                continue
            unbuilt = [each for each in found if not each.file.filename.endswith(".whl")]
            if not unbuilt:
                return found
            built |= {each.name: self.wheel_of(each.file) for each in unbuilt}

    def say_once(self, line: str) -> None:
        """A line of the progress that comes once, however many environments are made."""
        if line not in self.printed:
            self.printed.add(line)
            self.progress(line)

    def _compiled(
        self, wanted: Wanted, place: Path, sources: Collection[str], built: Iterable[Path], given: PackageIndexes
    ) -> tuple[LockedWheel, ...]:
        """What uv chooses. It may take `sources` without a build, because a file of ours states that they require nothing."""
        files = {
            "requirements.txt": wanted.requirements,
            "constraints.txt": wanted.constraints,
            "excludes.txt": sorted(wanted.own),
            "uv.toml": [f'[[dependency-metadata]]\nname = "{each}"' for each in sorted(sources)],
        }
        for name, lines in files.items():
            (place / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        text = run_uv(
            *("pip", "compile", "--only-binary", ":all:", "--no-sources", "--no-header", "--no-annotate"),
            *("--format", "pylock.toml", "--python", str(self.interpreter.python)),
            *("--constraints", "constraints.txt", "--excludes", "excludes.txt", "requirements.txt"),
            *(f"--no-binary={each}" for each in sorted(sources)),
            *(f"--find-links={wheel.parent}" for wheel in built),
            *([f"--exclude-newer={wanted.before}"] if wanted.before else []),
            at=place,
            cache_directory=self.store.uv_cache,
            given=given,
        )
        markers, tags = self.interpreter.markers(), self.interpreter.tags()
        try:
            chosen = list(Pylock.from_dict(tomllib.loads(text)).select(environment=markers, tags=tags))
        except (PylockSelectError, PylockValidationError) as error:
            raise CannotRun(f"no wheel fits Python {self.interpreter.minor}: {error}") from error
        return tuple(
            LockedWheel(name=package.name, version=str(package.version), file=_file(file))
            for package, file in chosen
            if isinstance(file, PackageWheel | PackageSdist)
        )


RUNS_TESTS = SpecifierSet(">=6")
"""The versions of pytest that our plug-in works with."""

_FIRST_PART = re.compile(r"v?(\d{1,9})(.*)")


def usable(lines: Iterable[str], progress: Callable[[str], None]) -> tuple[str, ...]:
    """The lines that name a distribution by name and versions; one that names an address or no distribution is left out."""
    kept = []
    for line in lines:
        found = requirement(line)
        if found is None:
            progress(f"left out, because it is no requirement: {line[:200]}")
        elif found.url:
            progress(f"left out, because packages come from the operator's indexes alone: {line[:200]}")
        else:
            kept.append(line)
    return tuple(kept)


def usable_for_tests(
    lines: Iterable[str], progress: Callable[[str], None], markers: Mapping[str, str]
) -> tuple[str, ...]:
    """The usable lines, where a pytest that is too old to run tests here is asked for in versions that do.

    `markers` are of the Python that the lines are for.
    """
    kept = []
    for line in usable(lines, progress):
        found = Requirement(line)
        applies = found.marker is None or found.marker.evaluate(markers)
        if applies and name_of(found) == "pytest" and any(map(_is_too_old, found.specifier)):
            found.specifier = RUNS_TESTS
            progress(f"chose {found} instead of {line[:200]}: older versions cannot run tests here")
            line = str(found)
        kept.append(line)
    return tuple(kept)


def _is_too_old(limit: Specifier) -> bool:
    """Whether a limit of pytest's version leaves none that can run tests."""
    if (found := _FIRST_PART.match(limit.version)) is None:
        return False
    first, exactly = int(found[1]), not found[2].strip(".0")
    return limit.operator in ("==", "===", "~=", "<=", "<") and (
        first < 6 or (first, exactly, limit.operator) == (6, True, "<")
    )


def _file(given: PackageWheel | PackageSdist) -> RemoteFile:
    if not (sha256 := given.hashes.get("sha256")):
        raise CannotRun(f"the index states no SHA-256 of {given.filename}: refused")
    return RemoteFile(filename=given.filename, url=given.url or given.path or "", sha256=sha256, size=given.size or 0)
