"""GitHub's own descriptions of its API, as oracles for our stand-in: `python -m tests.official` fetches them.

The packages are Octokit's on npm, pinned here; they land in `.cache/octokit` and are never committed. Tests that need
them skip when they are absent and fail in CI.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest
from graphql import GraphQLSchema, build_schema

Json = Any  # what json.loads gives: checked by use
CACHE = Path(__file__).parents[1] / ".cache" / "octokit"
# Our name: package and version, the file in it.
SOURCES = {
    "rest.json": ("@octokit/openapi@23.0.2", "package/generated/api.github.com.json"),
    "webhooks.json": ("@octokit/openapi-webhooks@12.1.0", "package/generated/api.github.com.json"),
    "examples.json": ("@octokit/webhooks-examples@7.6.1", "package/api.github.com/index.json"),
    "schema.graphql": ("@octokit/graphql-schema@15.26.1", "package/schema.graphql"),
}
_CHANGES = "x-github-breaking-changes"
_NOISE = frozenset({_CHANGES, "example", "examples", "x-github", "x-octokit", "externalDocs"})


def fetch(into: Path = CACHE) -> None:
    """Download what is missing with npm, which checks each package against the registry's hash."""
    npm = shutil.which("npm")
    wanted = {name: source for name, source in SOURCES.items() if not (into / name).exists()}
    if wanted and npm is None:
        raise SystemExit("npm is needed to fetch GitHub's descriptions (Debian: apt install npm)")
    into.mkdir(parents=True, exist_ok=True)
    for name, (package, member) in wanted.items():
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([str(npm), "pack", "--silent", package], cwd=scratch, check=True, stdout=subprocess.DEVNULL)
            (ball,) = Path(scratch).glob("*.tgz")
            subprocess.run(["tar", "--extract", "--file", ball, "--directory", scratch, member], check=True)
            shutil.move(Path(scratch) / member, into / name)


def _path(name: str) -> Path:
    path = CACHE / name
    if not path.exists():
        line = "GitHub's descriptions are not in .cache/octokit: run `python -m tests.official`"
        if os.environ.get("CI") == "true":
            pytest.fail(line, pytrace=False)
        pytest.skip(line)
    return path


@cache
def _load(name: str) -> Json:
    return json.loads(_path(name).read_bytes())


