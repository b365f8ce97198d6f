"""Episodic memory: failures, what was tried and what came of it, found again by words and by meaning.

What an episode tries is in its state and its attempts: that is short-term memory, and ends with it. Here is what lasts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from memory.embed import Embedder
from memory.keeping import edit_of, going, is_stale, likeness, verdict
from memory.model import Among, AttemptOutcome, EditShape, Experience, Recollection
from memory.policy import Neighbour
from memory.rewards import clipped, say
from memory.shelf import DEPTH, FAILURES, FOCUS, WHOLE, Asked, Found, Shelf
from memory.store import Entry, Near, Store, open_near

CAPACITY = 200_000
"""So many experiences are kept before the useless are forgotten."""

WORDS_MOST = 200_000
"""With pgvector the words of so many of the newest are held; the meaning is searched in all."""

SPARE = 0.05
"""The share of the capacity that is made free at once, so that forgetting is rare."""

SAID = 20
"""So many experiences with the same edit are asked what people said of them."""

ANY = Among()

_PROVEN, _SAME_REPOSITORY, _SAME_ERROR, _SAME_FAMILY = 1.15, 1.1, 1.2, 1.05
_MOST = _PROVEN * _SAME_REPOSITORY * _SAME_ERROR * _SAME_FAMILY
_HALF_LIFE = timedelta(days=180)
_OLDEST = 0.8
"""What recency leaves of the oldest: an old case is a little less likely to fit, not wrong."""

Floats = NDArray[np.float32]
ReadFile = Callable[[str], str | None]


class Experiences:
    """What was tried before. The embedder is used only when there is something to compare."""

    def __init__(self, store: Store, embedder: Embedder, *, capacity: int = CAPACITY) -> None:
        self._store = store
        self._embedder = embedder
        self._capacity = capacity
        self._lock = threading.Lock()
        self._shelf: Shelf | None = None
        self._near: Near | None = None
        self._read = 0

    def remember(self, experience: Experience) -> bool:
        """Keep an experience; False when its id is known. Its vector is computed at the next recall."""
        alike, edit = likeness(experience), edit_of(experience.shape)
        added = self._store.experiences.add(experience, searchable(experience), likeness=alike, edit=edit)
        if added and self._store.experiences.newest_sequence() % max(1, int(self._capacity * SPARE)) == 0:
            self.make_room()
        return added

    def forget(self, experience_id: str) -> bool:
        """Delete an experience and its vectors; False when there is none."""
        return self._store.experiences.delete(experience_id)

    def make_room(self) -> int:
        """Forget the least useful beyond the capacity; how many."""
        standings = self._store.experiences.standings()
        if len(standings) <= self._capacity:
            return 0
        proven = [each.id for each in standings if each.outcome is AttemptOutcome.PROVEN]
        accepted = {key for key, say in self._says(proven).items() if say > 0.0}
        keep = int(self._capacity * (1.0 - SPARE))
        return self._store.experiences.delete_all(going(standings, accepted, keep))

    def recall(
        self,
        *,
        signature: str,
        error_type: str,
        family: str,
        repository: str,
        k: int = 5,
        among: Among = ANY,
        read: ReadFile | None = None,
    ) -> tuple[Recollection, ...]:
        """The `k` most useful experiences for a failure, best first, scores within [0, 1].

        All views are fused by rank; what was proven, is recent, of the same repository, error type or family comes first
        among the near, of equals the newest. The score tells how near in absolute terms, so that an unrelated memory weighs
        little. An edit that people turned down comes back without its shape: it is remembered, and not made again. So does
        one that cites code of `repository` which is gone, where `read` gives the text of a path there.
        """
        found = self.search(f"{error_type} {signature}", _place(signature), among)
        ranked = self._ranked(found, error_type=error_type, family=family, repository=repository)
        return tuple(self._judged(each, repository, read) for each in ranked[:k])

    def search(self, text: str, focus: str, among: Among = ANY) -> list[Found]:
        """What is near a text by words and meaning, best first; `focus` is the part of it that says where."""
        with self._lock:
            shelf = self._refreshed()
            if shelf is None or not len(shelf):
                return []
            whole, focused = self._embedder.embed([text, focus])
            asked = Asked(text=text, focus=focus, vectors={WHOLE: whole, FOCUS: focused})
            if self._near is None:
                return shelf.search(asked, among)
            return shelf.search(asked, among, self._near.search(whole, DEPTH, among), self._vectors_of)

    def helped(self, recalled: Iterable[Recollection], shape: EditShape | None) -> None:
        """Note that a repair was an edit that was recalled."""
        ids = [found.experience.id for found in recalled if shape is not None and found.experience.shape == shape]
        if ids:
            self._store.experiences.credit(ids)

    def latest(self, most: int) -> list[Experience]:
        """What was tried last, of all repositories, newest first."""
        return self._store.experiences.all(limit=most)

    def warm(self) -> None:
        """Load the embedder in the background, if there is anything to recall."""
        if self._store.experiences.all(limit=1):
            self._embedder.warm()

    def _refreshed(self) -> Shelf | None:
        """The shelf with all that changed since it was last looked at; None while nothing was ever remembered."""
        newest = self._store.experiences.newest_sequence()
        if newest and self._shelf is None:
            self._shelf = Shelf(self._embedder.dimensions, FAILURES)
            self._near = open_near(self._store.database, self._embedder.id, self._embedder.dimensions)
            self._read = 0 if self._near is None else max(0, newest - WORDS_MOST)
        while self._shelf is not None and self._read < newest:
            entries = self._store.experiences.since(self._read)
            self._take_in(self._shelf, entries)
            self._read = entries[-1].sequence
        return self._shelf

    def _take_in(self, shelf: Shelf, entries: Sequence[Entry]) -> None:
        for entry in entries:
            shelf.remove(entry.id)
            if self._near is not None and not entry.listed:
                self._near.drop(entry.id)
        listed = [entry for entry in entries if entry.listed]
        vectors = {view: self._vectors(listed, view) for view in (WHOLE, FOCUS)}
        if self._near is not None:
            self._near.put([entry.id for entry in listed])
            shelf.add(listed, {})
        elif listed:
            shelf.add(listed, {view: np.stack([of[each.id] for each in listed]) for view, of in vectors.items()})

    def _vectors(self, entries: Sequence[Entry], view: str) -> Mapping[str, Floats]:
        """The vectors of entries; what is not embedded yet is."""
        vectors = dict(self._vectors_of(view, [entry.id for entry in entries]))
        missing = [entry for entry in entries if entry.id not in vectors]
        if missing:
            made = self._embedder.embed([entry.text if view == WHOLE else _place(entry.text) for entry in missing])
            new = {entry.id: vector for entry, vector in zip(missing, made, strict=True)}
            self._store.experiences.put_vectors(self._embedder.id, new, view)
            vectors |= new
        return vectors

    def _vectors_of(self, view: str, ids: Sequence[str]) -> Mapping[str, Floats]:
        return self._store.experiences.vectors_of(self._embedder.id, ids, view)

    def _ranked(self, found: Sequence[Found], *, error_type: str, family: str, repository: str) -> list[Recollection]:
        """What was found by usefulness: rank scores times absolute nearness, none above an earlier one's."""
        known = self._store.experiences.several([each.id for each in found])
        newest = max((experience.created_at for experience, _ in known.values()), default=None)
        ranked = []
        for each in found:
            if newest is not None and each.id in known:
                experience, copies = known[each.id]
                factor = _usefulness(experience, error_type=error_type, family=family, repository=repository)
                score = each.score * factor * _recency(newest - experience.created_at) / _MOST
                ranked.append((score, each.nearness, experience, copies))
        ranked.sort(key=lambda each: -each[0])
        recollections, cap = [], 1.0
        for score, nearness, experience, copies in ranked:
            cap = min(cap, score * nearness)
            recollections.append(Recollection(experience=experience, score=cap, copies=copies))
        return recollections

    def _judged(self, found: Recollection, repository: str, read: ReadFile | None) -> Recollection:
        """A recollection without the shape of an edit that is not to be made, and marked where its code is gone."""
        experience = found.experience
        cites = read is not None and experience.repository == repository and experience.path != ""
        if read is not None and cites and is_stale(experience, read(experience.path)):
            return replace(found, experience=replace(experience, shape=None), stale=True)
        if experience.shape is None:
            return found
        weight = 0.0 if self._say(experience) < 0.0 else self._verdict(experience, repository)
        if weight == 0.0:
            return replace(found, experience=replace(experience, shape=None))
        return replace(found, score=found.score * weight)

    def _verdict(self, experience: Experience, repository: str) -> float:
        edit, room = edit_of(experience.shape), self._store.experiences
        here = [self._say(each) for each in room.alike(edit, repository, SAID)]
        elsewhere = [self._say(experience)] if experience.repository != repository else []
        return verdict(here, elsewhere)

    def _say(self, experience: Experience) -> float:
        """What the people whose word counts said of an experience, taken together: above 0 for it."""
        decisions = self._store.ledger.decisions_of_task(experience.task_id)
        return sum(self._says([d.id for d in decisions if d.chosen == experience.strategy]).values())

    def _says(self, decision_ids: Sequence[str]) -> dict[str, float]:
        says: dict[str, float] = {}
        rest = iter(decision_ids)
        while batch := list(islice(rest, 1000)):
            for signal in self._store.ledger.live_signals(batch):
                says[signal.decision_id] = says.get(signal.decision_id, 0.0) + say(signal)
        return says


