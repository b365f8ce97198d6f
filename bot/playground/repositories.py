"""Repositories and what git holds in them: branches, commits, comparisons, files, forks; the routes that show them."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import PurePosixPath

from bot.playground.api import ApiCall, Routes
from bot.playground.auth import Needs, check
from bot.playground.errors import ApiError, not_found, unprocessable
from bot.playground.git import EMPTY_TREE
from bot.playground.models import HostedRepository, RepositoryRole
from bot.playground.payloads import JsonObject, api, commit, file_change, permissions, repository, shown, web
from bot.playground.world import World

routes = Routes()
METADATA = Needs(permissions=("metadata",))
READ = Needs(permissions=("contents",))


def full_repository(world: World, made: HostedRepository, role: RepositoryRole) -> JsonObject:
    """full-repository, as this role sees it."""
    parent = {"parent": repository(world, made.parent), "source": repository(world, made.parent)} if made.parent else {}
    return {
        **repository(world, made),
        **parent,
        "permissions": permissions(role),
        **shown(world, "full_repository", made),
    }


@routes.on("GET", "{repository}", METADATA)
def get_repository(call: ApiCall) -> JsonObject:
    return full_repository(call.world, call.repository, call.role())


@routes.on("GET", "/repositories/{repository_id:int}")
def get_repository_by_id(call: ApiCall) -> JsonObject:
    found = call.world.repositories.get(int(call.path["repository_id"]))
    if found is None:
        raise not_found()
    check(call.world, call.caller, found, METADATA)
    named = {"owner": found.owner.login, "repo": found.name}
    return get_repository(replace(call, path=named))


@routes.on("POST", "{repository}/forks", Needs(permissions=("administration",), level="write"), status=202)
def create_fork(call: ApiCall) -> JsonObject:
    where = call.repository
    made = call.world.add_repository(call.who.user, where.name, private=where.private, parent=where)
    made.git.run("fetch", "--quiet", str(where.git.path), "refs/heads/*:refs/heads/*")
    return full_repository(call.world, made, RepositoryRole.ADMIN)


# Branches and refs.


@routes.on("GET", "{repository}/branches", READ)
def list_branches(call: ApiCall) -> list[JsonObject]:
    heads = {ref: sha for ref, sha in call.repository.git.refs().items() if ref.startswith("refs/heads/")}
    home = f"{api(call.world, call.repository)}/commits"
    return [
        {"name": ref.removeprefix("refs/heads/"), "commit": {"sha": sha, "url": f"{home}/{sha}"}, "protected": False}
        for ref, sha in heads.items()
    ]


@routes.on("GET", "{repository}/branches/{branch:path}", READ)
def get_branch(call: ApiCall) -> JsonObject:
    where, name = call.repository, call.path["branch"]
    sha = where.git.branch(name)
    if sha is None:
        raise ApiError(404, "Branch not found")
    home = f"{api(call.world, where)}/branches/{name}"
    return {
        "name": name,
        "commit": commit(call.world, where, where.git.commit(sha)),
        "_links": {"self": home, "html": f"{web(call.world, where)}/tree/{name}"},
        **shown(call.world, "branch", where, home),
    }


@routes.on("GET", "{repository}/git/ref/{ref:path}", READ)
def get_ref(call: ApiCall) -> JsonObject:
    where, ref = call.repository, f"refs/{call.path['ref']}"
    sha = where.git.refs().get(ref)
    if sha is None:
        raise not_found()
    home = f"{api(call.world, where)}/git"
    target = {"type": "commit", "sha": sha, "url": f"{home}/commits/{sha}"}
    return {"ref": ref, "node_id": f"{where.node_id}:{ref}", "url": f"{home}/{ref}", "object": target}


# Commits and files.


@routes.on("GET", "{repository}/commits/{sha:path}", READ)
def get_commit(call: ApiCall) -> JsonObject:
    where = call.repository
    sha = where.git.resolve(call.path["sha"])
    if sha is None:
        raise unprocessable(f"No commit found for SHA: {call.path['sha']}")
    info = where.git.commit(sha)
    changes = where.git.changes(info.parents[0] if info.parents else EMPTY_TREE, sha)
    added, removed = sum(each.additions for each in changes), sum(each.deletions for each in changes)
    files = [file_change(call.world, where, each, sha) for each in changes]
    stats = {"total": added + removed, "additions": added, "deletions": removed}
    return {**commit(call.world, where, info), "stats": stats, "files": files}


@routes.on("GET", "{repository}/compare/{basehead:path}", READ)
def compare_commits(call: ApiCall) -> JsonObject:
    where, name = call.repository, call.path["basehead"]
    base, head = (where.git.resolve(each) for each in name.partition("...")[::2])
    start = where.git.merge_base(base, head) if base and head else None
    if base is None or head is None or start is None:
        raise not_found()
    ahead, behind = where.git.log(base, head), where.git.count(head, base)
    status = ("diverged" if behind else "ahead") if ahead else ("behind" if behind else "identical")
    page = f"{web(call.world, where)}/compare/{name}"
    return {
        **shown(call.world, "comparison", where, f"{api(call.world, where)}/compare/{name}", page),
        "base_commit": commit(call.world, where, where.git.commit(base)),
        "merge_base_commit": commit(call.world, where, where.git.commit(start)),
        "status": status,
        "ahead_by": len(ahead),
        "behind_by": behind,
        "total_commits": len(ahead),
        "commits": [commit(call.world, where, info) for info in ahead],
        "files": [file_change(call.world, where, each, head) for each in where.git.changes(start, head)],
    }


@routes.on("GET", "{repository}/contents/{path:path}", READ)
def get_contents(call: ApiCall) -> JsonObject:
    """A file; no client of the playground lists a directory."""
    where, path = call.repository, call.path["path"]
    ref = call.query.get("ref") or where.default_branch
    sha = where.git.resolve(ref)
    entry = where.git.entry(sha, path) if sha else None
    data = where.git.read(sha, path) if sha else None
    if entry is None or data is None:
        raise not_found()
    home = f"{api(call.world, where)}/contents/{path}?ref={ref}"
    page = f"{web(call.world, where)}/blob/{ref}/{path}"
    blob = f"{api(call.world, where)}/git/blobs/{entry[1]}"
    return {
        "name": PurePosixPath(path).name,
        "path": path,
        "sha": entry[1],
        "size": len(data),
        "url": home,
        "html_url": page,
        "git_url": blob,
        "download_url": f"{web(call.world, where)}/raw/{ref}/{path}",
        "type": "file",
        "_links": {"self": home, "git": blob, "html": page},
        "content": base64.encodebytes(data).decode(),
        "encoding": "base64",
    }
