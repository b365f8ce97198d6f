"""Repositories, branches, refs, commits, contents, forks."""

from __future__ import annotations

import base64
import binascii

from bot.playground.accounts import Role
from bot.playground.acts.pulls import pushed
from bot.playground.auth import Needs
from bot.playground.git import EMPTY_TREE, ZERO, GitFailed, Person
from bot.playground.nouns import Repository
from bot.playground.payloads import objects as shape
from bot.playground.payloads.people import JsonObject
from bot.playground.payloads.repositories import api, full_repository, web
from bot.playground.refusals import Refused, not_found, unprocessable
from bot.playground.rest.calls import Answer, Call, Routes

routes = Routes()
METADATA = Needs(permissions=("metadata",))
READ = Needs(permissions=("contents",))
WRITE = Needs(permissions=("contents",), level="write", role=Role.WRITE)


@routes.on("GET", "/repos/{owner}/{repo}", METADATA)
def get_repository(call: Call) -> Answer:
    return Answer(body=full_repository(call.world, call.repository, call.role()))


@routes.on("GET", "/repositories/{repository_id:int}", METADATA)
def get_repository_by_id(call: Call) -> Answer:
    found = call.world.repositories[int(call.path["repository_id"])]
    token = call.caller.token
    role = Role.READ if token is None else Role.ADMIN if token.installation else call.world.role(token.user, found)
    return Answer(body=full_repository(call.world, found, role))


@routes.on("POST", "/repos/{owner}/{repo}/forks", Needs(permissions=("administration",), level="write"))
def create_fork(call: Call) -> Answer:
    where, owner = call.repository, call.who.user
    made = call.world.add_repository(
        owner,
        call.text("name") or where.name,
        private=where.private,
        default_branch=where.default_branch,
        parent=where,
    )
    made.git.run("fetch", "--quiet", str(where.git.path), "refs/heads/*:refs/heads/*")
    return Answer(status=202, body=full_repository(call.world, made, Role.ADMIN))


@routes.on("GET", "/repos/{owner}/{repo}/branches", READ)
def list_branches(call: Call) -> Answer:
    refs = call.repository.git.refs()
    heads = {ref.removeprefix("refs/heads/"): sha for ref, sha in refs.items() if ref.startswith("refs/heads/")}
    return Answer(body=[shape.branch_stub(call.world, call.repository, name, sha) for name, sha in heads.items()])


@routes.on("GET", "/repos/{owner}/{repo}/branches/{branch:path}", READ)
def get_branch(call: Call) -> Answer:
    sha = call.repository.git.branch(call.path["branch"])
    if sha is None:
        raise Refused(404, "Branch not found")
    return Answer(body=shape.branch(call.world, call.repository, call.path["branch"], sha))


@routes.on("GET", "/repos/{owner}/{repo}/git/ref/{ref:path}", READ)
def get_ref(call: Call) -> Answer:
    ref = f"refs/{call.path['ref'].removeprefix('refs/')}"
    sha = call.repository.git.refs().get(ref)
    if sha is None:
        raise not_found()
    return Answer(body=shape.git_ref(call.world, call.repository, ref, sha))


@routes.on("GET", "/repos/{owner}/{repo}/git/matching-refs/{ref:path}", READ)
def list_refs(call: Call) -> Answer:
    start = f"refs/{call.path['ref']}"
    found = {ref: sha for ref, sha in call.repository.git.refs().items() if ref.startswith(start)}
    return Answer(body=[shape.git_ref(call.world, call.repository, ref, sha) for ref, sha in found.items()])


@routes.on("POST", "/repos/{owner}/{repo}/git/refs", WRITE)
def create_ref(call: Call) -> Answer:
    where, ref, sha = call.repository, call.text("ref"), call.text("sha")
    if not ref.startswith("refs/") or ref.count("/") < 2:
        raise unprocessable("Reference name must start with 'refs/' and contain at least two slashes")
    if where.git.resolve(sha) is None:
        raise unprocessable("Object does not exist")
    if ref in where.git.refs():
        raise unprocessable("Reference already exists")
    try:
        where.git.set_ref(ref, sha, ZERO)
    except GitFailed as failure:
        raise unprocessable(f"Reference update failed: {failure}") from failure
    pushed(call.world, where, call.who, ref, ZERO, sha)
    return Answer(status=201, body=shape.git_ref(call.world, where, ref, sha))


@routes.on("PATCH", "/repos/{owner}/{repo}/git/refs/{ref:path}", WRITE)
def update_ref(call: Call) -> Answer:
    where, ref, sha = call.repository, f"refs/{call.path['ref']}", call.text("sha")
    before = where.git.refs().get(ref)
    if before is None:
        raise unprocessable("Reference does not exist")
    if where.git.resolve(sha) is None:
        raise unprocessable("Object does not exist")
    if not call.flag("force") and not where.git.is_ancestor(before, sha):
        raise unprocessable("Update is not a fast forward")
    where.git.set_ref(ref, sha, before)
    pushed(call.world, where, call.who, ref, before, sha)
    return Answer(body=shape.git_ref(call.world, where, ref, sha))


@routes.on("DELETE", "/repos/{owner}/{repo}/git/refs/{ref:path}", WRITE)
def delete_ref(call: Call) -> Answer:
    where, ref = call.repository, f"refs/{call.path['ref']}"
    before = where.git.refs().get(ref)
    if before is None:
        raise unprocessable("Reference does not exist")
    where.git.delete_ref(ref)
    pushed(call.world, where, call.who, ref, before, ZERO)
    return Answer(status=204)


