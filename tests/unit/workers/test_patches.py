from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workers.diffs import (
    FileStatus,
    apply_unified,
    changed_lines,
    commentable_lines,
    fence,
    parse_diff,
    replace_lines,
    split_lines,
    unified,
)
from workers.errors import BadInput

Git = Callable[..., str]
TEN = "".join(f"line {n}\n" for n in range(1, 11))


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """A new repository's git, without the machine's configuration."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*arguments: str, stdin: str = "") -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, input=stdin.encode(), capture_output=True, check=True
        )
        return done.stdout.decode("utf-8", "surrogateescape")

    run("init", "-q")
    return run


def commit(git: Git, root: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    git("add", "-A")
    git("commit", "-qm", "x", "--allow-empty")


def test_changed_and_commentable_lines_count_on_the_new_side(git: Git, tmp_path: Path) -> None:
    """Added lines are changed; the context around them can be commented on, the rest of the file cannot."""
    commit(git, tmp_path, {"a.txt": TEN.encode()})
    commit(git, tmp_path, {"a.txt": TEN.replace("line 5\n", "new 5\nnew 6\n").encode()})
    change = parse_diff(git("diff", "HEAD~1"))
    assert changed_lines(change) == {"a.txt": frozenset({5, 6})}
    assert commentable_lines(change.files[0]) == frozenset(range(2, 10))


def test_every_kind_of_change_is_told_apart(git: Git, tmp_path: Path) -> None:
    """Added, deleted, renamed, modified, binary, mode-only, symlink and empty files each read as what they are."""
    commit(
        git,
        tmp_path,
        {"gone.py": b"x\n", "old name.py": TEN.encode(), "b.bin": b"\0\1", "run.sh": b"a\n", "e.py": b""},
    )
    (tmp_path / "gone.py").unlink()
    (tmp_path / "e.py").unlink()
    (tmp_path / "old name.py").rename(tmp_path / "new name.py")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    commit(git, tmp_path, {"new name.py": (TEN + "more\n").encode(), "b.bin": b"\0\2", "born.py": b"y\n"})
    change = parse_diff(git("diff", "-M", "HEAD~1"))
    seen = {file.path: (file.status, file.old_path, file.binary, file.mode) for file in change.files}
    assert seen == {
        "b.bin": (FileStatus.MODIFIED, "b.bin", True, "100644"),
        "born.py": (FileStatus.ADDED, "born.py", False, "100644"),
        "e.py": (FileStatus.DELETED, "e.py", False, "100644"),
        "gone.py": (FileStatus.DELETED, "gone.py", False, "100644"),
        "link.py": (FileStatus.ADDED, "link.py", False, "120000"),
        "new name.py": (FileStatus.RENAMED, "old name.py", False, "100644"),
        "run.sh": (FileStatus.MODIFIED, "run.sh", False, "100755"),
    }
    renamed, link = change.file("new name.py"), change.file("link.py")
    assert renamed is not None
    assert renamed.added_lines == {11}
    assert link is not None
    assert link.symlink


def test_a_rename_without_edits_has_both_paths_and_no_lines(git: Git, tmp_path: Path) -> None:
    """A pure rename changes no line."""
    commit(git, tmp_path, {"a.py": TEN.encode()})
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    commit(git, tmp_path, {})
    (file,) = parse_diff(git("diff", "-M", "HEAD~1")).files
    assert (file.old_path, file.path, file.status) == ("a.py", "b.py", FileStatus.RENAMED)
    assert file.added_lines == frozenset()


def test_a_submodule_is_told_by_its_mode(git: Git, tmp_path: Path) -> None:
    """A gitlink is a submodule, not a text file of one line."""
    commit(git, tmp_path, {"a.py": b"x\n"})
    head = git("rev-parse", "HEAD").strip()
    git("update-index", "--add", "--cacheinfo", f"160000,{head},lib")
    git("commit", "-qm", "submodule")
    (file,) = parse_diff(git("diff", "HEAD~1", "HEAD")).files
    assert (file.path, file.submodule) == ("lib", True)


@pytest.mark.parametrize("name", ["ä ö.py", 'quo"te.py', "tab\there.py", "back\\slash.py", "a b/b c.py", "b/a/b.py"])
def test_any_path_that_git_can_write_is_read_back(git: Git, tmp_path: Path, name: str) -> None:
    """Quoted, spaced and non-ASCII paths survive, for edits, additions and empty files alike."""
    commit(git, tmp_path, {name: b"x\n"})
    commit(git, tmp_path, {name: b"y\n"})
    commit(git, tmp_path, {name + "x": b""})
    assert [file.path for file in parse_diff(git("diff", "HEAD~2", "HEAD~1")).files] == [name]
    assert [file.path for file in parse_diff(git("diff", "HEAD~1")).files] == [name + "x"]


def test_a_path_that_is_not_utf8_comes_back_as_the_file_system_has_it(git: Git, tmp_path: Path) -> None:
    """Bytes that are no UTF-8 become surrogates, so that the file can still be opened."""
    name = os.fsdecode(b"caf\xe9.py")
    commit(git, tmp_path, {name: b"x\n"})
    git("commit", "-qm", "e", "--allow-empty")
    (file,) = parse_diff(git("show", "HEAD~1")).files
    assert (tmp_path / file.path).exists()


def test_content_that_looks_like_a_diff_is_content(git: Git, tmp_path: Path) -> None:
    """Removed and added lines that resemble headers do not begin files."""
    commit(git, tmp_path, {"a.sql": b"-- a\n-- b\nx\n"})
    commit(git, tmp_path, {"a.sql": b"++ b/x\n@@ -1 +1 @@\ndiff --git a/y b/y\nx\n"})
    change = parse_diff(git("diff", "HEAD~1"))
    assert changed_lines(change) == {"a.sql": frozenset({1, 2, 3})}


def test_an_empty_diff_is_an_empty_change() -> None:
    """Nothing changed is a valid answer."""
    assert parse_diff("").files == ()


def test_a_diff_cut_short_is_refused() -> None:
    """A hunk with fewer lines than it promises must not pass for a whole one."""
    whole = unified("a.py", TEN, TEN.replace("line 5", "x"))
    with pytest.raises(BadInput, match="whole diff"):
        parse_diff("\n".join(whole.splitlines()[:-2]))


def test_a_merge_diff_is_refused() -> None:
    """A diff with three sides has no one new side to comment on."""
    with pytest.raises(BadInput, match="more than two"):
        parse_diff("diff --cc a.py\nindex 1,2..3\n")


PIECES = [
    "diff --git a/x b/x",
    "--- a/x",
    "+++ b/x",
    "@@ -1,2 +1,2 @@",
    "+a",
    "-b",
    " c",
    "",
    "rename to y",
    "\\ No",
    "@@",
]


@example("diff --git a/x b/x\n@@ -1,2 +1,2 @@\n--- a/x\n+++ b/x\n+++ b/x\n+++ b/x\n--- a/x")
@given(st.lists(st.sampled_from(PIECES)).map("\n".join) | st.text())
def test_no_text_crashes_the_parser(text: str) -> None:
    """Any text is read as a diff or refused with a clear line, and added lines always lie inside their hunks."""
    try:
        files = parse_diff(text).files
    except BadInput:
        return
    assert all(file.added_lines <= commentable_lines(file) for file in files)


TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "\x0c\n", "\u2028x\n", "-- d\n", "lone\rreturn\n"]))
ENDS = st.sampled_from(["", "end", "end\r"])


@given(TEXTS, ENDS, TEXTS, ENDS)
def test_a_diff_of_two_texts_leads_from_one_to_the_other(
    before: list[str], end: str, after: list[str], last: str
) -> None:
    """unified() and apply_unified() agree for any line ends, with or without a final newline."""
    old, new = "".join(before) + end, "".join(after) + last
    diff = unified("pkg/a b.py", old, new)
    assert (apply_unified(old, diff) if diff else old) == new


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TEN, TEN.replace("line 5", "x")),
        ("a\nb", "a\nc\n"),
        ("a\nb\n", "a\nb"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("", "new\n"),
        (None, "new file\n"),
        (None, ""),
        ("bye", None),
    ],
)
@pytest.mark.parametrize("name", ["a.py", "dir/with space.py", "ä.py"])
def test_git_applies_our_diffs(git: Git, tmp_path: Path, name: str, before: str | None, after: str | None) -> None:
    """Real git takes every diff that we write, and arrives at the same bytes."""
    commit(git, tmp_path, {"other": b"x\n"} | ({} if before is None else {name: before.encode()}))
    git("apply", "-", stdin=unified(name, before, after))
    path = tmp_path / name
    assert (path.read_bytes().decode() if path.exists() else None) == after


def test_git_diffs_apply_to_the_old_text(git: Git, tmp_path: Path) -> None:
    """apply_unified() follows a real git diff, a missing final newline included."""
    commit(git, tmp_path, {"a.py": TEN.encode()})
    new = TEN.replace("line 2\n", "").replace("line 10\n", "line ten")
    commit(git, tmp_path, {"a.py": new.encode()})
    assert apply_unified(TEN, git("diff", "-U1", "HEAD~1")) == new


def test_a_diff_that_does_not_fit_is_refused() -> None:
    """There is no fuzz: a different line under the hunk is an error."""
    diff = unified("a.py", TEN, TEN.replace("line 5", "x"))
    with pytest.raises(BadInput, match=r"does not fit a\.py at line 2"):
        apply_unified(TEN.replace("line 3", "other"), diff)


def test_replaced_lines_keep_the_files_line_ends() -> None:
    """A replacement takes on CRLF, a missing final newline, and deletes when it is empty."""
    assert replace_lines("a\r\nb\r\nc\r\n", 2, 2, "x\ny\n") == "a\r\nx\r\ny\r\nc\r\n"
    assert replace_lines("a\nb", 2, 2, "x\n") == "a\nx"
    assert replace_lines("a\nb\nc\n", 1, 2, "") == "c\n"


@pytest.mark.parametrize(("start", "end"), [(0, 1), (2, 1), (3, 4)])
def test_lines_that_are_not_there_cannot_be_replaced(start: int, end: int) -> None:
    """A wrong range is an error, not a silent change elsewhere."""
    with pytest.raises(BadInput, match="not in a file of 3 lines"):
        replace_lines("a\nb\nc\n", start, end, "x\n")


@given(st.text(alphabet="`ab\n"))
def test_a_fence_is_longer_than_any_run_of_backticks_inside(text: str) -> None:
    """Content can never close its own fence."""
    mark = fence(text)
    assert len(mark) >= 3
    assert mark not in text


@given(st.text(alphabet="a\r\n\x0b\x0c\x85\u2028"))
def test_lines_join_to_the_text_they_came_from(text: str) -> None:
    """Only line feeds end lines, and nothing is lost."""
    lines = split_lines(text)
    assert "".join(lines) == text
    assert len(lines) == text.count("\n") + (not text.endswith("\n") and text != "")


def test_a_file_of_another_type_is_told_once_as_added(git: Git, tmp_path: Path) -> None:
    """A file that becomes a link, or the other way round, has one entry: what it is now."""
    (tmp_path / "file").write_text("x\n")
    (tmp_path / "link").symlink_to("file")
    git("add", "-A")
    git("commit", "-qm", "before")
    (tmp_path / "file").unlink()
    (tmp_path / "file").symlink_to("link")
    (tmp_path / "link").unlink()
    (tmp_path / "link").write_text("y\n")
    git("add", "-A")
    git("commit", "-qm", "after")
    files = parse_diff(git("diff", "HEAD~1", "HEAD")).files
    assert [(file.path, file.status, file.symlink) for file in files] == [
        ("file", FileStatus.ADDED, True),
        ("link", FileStatus.ADDED, False),
    ]


def test_what_was_only_moved_or_made_executable_is_not_edited(git: Git, tmp_path: Path) -> None:
    """A rename without edits and another mode leave the content alone; an empty new file is new all the same."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(TEN)
    git("add", "-A")
    git("commit", "-qm", "before")
    (tmp_path / "a").rename(tmp_path / "moved")
    (tmp_path / "b").chmod(0o755)
    (tmp_path / "new").write_text("")
    git("add", "-A")
    git("commit", "-qm", "after")
    files = parse_diff(git("diff", "-M", "HEAD~1", "HEAD")).files
    assert {file.path: file.edited for file in files} == {"moved": False, "b": False, "new": True}
