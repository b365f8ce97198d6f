"""Looks in a repository at a commit for what an issue in words is about: files, functions, resolved issues, tests. Runs nothing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from memory.retrieval.index import best, terms
from workers.localisation.past_changes import EarlierChange, changes_until, files_at, is_kept_with_tests, python_paths
from workers.localisation.ranking import (
    LONGEST_QUERY,
    LikelyFile,
    PythonSource,
    alike,
    bm25,
    likely_files,
    likely_functions,
)
from workers.review.import_graph import ImportGraph
from workers.review.source import MAX_FILES, MAX_TREE_CHARACTERS, CodeScope

FILES, FUNCTIONS, RESOLVED, TESTS = 5, 2, 3, 5
"""How many of each are named at most; functions of each file."""

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
"""Comments of issue templates, which say the same in every issue."""

MAX_SOURCES = 5_000
"""How many sources of a larger tree are read: those with the shortest paths."""


class Clue(StrEnum):
    """The best that speaks for the first file."""

    NAMED = "named"
    ALIKE = "alike"
    WORDS = "words"


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelyPlace:
    """A file with the functions in it that are most alike."""

    file: LikelyFile
    functions: tuple[CodeScope, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """What was found for an issue at the commit `sha`.

    `tests` reach the files by their imports, and were not run; `tests_unknown` is why none were looked for, else empty.
    `read` and `of` are the sources that were read, and all of them; `changes` the earlier changes that were compared.
    """

    sha: str
    places: tuple[LikelyPlace, ...]
    resolved: tuple[EarlierChange, ...]
    tests: tuple[str, ...]
    tests_unknown: str
    read: int
    of: int
    changes: int

    @property
    def clue(self) -> Clue:
        """What speaks for the first file."""
        first = self.places[0].file if self.places else None
        if first is not None and (first.is_named or first.defines):
            return Clue.NAMED
        return Clue.ALIKE if first is not None and first.change is not None else Clue.WORDS


def locate(directory: Path, sha: str, text: str) -> Located:
    """The places that `text` is likely about in the git directory at a commit. Nothing later than the commit is read."""
    text = _HIDDEN.sub(" ", text[:LONGEST_QUERY])
    paths = sorted(python_paths(directory, sha), key=lambda path: (path.count("/"), path))
    sources = [path for path in paths if not is_kept_with_tests(path)]
    texts = files_at(directory, sha, sources[:MAX_SOURCES])
    read = [PythonSource(path, text_of) for path, text_of in texts.items()]
    changes = changes_until(directory, sha)
    files = likely_files(text, read, changes, most=FILES)
    chosen = {file.path for file in files}
    functions = likely_functions(text, [source for source in read if source.path in chosen], most=FUNCTIONS)
    tests, unknown = _tests(directory, sha, text, [file.path for file in files], paths, texts)
    return Located(
        sha=sha,
        places=tuple(LikelyPlace(file=file, functions=tuple(functions.get(file.path, ()))) for file in files),
        resolved=tuple(alike(text, [change for change in changes if change.resolves], most=RESOLVED)),
        tests=tests,
        tests_unknown=unknown,
        read=len(read),
        of=len(sources),
        changes=len(changes),
    )


def _tests(
    directory: Path, sha: str, text: str, files: Sequence[str], paths: Sequence[str], texts: dict[str, str]
) -> tuple[tuple[str, ...], str]:
    """The test files that import one of the files, directly or not, those most alike first; or why none were looked for."""
    if len(paths) > MAX_FILES:
        return (), f"over {MAX_FILES:,} Python files"
    whole = texts | files_at(directory, sha, [path for path in paths if path not in texts])
    if sum(map(len, whole.values())) > MAX_TREE_CHARACTERS:
        return (), f"over {MAX_TREE_CHARACTERS // 1_000_000} million characters of Python"
    graph = ImportGraph(whole)
    reaching = sorted({test for file in files for test in graph.reaching(file)})
    scores = bm25(terms(text), [terms(whole[test]) for test in reaching])
    return tuple(reaching[row] for row in best(scores, TESTS)), ""
