"""What people say to the bot, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from inline_snapshot import snapshot

from tests.stories import town as founding
from tests.stories.town import REPOSITORY, Town

QUESTION = "How do I measure a cup?"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """One town for all: each story has an issue or a pull request of its own, and none teaches anything."""
    with founding.town(tmp_path_factory.mktemp("town")) as made:
        yield made


def test_help(town: Town) -> None:
    """`help` is answered with the table of commands that do something here: there is no model, and sharing is disabled."""
    number = town.issue(QUESTION, "")
    assert town.say(number, "@apprentice help") == snapshot(
        [
            """\
| command | what it does |
| --- | --- |
| `@apprentice fix` | reproduce the failing tests and open a draft pull request with a proven fix |
| `@apprentice review` | review this pull request now, running its tests |
| `@apprentice where` | name the files that this issue is likely about, and similar issues that were resolved |
| `@apprentice why ID` | explain a decision: its evidence, probabilities and alternatives |
| `@apprentice accept`, `@apprentice reject because …` | judge whether a finding or fix is useful |
| `@apprentice help` | this table |

Users with write access can give commands and feedback; feedback from users with triage access counts half. Reactions, applied suggestions, merges and closes count as feedback too.
<!-- marker -->\
"""
        ]
    )


def test_name_alone(town: Town) -> None:
    """Our name with nothing after it asks for help."""
    number = town.issue(QUESTION, "")
    (answer,) = town.say(number, "@apprentice")
    assert answer.startswith("| command | what it does |")


def test_slash(town: Town) -> None:
    """A slash does as well as an @."""
    number = town.issue(QUESTION, "")
    (answer,) = town.say(number, "/apprentice help")
    assert answer.startswith("| command | what it does |")


def test_misspelt(town: Town) -> None:
    """A command that does not exist is answered with the one that was probably meant."""
    number = town.issue(QUESTION, "")
    assert town.say(number, "@apprentice fxi") == snapshot(
        [
            """\
There is no command 'fxi'. Did you mean `@apprentice fix`?
<!-- marker -->\
"""
        ]
    )


def test_unheard_of(town: Town) -> None:
    """A command that is like none of ours is answered with where to find them; a stranger's words are not repeated raw."""
    number = town.issue(QUESTION, "")
    assert town.say(number, "@apprentice <b>@olga</b>\nThank you.") == snapshot(
        [
            """\
There is no command 'bolgab'. Try `@apprentice help`.
<!-- marker -->\
"""
        ]
    )


def test_option(town: Town) -> None:
    """A comment may not set anything: options are refused."""
    number = town.issue(QUESTION, "")
    assert town.say(number, "@apprentice fix --model=http://evil.example") == snapshot(
        [
            """\
'fix' takes no option '--model'. Did you mean `@apprentice fix`?
<!-- marker -->\
"""
        ]
    )


def test_out_of_place(town: Town) -> None:
    """A review of an issue is refused with the place where it works."""
    number = town.issue(QUESTION, "")
    assert town.say(number, "@apprentice review") == snapshot(
        [
            """\
'review' works in a pull request. Try `@apprentice help`.
<!-- marker -->\
"""
        ]
    )


@pytest.mark.parametrize(
    "text",
    [
        "```\n@apprentice help\n```",
        "> @apprentice help",
        "`@apprentice help`",
        "<!-- @apprentice help -->",
        "Ask @apprentice help for the commands.",
        "@apprentices help",
    ],
    ids=["code block", "quote", "code span", "hidden", "in a sentence", "another name"],
)
def test_not_said_to_us(text: str, town: Town) -> None:
    """What is shown, quoted, hidden or said to others is no command."""
    number = town.issue(QUESTION, "")
    assert town.say(number, text) == []
    assert len(town.say(number, "@apprentice")) == 1, "we did listen"


def test_bot(town: Town) -> None:
    """What a bot says is no command, nor is what we say ourselves: our own table of commands starts no conversation."""
    number = town.issue(QUESTION, "")
    town.say(number, "@apprentice help")
    other = town.playground.add_app("other", owner="kitchen")
    town.playground.install(other, REPOSITORY)
    town.say_as_app(other, number, "@apprentice help")
    assert len(town.answers(number)) == 1


