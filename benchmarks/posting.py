"""Two comments a change on real histories: learned, by lot and by simple rules, in the later halves.

    python -m benchmarks.posting measure REPOSITORY...     # clones of those named in FRESH, or KEPT
    python -m benchmarks.posting own REPOSITORY...         # what repositories' own linters select, and all else
    python -m benchmarks.posting elsewhere REPOSITORY...   # the shares and weights that the product starts from

Reads with ruff alone: bandit takes most of the time, and ruff's S rules are its own. What was read is kept under --kept.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from benchmarks.history import directory_of, name_of, of_selection, read
from benchmarks.report import show
from memory.history import lessons
from memory.history.backtest import (
    LOT,
    ORACLE,
    OURS,
    SIMPLE,
    UNTAUGHT,
    Backtest,
    ComparedRanking,
    HistoryTooShort,
    backtest,
)
from memory.intervals import Numbers
from memory.model import PastFinding
from memory.store import open_store
from workers.history.changes import Blobs
from workers.history.learn import asked_rules, settled
from workers.sandbox.bubblewrap import Bubblewrap

_CANDIDATES = (
    *("pallets/jinja", "sqlalchemy/alembic", "pypa/packaging", "pypa/virtualenv", "tox-dev/tox", "psf/black"),
    *("PyCQA/isort", "benoitc/gunicorn", "encode/starlette", "encode/uvicorn", "encode/httpx", "redis/redis-py"),
    *("coleifer/peewee", "Pylons/pyramid", "arrow-py/arrow", "giampaolo/psutil", "httpie/cli", "locustio/locust"),
    *("joblib/joblib", "cookiecutter/cookiecutter", "mkdocs/mkdocs", "getpelican/pelican", "Textualize/rich"),
    *("prompt-toolkit/python-prompt-toolkit", "oauthlib/oauthlib", "celery/celery", "pexpect/pexpect"),
    *("ipython/traitlets", "mahmoud/boltons", "pygments/pygments"),
)
"""Packages whose history nothing was tuned on. In the order of the SHA-256 of their names the first twelve with 600 changes
of Python files on their branch are measured: eight as FRESH, the last four as KEPT, once, when nothing changes any more."""
FRESH = (
    *("mahmoud/boltons", "sqlalchemy/alembic", "encode/uvicorn", "pypa/packaging"),
    *("tox-dev/tox", "giampaolo/psutil", "joblib/joblib", "getpelican/pelican"),
)
KEPT = ("encode/httpx", "Pylons/pyramid", "httpie/cli", "locustio/locust")

TIMES = 2.5
"""How many times the share of a draw by lot posting is meant to reach."""

# ── What the product starts from ───────────────────────────────────────────────────────────────────────────────────

PSEUDO_COUNTS = {"family": 20.0, "rule": 25.0}
"""Pseudo-counts that a family has of all findings, and a rule of its family."""

RIDGE = 5.0
"""The weight of the squares of the weights, of features with a standard deviation of 1."""


def shares_of(histories: Sequence[Sequence[PastFinding]]) -> dict[str, float]:
    """The addressed shares by what findings are counted under; n findings of a rule in one change weigh as √n."""
    weight, addressed = defaultdict[str, float](float), defaultdict[str, float](float)
    for finding in (each for history in histories for each in lessons.informative(history)):
        for key in lessons.keys(finding.rule):
            weight[key] += finding.burst**-0.5
            addressed[key] += finding.burst**-0.5 * bool(finding.fate.addressed)
    shares = {"": round(addressed[""] / weight[""], 4)}
    for kind, pseudo_count in PSEUDO_COUNTS.items():
        for key in sorted(each for each in weight if each and each.endswith("*") == (kind == "family")):
            broader = shares["" if kind == "family" else lessons.keys(key)[1]]
            shares[key] = round((addressed[key] + pseudo_count * broader) / (weight[key] + pseudo_count), 4)
    return shares


def rows_of(history: Sequence[PastFinding], shares: Mapping[str, float]) -> Numbers:
    """The features of the findings when they were found, in their order."""
    known, here = lessons.informative(history), lessons.RuleShares(start=shares)
    rows: dict[int, tuple[float, ...]] = {}
    for number, finding, is_new in lessons.events(known):
        if is_new:
            rows[number] = lessons.features(finding, here.share(finding.rule, finding.position))
        else:
            here.add(finding)
    return np.array([rows[number] for number in range(len(known))])


def weights_of(histories: Sequence[Sequence[PastFinding]]) -> Numbers:
    """The weights of all histories alike; each sees the shares of the others alone."""
    rows, targets, counts = [], [], []
    for at, history in enumerate(histories):
        rows.append(rows_of(history, shares_of([*histories[:at], *histories[at + 1 :]])))
        targets.append(np.array([float(bool(each.fate.addressed)) for each in lessons.informative(history)]))
        weight = np.array([each.burst**-0.5 for each in lessons.informative(history)])
        counts.append(weight / weight.sum() * 30_000.0 / len(histories))
    return _fitted(np.vstack(rows), np.concatenate(targets), np.concatenate(counts))


def _fitted(rows: Numbers, targets: Numbers, counts: Numbers) -> Numbers:
    """A logistic regression with a ridge over all but the first, constant column."""
    middle, scale = rows.mean(axis=0), rows.std(axis=0)
    middle[0] = 0.0
    scale[scale == 0.0] = 1.0
    even = (rows - middle) / scale
    penalty = np.full(rows.shape[1], RIDGE)
    penalty[0] = 0.0

    def loss(weights: Numbers) -> tuple[float, Numbers]:
        odds = even @ weights
        slope = even.T @ (counts * (np.exp(-np.logaddexp(0.0, -odds)) - targets)) + penalty * weights
        return float(counts @ (np.logaddexp(0.0, odds) - targets * odds) + 0.5 * penalty @ weights**2), slope

    found: Numbers = np.asarray(minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x) / scale
    found[0] -= float(found[1:] @ middle[1:])
    return found


def write_elsewhere(histories: Sequence[Sequence[PastFinding]]) -> None:
    """Write the shares where the product reads them, and print the weights."""
    if not any(lessons.informative(history) for history in histories):
        raise SystemExit("no finding of these histories has a clear end: there is nothing to start from")
    file = Path(lessons.__file__).with_name(lessons.ELSEWHERE)
    file.write_text(json.dumps(shares_of(histories), indent=0) + "\n", "utf-8")
    found = zip(lessons.NAMES, weights_of(histories).tolist(), strict=True)
    show(f"weights of {len(histories)} histories", [(name, f"{weight:+.2f}") for name, weight in found])


# ── Measure ────────────────────────────────────────────────────────────────────────────────────────────────────────


def times_of(each: ComparedRanking) -> str:
    """The share with its interval, the volume, and the share over that of a draw by lot."""
    share = each.share
    return f"{share.estimate:6.1%} ({share.low:.1%} to {share.high:.1%}) of {each.comments:.0f}, {each.times_lot:.2f} times lot"


def report(name: str, found: Backtest) -> tuple[bool, bool, bool, bool]:
    """Print one history; whether ours reaches `TIMES` and is ahead of all simple rules: each change by itself, then carried over.

    Where the budget carries over, a simple rule has the better of its two shares.
    """
    alone, carried = found.conclusion, found.carried
    rows = [
        ("lot", times_of(alone.of(LOT))),
        *(
            (ranking, f"{times_of(alone.of(ranking))}; carried over {times_of(carried.of(ranking))}")
            for ranking in (OURS, UNTAUGHT, *SIMPLE, ORACLE)
        ),
    ]
    show(f"{name}: {found.findings} findings of {found.changes} changes, {found.base:.1%} addressed", rows)
    best_alone = max(alone.of(each).share.estimate for each in SIMPLE)
    best = max(best_alone, *(carried.of(each).share.estimate for each in SIMPLE))
    ours_alone, ours = alone.of(OURS), carried.of(OURS)
    return (
        ours_alone.times_lot >= TIMES,
        ours_alone.share.estimate > best_alone,
        ours.times_lot >= TIMES,
        ours.share.estimate > best,
    )


def measure(histories: Mapping[str, Sequence[PastFinding]], pool: str) -> None:
    """Each history by itself, then in how many what was meant is reached."""
    reached = []
    for name, findings in histories.items():
        try:
            reached.append(report(f"{name}, {pool}", backtest(findings)))
        except HistoryTooShort as little:
            show(f"{name}, {pool}", [("nothing shown", str(little))])
    alone, ahead, carried, ahead_carried = (sum(each) for each in zip(*reached, strict=True)) if reached else (0,) * 4
    show(
        f"{pool}: of {len(reached)} histories",
        [
            (f"{TIMES} times lot", f"two of each change {alone}, carried over {carried}"),
            ("ahead of all simple rules", f"two of each change {ahead}, carried over {ahead_carried}"),
        ],
    )


def own_linter(path: Path, findings: Sequence[PastFinding]) -> None:
    """How often findings are addressed that the linter of the newest commit reports, and others, in the last quarter."""
    with Blobs(directory_of(path)) as blobs:
        options = asked_rules(partial(blobs.read, "HEAD"), Bubblewrap()).options
    known = sorted(lessons.informative(findings), key=lambda each: each.position)
    latest = known[3 * len(known) // 4 :]
    rows = []
    for name, wanted in (("its own linter reports", True), ("all others", False)):
        some = [each for each in latest if options.checks(each.rule, each.path) is wanted]
        addressed = sum(bool(each.fate.addressed) for each in some)
        rows.append((name, f"{addressed / len(some):.1%} of {len(some)}" if some else "none"))
    show(f"{name_of(path)}: addressed of the latest quarter of the findings", rows)


def main() -> None:
    """Read arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "own", "elsewhere"))
    parser.add_argument("repositories", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=1500, help="changes of each to read, the latest")
    parser.add_argument("--kept", type=Path, default=Path(".cache/pasts-of-ruff"), help="where what was read is kept")
    given = parser.parse_args()
    given.kept.mkdir(parents=True, exist_ok=True)
    histories = dict[str, list[PastFinding]]()
    for path in given.repositories:
        with open_store(f"sqlite:///{given.kept.resolve()}/{name_of(path)}.db") as store:
            read(path, store, given.most, ruff_alone=True)
            histories[name_of(path)] = settled(store, name_of(path))
        if given.what == "own":
            own_linter(path, histories[name_of(path)])
    if given.what == "elsewhere":
        write_elsewhere(list(histories.values()))
    if given.what != "measure":
        return
    measure(histories, "all rules of ruff")
    measure({name: of_selection(findings) for name, findings in histories.items()}, "our selection")


if __name__ == "__main__":
    main()
