"""The real PyGithub and the real git against the playground: the whole life of an issue, a fix and a review."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from github import Auth, Github, GithubException, GithubIntegration
from github.PullRequest import ReviewComment
from github.Repository import Repository

from bot.playground.models import App
from tests.playground import Playground

REPOSITORY = "octo/sums"
SUMS = "def add(a, b):\n    return a - b\n\n\ndef double(x):\n    return 2 * x\n"
RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"
THREADS = """query($number: Int!) {
  repository(owner: "octo", name: "sums") { pullRequest(number: $number) {
    reviewThreads(first: 20) { nodes { id isResolved comments(first: 1) { nodes { fullDatabaseId } } } } } }
}"""


@dataclass(frozen=True, kw_only=True)
class World:
    playground: Playground
    app: App
    integration: GithubIntegration
    ada: Github

    def bot(self) -> Github:
        """The App's installation, with a token that PyGithub mints."""
        installation = self.integration.get_repo_installation("octo", "sums")
        return self.integration.get_github_for_installation(installation.id)

    def repository(self) -> Repository:
        return self.bot().get_repo(REPOSITORY)


@pytest.fixture
def world() -> Iterator[World]:
    with Playground() as playground:
        playground.add_user("ada", name="Ada")
        playground.add_user("octo")
        playground.add_repository(REPOSITORY, {"sums.py": SUMS})
        playground.grant(REPOSITORY, "ada", "maintain")
        app = playground.add_app("apprentice", owner="octo")
        playground.install(app, REPOSITORY)
        quick = {"base_url": playground.url, "seconds_between_requests": 0, "seconds_between_writes": 0, "retry": None}
        auth = Auth.AppAuth(app.id, app.private_key)
        ada = Github(auth=Auth.Token(playground.token_for("ada")), **quick)
        with GithubIntegration(auth=auth, **quick) as integration, ada:
            yield World(playground=playground, app=app, integration=integration, ada=ada)


