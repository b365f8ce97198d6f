"""What git holds in a repository: refs, branches, commits, changes, files, pushes."""

from __future__ import annotations

import base64
from pathlib import PurePosixPath

from bot.playground.git import EMPTY_TREE, ZERO, ChangedFile, CommitInfo, GitIdentity
from bot.playground.models import ActingAccount, HostedAccount, HostedRepository, node_id
from bot.playground.payloads.accounts import JsonObject, api, repository, user, web, when
from bot.playground.world import World


def branch_stub(world: World, made: HostedRepository, name: str, sha: str) -> JsonObject:
    """short-branch."""
    return {
        "name": name,
        "commit": {"sha": sha, "url": f"{api(world, made)}/commits/{sha}"},
        "protected": False,
    }


def branch(world: World, made: HostedRepository, name: str, sha: str) -> JsonObject:
    """branch-with-protection."""
    home = f"{api(world, made)}/branches/{name}"
    off: JsonObject = {
        "enabled": False,
        "required_status_checks": {"enforcement_level": "off", "contexts": [], "checks": []},
    }
    return {
        "name": name,
        "commit": commit(world, made, made.git.commit(sha)),
        "_links": {"self": home, "html": f"{web(world, made)}/tree/{name}"},
        "protected": False,
        "protection": off,
        "protection_url": f"{home}/protection",
    }


def account_of(world: World, identity: GitIdentity) -> HostedAccount | None:
    """The account that a commit's e-mail address belongs to."""
    return next((each for each in world.users.values() if each.git_identity.email == identity.email), None)


def _signature(identity: GitIdentity, at: str) -> JsonObject:
    return {"name": identity.name, "email": identity.email, "date": at}


def _account(world: World, identity: GitIdentity) -> JsonObject | None:
    known = account_of(world, identity)
    return user(world, known) if known else None


_UNSIGNED: JsonObject = {
    "verified": False,
    "reason": "unsigned",
    "signature": None,
    "payload": None,
    "verified_at": None,
}


def commit(world: World, made: HostedRepository, info: CommitInfo) -> JsonObject:
    """commit, without its files."""
    home, page = api(world, made), web(world, made)
    return {
        "sha": info.sha,
        "node_id": f"C_{node_id('', made.id)[1:]}{info.sha[:12]}",
        "commit": {
            "author": _signature(info.author, when(info.authored_at)),
            "committer": _signature(info.committer, when(info.committed_at)),
            "message": info.message,
            "tree": {"sha": info.tree, "url": f"{home}/git/trees/{info.tree}"},
            "url": f"{home}/git/commits/{info.sha}",
            "comment_count": 0,
            "verification": dict(_UNSIGNED),
        },
        "url": f"{home}/commits/{info.sha}",
        "html_url": f"{page}/commit/{info.sha}",
        "comments_url": f"{home}/commits/{info.sha}/comments",
        "author": _account(world, info.author),
        "committer": _account(world, info.committer),
        "parents": [
            {"sha": sha, "url": f"{home}/commits/{sha}", "html_url": f"{page}/commit/{sha}"} for sha in info.parents
        ],
    }


def file_change(world: World, made: HostedRepository, change: ChangedFile, head: str) -> JsonObject:
    """diff-entry."""
    page = web(world, made)
    renamed: JsonObject = {"previous_filename": change.previous} if change.previous else {}
    patch: JsonObject = {"patch": change.patch} if change.patch else {}
    return {
        "sha": change.sha,
        "filename": change.path,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": f"{page}/blob/{head}/{change.path}",
        "raw_url": f"{page}/raw/{head}/{change.path}",
        "contents_url": f"{api(world, made)}/contents/{change.path}?ref={head}",
        **renamed,
        **patch,
    }


def content(world: World, made: HostedRepository, path: str, oid: str, data: bytes, ref: str) -> JsonObject:
    """content-file."""
    home = f"{api(world, made)}/contents/{path}?ref={ref}"
    page = f"{web(world, made)}/blob/{ref}/{path}"
    links = {"self": home, "git": f"{api(world, made)}/git/blobs/{oid}", "html": page}
    return {
        "name": PurePosixPath(path).name,
        "path": path,
        "sha": oid,
        "size": len(data),
        "url": home,
        "html_url": page,
        "git_url": links["git"],
        "download_url": f"{web(world, made)}/raw/{ref}/{path}",
        "type": "file",
        "_links": links,
        "content": base64.encodebytes(data).decode(),
        "encoding": "base64",
    }


def push(world: World, where: HostedRepository, who: ActingAccount, ref: str, before: str, after: str) -> JsonObject:
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
    named = {**owner, "name": where.owner.login, "email": where.owner.git_identity.email}
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
        "pusher": {"name": who.user.login, "email": who.user.git_identity.email},
    }


def _push_commit(world: World, where: HostedRepository, info: CommitInfo) -> JsonObject:
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
        "author": _push_identity(world, info.author),
        "committer": _push_identity(world, info.committer),
        "added": paths("added", "copied"),
        "removed": paths("removed"),
        "modified": paths("modified", "renamed", "changed"),
    }


def _push_identity(world: World, identity: GitIdentity) -> JsonObject:
    known = account_of(world, identity)
    return {"name": identity.name, "email": identity.email, **({"username": known.login} if known else {})}
