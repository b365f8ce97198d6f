"""A change of `.github/apprentice.yml` is read before its merge."""

from __future__ import annotations

from workers.configuration.schema import PATH
from workers.review.detectors.configuration import RepositoryFile
from workers.review.detectors.detector import Delta, SourceTree


def test_mistakes_on_changed_lines_are_found() -> None:
    """Those that a change adds, with their place; an old mistake, and a file elsewhere, is not its business."""
    text = "silnet: true\nrules:\n  F401: of\n"
    sources = {PATH: text, f"old/{PATH}": text}
    delta = Delta(
        head=SourceTree(sources=sources, target_version="py311"),
        base={},
        added=dict.fromkeys(sources, frozenset({2, 3})),
    )
    found = RepositoryFile().compare(delta, sorted(sources))
    assert not found.unread
    (mistake,) = found.findings
    assert (mistake.path, mistake.line, mistake.column, mistake.rule) == (PATH, 3, 9, "CFG001")
    assert mistake.message == ("rules.F401: expected one of off, info, minor, major, critical; did you mean off?")
