"""`apprentice where`: what an issue in words is likely about, on this machine."""

from __future__ import annotations

from pathlib import Path

from inline_snapshot import snapshot
from typer.testing import CliRunner

from bot.cli.main import app
from tests.integration.command_line import SHOP, apprentice, apprentice_process, committed, git

ISSUE = "The discount is not given at exactly 100.00"


def shop(tmp_path: Path) -> Path:
    """A shop whose discount was mended once."""
    root = committed(tmp_path / "shop", SHOP)
    till = SHOP["shop/till.py"].replace("A tenth off", "Ten of a hundred off")
    (root / "shop" / "till.py").write_text(till)
    git(root, "commit", "--quiet", "--all", "--message", "Mend the discount\x1b[2J at the till\n\nFixes #7")
    return root


def test_for_people(tmp_path: Path) -> None:
    """Files with functions and reasons, what was resolved before, and tests; control characters are spelled out."""
    root = shop(tmp_path)
    ran = apprentice(tmp_path, "where", ISSUE, root)
    sha = git(root, "rev-parse", "--short=7", "HEAD")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.replace(sha, "<sha>") == snapshot("""\
likely files at <sha>, by the words of 3 files and 2 earlier changes:
  1. shop/till.py: changed by the fix of #7, which reads alike
     shop/till.py:28-30 Till.change
     shop/till.py:22-26 Till.discount
  2. shop/prices.py: its words are alike
     shop/prices.py:6-8 price_of
resolved before, and read alike:
  <sha> #7 Mend the discount\\u001b[2J at the till (shop/till.py)
tests that import these files, not run: tests/test_till.py
""")


def test_for_scripts(tmp_path: Path) -> None:
    """Every key is documented, and names what the text names."""
    document = apprentice(tmp_path, "where", f"{ISSUE}, see shop/till.py", shop(tmp_path), "--json").document()
    assert document["clue"] == "named"
    assert next((each["path"], each["named"]) for each in document["files"]) == ("shop/till.py", True)
    assert [each["closes"] for each in document["resolved"]] == [[7]]
    assert document["tests"] == ["tests/test_till.py"]


def test_bad_input(tmp_path: Path) -> None:
    """A place without git and an empty text are refused with one line that says what to give."""
    ran = apprentice(tmp_path, "where", ISSUE, tmp_path)
    assert (ran.code, ran.complaint()) == (2, f"{tmp_path} is not inside a git repository; give the root of one")
    ran = apprentice(tmp_path, "where", " ", shop(tmp_path))
    assert (ran.code, ran.complaint()) == (2, "the text is empty; give the issue in words")


def test_text_in_another_encoding(tmp_path: Path) -> None:
    """What is not UTF-8 on standard input is read as far as it can be."""
    ended = CliRunner().invoke(app, ["where", "-", str(shop(tmp_path))], input=ISSUE.encode() + b" caf\xe9")
    assert (ended.exit_code, ended.exception) == (0, None)
    assert "shop/till.py" in ended.stdout


def test_no_commit(tmp_path: Path) -> None:
    """A repository without a commit is refused."""
    git(tmp_path, "init", "--quiet")
    ran = apprentice_process(tmp_path / "home", "where", ISSUE, tmp_path)
    assert ran.code == 2
    assert "HEAD" in ran.complaint()
