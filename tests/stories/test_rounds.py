"""One pull request through many pushes: each finding is said once, closed when it is gone, opened when it is back.

What people see after every round stands in tests/stories/rounds/. Delete a file there to have it written anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.playground.nouns import Thread
from tests.stories.pantry import FILES
from tests.stories.town import REPOSITORY, Town, readable

pytestmark = pytest.mark.sandbox

ROUNDS = Path(__file__).with_name("rounds")
BRANCH = "labels"
LABELS = '''"""What is printed on a jar."""

import os

from pantry.units import shown


def label(name, amount, notes=[]):
    """The lines of a label."""
    if amount == None:
        return [name, *notes]
    return [name, shown(amount), *notes]


def empty():
    """The label of a jar with nothing in it."""
    return f"empty"
'''
EXTRA = 'def spare():\n    return f"spare"\n'
FRONT = "def front(name):\n    return name.title()\n\n\n"
FULL = '\n\ndef full():\n    """The label of a jar that is full."""\n    return f"full"\n'
SHIFTED = LABELS.replace("def label", FRONT + "def label")
EDITED = SHIFTED.replace("if amount == None:", "if amount == None and name:")
RENAMED = EDITED.replace("def label(", "def printed(")
FIXED = RENAMED.replace("import os\n\n", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A finding, by its rule, the code that its remark is put on, and what the summary would say of it."""

    rule: str
    code: str = "nothing but the summary"
    words: str


