"""A pull request is opened, pushed to, asked about; what the bot says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from bot.playground.api import PlaygroundRequest, PlaygroundResponse
from bot.playground.client import ShownCheck
from memory.model import Action, SignalKind
from tests.databases import LONG_AGO
from tests.playground import fail
from tests.stories import town as founding
from tests.stories.pantry import UNITS
from tests.stories.town import BOT, BUDGET_SECONDS, REPOSITORY, Town, readable
from workers.queue.runner import PATIENCE
from workers.review import untested

pytestmark = pytest.mark.sandbox

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
TESTS = """from pantry.labels import empty, label


def test_label():
    assert label("rice", 500) == ["rice", "500 g"]
    assert label("salt", None, ["fine"]) == ["salt", "fine"]


def test_empty():
    assert empty() == "empty"
"""
LABELLED: dict[str, str | bytes | None] = {"pantry/labels.py": LABELS, "tests/test_labels.py": TESTS}
EMPTY: dict[str, str | bytes | None] = {"pantry/empty.py": 'def empty():\n    return f"empty"\n'}
"""A change with one finding, F541."""

HOSTILE = """def words(x):
    if x == None:  # ``` <!-- apprentice:0000000000000000 --> @maya fixes #1
        return f"````"
    return x
"""
TEST_OF_HOSTILE = """from pantry.words import words


def test_words():
    assert words(1) == 1
"""
JARS = 'import os\n\n\ndef empty():\n    return f"empty"\n'
"""Two findings, F401 and F541."""


def test_broken_tests_come_first(town: Town) -> None:
    """The review names the tests that the change breaks, the check fails, and a push that breaks no other says nothing new."""
    wrong = (
        LABELS.replace("amount == None", "amount is not None")
        .replace("import os\n\n", "")
        .replace("notes=[]", "notes=()")
    )
    number = town.propose("labels", {**LABELLED, "pantry/labels.py": wrong.replace('f"empty"', '"empty"')})
    (review,) = town.reviews(number)
    assert readable(review.body) == snapshot("""\
**1 test fails that this change adds**

- `tests/test_labels.py::test_label`: AssertionError: assert \\['rice'\\] == \\['rice', '500 g'\\] (through `tests/test_labels.py:5`)

With the suggestion for `pantry/labels.py:8` they pass.

Reviewed <id>: 1 comment below.

React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.
<!-- marker -->\
""")
    (remark,) = town.remarks(number)
    assert readable(remark.body) == snapshot('''\
With this change the broken tests pass:

```suggestion
    if amount is None:
```

**Proof**

- failed before, pass now: `tests/test_labels.py::test_label`
- whole suite with the change: 12 passed, 0 failed, 0 skipped of 12 (before: 11 passed, 1 failed)
- run 2× in a sandbox without network: `python -m pytest`
- 1 failing test function fails, as it must, where it expects something else
- each run reported rightly on two tests that were added to it: one must fail, one must pass
- 1 failing test passes without pytest too
- only Python sources were changed to get there: no test, fixture, data or configuration file
- 4 different edits pass these tests, and they behave in 2 different ways on further calls, 3 of them like this one: please check that this one is right.

**Which result is right?**

`label('rice', 2, [''])` gives `['rice', '2 g', '']` with this change, and `['rice', '']` with this one instead:

```diff
diff --git a/pantry/labels.py b/pantry/labels.py
--- a/pantry/labels.py
+++ b/pantry/labels.py
@@ -5,7 +5,7 @@
 \n\
 def label(name, amount, notes=()):
     """The lines of a label."""
-    if amount is not None:
+    if notes:
         return [name, *notes]
     return [name, shown(amount), *notes]
```

<sub>`@apprentice why <decision>`</sub>
<!-- marker -->\
''')
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary, check.annotations) == snapshot(
        (
            "failure",
            "1 broken test",
            """\
**1 test fails that this change adds**

