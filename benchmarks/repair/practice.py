"""What practice would be worth: `python -m benchmarks.repair.practice CLONE... --json FILE`.

Of each clone, commits that speak of a bug and change one place of one file of code (`real_fixes`), in the order of time.
For each whose exact code some template makes at the changed lines, all edits of the function are put in the search's
order: the changed lines are suspected most, the rest of the function less, and no test runs. The place of the right edit
is how many candidates a repair would try. Practice is: slips planted in older code of the repository, which judge all its
fixes; or the fixes of the earlier half, as bugs planted anew, which judge the later half. Each is found again by the same
order.

Weights that practice gives only order the same edits anew, so every way is compared on the same candidates.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import random
import statistics
import sys
import time
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.repair.importers.commits import Clone, Commit
from benchmarks.repair.learning import by_case, in_total
from benchmarks.repair.real_fixes import FAILURE, LAYOUT, _bare, _docstrings, _edits, _lines, _texts
from benchmarks.report import bootstrap, show
from memory.template_weights import Tries, relative_rates
from workers.practice.slips import plantings
from workers.repair.classify import is_test_path
from workers.repair.engines.search.candidates import Suspect
from workers.repair.engines.search.project import ProjectSources
from workers.repair.engines.search.search import propose
from workers.repair.engines.search.source_slice import SourceModule
from workers.repair.engines.search.templates import all_templates

MADE_SECONDS, RANKED_SECONDS = 1.0, 2.0
"""Seconds of processor time to see whether some template makes a fix, and to put the edits of a function in order."""

MOST_RANKED, ELSEWHERE, MOST_LINES = 800, 0.7, 8
UNREADABLE = (SyntaxError, ValueError, RecursionError, tokenize.TokenError)
TAKEN = str.maketrans("", "", LAYOUT.decode())


class Ranked(msgspec.Struct):
    """The candidates of one bug, as templates and scores in the search's order; `right` is the place of the right one."""

    at: str
    templates: list[str]
    scores: list[float]
    right: int

    def tries(self) -> Tries:
        """As a repair of practice counts it."""
        return Counter(self.templates[: self.right + 1]), self.templates[self.right]

    def place(self, weights: Mapping[str, float]) -> int:
        """The place of the right candidate under weights, from 1."""
        lifted = [score * weights.get(name, 1.0) for name, score in zip(self.templates, self.scores, strict=True)]
        mine = lifted[self.right]
        before = sum(each == mine for each in lifted[: self.right])
        return 1 + sum(each > mine for each in lifted) + before


class Project(msgspec.Struct):
    """What was seen of one clone: fixes that templates make, oldest first, of so many tried; slips found again, of so many."""

    name: str
    fixes: list[Ranked]
    tried: int
    slips: list[Ranked]
    planted: int


def seen(path: Path, *, most: int, planted: int, seed: int) -> Project:
    """One clone, read."""
    clone = Clone(path)
    commits = [c for c in clone.commits() if c.says_fix and [c.changed[path] for path in c.sources] == ["M"]]
    fixes, tried, first = list[Ranked](), 0, None
    for commit in _sample(clone, commits, most):
        (source,) = commit.sources
        with suppress(*UNREADABLE):
            old, new = (_bare(clone.file(at, source)) for at in (commit.parent, commit.id))
            if not _is_one_place(old, new) or _docstrings(old) != _docstrings(new):
                continue
            tried += 1
            project = {**_texts(clone, commit), source: old}
            if _is_made(source, old, new, project) and (ranked := _ranked(source, old, new, project, commit.id)):
                fixes.append(ranked)
                first = commit if len(fixes) == 1 else first
    fixes.reverse()
    slips, count = _slips(clone, commits, planted, seed)
    return Project(name=clone.name, fixes=fixes, tried=tried, slips=slips, planted=count)


def _sample(clone: Clone, commits: Sequence[Commit], most: int) -> list[Commit]:
    """The newest that change few lines of code, newest first."""
    lines = clone.changed_lines("1990-01-01")
    small = (commit for commit in commits if _is_small(lines.get(commit.id, {}), commit))
    return list(islice(small, most))


