"""What the detectors saw of a change, and what they could not read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

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
        paths = sorted(tree.sources)
        return joined(_side_by_side([partial(each.detect, tree, paths) for each in self.detectors]))

    def not_new(self, change: Change, doubted: Collection[str]) -> frozenset[str]:
        """What was there before the change, or may have been: in files whose base could not be read, everything.

        What was there is followed through the change, so that a file or a function with a new name brings nothing about.
        Asked of the files in `doubted` alone: to read a base takes as long as to read a head.
        """
        sources = {path: text for path, text in self.delta.base.items() if path in doubted}
        base = HeadTree(sources=sources, target_version=self.delta.head.target_version)
        detection = self.detect(base) if sources else Detection()
        before = seen_in(detection.findings, base.sources)
        broken = {each.finding.path for each in before if each.finding.rule == SYNTAX_ERROR}
        clear = base.sources.keys() - detection.unread.keys() - broken
        doubtful = (each for each in self.seen if each.finding.path not in clear)
        stood = stood_before([each.finding for each in before], [each.finding for each in self.seen], change)
        return stood | {each.finding.fingerprint for each in (*before, *doubtful)}


def read_change(detectors: Sequence[Detector], change_detectors: Sequence[ChangeDetector], delta: Delta) -> Reading:
    """Have every detector read what it can of the change, side by side: most of them wait for a tool."""
    paths = sorted(delta.head.sources)
    names = [*(each.name for each in detectors), *(each.name for each in change_detectors)]
    of_tree = [partial(each.detect, delta.head, paths) for each in detectors]
    of_change = [partial(each.compare, delta, paths) for each in change_detectors]
    detections = dict(zip(names, _side_by_side([*of_tree, *of_change]), strict=True))
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


def _side_by_side(readings: Sequence[Callable[[], Detection]]) -> list[Detection]:
    with ThreadPoolExecutor(max(len(readings), 1)) as threads:
        return [done.result() for done in [threads.submit(read) for read in readings]]
