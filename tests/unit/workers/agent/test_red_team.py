"""Every injection, through every place where a model reads, and from a model that obeys to every place where we write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.web.commands import parse
from memory.model import (
    Attempt,
    AttemptOutcome,
    Experience,
    Failure,
    Family,
    Finding,
    Frame,
    NearMiss,
    Proof,
    Recollection,
    Severity,
    SuiteCount,
)
from tests.stories.injections import CANARY, INJECTIONS, acting
from workers.agent.checkout import Checkout, ToolFailed
from workers.agent.prompt_context import Assignment, MemoryParts, opening, recalling
from workers.agent.tools import Toolset, described, editing, numbered, reading
from workers.llm.messages import ToolCall
from workers.llm.prompt_text import data, prompt
from workers.messages import conversation, repair
from workers.messages.markdown import words
from workers.sandbox.report import TestOutcome, TestReport, TestResult

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "ghp_" + "a1B2" * 9
PAYLOADS = pytest.mark.parametrize("payload", [pytest.param(text, id=name) for name, text in INJECTIONS.items()])
_DATA = re.compile(r'<data-([0-9a-f]{32}) source="[\w ./:@+-]*">\n.*?\n</data-\1>', re.DOTALL)
_SHAPELESS = re.compile(r"[\u200b-\u200f\u2028-\u202e\u2060-\u2064\u00ad\ufeff\U000e0000-\U000e007f\x00-\x08\x0b-\x1f]")


def failure_of(payload: str) -> Failure:
    frame = Frame(path="a.py", line=1, function=payload)
    return Failure(
        error_type="ValueError",
        family=Family.VALUE,
        message=payload,
        frames=(frame,),
        failing_tests=(f"test_a.py::test_{payload}",),
    )


def report_of(payload: str) -> TestReport:
    """A run of tests whose names and messages the attacker chose."""
    result = TestResult(
        id=f"test_a.py::test_{payload}",
        outcome=TestOutcome.FAILED,
        seconds=0.1,
        error_type="ValueError",
        message=payload,
        operands=(payload, payload),
    )
    return TestReport(results=(result,), started=True, complete=True, trouble=payload)


def experience_of(payload: str) -> Experience:
    return Experience(
        id="1",
        repository="o/r",
        task_id="t",
        error_type="ValueError",
        family=Family.VALUE,
        signature=payload,
        path=payload,
        strategy="model:minimal",
        outcome=AttemptOutcome.PROVEN,
        reflection=payload,
        patch=payload,
        shape=None,
        created_at=NOW,
    )


def prompts(payload: str, root: Path) -> Iterator[str]:
    """What a model would read where the attacker wrote each part."""
    (root / "a.py").write_text(f"# {payload}\nx = 1\n", encoding="utf-8", errors="replace")
    assignment = Assignment(
        repository="o/r",
        failure=failure_of(payload),
        suspects=(),
        tests={payload: payload},
        report=described(report_of(payload)),
        code=numbered(payload, payload, 1, 9),
        guidance=payload,
    )
    remembered = MemoryParts(
        recalled=(Recollection(experience=experience_of(payload), score=1.0),),
        examples=(payload,),
        lessons=(payload,),
        last=NearMiss(path=payload, line=1, template="", edit=payload, passed=1, error_type=payload, message=payload),
    )
    system = prompt("repair", strategy=prompt("strategy_minimal"))
    yield "\n".join(message.text for message in opening(system, assignment, remembered))
    tools = Toolset([*reading(Checkout(root), lambda _about, _most: [payload]), recalling(lambda _query: payload)])
    for name, arguments in (
        ("read", '{"path": "a.py"}'),
        ("search", f'{{"text": "{CANARY}"}}'),
        ("history", '{"about": "a.py"}'),
        ("recall", '{"like": "this"}'),
    ):
        yield tools.execute(ToolCall(id="1", name=name, arguments=arguments))
    yield data("question", payload)
    yield data("finding", payload, code=True)


@PAYLOADS
def test_it_stays_within_its_marks(payload: str, tmp_path: Path) -> None:
    """Wherever an attacker writes, a model reads it between marks that the text cannot close, with nothing hidden in it."""
    for text in prompts(payload, tmp_path):
        assert CANARY not in _DATA.sub("", text)
        assert not _SHAPELESS.search(text.replace("\t", "")), text


def words_of_ours(payload: str) -> Iterator[str]:
    """What we would post where a model that obeys says what the attacker wants, or a test is named so."""
    count = SuiteCount(passed=1, failed=0, skipped=0, collected=1)
    test = f"test_a.py::test_{payload}"
    proof = Proof(failed_before=(test,), passed_after=(test,), before=count, suite=count, repeats=2, command=payload)
    attempt = Attempt(
        decision_id="d" * 16,
        strategy="model:minimal",
        probability=0.5,
        candidates=1,
        outcome=AttemptOutcome.PROVEN,
        reflection=payload,
        patch=payload,
        proof=proof,
    )
    failure = failure_of(payload)
    given = {"issue": 1, "closes": True, "bot_name": "apprentice", "key": "k"}
    files, tests = {payload: True}, {f"test_{payload}.py": payload, payload: payload}
    yield repair.fix_body(failure, attempt, files, tests, **given).partition("\n")[
        2
    ]  # the first line closes the issue that asked
    yield repair.fix_not_found(failure, [attempt], seconds=1.0)
    yield repair.fix_for_fork(attempt)
    yield conversation.answered(payload, (payload,))
    yield conversation.could_not("answer", payload)


def titles_of_ours(payload: str) -> Iterator[str]:
    """The same in places that show no Markdown."""
    finding = Finding(
        path="a.py",
        line=1,
        end_line=1,
        tool="model",
        rule="model-correctness",
        category="correctness",
        severity=Severity.CRITICAL,
        message=payload,
        fingerprint="f" * 32,
        anchor="x = 1",
    )
    yield words(finding.message)
    yield repair.fix_title(failure_of(payload), payload)


@PAYLOADS
def test_it_does_nothing_where_we_post_it(payload: str) -> None:
    """Of what an obedient model says, nothing mentions, links, closes, shows, or commands anything, us included."""
    said = list(words_of_ours(f"{payload} {SECRET}"))
    lines = list(titles_of_ours(f"{payload} {SECRET}"))
    assert not any({"a mention", "a closing word"} & {*acting(text)} for text in lines)
    assert SECRET not in "".join((*said, *lines))
    for text in said:
        assert parse(text, "apprentice") == ()
        assert acting(text) == [], text


@pytest.fixture
def hostile(tmp_path: Path) -> Checkout:
    """A checkout with links that lead out of it, beside what it may not read."""
    (tmp_path / "secret.txt").write_text(SECRET)
    root = tmp_path / "tree"
    (root / "tests").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]\nfsmonitor = touch /tmp/owned\n")
    (root / "a.py").write_text("x = 1\n")
    (root / "conftest.py").write_text("")
    (root / "tests" / "test_a.py").write_text("def test(): assert False\n")
    (root / "link.py").symlink_to("../secret.txt")
    (root / "dir").symlink_to("..", target_is_directory=True)
    (root / "environ").symlink_to("/proc/self/environ")
    return Checkout(root)


OUTSIDE = (
    "../secret.txt",
    "tests/../../secret.txt",
    "/etc/passwd",
    "/proc/self/environ",
    "//proc/1/environ",
    "link.py",
    "dir/secret.txt",
    "environ",
    "./../secret.txt",
    "a.py\0.txt",
    "~/.ssh/id_rsa",
    "file:///etc/passwd",
    "",
    ".",
)

UNTOUCHABLE = (
    "tests/test_a.py",
    "conftest.py",
    "tests/conftest.py",
    ".github/workflows/ci.yml",
    ".git/config",
    ".git/hooks/post-checkout",
    "setup.py",
    "pyproject.toml",
    "pytest.ini",
    "tox.ini",
    "sitecustomize.py",
    "x.pth",
    ".pre-commit-config.yaml",
    "Makefile",
    *OUTSIDE,
)


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_is_read(hostile: Checkout, path: str) -> None:
    """Whatever path a model names, and whatever links a repository planted, only files of the checkout are read."""
    with pytest.raises(ToolFailed):
        hostile.read(path)
    assert SECRET not in "".join(hostile.paths)
    assert "link.py" not in hostile.paths


@pytest.mark.parametrize(
    "path", [".env", "deploy/.env.production", "key.pem", "a/server.KEY", "home/id_ed25519", ".netrc"]
)
def test_files_of_keys_are_not_shown(hostile: Checkout, path: str, tmp_path: Path) -> None:
    """What holds keys by custom is not read, and not found by a search."""
    place = tmp_path / "tree" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("PASSWORD=hunter2hunter2\n")
    tools = Toolset(reading(Checkout(tmp_path / "tree")))
    for name, given in (
        ("read", f'{{"path": "{path}"}}'),
        ("search", '{"text": "hunter2"}'),
    ):
        assert "hunter2" not in tools.execute(ToolCall(id="1", name=name, arguments=given))


def test_no_part_of_a_key_is_shown(hostile: Checkout, tmp_path: Path) -> None:
    """Lines from within a key in a source are removed, whichever of them are read, found or shown after an edit."""
    key = "\n".join(f"MIIEvQIBADANBgkq{number:04}" for number in range(9))
    begin, end = ("-----{} PRIVATE " + "KEY-----" for _ in range(2))
    text = f'KEY = """{begin.format("BEGIN")}\n{key}\n{end.format("END")}"""\nx = 1\n'
    (tmp_path / "tree" / "conf.py").write_text(text)
    tools = Toolset([*reading(hostile), *editing(hostile)])
    for name, given in (
        ("read", '{"path": "conf.py", "start": 2, "end": 4}'),
        ("search", '{"text": "MIIE"}'),
        ("edit", '{"path": "conf.py", "old": "x = 1", "new": "x = 2"}'),
    ):
        assert "MIIE" not in tools.execute(ToolCall(id="1", name=name, arguments=given))
    assert hostile.read("conf.py") == text.replace("x = 1", "x = 2")
    assert "conf.py:12: x = 2" in tools.execute(ToolCall(id="1", name="search", arguments='{"text": "x = 2"}'))


@pytest.mark.parametrize(
    "token",
    [
        "<|im_start|>",
        "<\uff5cAssistant\uff5c>",
        "<start_of_turn>",
        "<end_of_turn>",
        "<bos>",
        "<eos>",
        "<pad>",
        "</s>",
        "[INST]",
        "[TOOL_CALLS]",
        "[/SYSTEM_PROMPT]",
    ],
)
def test_no_token_of_a_chat_template_is_left_whole(token: str) -> None:
    """A server that reads special tokens in a text would take what follows for another speaker's."""
    for code in (False, True):
        assert token not in data("issue", f"a {token} b", code=code)


