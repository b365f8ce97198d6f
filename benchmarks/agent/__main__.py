"""Run the agent over cases, again and again, with or without what it learned: the comparison of Reflexion on your model.

    python -m benchmarks.agent --suite SUITE --run-name NAME …   # the model is the one that APPRENTICE_MODEL_* name
    python -m benchmarks.agent compare RUN_A RUN_B               # two runs, paired by case
    python -m benchmarks.agent overhead --steps 1000             # what a step costs beyond tools and model

Exit code 0 for a run that is through, 3 for one that stopped and can be resumed, 2 for what was asked wrongly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.agent.arguments import parser_of, plan_of, settings_of
from benchmarks.agent.charging import Halted, caps, charged, paid
from benchmarks.agent.comparing import compare
from benchmarks.agent.folder import HOME, Folder
from benchmarks.agent.overhead import overhead
from benchmarks.agent.records import BadRun, Plan
from benchmarks.agent.reporting import draw, report
from benchmarks.agent.suites import cases_of
from benchmarks.agent.trials import run
from benchmarks.agent.trying import Trier
from benchmarks.repair.cases import Case
from memory.embed import EMBEDDERS
from memory.store import open_store
from workers.errors import BadInput
from workers.settings import WorkerSettings

STOPPED = 3


def main(words: Sequence[str]) -> int:
    """Entry point; gives the exit code."""
    try:
        if words[:1] == ["compare"]:
            return _compared(words[1:])
        if words[:1] == ["overhead"]:
            return _measured(words[1:])
        return _evaluated(parser_of(__doc__ or "").parse_args(words))
    except (BadRun, BadInput) as problem:
        print(problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("broken off; what is finished stands, and --resume goes on", file=sys.stderr)
        return STOPPED


def _evaluated(given: argparse.Namespace) -> int:
    folder, settings = Folder(given.into / given.run_name), settings_of(given)
    with folder.locked():
        if folder.begun and not given.resume:
            raise BadRun(f"{folder.path} holds a run: give --resume to go on with it, or another --run-name")
        cases = cases_of(given, folder.path)
        plan = plan_of(given, settings, [case.id for case in cases])
        folder.begin(plan)
        if given.start_trial:
            folder.go_back(given.start_trial)
        return _run(given, folder, plan, cases, settings)


def _run(given: argparse.Namespace, folder: Folder, plan: Plan, cases: Sequence[Case], settings: WorkerSettings) -> int:
    stopped = ""
    with open_store(folder.accounts) as accounts:
        tiers = charged(settings, accounts.calls, caps(tokens=given.max_tokens, usd=given.max_usd))
        embedder = EMBEDDERS[settings.embedder]()
        trier = Trier(run=given.run_name, plan=plan, settings=settings, embedder=embedder, tiers=tiers)
        try:
            run(folder, plan, cases, given.num_trials, trier)
        except Halted as halt:
            stopped = str(halt)
        records = folder.records
        report(plan, records, paid(accounts))
    if records:
        draw(plan, records, folder.path)
    if stopped:
        print(f"  stopped: {stopped}")
    return STOPPED if stopped else 0


def _compared(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent compare")
    parser.add_argument("runs", nargs=2, metavar="RUN")
    parser.add_argument("--into", type=Path, default=HOME, metavar="DIR", help="where runs stand")
    given = parser.parse_args(words)
    ours, theirs = (Folder(given.into / name) for name in given.runs)
    compare(ours, theirs)
    return 0


def _measured(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent overhead")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args(words)
    if given.steps < 2 or given.runs < 1:
        parser.error("--steps is at least 2, --runs at least 1")
    overhead(given.steps, given.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
