"""Answer comments: `why`, `help`, an invalid command, a question for the model, or `share` with a pull request; and issues in
words with their likely places."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memory.explain import explain
from memory.model import Action, Actor, Decision, PostKind, Task, TaskKind
from memory.plain_yaml import BadYaml
from memory.policy.issue_policy import ANSWER, asked_answer, decide_answer, state_of
from memory.sharing import PATH, Learnings, harvest, merged, parse, render
from workers.errors import BadInput, Gone
from workers.flows.configured import configuration_at
from workers.flows.repair import issue_test
from workers.flows.replies import acknowledge, connected, post_comment
from workers.git import Mirror, email_of
from workers.job_context import JobContext
from workers.jobs import AnswerCommand, AnswerQuestion, Job, LocateIssue, ShareLearnings
from workers.localisation.locate import Located, locate
from workers.messages import conversation, locating
from workers.messages.markdown import SKIP_CI
from workers.ports import BranchHead

if TYPE_CHECKING:  # loaded only where a model is set
    from workers.agent.answering import ModelAnswer
    from workers.github.adapter import GitHub
    from workers.llm.messages import Model


def run(job: AnswerCommand | AnswerQuestion | ShareLearnings, context: JobContext) -> Sequence[Job]:
    """Check the user's permission, and reply once, in the command's review thread or conversation."""
    github = connected(job, context)
    if github is not None:
        if isinstance(job, AnswerQuestion):
            acknowledge(job, context, github)
        key, thread = f"{context.job_id}:answer", 0 if isinstance(job, ShareLearnings) else job.thread
        post_comment(job.number, _reply(job, github, context), key, context, github, thread=thread)
    return ()


def _reply(job: AnswerCommand | AnswerQuestion | ShareLearnings, github: GitHub, context: JobContext) -> str:
    match job:
        case AnswerQuestion():
            return _question_text(job, github, context)
        case ShareLearnings():
            return _shared(job, context, github)
        case AnswerCommand() if job.problem:
            return conversation.misunderstood(job.problem, job.suggestion, context.settings.bot_name)
        case AnswerCommand() if job.command == "why":
            return _why(job, context)
        case AnswerCommand():
            bot_name, share = context.settings.bot_name, context.settings.share_learnings
            return conversation.help_text(bot_name, model=context.models is not None, share=share)


def _why(job: AnswerCommand, context: JobContext) -> str:
    reference = job.argument or _last_decision(job, context)
    where = job.repository.key  # no decision of another repository is shown
    explained = partial(explain, context.store, context.learner, repository=where, pull=job.number)
    explanation = explained(reference) or explained(_last_of_rule(reference, job, context))
    if explanation is None:
        return conversation.unknown_decision(reference)
    made = explanation.decision
    return conversation.explained(made.chosen, made.probability, explanation.reason, explanation.text())


def _last_of_rule(rule: str, job: AnswerCommand, context: JobContext) -> str:
    """The last decision here about a finding of a rule: in a list, findings have no id that readers see."""
    seen = context.store.posts.sightings(job.repository.key, job.number)
    return next((each.decision_id for each in reversed(seen) if each.finding.rule.lower() == rule.lower()), "")


def _last_decision(job: AnswerCommand, context: JobContext) -> str:
    """That of the comment above, or the last one here: of a post, else of a finding in a review's summary, else of a hidden one."""
    above = context.store.posts.find(job.repository.key, PostKind.REVIEW_COMMENT, job.thread)
    posts = [above] if above else context.store.posts.on(job.repository.key, job.number)
    if posts:
        return posts[-1].decision_ids[-1]
    seen = context.store.posts.sightings(job.repository.key, job.number)
    seen.sort(key=lambda each: each.action is not Action.HOLD)
    return seen[-1].decision_id if seen else ""


SECONDS = 180.0
LONGEST_DIFF = 20_000

EXPLAIN = (
    "Explain this to a developer who does not know this part of the code: what is wrong, when it shows, what to do."
)


def _question_text(job: AnswerQuestion, github: GitHub, context: JobContext) -> str:
    """The answer to the question, at the present head of the pull request or of the default branch."""
    model = context.model(context.job_id, job.repository.key)
    if model is None:
        return conversation.NO_MODEL
    if not job.text and not job.explain:
        return conversation.misunderstood("`ask` needs a question after it", "ask …", context.settings.bot_name)
    answered = _answered(job, model, github, context)
    if not answered.text:
        return conversation.could_not("answer", answered.why)
    return conversation.answered(answered.text, answered.cites)


