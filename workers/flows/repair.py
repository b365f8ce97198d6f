"""Repair what fails, and publish it with its proof."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memory.model import EMBEDDED, Attempt, PostKind, Task, TaskKind
from memory.parsing import functions_in
from memory.store.database import dump, load
from workers.configuration.schema import PATH
from workers.diffs import parse_diff, patched
from workers.environments.provide import Commit
from workers.errors import BadInput, CannotRun, Gone, NoAccess
from workers.flows.configured import configuration_at
from workers.flows.pinning import outdated, taken_over, track_unknown_head
from workers.flows.replies import acknowledge, may_command, post_comment, reply_to_outsider
from workers.git import Mirror
from workers.git_command import TooMuchForGit
from workers.job_context import JobContext
from workers.jobs import Fix, Job, decodable
from workers.messages import conversation, review
from workers.messages import repair as repairs
from workers.messages.configuration import in_answer, wrong
from workers.ports import BranchHead, PullRequest
from workers.repair.episode import repair
from workers.repair.result import Repaired, RepairStatus
from workers.sandbox.checkout_files import is_test_file
from workers.sandbox.test_ids import file_of
from workers.work_tree import MAX_DIFFERING

if TYPE_CHECKING:
    from workers.github.adapter import GitHub

_OPENS = re.compile(r"(`{3,}|~{3,})(?:python|py|python3)")
_TEST_ID = re.compile(r"(?<![\w./-])[\w-][\w./-]{0,200}\.py::\w[\w:]{0,200}(?:\[[^\]\s]{1,200}\])?")
MAX_LENGTH = 20_000


def issue_test(body: str) -> str | None:
    """The first Python block that parses and defines a pytest test; None where there is none."""
    for code in _blocks(body):
        if len(code) <= MAX_LENGTH and any(each.name.startswith("test") for each in functions_in(code)):
            return code
    return None


def _blocks(body: str) -> Iterator[str]:
    """The Python blocks of a text, in one pass over its lines; one that is left open is none."""
    mark, code = "", list[str]()
    for line in body.replace("\r\n", "\n").split("\n"):
        if mark and line.rstrip() == mark:
            yield "".join(code)
            mark = ""
        elif mark:
            code.append(f"{line}\n")
        elif opens := _OPENS.fullmatch(line.rstrip()):
            mark, code = opens[1], []


def named_tests(text: str) -> tuple[str, ...]:
    """The tests that a text names by their ids, as a log of CI or pytest's summary has them."""
    return tuple(dict.fromkeys(_TEST_ID.findall(text)))


