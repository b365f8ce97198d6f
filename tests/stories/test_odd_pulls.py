"""Pull requests in which nothing is to be read, and those whose commits went away."""

from __future__ import annotations

import gzip
import os

import pytest
from inline_snapshot import snapshot

from benchmarks.host_limits import Objects
from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.git import BareRepository
from tests.stories.test_reviews import EMPTY, JARS
from tests.stories.town import REPOSITORY, Town, readable
from workers.flows.review import MAX_FINDINGS
from workers.queue.runner import LONGEST_DELAY, MAX_ATTEMPTS

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]


def bare(town: Town) -> BareRepository:
    """The repository as it lies at the playground."""
    owner, name = REPOSITORY.split("/")
    return town.playground.world.repository(owner, name).git


def forget(town: Town, sha: str) -> None:
    """GitHub gives out a commit no more that no ref leads to."""
    words = f"ERR upload-pack: not our ref {sha}".encode()
    refusal = PlaygroundResponse(
        status=200,
        headers={"Content-Type": "application/x-git-upload-pack-result"},
        body=f"{len(words) + 4:04x}".encode() + words,
    )

    def refuse(request: PlaygroundRequest) -> PlaygroundResponse | None:
        zipped = request.headers.get("content-encoding") == "gzip"
        body = gzip.decompress(request.body) if zipped else request.body
        return refusal if f"want {sha}".encode() in body else None

    town.playground.before("POST", r"/git-upload-pack$", refuse, nth=0)


def test_nothing_changed(town: Town) -> None:
    """A pull request whose files are those of its base says so, and does not look like one that was read and found good."""
    number = town.propose("nothing", {})
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary) == snapshot(
        ("neutral", "Nothing changed: no file differs from the base", "0 files read.")
    )
    assert town.reviews(number) == []


def test_taken_back(town: Town) -> None:
    """A change that is taken back leaves an empty diff; what was said of it is gone, and its thread closed."""
    number = town.propose("jars", {"pantry/jars.py": JARS})
    assert town.remarks(number)
    town.push("jars", {"pantry/jars.py": None})
    (check,) = town.checks(number)
    assert (check.conclusion, check.title) == snapshot(("neutral", "Nothing changed: no file differs from the base"))
    assert all(thread.resolved_by for thread in town.playground.world.threads())


def test_moved_alone(town: Town) -> None:
    """Files that only moved, or were deleted, leave nothing to read; the check run says what they are."""
    moved = bare(town).read("main", "pantry/units.py")
    number = town.propose("moved", {"pantry/units.py": None, "pantry/measures.py": moved})
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary) == snapshot(
        (
            "failure",
            "3 broken tests",
            """\
**3 test files cannot be imported any more**

- `tests/test_recipes.py` cannot be imported: ModuleNotFoundError: No module named 'pantry.units'
- `tests/test_shelf.py` cannot be imported: ModuleNotFoundError: No module named 'pantry.units'
- `tests/test_units.py` cannot be imported: ModuleNotFoundError: No module named 'pantry.units'

0 files read.
1 file only moved, or with another mode: nothing new to read.\
""",
        )
    )


def test_base_gone(town: Town) -> None:
    """Where the base was rewritten and GitHub has forgotten it, the branch as it is now is compared with, and that is said."""
    town.finn.push(REPOSITORY, "kept", {}, "What was before")
    town.finn.push(REPOSITORY, "empty", EMPTY, "Empty")
    lost = town.maya.push(REPOSITORY, "main", {"pantry/lost.py": "LOST = 1\n"}, "To be rewritten")
    number = town.finn.open_pull(REPOSITORY, head="empty", title="Empty")
    town.maya.push(REPOSITORY, "main", {"pantry/found.py": "FOUND = 1\n"}, "Rewritten", start="kept", force=True)
    forget(town, lost)
    town.settle()
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary) == snapshot(
        (
            "neutral",
            "1 finding",
            """\
No test is broken: 10 tests passed.
1 file read.
The commit that this was opened against is gone; compared with where it left `main` as that is now.\
""",
        )
    )
    assert {each.path for each in town.remarks(number)} == {"pantry/empty.py"}


def test_fork_deleted(town: Town) -> None:
    """Where its author deleted the fork, a maintainer's commands are answered about the commits that GitHub keeps."""
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "jars", {"pantry/jars.py": JARS}, "Jars")
    number = town.olga.open_pull(REPOSITORY, head="olga:jars", title="Jars")
    town.settle()
    town.playground.delete(fork)
    assert town.maya.request("GET", f"/repos/{REPOSITORY}/pulls/{number}")["head"]["repo"] is None
    for command in ("review", "fix"):
        town.maya.comment(REPOSITORY, number, f"@apprentice {command}")
    town.settle()
    assert ["```suggestion" in each.body for each in town.remarks(number)].count(True) == 2
    (answer,) = town.answers(number)
    assert answer.body.startswith("All 10 tests pass")


