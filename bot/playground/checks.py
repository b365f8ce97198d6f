"""Check runs, which only the App that owns them makes and changes."""

from typing import Literal

from msgspec import Struct

from bot.playground.api import ApiAnswer, ApiCall, Routes
from bot.playground.auth import Needs
from bot.playground.errors import ApiError, unprocessable
from bot.playground.models import ActingAccount, App, CheckAnnotation, HostedCheckRun
from bot.playground.payloads import JsonObject, check_run, check_run_event
from bot.playground.webhooks import announce
from bot.playground.world import World, with_id

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
    """What a request has about a check run; None leaves a field as it is."""

    name: str | None = None
    head_sha: str = ""
    status: Literal["queued", "in_progress", "completed"] | None = None
    conclusion: Conclusion | None = None
    external_id: str | None = None
    output: _Output | None = None


@routes.on("POST", "{repository}/check-runs", WRITE, status=201)
def create_check_run(call: ApiCall) -> JsonObject:
    world, repo, app, wanted = call.world, call.repository, _app(call), _read(call)
    if not wanted.name:
        raise unprocessable('Invalid request.\n\n"name" wasn\'t supplied.')
    if repo.git.resolve(wanted.head_sha) is None:
        raise unprocessable(f"No commit found for SHA: {wanted.head_sha}")
    made = HostedCheckRun(
        id=world.next_id(), repository=repo, app=app, name=wanted.name, head_sha=wanted.head_sha, started_at=world.now()
    )
    _apply(world, made, wanted)
    repo.check_runs.append(made)
    announce_check(world, made, call.who, "created")
    if made.status == "completed":
        announce_check(world, made, call.who, "completed")
    return check_run(world, made)


@routes.on("PATCH", "{repository}/check-runs/{check_run_id:int}", WRITE)
def update_check_run(call: ApiCall) -> JsonObject:
    """Change a check run; annotations are added to those that it has."""
    made, app, wanted = check_run_of(call), _app(call), _read(call)
    if made.app is not app:
        only = "check run can only be modified by the GitHub App that created it."
        raise ApiError(403, f"Invalid app_id `{app.id}` - {only}")
    done = made.status == "completed"
    _apply(call.world, made, wanted)
    if made.status == "completed" and not done:
        announce_check(call.world, made, call.who, "completed")
    return check_run(call.world, made)


def _app(call: ApiCall) -> App:
    via = call.who.via
    if via is None:
        raise ApiError(403, "You must authenticate via a GitHub App.")
    return via


def check_run_of(call: ApiCall) -> HostedCheckRun:
    return with_id(int(call.path["check_run_id"]), call.repository.check_runs)


def _read(call: ApiCall) -> _CheckBody:
    wanted = call.read(_CheckBody)
    output = wanted.output
    if output and len(output.annotations) > ANNOTATIONS:
        counts = f"No more than {ANNOTATIONS} items are allowed; {len(output.annotations)} were supplied."
        raise unprocessable(f"Invalid request.\n\n{counts}")
    if wanted.status == "completed" and wanted.conclusion is None:
        raise unprocessable('Invalid request.\n\n"conclusion" wasn\'t supplied.')
    return wanted


def _apply(world: World, made: HostedCheckRun, wanted: _CheckBody) -> None:
    made.name = wanted.name or made.name
    made.external_id = wanted.external_id or made.external_id
    made.status = wanted.status or made.status
    if wanted.output:
        made.title, made.summary = wanted.output.title, wanted.output.summary
        made.annotations.extend(wanted.output.annotations)
    if wanted.conclusion:
        made.status, made.conclusion, made.completed_at = "completed", wanted.conclusion, world.now()


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
