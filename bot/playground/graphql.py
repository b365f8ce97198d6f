"""The corner of GitHub's GraphQL API that is used here: review threads, and reactions of many comments at once.

Types, fields and arguments are GitHub's; a test holds them against its published schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from graphql import GraphQLError, GraphQLResolveInfo, GraphQLSchema, build_schema, graphql_sync

from bot.playground import graphql_views as view
from bot.playground.accounts import Role
from bot.playground.acts import pulls
from bot.playground.acts import reviews as act
from bot.playground.auth import Caller, Needs, check
from bot.playground.nouns import Thread
from bot.playground.refusals import Refused
from bot.playground.rest.calls import Answer, Call, Routes
from bot.playground.world import World

routes = Routes()
READ = Needs(permissions=("pull_requests",))
WRITE = Needs(permissions=("pull_requests",), level="write", role=Role.TRIAGE)


@cache
def schema() -> GraphQLSchema:
    return build_schema(view.SDL)


@routes.on("POST", "/graphql")
def graphql(call: Call) -> Answer:
    """Errors come with status 200, as on GitHub."""
    if call.caller.token is None:
        raise Refused(401, "This endpoint requires you to be authenticated.")
    root = Root(world=call.world, caller=call.caller).fields()
    done = graphql_sync(schema(), call.text("query"), root, variable_values=call.mapping("variables"))
    body: dict[str, object] = {"data": done.data}
    if done.errors:
        body["errors"] = [_error(each) for each in done.errors]
    return Answer(body=body)


def _error(error: GraphQLError) -> dict[str, object]:
    kind = error.original_error
    if not isinstance(kind, Refused):
        return {**error.formatted}
    word = "NOT_FOUND" if kind.status == 404 else "FORBIDDEN"
    return {"type": word, **error.formatted, "message": kind.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The fields of Query and Mutation, for one caller."""

    world: World
    caller: Caller

    def fields(self) -> dict[str, object]:
        return {
            "repository": self._repository,
            "node": self._node,
            "nodes": lambda _info, ids: [self._find(each) for each in ids],
            "viewer": lambda _info: view.account(self.caller.actor().user),
            "resolveReviewThread": self._field(self._settle, True),
            "unresolveReviewThread": self._field(self._settle, False),
            "markPullRequestReadyForReview": self._field(self._set_draft, False),
            "convertPullRequestToDraft": self._field(self._set_draft, True),
        }

    @staticmethod
    def _field(act: Callable[[Mapping[str, str], bool], dict[str, object]], wanted: bool) -> Callable[..., object]:
        """A mutation: its one argument is called `input` on GitHub."""
        return lambda _info, **arguments: act(arguments["input"], wanted)

    def _repository(self, _info: GraphQLResolveInfo[None], owner: str, name: str) -> view.View:
        try:
            found = self.world.repository(owner, name)
            check(self.world, self.caller, found, READ)
        except Refused as refused:
            message = f"Could not resolve to a Repository with the name '{owner}/{name}'."
            raise (Refused(404, message) if refused.status == 404 else refused) from None
        return view.repository(self.world, found)

    def _node(self, _info: GraphQLResolveInfo[None], id: str) -> view.View:  # noqa: A002 - the argument's name on GitHub
        found = self._find(id)
        if found is None:
            raise _no_node(id)
        return found

    def _find(self, wanted: str) -> view.View | None:
        return self._find_comment(wanted) or self._find_review_comment(wanted) or self._find_thread(wanted)

    def _find_comment(self, wanted: str) -> view.View | None:
        made = next((each for each in self.world.comments.values() if each.node_id == wanted), None)
        if made is None:
            return None
        check(self.world, self.caller, made.issue.repository, Needs(permissions=("issues", "pull_requests")))
        return view.comment(self.world, made)

    def _find_review_comment(self, wanted: str) -> view.View | None:
        made = next((each for each in self.world.review_comments.values() if each.node_id == wanted), None)
        if made is None:
            return None
        check(self.world, self.caller, made.thread.issue.repository, READ)
        return view.review_comment(self.world, made)

    def _find_thread(self, wanted: str) -> view.View | None:
        made = self._thread(wanted)
        if made is None:
            return None
        check(self.world, self.caller, made.issue.repository, READ)
        return view.thread(self.world, made)

    def _thread(self, wanted: str) -> Thread | None:
        return next((each for each in self.world.threads.values() if each.node_id == wanted), None)

    def _settle(self, given: Mapping[str, str], resolved: bool) -> dict[str, object]:
        """Resolving takes the author of the pull request or somebody with triage."""
        made = self._thread(given["threadId"])
        if made is None:
            raise _no_node(given["threadId"])
        who = self.caller.actor()
        own = made.issue.author is who.user and who.via is None
        check(self.world, self.caller, made.issue.repository, READ if own else WRITE)
        (act.resolve if resolved else act.unresolve)(self.world, made, who)
        return {"clientMutationId": given.get("clientMutationId"), "thread": view.thread(self.world, made)}

    def _set_draft(self, given: Mapping[str, str], draft: bool) -> dict[str, object]:
        wanted = given["pullRequestId"]
        issues = (issue for each in self.world.repositories.values() for issue in each.issues.values())
        made = next((issue for issue in issues if issue.pull and issue.pull.node_id == wanted), None)
        if made is None:
            raise _no_node(wanted)
        who = self.caller.actor()
        own = made.author is who.user and who.via is None
        check(self.world, self.caller, made.repository, READ if own else WRITE)
        pulls.set_draft(self.world, made, who, draft)
        return {"clientMutationId": given.get("clientMutationId"), "pullRequest": view.pull(self.world, made)}


def _no_node(wanted: str) -> Refused:
    return Refused(404, f"Could not resolve to a node with the global id of '{wanted}'")
