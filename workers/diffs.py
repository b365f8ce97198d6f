"""Unified git diffs as values, and edits of whole lines. Pure.

The parser is our own: unidiff refuses a whole diff for one path such as `x b/y.py`, which a contributor can choose, and
reads no quoted paths. A line ends at a line feed, as git and GitHub count; a carriage return before it belongs to the line.
"""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workers.errors import BadInput
from workers.line_matching import LineMatcher

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_MODE = re.compile(r"(?:new mode|new file mode|deleted file mode|index [0-9a-f]+\.\.[0-9a-f]+) (\d{6})$")
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_TO_ESCAPE = {value[0]: "\\" + key.decode() for key, value in _ESCAPED.items()} | {0x22: '\\"', 0x5C: "\\\\"}
_NO_NEWLINE = "\\ No newline at end of file\n"


class FileStatus(StrEnum):
    """What a change did to a file. A copy counts as added, and so does what became of a file that was of another type."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One block of a diff. Each of `lines` begins with its marker: a blank, `+`, `-`, or `\\` (no newline before me)."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[str, ...]

    def touched(self) -> Iterator[int]:
        """The numbers, on the new side, of the lines that this hunk adds, and of those around lines that it only removes."""
        number, removed = self.new_start, False
        for line in self.lines:
            if line.startswith("+"):
                yield number
            elif removed and line.startswith(" "):
                yield from (max(number - 1, 1), number)
            removed = line.startswith("-") or (removed and line.startswith("\\"))
            number += not line.startswith(("-", "\\"))
        if removed:
            yield max(number - 1, 1)

    def added(self) -> Iterator[int]:
        """The numbers, on the new side, of the lines that this hunk adds."""
        number = self.new_start
        for line in self.lines:
            if line.startswith("+"):
                yield number
            number += not line.startswith(("-", "\\"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file of a change. `old_path` equals `path` unless it was renamed or copied.

    `mode` is git's mode of the newer side ("100644", "120000" a symlink, "160000" a submodule), empty when not given.
    """

    path: str
    old_path: str
    status: FileStatus
    binary: bool
    mode: str
    added_lines: frozenset[int]
    hunks: tuple[Hunk, ...]

    @property
    def symlink(self) -> bool:
        return self.mode == "120000"

    @property
    def submodule(self) -> bool:
        return self.mode == "160000"

    @property
    def edited(self) -> bool:
        """Whether its content changed; a file may as well have been moved alone, or have got another mode."""
        return self.binary or bool(self.hunks) or self.status in (FileStatus.ADDED, FileStatus.DELETED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The files of a diff, in its order."""

    files: tuple[FileChange, ...]

    def file(self, path: str) -> FileChange | None:
        """What the change did to the file that is now called `path`."""
        return next((file for file in self.files if file.path == path), None)


def changed_lines(change: Change) -> dict[str, frozenset[int]]:
    """The lines that the change added or rewrote, by path on the new side; files without any are left out."""
    return {file.path: file.added_lines for file in change.files if file.added_lines}


def touched_lines(change: Change) -> dict[str, frozenset[int]]:
    """The changed lines, and those around removed ones, by path on the new side."""
    return {file.path: frozenset(line for hunk in file.hunks for line in hunk.touched()) for file in change.files}


def commentable_lines(file: FileChange) -> frozenset[int]:
    """The lines of the new side that GitHub takes review comments on: those shown in a hunk."""
    shown = (range(hunk.new_start, hunk.new_start + hunk.new_count) for hunk in file.hunks)
    return frozenset(number for lines in shown for number in lines)


def parse_diff(text: str) -> Change:
    """Read a unified diff with the prefixes a/ and b/, as `git diff` writes it by default.

    Raises BadInput when a hunk is not as long as its header says or the diff has more than two sides.
    """
    reader = _DiffReader(text.removesuffix("\n").split("\n"))
    files = []
    while reader.seek():
        files.append(_read_file(reader))
    return Change(files=tuple(_without_former_selves(files)))


def _without_former_selves(files: Sequence[FileChange]) -> Iterator[FileChange]:
    """One entry a path: git tells of a file that became a link, or the other way round, as of one gone and one new."""
    new = {file.path for file in files if file.status is FileStatus.ADDED}
    for file in files:
        if file.status is not FileStatus.DELETED or file.path not in new:
            yield file


class _DiffReader:
    """The lines of a diff and where we are in them."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def seek(self) -> bool:
        """Go on to where the next file begins; False at the end."""
        while self.at < len(self.lines) and not self._begins_file():
            self.at += 1
        return self.at < len(self.lines)

    def peek(self, ahead: int = 0) -> str | None:
        at = self.at + ahead
        return self.lines[at] if at < len(self.lines) else None

    def _begins_file(self) -> bool:
        line = self.lines[self.at]
        if line.startswith(("diff --cc ", "diff --combined ")):
            raise BadInput("the diff compares more than two commits; diff one base against one head")
        return line.startswith("diff --git ") or (line.startswith("--- ") and (self.peek(1) or "").startswith("+++ "))

    def header(self) -> list[str]:
        """The lines up to the first hunk, or to the next file."""
        first, named = self.at, False
        self.at += 1
        while (line := self.peek()) is not None and not line.startswith(("diff --", "@@ ")):
            if line.startswith("--- ") and named:
                break
            named = named or line.startswith("+++ ")
            self.at += 1
        return [line.removesuffix("\r") for line in self.lines[first : self.at]]

    def hunk(self) -> Hunk | None:
        match = _HUNK.match(self.peek() or "")
        if match is None:
            return None
        self.at += 1
        old_start, old_count, new_start, new_count = (int(group) if group else 1 for group in match.groups())
        lines = tuple(self._body(old_count, new_count))
        return Hunk(old_start=old_start, old_count=old_count, new_start=new_start, new_count=new_count, lines=lines)

    def _body(self, old: int, new: int) -> Iterator[str]:
        while old > 0 or new > 0 or (self.peek() or "").startswith("\\"):
            line = self.peek()
            if line is None or not (line == "" or line[0] in " +-\\"):
                raise BadInput("the diff ends inside a hunk; give the whole diff")
            old -= not line.startswith(("+", "\\"))
            new -= not line.startswith(("-", "\\"))
            if old < 0 or new < 0:
                raise BadInput("a hunk of the diff is longer than its header says")
            self.at += 1
            yield line or " "


def _read_file(reader: _DiffReader) -> FileChange:
    header = reader.header()
    hunks = []
    while (hunk := reader.hunk()) is not None:
        hunks.append(hunk)
    old_path, path = _paths(header)
    modes = [match.group(1) for line in header if (match := _MODE.match(line))]
    return FileChange(
        path=path,
        old_path=old_path,
        status=_status(header),
        binary=any(line.startswith(("Binary files ", "GIT binary patch")) for line in header),
        mode=modes[0] if modes else "",
        added_lines=frozenset(number for hunk in hunks for number in hunk.added()),
        hunks=tuple(hunks),
    )


def _status(header: list[str]) -> FileStatus:
    for line in header:
        if line.startswith(("new file mode ", "copy to ", "--- /dev/null")):
            return FileStatus.ADDED
        if line.startswith(("deleted file mode ", "+++ /dev/null")):
            return FileStatus.DELETED
        if line.startswith("rename to "):
            return FileStatus.RENAMED
    return FileStatus.MODIFIED


def _paths(header: list[str]) -> tuple[str, str]:
    old, new = _named(header, "rename from ", "copy from "), _named(header, "rename to ", "copy to ")
    if old and new:
        return old, new
    old, new = (_unprefixed(_named(header, marker)) for marker in ("--- ", "+++ "))
    if old or new:
        return old or new, new or old
    return _paths_of_first_line(header[0].removeprefix("diff --git "))


def _named(header: list[str], *markers: str) -> str:
    line = next((line for line in header if line.startswith(markers)), "")
    marker = next((marker for marker in markers if line.startswith(marker)), "")
    return _unquoted(line.removeprefix(marker).partition("\t")[0])


def _unprefixed(path: str) -> str:
    return "" if path == "/dev/null" else path[2:] if path.startswith(("a/", "b/")) else path


def _paths_of_first_line(names: str) -> tuple[str, str]:
    """The paths in `a/x b/x`; only files without hunks come here, and both their names are the same."""
    first = names[: len(names) // 2]
    path = _unprefixed(_unquoted(first))
    return path, path


def _unquoted(name: str) -> str:
    """The path that git wrote as `name`; bytes that are not UTF-8 become surrogates, as in os.fsdecode."""
    if not (len(name) >= 2 and name.startswith('"') and name.endswith('"')):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(_unescape, raw).decode("utf-8", "surrogateescape")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPED.get(code, code)


def _quoted(name: str) -> str:
    """`name` as git writes it in a diff: in quotes with escapes when it holds anything beside printable ASCII."""
    raw = name.encode("utf-8", "surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in _TO_ESCAPE for byte in raw):
        return name
    plain = {byte: chr(byte) for byte in range(0x20, 0x7F)} | _TO_ESCAPE
    return '"' + "".join(plain.get(byte) or f"\\{byte:03o}" for byte in raw) + '"'


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their ends; only a line feed ends one."""
    return list(io.StringIO(text, newline="\n"))


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The lines of all hunks, their headers included."""
    for group in LineMatcher(before, after).get_grouped_opcodes():
        (_, old, _, new, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        yield f"@@ -{_range(old, old_end)} +{_range(new, new_end)} @@\n"
        for kind, a, b, c, d in group:
            yield from (f" {line}" for line in before[a:b] if kind == "equal")
            yield from (f"-{line}" for line in before[a:b] if kind != "equal")
            yield from (f"+{line}" for line in after[c:d] if kind != "equal")


def _range(start: int, end: int) -> str:
    """Lines as a hunk's header has them: an empty range names the line before."""
    return f"{start + (end > start)}" + (f",{end - start}" if end - start != 1 else "")


def unified(path: str, before: str | None, after: str | None) -> str:
    """The diff that `git apply` takes from `before` to `after`; None where the file does not exist, empty when equal."""
    if before == after:
        return ""
    old, new = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    header = [f"diff --git {old} {new}\n"]
    header += ["new file mode 100644\n"] if before is None else []
    header += ["deleted file mode 100644\n"] if after is None else []
    body = list(_hunks(split_lines(before or ""), split_lines(after or "")))
    if body:
        tab = "\t" if " " in path else ""
        header.append(f"--- {'/dev/null' if before is None else old + tab}\n")
        header.append(f"+++ {'/dev/null' if after is None else new + tab}\n")
    return "".join(header) + "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in body)


def apply_unified(source: str, diff: str) -> str:
    """`source` with the diff of one file applied; raises BadInput when it does not fit exactly."""
    files = parse_diff(diff).files
    if len(files) != 1:
        raise BadInput(f"the diff is of {len(files)} files; give the diff of one")
    return _applied(source, files[0])


def _applied(source: str, file: FileChange) -> str:
    lines, result, at = split_lines(source), list[str](), 0
    for hunk in file.hunks:
        start = hunk.old_start - (hunk.old_count > 0)
        old, new = _sides(hunk)
        if start < at or lines[start : start + len(old)] != old:
            raise BadInput(f"the diff does not fit {file.path} at line {hunk.old_start}")
        result += lines[at:start] + new
        at = start + len(old)
    return "".join(result + lines[at:])


def _sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    old, new = list[str](), list[str]()
    for line, following in zip(hunk.lines, (*hunk.lines[1:], ""), strict=True):
        text = line[1:] if following.startswith("\\") else line[1:] + "\n"
        if line[0] in " -":
            old.append(text)
        if line[0] in " +":
            new.append(text)
    return old, new


def replace_lines(source: str, start: int, end: int, replacement: str) -> str:
    """`source` with the whole lines `start`..`end` replaced, as GitHub applies a suggestion; empty deletes them.

    `replacement` has line feeds only; the result keeps the line ends of what it replaces, and a missing one at the
    end of the file. Raises BadInput for lines that are not there.
    """
    lines = split_lines(source)
    if not 1 <= start <= end <= len(lines):
        raise BadInput(f"lines {start} to {end} are not in a file of {len(lines)} lines")
    text = replacement if replacement.endswith("\n") or not replacement else replacement + "\n"
    if lines[start - 1].endswith("\r\n"):
        text = text.replace("\n", "\r\n")
    if not lines[end - 1].endswith("\n"):
        text = text.removesuffix("\n").removesuffix("\r")
    return "".join(lines[: start - 1]) + text + "".join(lines[end:])


def fence(text: str) -> str:
    """A Markdown fence for `text`: backticks, longer than any run of them inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)


def patched(patch: str, read: Callable[[str], str | None]) -> dict[str, str]:
    """The new text of every file of a unified diff, as `memory` keeps them; `read` gives the old ones.

    Raises BadInput where the diff does not fit.
    """
    found: dict[str, str] = {}
    for file in parse_diff(patch).files:
        before = "" if file.status is FileStatus.ADDED else read(file.path)
        assert before is not None, f"{file.path} is in the diff, so it was there"
        found[file.path] = _applied(before, file)
    return found
