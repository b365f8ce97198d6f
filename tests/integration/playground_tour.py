"""A tour of everything that the playground serves, as plain HTTP by three callers: the App, its installation, a person."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import jwt

from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.models import App
from tests.playground import Playground

Json = Any  # what json.loads gives: checked by use
REPOSITORY = "octo/sums"
HOME = f"/repos/{REPOSITORY}"
NOWHERE = "http://127.0.0.1:9/hook"  # the discard port, where nobody listens
SUMS = "def add(a, b):\n    return a - b\n\n\ndef double(x):\n    return 2 * x\n"


@dataclass(kw_only=True)
class Tourist:
    """One caller."""

    url: str
    authorization: str = ""

    def send(self, method: str, path: str, body: Json = None, **headers: str) -> tuple[int, Json, dict[str, str]]:
        """Status, parsed body and headers of an answer; header names are given with underscores."""
        parts = urlsplit(self.url)
        connection = HTTPConnection(str(parts.hostname), parts.port, timeout=600)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.authorization:
            named.setdefault("Authorization", self.authorization)
        connection.request(method, path, None if body is None else json.dumps(body), named)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        typed = "json" in (answer.getheader("Content-Type") or "")
        parsed = json.loads(text) if text and typed else text.decode()
        return answer.status, parsed, {name.lower(): value for name, value in answer.getheaders()}

    def ok(self, method: str, path: str, body: Json = None, **headers: str) -> Json:
        """The body of an answer that must be a success."""
        status, parsed, _headers = self.send(method, path, body, **headers)
        assert 200 <= status < 300, f"{method} {path}: {status} {parsed}"
        return parsed


def app_jwt(app: App, *, issued: float = -10, expires: float = 300, key: str = "", issuer: str = "") -> str:
    """An App's JWT; times are seconds from now."""
    now = time.time()
    claims = {"iss": issuer or str(app.id), "iat": int(now + issued), "exp": int(now + expires)}
    return jwt.encode(claims, key or app.private_key, algorithm="RS256")


@dataclass(kw_only=True)
class Scene:
    """A playground with an account's repository, an App on it, a maintainer and an outsider."""

    playground: Playground
    app: App
    installation_id: int
    as_app: Tourist
    as_bot: Tourist
    ada: Tourist
    eve: Tourist
    exchanges: list[tuple[PlaygroundRequest, PlaygroundResponse]] = field(default_factory=list)


def set_scene(playground: Playground, *, webhook_url: str = NOWHERE) -> Scene:
    """Everything that is made on web pages."""
    for login in ("ada", "eve"):
        playground.add_user(login, name=login.title())
    playground.add_user("octo")
    playground.add_repository("octo/other", {"README.md": "Another\n"}, private=True)
    playground.add_repository(REPOSITORY, {"sums.py": SUMS, "docs/why.md": "# Why\n"})
    playground.grant(REPOSITORY, "ada", "maintain")
    app = playground.add_app("apprentice", owner="octo", webhook_secret="s3cret")
    playground.set_webhook(app, webhook_url)
    installation = playground.install(app, REPOSITORY)
    as_app = Tourist(url=playground.url, authorization=f"Bearer {app_jwt(app)}")
    made = as_app.ok("POST", f"/app/installations/{installation.id}/access_tokens", {})
    scene = Scene(
        playground=playground,
        app=app,
        installation_id=installation.id,
        as_app=as_app,
        as_bot=Tourist(url=playground.url, authorization=f"token {made['token']}"),
        ada=Tourist(url=playground.url, authorization=f"Bearer {playground.token_for('ada')}"),
        eve=Tourist(url=playground.url, authorization=f"Bearer {playground.token_for('eve')}"),
    )
    playground.observe(lambda request, response: scene.exchanges.append((request, response)))
    return scene


def tour(scene: Scene) -> None:
    """Call every route at least once, and make every webhook happen."""
    issue = _apps_and_people(scene)
    _issues(scene, issue)
    sha = _git(scene)
    pull = _pulls(scene)
    _reviews(scene, pull)
    _threads_and_reactions(scene, issue, pull)
    _checks(scene, sha)
    _endings(scene, pull)


