"""What a terminal would act upon is printed as text."""

from __future__ import annotations

import io
import json
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table

from bot.cli.terminal import Terminal, VisibleStream, visible

HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\x9b31mc\x08\x7f\u202egnp\u2066d\u200b\u200d\ufeff\u2028e\U000e0041\x00f\rg"
STYLES = re.compile(r"\x1b\[[0-9;]*m")


def acted_upon(text: str) -> set[str]:
    """The characters that are no plain text."""
    kept = {"\n", "\t"}
    return {c for c in text if c not in kept and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}}


@given(st.text())
def test_nothing_is_left_and_nothing_is_lost(text: str) -> None:
    """No text keeps a control or an invisible character, and JSON says the same as before."""
    assert acted_upon(visible(text.replace("\r\n", "\n"))) == set()
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text
    assert visible(visible(text)) == visible(text)


def test_words_of_every_language_stay() -> None:
    """Letters, marks, emoji, wide spaces, tabs and line ends are no controls."""
    text = "Größe\t日本語\u3000नमस्ते 🐛\r\n\u00a0ok\n"
    assert visible(text) == text


def test_spelled_out() -> None:
    """As JSON writes them."""
    assert visible(HOSTILE).startswith(r"a\u001b[2J\u001b]0;owned\u0007b\u009b31mc\u0008\u007f\u202egnp\u2066d\u200b")


def test_a_console_shows_its_own_styles_alone() -> None:
    """In text, markup, tables and sources."""
    shown = io.StringIO()
    console = Terminal(file=shown, force_terminal=True, color_system="truecolor", highlight=False, width=400)
    table = Table(HOSTILE, title=HOSTILE)
    table.add_row(HOSTILE)
    console.print(HOSTILE, markup=False)
    console.print(f"[bold]{escape(HOSTILE)}[/]", table, Syntax(f"+{HOSTILE}\n", "diff"))
    console.rule(escape(HOSTILE))
    printed = shown.getvalue()
    assert "\x1b[1m" in printed
    assert acted_upon(STYLES.sub("", printed)) == set()
    assert printed.count(r"\u001b]0;owned\u0007") == 6


def test_a_stream_shows_no_style_at_all() -> None:
    """What libraries write past the console is text."""
    shown = io.StringIO()
    stream = VisibleStream(shown)
    stream.write(HOSTILE)
    stream.writelines([HOSTILE, "\x1b[31mred"])
    assert acted_upon(shown.getvalue()) == set()
    assert not stream.isatty()
