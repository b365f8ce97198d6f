"""The part of GitHub's GraphQL API that clients of the playground use: review threads, and leaving draft.

Types, fields and arguments are GitHub's; a test compares them with its published schema. A served object is a mapping;
a callable in it is a field with arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from graphql import GraphQLError, GraphQLResolveInfo, GraphQLSchema, build_schema, graphql_sync

from bot.playground.auth import Caller, Needs, check
from bot.playground.errors import ApiError
from bot.playground.models import HostedAccount, HostedIssue, HostedThread, RepositoryRole, ReviewComment
from bot.playground.operations import pulls, reviews
from bot.playground.payloads.pulls import pull_of
from bot.playground.rest.calls import ApiAnswer, ApiCall, Routes
from bot.playground.world import World

ServedObject = dict[str, object]
routes = Routes()
READ = Needs(permissions=("pull_requests",))
WRITE = Needs(permissions=("pull_requests",), level="write", role=RepositoryRole.TRIAGE)
_LARGEST_PAGE = 100
_SDL = """
scalar BigInt
interface Actor { login: String! }
type User implements Actor { id: ID! login: String! }
type Bot implements Actor { id: ID! login: String! }
type Organization implements Actor { id: ID! login: String! }
type PageInfo { endCursor: String hasNextPage: Boolean! }
type PullRequestReviewComment { id: ID! fullDatabaseId: BigInt body: String! author: Actor path: String! line: Int }
type PullRequestReviewCommentConnection { nodes: [PullRequestReviewComment] totalCount: Int! pageInfo: PageInfo! }
type PullRequestReviewThread {
  id: ID! isResolved: Boolean! isOutdated: Boolean! resolvedBy: User path: String! line: Int
  comments(first: Int, after: String): PullRequestReviewCommentConnection!
}
type PullRequestReviewThreadConnection { nodes: [PullRequestReviewThread] totalCount: Int! pageInfo: PageInfo! }
type PullRequest {
  id: ID! number: Int! isDraft: Boolean!
  reviewThreads(first: Int, after: String): PullRequestReviewThreadConnection!
}
type Repository { id: ID! pullRequest(number: Int!): PullRequest }
input MarkPullRequestReadyForReviewInput { pullRequestId: ID! clientMutationId: String }
type MarkPullRequestReadyForReviewPayload { clientMutationId: String pullRequest: PullRequest }
input ResolveReviewThreadInput { threadId: ID! clientMutationId: String }
input UnresolveReviewThreadInput { threadId: ID! clientMutationId: String }
type ResolveReviewThreadPayload { clientMutationId: String thread: PullRequestReviewThread }
type UnresolveReviewThreadPayload { clientMutationId: String thread: PullRequestReviewThread }
type Query { repository(owner: String!, name: String!): Repository }
type Mutation {
  resolveReviewThread(input: ResolveReviewThreadInput!): ResolveReviewThreadPayload
  unresolveReviewThread(input: UnresolveReviewThreadInput!): UnresolveReviewThreadPayload
  markPullRequestReadyForReview(input: MarkPullRequestReadyForReviewInput!): MarkPullRequestReadyForReviewPayload
}
"""


@cache
def schema() -> GraphQLSchema:
    return build_schema(_SDL)


@routes.on("POST", "/graphql")
def graphql(call: ApiCall) -> ApiAnswer:
    """Errors come with status 200, as on GitHub."""
    if call.caller.token is None:
        raise ApiError(401, "This endpoint requires you to be authenticated.")
    root = GraphqlRoot(world=call.world, caller=call.caller).fields()
    done = graphql_sync(schema(), call.text("query"), root, variable_values=call.mapping("variables"))
    body: dict[str, object] = {"data": done.data}
    if done.errors:
        body["errors"] = [_error(each) for each in done.errors]
    return ApiAnswer(body=body)


def _error(error: GraphQLError) -> dict[str, object]:
    kind = error.original_error
    if not isinstance(kind, ApiError):
        return {**error.formatted}
    word = "NOT_FOUND" if kind.status == 404 else "FORBIDDEN"
    return {"type": word, **error.formatted, "message": kind.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphqlRoot:
    """The fields of Query and Mutation, for one caller."""

    world: World
    caller: Caller

    def fields(self) -> dict[str, object]:
        return {
            "repository": self._repository,
            "resolveReviewThread": lambda _info, **given: self._settle(given["input"], resolved=True),
            "unresolveReviewThread": lambda _info, **given: self._settle(given["input"], resolved=False),
            "markPullRequestReadyForReview": lambda _info, **given: self._mark_ready(given["input"]),
        }

    def _repository(self, _info: GraphQLResolveInfo[None], owner: str, name: str) -> ServedObject:
        try:
            found = self.world.repository(owner, name)
            check(self.world, self.caller, found, READ)
        except ApiError as refused:
            message = f"Could not resolve to a Repository with the name '{owner}/{name}'."
            raise (ApiError(404, message) if refused.status == 404 else refused) from None

        def pull_request(_info: GraphQLResolveInfo[None], number: int) -> ServedObject:
            issue = found.issues.get(number)
            if issue is None or issue.pull is None:
                raise ApiError(404, f"Could not resolve to a PullRequest with the number of {number}.")
            return _pull(issue)

        return {"id": found.node_id, "pullRequest": pull_request}

    def _settle(self, given: Mapping[str, str], *, resolved: bool) -> ServedObject:
        """Resolving takes the author of the pull request or a user with triage."""
        wanted = given["threadId"]
        made = next((each for each in self.world.threads.values() if each.node_id == wanted), None)
        if made is None:
            raise _no_node(wanted)
        self._check_write(made.issue)
        reviews.set_resolved(self.world, made, self.caller.actor(), resolved=resolved)
        return {"clientMutationId": given.get("clientMutationId"), "thread": _thread(made)}

    def _mark_ready(self, given: Mapping[str, str]) -> ServedObject:
        wanted = given["pullRequestId"]
        issues = (issue for each in self.world.repositories.values() for issue in each.issues.values())
        made = next((issue for issue in issues if issue.pull and issue.pull.node_id == wanted), None)
        if made is None:
            raise _no_node(wanted)
        self._check_write(made)
        pulls.mark_ready(self.world, made, self.caller.actor())
        return {"clientMutationId": given.get("clientMutationId"), "pullRequest": _pull(made)}

    def _check_write(self, pull: HostedIssue) -> None:
        who = self.caller.actor()
        own = pull.author is who.user and who.via is None
        check(self.world, self.caller, pull.repository, READ if own else WRITE)


def _no_node(wanted: str) -> ApiError:
    return ApiError(404, f"Could not resolve to a node with the global id of '{wanted}'")


def _pull(made: HostedIssue) -> ServedObject:
    inner = pull_of(made)
    threads = _connection([_thread(each) for each in inner.threads])
    return {"id": inner.node_id, "number": made.number, "isDraft": inner.draft, "reviewThreads": threads}


def _thread(made: HostedThread) -> ServedObject:
    first = made.comments[0]
    return {
        "id": made.node_id,
        "isResolved": made.resolved_by is not None,
        "isOutdated": first.line is None,
        "resolvedBy": _account(made.resolved_by) if made.resolved_by else None,
        "path": first.path,
        "line": first.line,
        "comments": _connection([_comment(each) for each in made.comments]),
    }


def _comment(made: ReviewComment) -> ServedObject:
    return {
        "id": made.node_id,
        "fullDatabaseId": str(made.id),
        "body": made.body,
        "author": _account(made.author),
        "path": made.path,
        "line": made.line,
    }


def _account(account: HostedAccount) -> ServedObject:
    """As GitHub does it, a bot's login comes without `[bot]`."""
    return {"__typename": account.type, "id": account.node_id, "login": account.login.removesuffix("[bot]")}


def _connection(items: Sequence[ServedObject]) -> Callable[..., ServedObject]:
    """A field with `first` and `after`; the cursor is the number of items before it."""

    def field(_info: GraphQLResolveInfo[None], first: int | None = None, after: str | None = None) -> ServedObject:
        if first is None or not 0 < first <= _LARGEST_PAGE:
            message = (
                f"You must provide a `first` value between 1 and {_LARGEST_PAGE} to properly paginate the connection."
            )
            raise ApiError(422, message)
        start = int(after) if after and after.isdigit() else 0
        end = min(start + first, len(items))
        page = {"hasNextPage": end < len(items), "endCursor": str(end) if items else None}
        return {"nodes": items[start:end], "totalCount": len(items), "pageInfo": page}

    return field
