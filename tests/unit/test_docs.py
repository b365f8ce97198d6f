"""Documents that cannot lie: what they name exists, and what exists is named."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import typer
from pydantic_core import PydanticUndefined

from bot.cli import json_output
from bot.cli.main import app
from bot.web import events
from bot.web.commands import Verb
from bot.web.metrics import Metrics
from memory.model.jobs import JobState
from tests.json_contracts import documented, undocumented
from tests.pages import ROOT, read, rows
from tests.unit.test_house import BANNED
from workers.configuration.reading import read_configuration
from workers.configuration.schema import json_schema
from workers.github.auth import PERMISSIONS
from workers.settings import (
    PREFIX,
    MintSettings,
    Settings,
    SweeperSettings,
    WebSettings,
    WorkerSettings,
    known_variables,
)

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/alerts.md",
    "docs/architecture.md",
    "docs/ci.md",
    "docs/commands.md",
    "docs/configuration.md",
    "docs/environments.md",
    "docs/evaluating-a-model.md",
    "docs/fine-tuning.md",
    "docs/install.md",
    "docs/learning.md",
    "docs/ledger.md",
    "docs/literature.md",
    "docs/locating.md",
    "docs/measurements.md",
    "docs/model.md",
    "docs/model-server.md",
    "docs/sandboxes.md",
    "docs/scaling.md",
    "docs/sharing.md",
    "docs/operations.md",
    "docs/repair.md",
    "docs/review.md",
    "docs/history.md",
    "docs/settings.md",
    "deploy/runbook.md",
)
EXPLAINED_BY_THEIR_TABLES = {"why", "forget"}
"""Commands whose JSON has the headings of the tables that they print."""

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def section(page: str, heading: str) -> str:
    """The text under a second-level heading."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", read(page), re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no section {heading!r}"
    return found[1]


def in_code(page: str) -> Iterator[str]:
    """Everything that a page shows as code: fenced blocks by line, and spans."""
    text = read(page)
    for block in re.findall(r"^ *```\w*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        yield from (line.strip().removeprefix("$ ") for line in block.splitlines())
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL))


# ── Commands ───────────────────────────────────────────────────────────────────────────────────────────────────────


def options(command: str) -> set[str]:
    return {option for parameter in COMMANDS[command].params for option in parameter.opts if option.startswith("--")}


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_pages_show_exist(page: str) -> None:
    """Every `apprentice …` is a command, with options that it has."""
    for line in in_code(page):
        called = re.match(r"(?:\.venv/bin/)?apprentice(?: exec worker apprentice)? ([a-z]+(?:-[a-z]+)*)\b([^#]*)", line)
        if called:
            assert called[1] in COMMANDS, f"{page}: {line}"
            assert set(re.findall(r"--[a-z-]+", called[2])) <= options(called[1]), f"{page}: {line}"


def test_commands_and_their_options_are_documented() -> None:
    """docs/commands.md has a row for every command, with exactly its options."""
    documented = {}
    for shown in rows(read("docs/commands.md").partition("\n## ")[0]):
        name = shown.removeprefix("apprentice ").split()[0]
        documented[name] = set(re.findall(r"--[a-z-]+", shown))
    assert documented == {name: options(name) for name in COMMANDS}


def test_comment_commands_are_documented() -> None:
    """Every verb that is understood in comments has its place in the table, and no other."""
    table = rows(section("docs/commands.md", "In comments"))
    named = {word for shown in table for word in re.findall(r"[a-z]+", shown.replace("because", ""))}
    assert named == set(Verb)


def test_json_is_documented() -> None:
    """Each command with --json has a paragraph of its keys; documents that commands print are held to it (`Ran.document`)."""
    printing = {name for name in COMMANDS if "--json" in options(name)}
    assert set(documented()) == printing - EXPLAINED_BY_THEIR_TABLES
    assert undocumented("fix", json_output.cannot_run("why")) == set()


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page: str) -> None:
    """Every `make …` that a page shows is a target."""
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    for line in in_code(page):
        for called in re.findall(r"(?:^|&& )(?:sudo )?make ([a-z]+(?:-[a-z]+)*)\b", line):
            assert called in targets, f"{page}: {line}"


