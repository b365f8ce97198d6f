"""What differs between a work tree and its last commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.workers.history.conftest import Branch
from workers.environments.provide import Commit
from workers.errors import BadInput
from workers.work_tree import (
    before_changes,
    before_last_commit,
    is_tracked,
    main_branch,
    origin,
    top_level,
    uncommitted,
    uncommitted_files,
)


def test_files_as_they_were_before_uncommitted_changes(tmp_path: Path) -> None:
    """Those below the directory alone, by their paths in it; nothing outside of git, and without a commit."""
    assert before_changes(tmp_path) == {}
    branch = Branch(tmp_path)
    assert before_changes(tmp_path) == {}
    branch.commit({"a.py": "a = 1\n", "sub/b.py": "b = 1\n", "sub/c.py": "c = 1\n", "d.txt": "d\n"})
    assert before_changes(tmp_path) == {}
    for name, text in {"a.py": "a = 2\n", "sub/b.py": "b = 2\n", "sub/new.py": "n = 1\n", "d.txt": "e\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "sub" / "c.py").unlink()
    below = {"b.py": b"b = 1\n", "c.py": b"c = 1\n", "new.py": None}
    assert before_changes(tmp_path / "sub") == below
    assert before_changes(tmp_path) == {"a.py": b"a = 1\n", **{f"sub/{name}": text for name, text in below.items()}}


@pytest.mark.parametrize("named", [False, True])
def test_what_the_user_ignores_everywhere_is_not_the_projects(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By git's own file for that, or one that the user's settings name."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    branch = Branch(project)
    branch.commit({"a.py": "a = 1\n"})
    ignored = home / (".ignored" if named else ".config/git/ignore")
    ignored.parent.mkdir(parents=True)
    ignored.write_text(".idea/\nnotes.txt\n")
    if named:
        (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/.ignored\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("notes.txt", "b.py"):
        (project / name).write_text("b = 1\n")
    assert uncommitted_files(project, print) == {"b.py": b"b = 1\n"}
    branch.git("config", "core.excludesFile", "/dev/null")
    assert uncommitted_files(project, print).keys() == {"b.py", "notes.txt"}, "the repository's own setting counts"


def test_without_git_nothing_is_tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repair needs none of it."""
    Branch(tmp_path).commit({"a.py": "a = 1\n"})
    assert top_level(tmp_path) == tmp_path
    assert is_tracked(tmp_path / "a.py")
    monkeypatch.setenv("PATH", "")
    assert top_level(tmp_path) is None
    assert not is_tracked(tmp_path / "a.py")


def test_files_as_they_were_before_the_last_commit(tmp_path: Path) -> None:
    """Whatever the work tree holds; nothing in a clone without the commit before."""
    branch = Branch(tmp_path)
    branch.commit({"a.py": "a = 1\n", "sub/b.py": "b = 1\n", "sub/c.py": "c = 1\n", "d.txt": "d\n"})
    assert before_last_commit(tmp_path) == {}
    branch.commit({"a.py": "a = 2\n", "sub/b.py": None, "sub/new.py": "n = 1\n", "d.txt": "e\n"})
    (tmp_path / "sub" / "c.py").write_text("c = 2\n")
    assert before_last_commit(tmp_path) == {"a.py": b"a = 1\n", "sub/b.py": b"b = 1\n", "sub/new.py": None}
    assert before_last_commit(tmp_path / "sub") == {"b.py": b"b = 1\n", "new.py": None}
    branch.git("clone", "--quiet", "--depth=1", f"file://{tmp_path}", "shallow")
    assert before_last_commit(tmp_path / "shallow") == {}


def test_what_is_not_committed(tmp_path: Path) -> None:
    """Changed, new and deleted files of every kind; neither what git ignores nor symlinks."""
    branch = Branch(tmp_path)
    branch.commit({"a.py": "a = 1\n", "b.txt": "b\n", "gone.py": "", ".gitignore": "built/\n"})
    assert uncommitted_files(tmp_path, print) == {}
    for name, text in {"a.py": "a = 2\n", "sub/new.py": "", "built/c.py": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "gone.py").unlink()
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "dump.sqlite").write_bytes(b"\0" * (5 << 20))
    told: list[str] = []
    assert uncommitted_files(tmp_path, told.append) == {"a.py": b"a = 2\n", "sub/new.py": b"", "gone.py": None}
    assert told == ["left out: dump.sqlite (5 MB, over 4)"]


def test_work_starts_from_the_main_branch(tmp_path: Path) -> None:
    """That of the remote before our own, by its name; where neither is there, the user is asked."""
    branch = Branch(tmp_path)
    branch.commit({"a.py": ""})
    branch.git("branch", "-M", "master")
    assert main_branch(tmp_path) == "master"
    branch.git("update-ref", "refs/remotes/origin/main", "HEAD")
    branch.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    assert main_branch(tmp_path) == "origin/main"
    branch.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    assert main_branch(tmp_path) == "origin/main"
    branch.git("update-ref", "-d", "refs/remotes/origin/main")
    branch.git("branch", "-m", "work")
    with pytest.raises(BadInput, match="--base"):
        main_branch(tmp_path)


def test_no_program_of_a_repositorys_configuration_runs(tmp_path: Path) -> None:
    """Neither for signatures, nor for filters, differences, hooks or a watcher of files: whoever packed it chose them."""
    tree, witness, program = tmp_path / "tree", tmp_path / "ran", tmp_path / "program"
    tree.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {witness}\n")
    program.chmod(0o755)
    branch = Branch(tree)
    branch.commit({"a.py": "a = 1\n", ".gitattributes": "*.py filter=evil diff=evil\n"})
    head, _, message = branch.git("cat-file", "commit", "HEAD").partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n{message}"
    (tmp_path / "signed").write_text(signed)
    sha = branch.git("hash-object", "-t", "commit", "-w", str(tmp_path / "signed")).strip()
    branch.git("update-ref", "refs/heads/main", sha)
    (tree / "a.py").write_text("a = 2\n")
    for key in (
        "gpg.program",
        "filter.evil.clean",
        "diff.evil.command",
        "diff.evil.textconv",
        "diff.external",
        "core.fsmonitor",
    ):
        branch.git("config", key, str(program))
    branch.git("config", "log.showSignature", "true")
    for trap in (("log", "-1"), ("status",), ("diff",)):
        witness.unlink(missing_ok=True)
        branch.git(*trap)
        assert witness.exists(), "the trap itself must work"
    witness.unlink()
    assert before_changes(tree) == {"a.py": b"a = 1\n"}
    assert Commit(tree).day_and_version()[0] == branch.git("log", "-1", "--no-show-signature", "--format=%cs").strip()
    assert (uncommitted(tree), is_tracked(tree / "a.py"), top_level(tree), origin(tree)) == (True, True, tree, "")
    assert not witness.exists()
