"""Repair and review of a directory on this machine, without GitHub."""

import hashlib
import os
import secrets
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.model import Actor, Finding, Sighting, Task, TaskKind
from memory.policy.review_policy import PostingDecision
from workers.configuration.reading import MAX_BYTES, ConfigurationFile, configuration_of, read_configuration
from workers.configuration.schema import PATH
from workers.context import Context
from workers.diffs import patched, unified
from workers.environments.interpreters import existing_python
from workers.environments.projects import missing_parts
from workers.environments.provide import Commit
from workers.environments.tree_files import TreeFiles
from workers.errors import BadInput
from workers.flows.configured import file_at
from workers.flows.reviewed_change import choose, known_learnings, read_change, reviewer
from workers.git_command import program as git_program
from workers.home import scratch
from workers.messages.configuration import left_out
from workers.repair.episode import repair
from workers.repair.first_run import last_failed
from workers.repair.judging.protected_files import PRIVATE
from workers.repair.result import Repaired
from workers.review.engine import Reviewed
from workers.sandbox.checkout_files import exists
from workers.sandbox.launcher import ENVIRONMENTS
from workers.sandbox.launching import is_environment, prefixes
from workers.work_tree import (
    before_changes,
    before_last_commit,
    is_tracked,
    local_commits,
    main_branch,
    origin,
    top_level,
    uncommitted,
    uncommitted_files,
)

US = Actor(id=0, login="apprentice")
"""The author of the commit, in our copy alone, that holds what is not committed."""

