"""Each attempt of a job has one line at its start and one at its end, and one measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from memory.measures import unstored
from memory.model.jobs import Delivery, NewJob
from tests.databases import migrated_store
from tests.unit.workers.test_runner import ANSWER, ASKED, NOW, Bench
from workers.errors import BadInput, JobStopped, Retryable, Unavailable
from workers.jobs import Job, encode, job_id
from workers.settings import WorkerSettings

Lines = list[MutableMapping[str, Any]]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """With a job of a delivery."""
    with migrated_store(tmp_path / "apprentice.db") as store:
        job = NewJob(id="j", kind="answer", payload=encode(ASKED))
        store.jobs.record_deliveries([Delivery(id="guid-1", event="issues", received_at=NOW, jobs=(job,))])
        yield Bench(store=store, settings=WorkerSettings(home=tmp_path, lease_seconds=30), flows={})


def lines_of(bench: Bench, flow: Callable[..., Sequence[Job]], job: str = "j") -> Lines:
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        bench.run(flow, job)
    return lines


def flow_that(error: Exception | None) -> Callable[..., Sequence[Job]]:
    def flow(job: Job, context: Bench) -> Sequence[Job]:
        if error is not None:
            raise error
        return [ANSWER]

    return flow


@pytest.mark.parametrize(
    ("error", "result", "level"),
    [
        (None, "done", "info"),
        (BadInput("no"), "failed", "error"),
        (Retryable("busy"), "postponed", "warning"),
        (Unavailable("away"), "waiting", "warning"),
        (JobStopped("gone"), "stopped", "warning"),
    ],
)
def test_start_and_end(bench: Bench, error: Exception | None, result: str, level: str) -> None:
    """Both lines carry the ids of delivery and job; the end says how it ended. One attempt is measured once."""
    unstored.take()
    first, *_, last = lines_of(bench, flow_that(error))
    ids = {"job": "j", "kind": "answer", "attempt": 1, "delivery": "guid-1"}
    assert first == ids | {"event": "job started", "log_level": "info", "worker": "w"}
    seconds = last.pop("seconds")
    assert seconds >= 0
    reason = {"reason": str(error)} if error else {}
    last.pop("until", None)
    assert last == ids | reason | {"event": "job ended", "log_level": level, "result": result}
    counted = {labels: n for (name, labels), n in unstored.take()[0].items() if name == "apprentice_job_seconds"}
    assert sum(n for (*_, bound), n in counted.items() if bound != "sum") == 1
    assert {labels[:2] for labels in counted} == {("answer", result)}


def test_a_follow_up_names_the_delivery(bench: Bench) -> None:
    """What follows from a job of a delivery is of that delivery too."""
    lines_of(bench, flow_that(None))
    lines = lines_of(bench, lambda job, context: (), job_id("j", encode(ANSWER)))
    assert {line["delivery"] for line in lines} == {"guid-1"}


def test_ids_end_with_their_job(bench: Bench) -> None:
    """Nothing of a job is in the lines of the next one, also not what its flow bound."""

    def flow(job: Job, context: Bench) -> Sequence[Job]:
        structlog.contextvars.bind_contextvars(task="t", decision="d")
        structlog.get_logger().info("in between")
        return ()

    started, between, ended = lines_of(bench, flow)
    assert "task" not in started
    assert (between["job"], between["task"], between["decision"]) == ("j", "t", "d")
    assert (ended["task"], ended["decision"]) == ("t", "d")
    assert structlog.contextvars.get_contextvars() == {}


def test_an_unexpected_error_is_one_end(bench: Bench) -> None:
    """The traceback is a line of its own, and the end says that it failed."""
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines, pytest.raises(ZeroDivisionError):
        bench.run(flow_that(ZeroDivisionError("by zero")))
    assert [line["event"] for line in lines] == ["job started", "unexpected error", "job ended"]
    assert lines[-1]["result"] == "failed"
