"""Text for a model: prompts from files, and untrusted text marked as data, without invisible characters.

No user's text becomes part of a prompt. Marks do not force a model to obey. The protection is that its tools can do no harm.
The marks keep models from simple tricks: invisible text, text that imitates the system, and text that closes its own quotation.
"""

import hashlib
import re
import unicodedata
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from string import Template

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from workers.redaction import redact

PROMPTS = Path(__file__).with_name("prompts")


def prompt(name: str, **values: str | int) -> str:
    """The prompt of this name with its placeholders filled in; raises KeyError for a missing value."""
    return _template(name).substitute(values).strip()


@cache
def _template(name: str) -> Template:
    return Template((PROMPTS / f"{name}.md").read_text(encoding="utf-8"))


_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TOKENS = re.compile(
    r"<[|\uff5c][^|\uff5c>\n]{1,40}[|\uff5c]>|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\]"
)
"""Tokens of the chat templates of common models, in the letters that their tokenizers know."""
OBSERVATION = 8_000
"""Characters of what one tool gives."""

LONGEST_LINE = 400

_KEPT = "\n\t"
_INVISIBLE = ("Cf", "Cc", "Co")


def visible_text(text: str) -> str:
    """The visible part of a text: without HTML comments, invisible characters and credentials."""
    shown = _HTML_COMMENT.sub("", text.replace("\r\n", "\n"))
    kept = (each for each in shown if each in _KEPT or unicodedata.category(each) not in _INVISIBLE)
    return redact("".join(kept))


LONGEST_MARKDOWN = 20_000
_HIDDEN_TAGS = frozenset({"script", "style", "template", "title", "noscript", "iframe", "object", "svg", "math", "rp"})
_VOID_TAGS = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_HIDING = re.compile(
    r"(?:display|visibility|opacity|color|font-size)\s*:\s*(?:none|hidden|transparent|0)", re.IGNORECASE
)
_RULES = (
    *("fence", "html_block", "reference", "backticks", "escape"),
    *("link", "image", "autolink", "html_inline", "entity"),
)
"""The parts of Markdown that hide text, or keep it from being hidden; of the others the signs stay as they are written."""


def rendered_text(text: str) -> str:
    """What readers of a user's Markdown see: no comments, attributes, titles, alternative texts, definitions, hidden HTML.

    A footnote comes at the end, and only where something refers to it.
    GitHub could render the text as it is now; this is the text as it was at the command.
    """
    footnotes, cited = dict[str, str](), list[str]()
    shown = _rendered(truncated(text, LONGEST_MARKDOWN), footnotes, cited)
    for label in cited:  # those that footnotes refer to come after them
        if note := footnotes.pop(label, ""):
            shown += f"[^{label}]: {_rendered(note, footnotes, cited)}"
    return visible_text(shown).strip()


def _rendered(text: str, footnotes: dict[str, str], cited: list[str]) -> str:
    """The visible part of a text without its footnotes, which are added to `footnotes`, and those it refers to to `cited`."""
    reader, markdown = _VisibleReader(), MarkdownIt("zero", {"html": True}).enable(_RULES)
    markdown.block.ruler.before("reference", "footnote", _footnote, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.before("link", "footnote_reference", _footnote_reference)
    reader.feed(markdown.render(text, {"footnotes": footnotes, "cited": cited}))
    reader.close()
    return "".join(reader.parts)


_FOOTNOTE = re.compile(r"(?:[ \t>*+-]|\d{1,9}[.)])*\[\^([^\s\[\]]+)\]:")
"""Also in lists and quotations, which are no blocks here."""
_FOOTNOTE_REFERENCE = re.compile(r"\[\^([^\s\[\]]+)\]")
_INDENT = 4


def _footnote(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """A rule for Markdown's blocks: a footnote ends like a paragraph, and goes on in indented lines after an empty one."""
    found = _FOOTNOTE.match(state.src, state.bMarks[line], state.eMarks[line])
    if found is None or silent:
        return found is not None
    endings = state.md.block.ruler.getRules("paragraph")
    state.line = line + 1
    while state.line < end:
        following = state.skipEmptyLines(state.line)
        indented = following < end and state.sCount[following] >= _INDENT
        if not indented and (following > state.line or any(ends(state, following, end, True) for ends in endings)):
            break
        state.line = following + 1
    text = state.src[found.end() : state.eMarks[state.line - 1]].strip()
    state.env["footnotes"].setdefault(found[1].casefold(), text)
    return True


def _footnote_reference(state: StateInline, silent: bool) -> bool:
    """A rule for Markdown within a line."""
    found = _FOOTNOTE_REFERENCE.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("text", "", 0).content = found[0]
        state.env["cited"].append(found[1].casefold())
    state.pos = found.end()
    return True


class _VisibleReader(HTMLParser):
    """Collects the text that is inside no element that hides it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        hides = tag in _HIDDEN_TAGS or "hidden" in given or _HIDING.search(given.get("style") or "")
        if tag not in _VOID_TAGS and (self._hidden or hides):
            self._hidden.append(tag)
        self.handle_data("`" if tag == "code" else "")

    def handle_endtag(self, tag: str) -> None:
        self.handle_data("`" if tag == "code" else "")
        if tag in self._hidden:
            del self._hidden[len(self._hidden) - 1 - self._hidden[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def verbatim(text: str) -> str:
    """A text verbatim, with invisible characters spelt out and credentials removed."""
    letters = text.replace("\r\n", "\n")
    hidden = {each for each in set(letters) if each not in _KEPT and unicodedata.category(each) in _INVISIBLE}
    return redact(letters.translate({ord(each): f"⟨U+{ord(each):04X}⟩" for each in hidden}))


def data(source: str, text: str, *, code: bool = False) -> str:
    """A text as data of a named source, between marks that it cannot forge: their number is a hash of the text.

    Code stays verbatim; other text keeps its visible part. Tokens of chat templates are broken up in both.
    """
    inner = _TOKENS.sub(
        lambda found: f"{found[0][0]}\u00a6{found[0][2:]}", verbatim(text) if code else visible_text(text)
    )
    mark = hashlib.sha256(inner.encode(errors="replace")).hexdigest()[:32]
    label = re.sub(r"[^\w ./:@+-]", "_", source)[:120]
    return f'<data-{mark} source="{label}">\n{inner.strip(chr(10))}\n</data-{mark}>'


def truncated(text: str, room: int = OBSERVATION) -> str:
    """At most about `room` characters: the first two fifths and the last three, as errors come at the end.

    Credentials are removed before the cut: a part of one is no longer known as one.
    """
    text = "\n".join(_line(line) for line in redact(text).split("\n"))
    if len(text) <= room:
        return text
    head, tail = text[: room * 2 // 5], text[-(room * 3 // 5) :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out} characters left out …]\n{tail}"


def _line(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    half = LONGEST_LINE // 2
    return f"{line[:half]}[… {len(line) - LONGEST_LINE} …]{line[-half:]}"
