"""Calls the hooks of a build backend (PEP 517 and 660), in the sandbox, on the interpreter of the environment to be.

It runs as `python -c` on Python 3.8 or later and needs the standard library alone. argv[1] is a JSON object:
source     the archive in the working directory that is unpacked first; null for a tree
hook       `describe` (only the text of pyproject.toml), `wheel` or `editable`
directory  where pyproject.toml is, relative to the tree
backend, path  as in [build-system]
have       what the backend asked for before
Where the backend has no editable form, or meson-python's, which compiles at every import, a wheel is taken apart instead.
It writes one JSON object to the descriptor in $APPRENTICE_REPORT_FD: `requires` (ask again with these installed), or `files`
(name → base64) and `generated` (path → base64, new files of an editable build), or `pyproject`. What a hook raises ends it,
and is read from the last line.
"""

# Runs on the project's interpreter, which may lack what the linter asks for:
# ruff: noqa: PTH100, PTH110, PTH112, PTH114, PTH118, PTH123, PTH208, S202, UP035

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
from typing import Any, Iterator

LEFT_OUT = ("build", "dist", "__pycache__", ".eggs", ".git")
MAX_GENERATED = 48 << 20


def main() -> None:
    """Answer once."""
    spec = json.loads(sys.argv[1])
    descriptor = int(os.environ.pop("APPRENTICE_REPORT_FD"))
    answer = answered(spec)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(json.dumps(answer).encode())


def answered(spec: dict[str, Any]) -> dict[str, Any]:
    """What the host asked for."""
    if spec["source"]:
        os.chdir(unpacked(spec["source"]))
    os.chdir(spec["directory"])
    if spec["hook"] == "describe":
        return {"pyproject": read("pyproject.toml").decode("utf-8") if os.path.exists("pyproject.toml") else ""}
    before = set(files_here())
    sys.path[:0] = [os.path.abspath(each) for each in spec["path"]]
    backend = loaded(spec["backend"])
    editable = spec["hook"] == "editable"
    hook = "editable" if editable and hasattr(backend, "build_editable") and spec["backend"] != "mesonpy" else "wheel"
    ask = getattr(backend, "get_requires_for_build_" + hook, None)
    requires = list(ask({})) if ask else []
    if not set(requires) <= set(spec["have"]):
        return {"requires": requires}
    place = tempfile.mkdtemp()
    name = getattr(backend, "build_" + hook)(place, {})
    wheel = read(os.path.join(place, name))
    if hook == "wheel" and editable:
        return taken_apart(wheel)
    return {"files": {name: encoded(wheel)}, "generated": new_files(before) if editable else {}}


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


def taken_apart(wheel: bytes) -> dict[str, Any]:
    """A wheel's metadata, and what the build added to the sources, such as compiled modules."""
    root = "src" if os.path.isdir("src") else "."
    answer: dict[str, Any] = {"files": {}, "generated": {}}
    with zipfile.ZipFile(io.BytesIO(wheel)) as opened:
        for name in opened.namelist():
            if name.split("/")[0].endswith(".dist-info"):
                answer["files"][name.split("/")[-1]] = encoded(opened.read(name))
            elif not name.endswith("/") and not os.path.exists(os.path.join(root, name)):
                answer["generated"][os.path.normpath(os.path.join(root, name))] = encoded(opened.read(name))
    return answer


def files_here() -> Iterator[str]:
    """The files below the working directory that may matter to tests."""
    for directory, subdirectories, names in os.walk("."):
        subdirectories[:] = [each for each in subdirectories if each not in LEFT_OUT and not each.endswith(".egg-info")]
        yield from (os.path.join(directory, name) for name in names)


def new_files(before: set[str]) -> dict[str, str]:
    """The files that a build added beside the sources, such as compiled modules and a file with the version."""
    made = {path: read(path) for path in sorted(set(files_here()) - before) if not os.path.islink(path)}
    if sum(len(content) for content in made.values()) > MAX_GENERATED:
        raise ValueError("the build wrote more than {} MB beside the sources".format(MAX_GENERATED >> 20))  # noqa: UP032
    return {os.path.normpath(path): encoded(content) for path, content in made.items()}


def read(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


main()
