"""One round of reviewing a pull request: what it is about, and what its effects are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memory.model import Decision, Sighting, Task
from workers.git import Mirror
from workers.jobs import RepositoryRef, Review
from workers.ports import GitHub, PullRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One review of one pull request at one commit."""

    job: Review
    task: Task
    github: GitHub
    pull: PullRequest
    mirror: Mirror
    diff: str
    earlier: tuple[Sighting, ...]
    made: Mapping[str, Decision]
    may_run_tests: bool

    def key(self, effect: str) -> str:
        """The name of one effect of this round. Unasked, a commit is reviewed once; whoever asks is always answered."""
        if self.job.commanded:
            return f"review:{self.job.repository.id}:{self.task.id}:{effect}"
        return key_of_push(self.job.repository, self.pull.number, self.task.sha, effect)

    def key_of_end(self, fingerprint: str) -> str:
        """The name of saying, once for the pull request, that a finding is no longer there."""
        return f"review:{self.job.repository.id}:{self.pull.number}:{fingerprint}:gone"


def key_of_push(repository: RepositoryRef, number: int, sha: str, effect: str) -> str:
    """The name of one effect of the round that nobody asked for at a commit of a pull request."""
    return f"review:{repository.id}:{number}:{sha}:{effect}"
