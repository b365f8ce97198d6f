"""One pull request through many pushes: each finding is said once, closed when it is gone, opened when it is back.

What people see after every round stands in tests/stories/rounds/. Delete a file there to have it written anew.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.playground.models import HostedPull, HostedThread
from tests.playground import fail
from tests.stories.pantry import FILES
from tests.stories.town import REPOSITORY, Town, readable
from workers.queue.runner import LONGEST_DELAY

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
FIRST = frozenset({OS, NOTES, NONE, EMPTY, SPARE})


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
        standing=(FIRST | {MORE}) - {SPARE},
    ),
)


@pytest.mark.slow
@pytest.mark.extended
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


def _hold(reviews: list[str], threads: list[HostedThread], push: Push) -> None:
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


def _threads(town: Town, number: int) -> list[HostedThread]:
    pull = town.playground.world.repository(*REPOSITORY.split("/")).issues[number]
    assert isinstance(pull, HostedPull)
    return list(pull.threads)


def _is_about(thread: HostedThread, planted: Planted) -> bool:
    """Whether a thread was begun about a finding: by its rule, and by the line that it was begun on."""
    first = thread.comments[0]
    return f"**{planted.rule}**" in first.body and planted.code in first.original.hunk.splitlines()[-1]


def _picture(town: Town, number: int, name: str, reviews: list[str], threads: list[HostedThread]) -> str:
    """What people see of a pull request after a round."""
    checks = [f"Check: {each.conclusion}, {each.title}" for each in town.checks(number)]
    said = [f"Review:\n\n{readable(body)}" for body in reviews] or ["No review."]
    shown = []
    for thread in threads:
        first = thread.comments[0]
        state = "resolved" if thread.resolved_by else "open"
        path = first.original.path
        place = f"{path}:{first.line}" if first.line else f"{path} (outdated)"
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


JARS = 'import os\n\n\ndef empty():\n    return f"empty"\n'
NO_OS = JARS.removeprefix("import os\n\n\n")


def _jars(town: Town, *rounds: str) -> tuple[int, list[list[tuple[str, bool]]]]:
    """Propose a file as it is in each round in turn; what threads there are after each, by rule, and which are open."""
    number, seen = town.propose("jars", {"pantry/jars.py": rounds[0]}), []
    for text in rounds[1:]:
        seen.append(_open_threads(town, number))
        town.push("jars", {"pantry/jars.py": text})
    return number, [*seen, _open_threads(town, number)]


def _open_threads(town: Town, number: int) -> list[tuple[str, bool]]:
    return [(thread.comments[0].body.split("**")[1], thread.resolved_by is None) for thread in _threads(town, number)]


@pytest.mark.extended
def test_gone_and_back_and_gone(town: Town) -> None:
    """A finding that goes closes its thread without a review; one that is back opens it again, with a review."""
    number, seen = _jars(town, JARS, NO_OS, JARS, NO_OS, JARS)
    assert seen == [[("F401", there), ("F541", True)] for there in (True, False, True, False, True)]
    bodies = [each.body for each in town.reviews(number)[1:]]
    assert ["1 earlier finding back; 1 thread open again." in body for body in bodies] == [True, True]


@pytest.mark.extended
def test_what_people_resolved_stays_resolved(town: Town) -> None:
    """A thread that somebody resolved is theirs: it stays so while the finding stands, and when it goes and is back."""
    number = town.propose("jars", {"pantry/jars.py": JARS})
    town.maya.resolve(REPOSITORY, number, town.remark_on(number, "F401").id)
    for text in (f"{JARS}\n\nSIZES = 3\n", NO_OS, JARS):
        town.push("jars", {"pantry/jars.py": text})
        assert _open_threads(town, number) == [("F401", False), ("F541", True)]
    assert "1 earlier finding back." in town.reviews(number)[-1].body
    (resolved,) = [thread for thread in _threads(town, number) if thread.resolved_by]
    assert resolved.resolved_by is not None
    assert resolved.resolved_by.login == "maya"


@pytest.mark.extended
def test_what_people_closed_after_us_is_theirs(town: Town) -> None:
    """We closed it, somebody opened and closed it again: no return of the finding opens it."""
    number = town.propose("jars", {"pantry/jars.py": JARS})
    town.push("jars", {"pantry/jars.py": NO_OS})
    remark = town.remark_on(number, "F401").id
    town.maya.unresolve(REPOSITORY, number, remark)
    town.maya.resolve(REPOSITORY, number, remark)
    town.push("jars", {"pantry/jars.py": JARS})
    assert _open_threads(town, number) == [("F401", False), ("F541", True)]


@pytest.mark.extended
def test_back_to_an_earlier_head(town: Town) -> None:
    """A branch that is set back to a commit that was reviewed is another round: what is back there is told and open."""
    number = town.propose("jars", {"pantry/jars.py": JARS})
    town.push("jars", {"pantry/jars.py": NO_OS})
    town.finn.rework(REPOSITORY, "jars", ["reset", "--quiet", "--hard", "HEAD~1"])
    town.settle()
    assert _open_threads(town, number) == [("F401", True), ("F541", True)]
    assert "1 earlier finding back; 1 thread open again." in town.reviews(number)[-1].body
    town.do_again("review")
    assert len(town.reviews(number)) == 2


@pytest.mark.extended
def test_the_earlier_head_is_lost(town: Town) -> None:
    """Where a force-push left a head that nobody has any more, texts tell which findings are the same."""
    number = town.propose("jars", {"pantry/jars.py": JARS})
    head = town.maya.pull(REPOSITORY, number).head_sha
    again = JARS.replace("def empty", "SIZES = 3\n\n\ndef nothing")
    amend = ["commit", "--quiet", "--amend", "--message", "Jars"]
    town.finn.rework(REPOSITORY, "jars", amend, files={"pantry/jars.py": again})
    town.playground.drain()
    bare = town.playground.world.repository(*REPOSITORY.split("/")).git
    bare.run("gc", "--quiet", "--prune=now")
    assert bare.resolve(head) is None
    shutil.rmtree(town.context.settings.home / "mirrors")
    town.settle()
    assert _open_threads(town, number) == [("F401", True), ("F541", True)]
    assert len(town.reviews(number)) == 1
    assert town.checks(number)[0].title == "2 findings"


@pytest.mark.extended
def test_the_answer_to_closing_is_lost(town: Town) -> None:
    """A thread that was closed by a request whose answer got lost is known as ours, and opened when its finding is back."""
    number = town.propose("jars", {"pantry/jars.py": JARS})
    lost = [fail(502)]
    town.playground.after(
        "POST", r"/graphql$", lambda sent: lost.pop()(sent) if lost and b" resolveReview" in sent.body else None, nth=0
    )
    town.push("jars", {"pantry/jars.py": NO_OS})
    town.later(LONGEST_DELAY.total_seconds())
    assert not lost
    assert _open_threads(town, number) == [("F401", False), ("F541", True)]
    town.push("jars", {"pantry/jars.py": JARS})
    assert _open_threads(town, number) == [("F401", True), ("F541", True)]


def test_another_base_branch(town: Town) -> None:
    """When the base branch of a pull request changes, it is reviewed as the change that it is now; of that nothing was missed."""
    town.finn.push(REPOSITORY, "spare", {"pantry/spare.py": EXTRA}, "Spare")
    town.finn.push(REPOSITORY, "more", {"pantry/more.py": "A = 1\n"}, "More", start="spare")
    number = town.finn.open_pull(REPOSITORY, head="more", title="More", base="spare")
    town.settle()
    assert (town.remarks(number), [each.title for each in town.checks(number)]) == ([], ["Nothing found"])
    town.finn.retarget(REPOSITORY, number, "main")
    town.settle()
    assert ["**F541**" in each.body for each in town.remarks(number)] == [True]
    assert [each.missed_in for each in town.sightings(number)] == [""]
    town.do_again("review")
    assert (len(town.remarks(number)), len(town.checks(number))) == (1, 2)
