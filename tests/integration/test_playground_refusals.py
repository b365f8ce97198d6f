"""The playground says no where GitHub does, with the same status and the same words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.playground_tour import HOME, REPOSITORY, SUMS, Scene, Tourist, app_jwt, set_scene
from tests.playground import Playground


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """A playground with one pull request that changes line 2 of sums.py and nothing else."""
    with Playground() as playground:
        made = set_scene(playground)
        changed = {"sums.py": SUMS.replace("a - b", "a + b") + "\n" * 20 + "end = 1\n"}
        playground.commit(REPOSITORY, changed, "Add", login="ada", branch="fix")
        made.ada.ok("POST", f"{HOME}/pulls", {"title": "Add", "head": "fix", "base": "main"})
        yield made


def said(answer: tuple[int, object, dict[str, str]]) -> tuple[int, str]:
    """Status and everything that the error says; it must be of GitHub's shape."""
    status, body, _headers = answer
    assert isinstance(body, dict)
    assert body["documentation_url"].startswith("https://docs.github.com/")
    assert body["status"] == str(status)
    details = "; ".join(each.get("message") or f"{each['field']} {each['code']}" for each in body.get("errors", ()))
    return status, f"{body['message']}: {details}" if details else body["message"]


def inline(**where: object) -> dict[str, object]:
    return {"event": "COMMENT", "body": "Look", "comments": [{"path": "sums.py", "body": "Here", **where}]}


@pytest.mark.parametrize(
    ("review", "words"),
    [
        (inline(line=300, side="RIGHT"), "pull_request_review_thread.line must be part of the diff"),
        (inline(line=2, side="LEFT"), "Invalid enum value 'LEFT'"),
        (inline(path="other.py", line=2), "pull_request_review_thread.path is invalid"),
        (inline(), "pull_request_review_thread.line must be part of the diff"),
        (inline(start_line=3, line=2), "start_line must precede the end line"),
        (inline(start_line=300, line=2), "start_line must precede the end line"),
        ({"event": "COMMENT", "body": ""}, "body missing_field"),
        ({"event": "SHOUT", "body": "x"}, "event must be one of APPROVE, REQUEST_CHANGES, COMMENT"),
    ],
)
def test_a_review_outside_the_diff_is_refused_whole(scene: Scene, review: dict[str, object], words: str) -> None:
    """A comment that does not hang on the diff fails the whole review with 422, and nothing of it is kept."""
    before = scene.ada.ok("GET", f"{HOME}/pulls/1/reviews")
    status, message = said(scene.as_bot.send("POST", f"{HOME}/pulls/1/reviews", review))
    assert status == 422
    assert words in message
    assert scene.ada.ok("GET", f"{HOME}/pulls/1/reviews") == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/issues", {"title": " "}, 422, "Validation Failed: title missing_field"),
        ("POST", "/issues", {"title": 7}, 422, "Expected `str | null`, got `int` - at `$.title`"),
        ("POST", "/issues/1/comments", {"body": "x" * 65537}, 422, "body is too long (maximum is 65536 characters)"),
        ("GET", "/issues/99", None, 404, "Not Found"),
        ("GET", "/nothing", None, 404, "Not Found"),
        ("POST", "/pulls", {"title": "T", "head": "fix", "base": "main"}, 422, "already exists for octo:fix."),
        ("POST", "/pulls", {"title": "T", "head": "main", "base": "main"}, 422, "No commits between main and main"),
        ("POST", "/pulls", {"title": "T", "head": "no", "base": "main"}, 422, "Validation Failed: head invalid"),
        ("DELETE", "/git/refs/heads/x", None, 422, "Reference does not exist"),
        ("POST", "/pulls/1/comments", {"in_reply_to": 1, "body": "x"}, 404, "Not Found"),
        ("POST", "/issues/1/reactions", {"content": "meh"}, 422, "content invalid"),
        ("POST", "/check-runs", {"name": "x", "head_sha": "0" * 40}, 422, "No commit found for SHA"),
    ],
)
def test_what_cannot_be_done_is_refused(
    scene: Scene, method: str, path: str, body: dict[str, object] | None, status: int, words: str
) -> None:
    """A request that GitHub refuses is refused with its status, shape and words."""
    found, message = said(scene.as_bot.send(method, HOME + path, body))
    assert found == status
    assert words in message


def test_a_body_that_is_not_json_is_refused(scene: Scene) -> None:
    """A string for a body is 400."""
    assert said(scene.as_bot.send("POST", f"{HOME}/issues", "text")) == (400, "Body should be a JSON object")


