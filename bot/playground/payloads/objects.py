"""What git holds in a repository: refs, branches, commits, changes, files."""

from __future__ import annotations

import base64
from pathlib import PurePosixPath

from bot.playground.accounts import User, node_id
from bot.playground.git import CommitInfo, FileChange, Person
from bot.playground.nouns import Repository
from bot.playground.payloads.people import JsonObject, user, when
from bot.playground.payloads.repositories import api, web
from bot.playground.world import World


def git_ref(world: World, made: Repository, ref: str, sha: str) -> JsonObject:
    home = api(world, made)
    return {
        "ref": ref,
        "node_id": node_id("REF", made.id),
        "url": f"{home}/git/{ref}",
        "object": {"sha": sha, "type": "commit", "url": f"{home}/git/commits/{sha}"},
    }


def branch_stub(world: World, made: Repository, name: str, sha: str) -> JsonObject:
    """short-branch."""
    return {
        "name": name,
        "commit": {"sha": sha, "url": f"{api(world, made)}/commits/{sha}"},
        "protected": False,
    }


def branch(world: World, made: Repository, name: str, sha: str) -> JsonObject:
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


def account_of(world: World, person: Person) -> User | None:
    """The account that a commit's e-mail address belongs to."""
    return next((each for each in world.users.values() if each.person.email == person.email), None)


def _signature(person: Person, at: str) -> JsonObject:
    return {"name": person.name, "email": person.email, "date": at}


def _account(world: World, person: Person) -> JsonObject | None:
    known = account_of(world, person)
    return user(world, known) if known else None


_UNSIGNED: JsonObject = {
    "verified": False,
    "reason": "unsigned",
    "signature": None,
    "payload": None,
    "verified_at": None,
}


def commit(world: World, made: Repository, info: CommitInfo) -> JsonObject:
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


def git_commit(world: World, made: Repository, info: CommitInfo) -> JsonObject:
    """git-commit: the bare git object."""
    home, page = api(world, made), web(world, made)
    inner = commit(world, made, info)["commit"]
    assert isinstance(inner, dict)
    return {
        "sha": info.sha,
        "node_id": f"C_{node_id('', made.id)[1:]}{info.sha[:12]}",
        "url": f"{home}/git/commits/{info.sha}",
        "html_url": f"{page}/commit/{info.sha}",
        **{key: inner[key] for key in ("author", "committer", "tree", "message", "verification")},
        "parents": [
            {"sha": sha, "url": f"{home}/git/commits/{sha}", "html_url": f"{page}/commit/{sha}"} for sha in info.parents
        ],
    }


def file_change(world: World, made: Repository, change: FileChange, head: str) -> JsonObject:
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


def content(world: World, made: Repository, path: str, kind: str, oid: str, size: int, ref: str) -> JsonObject:
    """An entry of a directory listing; a file's has its content added with `with_content`."""
    home = f"{api(world, made)}/contents/{path}?ref={ref}"
    git_kind = {"file": "blobs", "dir": "trees"}[kind]
    page = f"{web(world, made)}/{'blob' if kind == 'file' else 'tree'}/{ref}/{path}"
    links = {"self": home, "git": f"{api(world, made)}/git/{git_kind}/{oid}", "html": page}
    return {
        "name": PurePosixPath(path).name,
        "path": path,
        "sha": oid,
        "size": size,
        "url": home,
        "html_url": page,
        "git_url": links["git"],
        "download_url": f"{web(world, made)}/raw/{ref}/{path}" if kind == "file" else None,
        "type": kind,
        "_links": links,
    }


def with_content(listed: JsonObject, data: bytes) -> JsonObject:
    """content-file."""
    return {**listed, "content": base64.encodebytes(data).decode(), "encoding": "base64"}
