"""How many edits come before the developer's, in the functions that past fixes change, and which templates come too early.

    python -m benchmarks.repair.edit_order places CLONE... --into FILE
    python -m benchmarks.repair.edit_order fit FILE [--held NAME...]

`places` takes the fixes of `benchmarks.repair.real_fixes` that a template makes, and puts the edits of the changed functions
in the search's order, all lines being equally suspect. It adds each fix to FILE, which `fit` reads.

`fit` finds what each template's scores have to be multiplied by, by conditional logit: the chance of an edit among those of
its fix is its score, times its template's factor, to one power (McFadden 1974). It shows what that does to the places in the
repositories that are held out, and in the others by those of their own fold left out.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.repair.importers.commits import Clone
from benchmarks.repair.real_fixes import LAYOUT, Fix, changed_lines, fixes_of, makers
from benchmarks.report import Interval, bootstrap, ratio_of_sums, show
from workers.repair.candidates import Suspect
from workers.repair.engines.search.search import SearchSpace

MOST, SECONDS = 3000, 8.0
"""So many edits of a fix are made, in so many seconds of processor time."""

RIDGE, FOLDS = 8.0, 5
"""How strongly a factor is held at 1: a variance of 1/8 of its logarithm, beforehand."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The edits of one fix's functions, best first: each one's template and score; `right` is the index of the developer's."""

    repository: str
    path: str
    right: int
    templates: tuple[str, ...]
    scores: tuple[float, ...]

    @property
    def place(self) -> int:
        """The place of the developer's edit, from 1."""
        return self.right + 1

    def place_by(self, factors: dict[str, float]) -> int:
        """Its place where each score is multiplied by its template's factor; equals keep their order."""
        scores = [score * factors.get(name, 1.0) for name, score in zip(self.templates, self.scores, strict=True)]
        mine = scores[self.right]
        return 1 + sum(score > mine or (score == mine and at < self.right) for at, score in enumerate(scores))


def main() -> None:
    """Run the command that is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.edit_order", description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("places")
    one.add_argument("clones", type=Path, nargs="+", metavar="CLONE")
    one.add_argument("--into", type=Path, required=True, metavar="FILE")
    one.add_argument("--most", type=int, default=30, help="so many commits of a clone")
    one.set_defaults(run=lambda given: write_places(given.clones, given.into, given.most))
    other = commands.add_parser("fit")
    other.add_argument("file", type=Path)
    other.add_argument("--held", nargs="*", default=(), metavar="NAME")
    other.add_argument("--share", type=float, default=1.0, help="of a factor's logarithm: 0.5 goes half way")
    other.set_defaults(run=lambda given: report(read(given.file), given.held, given.share))
    given = parser.parse_args()
    given.run(given)


# ── The places of past fixes


def write_places(clones: Sequence[Path], into: Path, most: int) -> None:
    """Add the order of each made fix of some clones to a file; shows the places of each clone when it is done."""
    for clone in map(Clone, clones):
        found = [order for fix in fixes_of(clone, most, random.Random(1)) for order in _orders(clone.name, fix)]
        with into.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(order)) + "\n" for order in found)
        sys.stdout.write(f"{clone.name}: {', '.join(str(order.place) for order in found) or 'none made'}\n")
        sys.stdout.flush()


def read(file: Path) -> list[Order]:
    """What `write_places` wrote."""
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    return [Order(**{**row, "templates": tuple(row["templates"]), "scores": tuple(row["scores"])}) for row in rows]


def _orders(repository: str, fix: Fix) -> Iterator[Order]:
    """The order of a fix that some template makes; none where the developer's edit is not among the first."""
    templates: list[str] = []
    scores: list[float] = []
    with suppress(SyntaxError, ValueError, RecursionError):
        letters, wanted, right = _letters(fix.new), ast.dump(ast.parse(fix.new)), None
        candidates = _space(fix).proposed(seed=1) if makers(fix) else ()
        deadline = time.process_time() + SECONDS
        for candidate in candidates:
            if len(scores) == MOST or time.process_time() > deadline:
                break
            if (
                right is None
                and _letters(candidate.source) == letters
                and ast.dump(ast.parse(candidate.source)) == wanted
            ):
                right = len(scores)
            templates.append(candidate.template)
            scores.append(candidate.score)
        if right is not None:
            yield Order(
                repository=repository, path=fix.path, right=right, templates=tuple(templates), scores=tuple(scores)
            )