def test_tokens_are_narrow(scene: Scene) -> None:
    """A token for one repository and few permissions is 403 beyond them; none can be minted that says more."""
    mint = f"/app/installations/{scene.installation_id}/access_tokens"
    numbers = [scene.ada.ok("GET", HOME)["id"]]
    narrow = scene.as_app.ok("POST", mint, {"repository_ids": numbers, "permissions": {"contents": "read"}})
    reader = Tourist(url=scene.playground.url, authorization=f"Bearer {narrow['token']}")
    assert reader.send("GET", f"{HOME}/contents/sums.py")[0] == 200
    status, body, headers = reader.send("POST", f"{HOME}/issues/1/comments", {"body": "x"})
    assert (status, body["message"]) == (403, "Resource not accessible by integration")
    assert headers["x-accepted-github-permissions"] == "issues=write,pull_requests=write"
    assert reader.send("GET", "/repos/octo/other")[0] == 404
    assert scene.as_app.send("POST", mint, {"permissions": {"contents": "admin"}})[0] == 422
    assert scene.as_app.send("POST", mint, {"permissions": {"secrets": "read"}})[0] == 422
    assert scene.as_app.send("POST", mint, {"repository_ids": [1]})[0] == 422
    assert scene.as_app.send("POST", "/app/installations/1/access_tokens", {})[0] == 404


def test_a_stranger_gets_nowhere(scene: Scene) -> None:
    """A bogus token is 401, an expired JWT is 401, an outsider's write is 403, a hidden repository is 404."""
    bogus = Tourist(url=scene.playground.url, authorization="Bearer ghs_made_up")
    assert said(bogus.send("GET", HOME)) == (401, "Bad credentials")
    late = Tourist(url=scene.playground.url, authorization=f"Bearer {app_jwt(scene.app, issued=-900, expires=-300)}")
    assert late.send("GET", "/app")[0] == 401
    assert scene.eve.send("POST", f"{HOME}/issues/1/labels", {"labels": ["mine"]})[0] == 403
    assert scene.eve.send("PUT", f"{HOME}/pulls/1/merge", {})[0] == 403
    assert scene.eve.send("PATCH", f"{HOME}/issues/1", {"state": "closed"})[0] == 403
    assert scene.eve.send("GET", "/repos/octo/other")[0] == 404
    assert scene.as_bot.send("GET", "/user")[0] == 403
    assert scene.ada.send("GET", "/app")[0] == 401


def test_an_outsiders_labels_are_dropped_in_silence(scene: Scene) -> None:
    """Somebody without triage opens an issue, and the labels asked for do not stick."""
    made = scene.eve.ok("POST", f"{HOME}/issues", {"title": "Please", "labels": ["apprentice"]})
    assert made["labels"] == []
    assert made["author_association"] == "NONE"


def test_only_the_app_makes_checks(scene: Scene) -> None:
    """A person cannot make a check run."""
    status, message = said(scene.ada.send("POST", f"{HOME}/check-runs", {"name": "x", "head_sha": "main"}))
    assert (status, message) == (403, "You must authenticate via a GitHub App.")


def test_nobody_approves_their_own_pull_request(scene: Scene) -> None:
    """The author's approval is refused."""
    answer = scene.ada.send("POST", f"{HOME}/pulls/1/reviews", {"event": "APPROVE"})
    assert said(answer) == (422, "Review Can not approve your own pull request")


def test_graphql_errors_come_with_status_200(scene: Scene) -> None:
    """A thread that does not exist, and a syntax error, are errors in the body of a 200."""
    resolve = 'mutation { resolveReviewThread(input: {threadId: "PRRT_no"}) { thread { id } } }'
    status, body, _headers = scene.ada.send("POST", "/graphql", {"query": resolve})
    assert status == 200
    assert body["data"] == {"resolveReviewThread": None}
    assert body["errors"][0]["type"] == "NOT_FOUND"
    status, body, _headers = scene.ada.send("POST", "/graphql", {"query": "{ repository { shoeSize } }"})
    assert status == 200
    assert "Cannot query field 'shoeSize'" in body["errors"][0]["message"]


def test_an_outsider_resolves_no_thread(scene: Scene) -> None:
    """Resolving takes the author or somebody with triage."""
    scene.as_bot.ok("POST", f"{HOME}/pulls/1/reviews", inline(line=2, side="RIGHT"))
    query = '{ repository(owner: "octo", name: "sums") { pullRequest(number: 1) { reviewThreads(first: 1) { nodes { id } } } } }'
    found = scene.eve.ok("POST", "/graphql", {"query": query})["data"]["repository"]["pullRequest"]
    thread = found["reviewThreads"]["nodes"][0]["id"]
    resolve = f'mutation {{ resolveReviewThread(input: {{threadId: "{thread}"}}) {{ thread {{ isResolved }} }} }}'
    refused = scene.eve.ok("POST", "/graphql", {"query": resolve})
    assert refused["errors"][0]["type"] == "FORBIDDEN"
    done = scene.ada.ok("POST", "/graphql", {"query": resolve})
    assert done["data"]["resolveReviewThread"]["thread"]["isResolved"] is True
