"""Run cases in processes of their own, several at a time; every result is kept at once, so that a run can be resumed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.repair.attempt import attempted
from benchmarks.repair.cases import Case
from benchmarks.repair.results import Result, Results, write


def run(cases: Sequence[Case], results: Results, *, keep: Path | None) -> None:
    """Attempt the cases that `results` does not know yet and add what comes of them, which is written to `keep`."""
    left = [case for case in cases if case.id not in results.known()]
    console = Console(stderr=True)
    context = multiprocessing.get_context("spawn")
    with _bar(console) as bar, ProcessPoolExecutor(results.jobs, mp_context=context) as pool:
        shown = bar.add_task("", total=len(cases), completed=len(cases) - len(left))
        waiting: list[Future[Result]] = [pool.submit(attempted, case, results.seed) for case in left]
        for future in as_completed(waiting):
            result = future.result()
            results.cases.append(result)
            if keep is not None:
                write(keep, results)
            bar.console.print(told(result), highlight=False, markup=False)
            bar.advance(shown)
    results.cases.sort(key=lambda result: result.id)


def told(result: Result) -> str:
    """A line for one result."""
    judged = {None: "", True: ", correct", False: ", NOT correct"}[result.correct]
    if result.problem:
        return f"{result.id}: did not run: {result.problem}"
    outcome = f"fixed by {result.template}{judged}" if result.plausible else "not fixed"
    return f"{result.id}: {outcome} ({result.candidates} candidates, {result.seconds:.1f} s)"


def _bar(console: Console) -> Progress:
    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
    )
