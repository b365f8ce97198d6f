"""After how many verdicts fixes follow a maintainer's taste.

A scripted maintainer has bugs repaired that a guard and a conversion repair alike. They close fixes of the kind that they
dislike, merge those of the kind that they like, and leave all others; once the fixes follow, the taste turns over. Each seed
is a repository and a memory of its own, and meets the programs in an order of its own, under names that are new each time.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import tomllib
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.repair.attempt import remembering
from benchmarks.report import show, spread
from bot.local import digest
from memory.model import Actor, Attempt, Permission, SignalKind, Task, TaskKind
from memory.retrieval.embeddings import HashedWords
from workers.context import Context
from workers.repair.episode import repair
from workers.sandbox.project import discover

GUARD, CONVERSION, OTHER = "guard", "conversion", "other"
MAYA = Actor(id=1, login="maya")
BUDGET_SECONDS = 30.0

FOLLOWED = 6
"""So many fixes in a row have to be of the liked kind: as many as there are programs."""

MOST = {False: 15, True: 25}
"""How many verdicts the fixes may need, before the taste changes and after it."""

WORDS = (
    "rice",
    "salt",
    "sugar",
    "beans",
    "lentil",
    "pepper",
    "oat",
    "barley",
    "tea",
    "coffee",
    "honey",
    "oil",
    "flour",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program with a bug in `line`, and what a guard and a conversion make of that line; `kept` to check with."""

    name: str
    line: str
    guard: str
    conversion: str
    source: str
    tests: str
    kept: bool = False

    def written(self, tree: Path, word: str) -> None:
        """The program as files, about a thing of this name."""
        (tree / f"{word}.py").write_text(self.source.lstrip().replace("THING", word))
        tests = self.tests.lstrip().replace("THING", word)
        (tree / f"test_{word}.py").write_text(f"from {word} import *\n\n\n{tests}")


def programs() -> list[Program]:
    """All programs, in the order of their file."""
    document = tomllib.loads((Path(__file__).parent / "programs.toml").read_text())
    return [Program(**each) for each in document["program"]]


