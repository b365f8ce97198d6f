"""What a project declares of itself: Pythons, extras, dependency groups and locks. Nothing of it is executed."""

import ast
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice

from packaging.dependency_groups import resolve_dependency_groups
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from workers.environments.tree_files import (
    LARGEST_LOCK,
    Table,
    TreeFiles,
    assigned,
    items,
    literal,
    strings,
    table,
    word,
)

USUAL_MINORS = ("3.11", "3.12", "3.10", "3.9", "3.13", "3.8", "3.14")
"""The Pythons to try, those first for which most wheels exist."""

MAX_GROUPS, MAX_IN_GROUP = 100, 1000
"""Dependency groups of a project, and lines of one."""

METADATA = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")
_MINOR = re.compile(r"^(?:python-?)?(3\.\d+)", re.MULTILINE)
_CARET = re.compile(r"\^\s*(\d+)(?:\.(\d+))?([\w.]*)")
_TILDE = re.compile(r"~\s*(\d+)(?:\.(\d+))?([\w.]*)")
_BARE = re.compile(r"\d[\w.]*(?:\.\*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the project in one directory declares. `installable`: it has metadata that a build backend reads.

    `version` and `entry_points` (as in a wheel's entry_points.txt) are empty where they are computed or not stated.
    `dependencies` and the lists of `extras` and `groups` are PEP 508 lines. `pins` are those of the file `lock`.
    """

    directory: str
    name: str = ""
    version: str = ""
    entry_points: str = ""
    installable: bool = False
    python: str = ""
    minors: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lock: str | None = None
    pins: tuple[str, ...] = ()

    def minors_in_order(self, stated: tuple[str, ...]) -> tuple[str, ...]:
        """The Pythons to try: those that are stated in one place or, where there are none, in the metadata come first."""
        wanted = SpecifierSet(self.python)
        allowed = [minor for minor in USUAL_MINORS if wanted.contains(f"{minor}.99")] or list(USUAL_MINORS)
        first = set(stated) or set(self.minors)
        return tuple(sorted(allowed, key=lambda minor: minor not in first))


def declared(files: TreeFiles, directory: str = ".") -> Declared:
    """What the project in a directory of the tree declares; read once."""
    return files.once(f"declared {directory}", lambda: _read(files, directory))


def _read(files: TreeFiles, directory: str) -> Declared:
    def at(name: str) -> str:
        return posixpath.normpath(posixpath.join(directory, name))

    pyproject, cfg = files.toml(at("pyproject.toml")), files.ini(at("setup.cfg"))
    setup = _setup_arguments(files.module(at("setup.py")))
    project, poetry = table(pyproject, "project"), table(pyproject, "tool", "poetry")
    flit, options = table(pyproject, "tool", "flit", "metadata"), cfg.get("options", {})
    texts = "\n".join(files.text(at(name)) for name in ("pyproject.toml", "setup.cfg", "setup.py"))
    poetry_python = _poetry_specifier(word(table(poetry, "dependencies").get("python")))
    extras = {
        **_lists(setup.get("extras_require")),
        **{name: _lines(text) for name, text in cfg.get("options.extras_require", {}).items()},
        **_lists(table(flit, "requires-extra")),
        **_lists(table(poetry, "extras")),
        **_lists(table(project, "optional-dependencies")),
    }
    tests_require = (*_lines(options.get("tests_require", "")), *strings(setup.get("tests_require")))
    groups = _groups(files, pyproject, at("Pipfile"), tests_require)
    lock, pins = _locked(files, directory)
    return Declared(
        directory=directory,
        name=word(project.get("name") or poetry.get("name") or flit.get("module") or setup.get("name"))
        or cfg.get("metadata", {}).get("name", ""),
        version=word(project.get("version") or poetry.get("version") or setup.get("version")),
        entry_points=_entry_points(project),
        installable=bool(project or poetry or flit or setup or cfg.get("metadata")),
        python=_specifier(
            word(project.get("requires-python") or flit.get("requires-python"))
            or poetry_python
            or options.get("python_requires", "")
            or word(setup.get("python_requires"))
        ),
        minors=tuple(dict.fromkeys((*_CLASSIFIER.findall(texts), *_MINOR.findall(files.text(at(".python-version")))))),
        dependencies=_requirements(
            *strings(project.get("dependencies")),
            *_poetry_lines(table(poetry, "dependencies")),
            *_lines(options.get("install_requires", "")),
            *strings(setup.get("install_requires")),
        ),
        extras={name: _requirements(*lines) for name, lines in extras.items()},
        groups={name: _requirements(*lines) for name, lines in groups.items()},
        lock=lock,
        pins=pins,
    )


def _entry_points(project: Table) -> str:
    groups = {"console_scripts": table(project, "scripts"), "gui_scripts": table(project, "gui-scripts")}
    groups |= {name: table(each) for name, each in table(project, "entry-points").items()}
    return "".join(
        f"[{group}]\n" + "".join(f"{name} = {word(value)}\n" for name, value in points.items())
        for group, points in groups.items()
        if points
    )


def _groups(
    files: TreeFiles, pyproject: Table, pipfile: str, tests_require: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Lists of what developers install, under any tool's name for such a list."""
    tool, standard = table(pyproject, "tool"), table(pyproject, "dependency-groups")
    poetry = table(tool, "poetry")
    named: dict[str, tuple[str, ...]] = {name: _group(standard, name) for name in islice(standard, MAX_GROUPS)}
    named |= _lists(table(tool, "pdm", "dev-dependencies"))
    named |= {name: tuple(_poetry_lines(table(each, "dependencies"))) for name, each in table(poetry, "group").items()}
    others = {
        "dev": (
            *_poetry_lines(table(poetry, "dev-dependencies")),
            *strings(table(tool, "uv").get("dev-dependencies")),
            *_poetry_lines(table(files.toml(pipfile), "dev-packages")),
        ),
        "packages": tuple(_poetry_lines(table(files.toml(pipfile), "packages"))),
        "tests_require": tests_require,
    }
    for name, lines in others.items():
        if lines:
            named[name] = (*named.get(name, ()), *lines)
    return named


def _group(groups: Table, name: str) -> tuple[str, ...]:
    """The lines of a dependency group (PEP 735), with those of the groups that it includes; none where they are not valid, or too many."""
    if _size_of_group({canonicalize_name(each): groups[each] for each in groups}, name, {}) > MAX_IN_GROUP:
        return ()
    try:
        return resolve_dependency_groups(groups, name)  # type: ignore[arg-type]  # it checks what it is given
    except (LookupError, TypeError, ValueError, ExceptionGroup):
        return ()


def _size_of_group(groups: Mapping[str, object], name: str, known: dict[str, int]) -> int:
    """How many lines a group has with those of the groups that it includes, each time again; one within itself has none of its own."""
    if (name := canonicalize_name(name)) not in known:
        known[name] = 0
        included = [word(table(each).get("include-group")) for each in items(groups.get(name))]
        known[name] = sum(_size_of_group(groups, each, known) + 1 if each else 1 for each in included)
    return known[name]


def _setup_arguments(module: ast.Module) -> dict[str, object]:
    """The keyword arguments of a setup.py's call of setup; those that are computed are None."""
    names = assigned(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "setup":
            return {"name": ""} | {each.arg: literal(each.value, names) for each in node.keywords if each.arg}
    return {}


def _lists(node: object) -> dict[str, tuple[str, ...]]:
    return {name: strings(value) for name, value in table(node).items()}


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for each in text.splitlines() if (line := each.partition("#")[0].strip()))


def _requirements(*lines: str) -> tuple[str, ...]:
    """Those lines that PEP 508 knows."""
    return tuple(filter(requirement, lines))


def _specifier(text: str) -> str:
    """Versions as PEP 440 writes them; anything else, such as `>=3.6.*`, is no limit."""
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return ""
    return text


def requirement(line: str) -> Requirement | None:
    """A PEP 508 line; None for anything else."""
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def name_of(wanted: Requirement) -> str:
    """The name of a distribution as indexes compare it."""
    return canonicalize_name(wanted.name)


# ── Poetry's own notation, which Pipfiles share in part ──


def _poetry_lines(dependencies: Table) -> Iterator[str]:
    """A table of dependencies as PEP 508 lines; those from a path, a repository or a URL are left out."""
    for name, given in dependencies.items():
        chosen = table(items(given)[0]) if isinstance(given, list) and given else table(given)
        if name.lower() == "python" or any(map(chosen.get, ("git", "path", "url", "file", "optional"))):
            continue
        version = _poetry_specifier(word(chosen.get("version") if chosen else given))
        extras = ",".join(strings(chosen.get("extras")))
        line = f"{name}{f'[{extras}]' if extras else ''}{version}"
        markers = word(chosen.get("markers"))
        yield f"{line} ; {markers}" if markers else line


def _poetry_specifier(text: str) -> str:
    """`^1.2` and `~1.2` as PEP 440 writes them; alternatives, which it cannot write, are no limit."""
    if text.strip() == "*" or "|" in text:
        return ""
    text = _CARET.sub(_caret, text.strip())
    if "~=" not in text:
        text = _TILDE.sub(lambda m: f">={m[1]}.{m[2]}{m[3]},<{m[1]}.{int(m[2]) + 1}" if m[2] else f"=={m[1]}.*", text)
    text = f"=={text}" if _BARE.fullmatch(text) else text
    return text.replace(" ", ",") if re.search(r"[\w*] +[<>=!~]", text) else text


def _caret(match: re.Match[str]) -> str:
    """The first part that is not zero may not grow, of zeros alone the last that is given."""
    major, minor, patch = int(match[1]), int(match[2] or 0), re.match(r"\.(\d+)", match[3])
    if major or not match[2]:
        below = f"{major + 1}"
    elif minor or not patch:
        below = f"0.{minor + 1}"
    else:
        below = f"0.0.{int(patch[1]) + 1}"
    return f">={major}.{minor}{match[3]},<{below}"


# ── Locks ──


def _locked(files: TreeFiles, directory: str) -> tuple[str | None, tuple[str, ...]]:
    """The lock of a project, or of the workspace above it, and its pins; packages with several versions are left free."""
    above = (posixpath.join(directory, *[".."] * count) for count in range(directory.count("/") + 2))
    for path in (posixpath.normpath(posixpath.join(place, name)) for place in above for name in LOCKS):
        if files.place(path) is not None:
            versions: dict[str, set[str]] = defaultdict(set)
            for name, version in _packages(files, path):
                versions[canonicalize_name(name)].add(version)
            return path, tuple(sorted(f"{name}=={one}" for name, (one, *more) in versions.items() if not more))
    return None, ()


def _packages(files: TreeFiles, path: str) -> Iterator[tuple[str, str]]:
    """Names and versions of what a lock takes from a registry."""
    if path.endswith("Pipfile.lock"):
        lock = files.yaml(path)  # of which JSON is a part
        for name, each in chain(table(lock, "default").items(), table(lock, "develop").items()):
            if version := word(table(each).get("version")).removeprefix("=="):
                yield name, version
        return
    lock = files.toml(path, LARGEST_LOCK)
    for each in map(table, items(lock.get("package") or lock.get("packages"))):
        source = table(each, "source")
        local = {"editable", "virtual", "directory", "git", "url", "path"} & {*source, *each, word(source.get("type"))}
        if not local and (name := word(each.get("name"))) and (version := word(each.get("version"))):
            yield name, version
