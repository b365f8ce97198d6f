"""What a review finds, the fates of findings that no review reported, and the posts that users answer."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.model.repairs import Suggestion


class Severity(StrEnum):
    """How much harm a finding can do, worst last."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """From 0, the least harm, up."""
        return list(Severity).index(self)


class Action(StrEnum):
    """What review can do with a finding, loudest first."""

    INLINE_SUGGESTION = "inline_suggestion"
    INLINE = "inline"
    SUMMARY = "summary"
    HOLD = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What review found. `fingerprint` survives shifted lines; `anchor` is the normalised source of its lines.

    `own_linter`: the repository's own linter, as it is configured, reports it too.
    """

    fingerprint: str
    path: str
    line: int
    end_line: int
    tool: str
    rule: str
    category: str
    severity: Severity
    message: str
    anchor: str
    suggestion: Suggestion | None = None
    own_linter: bool = False

    @property
    def lines(self) -> range:
        return range(self.line, self.end_line + 1)

    @property
    def proven(self) -> bool:
        """Whether its suggestion was applied and tested."""
        return self.suggestion is not None and self.suggestion.proof is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingLocation:
    """The place of a finding at one commit, its message, and the fingerprint that it has by that place alone."""

    sha: str
    path: str
    line: int
    end_line: int
    anchor: str
    message: str
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A finding as one pull request's review decided on it: it keeps a later round from posting it again.

    `sha` and `finding` are of the round that decided; `last` is where a later round saw it. `returns` counts how often it
    was back after a round reported it as gone. `missed_in` is the head that was reviewed with the finding in it and without a
    word about it, empty for none; `missed_because` why, where that was known.
    """

    repository: str
    number: int
    sha: str
    decision_id: str
    finding: Finding
    action: Action
    created_at: datetime
    last: FindingLocation | None = None
    returns: int = 0
    missed_in: str = ""
    missed_because: str = ""

    @property
    def place(self) -> FindingLocation:
        """Where it was last seen."""
        return self.last or location_of(self.finding, self.sha)


def location_of(finding: Finding, sha: str) -> FindingLocation:
    """The place of a finding at the commit that it was found at."""
    return FindingLocation(
        sha=sha,
        path=finding.path,
        line=finding.line,
        end_line=finding.end_line,
        anchor=finding.anchor,
        message=finding.message,
        mark=finding.fingerprint,
    )


class Fate(StrEnum):
    """What the developers of a repository did about the lines of a finding.

    `applied` is the tool's own fix to the letter, `fixed` another change of these lines that ended it, `indirect` a change
    elsewhere that did. `silenced` got a comment for the tool, `left` outlived the horizon. `swept` ended together with many
    of its kind, as by a formatter; `rewritten` and `gone` went with their lines or their file: none of these says anything about
    the finding itself.
    """

    APPLIED = "applied"
    FIXED = "fixed"
    INDIRECT = "indirect"
    SILENCED = "silenced"
    LEFT = "left"
    SWEPT = "swept"
    REWRITTEN = "rewritten"
    GONE = "gone"

    @property
    def addressed(self) -> bool | None:
        """Whether developers addressed it; None where the fate does not show that."""
        if self in (Fate.SWEPT, Fate.REWRITTEN, Fate.GONE):
            return None
        return self in (Fate.APPLIED, Fate.FIXED, Fate.INDIRECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastFinding:
    """What a review of the change `sha` would have found, and its fate.

    `position` counts changes of the branch from 0; the fate was known at the change `until`. `standing` is how often the same
    rule was broken on lines of the file that the change did not touch, `burst` how often on those that it did, in all its
    files.
    """

    sha: str
    position: int
    path: str
    line: int
    tool: str
    rule: str
    category: str
    severity: Severity
    fixable: bool
    standing: int
    burst: int
    fate: Fate
    until: int


class PostKind(StrEnum):
    """The kinds of posts on GitHub that users answer."""

    REVIEW_COMMENT = "review_comment"
    FIX_PULL = "fix_pull"
    ISSUE_COMMENT = "issue_comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A post on GitHub, and the decisions that it shows.

    `number` is its issue or pull request; `github_id` the comment's id or the pull request's number.
    `watched` ends when nothing more is to be learned from it.
    """

    repository: str
    kind: PostKind
    number: int
    github_id: int
    decision_ids: tuple[str, ...]
    fingerprint: str = ""
    watched: bool = True
    created_at: datetime
