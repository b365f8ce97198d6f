"""The lines of a pull request's diff that review comments refer to, and how they move when it changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.playground.errors import ApiError, FieldError, invalid
from bot.playground.models import HostedIssue, ReviewComment
from bot.playground.payloads.pulls import pull_of

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A place in the diff that a comment may hang on."""

    path: str
    side: str
    start_line: int | None
    line: int
    position: int
    hunk: str


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


def _patch(issue: HostedIssue, sha: str, path: str) -> str | None:
    """The file's patch in the pull request's diff at `sha`; None when the file is not part of it."""
    pull, bare = pull_of(issue), issue.repository.git
    start = bare.merge_base(pull.base_sha, sha) or pull.base_sha
    return next((change.patch for change in bare.changes(start, sha) if change.path == path), None)


def find_anchor(
    issue: HostedIssue,
    sha: str,
    path: str,
    *,
    side: str,
    line: int | None,
    start_line: int | None,
    position: int | None,
) -> Anchor:
    """The place that a comment names; ApiError 422 when it is outside the diff, in GitHub's words."""
    patch = _patch(issue, sha, path)
    if patch is None:
        raise _outside("path")
    lines = diff_lines(patch)
    if line is None:
        at = next((each for each in lines if each.position == position), None)
        if at is None:
            raise _outside("position" if position is not None else "line")
        side = "LEFT" if at.right is None else "RIGHT"
    else:
        at = _at(lines, side, line)
        if at is None:
            raise _outside("line")
    number = at.number(side)
    assert number is not None
    start = _start(lines, side, start_line, number, at) if start_line is not None else None
    return Anchor(path=path, side=side, start_line=start, line=number, position=at.position, hunk=_hunk(patch, at))


def _at(lines: Sequence[DiffLine], side: str, number: int) -> DiffLine | None:
    return next((each for each in lines if each.number(side) == number), None)


def _start(lines: Sequence[DiffLine], side: str, start: int, end: int, last: DiffLine) -> int:
    first = _at(lines, side, start)
    if start >= end:
        raise _refused("start_line", "pull_request_review_thread.start_line must precede the end line.")
    if first is None or first.hunk != last.hunk:
        raise _refused("start_line", "pull_request_review_thread.start_line must be part of the same hunk as the line.")
    return start


def _outside(name: str) -> ApiError:
    words = {"path": "is invalid", "position": "is invalid", "line": "must be part of the diff"}[name]
    return _refused(name, f"pull_request_review_thread.{name} {words}")


def _refused(name: str, message: str) -> ApiError:
    fault = FieldError(resource="PullRequestReviewComment", field=f"pull_request_review_thread.{name}", message=message)
    return invalid(fault)


def _hunk(patch: str, at: DiffLine) -> str:
    """The hunk up to the line that is spoken of."""
    lines = patch.split("\n")[: at.position + 1]
    begin = max(index for index, text in enumerate(lines) if _HEADER.match(text))
    return "\n".join(lines[begin:])


def carry_over(issue: HostedIssue) -> None:
    """After a push: move each comment to where its lines are now, or mark it outdated."""
    head = pull_of(issue).head_sha
    for thread in pull_of(issue).threads:
        for made in thread.comments:
            if made.line is not None:
                _move(issue, made, head)


def _move(issue: HostedIssue, made: ReviewComment, head: str) -> None:
    line, start = made.line, made.start_line
    assert line is not None
    if made.side == "RIGHT":
        moved = shifted(issue.repository.git.shifts(made.sha, head, made.path), start or line, line)
    else:
        moved = 0
    at = None
    if moved is not None:
        at = _at(diff_lines(_patch(issue, head, made.path) or ""), made.side, line + moved)
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