def test_make_help_lists_every_target() -> None:
    """A target that people may call is one that `make help` tells of."""
    phony = re.search(r"^\.PHONY: (.+)$", read("Makefile"), re.MULTILINE)
    assert phony
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(re.findall(r"^make ([\w-]+) ", done.stdout, re.MULTILINE)) == set(phony[1].split())


def test_benchmarks_are_documented() -> None:
    """Each figure in the README names a benchmark that is there; every benchmark is named there or where it belongs."""
    pattern = r"python -m (benchmarks[\w.]*\w)"
    pages = (
        "README.md",
        "docs/repair.md",
        "docs/ledger.md",
        "docs/learning.md",
        "docs/measurements.md",
        "docs/evaluating-a-model.md",
        "docs/fine-tuning.md",
        "docs/history.md",
        "docs/review.md",
        "docs/scaling.md",
    )
    named, *explained = (set(re.findall(pattern, read(page))) for page in pages)
    found = (p for p in (ROOT / "benchmarks").rglob("*.py") if "__main__" in p.read_text())
    runnable = {str(p.relative_to(ROOT).with_suffix("")).replace("/", ".").removesuffix(".__main__") for p in found}
    assert named <= runnable
    assert named.union(*explained) == runnable


# ── Settings, metrics, events, permissions ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", PAGES)
def test_settings_that_pages_name_exist(page: str) -> None:
    """No page names a variable that would be refused."""
    assert set(re.findall(rf"\b{PREFIX}[A-Z]+(?:_[A-Z]+)*\b", read(page))) <= known_variables()


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Every process", Settings),
        ("Web process (`apprentice serve`)", WebSettings),
        ("Minting process (`apprentice mint`)", MintSettings),
        ("Sweeper (`apprentice sweep`)", SweeperSettings),
        ("Workers and local commands", WorkerSettings),
    ],
)
def test_settings_are_documented_as_they_are(heading: str, kind: type[Settings]) -> None:
    """Each setting stands under the process that reads it, with its default and its meaning."""
    table = rows(section("docs/settings.md", heading))
    own = {
        name: field
        for name, field in kind.model_fields.items()
        if kind is Settings or name not in Settings.model_fields
    }
    assert set(table) == {PREFIX + name.upper() for name in own}
    for name, field in own.items():
        default, meaning = table[PREFIX + name.upper()]
        assert meaning == field.description, name
        if field.default is not PydanticUndefined and field.default is not None:
            assert default.strip("`") == str(field.default), name


def configuration_rows() -> dict[str, list[str]]:
    """Each key of the repository's own file, with its value, default and meaning, from its schema."""
    schema = json_schema()["$defs"]
    found = {}

    def add(kind: str, above: str) -> None:
        for name, key in schema[kind]["properties"].items():
            inner = key.get("$ref", "").rpartition("/")[2]
            if schema.get(inner, {}).get("type") == "object":
                add(inner, f"{above}{name}.")
            else:
                default = key["default"]
                shown = "" if default in ("", [], {}, None) else f"`{json.dumps(default).strip(chr(34))}`"
                found[f"{above}{name}"] = [key["title"], shown, key["description"]]

    add("RepositoryConfiguration", "")
    return found | {f"rules.<rule>.{name}": row for name, row in _rows_of_a_rule(schema)}


