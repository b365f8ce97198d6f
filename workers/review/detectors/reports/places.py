"""Places and fixes as foreign reports count them, in our terms. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from memory.model import Severity
from workers.diffs import split_lines
from workers.review.detectors.detector import Category, DetectorFailed, FixEdit, relative

LONGEST_MESSAGE, LONGEST_RULE = 500, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What is known when a report is read: the tool's name, the files it was given, and its category where it says none."""

    tool: str
    sources: Mapping[str, str]
    category: Category

    def path(self, written: str) -> str:
        """The file that a report means; raises DetectorFailed for one that the tool was not given."""
        path = relative(unquote(urlsplit(written).path) if written.startswith("file:") else unquote(written))
        if path not in self.sources:
            raise DetectorFailed(f"{self.tool} reported on {path[:100]!r}, which it was not given")
        return path

    def line(self, path: str, number: int) -> str:
        """The text of a line without its end, empty for one that is not there."""
        lines = split_lines(self.sources[path])
        return lines[number - 1].rstrip("\r\n") if 1 <= number <= len(lines) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of characters; lines and columns count from 1, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    def edit(self, content: str) -> FixEdit:
        return FixEdit(
            line=self.line,
            column=self.column,
            end_line=self.end_line,
            end_column=self.end_column,
            content=content,
        )


def in_characters(line: str, column: int, encoding: str) -> int:
    """The column in characters of one in code units of an encoding (`utf-8`: bytes, `utf-16-le`: pairs of them)."""
    unit = 2 if encoding == "utf-16-le" else 1
    before = line.encode(encoding)[: (column - 1) * unit]
    return len(before.decode(encoding, "ignore")) + 1 + max(0, column - 1 - len(line.encode(encoding)) // unit)


def severity_of(word: str, score: str = "") -> Severity:
    """Our severity for a report's word, or for a security score from 0 to 10 where there is one."""
    try:
        number = float(score)
    except ValueError:
        words = {"error": Severity.MAJOR, "warning": Severity.MINOR}
        return words.get(word.lower(), Severity.INFO)
    steps = ((9.0, Severity.CRITICAL), (7.0, Severity.MAJOR), (4.0, Severity.MINOR))
    return next((severity for least, severity in steps if number >= least), Severity.INFO)


def one_line(text: str) -> str:
    """A message as one line of bounded length."""
    words = " ".join(text.split())
    return words if len(words) <= LONGEST_MESSAGE else words[: LONGEST_MESSAGE - 1] + "…"