def kind_of(patch: str) -> str:
    """What a person who reads a patch calls it."""
    removed, added = ([line[1:] for line in patch.splitlines() if line[:1] == s != line[1:2]] for s in "-+")
    if any(mark in line for line in added for mark in ("if ", ".get(", " or ", " and ")):
        return GUARD
    calls = [sum(line.count("(") for line in lines) for lines in (removed, added)]
    return CONVERSION if len(removed) == len(added) == 1 and calls[1] > calls[0] else OTHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One fix and what the maintainer did: whether they like its kind (None: no opinion, or no fix)."""

    program: str
    kind: str
    template: str
    candidates: int
    liked: bool | None


@dataclass(slots=True)
class Maintainer:
    """The taste, which can turn over, and the verdicts by it."""

    context: Context
    liked: str = CONVERSION
    silent: bool = False

    def judge(self, attempt: Attempt) -> bool | None:
        """Merge or close a fix, if it is of one of the kinds that matter."""
        if (kind := kind_of(attempt.patch)) == OTHER:
            return None
        likes = kind == self.liked
        if not self.silent:
            done = SignalKind.FIX_MERGED if likes else SignalKind.FIX_CLOSED
            self.context.learner.record_signal(
                attempt.decision_id, done, MAYA, Permission.WRITE, f"pull:{attempt.decision_id}"
            )
        return likes

    def change(self) -> None:
        """Like the other kind from now on."""
        self.liked = GUARD if self.liked == CONVERSION else CONVERSION


def meetings(seed: int, known: Sequence[Program]) -> Iterator[tuple[Program, str]]:
    """Programs in rounds of a random order each, every time under another word."""
    rng = random.Random(seed)
    number = 0
    while True:
        for program in rng.sample(known, len(known)):
            yield program, f"{WORDS[number % len(WORDS)]}_{number // len(WORDS)}"
            number += 1


def asked(program: Program, word: str, maintainer: Maintainer, seed: int) -> Answer:
    """One repair of a program, and the verdict on it."""
    context = maintainer.context
    with tempfile.TemporaryDirectory(prefix="apprentice-taste-") as folder:
        tree = Path(folder)
        program.written(tree, word)
        task = Task(
            id=uuid.uuid4().hex,
            kind=TaskKind.REPAIR,
            repository=f"taste/{seed}",
            sha=digest(tree),
            number=0,
            created_at=context.clock(),
        )
        context.store.tasks.add(task)
        project = discover(tree, python=None, test_command=None)
        repaired = repair(task, project, context.for_task(f"{seed}:{word}").repair_deps())
    if repaired.proven is None:
        return Answer(program=program.name, kind="", template="", candidates=repaired.candidates, liked=None)
    known = context.store.experiences.get(repaired.proven.decision_id)
    return Answer(
        program=program.name,
        kind=kind_of(repaired.proven.patch),
        template=known.shape.template if known and known.shape else "",
        candidates=repaired.candidates,
        liked=maintainer.judge(repaired.proven),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """The fixes under one taste. `verdicts` were needed until they followed, None where they never did."""

    seed: int
    likes: str
    changed: bool
    answers: tuple[Answer, ...]
    verdicts: int | None


def phase(seed: int, maintainer: Maintainer, met: Iterator[tuple[Program, str]], *, changed: bool) -> Phase:
    """Have bugs repaired until the fixes follow, or the maintainer gave as many verdicts as they may need."""
    answers: list[Answer] = []
    verdicts, row = 0, 0
    while row < FOLLOWED and verdicts - row <= MOST[changed]:
        program, word = next(met)
        answers.append(asked(program, word, maintainer, seed))
        liked = answers[-1].liked
        verdicts += liked is not None
        row = row + 1 if liked else row if liked is None else 0
        print(f"seed {seed}, likes {maintainer.liked}s: {answers[-1]}", file=sys.stderr, flush=True)
    needed = verdicts - row if row >= FOLLOWED else None
    return Phase(seed=seed, likes=maintainer.liked, changed=changed, answers=tuple(answers), verdicts=needed)


def played(seed: int, known: Sequence[Program], first: str, *, silent: bool) -> list[Phase]:
    """Both tastes of one repository, one after the other."""
    with tempfile.TemporaryDirectory(prefix="apprentice-memory-") as home:
        context = remembering(Path(home), BUDGET_SECONDS, seed, HashedWords())
        with context.store:
            maintainer = Maintainer(context, first, silent)
            met = meetings(seed, known)
            before = phase(seed, maintainer, met, changed=False)
            maintainer.change()
            return [before, phase(seed, maintainer, met, changed=True)]


def rows(phases: Sequence[Phase]) -> list[tuple[str, str]]:
    """What was needed, in words."""
    found = []
    for changed, name in ((False, "at first"), (True, "after the change")):
        those = [each for each in phases if each.changed is changed]
        needed = [each.verdicts for each in those if each.verdicts is not None]
        answers = [answer for each in those for answer in each.answers]
        judged = [answer for answer in answers if answer.liked is not None]
        liked = sum(answer.liked is True for answer in judged)
        reached = f"{len(needed)} of {len(those)} seeds within {MOST[changed]}"
        found.append((f"verdicts, {name}", f"{spread(needed, 0) if needed else 'never'}: {reached}"))
        found.append((f"liked, {name}", f"{liked} of {len(judged)} judged fixes, of {len(answers)} bugs"))
    return found


def main() -> int:
    """Measure, print, and end with 1 where a seed needs more verdicts than it may."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.taste", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="repositories, each with a memory of its own")
    parser.add_argument("--from-seed", type=int, default=0, help="the first of them")
    parser.add_argument(
        "--kept", action="store_true", help="the programs that are kept to check, instead of the others"
    )
    parser.add_argument(
        "--first", choices=(GUARD, CONVERSION), default=CONVERSION, help="the kind that is liked at first"
    )
    parser.add_argument("--without-verdicts", action="store_true", help="keep the verdicts from the memory")
    parser.add_argument("--json", type=Path, help="write every fix to this file")
    chosen = parser.parse_args()
    known = [program for program in programs() if program.kept is chosen.kept]
    phases: list[Phase] = []
    for seed in range(chosen.from_seed, chosen.from_seed + chosen.seeds):
        phases += played(seed, known, chosen.first, silent=chosen.without_verdicts)
        if chosen.json:
            chosen.json.write_text(json.dumps([asdict(each) for each in phases], indent=1))
    show(f"A maintainer who likes {chosen.first}s, and then the other kind", rows(phases))
    return int(any(each.verdicts is None for each in phases))


if __name__ == "__main__":
    sys.exit(main())
