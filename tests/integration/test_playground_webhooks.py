"""Webhooks: signed, in order, once; and the hooks by which tests interfere with requests."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from bot.playground.api import PlaygroundRequest
from tests.integration.playground_tour import HOME, REPOSITORY, SUMS, Scene, set_scene
from tests.playground import Playground, delay, fail, secondary_limit


@dataclass
class Receiver:
    """What a web process would have got. `statuses` are answered in turn, then 202."""

    url: str = ""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def events(self) -> list[str]:
        return [
            f"{headers['X-Github-Event']}.{json.loads(body).get('action', '')}".rstrip(".")
            for headers, body in self.got
        ]

    def payloads(self, event: str) -> list[Any]:
        return [json.loads(body) for headers, body in self.got if headers["X-Github-Event"] == event]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server on loopback that keeps what it is sent."""
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.got.append(({name.title(): value for name, value in self.headers.items()}, body))
            self.send_response(made.statuses.pop(0) if made.statuses else 202)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def scene(receiver: Receiver) -> Iterator[Scene]:
    with Playground() as playground:
        made = set_scene(playground, webhook_url=receiver.url)
        playground.drain()
        receiver.got.clear()
        yield made


def test_a_webhook_is_signed_over_its_bytes(scene: Scene, receiver: Receiver) -> None:
    """The headers are GitHub's and the signature is the HMAC of the raw body."""
    scene.ada.ok("POST", f"{HOME}/issues", {"title": "Unicode: ✓ ünï"})
    scene.playground.drain()
    ((headers, body),) = receiver.got
    assert headers["X-Hub-Signature-256"] == "sha256=" + hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["User-Agent"].startswith("GitHub-Hookshot/")
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Github-Hook-Installation-Target-Type"] == "integration"
    assert len(headers["X-Github-Delivery"]) == 36
    payload = json.loads(body)
    assert payload["issue"]["title"] == "Unicode: ✓ ünï"
    assert payload["installation"]["id"] == scene.installation_id
    assert payload["sender"]["login"] == "ada"


def test_the_bot_hears_of_its_own_deeds(scene: Scene, receiver: Receiver) -> None:
    """What the App does fires webhooks too, sent by a Bot, and in the order in which it was done."""
    scene.ada.ok("POST", f"{HOME}/issues", {"title": "It fails", "labels": ["bug"]})
    scene.as_bot.ok("POST", f"{HOME}/issues/1/comments", {"body": "On it"})
    scene.playground.drain()
    assert receiver.events() == ["issues.opened", "issues.labeled", "issue_comment.created"]
    (payload,) = receiver.payloads("issue_comment")
    assert (payload["sender"]["login"], payload["sender"]["type"]) == ("apprentice[bot]", "Bot")
    assert payload["comment"]["performed_via_github_app"]["slug"] == "apprentice"


def test_a_push_moves_the_pull_request(scene: Scene, receiver: Receiver) -> None:
    """A push to the head of a pull request fires synchronize, with before and after."""
    first = scene.playground.commit(REPOSITORY, {"new.py": "x = 1\n"}, "New", login="ada", branch="topic")
    scene.ada.ok("POST", f"{HOME}/pulls", {"title": "New", "head": "topic", "base": "main"})
    second = scene.playground.commit(REPOSITORY, {"new.py": "x = 2\n"}, "Newer", login="ada", branch="topic")
    scene.playground.drain()
    assert receiver.events() == ["pull_request.opened", "pull_request.synchronize"]
    moved = receiver.payloads("pull_request")[1]
    assert (moved["before"], moved["after"], moved["pull_request"]["head"]["sha"]) == (first, second, second)


def test_a_merge_closes_and_settles(scene: Scene, receiver: Receiver) -> None:
    """A merge fires pull_request closed with merged true, and closes the issue that the body names."""
    scene.ada.ok("POST", f"{HOME}/issues", {"title": "It fails"})
    scene.playground.commit(REPOSITORY, {"sums.py": SUMS.replace("-", "+")}, "Add", login="ada", branch="topic")
    scene.ada.ok("POST", f"{HOME}/pulls", {"title": "Add", "head": "topic", "base": "main", "body": "Fixes #1"})
    scene.ada.ok("PUT", f"{HOME}/pulls/2/merge", {})
    scene.playground.drain()
    assert receiver.events()[2:] == ["pull_request.closed", "issues.closed"]
    closed = receiver.payloads("pull_request")[1]["pull_request"]
    assert (closed["merged"], closed["merged_by"]["login"]) == (True, "ada")
    assert scene.playground.world.repository("octo", "sums").git.branch("main") == closed["merge_commit_sha"]