def _apps_and_people(scene: Scene) -> int:
    as_app, bot, ada = scene.as_app, scene.as_bot, scene.ada
    for path in ("/app", "/app/installations", f"/app/installations/{scene.installation_id}", f"{HOME}/installation"):
        as_app.ok("GET", path)
    repository = bot.ok("GET", HOME)
    bot.ok("GET", "/installation/repositories")
    bot.ok("GET", f"/repositories/{repository['id']}")
    bot.ok("GET", f"/user/{repository['owner']['id']}")
    narrow = {"repository_ids": [repository["id"]], "permissions": {"contents": "read"}}
    as_app.ok("POST", f"/app/installations/{scene.installation_id}/access_tokens", narrow)
    ada.ok("GET", "/user")
    bot.ok("GET", "/users/apprentice%5Bbot%5D")
    bot.ok("GET", f"{HOME}/collaborators/ada/permission")
    made = ada.ok("POST", f"{HOME}/issues", {"title": "It fails", "body": "See the log", "labels": ["bug"]})
    return int(made["number"])


def _issues(scene: Scene, number: int) -> None:
    bot, ada = scene.as_bot, scene.ada
    issue = f"{HOME}/issues/{number}"
    ada.ok("GET", f"{HOME}/issues?state=all&labels=bug")
    bot.ok("GET", issue)
    ada.ok("PATCH", issue, {"title": "It still fails", "body": "See this log"})
    ada.ok("POST", f"{issue}/labels", {"labels": ["apprentice"]})
    comment = bot.ok("POST", f"{issue}/comments", {"body": "On"})["id"]
    bot.ok("PATCH", f"{HOME}/issues/comments/{comment}", {"body": "On it"})
    bot.ok("GET", f"{issue}/comments")
    second = bot.ok("POST", f"{issue}/comments", {"body": "Twice"})["id"]
    bot.ok("DELETE", f"{HOME}/issues/comments/{second}")
    ada.ok("PATCH", issue, {"state": "closed", "state_reason": "not_planned"})
    ada.ok("PATCH", issue, {"state": "open"})


def _git(scene: Scene) -> str:
    bot, playground = scene.as_bot, scene.playground
    bot.ok("GET", f"{HOME}/branches/main")
    bot.ok("GET", f"{HOME}/branches")
    bot.ok("GET", f"{HOME}/contents/sums.py")
    spaced = {"sums.py": SUMS.replace("a - b", "a  +  b")}
    sha = playground.commit(REPOSITORY, spaced, "Add", login="ada", branch="fix")
    playground.commit(REPOSITORY, {"use.py": "import sums\n"}, "Use", login="ada", branch="fix")
    playground.commit(REPOSITORY, {"use.py": "import sums\n"}, "Use", login="ada", branch="doomed")
    bot.ok("GET", f"{HOME}/commits/{sha}")
    bot.ok("GET", f"{HOME}/git/ref/heads/fix")
    bot.ok("DELETE", f"{HOME}/git/refs/heads/doomed")
    scene.eve.ok("POST", f"{HOME}/forks", {})
    return sha


def _pulls(scene: Scene) -> int:
    bot = scene.as_bot
    wanted = {"title": "Add", "head": "fix", "base": "main", "body": "Fixes #1", "draft": True}
    number = int(bot.ok("POST", f"{HOME}/pulls", wanted)["number"])
    pull = f"{HOME}/pulls/{number}"
    bot.ok("GET", f"{HOME}/pulls?state=open&head=octo:fix")
    bot.ok("GET", pull)
    bot.ok("GET", f"{HOME}/issues/{number}")
    bot.ok("PATCH", f"{HOME}/issues/{number}", {"title": "Add properly", "body": "Fixes #1.", "state": "closed"})
    bot.ok("PATCH", f"{HOME}/issues/{number}", {"state": "open"})
    more = {"use.py": "import sums\n\nprint(sums.add(1, 2))\n"}
    scene.playground.commit(REPOSITORY, more, "Print", login="ada", branch="fix")
    bot.ok("PATCH", pull, {"base": "main"})
    node = bot.ok("GET", pull)["node_id"]
    ready = (
        "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }"
    )
    answer = bot.ok("POST", "/graphql", {"query": ready, "variables": {"id": node}})
    assert "errors" not in answer, answer
    return number


