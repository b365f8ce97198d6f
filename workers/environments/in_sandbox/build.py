"""Calls the hooks of a build backend (PEP 517 and 660), in the sandbox, on the interpreter of the environment to be.

It runs as `python -c` on Python 3.8 or later and needs the standard library alone. argv[1] is a JSON object:
source     the archive in the working directory that is unpacked first; null for a tree
hook       `describe` (only the text of pyproject.toml), `wheel` or `editable`
directory  where pyproject.toml is, relative to the tree
backend, path  as in [build-system]
have       what the backend asked for before
It writes one JSON object to the descriptor in $APPRENTICE_REPORT_FD: `requires` (ask again with these installed), or `files`
(name → base64) and `generated` (path → base64, new files of an editable build), or `pyproject`, or `error`.
"""

# Runs on the project's interpreter, which may lack what the linter asks for:
# ruff: noqa: PTH100, PTH110, PTH114, PTH118, PTH119, PTH123, PTH208, S202, UP035

from __future__ import annotations

import base64
import importlib
import io
import json
import os
import sys
import tarfile
import tempfile
import zipfile
from typing import Any, Callable, Iterator

LEFT_OUT = ("build", "dist", "__pycache__", ".eggs", ".git")
MOST_GENERATED = 48 << 20


def main() -> None:
    """Answer once."""
    spec = json.loads(sys.argv[1])
    descriptor = int(os.environ.pop("APPRENTICE_REPORT_FD"))
    try:
        answer = answered(spec)
    except BaseException as error:  # noqa: BLE001 - reported; a backend may raise anything, SystemExit too
        import traceback

        traceback.print_exc()
        answer = {"error": "{}: {}".format(type(error).__name__, str(error)[-3000:])}  # noqa: UP032
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(json.dumps(answer).encode())


def answered(spec: dict[str, Any]) -> dict[str, Any]:
    """What the host asked for."""
    if spec["source"]:
        os.chdir(unpacked(spec["source"]))
    os.chdir(spec["directory"])
    if spec["hook"] == "describe":
        return {"pyproject": read("pyproject.toml").decode("utf-8") if os.path.exists("pyproject.toml") else ""}
    before = set(files_below("."))
    sys.path[:0] = [os.path.abspath(each) for each in spec["path"]]
    backend = loaded(spec["backend"])
    hook = spec["hook"] if hasattr(backend, "build_" + spec["hook"]) else "metadata"
    ask = getattr(backend, "get_requires_for_build_" + ("editable" if hook == "editable" else "wheel"), None)
    requires = list(ask({})) if ask else []
    if not set(requires) <= set(spec["have"]):
        return {"requires": requires}
    place = tempfile.mkdtemp()
    files = built(backend, hook, place)
    made = new_files(before) if hook == "editable" else {}
    return {"files": {name: encoded(content) for name, content in files.items()}, "generated": made}


def unpacked(archive: str) -> str:
    """Unpack a source distribution; the directory in it."""
    place = tempfile.mkdtemp()
    if archive.endswith(".zip"):
        with zipfile.ZipFile(archive) as zipped:
            zipped.extractall(place)
    else:
        with tarfile.open(archive) as tarred:
            if hasattr(tarfile, "data_filter"):
                tarred.extractall(place, filter="data")
            else:
                tarred.extractall(place)
    (name,) = os.listdir(place)
    return os.path.join(place, name)


def loaded(name: str) -> Any:  # noqa: ANN401 - a backend has no common type
    """The backend of `module:object`."""
    module, _, inner = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in inner.split(".") if inner else ():
        found = getattr(found, part)
    return found


def built(backend: Any, hook: str, place: str) -> dict[str, bytes]:  # noqa: ANN401
    """The wheel as one file; or, without a hook for an editable one, the files of its metadata."""
    if hook != "metadata":
        name = getattr(backend, "build_" + hook)(place, {})
        return {name: read(os.path.join(place, name))}
    prepare: Callable[..., str] | None = getattr(backend, "prepare_metadata_for_build_wheel", None)
    if prepare:
        directory = os.path.join(place, prepare(place, {}))
        return {os.path.basename(path): read(path) for path in sorted(files_below(directory))}
    with zipfile.ZipFile(io.BytesIO(read(os.path.join(place, backend.build_wheel(place, {}))))) as wheel:
        names = [name for name in wheel.namelist() if name.split("/")[0].endswith(".dist-info")]
        return {name.split("/")[-1]: wheel.read(name) for name in names}


def files_below(root: str) -> Iterator[str]:
    """The files of a tree that may matter to its tests."""
    for directory, subdirectories, names in os.walk(root):
        subdirectories[:] = [each for each in subdirectories if each not in LEFT_OUT and not each.endswith(".egg-info")]
        yield from (os.path.join(directory, name) for name in names)


def new_files(before: set[str]) -> dict[str, str]:
    """The files that a build added beside the sources, such as compiled modules and a file with the version."""
    made = {path: read(path) for path in sorted(set(files_below(".")) - before) if not os.path.islink(path)}
    if sum(len(content) for content in made.values()) > MOST_GENERATED:
        raise ValueError("the build wrote more than {} MB beside the sources".format(MOST_GENERATED >> 20))  # noqa: UP032
    return {os.path.normpath(path): encoded(content) for path, content in made.items()}


def read(path: str) -> bytes:
    """The content of a file."""
    with open(path, "rb") as stream:
        return stream.read()


def encoded(content: bytes) -> str:
    """Base64."""
    return base64.b64encode(content).decode("ascii")


main()
