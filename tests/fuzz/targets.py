"""What is fuzzed: every reader of foreign bytes, each with what must hold for any input.

A target takes bytes. It fails by an AssertionError or by any error that is not a typed refusal of that reader.
"""

from __future__ import annotations

import json
import tempfile
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import msgspec
import yaml

from bot.model_server.script import RequestError, parse_request, parse_script
from bot.web.commands import MAX_COMMANDS, Command
from bot.web.commands import parse as parse_comment
from bot.web.event_jobs import jobs_for
from bot.web.events import KNOWN, Ignored
from bot.web.events import parse as parse_event
from bot.web.signature import is_genuine, sign
from memory import sharing
from memory.evaluation import pooling
from memory.model import Finding, Severity
from memory.plain_yaml import BadYaml
from tests.stories.injections import acting
from workers import jobs
from workers.configuration.reading import configuration_of, read_configuration
from workers.diffs import apply_unified, changed_lines, commentable_lines, parse_diff, split_lines, unified
from workers.errors import BadInput, CannotRun
from workers.github.auth import GitHubApp
from workers.github.minting import LONGEST as LONGEST_PROBLEM
from workers.github.minting import Minter
from workers.llm.errors import CallFailed
from workers.llm.messages import ChatMessage, ChatRole, ModelRequest
from workers.llm.replies import RawReply, reply_of
from workers.messages import markdown
from workers.ports import AppExamination, AppIdentity, HookLogPage, MintedToken
from workers.redaction import REDACTED, OwnSecrets, redact
from workers.review import project_options
from workers.review.detectors.detector import Category, DetectorFailed
from workers.review.detectors.reports import LONGEST_RULE, ReportContext, read_report
from workers.review.findings import LONGEST_MESSAGE, seen_in
from workers.review.suggestions import applied, suggestion_for
from workers.sandbox.report import LONGEST_MESSAGE as LONGEST_FAILURE
from workers.sandbox.report import MAX_FRAMES, cut_short, decode

SECRET = b"a secret of nobody"
EVENTS = (*sorted(KNOWN), "push")
FILES = ("pyproject.toml", "ruff.toml", ".ruff.toml", "mypy.ini", "setup.cfg")
FORMATS = ("sarif", "rdjson", "rdjsonl")
SOURCE = "x = 1\nname = '😀é'; y = eval(x)\r\nlast = 3"
REPORTED = ReportContext(tool="lens", sources={"pkg/a b.py": SOURCE}, category=Category.STYLE)
SECURITY_FINDING = Finding(
    fingerprint="f",
    path="src/a.py",
    line=1,
    end_line=1,
    tool="bandit",
    rule="B602",
    category="security",
    severity=Severity.MINOR,
    message="shell",
    anchor="shell=True",
)


def text_of(data: bytes) -> str:
    """What arrives of a text: UTF-8, or with its broken bytes replaced."""
    return data.decode("utf-8", "replace")


def webhook(data: bytes) -> None:
    """A body becomes an event or a refusal; a job of it is the same after it was stored; a signature fits one body."""
    name, body = EVENTS[data[0] % len(EVENTS)] if data else "ping", data[1:]
    assert is_genuine(SECRET, body, sign(SECRET, body))
    assert not is_genuine(SECRET, body + b" ", sign(SECRET, body))
    try:
        event = parse_event(name, body)
    except BadInput as refused:
        assert "\n" not in str(refused)
        return
    if isinstance(event, Ignored):
        assert len(event.reason) < 1000
        return
    found = jobs_for(event, bot_name="apprentice", trigger_label="apprentice")
    assert [jobs.decode(jobs.encode(each)) for each in found] == list(found)
    assert len(set(map(jobs.encode, found))) == len(found)


def commands(data: bytes) -> None:
    """A comment holds a bounded number of commands, each once, and none that is quoted or fenced."""
    text = text_of(data)
    found = parse_comment(text, "apprentice")
    assert len(found) <= MAX_COMMANDS + 1
    assert len(set(found)) == len(found)
    assert all("\x00" not in each.argument and "\n" not in each.argument for each in found if isinstance(each, Command))
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert parse_comment("".join(f"> {line}\n" for line in lines), "apprentice") == ()
    longest = max((len(line) for line in lines), default=0) + 3
    assert parse_comment(f"{'~' * longest}\n{text}", "apprentice") == () or "<!--" in text