- `tests/test_labels.py::test_label`: AssertionError: assert \\['rice'\\] == \\['rice', '500 g'\\] (through `tests/test_labels.py:5`)

2 files read.\
""",
            1,
        )
    )


@pytest.mark.extended
def test_a_repair_is_a_suggestion(town: Town) -> None:
    """A settled repair of what the change breaks is a comment that can be applied; applying it teaches and closes the thread."""
    slip = UNITS.replace("amount >= 1000", "amount > 1000").replace("Grams as people read them", "Grams, or kilograms")
    number = town.propose("units", {"pantry/units.py": slip})
    (review,) = town.reviews(number)
    assert readable(review.body) == snapshot("""\
**1 test fails that passes without this change**

- `tests/test_units.py::test_shown`: AssertionError: assert \\['999 g', '1000 g', '1.5 kg'\\] == \\['999 g', '1 kg', '1.5 kg'\\] (through `pantry/units.py:19`)

With the suggestion for `pantry/units.py:19` they pass.

Reviewed <id>: 1 comment below.

React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.
<!-- marker -->\
""")
    (remark,) = town.remarks(number)
    assert (remark.path, remark.line) == ("pantry/units.py", 19)
    evidence, _, judged = readable(remark.body).partition("- only Python sources were changed")
    assert evidence == snapshot("""\
With this change the broken tests pass:

```suggestion
    if amount >= 1000:
```

**Proof**

- failed before, pass now: `tests/test_units.py::test_shown`
- whole suite with the change: 10 passed, 0 failed, 0 skipped of 10 (before: 9 passed, 1 failed)
- run 2× in a sandbox without network: `python -m pytest`
- 1 failing test function fails, as it must, where it expects something else
- each run reported rightly on two tests that were added to it: one must fail, one must pass
- 1 failing test passes without pytest too
""")
    assert judged.endswith("<sub>`@apprentice why <decision>`</sub>\n<!-- marker -->")
    (post,) = town.context.store.posts.on(town.key, number)
    town.push("units", {"pantry/units.py": slip.replace("amount > 1000", "amount >= 1000")})
    signals = town.context.store.ledger.live_signals(post.decision_ids)
    assert [signal.kind for signal in signals] == [SignalKind.SUGGESTION_APPLIED]
    assert all(thread.resolved_by for thread in town.playground.world.threads())
    assert town.checks(number)[-1].conclusion == "success"
    (explained,) = town.say(number, f"@apprentice why {post.decision_ids[0]}")
    assert "suggestion applied" in explained


def test_review(town: Town) -> None:
    """A pull request gets one review with a remark for each finding on its lines, and one check run."""
    number = town.propose("labels", LABELLED)
    (review,) = town.reviews(number)
    assert readable(review.body) == snapshot("""\
Reviewed <id>: 4 comments below.

React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.
<!-- marker -->\
""")
    remarks = sorted(town.remarks(number), key=lambda each: each.line or 0)
    assert [(each.path, each.start_line, each.line) for each in remarks] == snapshot(
        [
            ("pantry/labels.py", None, 3),
            ("pantry/labels.py", 8, 9),
            ("pantry/labels.py", None, 10),
            ("pantry/labels.py", None, 17),
        ]
    )
    assert [readable(each.body) for each in remarks] == snapshot(
        [
            """\
**F401** (minor, maintainability): 'os' imported but unused

```suggestion
```
<sub>Applied and tested: 2 tests passed before and after (`python -m pytest tests/test_labels.py`).</sub>

<sub>`@apprentice why <id>`</sub>
<!-- marker -->\
""",
            '''\
**B006** (major, correctness): Do not use mutable data structures for argument defaults

```suggestion
def label(name, amount, notes=None):
    """The lines of a label."""
    if notes is None:
        notes = []
```
<sub>Applied and tested: 2 tests passed before and after (`python -m pytest tests/test_labels.py`).</sub>

<sub>`@apprentice why <id>`</sub>
<!-- marker -->\
''',
            """\
