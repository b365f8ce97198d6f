"""Risks in GitHub's workflow and action files that a change adds. Pure; the file is read as data.

zizmor covers more audits of whole files, but not these: of the eleven holes that the tests plant it finds five, and it
reports every `actions/checkout@v4`. An operator can run it beside this one as a review tool that writes SARIF.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

from memory.model import Severity
from memory.plain_yaml import BadYaml, only_bad_yaml, weight
from workers.diffs import split_lines
from workers.review.detectors.detector import Category, Delta, Detection, DetectorFailed, RawFinding, by_file

MAX_CHARACTERS = 200_000
MAX_VALUES = 20_000
"""Each alias repeats all that its anchor holds."""

HEAD_CHECKOUT, INJECTION, WRITE_ALL, UNPINNED, PRINTED, SELF_HOSTED = (f"WFL{number:03}" for number in range(1, 7))

_PATH = re.compile(r"(^|/)\.github/workflows/[^/]+\.ya?ml$|(^|/)action\.ya?ml$")
_HEAD_REF = re.compile(
    r"github\.head_ref|github\.event\.pull_request\.(head|number)|github\.event\.workflow_run\.head|refs/pull/"
)
_UNTRUSTED = re.compile(
    r"\b(github\.head_ref"
    r"|github\.event\.(?:issue|pull_request|discussion|comment|review|review_comment|release)\.(?:title|body|name)\b"
    r"|github\.event\.pull_request\.head\.(?:ref|label|repo\.(?:default_branch|description|homepage))\b"
    r"|github\.event\.(?:head_commit|commits\S{0,80}?)\.(?:message|(?:author|committer)\.(?:name|email))\b"
    r"|github\.event\.workflow_run\.(?:head_branch|display_title|head_commit\.\S+?|pull_requests\S{0,80}?head\.ref)\b"
    r"|github\.event\.pages\S{0,80}?page_name\b)"
)
_SECRET = re.compile(r"\$\{\{\s*(?:secrets\.(?!GITHUB_TOKEN\b)\w+|toJSON\(\s*secrets\s*\))", re.IGNORECASE)
_PRINTS = re.compile(
    r"^\s*(?:-\s+)?(?:run:\s*)?(?:echo|printf|print|console\.log|Write-Host|Write-Output)\b", re.IGNORECASE
)
_LEADS_ON = re.compile(r"[|>]|::add-mask::|--password-stdin")
_USED = re.compile(r"uses:\s*[\"']?([^\s\"']{1,300})")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_PINNED = re.compile(r"@[0-9a-f]{40}$|@sha256:[0-9a-f]{64}$")
_GITHUBS_OWN = frozenset({"actions", "github"})
_PRIVILEGED = frozenset({"pull_request_target", "workflow_run"})
_PUBLIC = frozenset(
    {"pull_request", "pull_request_target", "issue_comment", "issues", "discussion", "discussion_comment"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A workflow, its text by line and what the change did to it."""

    path: str
    root: yaml.Node
    lines: Sequence[str]
    base: str
    added: frozenset[int]

    @property
    def on(self) -> yaml.Node | None:
        return _entries(self.root).get("on")

    def trigger(self, events: frozenset[str]) -> str | None:
        """The first of these events that it runs on."""
        return min(_words(self.on) & events, default=None)

    def jobs(self) -> list[yaml.Node]:
        return list(_entries(_entries(self.root).get("jobs")).values())

    def steps(self) -> Iterator[dict[str, yaml.Node]]:
        """The steps of every job, and those of a composite action."""
        for holder in (*self.jobs(), *filter(None, [_entries(self.root).get("runs")])):
            yield from (_entries(step) for step in _items(_entries(holder).get("steps")))

    def added_in(self, node: yaml.Node | None) -> list[int]:
        if node is None:
            return []
        first, end = node.start_mark.line + 1, node.end_mark.line + 1  # the end mark of a block is on the line after it
        lines = range(first, max(first + 1, end + (node.end_mark.column > 0)))
        return [line for line in lines if line in self.added and line <= len(self.lines)]


class Workflows:
    """The `ChangeDetector` of workflow and action files; no comment in the file silences it."""

    name = "workflows"

    def reads(self, path: str) -> bool:
        return _PATH.search(path) is not None

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        return by_file(filter(self.reads, paths), lambda path: _risks(path, delta))


def _risks(path: str, delta: Delta) -> list[RawFinding]:
    """The findings of every audit; raises DetectorFailed for a file that cannot be read."""
    root = _composed(delta.head.sources[path])
    if root is None:
        return []
    file = _File(
        path=path,
        root=root,
        lines=split_lines(delta.head.sources[path]),
        base=delta.base.get(path, ""),
        added=delta.added.get(path, frozenset()),
    )
    audits = (_head_checkouts, _injections, _permissions, _unpinned, _printed, _self_hosted)
    return [finding for audit in audits for finding in audit(file)]


def _head_checkouts(file: _File) -> Iterator[RawFinding]:
    if (trigger := file.trigger(_PRIVILEGED)) is None:
        return
    message = f"`{trigger}` runs with this repository's secrets, and this checks out code from outside under it."
    for step in file.steps():
        reference = _entries(step.get("with")).get("ref")
        if _text_of(step.get("uses")).startswith("actions/checkout@") and _HEAD_REF.search(_text_of(reference)):
            lines = file.added_in(reference) or file.added_in(file.on)
            yield from (_finding(file, line, HEAD_CHECKOUT, Severity.CRITICAL, message) for line in lines[:1])


