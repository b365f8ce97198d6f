"""What skills and reflections are worth.

With clones (--history): how many of their later past fixes a skill of the earlier ones makes, where the fix was made; no
test is run. With cases (--cases): candidates to the first plausible patch with skills of what was found in all other
projects' cases, against none; and those of a second attempt at a case that a first one left unsolved, by what it is given.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from benchmarks.repair.attempt import opened, remembering
from benchmarks.repair.cases import BadCase, Case, load_cases
from benchmarks.repair.firstfound import FirstFound
from benchmarks.repair.importers.commits import Clone
from benchmarks.repair.learning import Tried, compare
from benchmarks.repair.remembered import Remembered
from benchmarks.report import show
from memory.embed import HashedWords
from memory.generalise import generalised
from memory.groups import Taught
from memory.intervals import wilson
from memory.model import Experience, Failure, Family, RetryMode, Rewrite, Skill
from memory.rewrites import rewrites
from memory.skills import mean
from memory.store import QUORUM
from workers.context import Context
from workers.errors import ApprenticeError
from workers.repair.candidates import Suspect
from workers.repair.episode import repair
from workers.repair.search import propose
from workers.repair.skills import templates_of
from workers.sandbox.bubblewrap import Bubblewrap

LONGEST = 3600.0
NOWHERE = Failure(error_type="", family=Family.OTHER, message="", frames=(), failing_tests=("a test",))
MOST_MADE = 100
"""Edits of skills that are made at one fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A past fix of one module. `written` is when, in seconds."""

    project: str
    commit: str
    written: int
    path: str
    before: str
    after: str
    edits: tuple[Rewrite, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """What skills made at one past fix: whether the fix was among it, as the how manieth, of how many."""

    found: int | None
    made: int


def fixes(clone: Path, most: int) -> list[Fix]:
    """A clone's latest commits that say to be a fix, a Fix for each module that they changed in few places."""
    repository, found = Clone(clone), list[Fix]()
    for commit in islice((c for c in repository.commits() if c.says_fix and 0 < len(c.sources) <= 3), most):
        when = int(_git(clone, "show", "-s", "--format=%ct", commit.id))
        for path in commit.sources:
            sides = [repository.file(at, path) for at in (commit.parent, commit.id)]
            before, after = (side.decode(errors="replace") if side else "" for side in sides)
            if before and after and (edits := rewrites(before, after)):
                found.append(
                    Fix(
                        project=repository.name,
                        commit=commit.id,
                        written=when,
                        path=path,
                        before=before,
                        after=after,
                        edits=edits,
                    )
                )
    return found


def _git(clone: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(clone), *words], capture_output=True, check=True, text=True
    ).stdout


def taught(fix: Fix) -> list[Taught]:
    """What a fix teaches."""
    return [
        Taught(experience=fix.commit, repository=fix.project, error_type="", family=Family.OTHER, rewrite=each)
        for each in fix.edits
    ]


def covered(fix: Fix, skills: Sequence[Skill]) -> Covered:
    """What skills make of the statements that a fix changed."""
    suspects = [Suspect(path="a.py", line=line, score=1.0) for line in _changed(fix)]
    made = propose({"a.py": fix.before}, suspects, NOWHERE, strategies=(), learned=templates_of(skills))
    found, count, wanted = None, 0, _bare(fix.after)
    for count, candidate in enumerate(islice(made, MOST_MADE), start=1):
        if found is None and _bare(candidate.source) == wanted:
            found = count
    return Covered(found=found, made=count)


def _bare(source: str) -> str:
    """Code without layout, comments and parentheses, for comparing; an edited docstring makes another one."""
    lines = (line.partition("#")[0] for line in source.splitlines())
    return "".join("".join(lines).split()).translate({ord("("): None, ord(")"): None, ord("'"): '"'})


def _changed(fix: Fix) -> Iterator[int]:
    """The lines of the old text that differ, or between which something was added."""
    old, new = fix.before.splitlines(), fix.after.splitlines()
    head = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    tail = next((n for n, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b), 0)
    yield from range(head + 1, max(head + 1, len(old) - tail) + 1)