def _answered(job: AnswerQuestion, model: Model, github: GitHub, context: JobContext) -> ModelAnswer:
    from workers.agent.answering import answer
    from workers.agent.checkout import Checkout

    pull = github.pull(job.number) if job.on_pull else None
    sha = pull.head_sha if pull else github.default_branch().sha
    mirror = context.mirror(job.repository, github)
    mirror.fetch(sha, *([pull.base_sha] if pull else []))
    change = mirror.diff(pull.base_sha, sha) if pull else ""
    with TemporaryDirectory(prefix="apprentice-") as scratch:
        return answer(
            model,
            Checkout(mirror.export(sha, Path(scratch) / "tree")),
            job.text or EXPLAIN,
            about=_about(job, change, context),
            deadline=time.monotonic() + SECONDS,
            history=partial(Mirror.log, mirror, sha),
            progress=context.progress,
        )


def _about(job: AnswerQuestion, change: str, context: JobContext) -> tuple[tuple[str, str], ...]:
    """The context of the question: the finding of its review thread, the change, the text of the issue."""
    from workers.llm.prompt_text import rendered_text, truncated, visible_text

    post = context.store.posts.find(job.repository.key, PostKind.REVIEW_COMMENT, job.thread) if job.thread else None
    sightings = context.store.posts.sightings(job.repository.key, job.number) if post else []
    findings = [each.finding for each in sightings if post is not None and each.decision_id in post.decision_ids]
    found = [("finding", f"{each.path}:{each.line} {each.rule}: {each.message}") for each in findings]
    found += [("change", truncated(change, LONGEST_DIFF))] if change else []
    if job.title and not job.on_pull:
        found.append(("issue", f"{visible_text(job.title)}\n\n{truncated(rendered_text(job.body))}"))
    return tuple(found)


BRANCH = "apprentice/learnings"


def _shared(job: ShareLearnings, context: JobContext, github: GitHub) -> str:
    """Collect the learnings, and open or update one pull request."""
    if not context.settings.share_learnings:
        return conversation.SWITCHED_OFF
    learned = harvest(
        context.store,
        job.repository.key,
        conversation.link_to(context.settings.github_url),
        quorum=context.settings.quorum,
    )
    if not learned.lessons:
        return conversation.NOTHING_YET
    base, mirror = github.default_branch(), context.mirror(job.repository, github)
    mirror.fetch(base.sha)
    known = _known(mirror, base, learned.source)
    wanted = merged(known, learned) if known else learned
    if wanted == known:
        return conversation.NOTHING_NEW
    return conversation.proposed(_propose(wanted, base, mirror, context, github), wanted)


def _known(mirror: Mirror, base: BranchHead, source: str) -> Learnings | None:
    """The learnings in the current file. Raises BadInput for an unreadable file, or one from another repository."""
    try:
        known = learnings_at(mirror, base.sha)
    except BadYaml as error:
        raise BadInput(f"{PATH} on {base.name} cannot be read ({error}); correct or remove it") from error
    if known is not None and known.source != source:
        raise BadInput(f"{PATH} holds what {known.source} learned; `apprentice import` it and remove the file")
    return known


def _propose(wanted: Learnings, base: BranchHead, mirror: Mirror, context: JobContext, github: GitHub) -> int:
    """The number of the pull request. Pushing the branch, which replaces our own commit, updates one that is open."""
    number, author = _open_one(github), github.own_account()
    tip, subject = _own_tip(base, mirror, author)
    skip_ci = context.settings.skip_ci and (number is None or SKIP_CI in subject or github.pull(number).draft)
    message = conversation.commit_message(wanted, skip_ci=skip_ci)
    files = {PATH: render(wanted).encode()}
    mirror.push(mirror.commit(base.sha, files, message, context.clock(), author), BRANCH, instead_of=tip)
    key = f"{context.job_id}:learnings"
    body, warning = conversation.pull_body(wanted, key=key), conversation.no_draft(skip_ci=skip_ci)
    opened = partial(github.open_pull, head=BRANCH, base=base.name, title=conversation.TITLE, body=body)
    return context.effects.once(key, make=lambda: number or opened(warning=warning), find=lambda: _open_one(github))