def test_reactions_are_silent(scene: Scene, receiver: Receiver) -> None:
    """No webhook tells of a reaction."""
    scene.ada.ok("POST", f"{HOME}/issues", {"title": "It fails"})
    made = scene.eve.ok("POST", f"{HOME}/issues/1/reactions", {"content": "+1"})
    scene.eve.ok("DELETE", f"{HOME}/issues/1/reactions/{made['id']}")
    scene.playground.drain()
    assert receiver.events() == ["issues.opened"]


def test_a_failed_delivery_is_not_repeated(scene: Scene, receiver: Receiver) -> None:
    """A 500 is logged and left; only a requested redelivery comes again, with the same id and bytes."""
    receiver.statuses.append(500)
    scene.ada.ok("POST", f"{HOME}/issues", {"title": "It fails"})
    scene.playground.drain()
    (newest, *_older) = scene.as_app.ok("GET", "/app/hook/deliveries")
    assert (newest["status"], newest["status_code"], newest["event"]) == ("Invalid HTTP Response: 500", 500, "issues")
    assert len(receiver.got) == 1
    scene.as_app.ok("POST", f"/app/hook/deliveries/{newest['id']}/attempts")
    scene.playground.drain()
    (first, second) = receiver.got
    assert first[1] == second[1]
    assert first[0]["X-Github-Delivery"] == second[0]["X-Github-Delivery"] == newest["guid"]
    (again, *_older) = scene.as_app.ok("GET", "/app/hook/deliveries")
    assert (again["redelivery"], again["status_code"], again["guid"]) == (True, 202, newest["guid"])
    assert again["id"] != newest["id"]


def test_a_dead_receiver_is_logged(scene: Scene, receiver: Receiver) -> None:
    """Where nobody listens the delivery fails and says so."""
    scene.playground.set_webhook(scene.app, "http://127.0.0.1:9/hook")
    scene.playground.drain()
    (newest, *_older) = scene.as_app.ok("GET", "/app/hook/deliveries")
    assert (newest["event"], newest["status"]) == ("ping", "failed to connect to host")
    assert receiver.got == []


def test_the_second_request_fails_before_it_has_an_effect(scene: Scene) -> None:
    """`before` with nth=2 fails the second matching request alone, and nothing is stored."""
    scene.playground.before("POST", r"/issues$", fail(500), nth=2)
    statuses = [scene.ada.send("POST", f"{HOME}/issues", {"title": "It fails"})[0] for _ in range(3)]
    assert statuses == [201, 500, 201]
    assert len(scene.ada.ok("GET", f"{HOME}/issues")) == 2


def test_a_request_fails_after_it_had_its_effect(scene: Scene) -> None:
    """`after` loses the answer of a request that was carried out."""
    scene.playground.after("POST", r"/issues$", fail(502))
    assert scene.ada.send("POST", f"{HOME}/issues", {"title": "It fails"})[0] == 502
    assert len(scene.ada.ok("GET", f"{HOME}/issues")) == 1
    assert [(each.method, each.status, each.actor) for each in scene.playground.requests][-2:] == [
        ("POST", 502, ""),
        ("GET", 200, "ada"),
    ]


def test_a_secondary_limit_names_its_wait(scene: Scene) -> None:
    """The secondary rate limit is 403 with Retry-After, until the hooks are forgotten."""
    scene.playground.before("POST", r"/comments$", secondary_limit(7), nth=0)
    scene.ada.ok("POST", f"{HOME}/issues", {"title": "It fails"})
    status, body, headers = scene.ada.send("POST", f"{HOME}/issues/1/comments", {"body": "x"})
    assert (status, headers["retry-after"]) == (403, "7")
    assert "secondary rate limit" in body["message"]
    scene.playground.undisturbed()
    scene.ada.ok("POST", f"{HOME}/issues/1/comments", {"body": "x"})


def test_a_hook_sees_the_request_and_may_hold_it(scene: Scene) -> None:
    """A hook gets the request as it came, while others go on."""
    seen: list[PlaygroundRequest] = []
    scene.playground.before("GET", r"/branches$", lambda request: seen.append(request))
    scene.playground.before("GET", r"/branches$", delay(0.01))
    scene.ada.ok("GET", f"{HOME}/branches?per_page=1")
    assert [(each.path, each.query) for each in seen] == [(f"{HOME}/branches", "per_page=1")]