def _letters(text: str) -> bytes:
    return text.encode().translate(None, LAYOUT)


def _space(fix: Fix) -> SearchSpace:
    """The changed functions, all of their lines equally suspect."""
    lines = changed_lines(fix.old, fix.new)
    functions = (
        node for node in ast.walk(ast.parse(fix.old)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    spans = [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in functions]
    inside = lines.union(*(span for span in spans if lines.intersection(span)))
    suspects = [Suspect(path=fix.path, line=line, score=0.9) for line in sorted(inside)]
    return SearchSpace(sources=fix.project, suspects=suspects, failure=fix.failure)


# ── What templates' scores should be multiplied by


def report(orders: Sequence[Order], held: Sequence[str], share: float = 1.0) -> None:
    """Fit on what is not held out, and show the factors and what they do to the places."""
    others = [order for order in orders if order.repository not in held]
    kept = [order for order in orders if order.repository in held]
    if not others:
        raise SystemExit("nothing is left to fit on: hold out fewer repositories")
    factors = fitted(others, share)
    show("factors", [(name, f"{factor:.2f}") for name, factor in sorted(factors.items(), key=itemgetter(1))])
    crossed = list(_crossed(others, share))
    rows = [("fitted on, by the other folds", effect(crossed))]
    if kept:
        rows.append(("held out", effect([(order, order.place_by(factors)) for order in kept])))
    show("places with the factors, times the places without", rows)


def _crossed(orders: Sequence[Order], share: float) -> Iterator[tuple[Order, int]]:
    """Each order with its place by factors that its repository had no part in."""
    names = sorted({order.repository for order in orders})
    for fold in range(min(FOLDS, len(names))):
        out = set(names[fold::FOLDS])
        factors = fitted([order for order in orders if order.repository not in out], share)
        yield from ((order, order.place_by(factors)) for order in orders if order.repository in out)


def effect(places: Sequence[tuple[Order, int]]) -> str:
    """The geometric mean of new places over old ones, with an interval over the repositories, and both medians."""
    logs: dict[str, list[float]] = {}
    for order, new in places:
        logs.setdefault(order.repository, []).append(math.log(new / order.place))
    sums = [(math.fsum(each), float(len(each))) for each in logs.values()]
    mean = bootstrap(sums, ratio_of_sums)
    ratio = Interval(estimate=math.exp(mean.estimate), low=math.exp(mean.low), high=math.exp(mean.high))
    before, after = (statistics.median(each) for each in ([o.place for o, _ in places], [new for _, new in places]))
    nearer, farther = (sum(sign * new < sign * o.place for o, new in places) for sign in (1, -1))
    return f"{ratio.shown()}; median {before:g}, now {after:g}; {nearer} nearer, {farther} farther, of {len(places)}"


def fitted(orders: Sequence[Order], share: float = 1.0) -> dict[str, float]:
    """The factor of each template that has edits in these, to the power of `share`."""
    names = sorted({name for order in orders for name in order.templates})
    index = {name: at for at, name in enumerate(names)}
    rows = [
        (order.right, np.array([index[name] for name in order.templates]), np.log(np.maximum(order.scores, 1e-6)))
        for order in orders
    ]

    def loss(parameters: Floats) -> tuple[float, Floats]:
        power, logs = parameters[0], parameters[1:]
        slope = np.concatenate([[0.0], RIDGE * logs])
        total = 0.5 * RIDGE * float(logs @ logs)
        for right, kinds, scores in rows:
            worth = scores + logs[kinds]
            chances = np.exp(power * (worth - worth.max()))
            chances /= chances.sum()
            total -= math.log(chances[right])
            slope[0] -= worth[right] - chances @ worth
            slope[1 + kinds[right]] -= power
            np.add.at(slope, 1 + kinds, power * chances)
        return total, slope

    bounds = [(0.2, 10.0), *[(-2.0, 2.0)] * len(names)]
    found = minimize(loss, np.array([2.0, *[0.0] * len(names)]), jac=True, method="L-BFGS-B", bounds=bounds)
    return dict(zip(names, np.exp(share * found.x[1:]).tolist(), strict=True))


if __name__ == "__main__":
    main()
