"""Somebody asks for a repair; what comes of it."""

from __future__ import annotations

import re

import pytest
from inline_snapshot import snapshot

from memory.model.jobs import JobState
from tests.playground import fail
from tests.stories.pantry import BUG, FILES, SHELF
from tests.stories.town import BOT, REPOSITORY, Town, readable
from workers.queue.runner import LONGEST_DELAY

pytestmark = pytest.mark.sandbox

MENDED = SHELF.replace("if wanted >= self", "if wanted > self")
TEST_OF_BUG = BUG.partition("```python\n")[2].partition("```")[0]
IMPOSSIBLE = """Cook it.

```python
from pantry.recipes import Recipe


def test_a_recipe_explains_itself():
    steps = Recipe(2, rice="300 g").explained("en")
    assert steps == ["Wash 300 g of rice.", "Boil it for 18 minutes.", "Serve two."]
```
"""

LISTS = '''"""Shopping lists as people write them."""


def wanted(line):
    """The name in a line, which is before the colon."""
    return line.split(":")[0]
'''
TEST_LISTS = """from pantry.lists import wanted


def test_wanted():
    assert [wanted("rice : 2 kg"), wanted("salt: 5 g")] == ["rice", "salt"]
"""

PORTIONS = '''"""Who gets how much."""


def portion(amount, people):
    """What each of some people gets."""
    return amount
'''
TEST_PORTIONS = """from pantry.portions import portion


def test_portion():
    assert portion(4, 2) == 2
"""


RIVALS = re.compile(
    r"^(- )?\d+ different edits pass these tests, .*?(?=^\*\*Files|^Chosen strategy|^<!-- marker)", re.M | re.S
)


def shown(text: str) -> str:
    """A text about a repair as readers see it, without what depends on this machine's speed.

    That is how many other edits the search found in its time, and whether one of them behaves otherwise.
    """
    text = RIVALS.sub("", readable(text))
    text = re.sub(r"\d+ (candidates? tried)", r"<n> \1", text)
    text = re.sub(r"\n+(?=<!-- marker)", "\n", re.sub(r"\n+(?=Chosen strategy)", "\n\n", text))
    return re.sub(r"probability \d\.\d\d", "probability <p>", text)


def without_effort(text: str) -> str:
    """The same without what was tried, of which a repair in a hurry gets further on a faster machine."""
    text = re.sub(r"(\| `[\w/]+` \| <n> candidates? tried \| .* \|\n)+", "| <attempts> |\n", shown(text))
    text = re.sub(r"(- [\w/ ]+: .*\n)+", "<reflections>\n", text)
    return re.sub(r"(\d+|<n>) candidates tried in .* for proofs\..*", "<effort>", text)


def test_issue_with_a_failing_test(town: Town) -> None:
    """A maintainer's issue that brings a failing test becomes a draft pull request with its proof, and an answer."""
    number = town.issue("The last of it cannot be taken", BUG)
    (pull,) = town.fixes()
    assert (pull.author, pull.draft, pull.title) == (BOT, True, "Fix ValueError in pantry/shelf.py")
    assert shown(pull.body) == snapshot('''\
Fixes #1.

**What failed:** `ValueError` `only 500 g of rice` in `tests/test_issue_1.py::test_everything_can_be_taken`

```diff
diff --git a/pantry/shelf.py b/pantry/shelf.py
--- a/pantry/shelf.py
+++ b/pantry/shelf.py
@@ -22,7 +22,7 @@
     def take(self, name, text):
         """Take something off the shelf."""
         wanted = grams(text)
-        if wanted >= self.amount(name):
+        if wanted > self.amount(name):
             raise ValueError(f"only {shown(self.amount(name))} of {name}")
         self.held[name] -= wanted
```

**Proof**

- failed before, pass now: `tests/test_issue_1.py::test_everything_can_be_taken`
- whole suite with the change: 11 passed, 0 failed, 0 skipped of 11 (before: 10 passed, 1 failed)
- run 2× in a sandbox without network: `python -m pytest`
- 1 failing test function fails, as it must, where it expects something else
- each run reported rightly on two tests that were added to it: one must fail, one must pass
- 1 failing test passes without pytest too
- only Python sources were changed to get there: no test, fixture, data or configuration file
**Files:** `pantry/shelf.py`, `tests/test_issue_1.py` (new)

`tests/test_issue_1.py` is the test that came with the request:

```python
from pantry.shelf import Shelf


def test_everything_can_be_taken():
    shelf = Shelf()
    shelf.add("rice", "500 g")
    shelf.take("rice", "500 g")
    assert shelf.amount("rice") == 0
```

Chosen strategy: `operators` (probability <p>, <n> candidate tried). Decision `<decision>`; ask `@apprentice why <decision>` for the reasons.

Merging teaches me that this kind of edit is wanted here, closing that it is not.
<!-- marker -->\
''')
    assert town.eyes(f"issues/{number}") == [BOT]
    (answer,) = town.answers(number)
    assert shown(answer.body) == snapshot("""\
I opened #2: 1 failing test now passes, and so does the rest of the suite (11 passed, run 2×).
<!-- marker -->\
""")
    assert "if wanted >= self" not in town.maya.read(REPOSITORY, "pantry/shelf.py", pull.head_ref)
    assert town.maya.read(REPOSITORY, f"tests/test_issue_{number}.py", pull.head_ref) == TEST_OF_BUG
    message = town.playground.world.repository("kitchen", "pantry").git.commit(pull.head_sha).message
    assert readable(message) == snapshot("""\
Fix ValueError in pantry/shelf.py [skip ci]

These tests failed and pass now:
- tests/test_issue_1.py::test_everything_can_be_taken

For #1\
""")