**E711** (minor, correctness): Comparison to 'None' should be 'cond is None'

```suggestion
    if amount is None:
```
<sub>Applied and tested: 2 tests passed before and after (`python -m pytest tests/test_labels.py`).</sub>

<sub>`@apprentice why <id>`</sub>
<!-- marker -->\
""",
            """\
**F541** (info, style): f-string without any placeholders

```suggestion
    return "empty"
```
<sub>Applied and tested: 2 tests passed before and after (`python -m pytest tests/test_labels.py`).</sub>

<sub>`@apprentice why <id>`</sub>
<!-- marker -->\
""",
        ]
    )
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary, check.annotations) == snapshot(
        (
            "neutral",
            "4 findings",
            """\
No test is broken: 12 tests passed.
2 files read.\
""",
            4,
        )
    )


def test_nothing_found(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is nothing to say, nothing is said: the check run alone tells that the change was read."""
    monkeypatch.setattr(untested, "SECONDS", BUDGET_SECONDS)
    number = town.propose("units", {"pantry/units.py": UNITS.replace('"oz": 28', '"oz": 28, "lb": 454')})
    assert town.reviews(number) == town.remarks(number) == town.answers(number) == []
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary) == snapshot(
        (
            "success",
            "Nothing found",
            """\
No test is broken: 10 tests passed.
No test fails without the changed code.
1 file read.\
""",
        )
    )


@pytest.mark.extended
def test_second_push(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """A push repeats nothing, and closes the thread of what is gone without a review; a third push has nothing to add."""
    monkeypatch.setattr(untested, "SECONDS", BUDGET_SECONDS)
    number = town.propose("jars", {"pantry/jars.py": JARS})
    said = {each.id for each in town.remarks(number)}
    town.push("jars", {"pantry/jars.py": JARS.removeprefix("import os\n")})
    assert {each.id for each in town.remarks(number)} == said
    (first,) = town.reviews(number)
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary) == snapshot(
        (
            "neutral",
            "1 finding",
            """\
No test is broken: 10 tests passed.
No test runs 2 of 2 changed lines of code: `pantry/jars.py:3-4`.
1 file read.
1 finding posted in an earlier round, not repeated.
1 earlier finding no longer there.\
""",
        )
    )
    resolved = [thread for thread in town.playground.world.threads() if thread.resolved_by is not None]
    assert ["**F401**" in thread.comments[0].body for thread in resolved] == [True]
    town.push("jars", {"README.md": "# The pantry\n"})
    assert [each.id for each in town.reviews(number)] == [first.id]
    assert {each.id for each in town.remarks(number)} == said


@pytest.mark.extended
def test_new_lines_in_a_push(town: Town) -> None:
    """What a push adds is spoken of, even where the same was found on other lines before."""
    number = town.propose("jars", {"pantry/jars.py": JARS})
    before = {each.id for each in town.remarks(number)}
    town.push("jars", {"pantry/jars.py": JARS + '\n\ndef full():\n    return f"full"\n'})
    (new,) = [each for each in town.remarks(number) if each.id not in before]
    assert (new.path, new.line) == ("pantry/jars.py", 9)


@pytest.mark.extended
def test_elsewhere(town: Town) -> None:
    """What a change brings about on lines that it left alone is told in the summary, once."""
    town.push("main", {"pantry/sizes.py": "import math\n\n\ndef half(x):\n    return math.ceil(x / 2)\n"}, by=town.maya)
    number = town.propose("half", {"pantry/sizes.py": "import math\n\n\ndef half(x):\n    return -(-x // 2)\n"})
    (review,) = town.reviews(number)
    assert readable(review.body) == snapshot("""\
Reviewed <id>: no new comment beside the code.

**Also seen**

- `pantry/sizes.py:1` **F401** 'math' imported but unused
<!-- marker -->\
""")
    assert town.remarks(number) == []
    town.push("half", {"README.md": "# The pantry\n"})
    assert len(town.reviews(number)) == 1