@pytest.mark.parametrize("command", ["fix", "help", "share", "why 1234567890abcdef", "fxi"])
def test_outsider(command: str, town: Town) -> None:
    """A command by somebody without write access is answered, and nothing is done."""
    number, before = town.issue(QUESTION, ""), len(town.progress)
    (answer,) = town.say(number, f"@apprentice {command}", by=town.olga)
    assert answer == snapshot("""\
olga, only users with write access to this repository can give me commands; a maintainer can repeat your command.
<!-- marker -->\
""")
    assert town.progress[before:] == []


def test_outsider_at_length(town: Town) -> None:
    """Strangers cannot make us talk: a comment full of commands is refused once."""
    number = town.issue(QUESTION, "")
    assert len(town.say(number, "@apprentice fix\n@apprentice help\n@apprentice why", by=town.olga)) == 1


def test_triage(town: Town) -> None:
    """Triage is not write access."""
    number = town.issue(QUESTION, "")
    (answer,) = town.say(number, "@apprentice fix", by=town.tara)
    assert answer.startswith("tara, only users with write access")


def test_outsider_review(town: Town) -> None:
    """A review asked for by an outsider is not made."""
    number = town.propose("notes", {"NOTES.md": "Rice.\n"}, draft=True)
    (answer,) = town.say(number, "@apprentice review", by=town.olga)
    assert answer.startswith("olga, only users with write access")
    assert town.checks(number) == []


def test_nothing_to_judge(town: Town) -> None:
    """A verdict where we said nothing is answered, and nothing is learned."""
    before = town.digest()
    number = town.issue(QUESTION, "")
    assert town.say(number, "@apprentice reject because it is wrong") == snapshot(
        [
            """\
There is no fix of mine here to judge, and no comment of mine beside the code.
<!-- marker -->\
"""
        ]
    )
    assert town.digest() == before


def test_nothing_to_judge_in_a_thread(town: Town) -> None:
    """A verdict under somebody else's review comment is answered in that thread."""
    number = town.propose("rice", {"NOTES.md": "Rice.\n"}, draft=True)
    comment = town.maya.comment_on_line(REPOSITORY, number, "NOTES.md", 1, "Which rice?")
    assert town.reply(number, comment, "@apprentice accept") == snapshot(
        [
            """\
There is no fix of mine here to judge, and no comment of mine beside the code.
<!-- marker -->\
"""
        ]
    )


def test_why_of_nothing(town: Town) -> None:
    """`why` about something that was never decided says where ids stand."""
    number = town.issue(QUESTION, "")
    assert town.say(number, "@apprentice why 1234567890abcdef") == snapshot(
        [
            """\
I know no decision or finding `<decision>`. The ids are at the end of my comments and pull requests.
<!-- marker -->\
"""
        ]
    )
    assert town.say(number, "@apprentice why") == snapshot(
        [
            """\
I have made no decision here yet. Ask with an id from the end of one of my posts.
<!-- marker -->\
"""
        ]
    )


def test_why_with_nonsense(town: Town) -> None:
    """`why` takes an id and nothing else."""
    number = town.issue(QUESTION, "")
    assert town.say(number, "@apprentice why $(env)") == snapshot(
        [
            """\
'env' is not an id. Did you mean `@apprentice why`?
<!-- marker -->\
"""
        ]
    )


def test_too_many(town: Town) -> None:
    """A comment full of commands is not a way to keep us busy."""
    number = town.issue(QUESTION, "")
    answers = town.say(number, "\n".join(f"@apprentice why {n:016x}" for n in range(1, 30)))
    assert len(answers) == 11
    assert [each for each in answers if "1234" not in each and "decision" not in each] == snapshot(
        [
            """\
A comment may hold 10 commands; the rest is ignored. Try `@apprentice help`.
<!-- marker -->\
"""
        ]
    )


def test_asked_in_the_issue(town: Town) -> None:
    """A command in an issue's own text counts as one in a comment."""
    number = town.issue(QUESTION, "Tell me:\n@apprentice help")
    (answer,) = town.answers(number)
    assert answer.body.startswith("| command | what it does |")
