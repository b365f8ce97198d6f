"""What came of cases: JSON to keep, Markdown to read."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from benchmarks.report import commit
from memory.intervals import wilson


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One case. `correct` is None without held-out tests, or where nothing was proposed; `problem` says why it did not run.

    `candidates_to_first` and `seconds_to_first` lead to the first plausible candidate, the others to the returned patch;
    `rivals`, which it was compared with, are not among the candidates.
    `tier` is the confidence of the proof, with its doubt, `asked` tells that the maintainer is asked about the patch,
    `undecided` that it is shown and not proposed, `share` how much of the weight of all plausible patches behaves as it does.
    """

    id: str
    plausible: bool
    correct: bool | None
    error_type: str
    strategy: str
    template: str
    candidates: int
    candidates_to_first: int | None
    seconds: float
    seconds_to_first: float | None
    patch: str
    tier: str = ""
    asked: bool = False
    undecided: bool = False
    share: float = 1.0
    rivals: int = 0
    problem: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)


class Results(msgspec.Struct, kw_only=True):
    """A run of the harness, finished or not."""

    commit: str
    seed: int
    jobs: int
    cases: list[Result]

    def known(self) -> set[str]:
        """The ids of the cases that are done."""
        return {result.id for result in self.cases}


def fresh(seed: int, jobs: int) -> Results:
    """Results of a run that has not begun."""
    return Results(commit=commit(), seed=seed, jobs=jobs, cases=[])


def read(path: Path) -> Results:
    """Results that were written. Raises msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=Results)


def write(path: Path, results: Results) -> None:
    """Write at once or not at all, so that a run that is cut off can be resumed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))
    os.replace(temporary, path)  # noqa: PTH105  the atomic one, by its usual name


@dataclass(slots=True)
class Table:
    """A Markdown table."""

    head: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def text(self) -> str:
        """As Markdown, with a line for each row."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def markdown(results: Results) -> str:
    """The figures, by error type, template, tier and every label with few values, and what was not fixed."""
    cases = sorted(results.cases, key=lambda result: result.id)
    parts = [
        f"# {len(cases)} cases at {results.commit}, seed {results.seed}, {results.jobs} at a time",
        _summary(cases),
        *_grouped(cases),
        *_unsolved(cases),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(cases: Sequence[Result]) -> str:
    table = Table(("", "all cases"))
    fixed = [case for case in cases if case.plausible]
    judged = [case for case in cases if case.correct is not None]
    table.rows.append(("plausible: all tests pass", share(len(fixed), len(cases))))
    if judged:
        right = sum(bool(case.correct) for case in judged)
        parts = {
            "proposed": [case for case in judged if not case.undecided],
            "proposed without a question": [case for case in judged if not case.asked],
            "only shown, with a question": [case for case in judged if case.undecided],
        }
        table.rows.append(("correct: the held-out tests pass too", share(right, len(cases))))
        table.rows += [
            (f"of what was {how}, correct", share(sum(bool(case.correct) for case in part), len(part)))
            for how, part in parts.items()
        ]
    table.rows += [
        ("seconds to the first plausible patch", median(c.seconds_to_first for c in fixed)),
        ("seconds to the returned patch", median(c.seconds for c in fixed)),
        ("candidates to the first plausible patch", median(c.candidates_to_first for c in fixed)),
        ("candidates tried in all", median(c.candidates for c in fixed)),
        ("rivals of these, compared with them", median(c.rivals for c in fixed)),
    ]
    return table.text()


def _grouped(cases: Sequence[Result]) -> list[str]:
    ways: dict[str, Callable[[Result], str]] = {
        "error type": lambda case: case.error_type,
        "template": lambda case: case.template,
        "tier": lambda case: case.tier,
    }
    names = sorted({name for case in cases for name in case.labels})
    ways |= {name: _label(name) for name in names if len({case.labels.get(name) for case in cases}) <= len(cases) / 3}
    return [_by(cases, name, key) for name, key in ways.items()]


def _label(name: str) -> Callable[[Result], str]:
    return lambda case: case.labels.get(name, "")


def _by(cases: Sequence[Result], name: str, key: Callable[[Result], str]) -> str:
    table = Table((name, "cases", "plausible", "correct", "candidates to first", "seconds to first"))
    groups: dict[str, list[Result]] = {}
    for case in cases:
        groups.setdefault(key(case) or "none", []).append(case)
    for group, members in sorted(groups.items(), key=lambda item: -len(item[1])):
        fixed = [case for case in members if case.plausible]
        judged = any(case.correct is not None for case in members)
        table.rows.append(
            (
                group,
                str(len(members)),
                str(len(fixed)),
                str(sum(bool(case.correct) for case in members)) if judged else "not judged",
                median(case.candidates_to_first for case in fixed),
                median(case.seconds_to_first for case in fixed),
            )
        )
    return table.text()


def _unsolved(cases: Sequence[Result]) -> list[str]:
    notes = [
        *_listed("Not fixed", [c for c in cases if not c.plausible and not c.problem]),
        *_listed("Fixed, but not correct", [c for c in cases if c.correct is False]),
    ]
    return notes + [f"Did not run: {case.id}: {case.problem}" for case in cases if case.problem]


def _listed(title: str, cases: Sequence[Result]) -> list[str]:
    return [f"{title}: {', '.join(case.id for case in cases)}"] if cases else []


def share(part: int, whole: int) -> str:
    """A share with its 95 % interval (Wilson 1927)."""
    if not whole:
        return "none"
    low, high = wilson(part, whole)
    return f"{part} of {whole} ({part / whole:.0%}; 95 % {low:.0%} to {high:.0%})"


def median(values: Iterable[float | None]) -> str:
    """The median of what is known."""
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.4g}" if known else "–"
