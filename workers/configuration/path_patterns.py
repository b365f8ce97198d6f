"""Patterns of paths as `.gitignore` has them, in time that grows with pattern and path alone."""

from collections.abc import Iterable
from fnmatch import fnmatchcase


def is_under(path: str, patterns: Iterable[str]) -> bool:
    """Whether a file, or a directory above it, matches one of the patterns."""
    return any(_matches(pattern, path) for pattern in patterns)


def what_instead(pattern: str) -> str:
    """What to write for a pattern that would match nothing, or every file; empty where that is not known."""
    if pattern.startswith("!"):
        return "no pattern begins with !; list the paths that are meant"
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if not names:
        return f"{pattern!r} holds no name; write ** for every file"
    is_rooted = "/" in pattern.rstrip("/") and len(names) == 1
    path = f"{'/' * is_rooted}{'/'.join(names)}"
    return f"write {path!r}, without `.`" if "." in pattern.split("/") else ""


def _matches(pattern: str, path: str) -> bool:
    """`*` matches within a name, `**` any directories. A pattern without a slash before its end matches at any depth."""
    names = [name for name in pattern.split("/") if name]
    if "/" not in pattern.rstrip("/"):
        names = ["**", *names]
    reached = _skipping({0}, names)
    for part in path.split("/"):
        reached = _skipping(
            {at if names[at] == "**" else at + 1 for at in reached if at < len(names) and _fits(names[at], part)}, names
        )
        if len(names) in reached:
            return True
    return False


def _fits(name: str, part: str) -> bool:
    return name == "**" or fnmatchcase(part, name)


def _skipping(reached: set[int], names: list[str]) -> set[int]:
    """The same positions, and those behind each `**`, which matches no directory too."""
    found = set(reached)
    for at, name in enumerate(names):
        if at in found and name == "**":
            found.add(at + 1)
    return found
