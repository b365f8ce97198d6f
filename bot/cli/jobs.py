"""`apprentice jobs`: what waits, runs, failed or died; give a job back, cancel it, keep workers from taking any."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.console import (
    AsJson,
    TextTable,
    fields,
    print_line,
    print_result,
    private_settings,
    refuse,
    refusing,
    repository_key,
)
from memory.model.jobs import NOT_DONE, JobState, StoredJob
from workers.redaction import redact

if TYPE_CHECKING:
    from memory.store import Store

STILL_RUNNING = 75
SHORTEST_ID = 6
LOOK_SECONDS = 0.5


class JobAction(StrEnum):
    LIST = "list"
    SHOW = "show"
    RETRY = "retry"
    CANCEL = "cancel"
    DRAIN = "drain"
    RESUME = "resume"


def jobs(
    action: JobAction,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Jobs, by id or how it begins.", show_default=False)
    ] = None,
    state: Annotated[
        list[JobState] | None, typer.Option(help="With list, retry and cancel: jobs in this state; repeat for several.")
    ] = None,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Only jobs of this kind, such as review.")] = "",
    repository: Annotated[str, typer.Option(metavar="OWNER/NAME", help="Only jobs of this repository.")] = "",
    most: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 50,
    wait: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With drain: wait so long until no job runs.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """List the App's jobs, show one, give failed or dead ones back, cancel open ones, or let workers take none (drain)."""
    with refusing():
        store = _store()
        if action is JobAction.DRAIN:
            _drain(store, wait, as_json=as_json)
        elif action is JobAction.RESUME:
            line = "workers take jobs again" if store.job_control.resume() else "workers were not drained"
            print_line({"drained_since": None}, line, as_json=as_json)
        elif action is JobAction.SHOW:
            _show(store, _full_ids(store, ids or []), as_json=as_json)
        elif action is JobAction.LIST:
            found = _chosen(store, state or NOT_DONE, kind, repository, most)
            _list(store, found, state or NOT_DONE, most, as_json=as_json)
        else:
            if not ids and not state:
                refuse(f"name jobs to {action}: their ids, or --state with --kind, --repository and --most")
            wanted = (
                _full_ids(store, ids)
                if ids
                else [job.id for job in _chosen(store, state or (), kind, repository, most)]
            )
            _change(store, action, wanted, as_json=as_json)


def _store() -> Store:
    """The store alone: this command runs where no worker is, too."""
    from memory.store import open_store
    from workers.settings import Settings

    return open_store(private_settings(Settings).database())


def _chosen(store: Store, states: Sequence[JobState], kind: str, repository: str, most: int) -> list[StoredJob]:
    """Jobs by what they are; of a repository that is unknown by name there are none."""
    key = repository_key(store, repository) if repository else ""
    if key and not key.isdecimal():
        refuse(f"no job was ever about {repository!r}; `apprentice jobs list` shows what there is")
    return store.job_control.listed(states, kind=kind, repositories=[int(key)] if key else [], most=most)


def _full_ids(store: Store, given: Sequence[str]) -> list[str]:
    if not given:
        refuse("name a job by its id; `apprentice jobs list` shows them")
    full = []
    for each in given:
        found = store.job_control.matching(each) if len(each) >= SHORTEST_ID else []
        if len(found) != 1:
            refuse(
                f"{'several jobs begin' if found else 'no job begins'} with {each!r}; `apprentice jobs list` shows ids"
            )
        full += found
    return full


def _list(store: Store, found: Sequence[StoredJob], states: Sequence[JobState], most: int, *, as_json: bool) -> None:
    since = store.job_control.drained_since()
    notes = [f"workers take no jobs since {_at(since)}; `apprentice jobs resume` ends that"] if since else []
    notes += [f"these are the youngest {most}; --most shows more"] if len(found) == most else []
    shown = [_listed(store, each) for each in found]
    table = TextTable(
        title=f"{len(found)} jobs: {', '.join(states)}",
        columns=("id", "kind", "state", "about", "attempts", "since", "reason"),
        rows=tuple(_row(each) for each in shown),
        notes=tuple(notes),
    )
    document = {"jobs": shown, "drained_since": since and _at(since)}
    print_result(document, lambda: [table], as_json=as_json)


def _listed(store: Store, job: StoredJob) -> dict[str, Any]:
    repository = None if job.repository_id is None else store.name_of(str(job.repository_id))
    return {**_json(job), "repository": repository, "number": job.number}


def _json(job: StoredJob) -> dict[str, Any]:
    """What a list and a single job show."""
    return {
        **fields(job, "id", "kind", "state", "attempts", "worker"),
        "created_at": _at(job.created_at),
        "run_after": _at(job.run_after),
        "ended_at": job.ended_at and _at(job.ended_at),
        "reason": job.reason,
    }


def _row(job: dict[str, Any]) -> tuple[str, ...]:
    about = job["repository"] or ""
    about += f"#{job['number']}" if job["number"] else ""
    return (
        job["id"][:12],
        job["kind"],
        job["state"],
        about,
        str(job["attempts"]),
        job["ended_at"] or job["run_after"],
        job["reason"],
    )


def _show(store: Store, ids: Sequence[str], *, as_json: bool) -> None:
    documents = []
    for each in ids:
        job = store.jobs.job(each)
        assert job is not None, "its id was just found"
        documents.append(
            {
                **_json(job),
                "delivery": job.delivery_id,
                "lease_until": job.lease_until and _at(job.lease_until),
                "payload": json.loads(redact(job.payload.decode("utf-8", "replace"))),
            }
        )
    print_line({"jobs": documents}, "\n\n".join(map(_text, documents)), as_json=as_json)


def _text(job: dict[str, Any]) -> str:
    lines = [f"{name}: {value}" for name, value in job.items() if name != "payload" and value not in (None, "")]
    return "\n".join([*lines, f"payload: {json.dumps(job['payload'], indent=2, ensure_ascii=False)}"])


def _change(store: Store, action: JobAction, ids: Sequence[str], *, as_json: bool) -> None:
    now = store.clock()
    if action is JobAction.RETRY:
        done = store.job_control.retry(ids, now=now)
        line = f"{len(done)} of {len(ids)} jobs given back; the sweeper sends them"
    else:
        done = store.job_control.cancel(ids, now=now)
        line = f"{len(done)} of {len(ids)} jobs cancelled; nothing is posted about it"
    if not done:
        open_or_not = "has ended without success or waits" if action is JobAction.RETRY else "is open"
        refuse(f"no job of these {open_or_not}; `apprentice jobs list` shows their states")
    print_line({"changed": done}, line, as_json=as_json)


def _drain(store: Store, wait: float, *, as_json: bool) -> None:
    """Let workers finish what they run and take no more; waits, and exits with STILL_RUNNING if that is too short."""
    store.job_control.drain(now=store.clock())
    deadline = time.monotonic() + wait
    while (running := store.jobs.counts([JobState.LEASED])[JobState.LEASED]) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    since = store.job_control.drained_since()
    line = f"workers take no more jobs, {running} still run; `apprentice jobs resume` ends that"
    print_line({"drained_since": since and _at(since), "running": running}, line, as_json=as_json)
    if running and wait:
        raise typer.Exit(STILL_RUNNING)


def _at(when: datetime) -> str:
    return when.isoformat(timespec="seconds")
