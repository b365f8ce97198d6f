"""One round of reviewing a pull request: what it is about, what came before it, and what its effects are called."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.model import Decision, FindingLocation, Sighting, Task
from memory.store import StoredTask
from workers.diffs import Change, parse_diff
from workers.errors import BadInput, CannotRun, Gone
from workers.git import Mirror
from workers.jobs import RepositoryRef, ReviewPull
from workers.ports import GitHub, PullRequest
from workers.review.engine import Reviewed

REVIEWED = "reviewed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A round that came to its end: the head that it reviewed, and why files of it were not fully read, by path."""

    sha: str
    unread: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAgain:
    """What this round makes of what earlier ones decided, by the fingerprint under which people know it.

    `here` is where the findings that are still there stand, `paths` what the files of all are called now, `gone` how many
    threads were closed for those that people were told to be gone, and `returns` how often each was back before.
    """

    here: Mapping[str, FindingLocation] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    gone: Mapping[str, int] = field(default_factory=dict)
    returns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One review of one pull request at one commit. `before` are the rounds that ended, oldest first.

    `other_base` is the base branch if the commit that the pull request was opened against is gone.
    """

    job: ReviewPull
    task: Task
    github: GitHub
    pull: PullRequest
    mirror: Mirror
    diff: str
    earlier: tuple[Sighting, ...]
    made: Mapping[str, Decision]
    may_run_tests: bool
    may_ask_model: bool = True
    before: tuple[Before, ...] = ()
    again: KnownAgain = field(default_factory=KnownAgain)
    other_base: str = ""

    def key(self, effect: str) -> str:
        """The name of one effect of this round. Unasked, a commit is reviewed once; whoever asks is always answered.

        A head that was left and returned to is another round, for what was closed in between is open again.
        """
        if self.job.commanded:
            return f"review:{self.job.repository.id}:{self.task.id}:{effect}"
        return key_of_push(self.job.repository, self.pull.number, f"{self.task.sha}{self._return()}", effect)

    def _return(self) -> str:
        heads = [each.sha for each in self.before]
        times = sum(1 for at, sha in enumerate(heads) if sha == self.task.sha and heads[at + 1 : at + 2] != [sha])
        times -= bool(heads) and heads[-1] == self.task.sha
        return f":return-{times}" if times else ""

    def key_of_end(self, fingerprint: str) -> str:
        """The name of saying, once each time that it happens, that a finding is no longer there."""
        return self._key_of(fingerprint, "gone")

    def key_of_return(self, fingerprint: str) -> str:
        """The name of opening the threads of a finding again, once each time that it is back."""
        return self._key_of(fingerprint, "back")

    def _key_of(self, fingerprint: str, what: str) -> str:
        times = self.again.returns.get(fingerprint, 0)
        return f"review:{self.job.repository.id}:{self.pull.number}:{fingerprint}:{what}{f':{times}' if times else ''}"

    def earlier_by_new_names(self) -> tuple[Sighting, ...]:
        """What earlier rounds decided upon, with the files under the names that they have now."""
        return tuple(
            replace(each, finding=replace(each.finding, path=path))
            if (path := self.again.paths.get(each.finding.fingerprint))
            else each
            for each in self.earlier
        )

    def since(self, sha: str, paths: frozenset[str]) -> Change | None:
        """What changed in these files from an earlier head to this one; None where that head cannot be had any more.

        After a rebase the earlier head is in nobody's history, and GitHub may have thrown it away.
        """
        if sha == self.task.sha:
            return Change(files=())
        try:
            self.mirror.fetch(sha)
            return parse_diff(self.mirror.between(sha, self.task.sha, sorted(paths)))
        except (Gone, CannotRun, BadInput):
            return None

    def paths_of(self, sha: str) -> frozenset[str]:
        """The files that the pull request changed up to a head, none where that head cannot be had any more."""
        try:
            self.mirror.fetch(sha)
            change = parse_diff(self.mirror.diff(self.pull.base_sha, sha))
        except (Gone, CannotRun, BadInput):
            return frozenset()
        return frozenset(path for file in change.files for path in (file.path, file.old_path))


@contextmanager
def exported(mirror: Mirror, base: str, head: str) -> Iterator[tuple[Path, Path]]:
    """The commit that `head` branched off from `base`, and `head`, checked out without a `.git`."""
    with TemporaryDirectory(prefix="apprentice-") as scratch:
        start = mirror.merge_base(base, head)
        yield mirror.export(start, Path(scratch) / "base"), mirror.export(head, Path(scratch) / "head")


def ended(reviewed: Reviewed) -> str:
    """What is kept of a round that came to its end."""
    unread = {path: why for path, why in reviewed.not_read.items() if path in reviewed.unread}
    return json.dumps({"unread": unread})


def before(tasks: list[StoredTask], task: Task) -> tuple[Before, ...]:
    """The rounds of a pull request that ended, oldest first, without this one."""
    others = (each for each in tasks if each.task.id != task.id and each.status == REVIEWED)
    return tuple(Before(sha=each.task.sha, unread=json.loads(each.summary)["unread"]) for each in others)


def key_of_push(repository: RepositoryRef, number: int, sha: str, effect: str) -> str:
    """The name of one effect of the round that nobody asked for at a commit of a pull request."""
    return f"review:{repository.id}:{number}:{sha}:{effect}"
