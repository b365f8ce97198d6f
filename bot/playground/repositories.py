"""Repositories and what git holds in them: branches, commits, comparisons, files, forks; the routes that show them."""

from __future__ import annotations

import base64
from pathlib import PurePosixPath

from bot.playground.api import ApiCall, Routes
from bot.playground.auth import Needs
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


# Branches and refs.


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
