"""What the detectors saw of a change, and what they could not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workers.patches import Change
from workers.review.detectors.detector import ChangeDetector, Delta, Detection, Detector, HeadTree, joined
from workers.review.detectors.rules import SYNTAX_ERROR
from workers.review.findings import Seen, seen_in
from workers.review.identity import stood_before


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was seen at the head, and for each detector that failed on a file, why (by path, then detector)."""

    detectors: Sequence[Detector]
    change_detectors: Sequence[ChangeDetector]
    delta: Delta
    seen: tuple[Seen, ...]
    unread: Mapping[str, Mapping[str, str]]

    def readers(self, path: str) -> list[str]:
        """The names of the detectors that read files of this kind."""
        of_trees = [detector.name for detector in self.detectors if detector.reads(path)]
        return of_trees + [detector.name for detector in self.change_detectors if detector.reads(path)]

    def detect(self, tree: HeadTree) -> Detection:
        """What the detectors that read one tree see in another one."""
        return joined([detector.detect(tree, sorted(tree.sources)) for detector in self.detectors])

    def not_new(self, change: Change) -> frozenset[str]:
        """What was there before the change, or may have been: in files whose base could not be read, everything.

        What was there is followed through the change, so that a file or a function with a new name brings nothing about.
        """
        base = HeadTree(sources=self.delta.base, target_version=self.delta.head.target_version)
        detection = self.detect(base)
        before = seen_in(detection.findings, base.sources)
        broken = {each.finding.path for each in before if each.finding.rule == SYNTAX_ERROR}
        clear = base.sources.keys() - detection.unread.keys() - broken
        doubtful = (each for each in self.seen if each.finding.path not in clear)
        stood = stood_before([each.finding for each in before], [each.finding for each in self.seen], change)
        return stood | {each.finding.fingerprint for each in (*before, *doubtful)}


def read_change(detectors: Sequence[Detector], change_detectors: Sequence[ChangeDetector], delta: Delta) -> Reading:
    """Have every detector read what it can of the change."""
    detections = dict(_detections(detectors, change_detectors, delta))
    unread: dict[str, dict[str, str]] = {}
    for name, detection in detections.items():
        for path, reason in detection.unread.items():
            unread.setdefault(path, {})[name] = reason
    return Reading(
        detectors=detectors,
        change_detectors=change_detectors,
        delta=delta,
        seen=seen_in(joined(list(detections.values())).findings, delta.head.sources),
        unread=unread,
    )


def _detections(
    detectors: Sequence[Detector], change_detectors: Sequence[ChangeDetector], delta: Delta
) -> Iterator[tuple[str, Detection]]:
    paths = sorted(delta.head.sources)
    for detector in detectors:
        yield detector.name, detector.detect(delta.head, paths)
    for each in change_detectors:
        yield each.name, each.compare(delta, paths)
