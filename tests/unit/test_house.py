"""The rules of the house: imports, doors, and documents that cannot lie."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
import typer

from tests.conftest import missing
from workers.settings import PREFIX, known_variables

ROOT = Path(__file__).parents[2]
PACKAGES = ("bot", "workers", "memory")
DOORS = {
    "celery": ("workers.queue.broker", "workers.queue.worker"),
    "sqlalchemy": ("memory.store", "memory.migrations"),
    "alembic": ("memory.store", "memory.migrations"),
    "github": ("workers.github",),
    "sentence_transformers": ("memory.retrieval.embeddings",),
    "subprocess": (
        "workers.git_command",
        "workers.history.changes",
        "workers.sandbox",
        "workers.environments.interpreters",
        "workers.environments.uv_command",
        "bot.processes",
        "bot.playground",
    ),
    "fastapi": ("bot.web.app", "bot.playground"),
    "libcst": ("workers.repair",),
    "openai": ("workers.llm.endpoint",),
}
BLANKET = {"Exception", "BaseException"}
WITH_DEPENDENCIES = {"anyio", "platformdirs"}
"""Distributions that the product needs and that happen to bring a pytest plugin."""
PARSED = pytest.mark.xdist_group("parsed")
"""On the tests that read every module's tree, so that one process parses them all."""


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the three packages, by its dotted name."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield name.removesuffix(".__init__"), path


def imported(tree: ast.AST) -> Iterator[str]:
    """The top-level names of what a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@cache
def trees() -> Mapping[str, ast.Module]:
    """Every module by its dotted name, parsed once for all the tests that ask."""
    return {name: ast.parse(path.read_text()) for name, path in modules()}


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """What each module imports."""
    return {name: frozenset(imported(tree)) for name, tree in trees().items()}


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def test_lint() -> None:
    """ruff finds nothing, and every file is formatted."""
    run("ruff", "check", ".")
    run("ruff", "format", "--check", ".")


@pytest.mark.slow
def test_types() -> None:
    """mypy, strict, finds nothing."""
    run("mypy")


def test_import_contracts() -> None:
    """The layers hold: bot, workers, memory, and the order of modules within each."""
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_has_a_place() -> None:
    """docs/architecture.md names every module's room, and no room that does not exist."""
    table = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:bot|workers|memory)\.[a-z_.]+)`", table))
    existing = {name for name, _ in modules()}
    unplaced = [n for n in existing if "." in n and ".".join(n.split(".")[:2]) not in named]
    assert not unplaced, f"give these a row in docs/architecture.md: {sorted(unplaced)}"
    assert named <= existing, f"docs/architecture.md names what does not exist: {sorted(named - existing)}"


@PARSED
@pytest.mark.parametrize("library", DOORS)
def test_one_door_each(library: str) -> None:
    """What is imported through one door is imported nowhere else."""
    users = [name for name, found in imports().items() if library in found]
    doors = DOORS[library]
    strangers = [n for n in users if not any(n == door or n.startswith(f"{door}.") for door in doors)]
    assert users, f"nothing imports {library}: drop its rule"
    assert not strangers, f"{library} is imported outside of {doors}: {strangers}"


def test_the_environment_has_one_door() -> None:
    """os.environ is read in workers.settings alone; code that runs inside the sandbox reads its own."""
    inside = {
        "workers.sandbox.break_out",
        "workers.sandbox.child_tracing",
        "workers.sandbox.launcher",
        "workers.sandbox.plain_tests",
        "workers.sandbox.pytest_plugin",
        "workers.sandbox.tracing",
        "workers.repair.running.in_sandbox",
        "workers.environments.in_sandbox",
    }
    readers = [n for n, p in modules() if re.search(r"os\.environ\b|os\.getenv\b", p.read_text())]
    strangers = [n for n in readers if n != "workers.settings" and not any(n.startswith(i) for i in inside)]
    assert not strangers


@PARSED
def test_no_silent_blanket_except() -> None:
    """Whoever catches everything stands at a process's edge and re-raises or logs."""
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler):
                caught = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else BLANKET
                silent = all(isinstance(statement, ast.Pass | ast.Continue) for statement in node.body)
                assert not (caught & BLANKET and silent), f"{name}:{node.lineno} swallows everything"


@PARSED
def test_the_first_python_3_11_is_enough() -> None:
    """What Debian 12's Python 3.11.2 lacks: filters of tarfile, and groups that give nothing back, which lose matches before 3.11.5."""
    asks = {"workers.environments.in_sandbox.build"}
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not re.search(r"\)[*+?]\+|\(\?>", node.value), f"{name}:{node.lineno} has a possessive group"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and name not in asks:
                filtered = node.func.attr in {"extract", "extractall"} and any(k.arg == "filter" for k in node.keywords)
                assert not filtered, f"{name}:{node.lineno} needs Python 3.11.4"


def test_every_setting_is_documented() -> None:
    """docs/settings.md names every variable, and none that does not exist."""
    named = set(re.findall(rf"`({PREFIX}[A-Z_]+)`", (ROOT / "docs" / "settings.md").read_text()))
    assert named == set(known_variables())


def subcommands(group: object, called: str) -> Iterator[str]:
    """How each command under a group is called; the groups of Typer's sub-applications included."""
    for name, command in getattr(group, "commands", {}).items():
        if hasattr(command, "commands"):
            yield from subcommands(command, f"{called} {name}")
        else:
            yield f"{called} {name}"


def test_every_command_is_documented() -> None:
    """docs/commands.md names every subcommand, those of sub-applications too."""
    from bot.cli.main import app

    text = (ROOT / "docs" / "commands.md").read_text()
    found = list(subcommands(typer.main.get_command(app), "apprentice"))
    assert {"apprentice fix", "apprentice why", "apprentice learn"} <= set(found)
    assert [each for each in found if not re.search(rf"`{each}[ `]", text)] == []


# ── Plain names and plain words ────────────────────────────────────────────────────────────────────────────────────

BANNED = re.compile(
    r"\b(told|took|heard|said|stands|whoever|nobody|somebody|the like|of our own|comes of|to be had|seen to)\b",
    re.IGNORECASE,
)


def definitions(tree: ast.AST) -> Iterator[str]:
    """The public names that a module defines: modules' and classes' own, parameters not among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def words_of(name: str) -> str:
    """`TheLike` and `the_like` as words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ")


def texts(tree: ast.AST) -> Iterator[str]:
    """Docstrings and every other literal that is more than one word: what users and maintainers read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


@PARSED
def test_class_names_are_unique() -> None:
    """A public class name exists once in the product."""
    places: dict[str, list[str]] = {}
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@PARSED
def test_plain_words() -> None:
    """No public name, docstring, log line or message uses a word that plain English does without."""
    found = []
    for name, tree in trees().items():
        found += [
            f"{name}: {each}"
            for each in definitions(tree)
            if not each.startswith("_") and BANNED.search(words_of(each))
        ]
        found += [f"{name}: …{match[0]}…" for text in texts(tree) for match in BANNED.finditer(text)]
    assert found == []


def test_our_pytest_plugins_are_outside_of_the_environment() -> None:
    """A sandbox shows the environment, so the plugins of our own tests are beside it and load in no repaired project."""
    plugins = {
        distribution.name
        for distribution in importlib.metadata.distributions(path=[sysconfig.get_path("purelib")])
        if any(point.group == "pytest11" for point in distribution.entry_points)
    }
    if not plugins <= WITH_DEPENDENCIES:
        missing(f"make plugins (these are in the environment: {sorted(plugins - WITH_DEPENDENCIES)})")