@pytest.mark.extended
def test_a_new_name_brings_nothing_about(town: Town) -> None:
    """A function that gets another name, in a file that gets another name, is not told of what stood in it before."""
    old = 'def empty():\n    """Nothing."""\n    return f"empty"\n'
    town.push("main", {"pantry/jars.py": old}, by=town.maya)
    files: dict[str, str | bytes | None] = {"pantry/jars.py": None, "pantry/tins.py": old.replace("empty()", "bare()")}
    number = town.propose("bare", files)
    assert town.reviews(number) == town.remarks(number) == []


@pytest.mark.extended
def test_draft(town: Town) -> None:
    """A draft is left alone until it is ready."""
    number = town.propose("empty", EMPTY, draft=True)
    town.push("empty", {"README.md": "# The pantry\n"})
    assert town.reviews(number) == town.checks(number) == []
    town.finn.mark_ready(REPOSITORY, number)
    town.settle()
    assert len(town.reviews(number)) == len(town.checks(number)) == 1


@pytest.mark.extended
def test_draft_on_command(town: Town) -> None:
    """A draft is reviewed when somebody who may asks for it, and is not said again when it is ready."""
    number = town.propose("empty", EMPTY, draft=True)
    assert town.say(number, "@apprentice review") == []
    assert len(town.reviews(number)) == 1
    town.finn.mark_ready(REPOSITORY, number)
    town.settle()
    assert len(town.reviews(number)) == 1


@pytest.mark.extended
def test_asked_again(town: Town) -> None:
    """Whoever asks for a review of what was reviewed is answered; nothing is repeated."""
    number = town.propose("empty", EMPTY)
    said = len(town.remarks(number))
    town.say(number, "@apprentice review")
    _, second = town.reviews(number)
    assert readable(second.body) == snapshot("""\
Reviewed <id>: no new comment beside the code. No test is broken: 10 tests passed.

1 finding posted in an earlier round and still there.
<!-- marker -->\
""")
    assert len(town.remarks(number)) == said


@pytest.mark.extended
def test_closed(town: Town) -> None:
    """A review asked for on a closed pull request is answered with why it is not made."""
    number = town.propose("empty", EMPTY, draft=True)
    town.finn.close(REPOSITORY, number)
    town.settle()
    assert town.say(number, "@apprentice review") == snapshot(
        [
            """\
I did not review this pull request: it is closed.
<!-- marker -->\
"""
        ]
    )


@pytest.mark.extended
@pytest.mark.parametrize("pressed", ["one", "all", "all-of-a-fork"])
def test_check_run_again(town: Town, pressed: str) -> None:
    """Pressing "Re-run", or "Re-run all checks", makes a new check run and repeats no remark, unless a fork's is tested now."""
    if pressed == "all-of-a-fork":
        town.olga.push(town.olga.fork(REPOSITORY), "empty", EMPTY, "Empty")
        number = town.olga.open_pull(REPOSITORY, head="olga:empty", title="Empty")
        town.settle()
    else:
        number = town.propose("empty", EMPTY)
    if pressed.startswith("all"):
        town.maya.rerun_all(REPOSITORY, town.maya.pull(REPOSITORY, number).head_sha)
    else:
        town.maya.rerun(REPOSITORY, town.checks(number)[0].id)
    town.settle()
    first, again = ("1 finding, no test was run", 2) if pressed == "all-of-a-fork" else ("1 finding", 1)
    assert [each.title for each in town.checks(number)] == ["1 finding", first]
    assert (len(town.reviews(number)), len(town.remarks(number))) == (again, 1)