def _rows_of_a_rule(schema: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for name, key in schema["RuleChoice"]["properties"].items():
        yield name, [key["title"], "", key["description"]]


def test_the_configuration_of_a_repository_is_documented() -> None:
    """docs/configuration.md has a row for each key of the schema, in its words; its example has no mistake."""
    assert rows(section("docs/configuration.md", "Keys")) == configuration_rows()
    (example,) = re.findall(r"```yaml\n(.*?)```", read("docs/configuration.md"), re.DOTALL)
    assert read_configuration(example.encode()).mistakes == ()


def test_the_published_schema_is_up_to_date() -> None:
    """It is what `python -m workers.configuration` prints."""
    assert json.loads(read("docs/apprentice.schema.json")) == json.loads(json.dumps(json_schema()))


def test_metrics_are_documented() -> None:
    """docs/operations.md names every metric with its kind, and none that does not exist."""
    counted = {family.name: family.type for family in Metrics().registry.collect()}
    exposed = {name + ("_total" if kind == "counter" else ""): kind for name, kind in counted.items()}
    table = rows(section("docs/operations.md", "Metrics"))
    assert {name.partition("{")[0]: kind for name, (kind, _) in table.items()} == exposed


def test_metric_labels_are_documented() -> None:
    """Every reason for a refusal, and every state of a job, is in the table."""
    sources = "".join(read(f"bot/web/{name}.py") for name in ("app", "bodies", "connections"))
    reasons = set(re.findall(r'(?:RequestRejected|refuse)\(\s*[\w.]+,\s*"(\w+)"', sources))
    table = rows(section("docs/operations.md", "Metrics"))
    assert set(re.findall(r"`(\w+)`", table["apprentice_rejected_requests_total{reason}"][1])) == reasons
    assert set(re.findall(r"`(\w+)`", table["apprentice_jobs{state}"][1])) == set(JobState) - {JobState.DONE}
    assert set(re.findall(r"`(\w+)`", table["apprentice_jobs_ended_total{state}"][1])) == {"done", "failed", "dead"}


def test_events_are_documented() -> None:
    """Every event that is read has its row, with exactly the actions that are acted on."""
    documented: dict[str, set[str]] = {}
    for shown, (actions, _) in rows(section("docs/operations.md", "Webhook events")).items():
        for event in re.findall(r"\w+", shown):
            documented[event] = set(re.findall(r"`(\w+)`", actions))
    assert documented == {event: set(actions) for event, (_, actions) in events._READ.items()}


def test_permissions_are_documented() -> None:
    """docs/install.md and docs/operations.md give a reason for each permission, and ask for no other."""
    table = rows(section("docs/operations.md", "Permissions"))
    assert {name: access for name, (access, _) in table.items()} == PERMISSIONS
    installing = dict(re.findall(r"^\| ([a-z ]+): (read|write) \| \S", read("docs/install.md"), re.MULTILINE))
    assert {name.replace(" ", "_"): access for name, access in installing.items()} == PERMISSIONS


def test_every_page_is_checked() -> None:
    """A new page in docs/ is among those that these tests read."""
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= set(PAGES)


# ── Words and paths ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", PAGES)
def test_pages_use_plain_words(page: str) -> None:
    """No page uses a word that plain English does without; code is exempt."""
    text = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", read(page), flags=re.MULTILINE | re.DOTALL)
    assert [line for line in text.splitlines() if BANNED.search(line)] == []


def test_paths_that_contributors_need_exist() -> None:
    """Every path that CONTRIBUTING.md shows as code is there."""
    shown = {each for each in in_code("CONTRIBUTING.md") if re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+", each)}
    assert shown
    assert [each for each in sorted(shown) if not (ROOT / each).exists()] == []


# ── Links and the picture ──────────────────────────────────────────────────────────────────────────────────────────


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Every link within the repository leads to a file that is there, and to a heading in it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), f"{page}: {target}"
        assert not anchor or anchor in anchors(file), f"{page}: {target}"


def test_the_picture_stands_alone() -> None:
    """It is well-formed, says in words what it shows, brings its own background, and loads nothing from elsewhere."""
    text = read("docs/loop.svg")
    root = ElementTree.fromstring(text)
    names = {element.tag.partition("}")[2] for element in root.iter()}
    assert {"title", "desc"} <= names
    assert not names & {"script", "image", "foreignObject"}
    assert "prefers-color-scheme: dark" in text
    assert 'class="page"' in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
