"""`apprentice review` and `fix` read `.github/apprentice.yml`: that of the base, and that in the directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.integration.command_line import SHOP, SOUND, apprentice, committed, written
from workers.configuration.schema import PATH

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

POOR = SOUND["shop/till.py"].replace("if count < 1:", "if count == None or count < 1:")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An Apprentice that knows nothing yet."""
    return tmp_path / "home"


def rules(home: Path, root: Path) -> tuple[set[str], str]:
    """The rules of the findings of the last commit, and what is printed beside them."""
    ran = apprentice(home, "review", root, "--base", "HEAD~1", "--head", "HEAD", "--json")
    assert ran.code == 0, ran.err
    return {finding["rule"] for finding in ran.document()["findings"]}, ran.err


def test_review_reads_the_file_of_the_base(home: Path, tmp_path: Path) -> None:
    """The file that a change brings has no effect on its own review; on the base it has, and what it leaves out is counted."""
    root = committed(tmp_path / "shop", SOUND)
    committed(root, {"shop/till.py": POOR, PATH: "rules: {E711: off}\n"})
    assert rules(home, root)[0] == {"E711"}
    committed(root, {"shop/till.py": SOUND["shop/till.py"]})
    committed(root, {"shop/till.py": POOR})
    found, printed = rules(home, root)
    assert found == set()
    assert f"1 finding left out by {PATH}." in printed.splitlines()


def test_review_prints_each_mistake(home: Path, tmp_path: Path) -> None:
    """A line for each on standard error; the review runs with the rest of the file."""
    root = committed(tmp_path / "shop", {**SOUND, PATH: "rules: {E711: off}\npahts: {}\nminimum-severity: mayor\n"})
    committed(root, {"shop/till.py": POOR})
    found, printed = rules(home, root)
    assert found == set()
    assert [line for line in printed.splitlines() if line.startswith(f"{PATH}, ")] == snapshot(
        [
            ".github/apprentice.yml, line 2, column 1: 'pahts' is no key; did you mean paths?",
            ".github/apprentice.yml, line 3, column 19: minimum-severity: expected one of info, minor, major, critical; did you mean major?",
        ]
    )


@pytest.mark.slow
def test_fix_reads_the_file_in_the_directory(home: Path, tmp_path: Path) -> None:
    """Its test command is used, an excluded file is not edited, and an option wins over it."""
    root = written(tmp_path / "shop", {**SHOP, PATH: "test-command: python -m pytest tests/none.py\n"})
    given = "python -m pytest tests/test_till.py"
    assert apprentice(home, "fix", root, "--test-command", given, "--json").document()["status"] == "fixed"
    assert apprentice(home, "fix", root, "--json").document()["status"] != "fixed"
    written(root, {PATH: f"test-command: {given}\npaths: {{exclude: [shop]}}\nlimits: {{repair-seconds: 20}}\n"})
    assert apprentice(home, "fix", root, "--json").document()["status"] == "not_fixed"
    written(root, {PATH: f"test-command: {given}\npaths: {{include: [shop]}}\n"})
    assert apprentice(home, "fix", root, "--json").document()["status"] == "fixed"


@pytest.mark.parametrize("of_directory", [False, True])
def test_fix_follows_no_link_to_a_file(home: Path, tmp_path: Path, *, of_directory: bool) -> None:
    """A checkout can bring a link of that name, or of its directory: nothing of the file that it leads to is printed."""
    root, private = written(tmp_path / "shop", SOUND), tmp_path / "private" / Path(PATH).name
    private.parent.mkdir()
    private.write_text("precious: 1\n", encoding="utf-8")
    link, target = ((root / PATH).parent, private.parent) if of_directory else (root / PATH, private)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    assert "precious" not in apprentice(home, "fix", root, "--budget", "20").err
