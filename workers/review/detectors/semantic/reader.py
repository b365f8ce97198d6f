"""The detector of slips in meaning: every rule of this package, on each changed Python file. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from workers.review.detectors.detector import Delta, Detection, RawFinding
from workers.review.detectors.rules import is_test_path
from workers.review.detectors.semantic.arguments import swapped_arguments
from workers.review.detectors.semantic.conditions import constant_conditions
from workers.review.detectors.semantic.copies import copied_names
from workers.review.detectors.semantic.edited import TOOL, Edited
from workers.review.detectors.semantic.resources import unclosed_resources
from workers.review.detectors.semantic.swallowed import swallowed_exceptions
from workers.review.detectors.semantic.uncovered import uncovered_changes
from workers.review.source import commented_lines, parsed

_RULES = (swapped_arguments, copied_names, constant_conditions, unclosed_resources, swallowed_exceptions)
_NONE: frozenset[int] = frozenset()


class Semantic:
    """The `ChangeDetector` of this package; `ran` are the lines that a trace of the suite came by, by path."""

    name = TOOL

    def __init__(self, ran: Mapping[str, frozenset[int]]) -> None:
        self._ran = ran

    def reads(self, path: str) -> bool:
        return path.endswith(".py")

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        findings: list[RawFinding] = []
        unread: dict[str, str] = {}
        for path in filter(self.reads, paths):
            edited = _edited(path, delta)
            try:
                findings += _once(self._found(edited)) if edited is not None and edited.added else []
            except RecursionError:
                unread[path] = "it is nested too deeply"
            if edited is None:
                unread[path] = "it does not parse"
        return Detection(findings=tuple(findings), unread=unread)

    def _found(self, edited: Edited) -> Iterator[RawFinding]:
        if is_test_path(edited.path):
            return  # tests repeat lines, swallow errors and leave files open on purpose
        for rule in _RULES:
            yield from rule(edited)
        yield from uncovered_changes(edited, self._ran.get(edited.path, _NONE))


def _edited(path: str, delta: Delta) -> Edited | None:
    after, before = parsed(delta.head.sources[path]), delta.base.get(path, "")
    if after is None:
        return None
    return Edited(
        path=path,
        before=parsed(before) if before else None,
        after=after,
        added=delta.added.get(path, _NONE),
        commented=commented_lines(delta.head.sources[path]),
    )


def _once(findings: Iterator[RawFinding]) -> list[RawFinding]:
    """Of what a rule says of one line, the first."""
    return list({(found.rule, found.line): found for found in reversed(list(findings))}.values())[::-1]
