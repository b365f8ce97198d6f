from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.model import Actor
from tests.unit.workers.history.conftest import Branch
from workers.errors import BadInput, Gone, Retryable
from workers.git import Mirror

OURS = Actor(id=900, login="apprentice[bot]", is_bot=True)


@pytest.fixture
def branch(tmp_path: Path) -> Branch:
    """A remote."""
    (tmp_path / "remote").mkdir()
    return Branch(tmp_path / "remote")


@pytest.fixture
def mirror(tmp_path: Path, branch: Branch) -> Mirror:
    """Ours of it."""
    return Mirror(tmp_path / "mirror", str(branch.root))


def test_attributes_neither_convert_nor_hide(branch: Branch, mirror: Mirror, tmp_path: Path) -> None:
    """Whatever a commit's attributes say of encodings and ends of lines, an exported file is what the commit holds."""
    texts = {name: f"import {name}\n# $Id$\n" for name in ("a", "b", "c")}
    base = branch.commit({"README.md": ""})
    branch.commit({f"{name}.py": text for name, text in texts.items()})
    said = "a.py working-tree-encoding=UTF-16\nb.py text eol=crlf ident\nc.py -diff filter=evil\n"
    (tmp_path / "said").write_text(said)
    blob = branch.git("hash-object", "-w", str(tmp_path / "said")).strip()
    branch.git("update-index", "--add", "--cacheinfo", f"100644,{blob},.gitattributes")
    branch.git("commit", "--quiet", "--message", "what `git add` would refuse")
    head = branch.git("rev-parse", "HEAD").strip()
    mirror.fetch(base, head)
    tree = mirror.export(head, tmp_path / "tree")
    assert {name: (tree / f"{name}.py").read_bytes().decode() for name in texts} == texts
    assert "+import c" in mirror.diff(base, head)


def test_what_is_gone_is_told_from_what_cannot_be_reached(branch: Branch, mirror: Mirror, tmp_path: Path) -> None:
    """A commit or branch that the remote does not have is Gone; the tip of one that it has is found."""
    head = branch.commit({"a.py": ""})
    assert mirror.fetch(head) is None
    assert mirror.tip("main") == head
    for missing in ("1" * 40, "refs/heads/none"):
        with pytest.raises(Gone, match=missing):
            mirror.fetch(missing)
    with pytest.raises(Gone, match="none"):
        mirror.tip("none")


def test_the_tip_of_a_branch_is_that_of_no_other(branch: Branch, mirror: Mirror) -> None:
    """Git lists every branch whose name ends as the wanted one does, and the other one first."""
    head, other = branch.commit({"a.py": ""}), branch.commit({"a.py": "1"})
    for name in ("refs/heads/trunk", "\udcff\xa0/refs/heads/trunk", "refs/heads/gone"):
        branch.git("update-ref", f"refs/heads/{name}", other)
    branch.git("update-ref", "refs/heads/trunk", head)
    mirror.fetch(head)
    assert mirror.tip("trunk") == head
    with pytest.raises(Gone, match="gone"):
        mirror.tip("gone")


def test_a_commit_is_one_whatever_its_subject_holds(branch: Branch, mirror: Mirror) -> None:
    """Only a line feed ends a line of git's; other ends of lines are letters of a subject."""
    base = branch.commit({"a.py": ""})
    head = branch.commit({"a.py": "1"}, "a\x0cb\u2028c\x85d")
    mirror.fetch(head)
    ((_, _, subject),) = mirror.commits(base, head)
    assert subject == "a\x0cb\u2028c\x85d"


def test_a_partial_clone_is_named_with_what_completes_it(branch: Branch, tmp_path: Path) -> None:
    """Its objects are not fetched from elsewhere for a review; what the message names makes the clone whole."""
    branch.commit({"a.py": "x = 1\n"})
    head = branch.commit({"a.py": "x = 2\n"})
    branch.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    branch.git("clone", "--quiet", "--filter=blob:none", branch.root.as_uri(), str(clone))
    ours = Mirror(tmp_path / "mirror", str(clone))
    with pytest.raises(BadInput, match="fetch --refetch --no-filter origin"):
        ours.fetch(head)
    branch.git("-C", str(clone), "fetch", "--quiet", "--refetch", "--no-filter", "origin")
    assert ours.fetch(head) is None


def test_a_name_is_a_name_whatever_it_holds(branch: Branch, mirror: Mirror) -> None:
    """A path with a line feed in it is one file in a commit, and takes no other one away."""
    head = branch.commit({"a.py": "x = 1\n"})
    mirror.fetch(head)
    odd = f"b\n0 {'0' * 40}\ta.py"
    made = mirror.commit(head, {odd: b"y\n"}, "odd", datetime(2026, 1, 1, tzinfo=UTC), OURS)
    assert mirror.paths(made) == ["a.py", odd]


def test_a_shallow_clone_is_copied_as_it_is(branch: Branch, tmp_path: Path) -> None:
    """Of somebody's shallow clone we have what it has, down to where it was cut off."""
    shas = [branch.commit({"a.py": f"x = {number}\n"}) for number in range(4)]
    branch.git("clone", "--quiet", "--depth", "2", branch.root.as_uri(), str(tmp_path / "shallow"))
    ours = Mirror(tmp_path / "ours", str(tmp_path / "shallow"))
    ours.fetch(shas[3])
    assert [ours.text(sha, "a.py") for sha in shas[2:]] == ["x = 2\n", "x = 3\n"]
    assert ours.text(shas[3], "b.py") is None


def test_a_commit_of_ours_gets_another_message_and_nobody_elses_does(branch: Branch, mirror: Mirror) -> None:
    """The same files, parents and time; what another account wrote stays, and a branch that moved is left alone."""
    base = branch.commit({"a.py": "x = 1\n"})
    mirror.fetch(base)
    made = mirror.commit(base, {"a.py": b"x = 2\n"}, "Fix it [skip ci]\n\nWhy.", datetime(2026, 1, 1, tzinfo=UTC), OURS)
    mirror.push(made, "apprentice/fix")
    unmarked = mirror.reworded(made, OURS, lambda text: text.replace(" [skip ci]", ""))
    assert mirror.log(unmarked, "a.py", 1)[0].endswith("Fix it")
    assert mirror.between(made, unmarked) == ""
    assert mirror.reworded(made, OURS, str) == made
    assert mirror.reworded(base, OURS, str.upper) == base
    with pytest.raises(Retryable):
        mirror.push(unmarked, "apprentice/fix", instead_of=base)
    mirror.push(unmarked, "apprentice/fix", instead_of=made)
    assert mirror.tip("apprentice/fix") == unmarked


def test_made_by_several_at_once(tmp_path: Path) -> None:
    """Workers whose first jobs in a repository begin together make one mirror."""
    for number in range(5):
        mirror = Mirror(tmp_path / f"{number}.git", str(tmp_path))
        with ThreadPoolExecutor(8) as workers:
            for made in [workers.submit(mirror.fetch) for _ in range(8)]:
                made.result()
        assert (mirror.directory / "HEAD").is_file()


def test_made_in_part(branch: Branch, mirror: Mirror) -> None:
    """A mirror that another worker is about to make, or died over, is made to the end before it is used."""
    mirror.directory.mkdir()
    (mirror.directory / "HEAD").write_text("ref: refs/heads/main\n")
    head = branch.commit({"a.py": ""})
    mirror.fetch(head)
    assert mirror.read(head, "a.py") == b""
