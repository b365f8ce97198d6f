"""Whether an issue in words finds the files that its fix changed: ours against BM25 over the files' texts alone.

    python -m benchmarks.localise --clones DIR [--only NAME ...] [--most N] [--meaning]
    python -m benchmarks.localise --clones DIR --issues FILE

Issues are not in git. So the first form asks with the message of each change that closed one, without whatever names a
file that it touched: paths, names of files and modules. The truth are the sources that it changed, tests not among them.
All that is known is from before: the tree of its first parent and the changes up to it. `--meaning` compares messages by
the embedding model in the place of words.

The second form asks with the texts of real issues: lines of JSON with `repo`, `base_commit`, `problem_statement`, `patch`
and `created_at`, as SWE-bench publishes them. DIR holds clones, bare ones too, as NAME, NAME/repo or NAME/.git.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from benchmarks.report import Interval, Numbers, bootstrap, show
from memory.retrieval.embeddings import MiniLM
from memory.retrieval.index import best, terms
from workers.git_command import GitCommandFailed, run_git
from workers.localisation.past_changes import EarlierChange, changes_until, files_at, is_kept_with_tests, python_paths
from workers.localisation.ranking import PythonSource, Scores, bm25, likely_files
from workers.work_tree import git_directory

HITS = 5
MAX_TRUTH, FEWEST_SOURCES, FEWEST_WORDS = 5, 6, 3
"""A fix of more sources has no place, in a tree of fewer every answer is right, and shorter messages say nothing."""

MESSAGE = 1_000
"""Characters of a message that are embedded."""

_LINK = re.compile(r"https?://\S+")
_NUMBER = re.compile(r"(?:\bgh-|[\w./-]{0,100}#)\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueInWords:
    """One question: its text, the commit before the fix, the changes up to it, and the sources that the fix changed."""

    text: str
    base: str
    known: Sequence[EarlierChange]
    truth: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRanks:
    """The rank of the first right file, by BM25 alone and by ours; infinite where none was found."""

    words: float
    ours: float


def without_names(message: str, paths: Sequence[str]) -> str:
    """A message without links, numbers, and whatever names one of these files."""
    names = set[str]()
    for path in map(PurePosixPath, paths):
        module = ".".join(path.with_suffix("").parts).removeprefix("src.").removeprefix("lib.")
        names |= {str(path), path.name, path.stem, module, module.removesuffix(".__init__")}
        names |= {path.parent.name} if path.stem == "__init__" else set()
    text = _NUMBER.sub(" ", _LINK.sub(" ", message))
    for name in sorted(names - {""}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return text.strip()


def questions(directory: Path, changes: Sequence[EarlierChange], most: int) -> Iterator[IssueInWords]:
    """The latest `most` changes that closed an issue, in order of time."""
    closing = [at for at, change in enumerate(changes) if change.closes and len(change.sources) <= MAX_TRUTH]
    for at in closing[-most:]:
        change = changes[at]
        try:
            base = run_git("rev-parse", "--verify", "--quiet", f"{change.sha}^1", at=directory).decode().strip()
        except GitCommandFailed:  # the first commit
            continue
        there = {path for path in python_paths(directory, base) if not is_kept_with_tests(path)}
        text, truth = without_names(change.words, change.paths), there.intersection(change.sources)
        if truth and len(there) >= FEWEST_SOURCES and len(terms(text)) >= FEWEST_WORDS:
            yield IssueInWords(text=text, base=base, known=changes[:at], truth=frozenset(truth))


def real_issues(file: Path, repository: str, directory: Path) -> Iterator[IssueInWords]:
    """The issues of a repository (its folder's name, with `+` or `__` for the slash) in a file as SWE-bench has them."""
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if repository in (row["repo"].replace("/", mark) for mark in ("+", "__", "/")):
            changed = re.findall(r"^--- a/(\S+\.py)$", row["patch"], re.MULTILINE)
            base = row["base_commit"]
            known = changes_until(directory, base)
            yield IssueInWords(text=row["problem_statement"], base=base, known=known, truth=frozenset(changed))


class Trees:
    """The sources of many commits of one repository; a text is read once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[tuple[str, str], PythonSource] = {}

    def sources(self, sha: str) -> list[PythonSource]:
        """Every source of a commit, tests not among them."""
        listed = run_git("ls-tree", "-r", "-z", "--full-tree", sha, at=self._directory).split(b"\0")[:-1]
        entries = (entry.decode(errors="surrogateescape").partition("\t") for entry in listed)
        blobs = {
            path: head.split()[2] for head, _, path in entries if path.endswith(".py") and not is_kept_with_tests(path)
        }
        new = [path for path, blob in blobs.items() if (path, blob) not in self._known]
        for path, text in files_at(self._directory, sha, new).items():
            self._known[path, blobs[path]] = PythonSource(path, text)
        return [self._known[key] for key in sorted(blobs.items()) if key in self._known]


def ranks(
    asked: Sequence[IssueInWords], directory: Path, nearness: Callable[[str, Sequence[EarlierChange]], Scores] | None
) -> list[TwoRanks]:
    """How far down each right file is."""
    trees, found = Trees(directory), []
    for issue in asked:
        sources, changes = trees.sources(issue.base), issue.known
        scores = bm25(terms(issue.text), [source.words for source in sources])
        near = nearness(issue.text, changes) if nearness else None
        ours = likely_files(issue.text, sources, changes, most=len(sources), nearness=near)
        found.append(
            TwoRanks(
                words=_rank([sources[row].path for row in best(scores, len(sources))], issue.truth),
                ours=_rank([file.path for file in ours], issue.truth),
            )
        )
    return found


def _rank(paths: Sequence[str], truth: frozenset[str]) -> float:
    return next((float(rank) for rank, path in enumerate(paths, 1) if path in truth), float("inf"))


class NearByMeaning:
    """Compares a text with messages by the embedding model; a message is embedded once."""

    def __init__(self) -> None:
        self._model = MiniLM()
        self._known: dict[str, np.ndarray[tuple[int], np.dtype[np.float32]]] = {}

    def __call__(self, text: str, changes: Sequence[EarlierChange]) -> Scores:
        """The cosine of each change's message, negative ones as 0."""
        wanted = [text[:MESSAGE], *(change.words[:MESSAGE] for change in changes)]
        new = sorted({each for each in wanted if each not in self._known}, key=len)
        self._known.update(zip(new, self._model.embed(new), strict=True))
        rows = np.stack([self._known[each] for each in wanted[1:]]) if changes else np.zeros((0, 384))
        return np.maximum(rows @ self._known[wanted[0]], 0.0).astype(np.float64)


def figures(found: Sequence[TwoRanks]) -> list[tuple[str, str]]:
    """hit@1, hit@5 and the mean reciprocal rank of both, and the difference by pairs."""
    pairs = [(each.words, each.ours) for each in found]
    measures: dict[str, Callable[[Numbers], Numbers]] = {
        "hit@1": lambda ranks: np.asarray(ranks <= 1.0, dtype=np.float64),
        "hit@5": lambda ranks: np.asarray(ranks <= HITS, dtype=np.float64),
        "MRR": lambda ranks: 1.0 / ranks,
    }
    return [
        (
            name,
            f"BM25 {of(pairs, f, 0).estimate:.3f}, ours {of(pairs, f, 1).shown(3)}, ahead by {ahead(pairs, f).shown(3)}",
        )
        for name, f in measures.items()
    ]


def of(pairs: Sequence[tuple[float, float]], measure: Callable[[Numbers], Numbers], which: int) -> Interval:
    """The mean of a measure of one of both."""
    return bootstrap(pairs, lambda drawn: np.asarray(measure(drawn[:, :, which]).mean(axis=1), dtype=np.float64))


def ahead(pairs: Sequence[tuple[float, float]], measure: Callable[[Numbers], Numbers]) -> Interval:
    """By how much ours is ahead: a paired bootstrap over the issues."""
    return bootstrap(
        pairs,
        lambda drawn: np.asarray((measure(drawn[:, :, 1]) - measure(drawn[:, :, 0])).mean(axis=1), dtype=np.float64),
    )


def clones(folder: Path, only: Sequence[str]) -> dict[str, Path]:
    """The git directories of the clones in a folder, by name."""
    candidates = [(each.name, (each / "repo", each)) for each in sorted(folder.iterdir()) if each.is_dir()]
    named = [(name, places) for name, places in candidates if not only or name in only]
    found = ((name, git_directory(next(p for p in places if p.is_dir()))) for name, places in named)
    return {name: directory for name, directory in found if directory is not None}


def main() -> None:
    """Read arguments and run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.localise", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clones", type=Path, required=True, metavar="DIR", help="folder that holds the clones")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these clones")
    parser.add_argument(
        "--most", type=int, default=150, metavar="N", help="latest changes of each that are asked about"
    )
    parser.add_argument("--issues", type=Path, metavar="FILE", help="ask with the texts of real issues")
    parser.add_argument("--meaning", action="store_true", help="compare messages by the embedding model")
    given = parser.parse_args()
    known = clones(given.clones, given.only) if given.clones.is_dir() else {}
    if not known:
        parser.error(f"no clones in {given.clones}: clone some repositories there, with their histories")
    nearness = NearByMeaning() if given.meaning else None
    pooled: list[TwoRanks] = []
    for name, directory in known.items():
        tip = run_git("rev-parse", "HEAD", at=directory).decode().strip()
        asked = (
            list(real_issues(given.issues, name, directory))
            if given.issues
            else list(questions(directory, changes_until(directory, tip), given.most))
        )
        if asked:
            found = ranks(asked, directory, nearness)
            pooled += found
            show(f"{name}: {len(found)} issues", figures(found))
    if not pooled:
        parser.error("no clone has a change that closed an issue; give others")
    show(f"all {len(pooled)} issues of {len(known)} clones", figures(pooled))


if __name__ == "__main__":
    main()
