"""Repositories, branches, refs, commits, contents, forks."""

from __future__ import annotations

from bot.playground.auth import Needs
from bot.playground.errors import ApiError, not_found, unprocessable
from bot.playground.git import EMPTY_TREE, ZERO
from bot.playground.models import RepositoryRole
from bot.playground.operations.pulls import pushed
from bot.playground.payloads import git_objects as shape
from bot.playground.payloads.accounts import full_repository
from bot.playground.rest.calls import ApiAnswer, ApiCall, Routes

routes = Routes()
METADATA = Needs(permissions=("metadata",))
READ = Needs(permissions=("contents",))
WRITE = Needs(permissions=("contents",), level="write", role=RepositoryRole.WRITE)


@routes.on("GET", "/repos/{owner}/{repo}", METADATA)
def get_repository(call: ApiCall) -> ApiAnswer:
    return ApiAnswer(body=full_repository(call.world, call.repository, call.role()))


@routes.on("POST", "/repos/{owner}/{repo}/forks", Needs(permissions=("administration",), level="write"))
def create_fork(call: ApiCall) -> ApiAnswer:
    where, owner = call.repository, call.who.user
    made = call.world.add_repository(
        owner,
        call.text("name") or where.name,
        private=where.private,
        default_branch=where.default_branch,
        parent=where,
    )
    made.git.run("fetch", "--quiet", str(where.git.path), "refs/heads/*:refs/heads/*")
    return ApiAnswer(status=202, body=full_repository(call.world, made, RepositoryRole.ADMIN))


@routes.on("GET", "/repos/{owner}/{repo}/branches", READ)
def list_branches(call: ApiCall) -> ApiAnswer:
    refs = call.repository.git.refs()
    heads = {ref.removeprefix("refs/heads/"): sha for ref, sha in refs.items() if ref.startswith("refs/heads/")}
    return ApiAnswer(body=[shape.branch_stub(call.world, call.repository, name, sha) for name, sha in heads.items()])


@routes.on("GET", "/repos/{owner}/{repo}/branches/{branch:path}", READ)
def get_branch(call: ApiCall) -> ApiAnswer:
    sha = call.repository.git.branch(call.path["branch"])
    if sha is None:
        raise ApiError(404, "Branch not found")
    return ApiAnswer(body=shape.branch(call.world, call.repository, call.path["branch"], sha))


@routes.on("DELETE", "/repos/{owner}/{repo}/git/refs/{ref:path}", WRITE)
def delete_ref(call: ApiCall) -> ApiAnswer:
    where, ref = call.repository, f"refs/{call.path['ref']}"
    before = where.git.refs().get(ref)
    if before is None:
        raise unprocessable("Reference does not exist")
    where.git.delete_ref(ref)
    pushed(call.world, where, call.who, ref, before, ZERO)
    return ApiAnswer(status=204)


@routes.on("GET", "/repos/{owner}/{repo}/commits/{sha:path}", READ)
def get_commit(call: ApiCall) -> ApiAnswer:
    where = call.repository
    sha = where.git.resolve(call.path["sha"])
    if sha is None:
        raise unprocessable(f"No commit found for SHA: {call.path['sha']}")
    info = where.git.commit(sha)
    changes = where.git.changes(info.parents[0] if info.parents else EMPTY_TREE, sha)
    added, removed = sum(each.additions for each in changes), sum(each.deletions for each in changes)
    files = [shape.file_change(call.world, where, each, sha) for each in changes]
    stats = {"total": added + removed, "additions": added, "deletions": removed}
    return ApiAnswer(body={**shape.commit(call.world, where, info), "stats": stats, "files": files})


@routes.on("GET", "/repos/{owner}/{repo}/contents/{path:path}", READ)
def get_contents(call: ApiCall) -> ApiAnswer:
    """A file; no client of the playground lists a directory."""
    where, path = call.repository, call.path["path"]
    ref = call.query.get("ref") or where.default_branch
    sha = where.git.resolve(ref)
    entry = where.git.entry(sha, path) if sha else None
    data = where.git.read(sha, path) if sha else None
    if entry is None or data is None:
        raise not_found()
    return ApiAnswer(body=shape.content(call.world, where, path, entry[1], data, ref))
