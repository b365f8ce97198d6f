"""The scripted maintainer, and real git with its permissions."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.playground.client import RequestDenied
from bot.playground.git import PlaygroundGitFailed
from tests.playground import Maintainer, Playground

REPOSITORY = "ada/sums"
SUMS = "def add(a, b):\n    return a - b\n\n\ndef double(x):\n    return x * 3\n\n\ndef half(x):\n    return x // 2\n"


@pytest.fixture
def playground() -> Iterator[Playground]:
    with Playground() as made:
        for login in ("ada", "bob"):
            made.add_user(login, name=login.title())
        made.add_repository(REPOSITORY, {"sums.py": "# empty\n"})
        made.add_repository("ada/secret", {"key.txt": "k\n"}, private=True)
        yield made


@pytest.fixture
def ada(playground: Playground) -> Maintainer:
    return Maintainer(playground, "ada")


@pytest.fixture
def bob(playground: Playground) -> Maintainer:
    return Maintainer(playground, "bob")


def suggestion(code: str) -> str:
    return f"Better:\n\n````suggestion\n{code}````\n"


def test_a_fork_is_pushed_reviewed_and_merged(ada: Maintainer, bob: Maintainer) -> None:
    """An outsider's pull request from a fork goes through review to a real merge commit."""
    fork = bob.fork(REPOSITORY)
    sha = bob.push(fork, "sums", {"sums.py": SUMS}, "Sums")
    number = bob.open_pull(REPOSITORY, head="bob:sums", title="Sums", body="From a fork", draft=True)
    opened = ada.pull(REPOSITORY, number)
    assert (opened.head_repository, opened.head_sha, opened.draft) == ("bob/sums", sha, True)
    ada.review(REPOSITORY, number, "Fine", "APPROVE")
    merged = ada.merge(REPOSITORY, number)
    assert ada.pull(REPOSITORY, number).merged
    assert ada.read(REPOSITORY, "sums.py", merged) == SUMS
    assert ada.read(REPOSITORY, "sums.py", "main") == SUMS


def test_suggestions_become_a_commit_with_a_co_author(playground: Playground, ada: Maintainer, bob: Maintainer) -> None:
    """Applying two suggestions makes one commit, names who suggested, outdates the comments and resolves the threads."""
    ada.push(REPOSITORY, "topic", {"sums.py": SUMS}, "Sums")
    number = ada.open_pull(REPOSITORY, head="topic", title="Sums")
    first = bob.comment_on_line(REPOSITORY, number, "sums.py", 2, suggestion("    total = a + b\n    return total\n"))
    second = bob.comment_on_line(REPOSITORY, number, "sums.py", 6, suggestion("    return x * 2\n"))
    third = bob.comment_on_line(REPOSITORY, number, "sums.py", 10, "Fine")
    sha = ada.apply_suggestions(REPOSITORY, number, first, second)
    wanted = SUMS.replace("return a - b", "total = a + b\n    return total").replace("* 3", "* 2")
    assert ada.read(REPOSITORY, "sums.py", sha) == wanted
    message = playground.world.repository("ada", "sums").git.commit(sha).message
    account = playground.world.user("bob").id
    assert message == (
        f"Apply suggestions from code review\n\nCo-authored-by: bob <{account}+bob@users.noreply.github.com>"
    )
    lines = {said.id: said.line for said in ada.review_comments(REPOSITORY, number)}
    assert lines == {first: None, second: None, third: 11}
    settled = [thread.resolved_by is not None for thread in playground.world.threads()]
    assert settled == [True, True, False]


