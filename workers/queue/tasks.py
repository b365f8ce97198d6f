"""Celery tasks: shells that pass a job's id on."""

from __future__ import annotations

from collections.abc import Callable

from celery import Celery

RUN_JOB = "apprentice.run_job"


def register(celery: Celery, run: Callable[[str], None]) -> None:
    """Have `run` called with the id in every message."""

    def run_job(job_id: str) -> None:
        run(job_id)

    celery.task(run_job, name=RUN_JOB, ignore_result=True)
