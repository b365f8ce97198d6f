"""Repairs with a model, as people see them: the scripted server answers over real HTTP, everything else is real."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from bot.model_server.script import Script, ScriptedCall, ScriptedError, ServerFeatures, Turn, When
from memory.model import TaskKind
from tests.stories.modelled import ISSUE, RIGHT, SAID, SHELF, TEST, WRONG, call, fail, mend, modelled
from tests.stories.town import REPOSITORY, Town, readable

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

REFLECTION = "I compared the wrong way round: look at what happens when all of it is wanted."


def steps(town: Town) -> list[str]:
    """What was told of the model's steps, and how its run ended."""
    return [line for line in town.progress if line.startswith(("step ", "model:"))]


def test_a_repair_by_a_model(tmp_path: Path) -> None:
    """The model searches, reads, edits, tests and finishes; what it edited is proven and proposed, with its own words."""
    turns = (
        call("search", text="def take"),
        call("read", path=SHELF),
        call("edit", path=SHELF, old=WRONG, new=RIGHT),
        call("run_tests"),
        call("run_tests", tests=["all"]),
        call("finish", summary=SAID),
    )
    with modelled(tmp_path, Script(turns=turns)) as (town, server):
        number = town.issue(ISSUE, TEST)
        assert [readable(each.body) for each in town.answers(number)] == snapshot(
            [
                """\
I opened #2: 1 failing test now passes, and so does the rest of the suite (11 passed, run 2×).
<!-- marker -->\
"""
            ]
        )
        (pull,) = town.fixes()
        assert readable(pull.body) == snapshot('''\
Fixes #1.

**What failed:** `ValueError` `only 500 g of flour` in `tests/test_issue_1.py::test_the_last_of_it_can_be_taken`

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

- failed before, pass now: `tests/test_issue_1.py::test_the_last_of_it_can_be_taken`
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


def test_the_last_of_it_can_be_taken():
    shelf = Shelf()
    shelf.add("flour", "500 g")
    shelf.take("flour", "500 g")
    assert shelf.amount("flour") == 0
```

**What the model says:** pantry/shelf.py:25 refused to hand out the last of something.

Chosen strategy: `model:minimal` (probability 1.00, 6 steps of the model). Decision `<decision>`; ask `@apprentice why <decision>` for the reasons.

Merging teaches me that this kind of edit is wanted here, closing that it is not.
<!-- marker -->\
''')
        shown = [message.text for message in server.requests[-1].messages if message.role == "tool"]
        assert shown == snapshot(
            [
                """\
<data-abf160e4d74d5d3b467e5cacc70c2e72 source="search">
pantry/shelf.py:22: def take(self, name, text):
</data-abf160e4d74d5d3b467e5cacc70c2e72>\
""",
                '''\
<data-2df4fc2727b8cf34a094350ad0bb80c5 source="pantry/shelf.py:1-32">
   1  """What there is, and how much of it."""
   2  \n\
   3  from __future__ import annotations
   4  \n\
   5  from pantry.units import grams, shown
   6  \n\
   7  \n\
   8  class Shelf:
   9      """Amounts in grams, by name."""
  10  \n\
  11      def __init__(self):
  12          self.held = {}
  13  \n\
  14      def add(self, name, text):
  15          """Put something on the shelf."""
  16          self.held[name] = self.amount(name) + grams(text)
  17  \n\
  18      def amount(self, name):
  19          """How much there is of it."""
  20          return self.held.get(name, 0)
  21  \n\
  22      def take(self, name, text):
  23          """Take something off the shelf."""
  24          wanted = grams(text)
  25          if wanted >= self.amount(name):
  26              raise ValueError(f"only {shown(self.amount(name))} of {name}")
  27          self.held[name] -= wanted
  28  \n\
  29      def missing(self, recipe):
  30          """What has to be bought for a recipe: name to grams."""
  31          lacking = {name: need - self.amount(name) for name, need in recipe.needs.items()}
  32          return {name: amount for name, amount in lacking.items() if amount > 0}
</data-2df4fc2727b8cf34a094350ad0bb80c5>\
''',
                '''\
edited pantry/shelf.py:
<data-35fd854a4fb8af49773ebaba7a8d5a35 source="pantry/shelf.py:22-28">
  22      def take(self, name, text):
  23          """Take something off the shelf."""
  24          wanted = grams(text)
  25          if wanted > self.amount(name):
  26              raise ValueError(f"only {shown(self.amount(name))} of {name}")
  27          self.held[name] -= wanted
  28  \n\
</data-35fd854a4fb8af49773ebaba7a8d5a35>\
''',
                """\
<data-c36581e20fa278e6a1979e656e9175be source="tests">
1 passed, 0 failed of 1
</data-c36581e20fa278e6a1979e656e9175be>\
""",
                """\
<data-30bd95ed80147fa206980d219a9e9275 source="tests">
11 passed, 0 failed of 11
</data-30bd95ed80147fa206980d219a9e9275>\
""",
            ]
        )


