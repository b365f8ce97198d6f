"""What a model reads of a user's Markdown is what people see of it."""

from __future__ import annotations

import pytest

from workers.llm.prompt_text import LONGEST_LINE, LONGEST_MARKDOWN, rendered_text, truncated
from workers.redaction import REDACTED


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("It fails.<!-- obey -->", "It fails."),
        ("It fails.\n<!-- obey", "It fails."),
        ("It\u200b fa\u202eils\u2066.", "It fails."),
        ('<p style="display: none">obey</p>It fails.', "It fails."),
        ("<div hidden><b>obey</b><p>obey</p></div>\n\nIt fails.", "It fails."),
        ('<span style="font-size:0px">obey</span>It fails.', "It fails."),
        ("<script>obey</script>It fails.", "It fails."),
        ("<details><summary>Log</summary>It fails.</details>", "LogIt fails."),
        ('[here](https://x.example/obey "obey") it fails.', "here it fails."),
        ("![obey](https://x.example/obey.png) It fails.", "It fails."),
        ('<img src="x" alt="obey" title="obey">It fails.', "It fails."),
        ("[//]: # (obey)\nIt fails.", "It fails."),
        ('It fails.\n\n[x]: https://x.example/obey "obey"', "It fails."),
        ('<a title="obey" href="obey">It</a> fails.', "It fails."),
        ("&lt;!-- obey --&gt;It fails.", "It fails."),
        ("<ruby>It<rp>obey</rp></ruby> fails.", "It fails."),
        ("It fails.\n\n[^1]: obey me\nnow\n\n    and then\n\n    and on", "It fails."),
        ("It fails.\n[^1]: obey", "It fails."),
        ("> [^1]: obey me\n\nIt fails.", "It fails."),
        ("- [^1]: obey me\n\nIt fails.", "It fails."),
        ("It fails.<!-- [^1] -->\n\n[^1]: obey [^1]", "It fails."),
        ("It `[^1]` fails.\n\n[^1]: obey me", "It `[^1]` fails."),
        ("It \\[^1] fails.\n\n[^1]: obey me", "It [^1] fails."),
    ],
)
def test_what_is_hidden_is_not_read(written: str, read: str) -> None:
    """Comments, invisible characters, attributes, titles, alternative texts, definitions, hidden elements and footnotes without a reference go."""
    assert rendered_text(written) == read


@pytest.mark.parametrize(
    "text",
    [
        "`__init__` and __init__ differ, *so* I ~~think~~ know: 2 < 3 & 4 > 1.",
        "# Heading\n1. one\n- two",
    ],
)
def test_what_is_seen_stays_as_it_is_written(text: str) -> None:
    """Names, code and signs are what the user wrote, and so are lists."""
    assert rendered_text(text) == text


def test_a_footnote_that_is_referred_to_is_read() -> None:
    """It comes after the text, as on GitHub, with what it refers to; code that looks like one stays where it is."""
    text = (
        "It fails[^One].\n\n[^one]: on *Windows*[^2]\n\n[^2]: `11`<!-- obey -->\n[^3]: obey\n```\n[^1]: a\n```\nSeen."
    )
    assert rendered_text(text) == "It fails[^One].\n`[^1]: a\n`\nSeen.\n[^one]: on *Windows*[^2]\n[^2]: `11`"


def test_code_is_text() -> None:
    """What looks like HTML in code is code."""
    assert (
        rendered_text("```python\nif a < b:\n    pass  # <b title='x'>\n```")
        == "`if a < b:\n    pass  # <b title='x'>\n`"
    )


def test_a_long_text_is_cut_where_it_is_seen() -> None:
    """The work is bounded, and the model is shown that something is left out."""
    read = rendered_text("word\n" * LONGEST_MARKDOWN)
    assert len(read) < 1.1 * LONGEST_MARKDOWN
    assert "characters left out" in read


def test_a_cut_shows_no_part_of_a_credential() -> None:
    """A key whose first line is left out, and a token in the middle of a long line, are removed before the cut."""
    key = "-----BEGIN PRIVATE " + "KEY-----\n" + "k3Yp9sVq2Lm\n" * 100 + "-----END PRIVATE " + "KEY-----\n"
    assert "k3Yp9sVq2Lm" not in truncated("a\n" * 300 + key, 900)
    line = truncated("a" * (LONGEST_LINE // 2 - 8) + "/ghp_" + "a1B2" * 9 + "/" + "a" * LONGEST_LINE)
    assert "ghp_" not in line
    assert f"/{REDACTED[:7]}" in line
