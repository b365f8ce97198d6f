"""hit@5 of single views and of the hybrid: the share of questions with an answer among the first five.

Vectors are kept beside the data, by the hash of their text, so that a second run embeds nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Interval, Numbers, bootstrap
from memory.retrieval.embeddings import Embedder
from memory.retrieval.index import (
    FOCUS,
    HybridIndex,
    Matrix,
    WordIndex,
    best,
    terms,
)
from memory.store.experiences import WHOLE, IndexEntry


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be found: what it says, where it happened, what was done about it."""

    id: str
    says: str
    where: str = ""
    done: str = ""
    at: int = 0


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, and the cases that answer it."""

    id: str
    says: str
    where: str = ""
    answers: tuple[str, ...]
    at: int = 0


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a file: one of both."""

    case: Case | None = None
    question: Question | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One set."""

    name: str
    cases: tuple[Case, ...]
    questions: tuple[Question, ...]


def write(path: Path, cases: Iterable[Case], questions: Iterable[Question]) -> None:
    """Keep a set as a file."""
    lines = [Line(case=each) for each in cases] + [Line(question=each) for each in questions]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def read(path: Path) -> Asked:
    """The set in a file; raises msgspec.ValidationError for a line of another form."""
    decoder = msgspec.json.Decoder(Line)
    lines: Sequence[Line] = [decoder.decode(line) for line in path.read_bytes().splitlines() if line]
    return Asked(
        name=path.stem,
        cases=tuple(line.case for line in lines if line.case is not None),
        questions=tuple(line.question for line in lines if line.question is not None),
    )


HITS = 5
EMBEDDED = 600
"""So many characters of a text are embedded: the model reads 256 pieces of words."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What one set showed: hit@5 by way of searching, and the hybrid's lead over the better single view."""

    name: str
    cases: int
    questions: int
    hits: Mapping[str, Interval]
    lead: Interval


class Kept:
    """An embedder that remembers, in a file."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        self._path = path
        self._known: dict[str, Floats] = {}
        if path.is_file():
            with np.load(path) as stored:
                self._known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def embed(self, texts: Sequence[str]) -> Floats:
        """One unit row for each text, embedding what is new."""
        keys = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        ordered = sorted(new, key=lambda key: len(new[key]))
        for start in range(0, len(ordered), 256):
            some = ordered[start : start + 256]
            self._known.update(zip(some, self._embedder.embed([new[key] for key in some]), strict=True))
        if new:
            np.savez(self._path, keys=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
        return np.stack([self._known[key] for key in keys])


def measured(data: Asked, embed: Callable[[Sequence[str]], Floats]) -> Quality:
    """Search one set by each single view and by the product's hybrid."""
    ways = _Ways(data.cases, embed)
    found = ways.asked(data.questions, embed)
    answers = [set(question.answers) for question in data.questions]
    hits = {
        way: np.array([bool(set(ids[:HITS]) & wanted) for ids, wanted in zip(lists, answers, strict=True)], dtype=float)
        for way, lists in found.items()
    }
    better = max((way for way in hits if way != "hybrid"), key=lambda way: hits[way].mean())
    return Quality(
        name=data.name,
        cases=len(data.cases),
        questions=len(data.questions),
        hits={way: bootstrap(values.tolist(), _mean) for way, values in hits.items()},
        lead=bootstrap((hits["hybrid"] - hits[better]).tolist(), _mean),
    )


def _mean(samples: Numbers) -> Numbers:
    return np.asarray(samples.mean(axis=1), dtype=np.float64)


class _Ways:
    """The same cases, searched by words, by meaning, and by the product's index."""

    def __init__(self, cases: Sequence[Case], embed: Callable[[Sequence[str]], Floats]) -> None:
        cases = sorted(cases, key=lambda case: case.at)
        self._ids = [case.id for case in cases]
        texts = [f"{case.says}\n{case.where}\n{case.done}".strip() for case in cases]
        whole = embed(_cut(texts))
        focus = embed(_cut([f"{case.where} {case.done}".strip() or case.says for case in cases]))
        self._times = np.array([case.at for case in cases])
        self._words = WordIndex([terms(text) for text in texts])
        self._dense = Matrix(whole.shape[1])
        self._dense.add(whole)
        vectors = {WHOLE: dict(zip(self._ids, whole, strict=True)), FOCUS: dict(zip(self._ids, focus, strict=True))}
        self._index = HybridIndex(whole.shape[1], lambda view, _ids: vectors[view])
        entries = [_entry(case, text) for case, text in zip(cases, texts, strict=True)]
        self._index.add(entries, whole)

    def asked(
        self, questions: Sequence[Question], embed: Callable[[Sequence[str]], Floats]
    ) -> dict[str, list[list[str]]]:
        """The first ids that each way finds for each question."""
        texts = [f"{each.says}\n{each.where}".strip() for each in questions]
        focused = [each.where or each.says for each in questions]
        whole, focus = embed(_cut(texts)), embed(_cut(focused))
        found: dict[str, list[list[str]]] = {"dense": [], "BM25": [], "hybrid": []}
        for row, question in enumerate(questions):
            allowed = self._times <= question.at
            vectors = {WHOLE: whole[row], FOCUS: focus[row]}
            rows, _ = self._dense.search(whole[row], HITS + 1, allowed)
            found["dense"].append(self._named(rows, question))
            scores = np.where(allowed, self._words.scores(terms(texts[row])), 0.0)
            found["BM25"].append(self._named(best(scores, HITS + 1), question))
            hits = self._index.search(texts[row], focused[row], vectors, _until(question.at))
            found["hybrid"].append([hit.id for hit in hits if hit.id != question.id])
        return found

    def _named(self, rows: Sequence[int], question: Question) -> list[str]:
        return [self._ids[row] for row in rows if self._ids[row] != question.id]


def _cut(texts: Sequence[str]) -> list[str]:
    return [text[:EMBEDDED] for text in texts]


def _until(at: int) -> Callable[[IndexEntry], bool]:
    return lambda entry: entry.created_at.timestamp() <= at


def _entry(case: Case, text: str) -> IndexEntry:
    return IndexEntry(
        id=case.id, sequence=0, repository="",
        created_at=datetime.fromtimestamp(case.at, UTC), text=text, listed=True,
    )  # fmt: skip
