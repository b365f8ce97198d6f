"""The rules of the house: imports, doors, and documents that cannot lie."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from workers.settings import PREFIX, known_variables

ROOT = Path(__file__).parents[2]
PACKAGES = ("bot", "workers", "memory")
DOORS = {
    "celery": ("workers.queue.celery_app", "workers.queue.celery_app"),
    "sqlalchemy": ("memory.store", "memory.migrations"),
    "alembic": ("memory.store", "memory.migrations"),
    "github": ("workers.github",),
    "sentence_transformers": ("memory.embed",),
    "subprocess": ("workers.git", "workers.history.changes", "workers.sandbox", "bot.supervisor", "bot.playground"),
    "fastapi": ("bot.web.app", "bot.playground"),
    "libcst": ("workers.repair",),
    "openai": ("workers.llm.endpoint",),
}
BLANKET = {"Exception", "BaseException"}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the three packages, by its dotted name."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "projects" not in path.parts:
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
def imports() -> Mapping[str, frozenset[str]]:
    """What each module imports, read once for all the tests that ask."""
    return {name: frozenset(imported(ast.parse(path.read_text()))) for name, path in modules()}


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def test_lint() -> None:
    """ruff finds nothing, and every file is formatted."""
    run("ruff", "check", ".")
    run("ruff", "format", "--check", ".")


@pytest.mark.slow
@pytest.mark.timeout(900)
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


@pytest.mark.xdist_group("doors")
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
        "workers.sandbox.launcher",
        "workers.sandbox.pytest_plugin",
        "workers.sandbox.tracing",
        "workers.repair.forked",
    }
    readers = [n for n, p in modules() if re.search(r"os\.environ\b|os\.getenv\b", p.read_text())]
    strangers = [n for n in readers if n != "workers.settings" and not any(n.startswith(i) for i in inside)]
    assert not strangers


def test_no_silent_blanket_except() -> None:
    """Whoever catches everything stands at a process's edge and re-raises or logs."""
    for name, path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler):
                caught = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else BLANKET
                silent = all(isinstance(statement, ast.Pass | ast.Continue) for statement in node.body)
                assert not (caught & BLANKET and silent), f"{name}:{node.lineno} swallows everything"


def test_every_setting_is_documented() -> None:
    """docs/settings.md names every variable, and none that does not exist."""
    named = set(re.findall(rf"`({PREFIX}[A-Z_]+)`", (ROOT / "docs" / "settings.md").read_text()))
    assert named == set(known_variables())


def test_every_command_is_documented() -> None:
    """README.md or docs/commands.md names every subcommand."""
    from bot.cli.main import app

    text = (ROOT / "docs" / "commands.md").read_text()
    for command in app.registered_commands:
        assert command.callback is not None
        assert f"`apprentice {command.name or command.callback.__name__}" in text