LEFT_OUT = frozenset({".git", ".hg", ".tox", ".nox", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache"})


def repository_name(path: Path) -> str:
    """What a local repository is called in memory: as on its host where it was cloned from one, else by its directory.

    No repository on GitHub is called so, by name or number: the author of a clone's configuration chooses this name.
    """
    url = origin(path).removesuffix(".git").rstrip("/")
    cloned = "://" in url or "@" in url
    return f"local:{'/'.join(url.replace(':', '/').split('/')[-2:]) if cloned else path.resolve().name}"


def mirror_name(root: Path) -> str:
    """What our copy of a repository on this disk is called."""
    return f"local-{hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]}"


@contextmanager
def snapshot(path: Path, *, keys: bool = True) -> Iterator[Path]:
    """A copy of a directory as it is now, without version control, environments and caches.

    Without `keys`, files that hold keys by custom are left out unless git tracks them: a model reads what tests print.
    """
    if not path.is_dir():
        raise BadInput(f"{path} is not a directory; give the root of a Python project")
    with TemporaryDirectory(prefix="apprentice-") as scratch:
        tree = Path(scratch) / "tree"
        left_out = _left_out if keys else _left_out_with_keys
        shutil.copytree(path, tree, symlinks=True, ignore=left_out, ignore_dangling_symlinks=True)
        yield tree


def _left_out(directory: str, names: list[str]) -> set[str]:
    """Caches and environments, and what cannot be copied: sockets, pipes, and what this user may not read."""
    here = Path(directory)
    environments = {name for name in ENVIRONMENTS.intersection(names) if is_environment(here / name)}
    return {name for name in names if name in LEFT_OUT or not _can_be_copied(here / name)} | environments


def _can_be_copied(path: Path) -> bool:
    if path.is_symlink():
        return True
    return os.access(path, os.R_OK | os.X_OK) if path.is_dir() else path.is_file() and os.access(path, os.R_OK)


def _left_out_with_keys(directory: str, names: list[str]) -> set[str]:
    here = Path(directory)
    return _left_out(directory, names) | {n for n in names if PRIVATE.search(n) and not is_tracked(here / n)}


def digest(tree: Path) -> str:
    """The identity of a directory's Python sources, in the place of a commit's."""
    total = hashlib.sha256()
    for source in sorted(p for p in tree.rglob("*.py") if p.is_file() and not p.is_symlink()):
        total.update(source.relative_to(tree).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return total.hexdigest()[:40]


def python_of(path: Path, context: Context, given: Path | None) -> Path | None:
    """The interpreter that was `given` or set, or that of the user's own environment; None without any. Says which.

    Raises BadInput for one that is no interpreter.
    """
    found = existing_python(path, given=given, setting=context.settings.python, progress=context.progress)
    if found is None:
        return None
    prefixes(found.python.absolute())  # a review takes a project that cannot be tested for one without tests
    for line in (f"tests run on {found.python}, {found.why}", *missing_parts(TreeFiles(path))):
        context.progress(line)
    return found.python


def fix(path: Path, context: Context, *, test_command: str | None, apply: bool, python: Path | None = None) -> Repaired:
    """Repair what fails below `path`, which stays untouched unless `apply` is given and a settled proof without anything unusual found."""
    if apply and path.is_dir() and top_level(path) is not None and uncommitted(path):
        raise BadInput(f"{path} has uncommitted changes; commit or stash them before --apply")
    context = _configured(context, _own_file(path))
    with scratch(context.settings.home), snapshot(path, keys=context.models is None) as tree:
        name = repository_name(path)
        began, found, uncommitted_before = time.monotonic(), python_of(path, context, python), before_changes(path)
        project = context.project(
            tree,
            name,
            python=found,
            test_command=test_command,
            changed=_named_files(tree, test_command) or uncommitted_before.keys(),
            copy_of=path,
            commit=Commit(path),
        )
        made = time.monotonic() - began
        task = _task(TaskKind.REPAIR, name, digest(tree), context)
        before = uncommitted_before or before_last_commit(path)
        deps = replace(context.repair_deps(), gives_up=False)  # the time is the user's, and no other job waits for it
        repaired = repair(task, project, deps, context.llm_options(task), before=before)
        repaired = replace(repaired, note=project.note, environment_seconds=made)
        context.store.tasks.finish(task.id, repaired.status, "")
        if apply and repaired.settled and repaired.proven is not None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is written now is written whole, and the command ends
            _apply(repaired.proven.patch, tree, path)
    return repaired


def _own_file(path: Path) -> ConfigurationFile:
    """The configuration file in a directory, which is the user's own; no link is followed, as in a commit."""
    file = path / PATH
    try:
        if not file.is_file() or file.resolve() != path.resolve() / PATH:
            return ConfigurationFile()
        with file.open("rb") as opened:
            return read_configuration(opened.read(MAX_BYTES + 1))
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from error


def _configured(context: Context, file: ConfigurationFile) -> Context:
    """The context as the file wants it; each mistake in it is a line of the progress."""
    for mistake in file.mistakes:
        context.progress(f"{PATH}, {mistake}")
    return context.configured(configuration_of((file,)))


def patch_for_git(repaired: Repaired, path: Path) -> str:
    """The settled patch, empty where there is none, as `git apply` reads it: with the paths from the root of the work tree."""
    if not repaired.settled or repaired.proven is None:
        return ""
    patch, root = repaired.proven.patch, top_level(path)
    below = path.resolve().relative_to(root.resolve()) if root else Path()
    if below == Path():
        return patch
    before: dict[str, str] = {}

    def read(name: str) -> str:
        before[name] = (path / name).read_bytes().decode()
        return before[name]

    after = patched(patch, read)
    return "".join(unified((below / name).as_posix(), before.get(name), text) for name, text in after.items())


def _named_files(tree: Path, test_command: str | None) -> list[str]:
    """The files of the tests that the command names or, without any there, of those that failed last."""
    for named in ((test_command or "").split(), last_failed(tree)):
        if found := [
            file for each in named if exists(tree / (file := each.partition("::")[0])) and (tree / file).is_file()
        ]:
            return found
    return []


def _apply(patch: str, tree: Path, path: Path) -> None:
    """Write the patched files, each at once or not at all; refuse when one changed since the snapshot."""
    texts = patched(patch, lambda name: (tree / name).read_bytes().decode())
    for name in texts:
        target, known = path / name, tree / name
        before = known.read_bytes() if known.exists() else None
        now = target.read_bytes() if target.exists() else None
        if target.resolve() != path.resolve() / name or now != before:
            raise BadInput(f"{target} changed while the repair ran; the patch was not applied, run again")
    for name, text in texts.items():
        try:
            _write(path / name, text)
        except OSError as error:
            raise BadInput(f"cannot write {path / name}: {error.strerror}; the patch was not applied") from error


def _write(target: Path, text: str) -> None:
    """At once, or not at all; through a name that cannot be guessed, because a checkout may have brought a link."""
    for missing in reversed([each for each in target.parents if not each.exists()]):
        missing.mkdir()
        shutil.copymode(missing.parent, missing)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    temporary.write_bytes(text.encode())
    if target.exists():
        shutil.copymode(target, temporary)
    else:  # our umask is meant for our own files
        temporary.chmod(target.parent.stat().st_mode & 0o666)
    os.replace(temporary, target)  # noqa: PTH105  the atomic one, by its usual name


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalReview:
    """A review that is not published; `base` is what the change was compared with."""

    reviewed: Reviewed
    decided: Mapping[str, PostingDecision]
    base: str = ""

    def shown(self) -> list[Finding]:
        """Every finding that a pull request's review would decide on, those on changed lines first."""
        return [*self.reviewed.findings, *self.reviewed.elsewhere]


def review(
    path: Path, context: Context, *, base: str | None, head: str | None, python: Path | None = None
) -> LocalReview:
    """Review the change from `base` to `head` of the git repository at `path`.

    Without `base` it starts where it left the main branch; without `head` it ends at the work tree, committed or not.
    """
    root = top_level(path) if path.is_dir() else None
    if root is None:
        git_program()  # raises CannotRun where it is git that is missing
        raise BadInput(f"{path} is not inside a git repository; give the root of one")
    base = base or main_branch(root)
    base_sha, head_sha = local_commits(root, (base, head or "HEAD"))
    name = repository_name(root)
    mirror = context.local_mirror(root, mirror_name(root))
    mirror.fetch(base_sha, head_sha)
    context = _configured(context, file_at(mirror, base_sha))
    if head is None and (files := _uncommitted(root, context.progress, keys=context.models is None)):
        day, _ = Commit(root, head_sha).day_and_version()  # packages are chosen as of the commit's day
        when = datetime.fromisoformat(f"{day}T00:00:00+00:00")
        head_sha = mirror.commit(head_sha, files, "Uncommitted work", when, US)
    commits = base_sha, head_sha
    context.progress(f"reviewing {'the work tree' if head is None else head} against {base}")
    task = _task(TaskKind.REVIEW, name, head_sha, context)
    model = context.model(task.id, name)
    reviewed = read_change(
        mirror,
        commits,
        mirror.diff(*commits),
        context,
        may_run_tests=True,
        detectors=() if model is None else (reviewer(model, name, context),),
        repository=name,
        repair_task=_new_task(TaskKind.REPAIR, name, head_sha, context),
        python=python_of(root, context, python),
    )
    for line in left_out(reviewed.findings_left_out, reviewed.files_left_out):
        context.progress(line)
    reviewed, learnings = known_learnings(mirror, base_sha, reviewed, context)
    decided = choose(
        reviewed, task, context.learner, context, arm_key=f"{name}@{head_sha}", learnings=learnings, sampled=False
    )
    result = LocalReview(reviewed=reviewed, decided=decided, base=base)
    _remember(result, task, context)
    return result


def _uncommitted(root: Path, progress: Callable[[str], None], *, keys: bool) -> dict[str, bytes | None]:
    """What is not committed; without `keys`, untracked files that hold keys by custom are left out."""
    files = uncommitted_files(root, progress)
    return {name: text for name, text in files.items() if keys or not PRIVATE.search(name) or is_tracked(root / name)}


def _remember(result: LocalReview, task: Task, context: Context) -> None:
    """Keep the findings, so that `apprentice why FINGERPRINT` can explain them."""
    context.store.posts.add_sightings(
        Sighting(
            repository=task.repository,
            number=0,
            sha=task.sha,
            decision_id=result.decided[finding.fingerprint].decision.id,
            finding=finding,
            action=result.decided[finding.fingerprint].action,
            created_at=task.created_at,
        )
        for finding in result.shown()
    )


def _task(kind: TaskKind, repository: str, sha: str, context: Context) -> Task:
    task = _new_task(kind, repository, sha, context)
    context.store.tasks.add(task)
    return task


def _new_task(kind: TaskKind, repository: str, sha: str, context: Context) -> Task:
    return Task(id=uuid.uuid4().hex, kind=kind, repository=repository, sha=sha, number=0, created_at=context.clock())