def history(clones: Sequence[Path], most: int) -> None:
    """Learn of the earlier half of all fixes, and look for the later ones of a single edit among what that makes."""
    known = sorted((fix for clone in clones for fix in fixes(clone, most)), key=lambda fix: fix.written)
    earlier, later = known[: len(known) // 2], [fix for fix in known[len(known) // 2 :] if len(fix.edits) == 1]
    skills = generalised([each for fix in reversed(earlier) for each in taught(fix)])
    several = [skill for skill in skills if len(skill.taught_by) > 1]
    ranked = [replace(skill, rate=mean(skill, 0, 0)) for skill in skills]
    found = [covered(fix, ranked) for fix in later]
    hits = [each for each in found if each.found is not None]
    low, high = wilson(len(hits), len(found))
    show(
        f"skills of past fixes: {len(clones)} clones, {len(known)} fixed modules, the earlier half learned from",
        [
            ("skills", f"{len(skills)}, {len(several)} of them of several fixes"),
            ("later fixes of one edit", str(len(found))),
            ("where a skill applies", f"{sum(each.made > 0 for each in found)}"),
            (
                "edits made there",
                f"median {statistics.median([e.made for e in found if e.made] or [0]):.0f}, {MOST_MADE} at most",
            ),
            (
                "fixes made by a skill",
                f"{len(hits)}: {len(hits) / max(1, len(found)):.1%} (95 % {low:.1%} to {high:.1%})",
            ),
            ("as the how manieth edit", ", ".join(str(each.found) for each in hits) or "never"),
        ],
    )


@dataclass(slots=True)
class Bench:
    """Runs cases in one sandbox that remembers verdicts."""

    most: int
    sandbox: Remembered
    seed: int

    def tried(self, case: Case, context: Context, most: int, modes: tuple[RetryMode, ...] = tuple(RetryMode)) -> Tried:
        """Candidates to the first plausible patch, with what `context` remembers; it learns of it."""
        try:
            with opened(case, context) as (task, project):
                tools = replace(context.toolbox(), workbench=partial(FirstFound, most=most), retries=modes)
                first = repair(task, project, tools).first
        except ApprenticeError as error:
            print(f"{case.id} did not run: {error}", file=sys.stderr)
            first = None
        return Tried(case=case.id, candidates=first.candidates if first else most, found=first is not None)

    @contextmanager
    def memory(self, case: Case, known: Sequence[Experience] = ()) -> Iterator[Context]:
        """A fresh memory that holds some experiences."""
        with tempfile.TemporaryDirectory(prefix="apprentice-memory-") as home:
            context = remembering(Path(home), LONGEST, self.seed, HashedWords()).for_task(case.id)
            context.__dict__["sandbox"] = self.sandbox  # where the cached property keeps it
            for experience in known:
                context.store.experiences.add(experience, "")
            yield context
            context.store.close()


def project_of(case: Case) -> str:
    """What a case is of: the other cases of the same are not learned from."""
    return f"benchmark/{case.labels.get('project', case.id)}"


def lessons(bench: Bench, cases: Sequence[Case]) -> tuple[list[Tried], dict[str, Experience]]:
    """Every case with an empty memory, and what its patch teaches where there is one."""
    tries, learned = list[Tried](), dict[str, Experience]()
    for case in cases:
        with bench.memory(case) as context:
            tries.append(bench.tried(case, context, bench.most))
            for found in context.store.experiences.all():
                if found.rewrites:
                    learned[case.id] = found
    return tries, learned


def with_skills(bench: Bench, cases: Sequence[Case], learned: Mapping[str, Experience]) -> list[Tried]:
    """Every case with the skills of all other projects' patches, as if they were its own repository's: no quorum is asked."""
    tries = []
    for case in cases:
        own = project_of(case)
        known = [
            replace(each, repository=own, shape=None, tried={}, signature="")
            for each in learned.values()
            if each.repository != own
        ]
        with bench.memory(case, known) as context:
            tries.append(bench.tried(case, context, bench.most))
    return tries


def second(bench: Bench, case: Case, first: int, mode: RetryMode) -> Tried:
    """A second attempt at a case, after one that was cut off after `first` candidates."""
    with bench.memory(case) as context:
        bench.tried(case, context, first)
        return bench.tried(case, context, bench.most, (mode,))


def repairs(cases: Sequence[Case], bench: Bench) -> None:
    """Both comparisons on cases."""
    cold, learned = lessons(bench, cases)
    print(f"{len(learned)} of {len(cases)} cases taught something", file=sys.stderr)
    skilled = with_skills(bench, cases, learned)
    late = [(case, each) for case, each in zip(cases, cold, strict=True) if each.found and each.candidates > 2]
    retried: dict[RetryMode, list[Tried]] = {
        mode: [second(bench, case, each.candidates // 2, mode) for case, each in late] for mode in RetryMode
    }
    nothing = retried[RetryMode.NONE]
    show(
        f"skills and reflections: {len(cases)} cases, {bench.most} candidates each at most, seed {bench.seed}",
        [
            ("solved, without and with skills", f"{_solved(cold)}, {_solved(skilled)} of {len(cases)}"),
            *compare(skilled, cold, "with skills over without"),
            *(
                row
                for mode in RetryMode
                if mode is not RetryMode.NONE
                for row in compare(retried[mode], nothing, f"second attempt, {mode} over none")
            ),
        ],
        [
            f"second attempts: at {len(late)} cases, after a first one that was cut off half-way to its patch",
            f"no quorum of {QUORUM} was asked of skills here",
        ],
    )


def _solved(tried: Sequence[Tried]) -> int:
    return sum(each.found for each in tried)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.skills", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--history", type=Path, nargs="+", metavar="REPO", help="clones, by their past fixes")
    source.add_argument("--cases", type=Path, help="a folder of case folders")
    parser.add_argument("--only", default="*", metavar="GLOB", help="the cases whose id fits")
    parser.add_argument("--most", type=int, default=150, help="candidates of a repair, or fixes of a clone, at most")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.most < 1:
        parser.error("--most is at least 1")
    try:
        if given.history is not None:
            history(given.history, given.most)
        else:
            repairs(load_cases(given.cases, given.only), Bench(given.most, Remembered(Bubblewrap()), given.seed))
    except BadCase as problem:
        parser.error(str(problem))


if __name__ == "__main__":
    main()
