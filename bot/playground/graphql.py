"""The part of GitHub's GraphQL API that clients of the playground use: review threads, and leaving draft.

Types, fields and arguments are GitHub's; a test compares them with its published schema. A served object is a mapping;
a callable in it is a field with arguments.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from graphql import GraphQLError, GraphQLResolveInfo, GraphQLSchema, build_schema, graphql_sync
from msgspec import Struct

from bot.playground.api import ApiCall, Routes
from bot.playground.auth import Caller, Needs, check
from bot.playground.errors import ApiError
from bot.playground.models import Hosted, HostedAccount, HostedPull, HostedThread, RepositoryRole, ReviewComment
from bot.playground.payloads import JsonObject
from bot.playground.pulls import mark_ready
from bot.playground.reviews import READ, set_resolved
from bot.playground.world import World

Node = TypeVar("Node", bound=Hosted)
routes = Routes()
WRITE = Needs(permissions=("pull_requests",), level="write", role=RepositoryRole.TRIAGE)
_LARGEST_PAGE = 100


class _GraphqlBody(Struct):
    query: str
    variables: dict[str, object] | None = None


@cache
def schema() -> GraphQLSchema:
    return build_schema(Path(__file__).with_name("schema.graphql").read_text())


@routes.on("POST", "/graphql")
def graphql(call: ApiCall) -> JsonObject:
    """Errors come with status 200, as on GitHub."""
    if call.caller.token is None:
        raise ApiError(401, "This endpoint requires you to be authenticated.")
    asked = call.read(_GraphqlBody)
    root = GraphqlRoot(world=call.world, caller=call.caller).fields()
    done = graphql_sync(schema(), asked.query, root, variable_values=asked.variables)
    errors = {"errors": [_error(each) for each in done.errors]} if done.errors else {}
    return {"data": done.data, **errors}


def _error(error: GraphQLError) -> JsonObject:
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

    def fields(self) -> JsonObject:
        return {
            "repository": self._repository,
            "resolveReviewThread": lambda _info, **given: self._settle(given["input"], resolved=True),
            "unresolveReviewThread": lambda _info, **given: self._settle(given["input"], resolved=False),
            "markPullRequestReadyForReview": lambda _info, **given: self._mark_ready(given["input"]),
        }

    def _repository(self, _info: GraphQLResolveInfo[None], owner: str, name: str) -> JsonObject:
        try:
            found = self.world.repository(owner, name)
            check(self.world, self.caller, found, READ)
        except ApiError as refused:
            message = f"Could not resolve to a Repository with the name '{owner}/{name}'."
            raise (ApiError(404, message) if refused.status == 404 else refused) from None

        def pull_request(_info: GraphQLResolveInfo[None], number: int) -> JsonObject:
            made = found.issues.get(number)
            if not isinstance(made, HostedPull):
                raise ApiError(404, f"Could not resolve to a PullRequest with the number of {number}.")
            return _pull(made)

        return {"id": found.node_id, "pullRequest": pull_request}

    def _settle(self, given: Mapping[str, str], *, resolved: bool) -> JsonObject:
        """Only the author of the pull request and users with triage may resolve."""
        made = _node(self.world.threads(), given["threadId"])
        self._check_write(made.pull)
        set_resolved(self.world, made, self.caller.actor(), resolved=resolved)
        return {"clientMutationId": given.get("clientMutationId"), "thread": _thread(made)}

    def _mark_ready(self, given: Mapping[str, str]) -> JsonObject:
        made = _node(self.world.pulls(), given["pullRequestId"])
        self._check_write(made)
        mark_ready(self.world, made, self.caller.actor())
        return {"clientMutationId": given.get("clientMutationId"), "pullRequest": _pull(made)}

    def _check_write(self, pull: HostedPull) -> None:
        who = self.caller.actor()
        own = pull.author is who.user and who.via is None
        check(self.world, self.caller, pull.repository, READ if own else WRITE)


def _node(nodes: Iterable[Node], wanted: str) -> Node:
    """The node with this id; raises ApiError 404."""
    for each in nodes:
        if each.node_id == wanted:
            return each
    raise ApiError(404, f"Could not resolve to a node with the global id of '{wanted}'")


def _pull(made: HostedPull) -> JsonObject:
    threads = _connection([_thread(each) for each in made.threads])
    return {"id": made.node_id, "number": made.number, "isDraft": made.draft, "reviewThreads": threads}


def _thread(made: HostedThread) -> JsonObject:
    return {
        "id": made.node_id,
        "isResolved": made.resolved_by is not None,
        "resolvedBy": _account(made.resolved_by) if made.resolved_by else None,
        "comments": _connection([_comment(each) for each in made.comments]),
    }


def _comment(made: ReviewComment) -> JsonObject:
    return {"id": made.node_id, "fullDatabaseId": str(made.id), "author": _account(made.author)}


def _account(account: HostedAccount) -> JsonObject:
    """As GitHub does it, a bot's login comes without `[bot]`."""
    login = account.login.removesuffix("[bot]")
    return {"__typename": account.type, "id": account.node_id, "login": login, "databaseId": account.id}


def _connection(items: Sequence[JsonObject]) -> Callable[..., JsonObject]:
    """A field with `first` and `after`; the cursor is the number of items before it."""

    def field(_info: GraphQLResolveInfo[None], first: int | None = None, after: str | None = None) -> JsonObject:
        if first is None or not 0 < first <= _LARGEST_PAGE:
            words = f"a `first` value between 1 and {_LARGEST_PAGE} to properly paginate the connection"
            raise ApiError(422, f"You must provide {words}.")
        start = int(after) if after and after.isdigit() else 0
        end = min(start + first, len(items))
        page = {"hasNextPage": end < len(items), "endCursor": str(end) if items else None}
        return {"nodes": items[start:end], "pageInfo": page}

    return field