@routes.on("GET", "/repos/{owner}/{repo}/git/commits/{sha}", READ)
def get_git_commit(call: Call) -> Answer:
    sha = call.repository.git.resolve(call.path["sha"])
    if sha is None:
        raise not_found()
    return Answer(body=shape.git_commit(call.world, call.repository, call.repository.git.commit(sha)))


@routes.on("GET", "/repos/{owner}/{repo}/commits", READ)
def list_commits(call: Call) -> Answer:
    where = call.repository
    tip = where.git.resolve(call.query.get("sha") or where.default_branch)
    if tip is None:
        raise Refused(409, "Git Repository is empty.") if not where.git.refs() else not_found()
    shown = reversed(where.git.log(None, tip))
    return Answer(body=[shape.commit(call.world, where, info) for info in shown])


@routes.on("GET", "/repos/{owner}/{repo}/commits/{sha:path}", READ)
def get_commit(call: Call) -> Answer:
    where = call.repository
    sha = where.git.resolve(call.path["sha"])
    if sha is None:
        raise unprocessable(f"No commit found for SHA: {call.path['sha']}")
    info = where.git.commit(sha)
    changes = where.git.changes(info.parents[0] if info.parents else EMPTY_TREE, sha)
    added, removed = sum(each.additions for each in changes), sum(each.deletions for each in changes)
    files = [shape.file_change(call.world, where, each, sha) for each in changes]
    stats = {"total": added + removed, "additions": added, "deletions": removed}
    return Answer(body={**shape.commit(call.world, where, info), "stats": stats, "files": files})


@routes.on("GET", "/repos/{owner}/{repo}/compare/{span:path}", READ)
def compare(call: Call) -> Answer:
    where = call.repository
    left, dots, right = call.path["span"].partition("...")
    base, head = where.git.resolve(left.split(":")[-1]), where.git.resolve(right.split(":")[-1])
    start = where.git.merge_base(base, head) if base and head else None
    if not dots or base is None or head is None or start is None:
        raise not_found()
    return Answer(body=_comparison(call, where, base, head, start))


def _comparison(call: Call, where: Repository, base: str, head: str, start: str) -> JsonObject:
    ahead, behind = where.git.count(base, head), where.git.count(head, base)
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
    page = f"{web(call.world, where)}/compare/{base}...{head}"
    return {
        "url": f"{api(call.world, where)}/compare/{call.path['span']}",
        "html_url": page,
        "permalink_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "base_commit": shape.commit(call.world, where, where.git.commit(base)),
        "merge_base_commit": shape.commit(call.world, where, where.git.commit(start)),
        "status": status.get((ahead > 0, behind > 0), "diverged"),
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": [shape.commit(call.world, where, info) for info in where.git.log(base, head)],
        "files": [shape.file_change(call.world, where, each, head) for each in where.git.changes(start, head)],
    }


@routes.on("GET", "/repos/{owner}/{repo}/contents", READ)
def get_root(call: Call) -> Answer:
    return _contents(call, "")


@routes.on("GET", "/repos/{owner}/{repo}/contents/{path:path}", READ)
def get_contents(call: Call) -> Answer:
    return _contents(call, call.path["path"].strip("/"))


def _contents(call: Call, path: str) -> Answer:
    where, ref = call.repository, call.query.get("ref") or call.repository.default_branch
    sha = where.git.resolve(ref)
    entry = (where.git.entry(sha, path) if path else ("tree", sha)) if sha else None
    if sha is None or entry is None:
        raise not_found()
    kind, oid = entry
    if kind == "blob":
        data = where.git.read(sha, path) or b""
        if "raw" in call.accept:
            return Answer(body=data.decode(errors="replace"), content_type="application/vnd.github.raw; charset=utf-8")
        listed = shape.content(call.world, where, path, "file", oid, len(data), ref)
        return Answer(body=shape.with_content(listed, data))
    return Answer(body=_listing(call, where, path, oid, ref))


def _listing(call: Call, where: Repository, path: str, tree: str, ref: str) -> list[JsonObject]:
    prefix = f"{path}/" if path else ""
    return [
        shape.content(call.world, where, prefix + name, "file" if kind == "blob" else "dir", oid, size, ref)
        for kind, oid, name, size in where.git.listing(tree)
    ]


@routes.on("PUT", "/repos/{owner}/{repo}/contents/{path:path}", WRITE)
def put_contents(call: Call) -> Answer:
    """Commit one file to a branch; `sha` must be the blob that is replaced."""
    where, path, branch = call.repository, call.path["path"], call.text("branch") or call.repository.default_branch
    before = where.git.branch(branch)
    if before is None:
        raise Refused(404, f"Branch {branch} not found")
    old = where.git.entry(before, path)
    if old is not None and call.text("sha") != old[1]:
        raise Refused(409, f"{path} does not match {call.text('sha') or 'null'}")
    try:
        data = base64.b64decode(call.text("content"), validate=False)
    except binascii.Error:
        raise unprocessable("content is not valid Base64") from None
    author = _person(call, "author") or call.who.user.person
    made = where.git.edit(before, {path: data}, call.text("message"), author, _person(call, "committer") or author)
    where.git.set_ref(f"refs/heads/{branch}", made, before)
    pushed(call.world, where, call.who, f"refs/heads/{branch}", before, made)
    entry = where.git.entry(made, path)
    assert entry is not None
    listed = shape.content(call.world, where, path, "file", entry[1], len(data), branch)
    commit = shape.git_commit(call.world, where, where.git.commit(made))
    return Answer(status=200 if old else 201, body={"content": listed, "commit": commit})


def _person(call: Call, name: str) -> Person | None:
    given = call.mapping(name)
    return Person(name=str(given.get("name", "")), email=str(given.get("email", ""))) if given else None
