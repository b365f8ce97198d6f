"""What is read of a project without running it, for its installation: what decides its build, and what it states of itself."""

from __future__ import annotations

import configparser
import hashlib
import io
import json
import re
import tomllib
import zipfile
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from workers.environments.interpreters import Interpreter
from workers.errors import CannotRun
from workers.sandbox.launching import WORKSPACE
from workers.sandbox.run_tests import python_files

MOST_BYTES = 1 << 20
DECIDING = (".toml", ".cfg", ".in", ".build", ".c", ".h", ".cc", ".cpp", ".hpp", ".pyx", ".pxd", ".rs")
SELDOM_PROJECTS = ("tests", "test", "testing", "examples", "docs", "fixtures", "node_modules")


def text_of(tree: Path, path: str) -> str:
    """A file of a tree, empty where there is none, where it is larger than 1 MB, and where a link leads to it."""
    file = tree / path
    if not file.is_file() or file.resolve() != tree.resolve() / path or file.stat().st_size > MOST_BYTES:
        return ""
    return file.read_text(encoding="utf-8", errors="replace")


def stated(tree: Path, directory: str) -> Mapping[str, Any]:
    """pyproject.toml of a project; empty where there is none, or none that can be read."""
    try:
        return tomllib.loads(text_of(tree, str(PurePosixPath(directory) / "pyproject.toml")))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def name_of(tree: Path, directory: str) -> str:
    """The name of the distribution in a directory, in its normal form; empty where no file states it."""
    found = stated(tree, directory)
    tables = (found.get("project", {}), found.get("tool", {}).get("poetry", {}))
    names = [each["name"] for each in tables if isinstance(each, dict) and isinstance(each.get("name"), str)]
    if not names:
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read_string(text_of(tree, str(PurePosixPath(directory) / "setup.cfg")))
        except configparser.Error:
            return ""
        names = [parser.get("metadata", "name", fallback="")]
    return canonicalize_name(names[0]) if re.fullmatch(r"[A-Za-z0-9][\w.-]*", names[0]) else ""


def own_names(tree: Path, directories: Iterable[str]) -> frozenset[str]:
    """The distributions that a repository defines itself: in `directories`, in its root, and two levels below it."""
    below = (path.relative_to(tree) for pattern in ("*", "*/*") for path in tree.glob(f"{pattern}/pyproject.toml"))
    found = {str(path.parent) for path in below if not set(path.parts) & set(SELDOM_PROJECTS)}
    return frozenset(name for each in {".", *directories, *found} if (name := name_of(tree, each)))


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


def static_metadata(tree: Path, directory: str, version: str) -> dict[str, bytes]:
    """The files of a distribution's metadata, as far as its files state them."""
    project = stated(tree, directory).get("project", {})
    project = project if isinstance(project, dict) else {}
    name = name_of(tree, directory) or canonicalize_name(re.sub(r"[^\w.-]", "-", (tree / directory).resolve().name))
    fixed = project.get("version")
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {fixed if isinstance(fixed, str) else version}"]
    lines += [f"Requires-Dist: {line}" for line in _texts(project.get("dependencies"))]
    for extra, requirements in _tables(project.get("optional-dependencies")):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {_for_extra(line, extra)}" for line in _texts(requirements)]
    groups = {"console_scripts": project.get("scripts"), "gui_scripts": project.get("gui-scripts")}
    points = [(group, given) for group, given in groups.items() if given] + _tables(project.get("entry-points"))
    texts = {
        "METADATA": "\n".join(lines) + "\n",
        "entry_points.txt": "".join(
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in given.items())
            for group, given in points
            if isinstance(given, dict)
        ),
    }
    return {name: text.encode() for name, text in texts.items()}


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str) and "\n" not in each] if isinstance(value, list) else []


def _tables(value: object) -> list[tuple[str, object]]:
    return list(value.items()) if isinstance(value, dict) else []


def _for_extra(line: str, extra: str) -> str:
    """A requirement of an extra, as metadata write it."""
    requirement, _, marker = line.partition(";")
    return f"{requirement.strip()}; " + (f"({marker.strip()}) and " if marker.strip() else "") + f'extra == "{extra}"'


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
    places = "".join(f"{WORKSPACE / directory / root}\n" for root in roots)
    info = f"{name}-{version}.dist-info"
    content = {f"__editable__.{name}.pth": places.encode(), f"{info}/METADATA": metadata["METADATA"]}
    if points := metadata.get("entry_points.txt"):
        content[f"{info}/entry_points.txt"] = points
    content[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: apprentice\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    lines = [f"{path},sha256={_record_hash(data)},{len(data)}\n" for path, data in content.items()]
    content[f"{info}/RECORD"] = ("".join(lines) + f"{info}/RECORD,,\n").encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        for path, data in content.items():
            wheel.writestr(zipfile.ZipInfo(path), data)
    return f"{name}-{version}-py3-none-any.whl", packed.getvalue()


def _record_hash(data: bytes) -> str:
    return urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def dependencies(wheel: Path, extras: Sequence[str], interpreter: Interpreter) -> tuple[str, ...]:
    """What a wheel requires on an interpreter with some of its extras; extras that name others of its own are followed."""
    headers = HeaderParser().parsestr(_metadata_in(wheel))
    own, lines = canonicalize_name(str(headers["Name"])), [str(line) for line in headers.get_all("Requires-Dist", ())]
    wanted, found = ["", *map(canonicalize_name, extras)], dict[str, None]()
    for extra in wanted:  # grows while it is read
        for requirement in _requirements(lines, extra, interpreter):
            if canonicalize_name(requirement.name) == own:
                wanted += sorted(set(map(canonicalize_name, requirement.extras)) - set(wanted))
            else:
                requirement.marker = None
                found[str(requirement)] = None
    return tuple(found)


def _metadata_in(wheel: Path) -> str:
    try:
        with zipfile.ZipFile(wheel) as opened:
            path = next((name for name in opened.namelist() if name.endswith(".dist-info/METADATA")), "METADATA")
            with opened.open(path) as stream:
                return stream.read(MOST_BYTES).decode("utf-8", "replace")
    except (zipfile.BadZipFile, KeyError, OSError, RuntimeError, zlib.error) as error:
        raise CannotRun(f"the project's wheel has no metadata that can be read: {error}") from error


def _requirements(lines: Iterable[str], extra: str, interpreter: Interpreter) -> Iterator[Requirement]:
    for line in lines:
        with suppress(
            ValueError
        ):  # neither a requirement that cannot be read counts, nor one whose marker compares nothing
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({**interpreter.markers(), "extra": extra}):
                yield requirement
