"""Check runs."""

from __future__ import annotations

from bot.playground.models import CheckAnnotation, HostedCheckRun, HostedIssue, node_id
from bot.playground.payloads.accounts import JsonObject, api, app, web, when, when_or_null
from bot.playground.payloads.pulls import pull_of
from bot.playground.world import World


def check_run(world: World, made: HostedCheckRun) -> JsonObject:
    home = api(world, made.repository)
    url = f"{home}/check-runs/{made.id}"
    return {
        "id": made.id,
        "node_id": made.node_id,
        "head_sha": made.head_sha,
        "external_id": made.external_id,
        "url": url,
        "html_url": f"{web(world, made.repository)}/runs/{made.id}",
        "details_url": made.details_url,
        "status": made.status,
        "conclusion": made.conclusion,
        "started_at": when(made.started_at),
        "completed_at": when_or_null(made.completed_at),
        "output": {
            "title": made.title,
            "summary": made.summary,
            "text": made.text,
            "annotations_count": len(made.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "name": made.name,
        "check_suite": {"id": suite_id(made)},
        "app": app(world, made.app),
        "pull_requests": [_pull(world, issue) for issue in _pulls_at(made)],
    }


def suite_id(made: HostedCheckRun) -> int:
    """One suite for each commit and App."""
    return 40_000_000_000 + int(made.head_sha[:7], 16) + made.app.id


def check_run_event(world: World, made: HostedCheckRun) -> JsonObject:
    """A check run as webhooks carry it: with its suite."""
    home = api(world, made.repository)
    suite = {
        "id": suite_id(made),
        "node_id": node_id("CS", suite_id(made)),
        "head_branch": None,
        "head_sha": made.head_sha,
        "status": made.status,
        "conclusion": made.conclusion,
        "url": f"{home}/check-suites/{suite_id(made)}",
        "before": None,
        "after": None,
        "pull_requests": [_pull(world, issue) for issue in _pulls_at(made)],
        "app": app(world, made.app),
        "created_at": when(made.started_at),
        "updated_at": when(made.completed_at or made.started_at),
    }
    return {**check_run(world, made), "check_suite": suite}


def annotation(world: World, run: HostedCheckRun, made: CheckAnnotation) -> JsonObject:
    return {
        "path": made.path,
        "blob_href": f"{web(world, run.repository)}/blob/{run.head_sha}/{made.path}",
        "start_line": made.start_line,
        "start_column": made.start_column,
        "end_line": made.end_line,
        "end_column": made.end_column,
        "annotation_level": made.level,
        "title": made.title,
        "message": made.message,
        "raw_details": made.raw_details,
    }


def _pulls_at(made: HostedCheckRun) -> list[HostedIssue]:
    """Open pull requests of this repository whose head is the checked commit."""
    return [
        issue
        for issue in made.repository.issues.values()
        if issue.pull and issue.state == "open" and issue.pull.head_sha == made.head_sha
    ]


def _pull(world: World, issue: HostedIssue) -> JsonObject:
    pull = pull_of(issue)
    head, base = pull.head_repository, issue.repository
    return {
        "id": pull.id,
        "number": issue.number,
        "url": f"{api(world, base)}/pulls/{issue.number}",
        "head": {
            "ref": pull.head_ref,
            "sha": pull.head_sha,
            "repo": {"id": head.id, "url": api(world, head), "name": head.name},
        },
        "base": {
            "ref": pull.base_ref,
            "sha": pull.base_sha,
            "repo": {"id": base.id, "url": api(world, base), "name": base.name},
        },
    }