def test_what_cannot_be_applied_is_refused(ada: Maintainer) -> None:
    """A comment without a suggestion, and an outdated one, cannot be applied."""
    ada.push(REPOSITORY, "topic", {"sums.py": SUMS}, "Sums")
    number = ada.open_pull(REPOSITORY, head="topic", title="Sums")
    plain = ada.comment_on_line(REPOSITORY, number, "sums.py", 2, "Hm")
    late = ada.comment_on_line(REPOSITORY, number, "sums.py", 2, suggestion("    return a + b\n"))
    with pytest.raises(RequestDenied, match="has no suggestion"):
        ada.apply_suggestions(REPOSITORY, number, plain)
    ada.push(REPOSITORY, "topic", {"sums.py": SUMS.replace("a - b", "b + a")}, "Myself")
    with pytest.raises(RequestDenied, match="Outdated suggestions cannot be applied"):
        ada.apply_suggestions(REPOSITORY, number, late)


def test_comments_follow_their_lines(ada: Maintainer) -> None:
    """A push that adds lines above moves a comment; its original line stays as it was."""
    ada.push(REPOSITORY, "topic", {"sums.py": SUMS}, "Sums")
    number = ada.open_pull(REPOSITORY, head="topic", title="Sums")
    ada.comment_on_line(REPOSITORY, number, "sums.py", 6, "Three?")
    ada.push(REPOSITORY, "topic", {"sums.py": '"""Sums."""\n\n' + SUMS}, "Say what it is")
    (said,) = ada.request("GET", f"/repos/{REPOSITORY}/pulls/{number}/comments")
    assert (said["line"], said["original_line"]) == (8, 6)
    assert said["commit_id"] == ada.pull(REPOSITORY, number).head_sha != said["original_commit_id"]


def test_reactions_and_threads_can_be_taken_back(playground: Playground, ada: Maintainer) -> None:
    """A reaction comes and goes, a thread is resolved and opened again, an answer joins its thread."""
    ada.push(REPOSITORY, "topic", {"sums.py": SUMS}, "Sums")
    number = ada.open_pull(REPOSITORY, head="topic", title="Sums")
    comment = ada.comment_on_line(REPOSITORY, number, "sums.py", 2, "Hm")
    reaction = ada.react(REPOSITORY, comment, "-1")
    assert ada.react(REPOSITORY, comment, "-1") == reaction
    ada.unreact(REPOSITORY, comment, reaction)
    assert playground.world.review_comment(playground.world.repository("ada", "sums"), comment).reactions == []
    answer = ada.reply(REPOSITORY, number, comment, "Well")
    (thread,) = playground.world.threads()
    assert [each.id for each in thread.comments] == [comment, answer]
    ada.resolve(REPOSITORY, number, answer)
    assert thread.resolved_by is not None
    ada.unresolve(REPOSITORY, number, comment)
    assert thread.resolved_by is None


def test_closing_reopening_and_deleting_a_branch(ada: Maintainer) -> None:
    """A pull request closes and opens again, and closes by itself when its branch goes."""
    ada.push(REPOSITORY, "topic", {"sums.py": SUMS}, "Sums")
    number = ada.open_pull(REPOSITORY, head="topic", title="Sums")
    ada.close(REPOSITORY, number)
    assert [each.state for each in ada.pulls(REPOSITORY, "all")] == ["closed"]
    ada.reopen(REPOSITORY, number)
    assert [each.state for each in ada.pulls(REPOSITORY)] == ["open"]
    ada.delete_branch(REPOSITORY, "topic")
    assert (ada.pull(REPOSITORY, number).state, ada.pull(REPOSITORY, number).merged) == ("closed", False)


def test_a_conflict_cannot_be_merged(ada: Maintainer) -> None:
    """A pull request that conflicts with its base says so and refuses to be merged."""
    ada.push(REPOSITORY, "topic", {"sums.py": SUMS}, "Sums")
    number = ada.open_pull(REPOSITORY, head="topic", title="Sums")
    ada.push(REPOSITORY, "main", {"sums.py": "# other\n"}, "Other")
    ada.push(REPOSITORY, "topic", {"more.py": "x = 1\n"}, "More")
    shown = ada.request("GET", f"/repos/{REPOSITORY}/pulls/{number}")
    assert (shown["mergeable"], shown["mergeable_state"]) == (False, "dirty")
    with pytest.raises(RequestDenied, match="405 Pull Request is not mergeable"):
        ada.merge(REPOSITORY, number)