def _own_tip(base: BranchHead, mirror: Mirror, own: Actor) -> tuple[str, str]:
    """The commit of the branch, and its subject; empty without a branch. Raises BadInput where others committed to it."""
    try:
        tip = mirror.tip(BRANCH)
    except Gone:
        return "", ""
    mirror.fetch(tip)
    commits = mirror.commits(base.sha, tip)
    if any({author, committer} != {email_of(own)} for author, committer, _ in commits):
        raise BadInput(f"{BRANCH} has commits that are not mine, and I overwrite none; merge or delete that branch")
    return tip, commits[0][2] if commits else ""


def _open_one(github: GitHub) -> int | None:
    number = github.find_pull(head=BRANCH)
    return number if number is not None and github.pull(number).state == "open" else None


def learnings_at(mirror: Mirror, base: str) -> Learnings | None:
    """The learnings in the repository's own file at a commit of the base branch, None without a file.

    Never pass a commit of a pull request: its author controls the file. Raises BadYaml for a file that cannot be read.
    """
    content = mirror.read(base, PATH)
    if content is None:
        return None
    try:
        return parse(content.decode())
    except UnicodeDecodeError as error:
        raise BadYaml(1, 1, "the file is not UTF-8; export it again") from error


ANSWERS_A_DAY = 20
"""How many new issues of one repository are looked into a day without a command."""


def locate_issue(job: LocateIssue, context: JobContext) -> Sequence[Job]:
    """Look, decide whether to answer with likely places, and answer. A new issue with a test is the repair's.

    A new issue of an outsider is looked into as well: the repository asked for it, and nothing of the issue is run.
    """
    if not job.commanded and issue_test(job.body) is not None:
        return ()
    github = connected(job, context) if job.commanded else context.connect(job.repository)
    if github is None:
        return ()
    if job.commanded:
        acknowledge(job, context, github)
    sha = github.default_branch().sha
    task, mirror = context.pinned(TaskKind.ISSUE, job.repository, github, sha=sha, number=job.number)
    if not job.commanded and not _is_wanted(job, task, mirror, context):
        return ()
    found = locate(mirror.directory, task.sha, f"{job.text}\n{job.title}\n{job.body}")
    if found.places:
        _answer_or_not(job, task, found, github, context)
    elif job.commanded:
        post_comment(job.number, locating.NOTHING, f"{task.id}:answer", context, github)
    return ()


def _is_wanted(job: LocateIssue, task: Task, mirror: Mirror, context: JobContext) -> bool:
    """Whether the repository wants its new issues looked into, and few enough were today."""
    chosen = configuration_at(mirror, task.sha, job.repository, context).chosen
    if not chosen.issues.locate or chosen.silent:
        return False
    among = f"located:{job.repository.id}:"
    begun = context.store.jobs.begin_limited(
        f"{among}{job.number}", context.job_id, context.clock(), among=among, most=ANSWERS_A_DAY
    )
    if not begun:
        context.progress(f"issue {job.number} was not looked into: {ANSWERS_A_DAY} others were within a day")
    return begun


def _answer_or_not(job: LocateIssue, task: Task, found: Located, github: GitHub, context: JobContext) -> None:
    decision = _decision(job, task, found, context)
    context.store.tasks.finish(task.id, decision.chosen, "")
    if decision.chosen != ANSWER:
        return
    root = f"{conversation.web_root(context.settings.github_url)}/{job.repository.full_name}"
    text = locating.answer(found, root=root, decision=decision.id, bot_name=context.settings.bot_name)
    comment = post_comment(job.number, text, f"{task.id}:answer", context, github)
    context.watch(task, PostKind.ISSUE_COMMENT, comment, (decision.id,))


def _decision(job: LocateIssue, task: Task, found: Located, context: JobContext) -> Decision:
    """The choice of an earlier worker on this job, or one that is made now."""
    if made := context.store.ledger.decisions_of_task(task.id):
        return made[0]
    learner, state = context.learner, state_of(task.repository, found.clue)
    arm = learner.arm(f"issue:{task.repository}:{job.number}")
    return (asked_answer if job.commanded else decide_answer)(learner, task.id, state, arm=arm)
