"""Repair every case of a folder: `python -m benchmarks.repair --cases DIR`, or cases that an importer makes first.

The tables are printed as Markdown; `--json` keeps every result, and `--resume` goes on with what is not in that file.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import msgspec

from benchmarks.repair.cases import BadCase, Case, load_cases
from benchmarks.repair.harness import run
from benchmarks.repair.importers import history, humanevalfix, quixbugs
from benchmarks.repair.results import Results, fresh, markdown, read, write

MADE = Path(".cache/cases")


def main() -> None:
    """Entry point; exit code 2 for what was asked wrongly."""
    parser = _parser()
    given = parser.parse_args()
    if given.resume and given.json is None:
        parser.error("--resume needs --json FILE: the results to go on from")
    try:
        cases = _cases(given)
    except BadCase as problem:
        parser.error(str(problem))
    results = _resumed(parser, given) if given.resume and given.json.exists() else fresh(given.seed, given.jobs)
    run(cases, results, keep=given.json)
    if given.json is not None:
        write(given.json, results)
    sys.stdout.write(markdown(results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--cases", type=Path, help="a folder of case folders")
    source.add_argument("--quixbugs", type=Path, metavar="PATH", help="make cases of a clone of QuixBugs")
    source.add_argument("--humanevalfix", type=Path, metavar="FILE", help="make cases of HumanEvalPack's Python lines")
    source.add_argument("--history", type=Path, nargs="+", metavar="REPO", help="make cases of clones' past bug fixes")
    parser.add_argument(
        "--most", type=int, default=history.MOST, help="history: so many cases of a clone, newest first"
    )
    parser.add_argument(
        "--oracle", choices=("full", "examples"), default="full", help="HumanEvalFix: which tests are seen"
    )
    parser.add_argument("--into", type=Path, help=f"where made cases go (below {MADE})")
    parser.add_argument("--only", default="*", metavar="GLOB", help="the cases whose id fits")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="so many at a time")
    parser.add_argument("--resume", action="store_true", help="keep what --json holds and do the rest")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every result here")
    return parser


def _cases(given: argparse.Namespace) -> list[Case]:
    """The cases, made first where an importer is asked for. Raises BadCase."""
    into: Path
    if given.cases is not None:
        return load_cases(given.cases, given.only)
    if given.history is not None:
        into = given.into or MADE / "history"
        names = {history.make(clone, into, most=given.most) for clone in given.history}
        return [case for case in load_cases(into, given.only) if case.labels["project"] in names]
    if given.quixbugs is not None:
        into = given.into or MADE / "quixbugs"
        quixbugs.make(given.quixbugs, into)
    else:
        into = given.into or MADE / f"humanevalfix-{given.oracle}"
        humanevalfix.make(given.humanevalfix, into, oracle=given.oracle)
    return load_cases(into, given.only)


def _resumed(parser: argparse.ArgumentParser, given: argparse.Namespace) -> Results:
    try:
        results = read(given.json)
    except msgspec.DecodeError as problem:
        parser.error(f"{given.json} does not hold results: {problem}")
    if results.seed != given.seed:
        parser.error(f"{given.json} was made with --seed {results.seed}: give that, or another file")
    results.jobs = given.jobs
    return results


if __name__ == "__main__":
    main()