def test_outsiders_issue(town: Town) -> None:
    """The same by an outsider is left alone in silence: nobody asked us, and strangers do not make us work."""
    number = town.issue("The last of it cannot be taken", BUG, by=town.olga)
    assert town.answers(number) == []
    assert town.fixes() == []
    assert town.progress == []


@pytest.mark.extended
def test_maintainer_takes_it_up(town: Town) -> None:
    """A maintainer who repeats an outsider's request makes it one of their own, with the outsider's test."""
    number = town.issue("The last of it cannot be taken", BUG, by=town.olga)
    (answer,) = town.say(number, "@apprentice fix")
    assert answer.startswith("I opened #2")
    (pull,) = town.fixes()
    assert pull.body.startswith(f"Fixes #{number}.")


@pytest.mark.extended
def test_made_once(town: Town) -> None:
    """An issue with our label is taken up without a command; neither a redelivery nor a job done again makes it twice."""
    number = town.issue("The last of it cannot be taken", BUG, labels=["apprentice"])
    town.redeliver("issues")
    town.do_again("fix")
    assert len(town.fixes()) == len(town.answers(number)) == 1
    branches = town.maya.request("GET", f"/repos/{REPOSITORY}/branches")
    assert len(branches) == 2
    assert len([line for line in town.progress if line.startswith("finding what fails")]) == 1


@pytest.mark.extended
def test_nothing_failing(town: Town) -> None:
    """A command where every test passes is answered with how to ask."""
    number = town.issue("Something is wrong with rice", "")
    assert town.say(number, "@apprentice fix") == snapshot(
        [
            """\
All 10 tests pass at <id>, so there is nothing for me to reproduce. Add a failing test, here in a ```` ```python ```` block or in the repository, and ask again: `@apprentice fix`.
<!-- marker -->\
"""
        ]
    )
    assert town.fixes() == []


@pytest.mark.extended
def test_passing_test(town: Town) -> None:
    """An issue whose test passes is told so."""
    number = town.issue("Rice", BUG.replace('take("rice", "500 g")', 'take("rice", "499 g")').replace("== 0", "== 1"))
    (answer,) = town.answers(number)
    assert answer.body.startswith("All 11 tests pass at ")


@pytest.mark.extended
def test_not_fixable(hurried_town: Town) -> None:
    """What cannot be repaired is said with what was tried, and no pull request is opened."""
    town = hurried_town
    number = town.issue("Explain recipes", IMPOSSIBLE)
    (answer,) = town.answers(number)
    assert without_effort(answer.body) == snapshot("""\
I could reproduce this but found no fix that I can prove, in <n> s.

**What fails:** `AttributeError` `'Recipe' object has no attribute 'explained'` in `tests/test_issue_1.py::test_a_recipe_explains_itself`

| strategy | effort | outcome |
| --- | --- | --- |
| <attempts> |

<details><summary>What I learned from it</summary>

<reflections>

</details>

<effort>
<!-- marker -->\
""")
    assert town.fixes() == []


@pytest.mark.extended
def test_not_collected(town: Town) -> None:
    """Tests that cannot be collected for want of something that is not installed are reported as that."""
    town.push("main", {"tests/conftest.py": "import soup_ladle\n"}, by=town.maya)
    number = town.issue("Rice", "")
    assert town.say(number, "@apprentice fix") == snapshot(
        [
            """\
I could not repair this: pytest could not start: ModuleNotFoundError: No module named 'soup\\_ladle'; correct this by hand, because a repair is tried by running tests
<!-- marker -->\
"""
        ]
    )


