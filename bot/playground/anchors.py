"""The lines of a pull request's diff that review comments refer to, and how they move when it changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.playground.errors import ApiError, invalid
from bot.playground.models import Anchor, HostedPull, ReviewComment

_HEADER = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line of a patch. `left` and `right` are its numbers in the old and the new file."""

    hunk: int
    position: int
    left: int | None
    right: int | None
    text: str

    def number(self, side: str) -> int | None:
        return self.right if side == "RIGHT" else self.left


def diff_lines(patch: str) -> list[DiffLine]:
    """The lines of one file's patch."""
    found: list[DiffLine] = []
    hunk, left, right = -1, 0, 0
    for position, text in enumerate(patch.split("\n") if patch else ()):
        header = _HEADER.match(text)
        if header:
            hunk, left, right = hunk + 1, int(header[1]), int(header[2])
        elif not text.startswith("\\"):
            old = left if text[:1] != "+" else None
            new = right if text[:1] != "-" else None
            left, right = left + (old is not None), right + (new is not None)
            found.append(DiffLine(hunk=hunk, position=position, left=old, right=new, text=text))
    return found


def _patch(pull: HostedPull, sha: str, path: str) -> str | None:
    """The file's patch in the pull request's diff at `sha`; None when the file is not part of it."""
    bare = pull.repository.git
    start = bare.merge_base(pull.base_sha, sha) or pull.base_sha
    return next((change.patch for change in bare.changes(start, sha) if change.path == path), None)


def find_anchor(
    pull: HostedPull,
    sha: str,
    path: str,
    *,
    side: str,
    line: int | None,
    start_line: int | None,
    position: int | None,
) -> Anchor:
    """The place that a comment names; ApiError 422 when it is outside the diff, in GitHub's words."""
    patch = _patch(pull, sha, path)
    if patch is None:
        raise _refused("path", "is invalid")
    lines = diff_lines(patch)
    if line is None:
        at = next((each for each in lines if each.position == position), None)
        side = "LEFT" if at and at.right is None else "RIGHT"
    else:
        at = _at(lines, side, line)
    number = at.number(side) if at else None
    if at is None or number is None:
        by_position = line is None and position is not None
        raise _refused("position", "is invalid") if by_position else _refused("line", "must be part of the diff")
    if start_line is not None:
        _check_start(lines, side, start_line, number, at)
    return Anchor(path=path, side=side, start_line=start_line, line=number, position=at.position, hunk=_hunk(patch, at))


def _at(lines: Sequence[DiffLine], side: str, number: int) -> DiffLine | None:
    return next((each for each in lines if each.number(side) == number), None)


def _check_start(lines: Sequence[DiffLine], side: str, start: int, end: int, last: DiffLine) -> None:
    first = _at(lines, side, start)
    if start >= end:
        raise _refused("start_line", "must precede the end line.")
    if first is None or first.hunk != last.hunk:
        raise _refused("start_line", "must be part of the same hunk as the line.")


def _refused(name: str, problem: str) -> ApiError:
    field = f"pull_request_review_thread.{name}"
    return invalid("PullRequestReviewComment", field, message=f"{field} {problem}")


def _hunk(patch: str, at: DiffLine) -> str:
    """The hunk up to the line that the comment refers to."""
    lines = patch.split("\n")[: at.position + 1]
    begin = max(index for index, text in enumerate(lines) if _HEADER.match(text))
    return "\n".join(lines[begin:])


def carry_over(pull: HostedPull) -> None:
    """After a push: move each comment to where its lines are now, or mark it outdated."""
    for thread in pull.threads:
        for made in thread.comments:
            if made.line is not None:
                _move(pull, made, made.line)


def _move(pull: HostedPull, made: ReviewComment, line: int) -> None:
    start, head, path, side = made.start_line, pull.head_sha, made.original.path, made.original.side
    moved: int | None = 0
    if side == "RIGHT":
        moved = shifted(pull.repository.git.shifts(made.sha, head, path), start or line, line)
    at = None if moved is None else _at(diff_lines(_patch(pull, head, path) or ""), side, line + moved)
    if at is None or moved is None:
        made.line = made.start_line = made.position = None
        return
    made.sha, made.position, made.line = head, at.position, line + moved
    made.start_line = start + moved if start is not None else None


def shifted(shifts: Sequence[tuple[int, int, int]], first: int, last: int) -> int | None:
    """By how much lines `first`..`last` moved; None when one of them changed."""
    moved = 0
    for start, count, gained in shifts:
        inside = start <= last and start + count > first if count else first < start <= last
        if inside:
            return None
        if start + count <= first:
            moved += gained
    return moved