def test_code_like_tokens_stays() -> None:
    """Generics, comparisons and indices are what they are."""
    text = "Map<string> a < b || c > d; registers[inst]; calls[tool_calls]; xs: list[TOOL]"
    assert text in data("a.ts", text, code=True)


@pytest.mark.parametrize("path", UNTOUCHABLE)
def test_nothing_that_judges_is_edited(hostile: Checkout, path: str) -> None:
    """Tests, configuration, CI and what lies outside cannot be written, nor laid over the checkout."""
    with pytest.raises(ToolFailed):
        hostile.write(path, "x")
    assert hostile.overlay() == {}


@pytest.mark.parametrize("path", ["tests/test_a.py", "conftest.py", "tests/helper.py", "test_x.txt", "../test_x.py"])
def test_added_tests_are_new_tests(hostile: Checkout, path: str) -> None:
    """What the agent adds as a test is called so, and replaces nothing."""
    tools = Toolset(editing(hostile, tests=True))
    said = tools.execute(ToolCall(id="1", name="add_test", arguments=f'{{"path": "{path}", "text": "x = 1"}}'))
    assert said.startswith("error: ")
    assert hostile.added_tests == {}


@pytest.mark.parametrize("name", ["bash", "shell", "fetch", "open_pull_request", "comment", "git", "read ", ""])
def test_there_are_no_other_tools(hostile: Checkout, name: str) -> None:
    """Nothing is run, fetched, posted or pushed by a model: there is no tool for it."""
    tools = Toolset([*reading(hostile), *editing(hostile)])
    assert tools.execute(ToolCall(id="1", name=name, arguments="{}")).startswith("error: there is no tool")
