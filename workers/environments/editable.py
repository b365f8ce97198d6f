"""The editable wheel of a project, what decides it, and what it requires. Nothing is executed."""

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from email.parser import HeaderParser
from itertools import product
from pathlib import Path

from packaging.markers import Marker
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from workers.environments.interpreters import Interpreter
from workers.environments.metadata import METADATA, declared, requirement
from workers.environments.tree_files import TreeFiles
from workers.errors import CannotRun
from workers.sandbox.checkout_files import python_files
from workers.sandbox.launching import WORKSPACE

MAX_BYTES, MAX_REQUIREMENTS, MAX_EXTRAS = 1 << 20, 5_000, 300
"""Of a wheel's metadata that is read, and the number of extras that count."""

SELDOM_PROJECTS = frozenset({"tests", "test", "testing", "examples", "docs", "fixtures", "node_modules"})
DECIDING = (".toml", ".cfg", ".in", ".build", ".c", ".h", ".cc", ".cpp", ".hpp", ".pyx", ".pxd", ".rs")


def own_projects(files: TreeFiles, directories: Iterable[str]) -> dict[str, str]:
    """The distributions that a repository defines itself, with their directories: `directories`, its root, and two levels below it."""
    patterns = [f"{above}/{metadata}" for above, metadata in product(("*", "*/*"), METADATA)]
    below = (path.relative_to(files.root).parts for each in patterns for path in files.root.glob(each))
    found = sorted({"/".join(parts[:-1]) for parts in below if SELDOM_PROJECTS.isdisjoint(parts)}, reverse=True)
    named = ((declared(files, each).name, each) for each in (*found, ".", *directories))
    return {canonicalize_name(name): each for name, each in named if name}


def build_inputs(tree: Path, directory: str) -> str:
    """A digest of all that decides what a build makes: its configuration, compiled sources, and the names of packages."""
    total = hashlib.sha256()
    root = tree / directory
    files = (path for path in sorted(root.rglob("*")) if path.suffix in DECIDING or path.name == "setup.py")
    for path in files:
        relative = path.relative_to(tree)
        if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in relative.parts):
            total.update(f"{relative}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    packages = {path.relative_to(root).parts[:2] for path in python_files(root)}
    total.update(json.dumps(sorted(packages)).encode())
    return total.hexdigest()


def stated_metadata(files: TreeFiles, directory: str, version: str) -> dict[str, bytes]:
    """The files of a distribution's metadata, as far as the project's own files state them."""
    known = declared(files, directory)
    name = re.sub(r"[^\w.-]", "-", known.name or (files.root / directory).resolve().name)
    with suppress(InvalidVersion):
        version = str(Version(known.version))
    lines = ["Metadata-Version: 2.1", f"Name: {canonicalize_name(name)}", f"Version: {version}"]
    lines += [f"Requires-Dist: {each}" for each in filter(None, map(requirement, known.dependencies))]
    for extra, wanted in known.extras.items():
        lines.append(f"Provides-Extra: {extra}")
        for each in filter(None, map(requirement, wanted)):
            marker = f"({each.marker}) and " if each.marker else ""
            each.marker = None
            lines.append(f'Requires-Dist: {each}; {marker}extra == "{extra}"')
    return {"METADATA": "\n".join([*lines, ""]).encode(), "entry_points.txt": known.entry_points.encode()}


def editable_wheel(files: Mapping[str, bytes], tree: Path, directory: str) -> tuple[str, bytes]:
    """The name and content of the wheel that a backend built; or of one that we make of its metadata and a `.pth` file.

    Raises ValueError for files that are neither.
    """
    built = next((name for name in files if name.endswith(".whl")), None)
    if built is not None:
        parse_wheel_filename(built)
        return built, files[built]
    metadata = {"METADATA": b"", **files}
    headers = HeaderParser().parsestr(metadata["METADATA"].decode("utf-8", "replace"))
    name = re.sub(r"[-_.]+", "_", str(headers["Name"])).lower()
    version = str(Version(str(headers["Version"])))
    parse_wheel_filename(f"{name}-{version}-py3-none-any.whl")
    roots = ["src", "."] if (tree / directory / "src").is_dir() else ["."]
    info = f"{name}-{version}.dist-info"
    content = {
        f"__editable__.{name}.pth": "".join(f"{WORKSPACE / directory / root}\n" for root in roots).encode(),
        f"{info}/METADATA": metadata["METADATA"],
        f"{info}/entry_points.txt": metadata.get("entry_points.txt", b""),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: apprentice\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in content).encode()  # nothing checks a wheel of ours
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        for path, data in content.items():
            wheel.writestr(zipfile.ZipInfo(path), data)
    return f"{name}-{version}-py3-none-any.whl", packed.getvalue()


def dependencies(wheel: Path, extras: Sequence[str], interpreter: Interpreter) -> tuple[str, ...]:
    """What a wheel requires on an interpreter with some of its extras; extras that name others of its own are followed."""
    headers = HeaderParser().parsestr(_metadata_in(wheel))
    own, lines = canonicalize_name(str(headers["Name"])), [str(line) for line in headers.get_all("Requires-Dist", ())]
    stated = [(each, each.marker) for each in filter(None, map(requirement, lines[:MAX_REQUIREMENTS]))]
    for each, _ in stated:
        each.marker = None
    markers = {name: str(value) for name, value in interpreter.markers().items()}
    wanted, found = ["", *map(canonicalize_name, extras)], dict[str, None]()
    for extra in wanted:  # grows while it is read
        for each, marker in stated if len(wanted) <= MAX_EXTRAS else ():
            if marker and not _holds(marker, markers, extra):
                continue
            if canonicalize_name(each.name) == own:
                wanted += sorted(set(map(canonicalize_name, each.extras)) - set(wanted))
            else:
                found[str(each)] = None
    return tuple(found)


def _holds(marker: Marker, markers: Mapping[str, str], extra: str) -> bool:
    try:
        return marker.evaluate({**markers, "extra": extra})
    except ValueError:  # it compares nothing
        return False


def _metadata_in(wheel: Path) -> str:
    try:
        with zipfile.ZipFile(wheel) as opened:
            path = next((name for name in opened.namelist() if name.endswith(".dist-info/METADATA")), "METADATA")
            with opened.open(path) as stream:
                return stream.read(MAX_BYTES).decode("utf-8", "replace")
    except (zipfile.BadZipFile, KeyError, OSError, RuntimeError, zlib.error) as error:
        raise CannotRun(f"the project's wheel has no metadata that can be read: {error}") from error
