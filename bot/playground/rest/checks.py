"""Check runs, which only Apps may make."""

from __future__ import annotations

from bot.playground.auth import Needs
from bot.playground.errors import ApiError, unprocessable
from bot.playground.models import App, CheckAnnotation, HostedCheckRun, RepositoryRole
from bot.playground.operations import checks as act
from bot.playground.payloads import checks as shape
from bot.playground.rest.calls import ApiAnswer, ApiCall, Routes

routes = Routes()
READ = Needs(permissions=("checks",))
WRITE = Needs(permissions=("checks",), level="write")
RERUN = Needs(permissions=("checks",), level="write", role=RepositoryRole.WRITE)
_LEVELS = ("notice", "warning", "failure")


def _app(call: ApiCall) -> App:
    via = call.who.via
    if via is None:
        raise ApiError(403, "You must authenticate via a GitHub App.")
    return via


def _check_run(call: ApiCall) -> HostedCheckRun:
    return call.world.check_run(call.repository, int(call.path["check_run_id"]))


def _report(call: ApiCall) -> act.CheckReport:
    output = call.inner(call.mapping("output"))
    if "output" in call.body and output.text_or_none("summary") is None:
        raise unprocessable('Invalid request.\n\n"summary" wasn\'t supplied.')
    return act.CheckReport(
        name=call.text_or_none("name"),
        status=call.text_or_none("status"),
        conclusion=call.text_or_none("conclusion"),
        external_id=call.text_or_none("external_id"),
        details_url=call.text_or_none("details_url"),
        started_at=call.moment("started_at"),
        completed_at=call.moment("completed_at"),
        title=output.text_or_none("title"),
        summary=output.text_or_none("summary"),
        text=output.text_or_none("text"),
        annotations=[_annotation(call.inner(each)) for each in output.items("annotations")],
    )


def _annotation(call: ApiCall) -> CheckAnnotation:
    start, end = call.integer("start_line"), call.integer("end_line")
    if start is None or end is None or not call.text("path") or not call.text("message"):
        raise unprocessable('Invalid request.\n\n"path", "start_line", "end_line", "message" must be supplied.')
    if call.text("annotation_level") not in _LEVELS:
        raise unprocessable(f"Invalid request.\n\n{call.text('annotation_level')} is not a member of {list(_LEVELS)}.")
    return CheckAnnotation(
        path=call.text("path"),
        start_line=start,
        end_line=end,
        level=call.text("annotation_level"),
        message=call.text("message"),
        title=call.text_or_none("title"),
        raw_details=call.text_or_none("raw_details"),
        start_column=call.integer("start_column"),
        end_column=call.integer("end_column"),
    )


@routes.on("POST", "/repos/{owner}/{repo}/check-runs", WRITE)
def create_check_run(call: ApiCall) -> ApiAnswer:
    made = act.create(call.world, call.repository, _app(call), call.who, call.text("head_sha"), _report(call))
    return ApiAnswer(status=201, body=shape.check_run(call.world, made))


@routes.on("PATCH", "/repos/{owner}/{repo}/check-runs/{check_run_id:int}", WRITE)
def update_check_run(call: ApiCall) -> ApiAnswer:
    made = _check_run(call)
    act.update(call.world, made, _app(call), call.who, _report(call))
    return ApiAnswer(body=shape.check_run(call.world, made))


@routes.on("GET", "/repos/{owner}/{repo}/check-runs/{check_run_id:int}/annotations", READ)
def list_annotations(call: ApiCall) -> ApiAnswer:
    made = _check_run(call)
    return ApiAnswer(body=[shape.annotation(call.world, made, each) for each in made.annotations])


@routes.on("POST", "/repos/{owner}/{repo}/check-runs/{check_run_id:int}/rerequest", RERUN)
def rerequest_check_run(call: ApiCall) -> ApiAnswer:
    """What the button "Re-run" does: nothing changes until the App answers the webhook."""
    act.rerequest(call.world, _check_run(call), call.who)
    return ApiAnswer(status=201, body={})


@routes.on("GET", "/repos/{owner}/{repo}/commits/{ref}/check-runs", READ)
def list_check_runs(call: ApiCall) -> ApiAnswer:
    """Newest first; `filter=latest` (the default) shows one of each name and App."""
    sha = call.repository.git.resolve(call.path["ref"])
    name, app_id, every = call.query.get("check_name"), call.query.get("app_id"), call.query.get("filter") == "all"
    found: dict[object, HostedCheckRun] = {}
    for made in reversed(call.repository.check_runs):
        if made.head_sha == sha and name in (None, made.name) and app_id in (None, str(made.app.id)):
            found.setdefault(made.id if every else (made.app.id, made.name), made)
    body = {"total_count": len(found), "check_runs": [shape.check_run(call.world, each) for each in found.values()]}
    return ApiAnswer(body=body, paged="check_runs")
