"""The stand-in is held against GitHub's own descriptions, and so are the payload fields that we read."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterator

import msgspec
import pytest
from graphql import GraphQLSchema, parse, validate

from bot.playground import graphql as served
from bot.playground.api import PlaygroundResponse
from bot.playground.server import served_routes
from bot.web import events
from tests import official
from tests.integration.playground_tour import Scene, set_scene, tour
from tests.playground import Playground
from tests.playground_routes import routes
from workers.github import adapter

# Where GitHub's descriptions are known to be wrong, each with what GitHub does.
REST_DRIFT = (
    # GitHub answers for a repository by its number, and its clients use that, without a description of it.
    r"^GET /repositories/\d+ 200: GitHub does not describe ",
    # The account is described as a person *and* an enterprise; it is one of the two.
    r"^GET /app/installations 200: \d+\.account: ",
)
WEBHOOK_DRIFT = (
    # A bot's address has brackets in it, which RFC 5321 does not allow and GitHub writes nevertheless.
    r"email: \"\d+\+apprentice\[bot\]@users\.noreply\.github\.com\" is not a \"email\"$",
)
# One struct reads pull requests, and one comments, of every event; where an event carries less, defaults stand.
READ_ELSEWHERE = {
    "ping": "action",  # of every event; this one has none
    "issue_comment": r"comment\.in_reply_to_id",
    "check_run": r"check_run\.pull_requests\[\]\.(title|body|draft|merged|user(\.\w+)?)",
    "pull_request_review": r"pull_request\.merged",
    "pull_request_review_comment": r"pull_request\.merged",
    "pull_request_review_thread": r"pull_request\.merged",
}


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """A playground that has been toured."""
    with Playground() as playground:
        made = set_scene(playground)
        tour(made)
        yield made


def left(problems: list[str], drift: tuple[str, ...]) -> list[str]:
    """The problems that are not known drift."""
    return sorted({each for each in problems if not any(re.search(pattern, each) for pattern in drift)})


def test_every_answer_is_as_described(scene: Scene) -> None:
    """Each REST answer of the tour satisfies the schema of its operation in GitHub's OpenAPI description."""
    problems = []
    for request, response in scene.exchanges:
        if request.path != "/graphql":
            described = official.rest()
            found = described.response_problems(request.method, request.path, response.status, parsed(response))
            problems += [f"{request.method} {request.path} {response.status}: {each}" for each in found]
    assert left(problems, REST_DRIFT) == []


def parsed(response: PlaygroundResponse) -> object:
    return json.loads(response.body) if response.body else None


def test_every_route_is_toured(scene: Scene) -> None:
    """The tour leaves no route of the stand-in out, so that none escapes the check of its answers."""
    seen = {(request.method, request.path) for request, _response in scene.exchanges}
    missed = [
        f"{route.method} {route.template}"
        for route in (*served_routes(), *routes.table)
        if not any(method == route.method and route.pattern.match(path) for method, path in seen)
    ]
    assert missed == []


def test_every_webhook_is_as_described(scene: Scene) -> None:
    """Each webhook of the tour satisfies its schema in GitHub's description."""
    problems = []
    for delivery in scene.playground.world.deliveries:
        notice = delivery.notice
        found = official.webhooks().event_problems(notice.event, notice.action, json.loads(notice.body))
        problems += [f"{notice.event}.{notice.action}: {each}" for each in found]
    assert left(problems, WEBHOOK_DRIFT) == []


def test_the_tour_fires_every_event_that_we_read(scene: Scene) -> None:
    """Everything that the receiver acts on has been emitted, read by it, and held against its schema."""
    sent = {delivery.notice.event for delivery in scene.playground.world.deliveries}
    assert events.KNOWN - sent == set()


def test_the_receiver_reads_what_the_playground_sends(scene: Scene) -> None:
    """No webhook of the tour is one that the receiver wants and cannot use."""
    read = [events.parse(each.notice.event, each.notice.body) for each in scene.playground.world.deliveries]
    unusable = [each.reason for each in read if isinstance(each, events.Ignored) and "cannot be used" in each.reason]
    assert unusable == []