def configuration(data: bytes) -> None:
    """A repository's own options are read or left alone; none of them silences a security rule or leaves the tree."""
    name, content = FILES[data[0] % len(FILES)] if data else FILES[0], data[1:]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        base = Path(place)
        (base / name).write_bytes(content)
        options = project_options.ruff_options(base)
        ignored = {*options.ignore, *(code for codes in options.per_file_ignores.values() for code in codes)}
        assert not any(code == "ALL" or (code[0] == "S" and not code[1:2].isalpha()) for code in ignored)
        assert not any(pattern.startswith("/") or ".." in pattern for pattern in options.per_file_ignores)
        assert options.line_length is None or 1 <= options.line_length <= 320
        assert project_options.target_version(base).startswith("py3")
        assert project_options.is_typed(base) is (project_options.mypy_options(base) is not None)


def repository_file(data: bytes) -> None:
    """A repository's own file is always read: what counts leaves out nothing about security, and each mistake has a place."""
    file = read_configuration(data)
    found = configuration_of([file])
    assert all(each.line >= 1 and each.column >= 1 and "\n" not in str(each) for each in file.mistakes)
    assert found.kept(SECURITY_FINDING) is not None
    again = read_configuration(yaml.safe_dump(msgspec.to_builtins(found)).encode())
    assert (again.mistakes, configuration_of([again])) == ((), found)


def learnings(data: bytes) -> None:
    """A file of learnings is refused with a line, or is the same after it was written and read."""
    try:
        found = sharing.parse(text_of(data))
    except BadYaml as refused:
        assert str(refused).startswith("line ")
        return
    again = sharing.parse(sharing.render(found))
    assert sorted(again.lessons, key=lambda each: each.pattern) == sorted(found.lessons, key=lambda each: each.pattern)


COUNTS = """\
version: 1
product: 1.0.0
installation: 9f86d081884c7d65
counts:
- family: lookup
  learned: {tasks: 214, fixed: 120}
  control: {tasks: 24, fixed: 11}
- family: other
  learned: {tasks: 50, fixed: 20}
  control: {tasks: 5, fixed: 0}
"""


def counts(data: bytes) -> None:
    """A file of counts is refused with a line, or is the same after it was written and read, and can be pooled."""
    try:
        found = pooling.parse(text_of(data))
    except BadYaml as refused:
        assert str(refused).startswith("line ")
        assert "\n" not in str(refused)
        return
    assert pooling.parse(pooling.render(found)) == found
    honest = pooling.parse(COUNTS)
    together = pooling.pooled([], [], {"one": found, "two": honest, "three": honest})
    assert together.low is not None and together.high is not None and together.difference is not None
    assert together.low <= together.difference <= together.high


def diff(data: bytes) -> None:
    """A diff is refused or its numbers agree; a difference of two texts, applied, gives the second."""
    text = data.decode("utf-8", "surrogateescape")
    with suppress(BadInput):
        change = parse_diff(text)
        for file in change.files:
            shown = commentable_lines(file)
            assert file.added_lines <= shown
            assert len(file.added_lines) <= sum(line.startswith("+") for hunk in file.hunks for line in hunk.lines)
        assert set(changed_lines(change)) <= {file.path for file in change.files}
    path, _, rest = text.partition("\0")
    before, _, after = rest.partition("\0")
    path = path.replace("\n", "") or "a.py"
    if written := unified(path, before, after):
        assert [file.path for file in parse_diff(written).files] == [path]
        assert apply_unified(before, written) == after


def findings(data: bytes) -> None:
    """A tool's report is refused or gives findings of bounded size on what it was given, whose suggestions can be applied."""
    format_, text = FORMATS[data[0] % len(FORMATS)] if data else "sarif", text_of(data[1:])
    try:
        found = read_report(text, format_, REPORTED)
    except DetectorFailed as refused:
        assert len(str(refused)) < 1500  # a path of a hundred characters, spelled out
        return
    assert all(each.path in REPORTED.sources for each in found)
    assert all(len(each.rule) <= LONGEST_RULE for each in found)
    every = frozenset(range(1, 4))
    for seen in seen_in(found, REPORTED.sources):
        assert len(seen.finding.message) <= LONGEST_MESSAGE
        assert 1 <= seen.finding.line <= seen.finding.end_line <= len(split_lines(SOURCE))
        if seen.fix and (suggestion := suggestion_for(seen.fix, SOURCE, every)):
            assert applied(suggestion, SOURCE) != SOURCE


