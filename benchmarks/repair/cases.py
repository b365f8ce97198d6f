"""A case: a folder with `case.toml`, a repository whose tests fail, and tests held out to judge what the engine returns."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

KNOWN = frozenset({"id", "repository", "test_command", "budget_seconds", "held_out", "held_out_command", "solution"})


class BadCase(Exception):
    """A folder that is no case; the text names the file and what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`held_out` is laid over a fresh copy of the repaired repository, and run, only when judging; None: not judged.

    `solution` holds the right text of what is wrong in the repository, by path; no engine sees it.

    `labels` are the keys of the file that the harness does not know.
    """

    id: str
    repository: Path
    test_command: str
    budget_seconds: float
    held_out: Path | None = None
    held_out_command: str = ""
    solution: Path | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


def load_cases(directory: Path, only: str = "*") -> list[Case]:
    """The cases in the folders of a directory whose id fits the glob, by id. Raises BadCase."""
    if not directory.is_dir():
        raise BadCase(f"{directory} is not a directory: name one that holds case folders")
    found = [load(path) for path in sorted(directory.glob("*/case.toml"))]
    if not found:
        raise BadCase(f"no case.toml in any folder of {directory}")
    twice = {case.id for case in found if sum(other.id == case.id for other in found) > 1}
    if twice:
        raise BadCase(f"the id {min(twice)!r} is that of several cases in {directory}: ids tell results apart")
    chosen = [case for case in found if fnmatch(case.id, only)]
    if not chosen:
        raise BadCase(f"none of the {len(found)} cases in {directory} fits {only!r}; the first is {found[0].id!r}")
    return sorted(chosen, key=lambda case: case.id)


def load(path: Path) -> Case:
    """One case.toml. Raises BadCase."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise BadCase(f"{path} is not TOML: {problem}") from None
    held_out = _text(path, given, "held_out", "")
    return Case(
        id=_text(path, given, "id"),
        repository=_folder(path, _text(path, given, "repository")),
        test_command=(command := _text(path, given, "test_command")),
        budget_seconds=_seconds(path, given.get("budget_seconds")),
        held_out=_folder(path, held_out) if held_out else None,
        held_out_command=_text(path, given, "held_out_command", command),
        solution=_folder(path, given["solution"]) if "solution" in given else None,
        labels={name: str(value) for name, value in given.items() if name not in KNOWN},
    )


def write_case(
    directory: Path,
    *,
    name: str,
    files: Mapping[str, str],
    test_command: str,
    budget_seconds: float,
    held_out: Mapping[str, str] | None = None,
    held_out_command: str = "",
    solution: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Make the case's folder anew, with the text of each file by its path."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    write_tree(directory / "repository", files)
    lines = {"id": name, "repository": "repository", "test_command": test_command}
    if held_out is not None:
        write_tree(directory / "held_out", held_out)
        lines |= {"held_out": "held_out", "held_out_command": held_out_command or test_command}
    if solution is not None:
        write_tree(directory / "solution", solution)
        lines["solution"] = "solution"
    written = [f"{name} = {_quoted(value)}" for name, value in (lines | dict(labels or {})).items()]
    text = "\n".join([*written, f"budget_seconds = {budget_seconds}", ""])
    (directory / "case.toml").write_text(text, encoding="utf-8")


def write_tree(directory: Path, files: Mapping[str, str]) -> None:
    """Write text files below a directory."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def labelled(cases: Iterable[Case], name: str) -> dict[str, list[Case]]:
    """The cases by the value of a label."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.labels.get(name, ""), []).append(case)
    return found


def _text(path: Path, given: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = given.get(name, default)
    if not isinstance(value, str) or (not value and default is None):
        raise BadCase(f"{path}: {name!r} has to be a text that is not empty")
    return value


def _seconds(path: Path, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise BadCase(f"{path}: 'budget_seconds' has to be a number above 0")
    return float(value)


def _folder(path: Path, name: str) -> Path:
    folder = path.parent / name
    if not folder.is_dir():
        raise BadCase(f"{path}: there is no folder {name!r} beside it")
    return folder


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