@pytest.mark.parametrize("event", sorted(events.KNOWN))
def test_the_receiver_reads_githubs_examples(event: str) -> None:
    """Every published example of an event is read, or ignored for its action alone."""
    read = [events.parse(event, json.dumps(each).encode()) for each in official.examples(event)]
    unusable = [each.reason for each in read if isinstance(each, events.Ignored) and "cannot be used" in each.reason]
    assert unusable == []


@pytest.mark.parametrize("event", sorted(events.KNOWN))
def test_every_field_that_we_read_is_githubs(event: str) -> None:
    """Each field that the receiver names is in a published example with a type it accepts, or at least described."""
    shown: dict[str, set[str]] = {}
    kinds = set()
    for example in official.examples(event):
        parsed = events.parse(event, json.dumps(example).encode())
        if not isinstance(parsed, events.Ignored):
            kinds.add(type(parsed))
            for path, kind in official.field_paths(example):
                shown.setdefault(path, set()).add(kind)
    read = {path: accepted for kind in kinds for path, accepted in read_paths(kind)}
    wrong = [
        f"{path}: we take {sorted(accepted)}, the examples have {sorted(shown.get(path, ()))}"
        for path, accepted in read.items()
        if not (shown[path] & accepted if path in shown else official.webhooks().describes(event, path))
    ]
    excused = re.compile(READ_ELSEWHERE.get(event, "$^") + ": ")
    assert kinds
    assert [each for each in wrong if not excused.match(each)] == []


def read_paths(struct: type, at: str = "") -> Iterator[tuple[str, set[str]]]:
    """The paths that a msgspec struct reads, each with the JSON types that it accepts."""
    hints = typing.get_type_hints(struct)
    for name, key in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):  # type: ignore[attr-defined]  # every msgspec struct has them
        path = f"{at}.{key}" if at else key
        yield from paths_of(hints[name], path)


def paths_of(hint: object, path: str) -> Iterator[tuple[str, set[str]]]:
    members = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    words = {str: "string", int: "integer", bool: "boolean", type(None): "null"}
    accepted = set()
    for member in members:
        if typing.get_origin(member) is tuple:
            accepted.add("array")
            yield from paths_of(typing.get_args(member)[0], f"{path}[]")
        elif isinstance(member, type) and issubclass(member, msgspec.Struct):
            accepted.add("object")
            yield from read_paths(member, path)
        else:
            accepted.add(words[typing.cast("type", member)])
    yield path, accepted


def test_every_graphql_query_is_valid_on_github(scene: Scene) -> None:
    """The queries of the maintainer and of the tour pass validation against GitHub's own schema."""
    sent = [json.loads(request.body)["query"] for request, _response in scene.exchanges if request.path == "/graphql"]
    assert sent
    assert problems_on_github(sent) == []


def test_the_workers_queries_are_valid_on_github() -> None:
    """The queries that the workers send pass validation against GitHub's own schema."""
    queries = [
        text for text in vars(adapter).values() if isinstance(text, str) and re.match(r"\s*(query|mutation)\b", text)
    ]
    assert queries
    assert problems_on_github(queries) == []


def problems_on_github(queries: list[str]) -> list[str]:
    schema = official.graphql_schema()
    return [error.message for query in sorted(set(queries)) for error in validate(schema, parse(query))]


def test_the_graphql_types_are_githubs() -> None:
    """Every type, field and argument that the stand-in serves is on GitHub with the same type."""
    assert list(differences(served.schema(), official.graphql_schema())) == []


def differences(ours: GraphQLSchema, theirs: GraphQLSchema) -> Iterator[str]:
    """What is in our schema and not, or otherwise, in theirs."""
    for name, kind in ours.type_map.items():
        if name.startswith("__"):
            continue
        other = theirs.type_map.get(name)
        if other is None:
            yield f"{name} is not a type"
            continue
        for field, made in getattr(kind, "fields", {}).items():
            real = getattr(other, "fields", {}).get(field)
            if real is None or str(real.type) != str(made.type):
                yield f"{name}.{field} is {real and real.type}, not {made.type}"
                continue
            for argument, given in getattr(made, "args", {}).items():
                if argument not in real.args or str(real.args[argument].type) != str(given.type):
                    yield f"{name}.{field}({argument}:) is not an argument of type {given.type}"
