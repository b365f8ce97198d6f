"""The projects of a repository: which one is meant, and what of it a plain checkout lacks."""

import os
import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from workers.environments.metadata import METADATA, declared
from workers.environments.tree_files import TreeFiles, ini
from workers.sandbox.checkout_files import is_test_file
from workers.sandbox.report import TestResult

DEEPEST, MAX_DIRECTORIES, MAX_MODULES, LARGEST_POINTER, SHOWN = 4, 20_000, 100, 1024, 3
_NOT_SOURCES = frozenset({
    "node_modules", "site-packages", "build", "dist", "docs", "doc", "vendor", "_vendor", "fixtures",
    "testdata", "data", "templates",
})  # fmt: skip
_POINTER = b"version https://git-lfs.github.com/spec/"


def project_of(files: TreeFiles, changed: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """The directory of the project that is meant, and those of the other projects.

    It is the innermost one with tests that holds most of the `changed` modules or, without modules, files; without any the
    root, if it is a project, else what has the most test files.
    """
    tests, places = Counter[str](), dict(_directories(files))
    stating = (place for place, names in places.items() if place.count("/") < DEEPEST and METADATA & set(names))
    found = [place for place in stating if declared(files, place).installable]
    homes = sorted({*found, "."}, key=lambda place: -place.count("/") - (place != "."))

    def home_of(path: str, homes: Iterable[str] = homes) -> str | None:
        return next((place for place in homes if place == "." or path.startswith(f"{place}/")), None)

    for place, names in places.items():
        tests[home_of(f"{place}/") or "."] += sum(map(is_test_file, names))
    with_tests = [place for place in homes if tests[place]]
    modules = [path for path in changed if path.endswith(".py")]
    about = map(posixpath.normpath, modules or changed)
    meant = Counter(home_of(path, with_tests) or home_of(path) or "." for path in about)
    if "." not in found and not (modules and tests["."]):
        del meant["."]
    if meant:
        chosen = max(meant, key=lambda place: (meant[place], place.count("/")))
    elif "." in found or not with_tests:
        chosen = "."
    else:
        chosen = max(with_tests, key=lambda place: (tests[place], place == ".", place))
    return chosen, tuple(sorted(place for place in with_tests if place != chosen))


def _directories(files: TreeFiles) -> Iterator[tuple[str, list[str]]]:
    """The directories that may hold a project or its tests, with the names of their files; links are not followed."""
    for count, (path, directories, names) in enumerate(os.walk(files.root)):
        place = os.path.relpath(path, files.root)
        kept = sorted(each for each in directories if not each.startswith(".") and each not in _NOT_SOURCES)
        directories[:] = kept if count <= MAX_DIRECTORIES else []
        yield place, names


def few(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def missing_parts(files: TreeFiles) -> tuple[str, ...]:
    """What a checkout names and does not hold, a line each: submodules, and files of Git LFS."""
    lacking = _unfetched(files)
    pointers = sorted(_pointers(files)) if "filter=lfs" in files.text(".gitattributes") else []
    lines = []
    if lacking:
        lines.append(f"not fetched: submodule {few(lacking)}; tests that need it fail (git submodule update --init)")
    if pointers:
        lines.append(f"only pointers of Git LFS: {few(pointers)}; tests that need them fail (git lfs pull)")
    return tuple(lines)


def needs_submodule(result: TestResult, files: TreeFiles) -> str:
    """The submodule that was not fetched and whose file a test did not find; empty where there is none."""
    unfetched = _unfetched(files) if result.error_type == "FileNotFoundError" else []
    return next((path for path in unfetched if f"/{path}" in result.message), "")


def _unfetched(files: TreeFiles) -> list[str]:
    modules = [each.get("path", "") for each in ini(files.text(".gitmodules")).values()]
    return [path for path in modules[:MAX_MODULES] if path and not files.names(path)]


def _pointers(files: TreeFiles) -> Iterator[str]:
    for path, directories, names in os.walk(files.root):
        directories[:] = [each for each in directories if not each.startswith(".")]
        for name in names:
            relative = os.path.relpath(Path(path, name), files.root)
            place = files.place(relative)
            if (
                place
                and place.is_file()
                and place.stat().st_size < LARGEST_POINTER
                and place.read_bytes().startswith(_POINTER)
            ):
                yield relative
