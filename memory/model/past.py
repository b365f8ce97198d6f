"""The fates of findings that no review reported: a repository's history as a teacher."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.model.reviews import Severity


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

    `position` counts changes of the branch from 0; the fate was known at the change `until`, whose commit is `by`
    (empty for what was left). `standing` is how often the same rule was broken on lines of the file that the change did
    not touch, `burst` how often on those that it did, in all its files.
    """

    sha: str
    position: int
    at: datetime
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
    by: str