@pytest.mark.extended
def test_fork(town: Town) -> None:
    """The tests of a fork are not run unasked, and that is said; a maintainer who asks has suggestions proven."""
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "labels", LABELLED, "Labels")
    number = town.olga.open_pull(REPOSITORY, head="olga:labels", title="Labels")
    town.settle()
    (first,) = town.reviews(number)
    assert readable(first.body) == snapshot("""\
Reviewed <id>: 1 comment below.

**Also seen**

- `pantry/labels.py:3` **F401** 'os' imported but unused
- `pantry/labels.py:10` **E711** Comparison to 'None' should be 'cond is None'
- `pantry/labels.py:17` **F541** f-string without any placeholders

No test was run, because this comes from a fork; `@apprentice review` by a maintainer has them run.

React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.
<!-- marker -->\
""")
    assert not any("```suggestion" in each.body for each in town.remarks(number))
    before = {each.id for each in town.remarks(number)}
    assert town.say(number, "@apprentice review", by=town.olga) == snapshot(
        [
            """\
olga, only users with write access to this repository can give me commands; a maintainer can repeat your command.
<!-- marker -->\
"""
        ]
    )
    assert len(town.reviews(number)) == 1
    town.say(number, "@apprentice review")
    _, second = town.reviews(number)
    assert readable(second.body) == snapshot("""\
Reviewed <id>: 4 comments below. No test is broken: 12 tests passed.

React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.
<!-- marker -->\
""")
    new = [each for each in town.remarks(number) if each.id not in before]
    assert new
    assert all("```suggestion" in each.body and "Applied and tested" in each.body for each in new)


@pytest.mark.extended
def test_a_locked_conversation(town: Town) -> None:
    """GitHub takes nothing of an App there: the check run has the findings, and the review after the lock posts them."""
    refusal = fail(422, "lock prevents review")

    def refuse(request: PlaygroundRequest) -> PlaygroundResponse | None:
        return refusal(request) if request.headers.get("user-agent", "").startswith("apprentice") else None

    number = town.propose("labels", LABELLED, draft=True)
    pull = town.playground.world.repository(*REPOSITORY.split("/")).issues[number]
    pull.locked = True
    town.playground.before("POST", r"/(reviews|comments)$", refuse, nth=0)
    town.finn.mark_ready(REPOSITORY, number)
    town.settle()
    town.say(number, "@apprentice review")
    assert [(each.title, each.annotations) for each in town.checks(number)] == [("4 findings", 4)] * 2
    assert town.checks(number)[0].summary == snapshot("""\
No test is broken: 12 tests passed.
2 files read.
The conversation is locked, and GitHub takes nothing of an App there: all is in this check run.\
""")
    pull.locked = False
    town.playground.undisturbed()
    town.push("labels", {"README.md": "# The pantry\n"})
    (review,) = town.reviews(number)
    assert "missed" not in review.body
    assert len(town.remarks(number)) == 4


@pytest.mark.extended
def test_fork_with_nothing_found(town: Town) -> None:
    """Where no test was run, the check is not green, though nothing was found."""
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "units", {"pantry/units.py": UNITS.replace('"oz": 28', '"oz": 28, "lb": 454')}, "Pounds")
    number = town.olga.open_pull(REPOSITORY, head="olga:units", title="Pounds")
    town.settle()
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary) == snapshot(
        (
            "neutral",
            "Nothing found, no test was run",
            """\
1 file read.
No test was run, because this comes from a fork.\
""",
        )
    )


@pytest.mark.extended
def test_held(town: Town) -> None:
    """A pattern that was rejected often enough is not posted inline any more."""
    words = "".join(f'def word{n}():\n    return f"{n}"\n\n\n' for n in range(3)).rstrip() + "\n"
    first = town.propose("words", {"pantry/words.py": words})
    remarks = town.remarks(first)
    assert len(remarks) == 2  # the third of the rule is in the summary
    for remark in remarks:
        town.reply(first, remark.id, "@apprentice reject because we like it so")
        town.maya.react(REPOSITORY, remark.id, "-1")
    town.poll()
    second = town.propose("empty", EMPTY)
    assert town.remarks(second) == []
    (sighting,) = town.sightings(second)
    assert sighting.action in (Action.SUMMARY, Action.HOLD)
    (explained,) = town.say(second, f"@apprentice why {sighting.finding.fingerprint[:12]}")
    assert "rejected here" in explained