def _json_schema(node: Json) -> Json:
    """An OpenAPI 3.0 schema as JSON Schema: `nullable` becomes a type, examples go."""
    if isinstance(node, list):
        return [_json_schema(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _json_schema(value) for key, value in node.items() if key not in _NOISE}
    if made.get("nullable") is not True:
        return made
    del made["nullable"]
    if isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
        return made
    return {"anyOf": [made, {"type": "null"}]}


class Descriptions:
    """One OpenAPI document; schemas are compiled when first asked for."""

    def __init__(self, document: Json) -> None:
        self.document = _json_schema(document)
        self._registry = jsonschema_rs.Registry([("urn:doc", self.document)], draft=jsonschema_rs.Draft202012)
        self._validators: dict[str, Json] = {}

    def problems(self, pointer: str, value: Json) -> list[str]:
        """What the schema at `pointer` (a JSON pointer) has against `value`, each as `path: message`."""
        validator = self._validators.get(pointer)
        if validator is None:
            reference = {"$ref": f"urn:doc#{quote(pointer, safe='/~.$-')}"}
            validator = jsonschema_rs.Draft202012Validator(reference, registry=self._registry, validate_formats=True)
            self._validators[pointer] = validator
        return [_line(error) for error in validator.iter_errors(value)]


def _line(error: Json) -> str:
    where = ".".join(str(step) for step in error.instance_path)
    return f"{where or '(root)'}: {error.message[:300]}"


class RestDescription(Descriptions):
    """GitHub's REST API."""

    def __init__(self, document: Json) -> None:
        super().__init__(document)
        self._templates = [(_template(path), path) for path in document["paths"]]

    def operation(self, method: str, path: str) -> str | None:
        """The JSON pointer of the operation that serves a request; the most literal path wins."""
        found = [name for pattern, name in self._templates if pattern.match(path)]
        for name in sorted(found, key=lambda name: len(re.sub(r"\{[^}]+\}", "", name)), reverse=True):
            if method.lower() in self.document["paths"][name]:
                return f"/paths/{name.replace('/', '~1')}/{method.lower()}"
        return None

    def response_problems(self, method: str, path: str, status: int, body: Json) -> list[str]:
        """What is wrong with this answer. An unknown operation or status is a problem too."""
        operation = self.operation(method, path)
        if operation is None:
            return [f"GitHub does not describe {method} {path}"]
        response = self._at(f"{operation}/responses").get(str(status))
        if response is None:
            return [f"GitHub does not describe status {status} of {method} {path}"]
        pointer = f"{operation}/responses/{status}"
        if "$ref" in response:
            pointer = response["$ref"].removeprefix("#")
            response = self._at(pointer)
        if "application/json" not in response.get("content", {}):
            return [] if body is None else [f"{method} {path} {status} should have no body"]
        return self.problems(f"{pointer}/content/application~1json/schema", body)

    def _at(self, pointer: str) -> Json:
        node = self.document
        for step in pointer.split("/")[1:]:
            node = node[step.replace("~1", "/").replace("~0", "~")]
        return node


def _template(path: str) -> re.Pattern[str]:
    """`{path}` and refs may hold slashes; other parameters may not."""
    rest = r"\{(?:path|ref|branch|basehead)\}"
    parts = re.split(r"(\{[^}]+\})", path)
    made = "".join(
        (".+" if re.fullmatch(rest, part) else "[^/]+") if part.startswith("{") else re.escape(part) for part in parts
    )
    return re.compile(f"^{made}$")


class WebhookDescription(Descriptions):
    """GitHub's webhooks."""

    def event_problems(self, event: str, action: str | None, payload: Json) -> list[str]:
        """What is wrong with this payload. An unknown event is a problem too."""
        name = "-".join([event, *([action] if action else [])]).replace("_", "-")
        if name not in self.document["webhooks"]:
            return [f"GitHub does not describe the event {name}"]
        return self.problems(f"/webhooks/{name}/post/requestBody/content/application~1json/schema", payload)

    def describes(self, event: str, path: str) -> bool:
        """Whether some action of the event has a field at this dotted path (`[]` for the items of a list)."""
        start = event.replace("_", "-")
        names = [name for name in self.document["webhooks"] if re.fullmatch(rf"{start}(-[a-z-]+)?", name)]
        nodes = [
            self.document["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]["schema"]
            for name in names
        ]
        for step in path.replace("[]", ".[]").split("."):
            found = [inner for node in nodes for inner in self._variants(node)]
            key, within = ("items", found) if step == "[]" else (step, [each.get("properties", {}) for each in found])
            nodes = [each[key] for each in within if key in each]
        return bool(nodes)

    def _variants(self, node: Json) -> Iterator[Json]:
        """The schema itself and everything that it may be instead."""
        if "$ref" in node:
            node = self.document["components"]["schemas"][node["$ref"].rsplit("/", 1)[1]]
        yield node
        for key in ("anyOf", "oneOf", "allOf"):
            for each in node.get(key, ()):
                yield from self._variants(each)


@cache
def rest() -> RestDescription:
    """The REST API in the version that clients get by default."""
    return RestDescription(_load("rest.json"))


@cache
def webhooks() -> WebhookDescription:
    return WebhookDescription(_load("webhooks.json"))


def examples(event: str, *actions: str) -> list[Json]:
    """GitHub's published payloads of an event, those of these actions where any are given."""
    found = next(each["examples"] for each in _load("examples.json") if each["name"] == event)
    return [each for each in found if not actions or each.get("action") in actions]


@cache
def graphql_schema() -> GraphQLSchema:
    return build_schema(_path("schema.graphql").read_text(), assume_valid_sdl=True, assume_valid=True)


def field_paths(value: Json, at: str = "") -> Iterator[tuple[str, str]]:
    """Every field of a JSON value as (dotted path, JSON type); items of a list share the path `[]`."""
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    yield at, kinds.get(type(value), "null")
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from field_paths(inner, f"{at}.{key}" if at else key)
    elif isinstance(value, list):
        for inner in value:
            yield from field_paths(inner, f"{at}[]")


if __name__ == "__main__":
    fetch(Path(sys.argv[1]) if len(sys.argv) > 1 else CACHE)
