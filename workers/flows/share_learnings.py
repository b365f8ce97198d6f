"""Propose a repository's learnings as a file in it, by pull request: maintainers decide what to share."""

from __future__ import annotations

from collections.abc import Sequence

from memory.sharing.document import PATH, BadLearnings, parse, render
from memory.sharing.lessons import Learnings, harvest, merged
from workers.errors import BadInput
from workers.flows.replies import actor_of, may_command, post_comment, reply_to_outsider
from workers.git import Mirror
from workers.job_context import JobContext
from workers.jobs import Job, ShareLearnings
from workers.messages import conversation as words
from workers.ports import BranchHead, GitHub

BRANCH = "apprentice/learnings"


def run(job: ShareLearnings, context: JobContext) -> Sequence[Job]:
    """Check the user's permission, collect the learnings, open or update one pull request, and reply."""
    github = context.connect(job.repository)
    if not may_command(github, actor_of(job.actor)):
        reply_to_outsider(job, context, github)
        return ()
    key = f"{context.job_id}:answer"
    post_comment(job.number, _shared(job, key, context, github), key, context, github)
    return ()


def _shared(job: ShareLearnings, key: str, context: JobContext, github: GitHub) -> str:
    if not context.settings.share_learnings:
        return words.switched_off(key=key)
    learned = harvest(
        context.store,
        job.repository.full_name,
        words.link_to(context.settings.github_url),
        quorum=context.settings.quorum,
    )
    if not learned.lessons:
        return words.nothing_yet(key=key)
    base, mirror = github.default_branch(), context.mirror(job.repository, github)
    mirror.fetch(base.sha)
    known = _known(mirror, base, learned.source)
    wanted = merged(known, learned) if known else learned
    if wanted == known:
        return words.nothing_new(key=key)
    return words.proposed(_propose(wanted, base, mirror, context, github), wanted, key=key)


def _known(mirror: Mirror, base: BranchHead, source: str) -> Learnings | None:
    """The learnings in the current file. Raises BadInput for an unreadable file, or one from another repository."""
    try:
        known = learnings_at(mirror, base.sha)
    except BadLearnings as error:
        raise BadInput(f"{PATH} on {base.name} cannot be read ({error}); correct or remove it") from error
    if known is not None and known.source != source:
        raise BadInput(f"{PATH} holds what {known.source} learned; `apprentice import` it and remove the file")
    return known


def _propose(wanted: Learnings, base: BranchHead, mirror: Mirror, context: JobContext, github: GitHub) -> int:
    """The number of the pull request. Pushing the branch updates one that is already open."""
    commit = mirror.commit(base.sha, {PATH: render(wanted).encode()}, words.commit_message(wanted), context.clock())
    mirror.push(commit, BRANCH)
    key = f"{context.job_id}:learnings"
    body = words.pull_body(wanted, key=key)
    return context.effects.once(
        key,
        make=lambda: _open_one(github) or github.open_pull(head=BRANCH, base=base.name, title=words.TITLE, body=body),
        find=lambda: _open_one(github),
    )


def _open_one(github: GitHub) -> int | None:
    number = github.find_pull(head=BRANCH)
    return number if number is not None and github.pull(number).state == "open" else None


def learnings_at(mirror: Mirror, base: str) -> Learnings | None:
    """The learnings in the repository's own file at a commit of the base branch, None without a file.

    Never pass a commit of a pull request: its author controls the file. Raises BadLearnings for a file that cannot be read.
    """
    content = mirror.read(base, PATH)
    if content is None:
        return None
    try:
        return parse(content.decode())
    except UnicodeDecodeError as error:
        raise BadLearnings("the file is not UTF-8; export it again") from error