def test_report(data: bytes) -> None:
    """Whatever untrusted code writes as its test report is counted as damaged or is of bounded size."""
    decoded = decode(data)
    assert decoded.damaged <= data.count(b"\n")
    results = cut_short(decoded, "Timeout", "cut")
    assert all(len(each.message) <= LONGEST_FAILURE and len(each.frames) <= MAX_FRAMES for each in results)
    assert not any(frame.path.startswith("/") or ".." in frame.path.split("/") for r in results for frame in r.frames)
    assert len({each.id for each in results}) == len(results)


test_report.__test__ = False  # type: ignore[attr-defined]  # a reader of test reports, no test


def quoted(data: bytes) -> None:
    """Foreign text in a comment of ours does nothing on GitHub, wherever it is put, and is bounded."""
    text = text_of(data)
    inside = f"It says {markdown.plain(text)} and {markdown.name(text)} here."
    below = f"It says:\n\n{markdown.prose(text)}\n\n{markdown.code(text)}\n\nThat is all."
    assert "\n" not in inside
    for written in (inside, below):
        assert acting(written) == [], written


def model_reply(data: bytes) -> None:
    """A model's answer, whole or in pieces, is refused or becomes a reply whose parts are text."""
    asked = ModelRequest(messages=(ChatMessage(role=ChatRole.USER, text="?"),), purpose="fuzz")
    raw = RawReply()
    try:
        for piece in data.split(b"\n")[:50]:
            raw.add_chunk(msgspec.json.decode(piece))
        reply = reply_of(raw, asked, "m")
    except (CallFailed, msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return
    assert "\ud800" not in reply.text
    assert reply.usage.prompt >= 0 and reply.usage.completion >= 0
    assert all(call.id and call.arguments for call in reply.calls)


def model_script(data: bytes) -> None:
    """A script of the model server, and a request to it, is read or refused in one line."""
    with suppress(RequestError):
        parse_request(data)
    try:
        parse_script(text_of(data), "script")
    except BadInput as refused:
        assert "\n" not in str(refused)


class Mint(GitHubApp):
    """An App that mints without GitHub, and counts."""

    def __init__(self) -> None:
        self.minted: list[int] = []

    def mint(self, repository_id: int, installation_id: int) -> MintedToken:
        self.minted += [repository_id, installation_id]
        return MintedToken(token="t", expires_at=datetime(2100, 1, 1, tzinfo=UTC), full_name="a/b")

    def mint_defaults(self, installation_id: int) -> MintedToken | None:
        self.minted += [1, installation_id]
        return None

    def identity(self) -> AppIdentity:
        return AppIdentity(id=1, slug="s")

    def examine(self) -> AppExamination:
        raise CannotRun("there is no GitHub")

    def deliveries(self, cursor: str) -> HookLogPage:
        return HookLogPage(deliveries=(), older="")

    def redeliver(self, delivery_id: int) -> None:
        assert delivery_id > 0


def mint_request(data: bytes) -> None:
    """Whatever a worker sends gets a bounded reply, a stranger's never a token, and a token is for one repository."""
    app = Mint()
    minter = Minter(app, frozenset({1}))
    assert minter.answer(2, data).problem
    assert app.minted == []
    reply = minter.answer(1, data)
    assert len(reply.problem) <= LONGEST_PROBLEM
    assert reply.problem or msgspec.json.decode(reply.value) is not Ellipsis
    assert len(app.minted) in (0, 2)
    assert all(type(number) is int and number > 0 for number in app.minted)


def redaction(data: bytes) -> None:
    """Our own secret is in no text afterwards, whatever it is and wherever it stands; what looks like one neither."""
    length = 8 + (data[0] % 24 if data else 0)
    secret, text = text_of(data[1:])[:length], text_of(data[1:])[length:]
    own = OwnSecrets()
    own.add(secret)
    if len(secret) >= 8 and not set(secret) & set(REDACTED):
        for form in (
            secret,
            json.dumps(secret),
            repr(secret),
            quote(secret),
            b64encode(f"u:{secret}".encode()).decode(),
        ):
            assert secret not in own.removed_from(f"{text}{form}{text}")
            assert REDACTED in own.removed_from(f"{text}{form}{text}")
    once = redact(text)
    assert len(once) <= len(text) * len(REDACTED) + len(REDACTED)


Target = Callable[[bytes], None]
TARGETS: Mapping[str, Target] = {
    each.__name__: each
    for each in (
        webhook,
        commands,
        configuration,
        repository_file,
        learnings,
        counts,
        diff,
        findings,
        test_report,
        quoted,
        model_reply,
        model_script,
        mint_request,
        redaction,
    )
}