def git(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def push_fix(world: World, tmp_path: Path) -> str:
    """Clone with the installation's token, fix, push a branch; the commit."""
    token = world.integration.get_access_token(world.integration.get_repo_installation("octo", "sums").id).token
    url = world.repository().clone_url.replace("http://", f"http://x-access-token:{token}@")
    checkout = tmp_path / "checkout"
    git("clone", "--quiet", url, str(checkout), cwd=tmp_path)
    git("checkout", "--quiet", "-b", "apprentice/fix-1", cwd=checkout)
    (checkout / "sums.py").write_text(SUMS.replace("a - b", "b+a"))
    identity = ("-c", "user.name=apprentice[bot]", "-c", "user.email=bot@example.org")
    git(*identity, "commit", "--quiet", "-am", "Add instead of subtracting", cwd=checkout)
    git("push", "--quiet", "origin", "HEAD", cwd=checkout)
    return git("rev-parse", "HEAD", cwd=checkout)


def test_an_app_finds_itself_and_its_repository(world: World) -> None:
    """App auth leads to an installation token for the repository, and every address stays on the playground."""
    assert world.integration.get_app().slug == "apprentice"
    (installation,) = world.integration.get_installations()
    token = world.integration.get_access_token(installation.id, permissions={"contents": "read"})
    assert token.token.startswith("ghs_")
    assert token.permissions == {"contents": "read"}
    repository = world.repository()
    assert repository.full_name == REPOSITORY
    assert repository.clone_url == f"{world.playground.url}/octo/sums.git"
    assert repository.get_collaborator_permission("ada") == "write"
    assert repository.get_collaborator_role_name("ada") == "maintain"
    assert world.bot().get_repo(repository.id).full_name == REPOSITORY
    assert world.ada.get_user().login == "ada"
    assert world.ada.get_user("apprentice[bot]").type == "Bot"


def test_from_a_failing_issue_to_a_merged_fix(world: World, tmp_path: Path) -> None:
    """Issue, comment, clone, push, draft pull request, review, reply, reactions, thread, check and merge all work."""
    issue = world.ada.get_repo(REPOSITORY).create_issue("add(1, 2) is -1", "It subtracts", labels=["bug"])
    repository = world.repository()
    assert [each.title for each in repository.get_issues(labels=["bug"])] == ["add(1, 2) is -1"]
    comment = repository.get_issue(issue.number).create_comment("On")
    comment.edit("On it")
    assert [each.body for each in issue.get_comments()] == ["On it"]
    assert comment.user.login == "apprentice[bot]"
    (theirs,) = world.ada.get_repo(REPOSITORY).get_issue(issue.number).get_comments()
    reaction = theirs.create_reaction("heart")
    assert [each.content for each in comment.get_reactions()] == ["heart"]
    theirs.delete_reaction(reaction.id)
    assert list(comment.get_reactions()) == []

    sha = push_fix(world, tmp_path)
    assert repository.get_branch("apprentice/fix-1").commit.sha == sha
    pull = repository.create_pull(base="main", head="apprentice/fix-1", title="Add", body="Fixes #1", draft=True)
    assert (pull.draft, pull.mergeable, pull.commits, pull.changed_files) == (True, True, 1, 1)
    assert [each.number for each in repository.get_pulls(head="octo:apprentice/fix-1")] == [pull.number]
    assert (pull.head.sha, pull.additions, pull.deletions) == (sha, 1, 1)

    inline: ReviewComment = {
        "path": "sums.py",
        "line": 2,
        "side": "RIGHT",
        "body": "```suggestion\n    return a + b\n```",
    }
    review = pull.create_review(body="One thing", event="COMMENT", comments=[inline])
    assert (review.state, review.user.type) == ("COMMENTED", "Bot")
    (made,) = pull.get_review_comments()
    assert (made.path, made.line, made.pull_request_review_id) == ("sums.py", 2, review.id)
    assert [each.line for each in pull.get_single_review_comments(review.id)] == [2]
    answer = world.ada.get_repo(REPOSITORY).get_pull(pull.number).create_review_comment_reply(made.id, "Why not")
    assert answer.in_reply_to_id == made.id
    world.ada.get_repo(REPOSITORY).get_pull(pull.number).get_review_comment(made.id).create_reaction("+1")
    assert [(each.user.login, each.content) for each in made.get_reactions()] == [("ada", "+1")]

    check = repository.create_check_run(
        "apprentice", sha, external_id="review:1", conclusion="neutral", output={"title": "1 finding", "summary": "One"}
    )
    check.edit(output={"title": "1 finding", "summary": "One", "annotations": [annotation(1)]})
    assert [each.external_id for each in repository.get_commit(sha).get_check_runs(check_name="apprentice")] == [
        "review:1"
    ]
    assert [each.message for each in check.get_annotations()] == ["note 1"]

    _headers, found = world.ada.requester.graphql_query(THREADS, {"number": pull.number})
    (thread,) = found["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"]
    assert thread["comments"]["nodes"] == [{"fullDatabaseId": str(made.id)}]
    _headers, settled = world.ada.requester.graphql_query(RESOLVE, {"id": thread["id"]})
    assert settled["data"]["resolveReviewThread"]["thread"]["isResolved"] is True

    their_pull = world.ada.get_repo(REPOSITORY).get_pull(pull.number)
    their_pull.create_review(event="APPROVE")
    assert [each.state for each in pull.get_reviews()] == ["COMMENTED", "COMMENTED", "APPROVED"]
    their_pull.mark_ready_for_review()
    merged = their_pull.merge()
    assert merged.merged
    assert repository.get_pull(pull.number).merged_by.login == "ada"
    assert repository.get_pull(pull.number).merge_commit_sha == merged.sha == repository.get_branch("main").commit.sha
    assert repository.get_issue(issue.number).state == "closed"
    assert "b+a" in repository.get_contents("sums.py").decoded_content.decode()
    assert [each.name for each in repository.get_branches()] == ["apprentice/fix-1", "main"]
    ref = repository.get_git_ref("heads/apprentice/fix-1")
    assert ref.object.sha == sha
    ref.delete()
    assert [each.name for each in repository.get_branches()] == ["main"]


def annotation(number: int) -> dict[str, str | int]:
    return {
        "path": "sums.py",
        "start_line": 2,
        "end_line": 2,
        "annotation_level": "notice",
        "message": f"note {number}",
    }


def test_lists_come_in_pages(world: World) -> None:
    """PyGithub walks the Link headers to the end of a long list, and can go backwards."""
    repository = world.repository()
    issue = repository.create_issue("Long")
    for number in range(35):
        issue.create_comment(f"comment {number}")
    comments = issue.get_comments()
    assert [each.body for each in comments] == [f"comment {number}" for number in range(35)]
    assert comments.totalCount == 35
    assert comments.reversed[0].body == "comment 34"


def test_fifty_annotations_at_a_time(world: World) -> None:
    """A check run takes fifty annotations in one request and refuses fifty-one."""
    repository = world.repository()
    sha = repository.get_branch("main").commit.sha
    output = {"title": "Many", "summary": "Many", "annotations": [annotation(number) for number in range(50)]}
    made = repository.create_check_run("apprentice", sha, conclusion="neutral", output=output)
    more = {"title": "Many", "summary": "Many", "annotations": [annotation(number) for number in range(51)]}
    with pytest.raises(GithubException, match="No more than 50 items are allowed") as refused:
        made.edit(output=more)
    assert refused.value.status == 422
    assert made.get_annotations().totalCount == 50