def test_a_forced_push_moves_the_head(playground: Playground, ada: Maintainer) -> None:
    """A forced push moves the pull request to a commit that does not descend from the old head."""
    old = ada.push(REPOSITORY, "topic", {"sums.py": SUMS}, "Sums")
    number = ada.open_pull(REPOSITORY, head="topic", title="Sums")
    new = ada.push(REPOSITORY, "topic", {"sums.py": SUMS + "\n"}, "Again", force=True)
    assert ada.pull(REPOSITORY, number).head_sha == new
    assert not playground.world.repository("ada", "sums").git.is_ancestor(old, new)


def clone(playground: Playground, repository: str, token: str, into: Path) -> str:
    """Clone as a worker does; what git complained of."""
    credentials = f"x-access-token:{token}@" if token else ""
    url = playground.url.replace("http://", f"http://{credentials}") + f"/{repository}.git"
    done = subprocess.run(
        ["git", "clone", "--quiet", url, str(into)], capture_output=True, text=True, env={"GIT_TERMINAL_PROMPT": "0"}
    )
    return done.stderr


def test_git_asks_for_the_right_token(playground: Playground, tmp_path: Path) -> None:
    """Public clones need no token, private ones one that reaches; a bogus or narrow token does not."""
    app = playground.add_app("apprentice", owner="ada")
    installation = playground.install(app, REPOSITORY, "ada/secret")
    world = playground.world
    numbers = {name: world.repository("ada", name).id for name in ("sums", "secret")}
    wide = world.issue_installation_token(installation, frozenset(numbers.values()), {"contents": "read"}).value
    narrow = world.issue_installation_token(installation, frozenset([numbers["sums"]]), {"contents": "read"}).value
    blind = world.issue_installation_token(installation, frozenset(numbers.values()), {"issues": "write"}).value
    assert clone(playground, REPOSITORY, "", tmp_path / "1") == ""
    assert clone(playground, "ada/secret", wide, tmp_path / "2") == ""
    assert "could not read Username" in clone(playground, "ada/secret", "", tmp_path / "3")
    assert "Authentication failed" in clone(playground, "ada/secret", "ghs_made_up", tmp_path / "4")
    assert "not found" in clone(playground, "ada/secret", narrow, tmp_path / "5")
    assert "403" in clone(playground, "ada/secret", blind, tmp_path / "6")
    assert "not found" in clone(playground, "ada/secret", playground.token_for("bob"), tmp_path / "7")
    assert "could not read Username" in clone(playground, "ada/nothing", "", tmp_path / "8")


def test_git_pushes_only_with_write_permission(playground: Playground, bob: Maintainer) -> None:
    """A person without the role cannot push; with it they can."""
    with pytest.raises(PlaygroundGitFailed, match="403"):
        bob.push(REPOSITORY, "mine", {"x.py": "x = 1\n"}, "Mine")
    playground.grant(REPOSITORY, "bob", "write")
    sha = bob.push(REPOSITORY, "mine", {"x.py": "x = 1\n"}, "Mine")
    assert playground.world.repository("ada", "sums").git.branch("mine") == sha


def test_nobody_pushes_to_githubs_own_refs(playground: Playground, ada: Maintainer, tmp_path: Path) -> None:
    """refs/pull is hidden from pushes."""
    token = playground.token_for("ada")
    assert clone(playground, REPOSITORY, token, tmp_path / "c") == ""
    done = subprocess.run(
        ["git", "push", "--quiet", "origin", "HEAD:refs/pull/7/head"],
        cwd=tmp_path / "c",
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "deny updating a hidden ref" in done.stderr
