"""Makes each effect on GitHub once: it is announced under a key before it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memory.model.jobs import LeasedJob
from memory.store import Store
from workers.errors import CannotRun, JobStopped, Unavailable
from workers.jobs import Job
from workers.queue.runner import rows

IN_FLIGHT = timedelta(seconds=90)
"""So long another job's request may be under way."""

LATE = timedelta(minutes=5)
"""After so long what GitHub does after our time-out is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The effects of one job, while it holds its lease."""

    store: Store
    leased: LeasedJob
    lease_seconds: float
    clock: Callable[[], datetime]

    def once(
        self,
        key: str,
        *,
        make: Callable[[], int],
        find: Callable[[], int | None],
        look_again: Callable[[int], Job] | None = None,
    ) -> int:
        """The id of the post or pull request made under `key`: made now, or found if an earlier worker made it and died.

        Calls `find` only when an earlier attempt may have succeeded, so the common path costs no extra request. After such an
        attempt a second one may still appear, even where one was found: `look_again` makes the job that looks for it later.
        Raises JobStopped, and Unavailable while another job may be making it.
        """
        inbox, now = self.store.inbox, self.clock()
        begun = inbox.begin_effect(key, self.leased.id, now, in_flight=IN_FLIGHT)
        if begun is not None and begun.done_at is not None:
            return int(begun.reference)
        if begun is not None and begun.job_id != self.leased.id and begun.begun_at > now - IN_FLIGHT:
            wait = begun.begun_at + IN_FLIGHT - now
            raise Unavailable("another job is doing the same", seconds=wait.total_seconds())
        found = None if begun is None else find()
        made = self._made(make, find) if found is None else found
        later = rows(key, [look_again(made)]) if begun is not None and look_again else ()
        now = self.clock()
        follow_ups = [replace(row, run_after=now + LATE) for row in later]
        inbox.complete_effect(key, str(made), now, follow_ups=follow_ups)
        return made

    def _made(self, make: Callable[[], int], find: Callable[[], int | None]) -> int:
        """Made by the holder of the lease alone. What GitHub refuses because it is there already is found."""
        if not self.store.inbox.renew(self.leased, now=self.clock(), seconds=self.lease_seconds):
            raise JobStopped("another worker has this job now")
        try:
            return make()
        except CannotRun:
            found = find()
            if found is None:
                raise
            return found
