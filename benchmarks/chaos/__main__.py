"""Deliveries into web and worker processes that are killed all the time, with a GitHub that fails: what was lost, doubled, stuck or silent.

    python -m benchmarks.chaos                # 2 web and 4 worker processes on Redis and PostgreSQL
    python -m benchmarks.chaos --embedded     # one of each, on the embedded broker and SQLite

The servers are its own, on loopback; GitHub is the stand-in of `make demo` over HTTP.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from math import inf
from pathlib import Path

from benchmarks.chaos.run import ChaosResult, Scenario, run
from benchmarks.report import show

DEFAULTS = (10_000, 62)
EMBEDDED = (2_000, 14)
SHOWN = 20
ATTACKS = {
    "child": "a worker's child in its job",
    "worker": "a worker",
    "serve": "a web process",
    "store": "its process that stores deliveries",
    "sweep": "the sweeper",
    "mint": "the minting process",
    "redis": "Redis, away for 1 to 8 s",
    "postgresql": "PostgreSQL, away for 0.5 to 4 s",
    "backend": "a process of PostgreSQL's",
    "wipe": "the broker wiped",
}


def report(scenario: Scenario, result: ChaosResult) -> None:
    """Print what was done, what is wrong, and how long work stood still."""
    verdict, requests = result.verdict, result.requests
    failures = {name: count for name, count in requests.items() if name.startswith("5xx")}
    killed = sum(count for name, count in result.kills.items() if name in ATTACKS and name != "wipe")
    rows = [
        ("deliveries by what users did", f"{requests['by users']} in {result.seconds / 60:.1f} minutes"),
        ("further ones, by what Apprentice did", str(requests.get("by what Apprentice did", 0))),
        ("requested again", str(requests.get("redeliveries", 0))),
        ("jobs", str(result.jobs)),
        ("acts", ", ".join(f"{name} {count}" for name, count in sorted(result.acts.items()))),
        (
            "requests to GitHub",
            f"{requests['requests']}: " + ", ".join(f"{n} {c}" for n, c in sorted(failures.items())),
        ),
        ("repositories whose tokens were revoked", str(requests.get("repositories whose tokens were revoked", 0))),
        ("SIGKILLs", f"{killed}: " + ", ".join(f"{n} {c}" for n, c in sorted(result.kills.items()))),
        ("effects that have to be there", str(result.effects)),
        ("lost", str(len(verdict.lost))),
        ("doubled", str(len(verdict.doubled))),
        ("stuck", str(len(verdict.stuck))),
        ("silent", str(len(verdict.silent))),
        ("failed, and told", str(len(verdict.failed))),
    ]
    kind = "SQLite and the embedded broker" if scenario.embedded else "PostgreSQL and Redis"
    show(f"chaos: {scenario.webs} web, {scenario.workers} workers with {scenario.slots} processes each, {kind}", rows)
    for title, times in (("to the next job that ends", result.to_next), ("to the end of its own job", result.to_own)):
        if times:
            show(f"seconds from a kill {title}", [_times(*each) for each in times.items()])
    ends = [(name, f"{spent:.0f} s, {minutes:.0f} minutes by the clock") for name, spent, minutes in result.outages]
    if ends:
        show("from the end of an outage to an empty queue", ends)
    for name in ("lost", "doubled", "stuck", "silent", "failed"):
        for line in getattr(verdict, name)[:SHOWN]:
            print(f"{name}: {line}")


def _times(name: str, times: Sequence[float]) -> tuple[str, str]:
    middle = f"{statistics.median(times):.1f} (median of {len(times)}; {min(times):.1f} to {max(times):.1f})"
    return ATTACKS[name], middle


def main() -> int:
    """Read arguments, run, report; 1 where something is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--embedded", action="store_true", help="SQLite and the embedded broker, one process of each")
    parser.add_argument("--deliveries", type=int, help="by what users do")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--minutes", type=float, default=inf, help="after which users stop, whatever is sent then")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="where to keep the log of all processes")
    given = parser.parse_args()
    deliveries, kills = EMBEDDED if given.embedded else DEFAULTS
    scenario = Scenario(
        deliveries=given.deliveries or deliveries,
        kills=kills if given.kills is None else given.kills,
        seconds=60 * given.minutes,
        embedded=given.embedded,
        webs=1 if given.embedded else 2,
        workers=1 if given.embedded else 4,
        seed=given.seed,
    )
    result = run(scenario)
    if given.log:
        given.log.write_text(result.log)
    report(scenario, result)
    return 0 if result.verdict.good else 1


if __name__ == "__main__":
    raise SystemExit(main())
