"""What is said to the bot is understood; what is shown, quoted or hidden is not said."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.web.commands import MAX_COMMANDS, Command, CommandError, Verb, parse

FIX = Command(verb=Verb.FIX)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@apprentice fix", FIX),
        ("/apprentice fix", FIX),
        ("@Apprentice FIX", FIX),
        ("@apprentice[bot] fix", FIX),
        ("@apprentice: fix", FIX),
        ("@apprentice, fix this please.", Command(verb=Verb.FIX, argument="this please.")),
        ("@apprentice please fix", FIX),
        ("@apprentice Could you please review?", Command(verb=Verb.REVIEW)),
        ("   @apprentice fix", FIX),
        ("Thanks!\r\n\r\n@apprentice fix\r\n", FIX),
        ("> It fails.\n\n@apprentice fix", FIX),
        ("`a` and `b`\n@apprentice fix", FIX),
        ("a stray ` backtick\n\n@apprentice fix ` too", Command(verb=Verb.FIX, argument="` too")),
        ("```\ncode\n```\n@apprentice fix", FIX),
        ("<!-- hidden -->\n@apprentice fix", FIX),
        ("Wrap it in `<!--`.\n@apprentice fix", FIX),
        ("```\n<!--\n```\n@apprentice fix", FIX),
        ("@apprentice", Command(verb=Verb.HELP)),
        ("@apprentice help me", Command(verb=Verb.HELP)),
        ("@apprentice review", Command(verb=Verb.REVIEW)),
        ("@apprentice why", Command(verb=Verb.WHY)),
        ("@apprentice why 3f2a-91", Command(verb=Verb.WHY, argument="3f2a-91")),
        ("@apprentice why `3f2a`", Command(verb=Verb.WHY, argument="3f2a")),
        ("@apprentice accept", Command(verb=Verb.ACCEPT)),
        (
            "@apprentice reject because we round half to even",
            _reject := Command(verb=Verb.REJECT, argument="we round half to even"),
        ),
        ("@apprentice reject: we round half to even", _reject),
        ("@apprentice reject Because, we round half to even", _reject),
    ],
)
def test_understood(text: str, expected: Command) -> None:
    """One command, however it is written."""
    assert parse(text, "apprentice") == (expected,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "please @apprentice fix",
        "@apprentices fix",
        "@apprentice-two fix",
        "me@apprentice fix",
        "@apprentice's fix hides the cause",
        "@apprentice/reviewers fix",
        "/apprentice/fix.log",
        "- @apprentice fix",
        "> @apprentice fix",
        "  > > @apprentice fix",
        "    @apprentice fix",
        "`@apprentice fix`",
        "`see\n@apprentice fix\nthere`",
        "```\n@apprentice fix\n```",
        "```\n@apprentice fix",
        "~~~ text\n@apprentice fix\n~~~",
        "````\n```\n@apprentice fix\n````",
        "```\nnot the end: ```\n@apprentice fix\n```",
        "```\nnot the end:\u2028```\n@apprentice fix\n```",
        "- ```\n  @apprentice fix\n  ```",
        "<!-- @apprentice fix -->",
        "<!--\n@apprentice fix\n-->",
        "<!--\n@apprentice fix",
        "`a` <!--\n@apprentice fix",
        "> ` <!-- `\n<!--\n@apprentice fix",
        "`see\n<!-- ` -->\n<!--\n@apprentice fix",
        "<!-- ` --> <!-- `\n@apprentice fix",
    ],
)
def test_not_said(text: str) -> None:
    """Nothing is commanded in the middle of a line, in code, in a quote, in a comment, or to somebody else."""
    assert parse(text, "apprentice") == ()


@pytest.mark.parametrize(
    ("text", "problem", "meant"),
    [
        ("@apprentice fxi", "there is no command `fxi`", "fix"),
        ("@apprentice reviw please", "there is no command `reviw`", "review"),
        ("@apprentice dance", "there is no command `dance`", ""),
        ("@apprentice merge", "there is no command `merge`", ""),
        ("@apprentice repair", "there is no command `repair`", ""),
        ("@apprentice resolve", "there is no command `resolve`", ""),
        ("@apprentice `rm` @everyone", "there is no command `rm`", ""),
        ("@apprentice fix --model=evil", "`fix` takes no option `--model`", "fix"),
        ("@apprentice review openai.key=x", "`review` takes no option `openai.key=x`", "review"),
        ("@apprentice why ../../etc", "`....etc` is not an id", "why"),
    ],
)
def test_not_understood(text: str, problem: str, meant: str) -> None:
    """What is addressed to us and makes no sense is answered with what was probably meant, and sets nothing."""
    assert parse(text, "apprentice") == (CommandError(problem=problem, did_you_mean=meant),)


def test_several() -> None:
    """Commands are obeyed in order, and each once."""
    text = "@apprentice fix\n/apprentice review\n@apprentice fix"
    assert parse(text, "apprentice") == (FIX, Command(verb=Verb.REVIEW))


def test_too_many() -> None:
    """A flood of commands is cut, and said to be."""
    found = parse("\n".join(f"@apprentice why {number}" for number in range(99)), "apprentice")
    assert len(found) == MAX_COMMANDS + 1
    assert isinstance(found[-1], CommandError)


def test_other_name() -> None:
    """The bot answers to the name it was given, whatever characters that has."""
    assert parse("@c3.po fix", "c3.po") == (FIX,)
    assert parse("@c3xpo fix", "c3.po") == ()


pieces = st.sampled_from(
    [
        "@apprentice ",
        "/apprentice",
        "fix",
        "why ",
        "`",
        "```",
        "~~~",
        "<!--",
        "-->",
        ">",
        "\n",
        " ",
        "- ",
        "=",
        "\r",
        "\x00",
        "é",
    ]
)


@given(st.one_of(st.text(), st.lists(pieces, max_size=40).map("".join)))
@example("`" * 2000 + "``" * 500)
def test_never_raises(text: str) -> None:
    """Any text at all gives commands or errors, and what an error repeats is harmless inside a code span."""
    for found in parse(text, "apprentice"):
        assert isinstance(found, Command | CommandError)
        if isinstance(found, CommandError):
            assert found.problem.count("`") % 2 == 0
            assert "@" not in found.problem


@given(st.text(alphabet=st.characters(exclude_characters="`~")))
def test_fenced_text_commands_nothing(text: str) -> None:
    """Whatever stands in a fenced block is not a command."""
    assert parse(f"```\n{text}\n@apprentice fix\n```", "apprentice") == ()
