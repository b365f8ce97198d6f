"""What `.github/apprentice.yml` can hold. The parser, the published JSON Schema, the documentation and the defaults are of this.

A title says what a value looks like, a description what it does. No key widens what the operator allows.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from memory.model import Finding, PastFinding, Severity

F = TypeVar("F", Finding, PastFinding)

PATH = ".github/apprentice.yml"

_CODE = re.compile(r"([A-Z]+)([0-9]*)")
CATEGORIES = ("security", "correctness", "performance", "maintainability", "style")
SECURITY_RULES = re.compile(r"security|S[0-9]*|SEC[0-9]*")
"""Names of rules that are certain to be about security."""

Pattern = Annotated[
    str, Meta(min_length=1, max_length=200, pattern=r"^(?!!)(?!.*\.\.)(?!(.*/)?\.(/|$))(?=.*[^/])[^\\]+$")
]
Label = Annotated[str, Meta(min_length=1, max_length=100)]
Extra = Annotated[str, Meta(max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
RequirementsFile = Annotated[str, Meta(max_length=200, pattern=r"^(?![/.])(?!.*\.\.)[A-Za-z0-9._/-]+\.(txt|in)$")]
Patterns = tuple[Pattern, ...]
RuleName = Annotated[str, Meta(pattern=r"^[A-Za-z][\w.-]{0,60}$")]


def _list_of(what: str, description: str, *, most: int = 100) -> Meta:
    return Meta(max_length=most, title=f"a list of {what}", description=description)


def _switch(description: str) -> Meta:
    return Meta(title="true or false", description=description)


class RuleLevel(StrEnum):
    """What becomes of a rule: no findings at all, or findings of this severity."""

    OFF = "off"
    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


RuleSeverity = Annotated[
    RuleLevel | None,
    Meta(title="one of off, info, minor, major, critical", description="Severity of the findings of this rule."),
]


class EnvironmentChoices(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What the tests need. It is installed in the sandbox only."""

    python: Annotated[
        str,
        Meta(pattern=r"^(3\.[0-9]{1,2})?$", title="a Python version such as 3.12", description="Python of the tests."),
    ] = ""
    extras: Annotated[
        tuple[Extra, ...], _list_of("names such as [test]", "Extras of the project that the tests need.", most=20)
    ] = ()
    requirements: Annotated[
        tuple[RequirementsFile, ...],
        _list_of(
            "files such as [requirements/test.txt]",
            "Requirements files of the repository that the tests need.",
            most=20,
        ),
    ] = ()


