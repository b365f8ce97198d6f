"""The bare repositories behind the playground."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.playground.git import BareRepository, GitIdentity, PlaygroundGitFailed

ADA = GitIdentity(name="Ada", email="ada@example.org")


@pytest.fixture
def bare(tmp_path: Path) -> BareRepository:
    return BareRepository.create(tmp_path / "sums.git", "main")


def commit(bare: BareRepository, parent: str | None, files: dict[str, bytes | None], message: str = "Change") -> str:
    return bare.edit(parent, files, message, ADA, ADA)


def test_a_commit_can_be_read_back(bare: BareRepository) -> None:
    """What was written is what is read: message, people, parents, files."""
    first = commit(bare, None, {"a.txt": b"one\n", "deep/b.txt": b"two\n"}, "First\n\nWith a body")
    second = commit(bare, first, {"a.txt": None, "deep/b.txt": b"2\n"})
    info = bare.commit(first)
    assert (info.message, info.author, info.parents) == ("First\n\nWith a body", ADA, ())
    assert bare.commit(second).parents == (first,)
    assert bare.read(second, "deep/b.txt") == b"2\n"
    assert bare.read(second, "a.txt") is None
    assert bare.text("ls-tree", "--name-only", first).splitlines() == ["a.txt", "deep"]


def test_changes_tell_each_file_apart(bare: BareRepository) -> None:
    """Added, modified, removed, renamed and binary files each have their sizes; a patch is that of one text file."""
    text = b"".join(b"line %d\n" % number for number in range(20))
    old = commit(bare, None, {"gone.txt": b"x\n", "kept.txt": b"a\nb\n", "old name.txt": text})
    new = commit(
        bare,
        old,
        {"gone.txt": None, "kept.txt": b"a\nB\nc\n", "old name.txt": None, "new.txt": text, "x.bin": b"\0\1\2"},
    )
    assert sorted(bare.file_sizes(old, new)) == [(0, 0), (0, 0), (0, 1), (2, 1)]
    assert bare.patch(old, new, "kept.txt") == "@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c"
    assert bare.patch(old, new, "naïve.txt") is None
    assert bare.patch(old, new, "gone.txt") == "@@ -1 +0,0 @@\n-x"
    assert [bare.patch(old, new, path) for path in ("x.bin", "new.txt")] == [None, None]


def test_a_patch_is_found_by_its_new_name(bare: BareRepository) -> None:
    """A renamed file's hunks are those against the old file; a name may need quoting."""
    text = b"".join(b"line %d\n" % number for number in range(20))
    old = commit(bare, None, {"old.txt": text})
    name = 'a "naïve"\nname.txt'
    new = commit(bare, old, {"old.txt": None, name: text.replace(b"line 1\n", b"line one\n")})
    assert (bare.patch(old, new, name) or "").startswith("@@ -1,5 +1,5 @@\n line 0\n-line 1\n+line one\n")


def test_a_clean_merge_has_a_tree_and_a_conflict_none(bare: BareRepository) -> None:
    """Changes to different files merge; changes to one line do not."""
    base = commit(bare, None, {"a.txt": b"1\n", "b.txt": b"1\n"})
    left, right = commit(bare, base, {"a.txt": b"2\n"}), commit(bare, base, {"b.txt": b"2\n"})
    clash = commit(bare, base, {"a.txt": b"3\n"})
    tree = bare.merged_tree(left, right)
    assert tree is not None
    assert bare.text("ls-tree", "--name-only", tree).splitlines() == ["a.txt", "b.txt"]
    assert bare.merged_tree(left, clash) is None


def test_a_ref_moves_only_from_where_it_was(bare: BareRepository) -> None:
    """Setting a ref with an expectation that does not hold fails."""
    first = commit(bare, None, {"a.txt": b"1\n"})
    second = commit(bare, first, {"a.txt": b"2\n"})
    bare.set_ref("refs/heads/main", first)
    with pytest.raises(PlaygroundGitFailed, match="refs/heads/main"):
        bare.set_ref("refs/heads/main", second, second)
    assert bare.branch("main") == first


def test_an_option_is_not_a_revision(bare: BareRepository) -> None:
    """A name that begins with a dash never reaches git as an option."""
    assert bare.resolve("--all") is None
    assert bare.resolve("no-such-branch") is None
