"""Hostile names, messages and patches through each command: nothing that a terminal would act upon comes out."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.databases import migrated_store
from tests.integration.command_line import (
    ROOT,
    SHOP,
    Ran,
    apprentice,
    apprentice_process,
    committed,
    environment,
    written,
)
from tests.made_up import made_up
from tests.unit.bot.cli.test_terminal import HOSTILE, STYLES, acted_upon

NAME = HOSTILE.replace("\x00", "")
"""As a file may be called."""

SPELLED_OUT = re.compile(r"\\(u00|x)1b\]0;owned\\(u00|x)07")


def clean(ran: Ran, *, names: bool = True) -> Ran:
    """The command printed no such character, and spelled out what it was given."""
    assert acted_upon(ran.out + ran.err) == set(), ran
    assert not names or SPELLED_OUT.search(ran.out + ran.err), ran
    return ran


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
def test_what_was_learned(home: Path, tmp_path: Path, json: tuple[str, ...]) -> None:
    """Every command that shows the memory."""
    with migrated_store(home / "apprentice.db") as store:
        name = made_up(store, datetime(2026, 1, 1, tzinfo=UTC), repairs=8, odd=HOSTILE)
        decision = store.ledger.decisions_of_task("t0")[0].id
    clean(apprentice(home, "why", decision, *json))
    clean(apprentice(home, "why", HOSTILE, *json))
    for command in ("stats", "audit", "evaluate", "rebuild", "preferences", "import", "doctor"):
        clean(apprentice(home, command, *json), names=False)
    clean(apprentice(home, "export", "dpo", tmp_path / "out", "--repository", name, *json))
    clean(apprentice(home, "export", "learnings", tmp_path / "out.yml", "--repository", name, *json))
    clean(apprentice(home, "import", tmp_path / NAME, *json))
    clean(apprentice(home, "forget", "--teacher", f"ada{HOSTILE}", *json))
    clean(apprentice(home, "forget", "--repository", name, "--yes", *json))


@pytest.mark.sandbox
@pytest.mark.extended
@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
def test_what_a_repository_holds(home: Path, tmp_path: Path, json: tuple[str, ...]) -> None:
    """Paths, names and messages of a repository under review, in its history, and under repair."""
    root = committed(tmp_path / NAME, {"pyproject.toml": "[tool.pytest.ini_options]\n", f"{NAME}.py": "x = 1\n"})
    committed(root, {f"{NAME}.py": "import os\nx = None == 1\n", f"test_{NAME}.py": failing()})
    assert "F401" in clean(apprentice(home, "review", root, "--base", "HEAD~1", *json)).out
    clean(apprentice(home, "learn", root, *json), names=bool(json))  # a page shortens long names
    clean(apprentice(home, "backtest", root, *json), names=False)
    clean(apprentice(home, "fix", root, "--budget", "5", *json))
    clean(apprentice(home, "review", root, "--base", NAME, *json))


def failing() -> str:
    return f"import pytest\n\n@pytest.mark.parametrize('a', [{HOSTILE!r}])\ndef test_it(a):\n    assert a == '', a\n"


@pytest.mark.extended
def test_on_a_terminal(home: Path, tmp_path: Path) -> None:
    """There, too, the only controls are our own styles: in results, in errors of use, and in the log."""
    project = written(tmp_path / NAME, SHOP)
    for arguments in (["stats", NAME], [NAME], ["fix", str(project / NAME)], ["why", NAME]):
        printed = on_a_terminal(home, *arguments)
        assert acted_upon(STYLES.sub("", printed.replace("\r\n", "\n"))) == set(), printed
        assert SPELLED_OUT.search(re.sub(r"[│\s]", "", printed)), printed


LOGS = """
import sys
import warnings
import structlog
from bot.cli.console import notes, out
from bot.cli.terminal import make_output_visible
from workers.logs import configure
from workers.settings import Settings
make_output_visible(out, notes)
configure(Settings())
structlog.get_logger().warning(sys.argv[1], why=sys.argv[1])
warnings.warn(sys.argv[1])
raise RuntimeError(sys.argv[1])
"""


def test_the_log_on_a_terminal(home: Path) -> None:
    """Log lines, warnings and tracebacks of a process, with what foreign text they quote."""
    printed = on_a_terminal(home, NAME, program=("-c", LOGS))
    assert acted_upon(printed.replace("\r\n", "\n")) == set()
    assert len(SPELLED_OUT.findall(printed)) == 4


def on_a_terminal(home: Path, *arguments: str, program: tuple[str, str] = ("-m", "bot.cli")) -> str:
    """All that a program writes to a terminal that is its standard output and error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *program, *arguments],
        cwd=ROOT,
        env=environment(home, {"TERM": "xterm-256color", "COLUMNS": "400"}),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    printed = b""
    try:
        while piece := os.read(ours, 65536):
            printed += piece
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    process.wait()
    return printed.decode()


def test_no_other_user_reads_our_files(home: Path) -> None:
    """A command makes files for its owner alone, whatever the umask of its caller."""
    before = os.umask(0o000)
    try:
        assert apprentice_process(home, "stats").code == 0
    finally:
        os.umask(before)
    made = [home, *home.rglob("*")]
    assert home / "apprentice.db" in made
    assert {oct(each.stat().st_mode & 0o077) for each in made} == {"0o0"}
