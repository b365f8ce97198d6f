"""How often a repository's own conventions are right: of past changes that brought an old expression back, how many were mended.

    python -m benchmarks.conventions REPOSITORY...

What was replaced before a change teaches; the change is read as a review would, its base for what still stands; and of what
is found, the next changes tell whether the same expression was replaced there by the same one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.history import name_of
from benchmarks.report import show
from memory.history.conventions import conventions
from memory.intervals import wilson
from memory.model import Convention, Replacement
from workers.history.log import Blobs, Past, changes, positions, python_files
from workers.history.replacements import replacements
from workers.own_git import git_directory
from workers.patches import FileStatus
from workers.review.detectors.detector import Delta, HeadTree
from workers.review.detectors.learned import Learned, is_gone, rule_of, standing

MOST = 3000
HORIZON = 100
"""Changes within which a mended expression counts as mended."""

RELEARN_EVERY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A convention that a past change went against, and in which file."""

    position: int
    path: str
    convention: Convention


class Walk:
    """A history from its beginning, with what it taught so far; nothing of a later change is looked at."""

    def __init__(self, path: Path, most: int) -> None:
        directory = git_directory(path)
        if directory is None:
            raise SystemExit(f"{path} is not a git repository")
        self._directory, self._places = directory, positions(directory, "HEAD")
        self._shas = list(self._places)
        self._first = max(len(self._shas) - most, 1)
        self.replaced: list[Replacement] = []
        self.last = len(self._shas) - 1

    def hits(self) -> Iterator[Hit]:
        """What a review of the later half of the changes would have said."""
        known: dict[str, Convention] = {}
        taught = 0
        half = (self._first + self.last) // 2
        past = changes(self._directory, "HEAD", self._places, after=self._shas[self._first - 1], paths=("*.py",))
        with Blobs(self._directory) as blobs:
            for each in past:
                if each.position >= half and each.position - taught >= RELEARN_EVERY:
                    made, taught = conventions(self.replaced), each.position
                    files = python_files(self._directory, self._shas[taught - 1], blobs)
                    there = standing({c.before for c in made}, files)
                    known = {c.before: c for c in made if is_gone(c, there)}
                if known:
                    yield from self._in(each, known, blobs)
                self.replaced += replacements(each)

    def _in(self, past: Past, known: dict[str, Convention], blobs: Blobs) -> Iterator[Hit]:
        for file in past.change.files if past.change else ():
            content = None if file.status is FileStatus.DELETED else blobs.read(past.sha, file.path)
            if content is None or b"\0" in content:
                continue
            text = content.decode(errors="replace")
            delta = Delta(
                head=HeadTree(sources={file.path: text}, target_version="py314"),
                base={},
                added={file.path: file.added_lines},
                touched=frozenset({file.path}),
            )
            suspects = Learned(list(known.values()), dict).compare(delta, [file.path]).findings
            by_rule = {rule_of(convention): convention for convention in known.values()}
            for rule in sorted({found.rule for found in suspects}):
                yield Hit(position=past.position, path=file.path, convention=by_rule[rule])


def mended(hit: Hit, replaced: list[Replacement]) -> bool:
    """Whether the next changes replaced the same by the same in that file."""
    soon = range(hit.position + 1, hit.position + HORIZON + 1)
    wanted = (hit.path, hit.convention.before, hit.convention.after)
    return any(each.position in soon and (each.path, each.before, each.after) == wanted for each in replaced)


def main() -> None:
    """Read arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=MOST, help="changes of each, the latest")
    given = parser.parse_args()
    right, all_of_them = 0, 0
    for path in given.repositories:
        walk = Walk(path, given.most)
        hits = [hit for hit in walk.hits() if hit.position <= walk.last - HORIZON]
        good = [hit for hit in hits if mended(hit, walk.replaced)]
        right, all_of_them = right + len(good), all_of_them + len(hits)
        most = Counter(f"{hit.convention.before} -> {hit.convention.after}" for hit in hits).most_common(5)
        rows = [("conventions at the end", str(len(conventions(walk.replaced))))]
        rows += [
            ("went against one, mended later", f"{len(hits)}, {len(good)}"),
            ("most often", "; ".join(f"{n} {what}" for what, n in most)),
        ]
        show(name_of(path), rows)
        print(file=sys.stderr)
    low, high = wilson(right, all_of_them)
    share = f"{right / all_of_them:.2f} ({low:.2f} to {high:.2f})" if all_of_them else "nothing found"
    show("all repositories", [("mended of all that went against a convention", f"{share}, {right} of {all_of_them}")])


if __name__ == "__main__":
    main()