class PathChoices(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Which files Apprentice reviews and edits."""

    include: Annotated[
        Patterns, _list_of("path patterns such as [src/**]", "Review and edit only files that match one of these.")
    ] = ()
    exclude: Annotated[
        Patterns,
        _list_of("path patterns such as [docs, '*_pb2.py']", "Neither review nor edit files that match one of these."),
    ] = ()

    def hold(self, path: str) -> bool:
        """Whether a file is reviewed and may be edited."""
        return (not self.include or is_under(path, self.include)) and not is_under(path, self.exclude)


class RuleChoice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What becomes of the findings of a rule."""

    severity: RuleSeverity = None
    only: Annotated[
        Patterns, _list_of("path patterns such as [src/**]", "Report the rule only in files that match one of these.")
    ] = ()


class RepairAndReviewLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Limits below those of the operator."""

    repair_seconds: Annotated[
        Annotated[int, Meta(ge=10)] | None,
        Meta(title="a number of at least 10", description="Seconds for one repair at most."),
    ] = None
    comments: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            title="a number of at least 0",
            description="Inline comments in one review at most; the other findings go to its summary.",
        ),
    ] = None


class AutomaticReviews(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What is reviewed without a command."""

    opened: Annotated[bool, _switch("Review a pull request when it is opened, reopened or ready for review.")] = True
    pushes: Annotated[bool, _switch("Review a pull request again when it is pushed to.")] = True
    drafts: Annotated[bool, _switch("Review drafts.")] = False
    forks: Annotated[bool, _switch("Review pull requests from forks.")] = True
    skip_labels: Annotated[
        tuple[Label, ...],
        _list_of("labels such as [no-review]", "Do not review pull requests with one of these labels."),
    ] = ()
    skip_authors: Annotated[
        tuple[Label, ...],
        _list_of("accounts such as ['dependabot[bot]']", "Do not review pull requests by these accounts."),
    ] = ()


class IssueAnswers(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What happens with a new issue that has no failing test."""

    locate: Annotated[
        bool, _switch("Answer a new issue in words with the likely files, where maintainers find such answers useful.")
    ] = False


class RepositoryConfiguration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Apprentice in this repository."""

    test_command: Annotated[
        str,
        Meta(
            max_length=300,
            title="a command such as python -m pytest tests",
            description="How to run the tests. It starts at the root of the repository, and may begin with variables.",
        ),
    ] = ""
    environment: EnvironmentChoices = EnvironmentChoices()
    paths: PathChoices = PathChoices()
    rules: Annotated[
        dict[RuleName, RuleLevel | RuleChoice],
        Meta(
            title="rules, prefixes of rules (F) or categories (style), each with off, a severity, or severity and only",
            description="What becomes of the findings of a rule. The most exact name counts.",
        ),
    ] = {}
    minimum_severity: Annotated[
        Severity,
        Meta(title="one of info, minor, major, critical", description="Report no finding below this severity."),
    ] = Severity.INFO
    limits: RepairAndReviewLimits = RepairAndReviewLimits()
    reviews: AutomaticReviews = AutomaticReviews()
    issues: IssueAnswers = IssueAnswers()
    silent: Annotated[
        bool, _switch("Post nothing that no user asked for, but the check run. Commands are answered.")
    ] = False

    def kept(self, finding: F) -> F | None:
        """The finding with the severity that it has here; None where it is left out.

        A security finding, and a critical one, is never left out, and gets no lower severity.
        """
        choice = self.choice_of(finding.rule, finding.category)
        is_off = choice.severity is RuleLevel.OFF
        chosen = finding.severity if choice.severity is None or is_off else Severity(choice.severity.value)
        if finding.category == "security" or finding.severity is Severity.CRITICAL:
            return replace(finding, severity=max(chosen, finding.severity, key=attrgetter("rank")))
        elsewhere = (choice.only and not is_under(finding.path, choice.only)) or not self.paths.hold(finding.path)
        below = chosen.rank < self.minimum_severity.rank
        return None if is_off or elsewhere or below else replace(finding, severity=chosen)

    def choice_of(self, rule: str, category: str) -> RuleChoice:
        """What becomes of a rule: under its own name, else its longest prefix, else its category."""
        code = _CODE.fullmatch(rule)
        prefixes = (rule[:end] for end in range(len(rule) - 1, len(code[1]) - 1, -1)) if code else ()
        name = next((name for name in (rule, *prefixes, category) if name in self.rules), "")
        chosen = self.rules.get(name, RuleChoice())
        return chosen if isinstance(chosen, RuleChoice) else RuleChoice(severity=chosen)


def is_under(path: str, patterns: Iterable[str]) -> bool:
    """Whether a file, or a directory above it, matches one of the patterns."""
    return any(_matches(pattern, path) for pattern in patterns)


def _matches(pattern: str, path: str) -> bool:
    """As in `.gitignore`, in time that grows with pattern and path alone: `*` matches within a name, `**` any directories.

    A pattern without a slash before its end matches at any depth.
    """
    names = [name for name in pattern.split("/") if name]
    if "/" not in pattern.rstrip("/"):
        names = ["**", *names]
    reached = _skipping({0}, names)
    for part in path.split("/"):
        reached = _skipping(
            {at if names[at] == "**" else at + 1 for at in reached if at < len(names) and fnmatchcase(part, names[at])},
            names,
        )
        if len(names) in reached:
            return True
    return False


def _skipping(reached: set[int], names: list[str]) -> set[int]:
    """The same positions, and those behind each `**`, which matches no directory too."""
    found = set(reached)
    for at, name in enumerate(names):
        if at in found and name == "**":
            found.add(at + 1)
    return found


NOTHING_CHOSEN = RepositoryConfiguration()
ANY_ENVIRONMENT, ALL_PATHS = NOTHING_CHOSEN.environment, NOTHING_CHOSEN.paths


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the file, for editors."""
    schema = msgspec.json.schema(RepositoryConfiguration)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": PATH, **schema}