def test_head_replaced(town: Town) -> None:
    """A head that was force-pushed away while its job waited is not spoken of; its successor is, once."""
    lost = town.finn.push(REPOSITORY, "empty", {"pantry/lost.py": JARS}, "To be rewritten")
    number = town.finn.open_pull(REPOSITORY, head="empty", title="Empty")
    town.finn.push(REPOSITORY, "empty", EMPTY, "Rewritten", force=True)
    forget(town, lost)
    town.settle()
    assert {each.path for each in town.remarks(number)} == {"pantry/empty.py"}
    assert len(town.checks(number)) == len(town.reviews(number)) == 1


def test_head_gone(town: Town) -> None:
    """A head that cannot be had is waited for, and in the end said to be gone: never silence, never green."""
    lost = town.finn.push(REPOSITORY, "empty", EMPTY, "Empty")
    number = town.finn.open_pull(REPOSITORY, head="empty", title="Empty")
    forget(town, lost)
    town.settle()
    for _ in range(MAX_ATTEMPTS):
        town.later(LONGEST_DELAY.total_seconds())
    (check,) = town.checks(number)
    assert (
        check.conclusion,
        check.title,
        readable(check.summary).replace(town.playground.url.replace("://", ":\u200b//"), "<github>"),
    ) == snapshot(
        (
            "neutral",
            "Not reviewed",
            """\
I could not review this: gave up after 8 attempts: <sha> is no longer at <github>/kitchen/pantry.git: it was force-pushed away or deleted; push again, or ask again once it is back\
""",
        )
    )


def test_bomb(town: Town) -> None:
    """A few objects that become hundreds of megabytes are weighed, not read, and the check run says so."""
    town.finn.push(REPOSITORY, "bomb", EMPTY, "To be replaced")
    where = bare(town)
    base = where.resolve("main")
    assert base is not None
    objects = Objects(where.path)
    blob = objects.put("blob", bytes(60_000_000))
    head = objects.commit(objects.files({f"f{number}.bin": blob for number in range(9)}), base, branch="bomb")
    number = town.finn.open_pull(REPOSITORY, head="bomb", title="Bomb")
    town.settle()
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary.replace(head[:7], "<head>")) == snapshot(
        (
            "neutral",
            "Not reviewed",
            "I could not review this: the files of <head> are 514 MB, over the 512 MB of a sandbox",
        )
    )


def test_odd_names_and_kinds(town: Town) -> None:
    """What cannot be read has its reason in the review, whatever its name is made of; what can be is spoken of in its place."""
    number = town.propose(
        "odd",
        {
            'pantry/a "b` @maya.py': "import os\n",
            "pantry/new\nline.py": b"import os\r\n",
            os.fsdecode(b"pantry/caf\xe9.py"): "import os\n",
            "pantry/utf16.py": "import os\n".encode("utf-16"),
            "vendor/x.py": "import os\n",
        },
    )
    (review,) = town.reviews(number)
    assert readable(review.body) == snapshot("""\
Reviewed <id>: 2 comments below.

**Not read**

- `pantry/caf\\udce9.py`: its name is not UTF-8
- `pantry/utf16.py`: binary
- `vendor/x.py`: vendored code

React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.
<!-- marker -->\
""")
    assert sorted(each.path for each in town.remarks(number)) == ['pantry/a "b` @maya.py', "pantry/new\nline.py"]


def test_more_than_one_reports(town: Town) -> None:
    """Of more findings than one review reports the worst are decided upon and shown, and how many more there are is said."""
    lines = "".join(f"import os as os{number}\n" for number in range(MAX_FINDINGS + 100))
    number = town.propose("imports", {"pantry/imports.py": f"{lines}\n\ndef run(text):\n    return eval(text)\n"})
    (check,), seen = town.checks(number), town.sightings(number)
    assert check.annotations <= len(seen) == MAX_FINDINGS
    assert {each.finding.rule for each in seen} > {"F401"}
    assert "The worst findings are reported; there are 101 more." in check.summary


def test_more_than_one_reads(town: Town) -> None:
    """Of a change with more files than one review reads, code is read and the rest is counted, not listed."""
    data = {f"data/{number:03}.csv": f"{number}\n" for number in range(320)}
    number = town.propose("many", {"pantry/empty.py": EMPTY["pantry/empty.py"], **data})
    (review,) = town.reviews(number)
    assert readable(review.body) == snapshot("""\
Reviewed <id>: 1 comment below.

**Not read**

- `data/299.csv`: over the 300 files that one review reads
- `data/300.csv`: over the 300 files that one review reads
- `data/301.csv`: over the 300 files that one review reads
- `data/302.csv`: over the 300 files that one review reads
- `data/303.csv`: over the 300 files that one review reads
- `data/304.csv`: over the 300 files that one review reads
- `data/305.csv`: over the 300 files that one review reads
- `data/306.csv`: over the 300 files that one review reads
- `data/307.csv`: over the 300 files that one review reads
- `data/308.csv`: over the 300 files that one review reads
- and 310 more: 299 files only searched for secrets; 11 files over the 300 files that one review reads

React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.
<!-- marker -->\
""")
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, len(check.summary.splitlines())) == snapshot(
        ("neutral", "1 finding, 320 files not read", 53)
    )
    assert {each.path for each in town.remarks(number)} == {"pantry/empty.py"}
