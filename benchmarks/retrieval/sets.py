"""Sets of cases and questions with known answers: JSON lines in a file, one set a file.

A line is {"case": {"id", "says", "where", "done", "at"}} or {"question": {"id", "says", "where", "answers", "at"}}: texts, ids
of cases, and a number that orders them in time. A question is never answered by the case of its own id, nor by a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be found: what it says, where it happened, what was done about it."""

    id: str
    says: str
    where: str = ""
    done: str = ""
    at: int = 0


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, and the cases that answer it."""

    id: str
    says: str
    where: str = ""
    answers: tuple[str, ...]
    at: int = 0


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a file: one of both."""

    case: Case | None = None
    question: Question | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One set."""

    name: str
    cases: tuple[Case, ...]
    questions: tuple[Question, ...]


def write(path: Path, cases: Iterable[Case], questions: Iterable[Question]) -> None:
    """Keep a set as a file."""
    lines = [Line(case=each) for each in cases] + [Line(question=each) for each in questions]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def read(path: Path) -> Asked:
    """The set in a file; raises msgspec.ValidationError for a line of another form."""
    decoder = msgspec.json.Decoder(Line)
    lines: Sequence[Line] = [decoder.decode(line) for line in path.read_bytes().splitlines() if line]
    return Asked(
        name=path.stem,
        cases=tuple(line.case for line in lines if line.case is not None),
        questions=tuple(line.question for line in lines if line.question is not None),
    )