def path_of(issue: int, paths: Collection[str]) -> str:
    """A new file for the test of an issue: beside the repository's own tests, the nearest to the root of them."""
    homes = [PurePosixPath(path).parent for path in paths if path.endswith(".py") and is_test_file(path)]
    home = min(homes, key=lambda directory: (len(directory.parts), str(directory)), default=PurePosixPath("tests"))
    names = chain([f"test_issue_{issue}.py"], (f"test_issue_{issue}_{number}.py" for number in count(2)))
    return next(path for name in names if (path := str(home / name)) not in paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRequest:
    """One request for a repair, pinned: who asked where, and which code it speaks of.

    `base` is the commit that a pull request starts from, empty for an issue. `added_tests` serve the proof; only those that
    a person with write access wrote are committed. `wrong` is what is wrong with the configuration.
    """

    job: Fix
    task: Task
    github: GitHub
    mirror: Mirror
    branch: str
    base: str
    forked: bool
    added_tests: dict[str, bytes]
    commits_tests: bool
    wrong: str = ""

    def key(self, effect: str) -> str:
        """The name of one effect of this request."""
        return f"{self.task.id}:{effect}"


def run(job: Fix, context: JobContext) -> Sequence[Job]:
    """Check who asked, repair at the pinned commit, publish the proof or say honestly what was tried.

    Before the permission is checked, an issue is only searched for the mark of a code block.
    """
    if not job.commanded and "```" not in job.body and "~~~" not in job.body:
        return ()
    github = context.connect(job.repository)
    if not may_command(github, job.actor):
        if job.commanded:
            reply_to_outsider(job, context, github)
        return ()
    if not job.commanded and issue_test(job.body) is None:
        return ()
    pull = github.pull(job.number) if job.pull else None
    first_run = context.store.tasks.get(context.job_id) is None
    if first_run and pull and (why := outdated(job, pull, context)):
        post_comment(job.number, review.overtaken("repair", why), f"{context.job_id}:overtaken", context, github)
        return track_unknown_head(job, pull, context)
    if first_run and taken_over(job, context, github):
        return ()
    request = _open(job, pull, context, github)
    request, context = _configured(request, context)
    if context.configuration.silent and not job.commanded:
        return ()
    if (there := _open_proposal(request, context)) is not None:
        post_comment(job.number, repairs.proposed_already(there), request.key("answer"), context, github)
        return ()
    acknowledge(job, context, github)
    stored = context.store.tasks.get(request.task.id)  # of an earlier worker that died before everything was published
    repaired = load(Repaired, stored.summary) if stored and stored.status else _repair(request, context)
    answer = _answer(request, repaired, context) + repairs.set_aside(repaired.set_aside) + repairs.note(repaired.note)
    comment = post_comment(job.number, answer + in_answer(request.wrong), request.key("answer"), context, github)
    if repaired.attempts:
        _watch(request, PostKind.ISSUE_COMMENT, comment, repaired.attempts[-1], context)
    return ()


def _open(job: Fix, pull: PullRequest | None, context: JobContext, github: GitHub) -> RepairRequest:
    """Pin the commit. The first worker on this job decides it; a later one finds what was decided."""
    head = BranchHead(name=pull.head_ref, sha=job.head_sha or pull.head_sha) if pull else github.default_branch()
    task, mirror = context.pinned(TaskKind.REPAIR, job.repository, github, sha=head.sha, number=job.number)
    test, trusted = _test_of(job, github)
    return RepairRequest(
        job=job,
        task=task,
        github=github,
        mirror=mirror,
        branch=head.name,
        base=pull.base_sha if pull else "",
        forked=pull is not None and pull.head_repository_id != job.repository.id,
        added_tests={} if test is None else {path_of(job.number, mirror.paths(task.sha)): test.encode()},
        commits_tests=trusted,
    )


def _configured(request: RepairRequest, context: JobContext) -> tuple[RepairRequest, JobContext]:
    """The request and the context as the configuration on the base branch wants them."""
    base = request.base or request.task.sha
    try:
        request.mirror.fetch(base)
    except Gone:  # force-pushed away
        base = request.github.default_branch().sha
        request.mirror.fetch(base)
    read = configuration_at(request.mirror, base, request.job.repository, context)
    for mistake in read.mistakes:
        context.progress(f"{PATH}, {mistake}")
    return replace(request, wrong=wrong(read.mistakes, read.of_owner)), context.configured(read.chosen)


def _test_of(job: Fix, github: GitHub) -> tuple[str | None, bool]:
    """The test that came with the request, and whether a person with write access wrote it. The author of a command has it."""
    if (test := issue_test(job.comment)) is not None:
        return test, True
    author = job.author
    return issue_test(job.body), author is not None and (author.id == job.actor.id or may_command(github, author))


def _open_proposal(request: RepairRequest, context: JobContext) -> int | None:
    """Our open pull request for the same at the same commit: two people may ask, or one a second time."""
    for each in context.store.tasks.ended(TaskKind.REPAIR, request.task.repository, request.job.number):
        if each.task.id == request.task.id or each.task.sha != request.task.sha:
            continue
        asked, opened = context.store.jobs.job(each.task.id), context.store.jobs.effect(f"{each.task.id}:pull")
        if not (asked and opened and opened.done_at):
            continue
        same = any(isinstance(job, Fix) and _wanted(job) == _wanted(request.job) for job in decodable([asked.payload]))
        if same and request.github.pull(int(opened.reference)).state == "open":
            return int(opened.reference)
    return None


def _wanted(job: Fix) -> tuple[object, ...]:
    return job.body, job.guidance, issue_test(job.comment), named_tests(job.comment)


def _repair(request: RepairRequest, context: JobContext) -> Repaired:
    with TemporaryDirectory(prefix="apprentice-") as scratch:
        tree = request.mirror.export(request.task.sha, Path(scratch) / "tree")
        for path, content in request.added_tests.items():
            _add(tree, path, content)
        named = named_tests(f"{request.job.comment}\n{request.job.body}")
        before = _before(request)
        about = {*request.added_tests, *(file_of(test) for test in named)} or before.keys()
        commit = Commit(request.mirror.directory, request.task.sha)
        try:
            project = context.project(tree, request.task.repository, changed=about, commit=commit)
        except BadInput as error:  # the place of the checkout on this machine stays private
            raise BadInput(str(error).replace(str(tree), "this repository")) from error
        deps = context.for_task(f"repair:{request.task.number}").repair_deps()
        llm = context.llm_options(
            request.task,
            guidance=request.job.guidance,
            history=partial(request.mirror.log, request.task.sha),
            images=request.github.pictures(request.job.number, body=request.job.body) if context.models else (),
        )
        repaired = replace(repair(request.task, project, deps, llm, named, before), note=project.note)
    context.store.tasks.finish(request.task.id, repaired.status, dump(repaired))
    return repaired


def _before(request: RepairRequest) -> dict[str, bytes | None]:
    """What the request is about, as it was before: the Python files that a pull request changes, and the tests that came along."""
    found: dict[str, bytes | None] = dict.fromkeys(request.added_tests)
    if not request.base:
        return found
    try:
        request.mirror.fetch(request.base)
        base = request.mirror.merge_base(request.base, request.task.sha)
        changed = [file.path for file in parse_diff(request.mirror.diff(base, request.task.sha)).files]
        sources = [path for path in changed if path.endswith(".py")]
        return {path: request.mirror.read(base, path) for path in sources if len(sources) <= MAX_DIFFERING} | found
    except (TooMuchForGit, Gone):
        return found


def _add(tree: Path, path: str, content: bytes) -> None:
    """Write a file into an exported tree, never through a link that the repository planted."""
    target = tree / path
    if any(part.is_symlink() for part in (target, *target.parents) if part.is_relative_to(tree)):
        raise CannotRun(f"{path} leads through a symbolic link; the test of this issue has no place in the repository")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _answer(request: RepairRequest, repaired: Repaired, context: JobContext) -> str:
    match repaired.status:
        case RepairStatus.FIXED | RepairStatus.UNDECIDED if request.forked:
            return repairs.fix_for_fork(_proven(repaired))
        case RepairStatus.FIXED | RepairStatus.UNDECIDED if (proof := _proven(repaired).proof) and proof.unusual:
            return repairs.fix_unusual(_proven(repaired))
        case RepairStatus.UNDECIDED if (proof := _proven(repaired).proof) and proof.undecided:
            return repairs.fix_undecided(_proven(repaired))
        case RepairStatus.FIXED | RepairStatus.UNDECIDED:
            return _proposed(request, repaired, context)
        case RepairStatus.NOT_FIXED:
            assert repaired.failure is not None, "what could not be fixed had failed"
            effort = repaired.effort.described() if repaired.effort else ""
            return repairs.fix_not_found(
                repaired.failure, repaired.attempts, seconds=repaired.seconds, effort=effort, late=repaired.late
            )
        case RepairStatus.NOTHING_FAILING:
            bot_name = context.settings.bot_name
            return repairs.nothing_failing(request.task.sha, repaired.tests, bot_name=bot_name)


def _proposed(request: RepairRequest, repaired: Repaired, context: JobContext) -> str:
    """The answer with the pull request; where GitHub refuses that, with the repair itself, so that it is not lost."""
    try:
        return repairs.fix_published(_open_pull(request, repaired, context), _proven(repaired))
    except NoAccess:
        raise
    except CannotRun as refused:
        return repairs.fix_refused(_proven(repaired), str(refused))


def _open_pull(request: RepairRequest, repaired: Repaired, context: JobContext) -> int:
    attempt, failure = _proven(repaired), repaired.failure
    assert failure is not None, "what was fixed had failed"
    texts = patched(attempt.patch, lambda path: request.mirror.text(request.task.sha, path))
    files = {path: text.encode() for path, text in texts.items()}
    files |= request.added_tests if request.commits_tests else {}
    path = next(iter(files))
    asked = repaired.status is RepairStatus.UNDECIDED
    message = repairs.fix_commit(failure, path, request.job.number, skip_ci=context.settings.skip_ci)
    commit = request.mirror.commit(
        request.task.sha, files, message, request.task.created_at, request.github.own_account()
    )
    branch = f"apprentice/fix-{request.job.number}-{request.task.id[:8]}"

    def publish() -> int:
        """Push only where there is no pull request yet: once there is, its branch may hold commits of people."""
        context.progress(f"publishing {branch}")
        request.mirror.push(commit, branch)
        return request.github.open_pull(
            head=branch,
            base=request.branch,
            title=repairs.question_title(failure, path) if asked else repairs.fix_title(failure, path),
            warning=conversation.no_draft(skip_ci=context.settings.skip_ci),
            body=repairs.fix_body(
                failure,
                attempt,
                {path: request.mirror.read(request.task.sha, path) is None for path in files},
                {path: test.decode() for path, test in request.added_tests.items()},
                issue=request.job.number,
                closes=not request.job.pull,
                bot_name=context.settings.bot_name,
                key=request.key("pull"),
            ),
        )

    pull = context.effects.once(request.key("pull"), make=publish, find=lambda: request.github.find_pull(head=branch))
    _watch(request, PostKind.FIX_PULL, pull, attempt, context)
    return pull


def _watch(request: RepairRequest, kind: PostKind, github_id: int, attempt: Attempt, context: JobContext) -> None:
    """Remember what a verdict on a post is about: the choice of the strategy, and that of the engine, if there was one."""
    made = context.store.ledger.decisions_of_task(request.task.id)
    engine = (each.id for each in made if each.chosen == EMBEDDED and not attempt.by_model)
    context.watch(request.task, kind, github_id, (attempt.decision_id, *engine))


def _proven(repaired: Repaired) -> Attempt:
    assert repaired.proven is not None, "a repair is fixed or undecided when an attempt is proven"
    return repaired.proven
