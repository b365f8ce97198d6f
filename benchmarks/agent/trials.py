"""The trials of a run: which case comes when, with which memory, and what is left once it is finished."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.agent.folder import Folder
from benchmarks.agent.records import Plan, Record
from benchmarks.agent.trying import Took, Trier
from benchmarks.repair.cases import Case
from benchmarks.report import commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A case in a trial."""

    trial: int
    case: Case
    held_out: bool


def turns(plan: Plan, cases: Sequence[Case], trials: int) -> list[Turn]:
    """Every case of every trial, in order. With `held_out`, the second half is tried before the first is learned on.

    So the first trial tries it with an empty memory, and each later one with what one more pass over the first half left.
    Without a memory there is nothing to learn on the first half for.
    """
    half = len(cases) // 2 if plan.held_out else 0
    learned = cases[:half] if plan.memory else []
    order = [*((each, plan.held_out) for each in cases[half:]), *((each, False) for each in learned)]
    return [Turn(trial=number, case=case, held_out=held) for number in range(1, trials + 1) for case, held in order]


def run(folder: Folder, plan: Plan, cases: Sequence[Case], trials: int, trier: Trier) -> None:
    """Do what is not finished yet. Raises Halted between two calls of the model; what is finished stands."""
    records = folder.records
    known = {(record.trial, record.case) for record in records}
    left = [turn for turn in turns(plan, cases, trials) if (turn.trial, turn.case.id) not in known]
    folder.tidy(records)
    with folder.log() as log:
        for turn in left:
            store = records[-1].store if records else ""
            took = trier.tried(turn.case, turn.trial, folder.copy_of(store))
            if plan.memory and not turn.held_out:
                store = folder.keep(f"{turn.trial:03}-{len(records):05}")
            records.append(_record(turn, took, store))
            log.append(records[-1])
            folder.tidy(records)
            print(_told(records[-1]), file=sys.stderr)


def _record(turn: Turn, took: Took, store: str) -> Record:
    return Record(
        trial=turn.trial, case=turn.case.id, held_out=turn.held_out, store=store, commit=commit(), **asdict(took)
    )


def _told(record: Record) -> str:
    said = record.problem or f"{record.strategy}, {record.steps} steps, {record.tokens} tokens, {record.seconds:.1f} s"
    return f"trial {record.trial}, {record.case}: {record.outcome} ({said})"