@pytest.mark.extended
def test_limit(tmp_path: Path) -> None:
    """No more than the limit is said inline, the worst first; the rest goes to the summary, and none is lost."""
    with founding.town(tmp_path, max_comments=2) as town:
        number = town.propose("labels", LABELLED)
        (review,) = town.reviews(number)
        assert readable(review.body) == snapshot("""\
Reviewed <id>: 2 comments below.

**Also seen**

- `pantry/labels.py:10` **E711** Comparison to 'None' should be 'cond is None'
- `pantry/labels.py:17` **F541** f-string without any placeholders

React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.
<!-- marker -->\
""")
        assert len(town.remarks(number)) == 2
        assert town.checks(number)[0].title == "4 findings"


def test_a_review_in_progress(town: Town) -> None:
    """The check run is in progress from the start of the reading on, and becomes the one with the result."""
    town.finn.push(REPOSITORY, "empty", EMPTY, "Empty")
    number = town.finn.open_pull(REPOSITORY, head="empty", title="Empty")
    seen: list[ShownCheck] = []
    town.playground.before("POST", r"/reviews$", lambda _request: seen.extend(town.checks(number)))
    town.settle()
    (check,) = town.checks(number)
    assert [(each.id, each.conclusion, each.title) for each in seen] == [(check.id, None, "Reading the change")]
    assert (check.conclusion, check.title) == ("neutral", "1 finding")


def test_a_command_gets_eyes(town: Town) -> None:
    """A reaction shows that work has begun: in the conversation and on a line, for users who may command, once."""
    number = town.propose("empty", EMPTY, draft=True)
    asked = town.finn.comment(REPOSITORY, number, "@apprentice review")
    refused = town.olga.comment(REPOSITORY, number, "@apprentice review")
    town.settle()
    town.do_again("review", first=True)
    on_line = town.maya.comment_on_line(REPOSITORY, number, "pantry/empty.py", 2, "@apprentice review")
    quick = town.maya.comment(REPOSITORY, number, "@apprentice help")
    town.settle()
    posts = (f"issues/comments/{asked}", f"pulls/comments/{on_line}")
    assert [town.eyes(each) for each in posts] == [[BOT], [BOT]]
    assert [town.eyes(f"issues/comments/{each}") for each in (refused, quick)] == [[], []]


@pytest.mark.extended
def test_failed(town: Town) -> None:
    """A review that fails never looks green: a neutral check run says "Not reviewed" and why."""
    town.playground.before("POST", r"/reviews$", fail(422, "Unprocessable Entity"), nth=0)
    number = town.propose("empty", EMPTY)
    (check,) = town.checks(number)
    assert (check.conclusion, check.title) == ("neutral", "Not reviewed")
    assert readable(check.summary) == snapshot("""\
I could not review this: GitHub answered 422 'Unprocessable Entity' while reviewing #\u200b1; check the App's permissions\
""")
    assert town.answers(number) == []


@pytest.mark.extended
def test_a_comment_that_github_refuses(town: Town) -> None:
    """Where GitHub refuses the comments, as on lines that it does not show, the review is posted with the findings in its text."""
    refused = fail(422, "Unprocessable Entity: line must be part of the diff")
    town.playground.before(
        "POST", r"/reviews$", lambda request: refused(request) if json.loads(request.body)["comments"] else None, nth=0
    )
    number = town.propose("empty", EMPTY)
    (review,), (check,) = town.reviews(number), town.checks(number)
    assert readable(review.body) == snapshot("""\
Reviewed <id>: no new comment beside the code.

**Also seen**

- `pantry/empty.py:2` **F541** f-string without any placeholders
<!-- marker -->\
""")
    assert (check.title, town.remarks(number)) == ("1 finding", [])
    town.do_again("review")
    assert len(town.reviews(number)) == 1


