"""Makes each effect on GitHub once: it is recorded under a key before it is made."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from memory.store import Store


class Effects:
    """The effects of one job."""

    def __init__(self, store: Store, job_id: str, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._job_id = job_id
        self._clock = clock

    def once(self, key: str, *, make: Callable[[], int], find: Callable[[], int | None]) -> int:
        """The id of the post or pull request made under `key`: made now, or found if an earlier worker made it and died.

        Calls `find` only when an earlier attempt may have succeeded, so the common path costs no extra request.
        """
        begun = self._store.inbox.begin_effect(key, self._job_id, self._clock())
        if begun is not None and begun.done_at is not None:
            return int(begun.reference)
        found = None if begun is None else find()
        made = make() if found is None else found
        self._store.inbox.complete_effect(key, str(made), self._clock())
        return made
