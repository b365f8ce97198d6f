"""Episodic memory: attempts at failures with their outcomes, found again by words and by meaning.

The state and the attempts of a running repair are short-term memory, which ends with it. Experiences last.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np

from memory.model import AttemptOutcome, EditShape, Experience, Recollection
from memory.policy.q_table import Neighbour, Remembered, summed
from memory.retrieval.embeddings import Embedder, HashedWords
from memory.retrieval.index import FOCUS, Hit, HybridIndex
from memory.rewards import clipped, support
from memory.store import Store
from memory.store.evidence import HALF_LIFE
from memory.store.experiences import WHOLE, Floats, IndexEntry

CAPACITY = 50_000
"""How many experiences are kept before the oldest are forgotten, proven ones last: exact search of all takes tens of milliseconds."""

SPARE = 0.05
"""The share of the capacity that is made free at once, so that forgetting is rare."""

MAX_JUDGED = 20
"""For how many experiences with the same edit signals are read."""

CONTESTED = 0.5
"""The weight of an edit that people rejected in other repositories, without a signal from this one."""

LONGEST_CITED = 200_000
"""A file of more characters than this is not searched for cited code."""

MAX_ALIKE = 1000
"""How many remembered cases are evidence for a choice. Each says little, and what they say together grows with their number."""

UNLIKE = 0.5
"""The cosine up to which two failures have no more in common than any two: of unrelated ones it is 0.3 to 0.5."""

_PROVEN, _SAME_REPOSITORY, _SAME_ERROR, _SAME_FAMILY = 1.15, 1.1, 1.2, 1.05
_MOST = _PROVEN * _SAME_REPOSITORY * _SAME_ERROR * _SAME_FAMILY
_OLDEST = 0.8
"""The recency factor of the oldest: an old case is a little less likely to fit, not wrong."""

ReadFile = Callable[[str], str | None]


class Experiences:
    """Remembers and recalls. The embedder is used only when there is something to compare."""

    def __init__(self, store: Store, embedder: Embedder, *, capacity: int = CAPACITY) -> None:
        self._store = store
        self._embedder = embedder
        self._capacity = capacity
        self._lock = threading.Lock()
        self._index: HybridIndex | None = None
        self._read = 0

    def remember(self, experience: Experience) -> bool:
        """Keep an experience; False when its id is known. Its vector is computed at the next recall."""
        alike, edit = likeness(experience), edit_of(experience.shape)
        added = self._store.experiences.add(experience, searchable(experience), likeness=alike, edit=edit)
        if added and self._store.experiences.newest_sequence() % max(1, int(self._capacity * SPARE)) == 0:
            self._store.experiences.trim(self._capacity, int(self._capacity * (1.0 - SPARE)))
        return added

    def recall(
        self,
        *,
        signature: str,
        error_type: str,
        family: str,
        repository: str,
        k: int = 5,
        only_here: bool = False,
        read: ReadFile | None = None,
    ) -> tuple[Recollection, ...]:
        """The `k` most useful experiences for a failure, best first, scores within [0, 1].

        All views are fused by rank; proven, recent ones of the same repository, error type or family come first among the
        near, of equals the newest. The score is absolute nearness, so that an unrelated memory weighs little. An edit that
        people rejected comes back without its shape, so that it is not made again. So does one that the tests did not
        decide on, unless people accepted it, and one that cites code of `repository` which is gone, where `read` gives the
        text of a path there. `only_here`: those of that repository alone.
        """
        text, place = f"{error_type} {signature}", _place(signature)
        with self._lock:
            index = self._refreshed()
            if index is None or not len(index):
                return ()
            whole, focused = self._embedder.embed([text, place])
            views = {WHOLE: whole, FOCUS: focused}
            found = index.search(text, place, views, lambda each: not only_here or each.repository == repository)
        ranked = self._ranked(found, error_type=error_type, family=family, repository=repository)
        return tuple(self._judged(each, repository, read) for each in ranked[:k])

    def alike(self, *, signature: str, error_type: str) -> Mapping[str, Remembered]:
        """What was tried for failures like this one, summed up for the policy: what is nearer and newer says more.

        Not by rank, which is no measure of evidence: a small memory has a first and a second too. At most MAX_ALIKE.
        """
        with self._lock:
            index = self._refreshed()
            if index is None or not len(index):
                return {}
            (vector,) = self._embedder.embed([f"{error_type} {signature}"])
            found = index.nearest(vector, MAX_ALIKE)
        near = {key: (cosine - UNLIKE) / (1.0 - UNLIKE) for key, cosine in found if cosine > UNLIKE}
        known = self._store.experiences.several(list(near))
        newest = max((each.created_at for each in known.values()), default=None)
        return summed(
            Neighbour(
                strategy=each.strategy,
                success=each.outcome is AttemptOutcome.PROVEN,
                similarity=clipped(near[each.id] * _left(newest - each.created_at)),
                expected=each.usual,
            )
            for each in known.values()
            if newest is not None
        )

    def at_hand(self) -> Experiences:
        """The same by words while the embedder is still being loaded, without a wait for it."""
        return self if self._embedder.ready else Experiences(self._store, HashedWords(), capacity=self._capacity)

    def warm(self) -> None:
        """Load the embedder in the background, if there is anything to recall."""
        if self._store.experiences.all(limit=1):
            self._embedder.warm()

    def _refreshed(self) -> HybridIndex | None:
        """The index with all changes since the last search; None while nothing was ever remembered."""
        newest = self._store.experiences.newest_sequence()
        if newest and self._index is None:
            self._index = HybridIndex(self._embedder.dimensions, self._vectors_of)
        while self._index is not None and self._read < newest:
            entries = self._store.experiences.since(self._read)
            self._take_in(self._index, entries)
            self._read = entries[-1].sequence
        return self._index

    def _take_in(self, index: HybridIndex, entries: Sequence[IndexEntry]) -> None:
        for entry in entries:
            index.remove(entry.id)
        listed = [entry for entry in entries if entry.listed]
        self._vectors(listed, FOCUS)  # stored for the searches, which read the few that they compare
        whole = self._vectors(listed, WHOLE)
        if listed:
            index.add(listed, np.stack([whole[each.id] for each in listed]))

    def _vectors(self, entries: Sequence[IndexEntry], view: str) -> Mapping[str, Floats]:
        """The vectors of entries; missing ones are computed and stored."""
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

    def _ranked(self, found: Sequence[Hit], *, error_type: str, family: str, repository: str) -> list[Recollection]:
        """Hits by usefulness: rank scores times absolute nearness, none above an earlier one's."""
        known = self._store.experiences.several([each.id for each in found])
        newest = max((experience.created_at for experience in known.values()), default=None)
        ranked = []
        for each in found:
            if newest is not None and each.id in known:
                experience = known[each.id]
                factor = _usefulness(experience, error_type=error_type, family=family, repository=repository)
                score = each.score * factor * _recency(newest - experience.created_at) / _MOST
                ranked.append((score, each.nearness, experience))
        ranked.sort(key=lambda each: -each[0])
        recollections, cap = [], 1.0
        for score, nearness, experience in ranked:
            cap = min(cap, score * nearness)
            recollections.append(Recollection(experience=experience, score=cap))
        return recollections

    def _judged(self, found: Recollection, repository: str, read: ReadFile | None) -> Recollection:
        """A recollection without the shape of an edit that is not to be made, or whose code is gone."""
        experience = found.experience
        if experience.shape is None:
            return found
        own, edit = experience.repository == repository, edit_of(experience.shape)
        gone = read is not None and own and experience.path != "" and is_stale(experience, read(experience.path))
        feedback = self._signal(experience)
        weight = 0.0
        if not gone and (feedback > 0.0 or (feedback == 0.0 and not experience.contested)):
            alike = self._store.experiences.all(edit=edit, repository=repository, limit=MAX_JUDGED)
            weight = edit_weight(map(self._signal, alike), () if own else (feedback,))
        if weight == 0.0:
            return replace(found, experience=replace(experience, shape=None))
        return replace(found, score=found.score * weight)

    def _signal(self, experience: Experience) -> float:
        """The sum of the signals with weight about an experience: above 0 for it."""
        decisions = self._store.ledger.decisions_of_task(experience.task_id)
        about = [decision.id for decision in decisions if decision.chosen == experience.strategy]
        return sum(map(support, self._store.ledger.live_signals(about)))


