"""GraphQL objects: the types served, and the world's things drawn as them.

An object is a mapping; a callable in it is a field that takes arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphql import GraphQLResolveInfo

from bot.playground.accounts import User
from bot.playground.nouns import REACTIONS, Comment, Issue, Reaction, Repository, ReviewComment, Thread
from bot.playground.payloads.issues import page
from bot.playground.payloads.people import when
from bot.playground.payloads.pulls import pull_of
from bot.playground.refusals import Refused
from bot.playground.world import World

View = dict[str, object]
CONTENTS = ("THUMBS_UP", "THUMBS_DOWN", "LAUGH", "HOORAY", "CONFUSED", "HEART", "ROCKET", "EYES")
_MOST = 100

SDL = """
scalar DateTime
scalar URI
scalar BigInt
enum ReactionContent { THUMBS_UP THUMBS_DOWN LAUGH HOORAY CONFUSED HEART ROCKET EYES }
interface Node { id: ID! }
interface Actor { login: String! }
type User implements Node & Actor { id: ID! login: String! databaseId: Int }
type Bot implements Node & Actor { id: ID! login: String! databaseId: Int }
type Organization implements Node & Actor { id: ID! login: String! databaseId: Int }
type PageInfo { endCursor: String hasNextPage: Boolean! }
type Reaction implements Node { id: ID! databaseId: Int content: ReactionContent! createdAt: DateTime! user: User }
type ReactionConnection { nodes: [Reaction] totalCount: Int! pageInfo: PageInfo! }
type ReactorConnection { totalCount: Int! }
type ReactionGroup { content: ReactionContent! reactors(first: Int): ReactorConnection! }
type IssueComment implements Node {
  id: ID! databaseId: Int body: String! author: Actor url: URI!
  reactionGroups: [ReactionGroup!] reactions(first: Int, after: String): ReactionConnection!
}
type PullRequestReviewComment implements Node {
  id: ID! databaseId: Int fullDatabaseId: BigInt body: String! author: Actor path: String! line: Int startLine: Int
  outdated: Boolean! url: URI!
  reactionGroups: [ReactionGroup!] reactions(first: Int, after: String): ReactionConnection!
}
type PullRequestReviewCommentConnection { nodes: [PullRequestReviewComment] totalCount: Int! pageInfo: PageInfo! }
type PullRequestReviewThread implements Node {
  id: ID! isResolved: Boolean! isOutdated: Boolean! resolvedBy: User path: String! line: Int startLine: Int
  comments(first: Int, after: String): PullRequestReviewCommentConnection!
}
type PullRequestReviewThreadConnection { nodes: [PullRequestReviewThread] totalCount: Int! pageInfo: PageInfo! }
type PullRequest implements Node {
  id: ID! number: Int! title: String! isDraft: Boolean! merged: Boolean!
  reviewThreads(first: Int, after: String): PullRequestReviewThreadConnection!
}
type Repository implements Node { id: ID! name: String! databaseId: Int pullRequest(number: Int!): PullRequest }
input MarkPullRequestReadyForReviewInput { pullRequestId: ID! clientMutationId: String }
input ConvertPullRequestToDraftInput { pullRequestId: ID! clientMutationId: String }
type MarkPullRequestReadyForReviewPayload { clientMutationId: String pullRequest: PullRequest }
type ConvertPullRequestToDraftPayload { clientMutationId: String pullRequest: PullRequest }
input ResolveReviewThreadInput { threadId: ID! clientMutationId: String }
input UnresolveReviewThreadInput { threadId: ID! clientMutationId: String }
type ResolveReviewThreadPayload { clientMutationId: String thread: PullRequestReviewThread }
type UnresolveReviewThreadPayload { clientMutationId: String thread: PullRequestReviewThread }
type Query {
  repository(owner: String!, name: String!): Repository
  node(id: ID!): Node
  nodes(ids: [ID!]!): [Node]!
  viewer: User!
}
type Mutation {
  resolveReviewThread(input: ResolveReviewThreadInput!): ResolveReviewThreadPayload
  unresolveReviewThread(input: UnresolveReviewThreadInput!): UnresolveReviewThreadPayload
  markPullRequestReadyForReview(input: MarkPullRequestReadyForReviewInput!): MarkPullRequestReadyForReviewPayload
  convertPullRequestToDraft(input: ConvertPullRequestToDraftInput!): ConvertPullRequestToDraftPayload
}
"""


def _connection(items: Sequence[View]) -> Callable[..., View]:
    """A field with `first` and `after`; the cursor is how many came before."""

    def field(_info: GraphQLResolveInfo[None], first: int | None = None, after: str | None = None) -> View:
        if first is None or not 0 < first <= _MOST:
            raise Refused(
                422, f"You must provide a `first` value between 1 and {_MOST} to properly paginate the connection."
            )
        start = int(after) if after and after.isdigit() else 0
        end = min(start + first, len(items))
        info = {"endCursor": str(end) if items else None, "hasNextPage": end < len(items)}
        return {"nodes": items[start:end], "totalCount": len(items), "pageInfo": info}

    return field


def account(user: User) -> View:
    """A Bot's login has no `[bot]` here, unlike in REST."""
    login = user.login.removesuffix("[bot]")
    return {"__typename": user.type, "id": user.node_id, "login": login, "databaseId": user.id}


