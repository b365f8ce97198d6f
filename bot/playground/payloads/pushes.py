"""The push event."""

from __future__ import annotations

from bot.playground.accounts import Actor
from bot.playground.git import EMPTY_TREE, ZERO, CommitInfo, Person
from bot.playground.nouns import Repository
from bot.playground.payloads.objects import account_of
from bot.playground.payloads.people import JsonObject
from bot.playground.payloads.repositories import repository, web
from bot.playground.world import World


def push(world: World, where: Repository, who: Actor, ref: str, before: str, after: str) -> JsonObject:
    """What a push event says beside repository and sender. At most 2,048 commits, as on GitHub."""
    created, deleted = before == ZERO, after == ZERO
    base = before if not created else where.git.branch(where.default_branch)
    after = after if deleted else where.git.resolve(after) or after
    new = [] if deleted else where.git.log(base if base != after else None, after, 2048)
    commits = [_push_commit(world, where, info) for info in new] if base != after else []
    tip = None if deleted else _push_commit(world, where, where.git.commit(after))
    shown = repository(world, where)
    moments = {"created_at": int(where.created_at.timestamp()), "pushed_at": int(where.pushed_at.timestamp())}
    owner = shown["owner"]
    assert isinstance(owner, dict)
    named = {**owner, "name": where.owner.login, "email": where.owner.person.email}
    extra = {**moments, "owner": named, "stargazers": 0, "master_branch": where.default_branch}
    return {
        "ref": ref,
        "before": before,
        "after": after,
        "created": created,
        "deleted": deleted,
        "forced": not created and not deleted and not where.git.is_ancestor(before, after),
        "base_ref": None,
        "compare": f"{web(world, where)}/compare/{before[:12]}...{after[:12]}",
        "commits": commits,
        "head_commit": tip,
        "repository": {**shown, **extra, "url": web(world, where)},
        "pusher": {"name": who.user.login, "email": who.user.person.email},
    }


def _push_commit(world: World, where: Repository, info: CommitInfo) -> JsonObject:
    changes = where.git.changes(info.parents[0] if info.parents else EMPTY_TREE, info.sha)

    def paths(*kinds: str) -> list[str]:
        return [each.path for each in changes if each.status in kinds]

    return {
        "id": info.sha,
        "tree_id": info.tree,
        "distinct": True,
        "message": info.message,
        "timestamp": info.committed_at.isoformat(),
        "url": f"{web(world, where)}/commit/{info.sha}",
        "author": _push_person(world, info.author),
        "committer": _push_person(world, info.committer),
        "added": paths("added", "copied"),
        "removed": paths("removed"),
        "modified": paths("modified", "renamed", "changed"),
    }


def _push_person(world: World, person: Person) -> JsonObject:
    known = account_of(world, person)
    return {"name": person.name, "email": person.email, **({"username": known.login} if known else {})}