def searchable(experience: Experience) -> str:
    """The text that an experience is found by: the failure, and the file of the repair."""
    return f"{experience.error_type} {experience.signature} {experience.path}"


def likeness(experience: Experience) -> str:
    """Equal for the same failure, edit and outcome in one repository, at whatever time and in whatever task."""
    failure = (experience.repository, experience.error_type, experience.signature)
    return _digest(*failure, experience.strategy, experience.path, edit_of(experience.shape), experience.outcome)


def edit_of(shape: EditShape | None) -> str:
    """Equal for equal shapes, empty without one."""
    return "" if shape is None else _digest(shape.template, shape.before, shape.after)


def edit_weight(here: Iterable[float], elsewhere: Iterable[float]) -> float:
    """The weight of a proven edit by the signals about it: 1, `CONTESTED`, or 0 for one that is not to be made.

    Each number is the sum of signals about one experience, above 0 for the edit and below against it. Signals win over a
    proof, since tests only show that an edit can be right; and those of a repository's own people over all others, since
    one project may want an edit that another rejected. Without any from here, a rejection elsewhere halves the weight.
    """
    own, others = sum(here), sum(elsewhere)
    if own:
        return 1.0 if own > 0.0 else 0.0
    return CONTESTED if others < 0.0 else 1.0


def is_stale(experience: Experience, source: str | None) -> bool:
    """Whether the code that a patch cites is gone: its file holds neither all lines from before the patch nor all from after.

    `source` is the text of `experience.path` as it is now, None where there is no such file. Without a patch nothing is cited.
    """
    changed = [line for line in experience.patch.splitlines() if line[:1] in " +-" and line[:3] not in ("---", "+++")]
    before, after = ({" ".join(line[1:].split()) for line in changed if line[:1] != sign} - {""} for sign in "+-")
    if not experience.path or not before | after:
        return False
    lines = {" ".join(line.split()) for line in (source or "")[:LONGEST_CITED].splitlines()}
    return source is None or not any(side and side <= lines for side in (before, after))


def _digest(*parts: str) -> str:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _place(signature: str) -> str:
    """Where a failure happened: the part of its signature after error type and message, or all if there is no such part."""
    lines = signature.splitlines()
    return " ".join(lines[2:] or lines)


def _usefulness(experience: Experience, *, error_type: str, family: str, repository: str) -> float:
    factor = _PROVEN if experience.outcome is AttemptOutcome.PROVEN else 1.0
    factor *= _SAME_REPOSITORY if experience.repository == repository else 1.0
    factor *= _SAME_ERROR if experience.error_type == error_type else 1.0
    return factor * (_SAME_FAMILY if experience.family == family else 1.0)


def _recency(age: timedelta) -> float:
    """By the age of an experience against the newest one found, so that equal memories give equal answers on any day."""
    return _OLDEST + (1.0 - _OLDEST) * _left(age)


def _left(age: timedelta) -> float:
    """What is left of evidence of this age, against the newest."""
    return float(0.5 ** (age / HALF_LIFE))