def _is_small(changed: Mapping[str, tuple[int, int]], commit: Commit) -> bool:
    added, taken = changed.get(commit.sources[0], (0, 0))
    return 0 < added + taken <= MOST_LINES


def _is_one_place(old: str, new: str) -> bool:
    codes = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False).get_opcodes()
    return sum(kind != "equal" for kind, *_ in codes) == 1


def _is_made(path: str, old: str, new: str, project: Mapping[str, str]) -> bool:
    deadline, wanted = time.process_time() + MADE_SECONDS, ast.dump(ast.parse(new))
    for _, text in _edits(path, old, new, ProjectSources(dict(project))):
        if time.process_time() > deadline:
            return False
        with suppress(SyntaxError, ValueError):
            if text and ast.dump(ast.parse(text)) == wanted:
                return True
    return False


def _ranked(path: str, old: str, new: str, project: Mapping[str, str], at: str) -> Ranked | None:
    """The edits of the changed function in order; None where the right one is not among them."""
    wanted, tree = _text(new), ast.dump(ast.parse(new))
    templates, scores, right = list[str](), list[float](), -1
    deadline = time.process_time() + RANKED_SECONDS
    for candidate in islice(propose(project, _suspects(path, old, new), FAILURE, strategies=None), MOST_RANKED):
        templates.append(candidate.template)
        scores.append(candidate.score)
        if right < 0 and _text(candidate.source) == wanted and ast.dump(ast.parse(candidate.source)) == tree:
            right = len(templates) - 1
        enough = right >= 0 and len(templates) >= 3 * right + 200
        if enough or time.process_time() > deadline:
            break
    return Ranked(at=at, templates=templates, scores=scores, right=right) if right >= 0 else None


def _suspects(path: str, old: str, new: str) -> list[Suspect]:
    changed = _lines(old, new)
    extents = SourceModule(path, old).extents
    around = {
        line for e in extents if any(e.first_line <= at <= e.last_line for at in changed)
        for line in range(e.first_line, e.last_line + 1)
    }  # fmt: skip
    return [
        Suspect(path=path, line=line, score=1.0 if line in changed else ELSEWHERE) for line in sorted(around | changed)
    ]


def _slips(clone: Clone, commits: Sequence[Commit], planted: int, seed: int) -> tuple[list[Ranked], int]:
    """Slips in the modules that fixes change, in the code as it was before the newest 40 of them."""
    if not commits:
        return [], 0
    texts = _texts(clone, commits[min(40, len(commits) - 1)])
    rng = random.Random(f"{clone.name}:{seed}")
    touched = {path for commit in commits for path in commit.sources}
    modules = [path for path in sorted(texts) if path in touched and not is_test_path(path)]
    kinds: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for path in modules:
        with suppress(*UNREADABLE):
            source = _bare(texts[path].encode())
            for planting in plantings(source, f"{path}:{seed}"):
                kinds[planting.slip.kind].append((path, source, planting.applied(source)))
    waiting = [rng.sample(some, len(some)) for _, some in sorted(kinds.items())]
    found, count = [], 0
    while count < planted and any(waiting):
        for some in waiting:
            if some and count < planted:
                path, source, bug = some.pop()
                with suppress(*UNREADABLE):
                    ast.parse(bug)
                    count += 1
                    if ranked := _ranked(path, bug, source, {**texts, path: bug}, f"slip {count}"):
                        found.append(ranked)
    return found, count


def _text(source: str) -> str:
    return source.translate(TAKEN)


def _weights(practised: Iterable[Ranked], worth: float) -> dict[str, float]:
    prior = {each.name: each.prior_for(FAILURE.family) for each in all_templates()}
    return relative_rates([each.tries() for each in practised], prior, {}, worth=worth)


Places = list[tuple[float, float]]


