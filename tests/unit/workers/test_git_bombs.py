"""Repositories of a few kilobytes that become gigabytes: each is refused with its reason, before it is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.host_limits import BOMBS, Objects, delta_pack, many_renames
from workers.errors import CannotRun, Retryable
from workers.git import FETCHING, Mirror, remove_least_used
from workers.git_command import GitLimits, TooMuchForGit, limit, run_git

REFUSALS = {
    "tree_bomb": "the tree of {head} has too many files, or too long paths, to be listed",
    "empty_tree_bomb": "the tree of {head} has too many files, or too long paths, to be listed",
    "million_paths": "the tree of {head} has too many files, or too long paths, to be listed",
    "zeros": "the files of {head} are 572 MB, over the 512 MB of a sandbox",
    "shared_text": "the files of {head} are 1,115 MB, over the 512 MB of a sandbox",
}


def fetched(name: str, place: Path) -> tuple[Mirror, str, str]:
    base, head = BOMBS[name](Objects(place / "remote"))
    mirror = Mirror(place / "mirror", str(place / "remote"))
    mirror.fetch(base, head)
    return mirror, base, head


@pytest.mark.parametrize("name", REFUSALS)
def test_a_bomb_is_refused_before_it_is_read(tmp_path: Path, name: str) -> None:
    """Neither its diff nor its files are made; the text says what is too much."""
    mirror, base, head = fetched(name, tmp_path)
    refusal = REFUSALS[name].format(head=head[:7])
    for read in (lambda: mirror.diff(base, head), lambda: mirror.export(head, tmp_path / "tree")):
        with pytest.raises(TooMuchForGit) as caught:
            read()
        assert str(caught.value) == refusal
    assert not (tmp_path / "tree").exists()


@pytest.mark.extended
def test_a_path_of_thousands_of_directories_is_refused(tmp_path: Path) -> None:
    """Git itself fails on it, at the latest when it is listed."""
    with pytest.raises(CannotRun):
        fetched("deep_path", tmp_path)[0].export("main", tmp_path / "tree")


@pytest.mark.extended
def test_a_change_of_much_text_or_many_files_is_refused(tmp_path: Path) -> None:
    """A diff compares so much text of so many files; files that were only moved cost nothing."""
    objects = Objects(tmp_path / "remote")
    mirror = Mirror(tmp_path / "mirror", str(tmp_path / "remote"))
    text = objects.put("blob", b"a = 1\n" * 650_000)
    much = objects.change(objects.files({f"f{number}.py": text for number in range(20)}))
    small = objects.put("blob", b"a = 1\n")
    many = objects.change(objects.files({f"f{number}.py": small for number in range(10_001)}))
    moved = many[1], objects.commit(objects.files({f"g{number}.py": small for number in range(10_000)}), many[1])
    mirror.fetch(*much, *many, *moved)
    with pytest.raises(TooMuchForGit, match=r"compares 74 MB of text, over 64 MB; split it$"):
        mirror.diff(*much)
    with pytest.raises(TooMuchForGit, match=r"is of 10,001 files, over 10,000; split it$"):
        mirror.diff(*many)
    assert mirror.between(moved[0], moved[1], ["f0.py", "g0.py"]).count("rename from") == 1


@pytest.mark.extended
def test_thousands_of_renames_end(tmp_path: Path) -> None:
    """Files that are alike are compared with each other up to git's limit, and then are old and new ones."""
    base, head = many_renames(Objects(tmp_path / "remote"))
    mirror = Mirror(tmp_path / "mirror", str(tmp_path / "remote"))
    mirror.fetch(base, head)
    assert mirror.diff(base, head).count("diff --git") == 8000


@pytest.mark.extended
def test_deltas_that_double_end_at_the_memory_limit(tmp_path: Path) -> None:
    """A pack of a few kilobytes whose objects are gigabytes is refused while it is received."""
    Objects(tmp_path / "mirror")
    with pytest.raises(TooMuchForGit, match="git index-pack stopped: these objects need more than 160 MB of memory"):
        run_git("index-pack", "--stdin", at=tmp_path / "mirror", stdin=delta_pack(12), limits=FETCHING)


def test_every_limit_ends_a_process() -> None:
    """Memory, processor time and the size of a file, also of a process that the first one starts."""
    eater = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', 'x = bytes(1 << 30)']))"
    waiting = f"input(); {eater}"
    for code, limits in (
        (waiting, GitLimits(memory_mb=200)),
        ("input()\nwhile True: pass", GitLimits(cpu_seconds=1)),
        ("input(); open('/dev/stdout', 'wb').write(bytes(2 << 20))", GitLimits(output_mb=1)),
    ):
        with Path(os.devnull).open("wb") as nothing, open(os.memfd_create("output"), "wb") as output:  # noqa: PTH123
            process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=output, stderr=nothing
            )
            limit(process, limits)
            process.communicate(b"\n")
        assert process.returncode != 0


@pytest.mark.parametrize("url", ["ext::sh -c touch% planted", "git://127.0.0.1:1/a", "ssh://127.0.0.1/a"])
def test_only_https_and_local_paths_are_fetched_from(tmp_path: Path, url: str) -> None:
    """No other transport is started, whatever an address says."""
    with pytest.raises(Retryable, match="not allowed"):
        Mirror(tmp_path / "mirror", url).fetch("main")


def test_a_second_fetch_brings_only_what_is_new(tmp_path: Path) -> None:
    """Commits have refs in the mirror, so that git knows what is there."""
    objects = Objects(tmp_path / "remote")
    first = objects.commit(objects.files({f"f{n}.py": objects.put("blob", os.urandom(900)) for n in range(200)}))
    mirror = Mirror(tmp_path / "mirror", str(tmp_path / "remote"))
    mirror.fetch(first)
    second = objects.commit(objects.files({"a.py": objects.put("blob", b"new\n")}), first)
    mirror.fetch(second)
    counted = run_git("count-objects", "-v", at=mirror.directory).decode()
    assert "in-pack: 205\npacks: 2\n" in counted  # 200 files, a tree and a commit; then one of each


def test_what_is_gone_meanwhile_is_passed_over(tmp_path: Path) -> None:
    """git renames its packs, and other workers remove mirrors: a name that leads nowhere is what is left of them."""
    packs = tmp_path / "a.git" / "objects" / "pack"
    packs.mkdir(parents=True)
    for gone in (packs / "tmp_pack_1", tmp_path / "b.git"):
        gone.symlink_to(tmp_path / "nowhere")
    assert remove_least_used(tmp_path, most=0) == 0


def test_the_least_used_mirrors_are_removed(tmp_path: Path) -> None:
    """Beyond the number, the oldest go; one in use stays, and so does what is no mirror."""
    for number in range(4):
        (tmp_path / f"{number}.git" / "info").mkdir(parents=True)
        if number < 3:
            os.utime(tmp_path / f"{number}.git" / "info", (1000 + number, 1000 + number))
    (tmp_path / "notes").mkdir()
    remove_least_used(tmp_path, most=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.git", "3.git", "notes"]
    remove_least_used(tmp_path, most=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3.git", "notes"]
