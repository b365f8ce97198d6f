"""Ranks the Python sources of a repository by how likely an issue in words is about them. Pure; no model and no vectors.

score = words + names / 2 + past / 2 + 0.3 defined + place, each view divided by its highest value:

- `words`: BM25 over the whole text of each file;
- `names`: BM25 over its path and the names of its functions and classes (the structure of BLUiR, Saha et al. 2013);
- `past`: the BM25 scores of the 20 earlier changes whose messages are most alike, each shared among the sources that it
  changed (SimiScore of BugLocator, Zhou, Zhang and Lo 2012, with changes in the place of reports);
- `defined`: identifiers that the issue writes as code and that few files define;
- `place`: files that the issue names, as a traceback does (BRTracer, Wong et al. 2014).

The weights are of two histories, and the figures of eight others: docs/measurements.md.
"""

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from memory.retrieval.index import WordIndex, best, terms
from workers.localisation.past_changes import EarlierChange
from workers.review.source import CodeScope, scopes

Scores = NDArray[np.float64]

NAMES, PAST, DEFINED, PLACE = 0.5, 0.5, 0.3, 1.0
"""The weight of each view; that of the words is 1."""

ALIKE = 20
"""How many earlier changes vote."""

LONGEST_QUERY = 20_000
"""Characters of an issue that are read."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CAMEL = re.compile(r"[a-z][A-Z]")
_BETWEEN_PLACES = re.compile(r"[^\w./\\-]+")
_MANY = 5
"""A name that more files have than this tells nothing."""


class PythonSource:
    """One file with its words and functions, each read when first asked for."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    @cached_property
    def words(self) -> list[str]:
        """Shared strings: a large tree has millions of words and few different ones."""
        return [sys.intern(word) for word in terms(self.text)]

    @cached_property
    def definitions(self) -> tuple[CodeScope, ...]:
        return scopes(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(each.name.rpartition(".")[2] for each in self.definitions)

    @cached_property
    def name_words(self) -> list[str]:
        return terms(f"{self.path} {' '.join(sorted(self.names))}")

    def lines(self, place: CodeScope) -> str:
        return "\n".join(self.text.splitlines()[place.line - 1 : place.end_line])


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyFile:
    """A source and its score, with what speaks for it beside its words.

    `is_named`: the issue names the file; `defines`: identifiers of the issue that few other files define; `change`: the
    earlier change most alike that touched it.
    """

    path: str
    score: float
    is_named: bool
    defines: tuple[str, ...]
    change: EarlierChange | None


def bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> Scores:
    """One score for each document. Words that are not asked for count for the length alone, so that few are indexed."""
    asked = set(query)
    index = WordIndex([[word if word in asked else "" for word in document] for document in documents])
    return index.scores(query).astype(np.float64)


def likely_files(
    text: str,
    sources: Sequence[PythonSource],
    changes: Sequence[EarlierChange],
    *,
    most: int,
    nearness: Scores | None = None,
) -> list[LikelyFile]:
    """The `most` likely files, the likeliest first; fewer where nothing speaks for more.

    Give changes that were made before the issue, and the sources as they were then. `nearness` is how alike each change
    is, by default by its words.
    """
    text = text[:LONGEST_QUERY]
    query = terms(text)
    near = bm25(query, [change.terms for change in changes]) if nearness is None else nearness
    past, because = _past(near, sources, changes)
    identifiers, places = _written(text, sources), _places(text, [source.path for source in sources])
    defined = np.array([sum(identifiers[name] for name in source.names & identifiers.keys()) for source in sources])
    score = (
        _scaled(bm25(query, [source.words for source in sources]))
        + NAMES * _scaled(bm25(query, [source.name_words for source in sources]))
        + PAST * _scaled(past)
        + DEFINED * _scaled(defined)
        + PLACE * np.array([places.get(source.path, 0.0) for source in sources])
    )
    return [
        LikelyFile(
            path=sources[row].path,
            score=float(score[row]),
            is_named=sources[row].path in places,
            defines=tuple(sorted(sources[row].names & identifiers.keys())),
            change=because.get(_rootless(sources[row].path)),
        )
        for row in best(score, most)
    ]


def alike(text: str, changes: Sequence[EarlierChange], *, most: int) -> list[EarlierChange]:
    """The changes whose messages are most alike, the nearest first."""
    scores = bm25(terms(text[:LONGEST_QUERY]), [change.terms for change in changes])
    return [changes[row] for row in best(scores, most)]


def likely_functions(text: str, sources: Sequence[PythonSource], *, most: int) -> Mapping[str, list[CodeScope]]:
    """The functions of each source that are most alike, at most `most` of each; those that the issue names, or whose class, come first."""
    text = text[:LONGEST_QUERY]
    written = set(_IDENTIFIER.findall(text)) & _written(text, sources).keys()
    all_places = [(source, each) for source in sources for each in source.definitions if each.is_function]
    scores = bm25(terms(text), [terms(source.lines(place)) for source, place in all_places])
    ranked: dict[str, list[tuple[int, float, CodeScope]]] = {}
    for (source, place), score in zip(all_places, scores.tolist(), strict=True):
        named = sum(part in written for part in place.name.split("."))
        if named or score > 0.0:
            ranked.setdefault(source.path, []).append((named, score, place))
    order = {path: sorted(found, key=lambda each: each[:2], reverse=True) for path, found in ranked.items()}
    return {path: [place for *_, place in found[:most]] for path, found in order.items()}


def _scaled(scores: Scores) -> Scores:
    highest = float(scores.max(initial=0.0))
    return scores / highest if highest > 0.0 else scores


def _past(
    near: Scores, sources: Sequence[PythonSource], changes: Sequence[EarlierChange]
) -> tuple[Scores, dict[str, EarlierChange]]:
    """What the earlier changes most alike say for each source, and the nearest that touched a file, by its rootless path."""
    votes, because = dict[str, float](), dict[str, EarlierChange]()
    for row in best(near, ALIKE):
        share = float(near[row]) / len(changes[row].sources)
        for path in map(_rootless, changes[row].sources):
            votes[path] = votes.get(path, 0.0) + share
            because.setdefault(path, changes[row])
    return np.array([votes.get(_rootless(source.path), 0.0) for source in sources]), because


def _rootless(path: str) -> str:
    """A path as it is imported: many projects moved their package below `src` at some time."""
    return path.removeprefix("src/").removeprefix("lib/")


def _written(text: str, sources: Sequence[PythonSource]) -> dict[str, float]:
    """The identifiers that a text writes as code and that sources define: one part for each of few files."""
    in_code = set(re.findall(r"`([A-Za-z_][A-Za-z0-9_]{0,100})", text))
    shaped = {
        name for name in _IDENTIFIER.findall(text) if "_" in name.strip("_") or (_CAMEL.search(name) and len(name) > 3)
    }
    often = Counter(name for source in sources for name in source.names & (in_code | shaped))
    return {name: 1.0 / count for name, count in often.items()}


def _places(text: str, paths: Sequence[str]) -> dict[str, float]:
    """The files that a text names, by path or as a module: one part for each of few files that are called so."""
    by_end: dict[str, list[str]] = {}
    for path in paths:
        parts = PurePosixPath(path).parts
        for at in range(len(parts)):
            by_end.setdefault("/".join(parts[at:]), []).append(path)
    found: dict[str, float] = {}
    for token in dict.fromkeys(_BETWEEN_PLACES.split(text)):
        for path in (named := _named(token, by_end)):
            found[path] = max(found.get(path, 0.0), 1.0 / len(named))
    return found


def _named(token: str, by_end: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The files that one word of a text names: by the longest end of its path that few files have, or as a dotted module."""
    token = token.replace("\\", "/").strip("./-")
    if token.endswith(".py"):
        parts = token.split("/")[-10:]
        ends = ("/".join(parts[at:]) for at in range(len(parts)))
        found = next((by_end[end] for end in ends if end in by_end), ())
        return found if len(found) <= _MANY else ()
    parts = token.split(".")[:10]
    for end in range(len(parts), 1, -1):
        module = "/".join(parts[:end])
        for name in (f"{module}.py", f"{module}/__init__.py"):
            found = [path for path in by_end.get(name, ()) if _rootless(path) == name]
            if found:
                return found
    return ()