def _reviews(scene: Scene, number: int) -> None:
    bot, ada = scene.as_bot, scene.ada
    pull = f"{HOME}/pulls/{number}"
    comments = [
        {"path": "sums.py", "line": 2, "side": "RIGHT", "body": "```suggestion\n    return a + b\n```"},
        {"path": "use.py", "start_line": 1, "start_side": "RIGHT", "line": 3, "side": "RIGHT", "body": "Why?"},
        {"path": "sums.py", "line": 1, "body": "This stays"},
    ]
    review = bot.ok("POST", f"{pull}/reviews", {"event": "COMMENT", "body": "Two things", "comments": comments})["id"]
    bot.ok("GET", f"{pull}/reviews/{review}/comments")
    first = bot.ok("GET", f"{pull}/comments")[0]["id"]
    bot.ok("GET", f"{HOME}/pulls/comments")
    bot.ok("GET", f"{HOME}/pulls/comments/{first}")
    reply = ada.ok("POST", f"{pull}/comments/{first}/replies", {"body": "Indeed"})["id"]
    ada.ok("DELETE", f"{HOME}/pulls/comments/{reply}")
    ada.ok("POST", f"{pull}/comments/{first}/replies", {"body": "Indeed"})
    bot.ok("PUT", f"{pull}/reviews/{review}", {"body": "Two things, and no more"})
    sha = bot.ok("GET", pull)["head"]["sha"]
    one = {"commit_id": sha, "path": "use.py", "line": 1, "side": "RIGHT", "body": "Unused?"}
    ada.ok("POST", f"{pull}/comments", one)
    ada.ok("POST", f"{pull}/reviews", {"event": "APPROVE"})
    ada.ok("POST", f"{pull}/reviews", {"event": "REQUEST_CHANGES", "body": "Now"})
    bot.ok("GET", f"{pull}/reviews")


THREADS = """query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { reviewThreads(first: 50) {
    nodes { id isResolved comments(first: 1) { nodes { id fullDatabaseId author { login } } } }
    pageInfo { hasNextPage endCursor }
  } } }
}"""


def _threads_and_reactions(scene: Scene, issue: int, pull: int) -> None:
    ada = scene.ada
    variables = {"owner": "octo", "name": "sums", "number": pull}
    found = ada.ok("POST", "/graphql", {"query": THREADS, "variables": variables})["data"]
    thread = found["repository"]["pullRequest"]["reviewThreads"]["nodes"][0]
    for verb in ("resolve", "unresolve"):
        mutation = (
            f"mutation($id: ID!) {{ {verb}ReviewThread(input: {{threadId: $id}}) {{ thread {{ isResolved }} }} }}"
        )
        answer = ada.ok("POST", "/graphql", {"query": mutation, "variables": {"id": thread["id"]}})
        assert "errors" not in answer, answer
    comment = ada.ok("GET", f"{HOME}/issues/{issue}/comments")[0]["id"]
    inline = thread["comments"]["nodes"][0]["fullDatabaseId"]
    for target in (f"issues/{issue}", f"issues/comments/{comment}", f"pulls/comments/{inline}"):
        made = ada.ok("POST", f"{HOME}/{target}/reactions", {"content": "+1"})
        ada.ok("POST", f"{HOME}/{target}/reactions", {"content": "+1"})
        ada.ok("GET", f"{HOME}/{target}/reactions")
        ada.ok("DELETE", f"{HOME}/{target}/reactions/{made['id']}")


def _checks(scene: Scene, sha: str) -> None:
    bot = scene.as_bot
    note = {"path": "sums.py", "start_line": 2, "end_line": 2, "annotation_level": "warning", "message": "Spaces"}
    output = {"title": "One finding", "summary": "Spaces", "annotations": [note]}
    queued = {"name": "apprentice", "head_sha": sha, "status": "in_progress", "external_id": "review-1"}
    made = bot.ok("POST", f"{HOME}/check-runs", queued)["id"]
    bot.ok("PATCH", f"{HOME}/check-runs/{made}", {"conclusion": "neutral", "output": output})
    bot.ok("GET", f"{HOME}/check-runs/{made}/annotations")
    scene.ada.ok("POST", f"{HOME}/check-runs/{made}/rerequest")
    suite = bot.ok("GET", f"{HOME}/commits/{sha}/check-runs")["check_runs"][0]["check_suite"]["id"]
    scene.ada.ok("POST", f"{HOME}/check-suites/{suite}/rerequest")


def _endings(scene: Scene, number: int) -> None:
    ada, as_app = scene.ada, scene.as_app
    ada.ok("PUT", f"{HOME}/pulls/{number}/merge", {"merge_method": "merge"})
    ada.ok("GET", f"{HOME}/pulls/{number}")
    scene.playground.install(scene.app, "octo/other")
    scene.playground.uninstall(scene.playground.world.installations[scene.installation_id])
    scene.playground.drain()
    delivery = as_app.ok("GET", "/app/hook/deliveries?per_page=5")[0]["id"]
    as_app.ok("POST", f"/app/hook/deliveries/{delivery}/attempts")
    scene.playground.drain()