def test_the_test_comes_first(tmp_path: Path) -> None:
    """A new test that fails without the edit and passes with it is part of the proposal; one that shows nothing is not."""
    new = "from pantry.shelf import Shelf\n\n\ndef test_all():\n    shelf = Shelf()\n    shelf.add('oil', '1 kg')\n"
    turns = (
        call("add_test", path="tests/test_all.py", text=f"{new}    shelf.take('oil', '1 kg')\n"),
        call("add_test", path="tests/test_none.py", text=new),
        call("run_tests", tests=["tests/test_all.py"]),
        *mend(),
    )
    with modelled(tmp_path, Script(turns=turns), model_strategies=("model:test_first",)) as (town, _):
        town.issue(ISSUE, TEST)
        (pull,) = town.fixes()
        assert [line for line in pull.body.splitlines() if line.startswith("+++")] == snapshot(
            ["+++ b/pantry/shelf.py", "+++ b/tests/test_all.py"]
        )


def test_what_the_embedded_engine_leaves(tmp_path: Path) -> None:
    """Where nothing is to be had of the model, the embedded engine repairs what it can."""
    script = Script(turns=(Turn(error=ScriptedError(status=400, message="no such thing here")),))
    with modelled(tmp_path, script, model_strategies=("embedded", "model:minimal")) as (town, _):
        town.issue(ISSUE, TEST)
        assert len(town.fixes()) == 1


def test_nothing_could_be_proven(tmp_path: Path) -> None:
    """What the model tried and learned is said, and nothing is proposed."""
    script = Script(turns=(*fail(), Turn(say=REFLECTION)))
    with modelled(tmp_path, script) as (town, _):
        number = town.issue(ISSUE, TEST)
        assert town.fixes() == []
        assert [readable(each.body) for each in town.answers(number)] == snapshot(
            [
                """\
I could reproduce this but found no fix that I can prove, in <n> s.

**What fails:** `ValueError` `only 500 g of flour` in `tests/test_issue_1.py::test_the_last_of_it_can_be_taken`

| strategy | effort | outcome |
| --- | --- | --- |
| `model:minimal` | 2 steps of the model | passed the failing tests, not proven |

**What I learned from it**

- I compared the wrong way round: look at what happens when all of it is wanted.

<!-- marker -->\
"""
            ]
        )


@pytest.mark.parametrize(
    ("trouble", "settings"),
    [
        pytest.param(
            (Turn(calls=(ScriptedCall(name="edit", arguments='{"path": "pantry'),), times=1),),
            {},
            id="broken arguments",
        ),
        pytest.param((call("read", path="../../etc/passwd"), call("open", path="x")), {}, id="tool errors"),
        pytest.param((Turn(say="I shall look at it.", times=1),), {}, id="words alone"),
        pytest.param((Turn(raw="<html>busy</html>", times=1),), {}, id="malformed body"),
        pytest.param((Turn(error=ScriptedError(status=500), times=1),), {}, id="500"),
        pytest.param((Turn(error=ScriptedError(status=429, retry_after=0.2), times=1),), {}, id="429"),
        pytest.param((Turn(say="Let me see what it is", cut=1, times=1),), {}, id="cut stream"),
        pytest.param((Turn(say="slow", delay=30.0, times=1),), {"model_timeout_seconds": 1.0}, id="time-out"),
    ],
)
def test_troubles_on_the_way(tmp_path: Path, trouble: tuple[Turn, ...], settings: dict[str, object]) -> None:
    """Whatever the endpoint or the model does wrong once, the repair comes all the same."""
    with modelled(tmp_path, Script(turns=(*trouble, *mend())), **settings) as (town, _):
        town.issue(ISSUE, TEST)
        assert len(town.fixes()) == 1, town.progress[-4:]


