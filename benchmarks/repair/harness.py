"""Run cases in processes of their own, several at a time; every result is kept at once, so that a run can be resumed."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing.sharedctypes import Synchronized
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
    settling = (context.Value("i", 0), results.jobs)
    pool = ProcessPoolExecutor(results.jobs, mp_context=context, initializer=_settle, initargs=settling)
    with progress_bar(console) as bar, _ending(pool):
        shown = bar.add_task("", total=len(cases), completed=len(cases) - len(left))
        waiting: list[Future[Result]] = [pool.submit(attempted, case, results.seed) for case in left]
        for future in as_completed(waiting):
            result = future.result()
            results.cases.append(result)
            if keep is not None:
                write(keep, results)
            bar.console.print(line_of(result), highlight=False, markup=False, soft_wrap=True)
            bar.advance(shown)
    results.cases.sort(key=lambda result: result.id)


def shared(cores: Sequence[int], number: int, jobs: int) -> list[int]:
    """The cores of one of so many jobs: none is without, and none has another's while there are enough."""
    return list(cores[number % jobs :: jobs]) or [cores[number % len(cores)]]


def _settle(begun: Synchronized[int], jobs: int) -> None:
    """Keep a process to its share of the cores: a repair takes as many as it sees."""
    with begun.get_lock():
        number, begun.value = begun.value, begun.value + 1
    os.sched_setaffinity(0, shared(sorted(os.sched_getaffinity(0)), number, jobs))


@contextmanager
def _ending(pool: ProcessPoolExecutor) -> Iterator[None]:
    """Have nothing more begun once a run is broken off, by Ctrl-C or an error: what is at work ends, and the rest is left."""
    try:
        yield
    finally:
        pool.shutdown(cancel_futures=True)


def line_of(result: Result) -> str:
    """A line for one result."""
    judged = {None: "", True: ", correct", False: ", NOT correct"}[result.correct]
    if result.problem:
        return f"{result.id}: did not run: {result.problem}"
    outcome = f"fixed by {result.template}{judged}" if result.plausible else "not fixed"
    return f"{result.id}: {outcome} ({result.candidates} candidates, {result.seconds:.1f} s)"


def progress_bar(console: Console) -> Progress:
    """How many are done, and the time taken and left."""
    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
    )
