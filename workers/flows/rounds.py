"""One round of reviewing a pull request: what it is about, and what its effects are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory.model import Decision, Sighting, Task
from workers.git import Mirror
from workers.jobs import Review
from workers.ports import GitHub, PullRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One review of one pull request at one commit.

    `other_base` is the base branch if the commit that the pull request was opened against is gone.
    """

    job: Review
    task: Task
    github: GitHub
    pull: PullRequest
    mirror: Mirror
    diff: str
    earlier: tuple[Sighting, ...]
    made: Mapping[str, Decision]
    may_run_tests: bool
    other_base: str = ""

    def key(self, effect: str) -> str:
        """The name of one effect of this round. Unasked, a commit is reviewed once; whoever asks is always answered."""
        round_of = self.task.id if self.job.commanded else f"{self.pull.number}:{self.task.sha}"
        return f"review:{self.job.repository.id}:{round_of}:{effect}"

    def key_of_end(self, fingerprint: str) -> str:
        """The name of saying, once for the pull request, that a finding is no longer there."""
        return f"review:{self.job.repository.id}:{self.pull.number}:{fingerprint}:gone"