def _reaction(made: Reaction) -> View:
    return {
        "id": made.node_id,
        "databaseId": made.id,
        "content": CONTENTS[REACTIONS.index(made.content)],
        "createdAt": when(made.created_at),
        "user": account(made.user),
    }


def _reactions(reactions: Sequence[Reaction]) -> View:
    def count(word: str) -> Callable[..., View]:
        return lambda _info, **_page: {"totalCount": sum(1 for each in reactions if each.content == word)}

    groups = [{"content": name, "reactors": count(word)} for name, word in zip(CONTENTS, REACTIONS, strict=True)]
    return {"reactionGroups": groups, "reactions": _connection([_reaction(each) for each in reactions])}


def comment(world: World, made: Comment) -> View:
    return {
        "__typename": "IssueComment",
        "id": made.node_id,
        "databaseId": made.id,
        "body": made.body,
        "author": account(made.author),
        "url": f"{page(world, made.issue)}#issuecomment-{made.id}",
        **_reactions(made.reactions),
    }


def review_comment(world: World, made: ReviewComment) -> View:
    return {
        "__typename": "PullRequestReviewComment",
        "id": made.node_id,
        "databaseId": made.id if made.id < 2**31 else None,
        "fullDatabaseId": str(made.id),
        "body": made.body,
        "author": account(made.author),
        "path": made.path,
        "line": made.line,
        "startLine": made.start_line,
        "outdated": made.line is None,
        "url": f"{page(world, made.thread.issue)}#discussion_r{made.id}",
        **_reactions(made.reactions),
    }


def thread(world: World, made: Thread) -> View:
    first = made.comments[0]
    return {
        "__typename": "PullRequestReviewThread",
        "id": made.node_id,
        "isResolved": made.resolved_by is not None,
        "isOutdated": first.line is None,
        "resolvedBy": account(made.resolved_by) if made.resolved_by else None,
        "path": first.path,
        "line": first.line,
        "startLine": first.start_line,
        "comments": _connection([review_comment(world, each) for each in made.comments]),
    }


def pull(world: World, made: Issue) -> View:
    inner = pull_of(made)
    threads = [each for each in inner.threads if each.comments[0].review.state != "PENDING"]
    return {
        "__typename": "PullRequest",
        "id": inner.node_id,
        "number": made.number,
        "title": made.title,
        "isDraft": inner.draft,
        "merged": inner.merged_at is not None,
        "reviewThreads": _connection([thread(world, each) for each in threads]),
    }


def repository(world: World, made: Repository) -> View:
    def pull_request(_info: GraphQLResolveInfo[None], number: int) -> View:
        issue = made.issues.get(number)
        if issue is None or issue.pull is None:
            raise Refused(404, f"Could not resolve to a PullRequest with the number of {number}.")
        return pull(world, issue)

    return {
        "__typename": "Repository",
        "id": made.node_id,
        "name": made.name,
        "databaseId": made.id,
        "pullRequest": pull_request,
    }