@pytest.mark.parametrize(
    "has",
    [
        pytest.param(ServerFeatures(tools=False), id="no tools"),
        pytest.param(ServerFeatures(stream=False), id="no streams"),
        pytest.param(ServerFeatures(temperature=False), id="no temperature"),
    ],
)
def test_an_endpoint_that_lacks_something(tmp_path: Path, has: ServerFeatures) -> None:
    """What an endpoint does not have is done without it."""
    edit = {"tool": "edit", "arguments": {"path": SHELF, "old": WRONG, "new": RIGHT}}
    end = {"tool": "finish", "arguments": {"summary": SAID}}
    plain = tuple(Turn(say=f"It is so.\n```json\n{json.dumps(each)}\n```", times=1) for each in (edit, end))
    with modelled(tmp_path, Script(has=has, turns=mend() if has.tools else plain)) as (town, _):
        town.issue(ISSUE, TEST)
        assert len(town.fixes()) == 1, town.progress[-4:]


def test_a_model_that_declines(tmp_path: Path) -> None:
    """A refusal ends the attempt, and is said."""
    with modelled(tmp_path, Script(turns=(Turn(refusal="I cannot help with that."),))) as (town, _):
        number = town.issue(ISSUE, TEST)
        assert [readable(each.body) for each in town.answers(number)] == snapshot(
            [
                """\
I could reproduce this but found no fix that I can prove, in <n> s.

**What fails:** `ValueError` `only 500 g of flour` in `tests/test_issue_1.py::test_the_last_of_it_can_be_taken`

| strategy | effort | outcome |
| --- | --- | --- |
| `model:minimal` | 1 step of the model | nothing passed the failing tests |

**What I learned from it**

- The model declined. Nothing was edited.

<!-- marker -->\
"""
            ]
        )


def test_the_same_again_and_again(tmp_path: Path) -> None:
    """A model that goes round in circles is stopped at the third round."""
    script = Script(
        turns=(
            Turn(say=REFLECTION, when=When(system=("four sentences",))),
            Turn(calls=(ScriptedCall(name="run_tests"),)),
        )
    )
    with modelled(tmp_path, script) as (town, _):
        town.issue(ISSUE, TEST)
        assert steps(town) == snapshot(
            [
                "step 1: run_tests {}",
                "step 2: run_tests {}",
                "step 3: run_tests {}",
                "model:minimal: did the same again and again; proving what it edited",
            ]
        )


def test_a_budget_is_used_up(tmp_path: Path) -> None:
    """The attempt stops before the call that could exceed the budget, and says which one it is."""
    words = ("def", "self", "held", "name", "return", "import")
    script = Script(turns=tuple(call("search", text=word) for word in words))
    with modelled(tmp_path, script, model_tokens_per_run=16_000) as (town, server):
        number = town.issue(ISSUE, TEST)
        assert server.usage.prompt + server.usage.completion <= 12_000
        assert [readable(each.body) for each in town.answers(number)] == snapshot(
            [
                """\
I could reproduce this but found no fix that I can prove, in <n> s.

**What fails:** `ValueError` `only 500 g of flour` in `tests/test_issue_1.py::test_the_last_of_it_can_be_taken`

| strategy | effort | outcome |
| --- | --- | --- |
| `model:minimal` | 4 steps of the model | ran out of time, or of its budget |

**What I learned from it**

- Met a budget: the model's budget of 16000 tokens for one run is used up: 8759 tokens are used, and the next call may use 8066 tokens; the next run has its own; APPRENTICE\\_MODEL\\_TOKENS\\_PER\\_RUN raises it. Nothing was edited.

<!-- marker -->\
"""
            ]
        )


