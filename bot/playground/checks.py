"""Check runs, which only the App that owns them makes and changes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from bot.playground.api import ApiAnswer, ApiCall, Routes
from bot.playground.auth import Needs
from bot.playground.errors import ApiError, unprocessable
from bot.playground.models import ActingAccount, App, CheckAnnotation, HostedCheckRun
from bot.playground.payloads import JsonObject
from bot.playground.pull_payloads import check_run, check_run_event
from bot.playground.webhooks import announce
from bot.playground.world import World

Conclusion = Literal["action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"]
ANNOTATIONS = 50
routes = Routes()
READ = Needs(permissions=("checks",))
WRITE = Needs(permissions=("checks",), level="write")


class _Output(Struct):
    title: str
    summary: str
    annotations: tuple[CheckAnnotation, ...] = ()


class _CheckBody(Struct):
    """A check run that is completed when it is made: no client of the stand-in makes another."""

    name: str
    head_sha: str
    conclusion: Conclusion
    output: _Output
    external_id: str = ""


class _EditedCheck(Struct):
    output: _Output


@routes.on("POST", "{repository}/check-runs", WRITE, status=201)
def create_check_run(call: ApiCall) -> JsonObject:
    world, where, app, wanted = call.world, call.repository, _app(call), call.read(_CheckBody)
    if where.git.resolve(wanted.head_sha) is None:
        raise unprocessable(f"No commit found for SHA: {wanted.head_sha}")
    made = HostedCheckRun(
        id=world.next_id(),
        repository=where,
        app=app,
        name=wanted.name,
        head_sha=wanted.head_sha,
        external_id=wanted.external_id,
        conclusion=wanted.conclusion,
        completed_at=world.now(),
    )
    _show(made, wanted.output)
    where.check_runs.append(made)
    for action in ("created", "completed"):
        announce_check(world, made, call.who, action)
    return check_run(world, made)


@routes.on("PATCH", "{repository}/check-runs/{check_run_id:int}", WRITE)
def update_check_run(call: ApiCall) -> JsonObject:
    """Change what a check run shows."""
    made, app, wanted = check_run_of(call), _app(call), call.read(_EditedCheck)
    if made.app is not app:
        only = "check run can only be modified by the GitHub App that created it."
        raise ApiError(403, f"Invalid app_id `{app.id}` - {only}")
    _show(made, wanted.output)
    return check_run(call.world, made)


def _app(call: ApiCall) -> App:
    via = call.who.via
    if via is None:
        raise ApiError(403, "You must authenticate via a GitHub App.")
    return via


def check_run_of(call: ApiCall) -> HostedCheckRun:
    return call.world.check_run(call.repository, int(call.path["check_run_id"]))


def _show(made: HostedCheckRun, output: _Output) -> None:
    """Title and summary replace those before; annotations are added. Raises ApiError 422 for too many at once."""
    if len(output.annotations) > ANNOTATIONS:
        counts = f"No more than {ANNOTATIONS} items are allowed; {len(output.annotations)} were supplied."
        raise unprocessable(f"Invalid request.\n\n{counts}")
    made.title, made.summary = output.title, output.summary
    made.annotations.extend(output.annotations)


def announce_check(world: World, made: HostedCheckRun, who: ActingAccount, action: str) -> None:
    shown = check_run_event(world, made)
    announce(world, made.repository, who.user, "check_run", action, check_run=shown)


@routes.on("GET", "{repository}/commits/{ref}/check-runs", READ)
def list_check_runs(call: ApiCall) -> ApiAnswer:
    """Newest first; `filter=latest` (the default) shows one of each name and App."""
    sha = call.repository.git.resolve(call.path["ref"])
    name, status, every = call.query.get("check_name"), call.query.get("status"), call.query.get("filter") == "all"
    found: dict[object, HostedCheckRun] = {}
    for made in reversed(call.repository.check_runs):
        if made.head_sha == sha and name in (None, made.name) and status in (None, made.status):
            found.setdefault(made.id if every else (made.app.id, made.name), made)
    body = {"total_count": len(found), "check_runs": [check_run(call.world, each) for each in found.values()]}
    return ApiAnswer(body=body, paged="check_runs")