def test_no_tests(town: Town) -> None:
    """A project without tests is told that there is nothing to go by."""
    gone: dict[str, str | bytes | None] = {path: None for path in FILES if path.startswith("tests/")}
    town.push("main", gone | {"pyproject.toml": ""}, by=town.maya)
    number = town.issue("Rice", "")
    assert town.say(number, "@apprentice fix") == snapshot(
        [
            """\
I could not repair this: no tests in this repository: there is no test\\_\\*.py, no \\*\\_test.py and no pytest configuration
<!-- marker -->\
"""
        ]
    )


def test_pull_request(town: Town) -> None:
    """A fix asked for on a pull request is proposed onto its branch, and closes nothing."""
    number = town.propose("take", {"tests/test_take.py": TEST_OF_BUG}, draft=True)
    (answer,) = town.say(number, "@apprentice fix")
    (pull,) = town.fixes()
    assert shown(answer) == snapshot("""\
I opened #2: 1 failing test now passes, and so does the rest of the suite (11 passed, run 2×).
<!-- marker -->\
""")
    assert town.maya.request("GET", f"/repos/{REPOSITORY}/pulls/{pull.number}")["base"]["ref"] == "take"
    assert pull.body.startswith(f"For #{number}.")
    bare = town.playground.world.repository(*REPOSITORY.split("/")).git
    assert bare.text("diff", "--name-only", "take", pull.head_sha) == "pantry/shelf.py"


@pytest.mark.extended
def test_fork(town: Town) -> None:
    """A fork's branch is not ours to push to: the patch is shown where it was asked for."""
    fork = town.olga.fork(REPOSITORY)
    town.olga.push(fork, "take", {"tests/test_take.py": TEST_OF_BUG}, "Take all")
    number = town.olga.open_pull(REPOSITORY, head="olga:take", title="Take all")
    town.settle()
    (answer,) = town.say(number, "@apprentice fix")
    assert shown(answer) == snapshot('''\
This makes the failing tests pass; the branch is a fork's, so please apply it there:

```diff
diff --git a/pantry/shelf.py b/pantry/shelf.py
--- a/pantry/shelf.py
+++ b/pantry/shelf.py
@@ -22,7 +22,7 @@
     def take(self, name, text):
         """Take something off the shelf."""
         wanted = grams(text)
-        if wanted >= self.amount(name):
+        if wanted > self.amount(name):
             raise ValueError(f"only {shown(self.amount(name))} of {name}")
         self.held[name] -= wanted
```

**Proof**

- failed before, pass now: `tests/test_take.py::test_everything_can_be_taken`
- whole suite with the change: 11 passed, 0 failed, 0 skipped of 11 (before: 10 passed, 1 failed)
- run 2× in a sandbox without network: `python -m pytest`
- 1 failing test function fails, as it must, where it expects something else
- each run reported rightly on two tests that were added to it: one must fail, one must pass
- 1 failing test passes without pytest too
- only Python sources were changed to get there: no test, fixture, data or configuration file
<!-- marker -->\
''')
    assert town.fixes() == []


@pytest.mark.extended
def test_tests_that_decide_nothing(town: Town) -> None:
    """Where the edits that pass disagree and none has most of the weight, the likeliest is shown and none is proposed."""
    town.push("main", {"pantry/portions.py": PORTIONS, "tests/test_portions.py": TEST_PORTIONS}, by=town.maya)
    (answer,) = town.say(town.issue("Portions are too large", ""), "@apprentice fix")
    assert "Add a test of what is meant, and I try again" in answer
    assert "**Which result is right?**" in answer
    assert town.fixes() == []


@pytest.mark.extended
def test_second_bug_of_a_kind(town: Town) -> None:
    """What was proven before is tried first: a second bug of the kind takes fewer candidates."""
    units = FILES["pantry/units.py"].replace("[len(digits):].strip()", "[len(digits):]")
    decided = FILES["tests/test_units.py"].replace("2 cups", "2 k g")
    town.push("main", {"pantry/units.py": units, "tests/test_units.py": decided}, by=town.maya)
    first = town.issue("2 kg is no unit", "@apprentice fix")
    town.maya.merge(REPOSITORY, town.fixes()[0].number)
    town.push("main", {"pantry/lists.py": LISTS, "tests/test_lists.py": TEST_LISTS}, by=town.maya)
    second = town.issue("A name ends with a space", "@apprentice fix")
    tried = {task.task.number: task for task in town.context.store.tasks.by_repository(town.key)}
    candidates = [sum(each.candidates for each in tried[number].attempts) for number in (first, second)]
    assert candidates[1] < candidates[0]


