"""The changed files of many past changes, read by the detectors in few runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from workers.history.log import Blobs, Past
from workers.patches import FileChange, FileStatus
from workers.review.coverage import why_skipped, why_unfit
from workers.review.detectors.detector import Detector, HeadTree, joined
from workers.review.detectors.rules import SYNTAX_ERROR
from workers.review.findings import Seen, seen_in
from workers.review.tree import MAX_BYTES

MOST_FILES, MOST_CHARACTERS = 150, 1_200_000
"""Versions of files that are read together."""

PARTS = min(os.cpu_count() or 1, 8)
"""Parts that they are read in, side by side: bandit uses one core."""

OLDEST = "py37"
"""The Python that the past is read as: what today's detectors can still parse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A changed file after its change, with all that the detectors saw in it."""

    text: str
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadChange:
    """A past change with the versions, by path, that could be read."""

    past: Past
    versions: dict[str, Version] = field(default_factory=dict)


def read(pasts: Iterable[Past], blobs: Blobs, detectors: Sequence[Detector]) -> Iterator[list[ReadChange]]:
    """The changes in groups, each read by the detectors at once; in order."""
    group: list[tuple[Past, dict[str, str]]] = []
    files = characters = 0
    for past in pasts:
        texts = _texts(past, blobs)
        group.append((past, texts))
        files += len(texts)
        characters += sum(map(len, texts.values()))
        if files >= MOST_FILES or characters >= MOST_CHARACTERS:
            yield _detected(group, detectors)
            group, files, characters = [], 0, 0
    if group:
        yield _detected(group, detectors)


def _texts(past: Past, blobs: Blobs) -> dict[str, str]:
    texts = {}
    for file in past.change.files if past.change else ():
        text = _text(past.sha, file, blobs)
        if text is not None:
            texts[file.path] = text
    return texts


def _text(sha: str, file: FileChange, blobs: Blobs) -> str | None:
    """The file after the change; None where a review would not have read it either."""
    if file.status is FileStatus.DELETED or why_skipped(file):
        return None
    content = blobs.read(sha, file.path)
    if content is None or len(content) > MAX_BYTES:
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if why_unfit(text) else text


def _detected(group: Sequence[tuple[Past, dict[str, str]]], detectors: Sequence[Detector]) -> list[ReadChange]:
    sources = {f"{at}/{path}": text for at, (_, texts) in enumerate(group) for path, text in texts.items()}
    tree = HeadTree(sources=sources, target_version=OLDEST)
    parts = [some for some in (sorted(sources)[at::PARTS] for at in range(PARTS)) if some]
    with ThreadPoolExecutor(max(1, len(detectors) * len(parts))) as side_by_side:
        asked = [side_by_side.submit(each.detect, tree, some) for each in detectors for some in parts]
        found = joined([each.result() for each in asked])
    broken = {each.path for each in found.findings if each.rule == SYNTAX_ERROR} | found.unread.keys()
    seen: dict[str, list[Seen]] = {}
    for each in seen_in((raw for raw in found.findings if raw.path not in broken), sources):
        seen.setdefault(each.finding.path, []).append(each)
    return [
        ReadChange(
            past=past,
            versions={
                path: Version(text=text, seen=tuple(seen.get(name, ())))
                for path, text in texts.items()
                if (name := f"{at}/{path}") not in broken
            },
        )
        for at, (past, texts) in enumerate(group)
    ]
