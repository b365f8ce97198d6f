"""The GitHub port on PyGithub: one repository, one token. Review threads are in the GraphQL API alone."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import quote

from github import GithubException, UnknownObjectException
from github.CheckRun import CheckRun
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest as GitHubPull
from github.PullRequestComment import PullRequestComment
from github.PullRequestReview import PullRequestReview
from github.Repository import Repository

from memory.model import Actor, Permission, PostKind
from workers.errors import Retryable
from workers.github.auth import OwnAccount
from workers.github.client import client, translated, translation
from workers.github.pictures import pictures
from workers.jobs import RepositoryRef
from workers.ports import Annotation, BranchHead, Image, InlineComment, PullRequest, ReviewThread, UserReaction

CHECK_NAME = "Apprentice"
RUNNING, COMPLETED = "in_progress", "completed"
NO_DRAFTS = "draft pull requests are not supported"
_REACTED = {
    PostKind.REVIEW_COMMENT: "pulls/comments",
    PostKind.ISSUE_COMMENT: "issues/comments",
    PostKind.FIX_PULL: "issues",
}
THREADS = """
query Threads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { id isResolved resolvedBy { databaseId } comments(first: 1) { nodes { fullDatabaseId } } }
      }
    }
  }
}
"""
RESOLVE = "mutation Resolve($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id isResolved } } }"
REOPEN = "mutation Reopen($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { id isResolved } } }"


class GitHub:
    """One repository on GitHub, with a token for it alone.

    It never repeats a write. Each `find_…` looks for the result of an earlier, interrupted write.
    """

    def __init__(
        self,
        base_url: str,
        repository: RepositoryRef,
        token: Callable[[], str],
        own: OwnAccount,
        *,
        seconds_between_writes: float,
    ) -> None:
        self._base_url = base_url
        self._ref = repository
        self._token = token
        self._own = own
        self._client = client(base_url, token(), repository.installation_id, seconds_between_writes)
        self._repository: Repository = self._client.get_repo(repository.full_name)
        self._path = f"/repos/{repository.full_name}"

    @property
    def repository(self) -> RepositoryRef:
        """The repository under the name that it has now."""
        return self._ref

    def token(self) -> str:
        """The installation token, for git over HTTPS."""
        return self._token()

    def own_account(self) -> Actor:
        """The account that our posts and commits are from."""
        return self._own.known(self._client)[1]

    def clone_url(self) -> str:
        with translated("reading the repository"):
            return self._checked().clone_url

    def default_branch(self) -> BranchHead:
        with translated("reading the default branch"):
            branch = self._checked().get_branch(self._repository.default_branch)
            return BranchHead(name=branch.name, sha=branch.commit.sha)

    def _checked(self) -> Repository:
        """The repository; raises Retryable where another one has taken its name since the token was minted."""
        if self._repository.id != self._ref.id:
            raise Retryable(f"{self._ref.full_name} is another repository now")
        return self._repository

    def pull(self, number: int) -> PullRequest:
        with translated(f"reading pull request #{number}"):
            return _pull(self._repository.get_pull(number))

    def permission(self, actor: Actor) -> Permission:
        """The current role of this account id on this repository, whatever the account is called by now."""
        with translated(f"looking up what {actor.login} may do"):
            known = self._permission(actor)
            if known is None:  # no account is called so any more, or another one is
                user = self._found(f"/user/{actor.id}")
                known = self._permission(replace(actor, login=user["login"])) if user else None
        return known or Permission.NONE

    def _permission(self, actor: Actor) -> Permission | None:
        answer = self._found(f"{self._path}/collaborators/{quote(actor.login)}/permission") or {}
        if (answer.get("user") or {}).get("id") != actor.id:
            return None
        role = answer.get("role_name") or answer.get("permission")
        known = {p.value for p in Permission}
        # A custom role has a name of its own; `permission` then holds the built-in role that it extends.
        return Permission(role if role in known else answer.get("permission", "none"))

    def _found(self, path: str, **query: int) -> Any | None:  # noqa: ANN401 - JSON
        try:
            return self._answer("GET", path, parameters=query)
        except GithubException as error:
            if error.status not in (404, 410):
                raise
            return None

    def _answer(self, verb: str, path: str, **given: Any) -> Any:  # noqa: ANN401 - JSON
        """GitHub's answer where PyGithub's objects would ask more than once, or do not know the question."""
        _, answer = self._client.requester.requestJsonAndCheck(verb, path, **given)
        return answer

    def comment(self, number: int, body: str, *, thread: int = 0) -> int:
        """Comment on an issue or pull request, or in the review thread of the comment `thread`; the comment's id."""
        with translated(f"commenting on #{number}"):
            if thread:
                return self._repository.get_pull(number).create_review_comment_reply(thread, body).id
            return self._repository.get_issue(number).create_comment(body).id

    def comments(self, number: int, marker: str, *, thread: int = 0) -> list[int]:
        """Our comments with a marker, oldest first: in the conversation, or in review threads where `thread` is one."""
        with translated(f"reading the comments of #{number}"):
            if thread:
                return self._ours(self._repository.get_pull(number).get_review_comments(), marker)
            return self._ours(self._repository.get_issue(number).get_comments(), marker)

    def delete_comment(self, comment_id: int, *, thread: int) -> None:
        """Delete a comment of ours; one that is gone is no error."""
        where = "pulls" if thread else "issues"
        with translated("deleting a comment of ours"), suppress(UnknownObjectException):
            self._answer("DELETE", f"{self._path}/{where}/comments/{comment_id}")

    def _ours(self, posts: Iterable[IssueComment | PullRequestComment | PullRequestReview], marker: str) -> list[int]:
        """Our posts with a marker; everybody can copy a marker."""
        own = self.own_account().id
        return [each.id for each in posts if each.user and each.user.id == own and marker in each.body]

    def pictures(self, number: int, *, body: str) -> tuple[Image, ...]:
        """The first pictures uploaded in the text of an issue or pull request; none when that text differs from `body`."""
        rendered = {"Accept": "application/vnd.github.full+json"}
        with translated(f"reading #{number}"):
            answer = self._answer("GET", f"{self._path}/issues/{number}", headers=rendered)
        if (answer.get("body") or "").strip() not in body:  # edited since the trigger
            return ()
        return pictures(answer.get("body_html") or "", self._base_url)

    def open_pull(self, *, head: str, base: str, title: str, body: str, warning: str) -> int:
        """Open a draft pull request; its number.

        Private repositories of GitHub's free plans have no drafts: there, one that may be merged, with `warning` before
        its text.
        """
        with translated(f"opening a pull request from {head}"):
            try:
                return self._repository.create_pull(base=base, head=head, title=title, body=body, draft=True).number
            except GithubException as error:
                if NO_DRAFTS not in str(error.data).lower():
                    raise
            return self._repository.create_pull(base=base, head=head, title=title, body=f"{warning}\n\n{body}").number

    def find_pull(self, *, head: str) -> int | None:
        """The number of our pull request from branch `head`, in any state."""
        owner = self._ref.full_name.split("/")[0]
        with translated(f"looking for a pull request from {head}"):
            pulls = self._repository.get_pulls(state="all", head=f"{owner}:{head}")
            own = self.own_account().id
            return next((p.number for p in pulls if p.head.ref == head and p.user.id == own), None)

    def create_review(self, number: int, *, sha: str, body: str, comments: Sequence[InlineComment]) -> int:
        """Post one review with all its comments; the review's id."""
        with translated(f"reviewing #{number}"):
            review = {"commit_id": sha, "body": body, "event": "COMMENT", "comments": [_inline(c) for c in comments]}
            return int(self._answer("POST", f"{self._path}/pulls/{number}/reviews", input=review)["id"])

    def reviews(self, number: int, marker: str) -> list[int]:
        """Our reviews with a marker, oldest first."""
        with translated(f"reading the reviews of #{number}"):
            return self._ours(self._repository.get_pull(number).get_reviews(), marker)

    def retract_review(self, number: int, review_id: int, text: str) -> None:
        """Delete the comments of a review of ours, and give it another text: GitHub deletes no submitted review."""
        for comment in self.review_comments(number, review_id):
            self.delete_comment(comment, thread=comment)
        with translated("retracting a review of ours"):
            self._answer("PUT", f"{self._path}/pulls/{number}/reviews/{review_id}", input={"body": text})

    def review_comments(self, number: int, review_id: int) -> dict[int, str]:
        """The texts of a review's comments, by their ids."""
        path = f"{self._path}/pulls/{number}/reviews/{review_id}/comments"
        with translated(f"reading the review of #{number}"):
            answer = self._answer("GET", path, parameters={"per_page": 100})  # more than one review of ours has
        return {comment["id"]: comment["body"] for comment in answer}

    def begin_check(self, *, sha: str, external_id: str, title: str, summary: str) -> int:
        """Create a check run on `sha` that is in progress; its id."""
        output = {"title": title, "summary": summary}
        run = {"name": CHECK_NAME, "head_sha": sha, "external_id": external_id, "status": RUNNING, "output": output}
        with translated("writing the check run"):
            return int(self._answer("POST", f"{self._path}/check-runs", input=run)["id"])

    def create_check(
        self,
        *,
        sha: str,
        external_id: str,
        conclusion: str,
        title: str,
        summary: str,
        annotations: Sequence[Annotation],
        running: int | None,
    ) -> int:
        """Create a completed check run on `sha`, or complete the `running` one; its id."""
        run = {
            "name": CHECK_NAME,
            "external_id": external_id,
            "status": COMPLETED,
            "conclusion": conclusion,
            "output": _output(title, summary, annotations),
        }
        path = f"{self._path}/check-runs"
        with translated("writing the check run"):
            if running is None:
                return int(self._answer("POST", path, input={**run, "head_sha": sha})["id"])
            return int(self._answer("PATCH", f"{path}/{running}", input=run)["id"])

    def annotate(self, check: int, *, title: str, summary: str, annotations: Sequence[Annotation]) -> int:
        """Add annotations to a check run of ours; how many it has then."""
        output = _output(title, summary, annotations)
        with translated("annotating the check run"):
            answer = self._answer("PATCH", f"{self._path}/check-runs/{check}", input={"output": output})
        return int(answer["output"]["annotations_count"])

    def annotated(self, *, sha: str, check: int) -> int:
        """How many annotations a check run of ours has."""
        return next((run.output.annotations_count for run in self._checks(sha) if run.id == check), 0)

    def retire_checks(self, *, sha: str, external_id: str, kept: int) -> None:
        """End the check runs in progress with this id of ours but the one that is kept.

        GitHub deletes none and shows the newest of a name, so they get another name.
        """
        run = {"name": f"{CHECK_NAME} (posted twice)", "status": COMPLETED, "conclusion": "skipped"}
        for late in self._checks(sha, status=RUNNING):
            if late.id != kept and late.external_id == external_id:
                with translated("ending a check run"):
                    self._answer("PATCH", f"{self._path}/check-runs/{late.id}", input=run)

    def find_check(self, *, sha: str, external_id: str, running: bool = False) -> int | None:
        """Our completed check run, or the one in progress, with this id of ours."""
        found = self._checks(sha, status=RUNNING if running else COMPLETED)
        return next((run.id for run in found if run.external_id == external_id), None)

    def check_ids(self, sha: str) -> list[str]:
        """The ids that we gave to our check runs on a commit."""
        return [run.external_id for run in self._checks(sha)]

    def _checks(self, sha: str, **wanted: str) -> list[CheckRun]:
        with translated("reading check runs"):
            runs = self._repository.get_commit(sha).get_check_runs(check_name=CHECK_NAME, filter="all", **wanted)
            app_id, _ = self._own.known(self._client)
            return [run for run in runs if run.app.id == app_id]

    def react(self, number: int, comment_id: int, content: str) -> None:
        """React to a comment, or to the text of `number` where `comment_id` is 0; a reaction that is there stays the only one.

        GitHub takes none to the text of a review.
        """
        comments = (f"{place}/{comment_id}" for place in ("issues/comments", "pulls/comments"))
        for post in comments if comment_id else (f"issues/{number}",):
            with translated(f"reacting in #{number}"), suppress(UnknownObjectException):
                self._answer("POST", f"{self._path}/{post}/reactions", input={"content": content})
                return

    def reactions(self, kind: PostKind, number: int) -> tuple[UserReaction, ...]:
        """The reactions to a comment by its id, or to a pull request's own text by its number."""
        path, found, page = f"{self._path}/{_REACTED[kind]}/{number}/reactions", list[dict[str, Any]](), 1
        while page:
            with translated("reading reactions"):
                answer = self._found(path, per_page=100, page=page)
            if answer is None:  # the comment was deleted, and its reactions with it
                return ()
            found += answer
            page = page + 1 if len(answer) == 100 else 0
        given = (each for each in found if each["user"])
        return tuple(UserReaction(id=r["id"], actor=_actor(r["user"]), content=r["content"]) for r in given)

    def thread_of(self, number: int, comment_id: int) -> ReviewThread | None:
        """The review thread that begins with this comment."""
        owner, name = self._ref.full_name.split("/")
        where: dict[str, Any] = {"owner": owner, "name": name, "number": number, "after": None}
        while True:
            page = self._query(THREADS, where)["repository"]["pullRequest"]["reviewThreads"]
            for thread in page["nodes"]:
                for comment in thread["comments"]["nodes"]:
                    if int(comment["fullDatabaseId"]) == comment_id:
                        return self._thread(thread)
            if not page["pageInfo"]["hasNextPage"]:
                return None
            where["after"] = page["pageInfo"]["endCursor"]

    def _thread(self, node: dict[str, Any]) -> ReviewThread:
        """A thread that an App resolved may have no `resolvedBy`."""
        by = node["resolvedBy"]
        own = by is None or by["databaseId"] == self.own_account().id
        return ReviewThread(id=node["id"], resolved=node["isResolved"], by_us=node["isResolved"] and own)

    def resolve_thread(self, thread_id: str) -> None:
        self._query(RESOLVE, {"id": thread_id})

    def reopen_thread(self, thread_id: str) -> None:
        self._query(REOPEN, {"id": thread_id})

    def _query(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        doing = "asking for review threads"
        with translated(doing):
            headers, answer = self._client.requester.graphql_query(query, variables)
        data: dict[str, Any] | None = answer.get("data")
        if data is None:
            raise translation(200, answer, headers, doing)
        return data


def _actor(user: dict[str, Any]) -> Actor:
    return Actor(id=user["id"], login=user["login"], is_bot=user.get("type") == "Bot")


def _pull(pull: GitHubPull) -> PullRequest:
    head_repository = pull.raw_data["head"]["repo"]  # null once a fork was deleted
    return PullRequest(
        number=pull.number,
        title=pull.title,
        body=pull.body or "",
        state=pull.state,
        head_ref=pull.head.ref,
        head_sha=pull.head.sha,
        head_repository_id=head_repository["id"] if head_repository else 0,
        base_ref=pull.base.ref,
        base_sha=pull.base.sha,
        author=_actor(pull.raw_data["user"]),
        draft=pull.draft,
        labels=tuple(each["name"] for each in pull.raw_data.get("labels", ())),
        locked=pull.raw_data.get("locked", False),
    )


def _inline(comment: InlineComment) -> dict[str, str | int]:
    where: dict[str, str | int] = {"path": comment.path, "line": comment.line, "side": "RIGHT", "body": comment.body}
    if comment.start_line < comment.line:
        where |= {"start_line": comment.start_line, "start_side": "RIGHT"}
    return where


def _output(title: str, summary: str, annotations: Sequence[Annotation]) -> dict[str, Any]:
    return {"title": title, "summary": summary, "annotations": [asdict(each) for each in annotations]}
