"""Readers of foreign text, each with texts that are made to hold it: the work grows with the text, and nothing else."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bot.web.commands import parse
from memory.model import Finding, Severity
from tests.unit.test_patterns import grows
from workers.diffs import changed_lines, parse_diff, split_lines, unified
from workers.environments.editable import dependencies
from workers.environments.interpreters import Interpreter
from workers.environments.plans import plans_for
from workers.environments.tree_files import ini, toml
from workers.errors import BadInput
from workers.flows.repair import issue_test, named_tests
from workers.llm.messages import ChatMessage
from workers.llm.prompt_text import data, rendered_text
from workers.llm.structured import call_in
from workers.messages.markdown import code, plain, prose
from workers.ports import CompletedRun, Ending, Workload
from workers.redaction import redact
from workers.repair.classify import normalised
from workers.review.detectors.dependencies import Dependencies
from workers.review.detectors.detector import Category, Delta, RawFinding, SourceTree
from workers.review.detectors.mypy import Mypy
from workers.review.detectors.secrets import Secrets
from workers.review.detectors.workflows import Workflows
from workers.review.findings import beside, seen_in
from workers.review.import_graph import ImportGraph
from workers.review.matching import KnownFinding, LastSeen, identities, without_context
from workers.review.read_report import why_unfit
from workers.sandbox.report import decode

Made = Callable[[int], str]


def repeated(unit: str, before: str = "", after: str = "") -> Made:
    """Texts of one piece, again and again."""
    return lambda size: before + unit * (size // len(unit)) + after


def numbered(line: str, before: str = "") -> Made:
    """Texts of lines that differ by a number."""
    return lambda size: before + "".join(line.format(number) for number in range(size // len(line)))


def checked(detector: Secrets | Dependencies | Workflows, path: str) -> Callable[[str], object]:
    """A detector on a file that a change adds as a whole, and that had other such lines before."""

    def run(text: str) -> object:
        head = SourceTree(sources={path: text}, target_version="py311")
        added = {path: frozenset(range(1, len(split_lines(text)) + 1))}
        return detector.compare(Delta(head=head, base={path: text.replace("1", "2")}, added=added), [path])

    return run


def diff(text: str) -> object:
    try:
        return changed_lines(parse_diff(text))
    except BadInput:
        return None


def options(read: Callable[[str], object]) -> Callable[[str], object]:
    def run(text: str) -> object:
        try:
            return read(text)
        except Exception:  # noqa: BLE001  a refusal is an answer, of whatever class
            return None

    return run


def planned(path: str) -> Callable[[str], object]:
    """The plans for a checkout of this file alone."""

    def run(text: str) -> object:
        with TemporaryDirectory() as tree:
            (Path(tree) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(tree) / path).write_text(text)
            return plans_for(Path(tree))

    return run


def required(metadata: str) -> object:
    """What a wheel with this metadata requires with one extra."""
    with TemporaryDirectory() as place:
        wheel = Path(place, "a-1-py3-none-any.whl")
        with zipfile.ZipFile(wheel, "w") as packed:
            packed.writestr("a-1.dist-info/METADATA", metadata)
        return dependencies(wheel, ("e0",), Interpreter(python=Path(sys.executable), version="3.11.7"))


def flagged(text: str, end_line: int = 0) -> list[Finding]:
    """A finding on each line of a file, or one up to `end_line`."""
    found = RawFinding(
        path="a.py",
        line=1,
        end_line=end_line or 1,
        tool="ruff",
        rule="R1",
        category=Category.CORRECTNESS,
        severity=Severity.MINOR,
        message="bad",
    )
    lines = [0] if end_line else range(text.count("\n"))
    raw = [replace(found, line=found.line + at, end_line=found.end_line + at) for at in lines]
    return [each.finding for each in seen_in(raw, {"a.py": text})]


def near(text: str) -> object:
    """The old findings of a file of which every line is touched."""
    touched = {"a.py": frozenset(range(1, text.count("\n") + 1))}
    return beside(flagged(text, end_line=1), touched, {"a.py": text})


def followed(text: str) -> object:
    """A finding of all lines, through a change of every second one."""
    changed = "".join(f"{line}{'x' * (at % 2)}\n" for at, line in enumerate(text.splitlines()))
    whole = flagged(text, end_line=text.count("\n"))
    known = [KnownFinding(fingerprint=each.fingerprint, finding=each) for each in whole]
    change = without_context(parse_diff(unified("a.py", text, changed)))
    return identities([LastSeen(known=known, change=change)], flagged(changed, end_line=1))


class EndsSilently:
    """A sandbox in which mypy misses a return in each function of a file."""

    def run(self, workload: Workload) -> CompletedRun:
        lines = (workload.overlay["a.py"] or b"").count(b"\n")
        error = {"file": "a.py", "column": 0, "message": "Missing return statement", "severity": "error"}
        said = "".join(f"{json.dumps(error | {'line': line + 1, 'code': 'return'})}\n" for line in range(lines))
        return CompletedRun(exit_code=1, ending=Ending.EXITED, stdout=said, stderr="", report=b"", seconds=0.1)


def typed(text: str) -> object:
    head = SourceTree(sources={"a.py": text}, target_version="py311")
    detector = Mypy(EndsSilently(), frozenset({"a.py"}), installed=lambda: True)
    return detector.compare(Delta(head=head, base={}, added={}), ["a.py"])


TOKEN = "ghp_" + "aB3dE5gH7j" * 3 + "{0:06}"
WORKFLOW = "on: push\njobs:\n  a:\n    steps:\n"
HOSTILE: dict[str, tuple[Callable[[str], object], Made]] = {
    "issue, open fences": (issue_test, repeated("```python \n")),
    "issue, test ids": (named_tests, repeated("a/b.py::c[", "", "d")),
    "issue, blanks": (issue_test, repeated("\n", "```python")),
    "issue, deep code": (issue_test, repeated("(", "```python\ndef test_a(): ", "\n```\n")),
    "command, comments": (lambda text: parse(text, "apprentice"), repeated("<!-- `/apprentice ")),
    "command, ticks": (lambda text: parse(text, "apprentice"), repeated("` `` ``` ")),
    "command, addresses": (lambda text: parse(text, "apprentice"), numbered("@apprentice fix {0}\n")),
    "redaction, web tokens": (redact, repeated("-eyJabcdefghijk")),
    "redaction, keys": (redact, repeated("-----BEGIN PRIVATE KEY-----")),
    "redaction, addresses": (redact, repeated("://a:b")),
    "redaction, passwords": (redact, repeated("@a", "://a:b")),
    "prompt, comments": (lambda text: data("x", text), repeated("<!--")),
    "prompt, links": (rendered_text, repeated("[")),
    "prompt, pictures": (rendered_text, repeated("![x](\n")),
    "prompt, attributes": (rendered_text, repeated("<p style='\n")),
    "prompt, elements": (rendered_text, repeated("<p hidden>\n\n")),
    "prompt, definitions": (rendered_text, repeated("[a]: <\n")),
    "prompt, footnotes": (rendered_text, numbered("[^{0}]: a[^{0}]\n\n\n    a\n")),
    "prompt, labels": (rendered_text, repeated("[^a")),
    "prompt, lists": (rendered_text, repeated("1.> - ")),
    "secrets, many": (checked(Secrets(), "a.py"), numbered(f"a = '{TOKEN}'\n")),
    "secrets, web tokens": (checked(Secrets(), "a.py"), repeated("-eyJabcdefghijk")),
    "secrets, passwords": (checked(Secrets(), "a.py"), numbered("password = 'aB3-dE5_gH7{0:06}'\n")),
    "secrets, settings": (checked(Secrets(), "a.env"), repeated("secretsecret: ")),
    "secrets, key": (checked(Secrets(), "a.py"), repeated("A: b\n", "-----BEGIN PRIVATE KEY-----\n")),
    "requirements, new": (checked(Dependencies(), "requirements.txt"), numbered("package-{0}==1.0\n")),
    "requirements, one name": (checked(Dependencies(), "requirements.txt"), numbered("a=={0}\n")),
    "requirements, blanks": (checked(Dependencies(), "requirements.txt"), repeated(" ", "a", "b")),
    "requirements, indexes": (checked(Dependencies(), "requirements.txt"), numbered("-i https://example.org/{0}\n")),
    "project, tables": (checked(Dependencies(), "pyproject.toml"), numbered("[tool.a{0}]\nurl = 'x'\n")),
    "toml, long key": (options(toml), repeated("a.", after="b = 1")),
    "toml, long key after a quoted one": (options(toml), repeated("a.", '"\\"".', "b = 1")),
    "toml, below a long key": (options(toml), numbered("a{0}=1\n", "[" + "a." * 1000 + "b]\n")),
    "toml, number": (options(toml), repeated("9", "a = ")),
    "ini, blanks": (options(ini), repeated(" ", "[a]\nb", "c")),
    "ini, tabs": (options(ini), repeated("\t \x0b", "[a]\nb", "c")),
    "plan, long key": (planned("pyproject.toml"), repeated("a.", "[project]\nname = 'a'\n", "b = 1")),
    "plan, blanks": (planned("setup.cfg"), repeated(" ", "[a]\nb", "c")),
    "plan, words": (planned(".github/workflows/ci.yml"), repeated("x", f"{WORKFLOW}    - run: pytest ")),
    "plan, requirements": (planned("requirements.txt"), repeated("-r requirements.txt\n")),
    "plan, extras": (planned("requirements.txt"), repeated("a,", "-e .[", "b]")),
    "plan, targets": (planned("Makefile"), repeated("a ", "test: ")),
    "plan, variables": (planned("Makefile"), repeated("$(A)", f"A = {'x' * 9_000}\ntest:\n\t", "\n")),
    "plan, sections": (planned("tox.ini"), repeated("{[testenv]a}", "[testenv]\na = b\ncommands = ")),
    "wheel, extras": (
        required,
        lambda size: (
            "Name: a\n" + "".join(f"Requires-Dist: a[e{at + 1}]; extra == 'e{at}'\n" for at in range(size // 38))
        ),
    ),
    "findings, functions": (flagged, repeated("def f():0\n")),
    "findings, names of classes": (
        flagged,
        lambda size: f"class {'a' * (size // 2)}:\n" + " def f():0\n" * (size // 22),
    ),
    "findings, beside": (near, repeated("def f():0\n")),
    "findings, many lines": (followed, numbered("a{0}\n")),
    "types, functions": (typed, repeated("def f()->int:g()\n")),
    "imports, deep path": (lambda text: ImportGraph({text: ""}), repeated("a/", after="b.py")),
    "workflow, expressions": (checked(Workflows(), "action.yml"), repeated("${{", f"{WORKFLOW}    - run: echo ")),
    "workflow, aliases": (
        checked(Workflows(), "action.yml"),
        repeated("    - *a\n", f"{WORKFLOW}    - &a {{run: b}}\n"),
    ),
    "workflow, actions": (checked(Workflows(), "action.yml"), numbered("    - uses: a/b{0}@c\n", WORKFLOW)),
    "generated": (why_unfit, repeated("generated by ", "# ")),
    "reply, blocks": (lambda text: call_in(text, list[ChatMessage]()), repeated("```json\n{}\n")),
    "failure, words": (normalised, repeated("a")),
    "failure, paths": (normalised, repeated("a/")),
    "markdown, links": (plain, repeated("a.")),
    "markdown, prose": (prose, repeated("fix: `a ")),
    "markdown, code": (code, repeated("`")),
    "diff, headers": (diff, repeated("--- a\n", "diff --git a/x b/x\n")),
    "diff, files": (diff, numbered("diff --git a/x{0} b/x{0}\n--- a/x{0}\n+++ b/x{0}\n@@ -1 +1 @@\n-a\n+b\n")),
    "diff, number": (diff, repeated("9", "--- a/x\n+++ b/x\n@@ -1,", " +1 @@\n")),
    "edit, equal lines": (lambda text: unified("a.py", text, f"{text}x\n"), repeated("a\n")),
    "report, events": (lambda text: decode(text.encode()), repeated('{"event": "running", "id": "a"}\n')),
    "report, deep": (lambda text: decode(text.encode()), repeated("[", after="\n")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_grows_with_the_text(name: str) -> None:
    """No text makes a reader do the square of its length."""
    use, made = HOSTILE[name]
    assert not grows(use, made, size=40_000)