@pytest.mark.extended
def test_failed_on_command(town: Town) -> None:
    """Whoever asked for a review that fails is told."""
    town.playground.before("POST", r"/reviews$", fail(422, "Unprocessable Entity"), nth=0)
    number = town.propose("empty", EMPTY, draft=True)
    assert town.say(number, "@apprentice review") == snapshot(
        [
            """\
I could not review this: GitHub answered 422 'Unprocessable Entity' while reviewing #\u200b1; check the App's permissions
<!-- marker -->\
"""
        ]
    )


@pytest.mark.extended
def test_given_up(town: Town) -> None:
    """What cannot be fetched is tried again later; after the last try a neutral check run says so."""
    town.finn.push(REPOSITORY, "empty", EMPTY, "Empty")
    town.playground.before("POST", r"/git-upload-pack$", fail(503), nth=0)
    number = town.finn.open_pull(REPOSITORY, head="empty", title="Empty")
    town.settle()
    assert town.checks(number) == []
    town.later(PATIENCE.total_seconds())
    (check,) = town.checks(number)
    assert (check.conclusion, check.title) == ("neutral", "Not reviewed")
    assert "gave up after 24 hours" in check.summary


@pytest.mark.extended
def test_unreadable(town: Town) -> None:
    """What could not be read is named with its reason, and the check run is neutral."""
    number = town.propose("broken", {"pantry/broken.py": "def broken(:\n", "logo.bin": b"\x00\x01" * 64})
    (review,) = town.reviews(number)
    assert readable(review.body) == snapshot("""\
Reviewed <id>: 1 comment below.

**Not read**

- `logo.bin`: binary
- `pantry/broken.py`: not read by bandit: syntax error while parsing AST from file

React 👍 or 👎, resolve, apply, or answer `@apprentice reject because …`: I learn from it.
<!-- marker -->\
""")
    (check,) = town.checks(number)
    assert (check.conclusion, check.title, check.summary) == snapshot(
        (
            "neutral",
            "1 finding, 2 files not read",
            """\
No test is broken: 10 tests passed.
0 files read.
- not read: `logo.bin`: binary
- not read: `pantry/broken.py`: not read by bandit: syntax error while parsing AST from file\
""",
        )
    )


@pytest.mark.extended
def test_hostile_code(town: Town) -> None:
    """Code under review mentions nobody, closes nothing and forges no marker; its fence holds."""
    number = town.propose("words", {"pantry/words.py": HOSTILE, "tests/test_words.py": TEST_OF_HOSTILE})
    assert [readable(each.body) for each in town.remarks(number)] == snapshot(
        [
            """\
**E711** (minor, correctness): Comparison to 'None' should be 'cond is None'

````suggestion
    if x is None:  # ``` <!-- marker --> @maya fixes #1
````
<sub>Applied and tested: 1 test passed before and after (`python -m pytest tests/test_words.py`).</sub>

<sub>`@apprentice why <id>`</sub>
<!-- marker -->\
""",
            """\
**F541** (info, style): f-string without any placeholders

`````suggestion
        return "````"
`````
<sub>Applied and tested: 1 test passed before and after (`python -m pytest tests/test_words.py`).</sub>

<sub>`@apprentice why <id>`</sub>
<!-- marker -->\
""",
        ]
    )
    posts = town.context.store.posts.watched(town.key, LONG_AGO)
    assert {post.github_id for post in posts} == {each.id for each in town.remarks(number)}


@pytest.mark.extended
def test_reviewed_twice(town: Town) -> None:
    """A review that is done again from its start says nothing twice."""
    number = town.propose("empty", EMPTY)
    said = len(town.remarks(number))
    town.do_again("review")
    assert (len(town.reviews(number)), len(town.remarks(number)), len(town.checks(number))) == (1, said, 1)
