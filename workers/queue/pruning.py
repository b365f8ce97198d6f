"""What is old goes: rows of ended work from the database, and mirrors, environments and scratch files from the home."""

import threading
from dataclasses import dataclass
from datetime import timedelta

import structlog

from memory.store.upkeep import Retention
from workers.environments.store import EnvironmentStore
from workers.errors import ApprenticeError
from workers.git import remove_least_used
from workers.home import sweep_scratch
from workers.settings import Settings

FILES_PRUNED_SECONDS = 3600.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedFiles:
    """How many were removed: mirrors, environments with the packages that they are made of, scratch directories."""

    mirrors: int
    environments: int
    scratch: int


def retention(settings: Settings) -> Retention:
    """How long the rows of work are kept."""
    return Retention(
        deliveries=timedelta(days=settings.keep_deliveries_days),
        jobs=timedelta(days=settings.keep_jobs_days),
        effects=timedelta(days=settings.keep_effects_days),
    )


def prune_files(settings: Settings) -> PrunedFiles:
    """Remove what nothing below the home has used for `keep_files_days`, and scratch files of processes that are gone."""
    home, seconds = settings.home, settings.keep_files_days * 86_400.0
    environments = home / "environments"
    return PrunedFiles(
        mirrors=remove_least_used(home / "mirrors", seconds=seconds),
        environments=EnvironmentStore(home).collect(seconds=seconds) if environments.is_dir() else 0,
        scratch=sweep_scratch(home),
    )


def keep_pruning(settings: Settings) -> None:
    """Prune the files once an hour for the rest of this process's life, in a thread."""

    def prune_on() -> None:
        while True:
            try:
                pruned = prune_files(settings)
                if pruned != PrunedFiles(mirrors=0, environments=0, scratch=0):
                    _log.info("files pruned", mirrors=pruned.mirrors, environments=pruned.environments)
            except (ApprenticeError, OSError) as error:
                _log.warning("files not pruned", error=str(error))
            pause.wait(FILES_PRUNED_SECONDS)

    pause = threading.Event()
    threading.Thread(target=prune_on, name="pruning", daemon=True).start()
