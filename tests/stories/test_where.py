"""Issues in words: where they are likely to be, on command, or where the repository wants it and the learner expects use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from memory.model import Arm, SignalKind
from tests.stories import town as founding
from tests.stories.pantry import FILES, SHELF
from tests.stories.town import REPOSITORY, Town, readable

pytestmark = pytest.mark.extended

TITLE, BODY = (
    "Nothing is left to take",
    "When I take all of something off the shelf, it says there is only so much of it.",
)
FIXED = SHELF.replace(">= self.amount", "> self.amount")
WANTED = FILES | {".github/apprentice.yml": "issues:\n  locate: true\n"}


def shown(texts: list[str]) -> list[str]:
    """Answers without the address of the town and the short ids of commits."""
    return [re.sub(r"\[[0-9a-f]{7}\]\(http://[^/]+/", "[<commit>](https://github/", text) for text in texts]


def with_a_past(town: Town) -> None:
    """An issue about the shelf that a commit closed."""
    town.playground.commit(
        REPOSITORY, {"pantry/shelf.py": FIXED}, "Allow to take all off the shelf\n\nFixes #41 @olga", login="maya"
    )
    town.playground.commit(REPOSITORY, {"pantry/shelf.py": SHELF}, "Go back", login="maya")
    town.settle()


def test_on_command(town: Town) -> None:
    """The answer names files with functions and why, what was resolved before, and tests; its text cannot act."""
    with_a_past(town)
    number = town.issue(TITLE, BODY)
    assert town.answers(number) == []
    assert shown(town.say(number, "@apprentice where")) == snapshot(
        [
            """\
By its words, this is likely about (at [<commit>](https://github/kitchen/pantry/commit/<sha>), nothing was run):

1. `pantry/shelf.py`: `Shelf.amount` (18–20), `Shelf.take` (22–27) – changed by the fix of #41, which reads alike
2. `pantry/recipes.py`: `Recipe.heaviest` (21–23), `Recipe.scaled` (15–19) – its words are alike

Resolved before, and read alike:

- #41, [<commit>](https://github/kitchen/pantry/commit/<sha>): Allow to take all off the shelf (`pantry/shelf.py`)

Tests that import these files, not run: `tests/test_shelf.py`.

Is this of use? React with 👍 or 👎; `@apprentice why <decision>` explains why I answered.
<!-- marker -->\
"""
        ]
    )


def test_a_reaction_is_the_reward(town: Town) -> None:
    """A maintainer's reaction to the answer changes what is believed of such answers, and goes with the reaction."""
    with_a_past(town)
    number = town.issue(TITLE, BODY)
    town.say(number, "@apprentice where")
    (comment,) = town.answers(number)
    before = town.digest()
    path = f"/repos/{REPOSITORY}/issues/comments/{comment.id}/reactions"
    given = town.maya.request("POST", path, {"content": "-1"})
    town.olga.request("POST", path, {"content": "+1"})
    town.poll()
    (decision,) = town.context.store.posts.on(town.key, number)[0].decision_ids
    signals = town.context.store.ledger.live_signals([decision])
    assert sorted((s.kind, s.actor.login, s.weight) for s in signals) == [
        (SignalKind.REACTION_DOWN, "maya", 1.0),
        (SignalKind.REACTION_UP, "olga", 0.0),
    ]
    assert town.digest() != before
    (why,) = town.say(number, "@apprentice why")
    assert "a user asked for the answer" in why
    town.maya.request("DELETE", f"{path}/{given['id']}")
    town.poll()
    assert town.digest() == before


def test_a_stranger_gives_no_commands(town: Town) -> None:
    """Who has no write access gets one refusal, and no answer."""
    number = town.issue(TITLE, BODY)
    (refusal,) = town.say(number, "@apprentice where", by=town.olga)
    assert refusal.startswith("olga, only users with write access")


def test_silent_by_default(town: Town) -> None:
    """A new issue gets no answer where the repository does not ask for one, and no decision is made."""
    number = town.issue(TITLE, BODY)
    assert town.answers(number) == []
    assert town.context.store.ledger.latest(town.key) is None


def test_its_own_decision(tmp_path: Path) -> None:
    """Where the repository wants it, the learner decides on each new issue, an outsider's too; rejected answers end it."""
    with founding.town(tmp_path, WANTED) as town:
        odds, answers = [], 0
        for each in range(18):
            number = town.issue(f"{TITLE} {each}", BODY, by=town.olga)
            posts = town.context.store.posts.on(town.key, number)
            made = town.context.store.ledger.latest(town.key)
            assert made is not None
            assert set(made.available) == {"answer", "silent"}
            assert (made.chosen == "answer") is bool(posts) is bool(town.answers(number))
            odds.append(made.probabilities[made.available.index("answer")])
            if answers == 3:
                break
            for post in posts:
                answers += 1
                for maintainer in (town.maya, town.finn):
                    path = f"/repos/{REPOSITORY}/issues/comments/{post.github_id}/reactions"
                    maintainer.request("POST", path, {"content": "-1"})
            town.poll()
        assert answers == 3
        assert odds[0] > 0.5 > 0.3 > odds[-1]


def test_the_control_arm_learns_nothing(tmp_path: Path) -> None:
    """In the control arm the same rejections change nothing about the odds."""
    with founding.town(tmp_path, WANTED, control_share=0.9) as town:
        odds = []
        for each in range(5):
            number = town.issue(f"{TITLE} {each}", BODY)
            for post in town.context.store.posts.on(town.key, number):
                path = f"/repos/{REPOSITORY}/issues/comments/{post.github_id}/reactions"
                town.maya.request("POST", path, {"content": "-1"})
            town.poll()
            made = town.context.store.ledger.latest(town.key)
            assert made is not None
            if made.arm is Arm.CONTROL:
                odds.append(made.probabilities[0])
        assert len(odds) >= 3
        assert max(odds) - min(odds) < 0.12


def test_an_issue_with_a_test_is_left_to_the_repair(tmp_path: Path) -> None:
    """An issue with a failing test gets one answer, that of the repair, and no decision of this kind."""
    with founding.town(tmp_path, WANTED) as town:
        number = town.issue(TITLE, "```python\ndef test_sum():\n    assert 1 + 1 == 2\n```")
        assert all("likely about" not in each.body for each in town.answers(number))


def test_done_again_after_a_death(tmp_path: Path) -> None:
    """A job that is done again decides nothing anew and posts nothing twice."""
    with founding.town(tmp_path) as town:
        with_a_past(town)
        number = town.issue(TITLE, BODY)
        town.say(number, "@apprentice where")
        first = [readable(each.body) for each in town.answers(number)]
        town.do_again("locate")
        assert [readable(each.body) for each in town.answers(number)] == first


def test_no_word_in_common(tmp_path: Path) -> None:
    """An issue without a word of the code is answered so, on command alone."""
    with founding.town(tmp_path) as town:
        number = town.issue("Zzz", "qqq")
        assert town.say(number, "@apprentice where", by=town.finn) == snapshot(
            [
                """\
No Python file of this repository shares a word with this issue, so I can name no place.
<!-- marker -->\
"""
            ]
        )