def neighbours(recollections: Sequence[Recollection]) -> tuple[Neighbour, ...]:
    """Recollections as evidence for the policy."""
    return tuple(
        Neighbour(
            strategy=found.experience.strategy,
            success=found.experience.outcome is AttemptOutcome.PROVEN,
            similarity=clipped(found.score),
            expected=found.experience.usual,
        )
        for found in recollections
    )


def replay_shapes(recollections: Sequence[Recollection]) -> Mapping[EditShape, float]:
    """Edits worth trying first, with weights in (0, 1]: those that were proven, as `recall` gave them."""
    shapes: dict[EditShape, float] = {}
    for found in recollections:
        shape, weight = found.experience.shape, clipped(found.score)
        if shape is not None and found.experience.outcome is AttemptOutcome.PROVEN and weight > 0.0:
            shapes[shape] = max(weight, shapes.get(shape, 0.0))
    return shapes


def searchable(experience: Experience) -> str:
    """The text that an experience is found by: what the failure looked like, and where it was mended."""
    return f"{experience.error_type} {experience.signature} {experience.path}"


def _place(signature: str) -> str:
    """Where a failure happened, of its signature: what stands after error type and message, or all if that is all."""
    lines = signature.splitlines()
    return " ".join(lines[2:] or lines)


def _usefulness(experience: Experience, *, error_type: str, family: str, repository: str) -> float:
    factor = _PROVEN if experience.outcome is AttemptOutcome.PROVEN else 1.0
    factor *= _SAME_REPOSITORY if experience.repository == repository else 1.0
    factor *= _SAME_ERROR if experience.error_type == error_type else 1.0
    return factor * (_SAME_FAMILY if experience.family == family else 1.0)


def _recency(age: timedelta) -> float:
    """By the age of an experience against the newest one found, so that equal memories give equal answers on any day."""
    return float(_OLDEST + (1.0 - _OLDEST) * 0.5 ** (age / _HALF_LIFE))
