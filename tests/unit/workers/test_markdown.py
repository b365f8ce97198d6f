"""Other people's words are shown, and do nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from workers.messages.markdown import LONGEST_LINE, code, name, plain, prose, words

BREAK = "\u200b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ask @maya", f"ask @{BREAK}maya"),
        ("see #12", f"see #{BREAK}12"),
        ("see GH-12", f"see GH-{BREAK}12"),
        ("/approve this", f"{BREAK}/approve this"),
        ("a/b and 1 / 2", "a/b and 1 / 2"),
        ("user@example.org", f"user@{BREAK}example.org"),
        ("two\n\nlines", "two lines"),
        ("fixes https://github.com/o/r/issues/1", f"fixes{BREAK} https:{BREAK}//github.com/o/r/issues/1"),
        ("fixes the leak", "fixes the leak"),
        ("&commat;maya &#64;maya", f"&{BREAK}commat;maya &{BREAK}#{BREAK}64;maya"),
        ("a & b; x && y", "a & b; x && y"),
    ],
)
def test_words(text: str, expected: str) -> None:
    """Words on one line mention nobody, link nothing and begin no command."""
    assert words(text) == expected


@pytest.mark.parametrize("keyword", ["close", "Closes", "closed", "fix", "FIXES", "fixed", "resolve", "resolves"])
@pytest.mark.parametrize("target", [" #7", ": #7", " octo/sums#7", " GH-7", " https://github.com/o/r/issues/7"])
def test_closing_keywords(keyword: str, target: str) -> None:
    """No closing keyword that GitHub knows stands before a reference any more."""
    assert not re.search(rf"\b{keyword}:?\s", words(f"this {keyword}{target}"))


def test_plain() -> None:
    """In a sentence no markup survives: what was written is what is read."""
    assert plain("__init__ *a* [x](y) ~b~ | <img> `c`") == (
        "\\_\\_init\\_\\_ \\*a\\* \\[x\\](y) \\~b\\~ \\| &lt;img> 'c'"
    )


def test_name() -> None:
    """A code span cannot be left, and shows its text as it is."""
    assert name("test_x[<a> `b`]\n@maya") == "`test_x[<a> 'b'] @maya`"


def test_code() -> None:
    """A fence is longer than any inside it."""
    assert code("a\n````\nb\n", "py") == "`````py\na\n````\nb\n`````"


def test_commands_in_prose() -> None:
    """A command acts neither at the start of a line nor after blanks there; a path within a line stays as it is."""
    assert prose("So:\n  /approve\n/merge\nsee a/b") == "So:\n  \u200b/approve\n\u200b/merge\nsee a/b"


def test_too_long() -> None:
    """A line that is cut says so."""
    assert words("x" * 1000) == "x" * LONGEST_LINE + "…"


@pytest.mark.parametrize("shown", [words, plain, name, code])
def test_secret(shown: object) -> None:
    """Nowhere is a credential shown, not even one that is cut in two by the end of the line."""
    assert callable(shown)
    secret = "ghp_" + "a1B2" * 9
    assert "ghp_" not in shown("x" * (LONGEST_LINE - 10) + " " + secret)


@pytest.mark.parametrize("text", ["````", "`` `` ``", "` `` `` `", "```\nx", "a\n``` ```"])
def test_no_prose_opens_a_fence(text: str) -> None:
    """Backticks that close nothing, and spans of nothing, never become a fence around what follows."""
    assert not any(line.lstrip().startswith("```") for line in prose(text).splitlines())


@pytest.mark.parametrize(
    "text",
    [
        *("Foo\n=", "Foo\n-", "Foo\n= \n", "- # big", "1. - ## big", "- - -", "- - - ", "-- -", "- ---", "+ > q"),
        *("- a\n  ==", "x\n\n> q", "   # h", "12) # h", "# `a`", "- a\n- -\n-"),
    ],
)
def test_no_prose_is_a_heading_a_quotation_or_a_rule(text: str) -> None:
    """Neither at the beginning of a line, nor in a list, nor under another line."""
    shown = MarkdownIt("gfm-like", {"linkify": False}).render(prose(text))
    assert not re.search(r"<(?:h\d|hr|blockquote)", shown)
    assert re.sub(r"[^A-Za-z]", "", re.sub(r"<.*?>|&\w+;", "", shown)) == re.sub(r"[^A-Za-z]", "", text)


@pytest.mark.parametrize("shown", [words, plain, prose, name])
def test_invisible_characters_are_left_out(shown: Callable[[str], str]) -> None:
    """No character reverses, hides or moves what follows; those that join letters and emoji stay."""
    assert shown("a\u202eb\u200b\x00\x1bc\U000e0041 \u200d\u200c") == shown("abc \u200d\u200c")
    assert "\u202e" not in shown("a\u202eb")
    assert "\u200d" in shown("a\u200db")
    assert "ghp_" not in shown("gh\u200bp_" + "a1B2" * 9)


def test_dollars_are_no_mathematics() -> None:
    """GitHub hides what `$\\phantom{x}$` holds; a dollar in an element begins nothing."""
    assert plain("$x$") == prose("$x$") == "<span>$</span>x<span>$</span>"
    assert name("$x$") == "`$x$`"


@pytest.mark.parametrize("before", ["", " ", "0", "é", "_", "x", "(", "9www."])
def test_no_address_is_a_link_whatever_is_before_it(before: str) -> None:
    """GitHub makes a link of an address that follows a digit or an accented letter, too."""
    assert "://" not in plain(f"see {before}https://evil.example/x")
    assert "www." not in plain(f"see {before}www.evil.example/x")