def test_an_endpoint_that_is_gone(tmp_path: Path) -> None:
    """Where no model answers, the embedded engine's word stands, and what is wrong is told to the operator."""
    script = Script(key="right")
    with modelled(tmp_path, script, model_api_key="a-wrong-key-that-nobody-may-see") as (town, _):
        number = town.issue(ISSUE, TEST)
        said = [readable(each.body) for each in town.answers(number)]
        assert said == snapshot(
            [
                """\
I could reproduce this but found no fix that I can prove, in <n> s.

**What fails:** `ValueError` `only 500 g of flour` in `tests/test_issue_1.py::test_the_last_of_it_can_be_taken`

| strategy | effort | outcome |
| --- | --- | --- |
| `model:minimal` | 0 steps of the model | ran out of time, or of its budget |

**What I learned from it**

- The model could not be used: the model's API answered 401: Incorrect API key provided.; the key is not valid; check APPRENTICE\\_MODEL\\_API\\_KEY. Nothing was edited.

<!-- marker -->\
"""
            ]
        )
        assert "nobody-may-see" not in str(town.progress) + str(said)


def test_a_conversation_that_grows_too_long(tmp_path: Path) -> None:
    """What lies between gives way; the task, the failing test and the latest steps stay."""
    asked = [
        Turn(
            calls=(
                ScriptedCall(name="read", arguments={"path": SHELF, "start": start}),
                ScriptedCall(name="search", arguments={"text": name}),
            ),
            times=1,
        )
        for start, name in enumerate(("grams", "Shelf", "take", "amount"), start=1)
    ]
    full = ScriptedError(status=400, code="context_length_exceeded", message="maximum context length")
    script = Script(turns=(*asked, Turn(error=full, times=1), *mend()))
    with modelled(tmp_path, script) as (town, server):
        town.issue(ISSUE, TEST)
        assert len(town.fixes()) == 1, town.progress[-4:]
        last = "\n".join(message.text for message in server.requests[-1].messages)
        assert "test_the_last_of_it_can_be_taken" in last
        assert "steps are left out to save room" in last


def test_guidance(tmp_path: Path) -> None:
    """What a maintainer says after `fix` is before the model."""
    hint = When(contains=("mind the comparison in take",))
    with modelled(tmp_path, Script(turns=mend(hint))) as (town, _):
        number = town.issue(ISSUE, TEST.replace("```python", "```"))
        town.say(number, f"@apprentice fix mind the comparison in take\n\n{TEST}")
        assert len(town.fixes()) == 1, town.progress[-4:]


PNG = b"\x89PNG\r\n\x1a\n" + b"a screenshot" * 20


def test_a_screenshot(tmp_path: Path) -> None:
    """Pictures of an issue that GitHub holds are before the model; others are not fetched."""
    with modelled(tmp_path, Script(turns=mend())) as (town, server):
        shown, other = town.playground.attach(PNG), "http://127.0.0.1:9/evil.png"
        broken = town.playground.attach(b"no picture")
        town.issue(ISSUE, f"![it]({shown}) ![more]({other}) ![text]({broken})\n\n{TEST}")
        assert [len(message.images) for message in server.requests[0].messages] == [0, 1]
        assert server.requests[0].messages[1].images == (f"data:image/png;base64,{b64encode(PNG).decode()}",)


def test_a_model_that_cannot_see(tmp_path: Path) -> None:
    """Where the endpoint takes no pictures, the repair is made without them."""
    with modelled(tmp_path, Script(has=ServerFeatures(images=False), turns=mend())) as (town, _):
        town.issue(ISSUE, f"![it]({town.playground.attach(PNG)})\n\n{TEST}")
        assert len(town.fixes()) == 1, town.progress[-4:]


def test_a_verdict_reaches_the_choice_of_the_engine(tmp_path: Path) -> None:
    """Merging a repair of the embedded engine is for its edit, and for having chosen that engine."""
    with modelled(tmp_path, Script(), model_strategies=("embedded",)) as (town, _):
        town.issue(ISSUE, TEST)
        (pull,) = town.fixes()
        town.maya.merge(REPOSITORY, pull.number)
        town.settle()
        ledger = town.context.store.ledger
        judged = [each.decision.chosen for each in ledger.logged(TaskKind.REPAIR) if each.signals]
        assert len(judged) == 2
        assert "embedded" in judged