def _injections(file: _File) -> Iterator[RawFinding]:
    for step in file.steps():
        for script in (step.get("run"), _entries(step.get("with")).get("script")):
            for line in file.added_in(script):
                value = _untrusted(file.lines[line - 1])
                if value and value in _text_of(script):
                    message = (
                        f"The user who opens it chooses `{value}`, and this pastes it into the script before the script runs; "
                        "pass it through `env:` and quote the variable."
                    )
                    yield _finding(file, line, INJECTION, Severity.CRITICAL, message)


def _untrusted(line: str) -> str:
    """The first value in an expression of a line that a user chooses; empty without one."""
    expressions = (part.partition("}")[0] for part in line.split("${{")[1:])
    return next((match[1] for each in expressions if (match := _UNTRUSTED.search(each))), "")


def _permissions(file: _File) -> Iterator[RawFinding]:
    message = "Every step gets a token that may write everything; name the few permissions that are needed."
    for holder in (file.root, *file.jobs()):
        permissions = _entries(holder).get("permissions")
        lines = file.added_in(permissions)[:1] if _text_of(permissions) == "write-all" else ()
        yield from (_finding(file, line, WRITE_ALL, Severity.MAJOR, message) for line in lines)


def _unpinned(file: _File) -> Iterator[RawFinding]:
    before = [(_name_and_version(each)[0], bool(_PINNED.search(each))) for each in _USED.findall(file.base)]
    loose = {name for name, pinned in before if not pinned}
    fixed = {name for name, pinned in before if pinned} - loose
    used = [step.get("uses") for step in file.steps()] + [_entries(job).get("uses") for job in file.jobs()]
    for node in filter(None, used):
        name, reference = _name_and_version(_text_of(node))
        trusted = name in loose or (name.partition("/")[0] in _GITHUBS_OWN and name not in fixed)
        if trusted or name.startswith("./") or _PINNED.search(_text_of(node)):
            continue  # the first may be a new version of what was trusted before
        history = "was pinned to a commit" if name in fixed else "is new here"
        message = (
            f"`{name}` {history}, and `{reference or 'latest'}` can be moved to other code; pin it to a full commit."
        )
        yield from (_finding(file, line, UNPINNED, Severity.MINOR, message) for line in file.added_in(node)[:1])


def _name_and_version(used: str) -> tuple[str, str]:
    """What names an action or an image, and its version, tag or digest; empty without one."""
    name, _, version = used.partition("@")
    if name.startswith("docker://") and ":" in name.rpartition("/")[2]:
        name, _, tag = name.rpartition(":")
        version = version or tag
    return name, version


def _printed(file: _File) -> Iterator[RawFinding]:
    for step in file.steps():
        script = step.get("run")
        names = {name for name, value in _entries(step.get("env")).items() if _SECRET.search(_text_of(value))}
        for line in file.added_in(script):
            source = file.lines[line - 1]
            read = {match[1] or match[2] for match in _VARIABLE.finditer(source)}
            if _prints(source) and (_SECRET.search(source) or not names.isdisjoint(read)):
                message = "A secret is written to the log; the mask that hides it misses any encoding or part of it."
                yield _finding(file, line, PRINTED, Severity.MAJOR, message)


def _prints(source: str) -> bool:
    """Whether a line of a script prints to the log, and not into a file or another command."""
    first, *others = source.split("${{")
    bare = re.sub(r":\s*[|>][-+]?\s*$", "", first + "".join(each.partition("}}")[2] for each in others))
    return _PRINTS.match(source) is not None and _LEADS_ON.search(bare) is None


def _self_hosted(file: _File) -> Iterator[RawFinding]:
    if (trigger := file.trigger(_PUBLIC)) is None:
        return
    message = f"In a public repository anybody can run code on this machine of yours by `{trigger}`."
    for job in file.jobs():
        runner = _entries(job).get("runs-on")
        if "self-hosted" in _words(runner) | _words(_entries(runner).get("labels")):
            lines = file.added_in(runner) or [n for n in file.added_in(file.on) if trigger in file.lines[n - 1]]
            yield from (_finding(file, line, SELF_HOSTED, Severity.MAJOR, message) for line in lines[:1])


def _finding(file: _File, line: int, rule: str, severity: Severity, message: str) -> RawFinding:
    return RawFinding(
        path=file.path,
        line=line,
        end_line=line,
        tool=Workflows.name,
        rule=rule,
        category=Category.SECURITY,
        severity=severity,
        message=message,
    )


_BREAKS = dict.fromkeys((0x85, 0x2028, 0x2029), " ")
"""What ends a line in YAML 1.1 and nowhere else: behind it all places would be wrong."""


def _composed(text: str) -> yaml.Node | None:
    """The root of the one document in `text`, None when it is empty; raises DetectorFailed when it is not to be read."""
    if len(text) > MAX_CHARACTERS:
        raise DetectorFailed(f"too large to be read as YAML: over {MAX_CHARACTERS:,} characters")
    try:
        with only_bad_yaml():
            root = yaml.compose(text.translate(_BREAKS), Loader=yaml.SafeLoader)
            values = 0 if root is None else weight(root, MAX_VALUES)
    except BadYaml as error:
        raise DetectorFailed(f"line {error.line}: {error.reason[:120]}") from error
    if values > MAX_VALUES:
        raise DetectorFailed(f"too large to be read as YAML: over {MAX_VALUES:,} values")
    return root


def _entries(node: yaml.Node | None) -> dict[str, yaml.Node]:
    """A mapping's values by key; empty for what is none."""
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _items(node: yaml.Node | None) -> list[yaml.Node]:
    """A sequence's items; empty for what is none."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _text_of(node: yaml.Node | None) -> str:
    """A scalar's text; empty for what is none."""
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def _words(node: yaml.Node | None) -> set[str]:
    """A scalar, the items of a sequence, or the keys of a mapping: the ways to write a list of names."""
    return {_text_of(node)} - {""} | {_text_of(item) for item in _items(node)} | set(_entries(node))