OS = Planted(rule="F401", code="import os", words="'os'")
NOTES = Planted(rule="B006", code="notes=[]", words="mutable")
NONE = Planted(rule="E711", code="== None", words="'None'")
EMPTY = Planted(rule="F541", code='f"empty"', words="said beside the code")
MORE = Planted(rule="F541", code='f"full"', words="said beside the code")
SPARE = Planted(rule="F541", code='f"spare"', words="said beside the code")
UNTESTED = Planted(rule="TST001", words="'label'")
UNTESTED_SPARE = Planted(rule="TST001", words="'spare'")
FIRST = frozenset({OS, NOTES, NONE, EMPTY, SPARE, UNTESTED, UNTESTED_SPARE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """What somebody does to the branch, and the findings that stand afterwards."""

    name: str
    make: Callable[[Town], object]
    standing: frozenset[Planted]


def _base_moves(town: Town, line: str) -> None:
    """maya adds a line to main, in a file of its own and in one that the branch leaves alone."""
    town.maya.push(REPOSITORY, "main", {"NEWS.md": line, "pantry/units.py": FILES["pantry/units.py"] + line}, "News")


def _rebase(town: Town) -> None:
    _base_moves(town, "# news\n")
    town.finn.rework(REPOSITORY, BRANCH, ["rebase", "--quiet", "origin/main"])


def _squash(town: Town) -> None:
    town.finn.rework(
        REPOSITORY, BRANCH, ["reset", "--quiet", "--soft", "origin/main"], ["commit", "--quiet", "-m", "Labels"]
    )


def _merge(town: Town) -> None:
    _base_moves(town, "# news\n# more\n")
    town.finn.rework(REPOSITORY, BRANCH, ["merge", "--quiet", "--no-edit", "origin/main"])


def _amend(town: Town) -> None:
    town.finn.rework(
        REPOSITORY,
        BRANCH,
        ["commit", "--quiet", "--amend", "--no-edit"],
        files={"pantry/tags.py": RENAMED + FULL},
    )


def _edit(files: Mapping[str, str | bytes | None]) -> Callable[[Town], object]:
    return lambda town: town.finn.push(REPOSITORY, BRANCH, files, "More")


PUSHES = (
    Push(name="opened", make=lambda town: None, standing=FIRST),
    Push(name="lines shift", make=_edit({"pantry/labels.py": SHIFTED}), standing=FIRST),
    Push(name="a flagged line is edited", make=_edit({"pantry/labels.py": EDITED}), standing=FIRST),
    Push(
        name="the file is renamed",
        make=_edit({"pantry/labels.py": None, "pantry/tags.py": EDITED}),
        standing=FIRST,
    ),
    Push(name="the function is renamed", make=_edit({"pantry/tags.py": RENAMED}), standing=FIRST),
    Push(name="rebased on a base that moved", make=_rebase, standing=FIRST),
    Push(name="one finding is fixed", make=_edit({"pantry/tags.py": FIXED}), standing=FIRST - {OS}),
    Push(
        name="the fix is reverted",
        make=lambda town: town.finn.rework(REPOSITORY, BRANCH, ["revert", "--no-edit", "HEAD"]),
        standing=FIRST,
    ),
    Push(name="the last commit is amended", make=_amend, standing=FIRST | {MORE}),
    Push(name="squashed into one commit", make=_squash, standing=FIRST | {MORE}),
    Push(name="the base is merged", make=_merge, standing=FIRST | {MORE}),
    Push(
        name="a file is deleted",
        make=_edit({"pantry/extra.py": None}),
        standing=(FIRST | {MORE}) - {SPARE, UNTESTED_SPARE},
    ),
)


def test_ten_pushes_and_one(town: Town) -> None:
    """No finding is said twice, none of the resolved is left open, none that stands is closed; every round reads so."""
    number = town.propose(BRANCH, {"pantry/labels.py": LABELS, "pantry/extra.py": EXTRA})
    written, told = [], 0
    for at, push in enumerate(PUSHES):
        push.make(town)
        town.settle()
        reviews, threads = [each.body for each in town.reviews(number)], _threads(town, number)
        _hold(reviews, threads, push)
        written += _compare(f"{at:02} {push.name}", _picture(town, number, push.name, reviews[told:], threads))
        told = len(reviews)
    assert not written, f"{written} were not there and were written: read them, and run this again"


def _hold(reviews: list[str], threads: list[Thread], push: Push) -> None:
    """What stands was said once in the life of the pull request and is open; what is gone is not open."""
    lines = [line for body in reviews for line in body.splitlines() if re.match(r"- `\S+:\d+` \*\*", line)]
    for planted in FIRST | {MORE}:
        about = [thread for thread in threads if _is_about(thread, planted)]
        summed = [line for line in lines if f"**{planted.rule}**" in line and planted.words in line]
        threads = [thread for thread in threads if thread not in about]
        lines = [line for line in lines if line not in summed]
        said = len(about) + len(summed)
        assert said == 1 if planted in push.standing else said <= 1, f"{push.name}: {planted} was said {said} times"
        for thread in about:
            assert (thread.resolved_by is None) == (planted in push.standing), f"{push.name}: {planted}"
    assert not threads, "each thread is about something that was planted"
    assert not lines, "so is each line of a summary"


def _threads(town: Town, number: int) -> list[Thread]:
    pull = town.playground.world.repository(*REPOSITORY.split("/")).issues[number].pull
    assert pull is not None
    return list(pull.threads)


def _is_about(thread: Thread, planted: Planted) -> bool:
    """Whether a thread was begun about a finding: by its rule, and by the line that it was begun on."""
    first = thread.comments[0]
    return f"**{planted.rule}**" in first.body and planted.code in first.hunk.splitlines()[-1]


def _picture(town: Town, number: int, name: str, reviews: list[str], threads: list[Thread]) -> str:
    """What people see of a pull request after a round."""
    checks = [f"Check: {each.conclusion}, {each.title}" for each in town.checks(number)]
    said = [f"Review:\n\n{readable(body)}" for body in reviews] or ["No review."]
    shown = []
    for thread in threads:
        first = thread.comments[0]
        state = "resolved" if thread.resolved_by else "open"
        place = f"{first.path}:{first.line}" if first.line else f"{first.path} (outdated)"
        text = readable(first.body).replace("\n\n", "\n").replace("\n", "\n    ")
        shown.append(f"[{state}] {place}\n    {text}")
    return "\n\n".join([f"# {name}", *checks, *said, *shown]) + "\n"


def _compare(name: str, text: str) -> list[str]:
    """Hold a picture against its file; the file's name where there was none, and it was written."""
    file = ROUNDS / f"{name.replace(' ', '-')}.txt"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return [file.name]
    assert text == file.read_text(encoding="utf-8")
    return []
