from __future__ import annotations

import threading
from collections.abc import Sequence

from memory.model import Severity
from workers.diffs import Change
from workers.review.detectors.detector import Category, Delta, Detection, RawFinding, SourceTree
from workers.review.engine import read_change


class Dislike:
    """A detector that dislikes a word, waits for its companions, and keeps what it was given to read."""

    def __init__(self, name: str, together: threading.Barrier) -> None:
        self.name = name
        self.given: list[list[str]] = []
        self._together = together

    def reads(self, path: str) -> bool:
        return True

    def detect(self, tree: SourceTree, paths: Sequence[str]) -> Detection:
        self._together.wait(timeout=300)
        self.given.append(list(paths))
        lines = [
            (path, number)
            for path in paths
            for number, line in enumerate(tree.sources[path].split("\n"), 1)
            if self.name in tree.sources[path].split("\n")[number - 1] and line
        ]
        return Detection(findings=tuple(self._finding(path, line) for path, line in lines))

    def _finding(self, path: str, line: int) -> RawFinding:
        return RawFinding(
            path=path,
            line=line,
            end_line=line,
            column=1,
            tool=self.name,
            rule=self.name,
            category=Category.STYLE,
            severity=Severity.INFO,
            message="disliked",
        )


def test_detectors_read_side_by_side_and_the_base_only_where_asked() -> None:
    """None waits for another to end; a base is read for the files in doubt alone, and for none where none is."""
    together = threading.Barrier(2)
    foo, bar = Dislike("foo", together), Dislike("bar", together)
    base = {"a.py": "foo = 1\n", "b.py": "foo = 2\n"}
    head = SourceTree(sources={"a.py": "foo = 1\nbar = 1\n", "b.py": "foo = 2\nfoo = 3\n"}, target_version="py312")
    delta = Delta(head=head, base=base, added={})
    reading = read_change([foo, bar], [], delta)
    assert sorted((each.finding.path, each.finding.line, each.finding.rule) for each in reading.seen) == [
        ("a.py", 1, "foo"),
        ("a.py", 2, "bar"),
        ("b.py", 1, "foo"),
        ("b.py", 2, "foo"),
    ]
    marks = {(each.finding.path, each.finding.line): each.finding.fingerprint for each in reading.seen}
    before = reading.not_new(Change(files=()), {"a.py"})
    assert marks["a.py", 1] in before
    assert marks["a.py", 2] not in before
    reading.not_new(Change(files=()), ())
    assert foo.given == bar.given == [["a.py", "b.py"], ["a.py"]]
