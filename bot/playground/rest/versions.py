"""The API's versions. 2026-03-10 took fields away that 2022-11-28 has."""

from __future__ import annotations

from bot.playground.refusals import Refused

DEFAULT = "2022-11-28"
NEWEST = "2026-03-10"
SUPPORTED = (DEFAULT, NEWEST)
_REMOVED = frozenset(
    {"assignee", "has_downloads", "master_branch", "merge_commit_sha", "rate", "use_squash_pr_title_as_default"}
)


def chosen(header: str | None) -> str:
    """The version that a request asks for in X-GitHub-Api-Version; raises Refused 400 for one that is not served."""
    if header is None:
        return DEFAULT
    if header not in SUPPORTED:
        raise Refused(400, f"{header} is not a supported version of the GitHub API")
    return header


def shaped(body: object, version: str) -> object:
    """The body as this version has it."""
    return body if version == DEFAULT else _without(body)


def _without(body: object) -> object:
    if isinstance(body, dict):
        return {key: _without(value) for key, value in body.items() if key not in _REMOVED}
    return [_without(each) for each in body] if isinstance(body, list) else body
