"""People ask the bot to write down what they taught it; what it proposes, and what it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from bot.playground.git import GitIdentity
from memory.sharing import PATH, parse
from tests.stories import town as founding
from tests.stories.town import REPOSITORY, Town, readable

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

EMPTY: dict[str, str | bytes | None] = {"pantry/empty.py": 'def empty():\n    return f"empty"\n'}
"""A change with one finding, F541."""


@pytest.fixture
def sharing_town(tmp_path: Path) -> Iterator[Town]:
    """A town whose operator opted in."""
    with founding.town(tmp_path, share_learnings=True) as made:
        yield made


def judged(town: Town, *people: str) -> int:
    """A pull request whose one remark these people found good; its number."""
    number = town.propose("empty", EMPTY)
    remark = town.remark_on(number, "F541")
    for who in people:
        town.reply(number, remark.id, "@apprentice accept", by=getattr(town, who))
    return number


def test_what_two_people_taught_is_proposed(sharing_town: Town) -> None:
    """A draft pull request holds the lesson with links and without names; asked again, nothing is opened twice."""
    town = sharing_town
    number = judged(town, "maya", "finn")
    (answer,) = town.say(number, "@apprentice share")
    (pull,) = town.fixes()
    assert answer == f"I propose 1 lesson in #{pull.number}.\n<!-- marker -->"
    assert (pull.draft, pull.head_ref, pull.title) == (
        True,
        "apprentice/learnings",
        "Learnings for other repositories, to be reviewed",
    )
    assert readable(pull.body) == snapshot("""\
`.apprentice/learnings.yml` holds 1 lesson: how often users here accepted findings of a rule, or fixes of a kind. Each rests on feedback from at least 2 users, and links to it.

It holds no code, paths, messages or names. Review it like code, and remove what must stay private. After the merge, everyone who can read this repository can import it as a prior.
<!-- marker -->\
""")
    text = town.maya.read(REPOSITORY, PATH, pull.head_ref)
    (lesson,) = parse(text).lessons
    assert (lesson.label, lesson.mean, lesson.weight, lesson.teachers) == ("F541", 1.0, 2.0, 2)
    assert lesson.taught_by[0].endswith(f"/{REPOSITORY}/pull/{number}")
    assert not any(who in text for who in ("maya", "finn", "empty"))
    (again,) = town.say(number, "@apprentice share")
    assert again == answer
    assert [each.number for each in town.fixes()] == [pull.number]


def test_once_merged_there_is_nothing_new(sharing_town: Town) -> None:
    """The file says it all; and what was learned here is not believed a second time because it stands there."""
    town = sharing_town
    number = judged(town, "maya", "finn")
    town.say(number, "@apprentice share")
    (pull,) = town.fixes()
    town.maya.mark_ready(REPOSITORY, pull.number)
    town.maya.merge(REPOSITORY, pull.number)
    town.settle()
    (answer,) = town.say(number, "@apprentice share")
    assert answer == f"`{PATH}` is already up to date.\n<!-- marker -->"
    later = town.propose("later", {"pantry/later.py": 'def later():\n    return f"later"\n'})
    assert "learned" not in town.remark_on(later, "F541").body


def test_one_persons_word_does_not_leave(sharing_town: Town) -> None:
    """Nor do outsiders'; the answer says what it takes."""
    number = judged(sharing_town, "maya", "olga")
    (answer,) = sharing_town.say(number, "@apprentice share")
    assert answer == snapshot("""\
No lesson here has feedback from at least 2 users yet, so there is nothing to share.
<!-- marker -->\
""")
    assert sharing_town.fixes() == []


def test_strangers_share_nothing(sharing_town: Town) -> None:
    """Only users with write access can ask for it."""
    number = judged(sharing_town, "maya", "finn")
    (answer,) = sharing_town.say(number, "@apprentice share", by=sharing_town.olga)
    assert "only users with write access" in answer
    assert sharing_town.fixes() == []


def test_nothing_is_shared_where_nobody_opted_in(town: Town) -> None:
    """The answer names the setting."""
    number = judged(town, "maya", "finn")
    (answer,) = town.say(number, "@apprentice share")
    assert answer == snapshot("""\
Sharing is disabled; the operator can set `APPRENTICE_SHARE_LEARNINGS`.
<!-- marker -->\
""")
    assert town.fixes() == []


def test_somebody_elses_file_is_not_replaced(sharing_town: Town) -> None:
    """What another repository learned stays, and the answer says what to do."""
    town = sharing_town
    town.maya.push(REPOSITORY, "main", {PATH: 'version: 1\nsource: "acme/shop"\nlessons: []\n'}, "Add learnings")
    number = judged(town, "maya", "finn")
    (answer,) = town.say(number, "@apprentice share")
    assert answer == snapshot("""\
I could not share what was learned: .apprentice/learnings.yml holds what acme/shop learned; 'apprentice import' it and remove the file
<!-- marker -->\
""")
    assert town.fixes() == []


@pytest.mark.parametrize("web", [False, True])
def test_a_maintainers_commit_on_the_branch_is_kept(sharing_town: Town, web: bool) -> None:
    """What a person added to the proposal, by git or on GitHub's page, is never overwritten; the answer says what to do."""
    town = sharing_town
    number = judged(town, "maya", "finn")
    town.say(number, "@apprentice share")
    (pull,) = town.fixes()
    bare = town.playground.world.repository(*REPOSITORY.split("/")).git
    if web:  # a commit of ours that a person changed keeps its author
        ours = bare.commit(pull.head_sha)
        tree, parents = bare.text("rev-parse", f"{pull.head_sha}^{{tree}}"), list(ours.parents)
        mine = bare.commit_tree(
            tree, parents, "Mine", ours.author, GitIdentity(name="GitHub", email="noreply@github.com")
        )
        bare.set_ref("refs/heads/apprentice/learnings", mine)
    else:
        mine = town.maya.push(REPOSITORY, "apprentice/learnings", {"notes.md": "Mine.\n"}, "Explain")
    (answer,) = town.say(number, "@apprentice share")
    assert bare.branch("apprentice/learnings") == mine
    assert answer.startswith(
        "I could not share what was learned: apprentice/learnings has commits that are not mine, and I overwrite none; "
        "merge or delete that branch"
    )


def test_without_drafts(sharing_town: Town) -> None:
    """The proposal is a usual pull request with a warning; an update keeps CI from running as the first one does."""
    town = sharing_town
    hosted = town.playground.world.repository(*REPOSITORY.split("/"))
    hosted.drafts = False
    number = judged(town, "maya", "finn")
    town.say(number, "@apprentice share")
    (pull,) = town.fixes()
    assert not pull.draft
    assert pull.body.startswith("**Do not merge this unread.** It is no draft")
    town.clock.pass_by(60.0)
    town.say(number, "@apprentice share")
    (again,) = town.fixes()
    assert again.number == pull.number
    assert again.head_sha != pull.head_sha
    for sha in (pull.head_sha, again.head_sha):
        assert "[skip ci]" in hosted.git.commit(sha).message.splitlines()[0]