def ways(projects: Sequence[Project], seeds: int) -> Iterator[tuple[str, Places]]:
    """Each way of practice, with the places of each judged fix with and without it (geometric means over the seeds)."""
    every = [(project, fix) for project in projects for fix in project.fixes]
    later = [(project, fix) for project in projects for fix in project.fixes[len(project.fixes) // 2 :]]
    pool = {p.name: [slip for other in projects if other is not p for slip in other.slips] for p in projects}
    for worth in (0.25, 1.0):
        yield f"slips, {worth}", _places(every, lambda p, n: _drawn(p.slips, n), worth, seeds)
        yield f"past bugs, {worth}", _places(later, lambda p, _: p.fixes[: len(p.fixes) // 2], worth, 1)
        yield (
            f"both, {worth}",
            _places(later, lambda p, n: [*_drawn(p.slips, n), *p.fixes[: len(p.fixes) // 2]], worth, seeds),
        )
        yield f"slips of the others, {worth}", _places(every, lambda p, n: _drawn(pool[p.name], n), worth, seeds)


def _places(
    judged: Sequence[tuple[Project, Ranked]],
    practised: Callable[[Project, int], Sequence[Ranked]],
    worth: float,
    seeds: int,
) -> Places:
    weights = {
        (p.name, n): _weights(practised(p, n), worth)
        for p in {p.name: p for p, _ in judged}.values()
        for n in range(seeds)
    }
    return [
        _mean([(fix.place(weights[project.name, n]), fix.place({})) for n in range(seeds)]) for project, fix in judged
    ]


def _drawn(slips: Sequence[Ranked], number: int) -> list[Ranked]:
    """Two thirds of the slips, drawn by lot."""
    return random.Random(number).sample(slips, round(len(slips) * 2 / 3))


def _mean(pairs: Sequence[tuple[int, int]]) -> tuple[float, float]:
    one, other = np.exp(np.mean(np.log(pairs), axis=0)).tolist()
    return one, other


def report(projects: Sequence[Project], seeds: int) -> None:
    """Print the table."""
    fixes = [fix for project in projects for fix in project.fixes]
    rows = [
        ("projects", str(len(projects))),
        ("past fixes tried; judged, as a template makes them", f"{sum(p.tried for p in projects)}; {len(fixes)}"),
        ("slips planted; found again", f"{sum(p.planted for p in projects)}; {sum(len(p.slips) for p in projects)}"),
        ("median place of a judged fix, without practice", f"{statistics.median(fix.place({}) for fix in fixes):g}"),
    ]  # fmt: skip
    for named, pairs in ways(projects, seeds):
        changed = sum(one != other for one, other in pairs)
        rows.append(
            (
                f"candidates with over without, by case: {named}",
                f"× {bootstrap(pairs, by_case).shown()}; {changed} of {len(pairs)} changed",
            )
        )
        rows.append(("  in total", f"× {bootstrap(pairs, in_total).shown()}"))
    show("practice, judged by past fixes", rows)


def main() -> None:
    """Go on with the clones that are missing, print the table after each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.practice", description=__doc__)
    parser.add_argument("clones", type=Path, nargs="+", metavar="CLONE")
    parser.add_argument("--most", type=int, default=60, help="so many fixes of a clone, the newest")
    parser.add_argument("--planted", type=int, default=24, help="so many slips of a clone")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="where what was seen is kept")
    given = parser.parse_args()
    projects = msgspec.json.decode(given.json.read_bytes(), type=list[Project]) if given.json.exists() else []
    for clone in given.clones:
        if all(project.name != clone.resolve().name for project in projects):
            began = time.process_time()
            projects.append(seen(clone, most=given.most, planted=given.planted, seed=given.seed))
            given.json.write_bytes(msgspec.json.encode(projects))
            last = projects[-1]
            print(
                f"{last.name}: {len(last.fixes)} of {last.tried} fixes, {len(last.slips)} of {last.planted} slips, {time.process_time() - began:.0f} s of processor time",
                file=sys.stderr,
                flush=True,
            )
    if any(len(project.fixes) > 1 for project in projects):
        report(projects, given.seeds)


if __name__ == "__main__":
    main()
