"""Repair and review of a directory on this machine, without GitHub."""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.history.lessons import Lessons
from memory.model import Finding, Sighting, Task, TaskKind
from memory.sharing.harvest import from_elsewhere
from memory.sharing.lessons import Learnings
from workers.agent.repair import repair
from workers.agent.reviewing.reviewer import Description
from workers.context import Context
from workers.errors import BadInput
from workers.flows.modelled import reviewer
from workers.own_git import local_commits, origin, top_level, uncommitted
from workers.repair.patched import patched
from workers.repair.repaired import Repaired
from workers.review.decide import Decided, decide
from workers.review.engine import Reviewed, review_change
from workers.review.past import words
from workers.sandbox.project import Project, discover

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".hg", ".venv", "venv", ".tox", ".nox", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache"
)


def repository_name(path: Path) -> str:
    """What a local repository is called in memory: as on its host where it was cloned from one, else by its directory."""
    url = origin(path).removesuffix(".git").rstrip("/")
    if "://" in url or "@" in url:
        return "/".join(url.replace(":", "/").split("/")[-2:])
    return f"local/{path.resolve().name}"


def mirror_name(root: Path) -> str:
    """What our copy of a repository on this disk is called."""
    return f"local-{hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]}"


@contextmanager
def snapshot(path: Path) -> Iterator[Path]:
    """A copy of a directory as it is now, without version control, environments and caches."""
    if not path.is_dir():
        raise BadInput(f"{path} is not a directory; give the root of a Python project")
    with TemporaryDirectory(prefix="apprentice-") as scratch:
        tree = Path(scratch) / "tree"
        shutil.copytree(path, tree, symlinks=True, ignore=LEFT_OUT, ignore_dangling_symlinks=True)
        yield tree


def digest(tree: Path) -> str:
    """The identity of a directory's Python sources, in the place of a commit's."""
    total = hashlib.sha256()
    for source in sorted(p for p in tree.rglob("*.py") if p.is_file() and not p.is_symlink()):
        total.update(source.relative_to(tree).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return total.hexdigest()[:40]


def fix(path: Path, context: Context, *, test_command: str | None, apply: bool) -> Repaired:
    """Repair what fails below `path`, which stays untouched unless `apply` is given and a proof was found."""
    if apply and path.is_dir() and top_level(path) is not None and uncommitted(path):
        raise BadInput(f"{path} has uncommitted changes; commit or stash them before --apply")
    with snapshot(path) as tree:
        project = discover(tree, python=context.settings.python, test_command=test_command, environment_of=path)
        task = _task(TaskKind.REPAIR, repository_name(path), digest(tree), context)
        repaired = repair(task, project, context.toolbox(), context.mind(task))
        context.store.tasks.finish(task.id, repaired.status, "")
        if apply and repaired.proven is not None:
            _apply(repaired.proven.patch, tree, path)
    return repaired


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
        _write(path / name, text)


def _write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.apprentice")
    temporary.write_bytes(text.encode())
    if target.exists():
        shutil.copymode(target, temporary)
    os.replace(temporary, target)  # noqa: PTH105  the atomic one, by its usual name


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalReview:
    """A review that nobody was told of yet."""

    reviewed: Reviewed
    decided: Mapping[str, Decided]

    def shown(self) -> list[Finding]:
        """What was found on changed lines, with a decision each."""
        return [finding for finding in self.reviewed.findings if finding.fingerprint in self.decided]


def review(path: Path, context: Context, *, base: str, head: str) -> LocalReview:
    """Review the change from `base` to `head` of the git repository at `path`."""
    root = top_level(path) if path.is_dir() else None
    if root is None:
        raise BadInput(f"{path} is not inside a git repository; give the root of one")
    base_sha, head_sha = local_commits(root, (base, head))
    name = repository_name(root)
    mirror = context.local_mirror(root, mirror_name(root))
    mirror.fetch(base_sha, head_sha)
    task = _task(TaskKind.REVIEW, name, head_sha, context)
    model = context.model(task.id, name)
    with TemporaryDirectory(prefix="apprentice-") as scratch:
        head_tree = mirror.export(head_sha, Path(scratch) / "head")
        reviewed = review_change(
            context.sandbox,
            base_tree=mirror.export(mirror.merge_base(base_sha, head_sha), Path(scratch) / "base"),
            head_tree=head_tree,
            diff=mirror.diff(base_sha, head_sha),
            project=_project(head_tree, root, context),
            may_run_tests=True,
            progress=context.progress,
            tools=context.settings.review_tools,
            detectors=() if model is None else (reviewer(model, name, Description(), (), context),),
        )
    decided = decide(
        reviewed.findings,
        context.learner,
        task_id=task.id,
        repository=name,
        arm=context.learner.arm(f"{name}@{head_sha}"),
        slots=context.settings.max_comments,
        taste=context.taste(TaskKind.REVIEW, name),
        learnings=from_elsewhere(context.store, context.store.imports.all(Learnings)),
        past=words(reviewed, context.store.past.lessons(name, Lessons)),
    )
    _remember(reviewed, decided, task, context)
    return LocalReview(reviewed=reviewed, decided=decided)


def _remember(reviewed: Reviewed, decided: Mapping[str, Decided], task: Task, context: Context) -> None:
    """Keep what was seen, so that `apprentice why FINGERPRINT` can speak of it."""
    context.store.posts.add_sightings(
        Sighting(
            repository=task.repository,
            number=0,
            sha=task.sha,
            decision_id=decided[finding.fingerprint].decision.id,
            finding=finding,
            action=decided[finding.fingerprint].action,
            created_at=task.created_at,
        )
        for finding in reviewed.findings
    )


def _project(tree: Path, root: Path, context: Context) -> Project | None:
    try:
        return discover(tree, python=context.settings.python, test_command=None, environment_of=root)
    except BadInput:
        return None


def _task(kind: TaskKind, repository: str, sha: str, context: Context) -> Task:
    task = Task(id=uuid.uuid4().hex, kind=kind, repository=repository, sha=sha, number=0, created_at=context.clock())
    context.store.tasks.add(task)
    return task
