"""Check runs: made and changed by the App that owns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.playground.errors import ApiError, unprocessable
from bot.playground.models import ActingAccount, App, CheckAnnotation, HostedCheckRun, HostedRepository
from bot.playground.operations.events import announce
from bot.playground.payloads import checks as shape
from bot.playground.world import World

CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out")
ANNOTATIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What a request says about a check run; None leaves a thing as it is."""

    name: str | None = None
    status: str | None = None
    conclusion: str | None = None
    external_id: str | None = None
    details_url: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: Sequence[CheckAnnotation] = ()


def create(
    world: World, where: HostedRepository, app: App, who: ActingAccount, sha: str, report: CheckReport
) -> HostedCheckRun:
    if not report.name:
        raise unprocessable('Invalid request.\n\n"name" wasn\'t supplied.')
    if where.git.resolve(sha) is None:
        raise unprocessable(f"No commit found for SHA: {sha}")
    _check(report)
    made = HostedCheckRun(
        id=world.next_id("check_run"),
        repository=where,
        app=app,
        name=report.name,
        head_sha=sha,
        external_id=report.external_id or "",
        details_url=report.details_url or app.webhook_url or world.base_url,
        status="queued",
        conclusion=None,
        started_at=report.started_at or world.now(),
        completed_at=None,
    )
    _apply(world, made, report)
    where.check_runs.append(made)
    world.check_runs[made.id] = made
    _tell(world, made, who, "created")
    if made.status == "completed":
        _tell(world, made, who, "completed")
    return made


def update(world: World, made: HostedCheckRun, app: App, who: ActingAccount, report: CheckReport) -> None:
    """Change a check run; annotations are added to those that it has."""
    if made.app is not app:
        raise ApiError(
            403, f"Invalid app_id `{app.id}` - check run can only be modified by the GitHub App that created it."
        )
    _check(report)
    done = made.status == "completed"
    _apply(world, made, report)
    if made.status == "completed" and not done:
        _tell(world, made, who, "completed")


def rerequest(world: World, made: HostedCheckRun, who: ActingAccount) -> None:
    """Ask the App to check again."""
    _tell(world, made, who, "rerequested")


def _check(report: CheckReport) -> None:
    if len(report.annotations) > ANNOTATIONS:
        raise unprocessable(
            f"Invalid request.\n\nNo more than {ANNOTATIONS} items are allowed; {len(report.annotations)} were supplied."
        )
    if report.conclusion is not None and report.conclusion not in CONCLUSIONS:
        raise unprocessable(f"Invalid request.\n\n{report.conclusion} is not a member of {list(CONCLUSIONS)}.")
    if report.status == "completed" and report.conclusion is None:
        raise unprocessable('Invalid request.\n\n"conclusion" wasn\'t supplied.')
    if report.annotations and not (report.title and report.summary):
        raise unprocessable('Invalid request.\n\n"title", "summary" weren\'t supplied.')


def _apply(world: World, made: HostedCheckRun, report: CheckReport) -> None:
    made.name = report.name or made.name
    made.external_id = report.external_id if report.external_id is not None else made.external_id
    made.details_url = report.details_url or made.details_url
    made.title = report.title if report.title is not None else made.title
    made.summary = report.summary if report.summary is not None else made.summary
    made.text = report.text if report.text is not None else made.text
    made.annotations.extend(report.annotations)
    made.status = "completed" if report.conclusion else report.status or made.status
    if report.conclusion:
        made.conclusion = report.conclusion
        made.completed_at = report.completed_at or world.now()


def _tell(world: World, made: HostedCheckRun, who: ActingAccount, action: str) -> None:
    shown = shape.check_run_event(world, made)
    announce(world, made.repository, who.user, "check_run", action, check_run=shown)