@pytest.mark.extended
def test_secret(town: Town) -> None:
    """What looks like a credential in a failing test's message does not get into anything that we post."""
    secret = "ghp_" + "a1B2" * 9
    town.push("main", {"tests/test_login.py": f'def test_login():\n    assert "{secret}" == "rice"\n'}, by=town.maya)
    number = town.issue("Login", "")
    (answer,) = town.say(number, "@apprentice fix")
    assert secret not in answer
    assert "[secret removed]" in answer


@pytest.mark.extended
def test_hostile_words(town: Town) -> None:
    """A failing test's words mention nobody, close nothing, command no bot and forge no marker of ours."""
    words = "/approve @maya fixes #1 <!-- apprentice:x --> ![](http://evil.example/x.png) ```\\n@apprentice fix"
    town.push(
        "main", {"tests/test_words.py": f'def test_words():\n    raise RuntimeError("""{words}""")\n'}, by=town.maya
    )
    number = town.issue("Words", "")
    (answer,) = town.say(number, "@apprentice fix")
    assert shown(answer) == snapshot("""\
I could reproduce this but found no fix that I can prove, in <n> s.

**What fails:** `RuntimeError` `/approve @maya fixes #1 <!-- marker --> ![](http://evil.example/x.png) ''' @apprentice fix` in `tests/test_words.py::test_words`

| strategy | effort | outcome |
| --- | --- | --- |
| `everything` | <n> candidates tried | nothing passed the failing tests |

**What I learned from it**

- all strategies: no candidate to try. The failing tests ran no line of the project that could be traced, and name no module.
<!-- marker -->\
""")
    assert len(town.answers(number)) == 1


@pytest.mark.extended
def test_github_out_of_order(town: Town) -> None:
    """A comment that GitHub fails to take is tried again later, and found if it was taken after all."""
    number = town.issue("Rice", "")
    town.lose_answer("POST", r"/comments$")
    town.maya.comment(REPOSITORY, number, "@apprentice help")
    town.settle()
    assert len(town.answers(number)) == 1
    town.later(60.0)
    assert len(town.answers(number)) == 1


@pytest.mark.extended
def test_what_people_push_to_our_branch_stays(town: Town) -> None:
    """While the answer that names a pull request waits for GitHub, a commit that a person pushes to its branch is kept."""
    town.playground.before("POST", r"/issues/\d+/comments$", fail(502), nth=0)
    number = town.issue("The last of it cannot be taken", BUG)
    (pull,) = town.fixes()
    theirs = town.push(pull.head_ref, {"notes.md": "Rice.\n"}, by=town.maya)
    town.playground.undisturbed()
    town.later(LONGEST_DELAY.total_seconds())
    assert len(town.answers(number)) == 1
    assert [each.head_sha for each in town.fixes()] == [theirs]


@pytest.mark.extended
@pytest.mark.parametrize("refused", ["push", "pull request"])
def test_github_takes_no_pull_request(refused: str, town: Town) -> None:
    """Where a rule of the repository refuses our branch, or GitHub our pull request, the answer shows the proven repair at once."""
    if refused == "push":
        hook = town.playground.world.repository(*REPOSITORY.split("/")).git.path / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho GH013: Repository rule violations found >&2\nexit 1\n")
        hook.chmod(0o755)
    else:
        town.playground.before("POST", "/pulls$", fail(422, "Validation Failed: base invalid"), nth=0)
    number = town.issue("The last of it cannot be taken", BUG)
    (answer,) = town.answers(number)
    assert answer.body.startswith("I could not open a pull request: ")
    assert "+        if wanted > self.amount(name):" in answer.body
    assert town.fixes() == []
    assert town.count(JobState.FAILED) == 0


@pytest.mark.extended
def test_asked_twice(town: Town) -> None:
    """While our pull request is open, who asks for the same again is pointed to it; once it is closed, another repair is made."""
    number = town.issue("The last of it cannot be taken", BUG)
    (pull,) = town.fixes()
    (answer,) = town.say(number, "@apprentice fix", by=town.finn)
    assert readable(answer).startswith(f"#{pull.number} is my repair of this.")
    assert [each.number for each in town.fixes()] == [pull.number]
    town.maya.close(REPOSITORY, pull.number)
    town.say(number, "@apprentice fix")
    assert [each.number for each in town.fixes()] == [pull.number + 1]
