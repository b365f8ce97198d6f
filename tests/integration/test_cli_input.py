"""Bad input: one clear line on standard error, exit code 2, and nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.local import repository_name
from memory.model import Plan, PlanOutcome
from memory.store import open_store
from tests.integration.command_line import (
    ROOT,
    SHOP,
    SOUND,
    apprentice,
    apprentice_process,
    committed,
    environment,
    untimed,
    written,
)
from workers.environments.plan_memory import PlanMemory

pytestmark = pytest.mark.extended


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An Apprentice that knows nothing yet."""
    return tmp_path / "home"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with a failing test."""
    return written(tmp_path / "shop", SHOP)


def test_not_a_directory(home: Path, tmp_path: Path) -> None:
    """A file, or nothing at all, is no project."""
    (tmp_path / "file.py").write_text("")
    for path in (tmp_path / "file.py", tmp_path / "absent"):
        ran = apprentice(home, "fix", path)
        assert (ran.code, ran.complaint()) == (2, f"{path} is not a directory; give the root of a Python project")


def test_no_tests(home: Path, tmp_path: Path) -> None:
    """A directory without tests is named as the user gave it."""
    project = written(tmp_path / "bare", {"module.py": "x = 1\n"})
    ran = apprentice(home, "fix", project)
    assert ran.code == 2
    assert ran.complaint().startswith(f"no tests in {project}: ")


@pytest.mark.sandbox
def test_tests_that_cannot_be_collected(home: Path, tmp_path: Path) -> None:
    """A suite of which nothing can be collected cannot be run, and JSON says so too."""
    project = written(tmp_path / "broken", {"test_a.py": "import absent_library\n\n\ndef test_a():\n    pass\n"})
    ran = apprentice(home, "fix", project, "--json")
    assert ran.code == 2
    complaint = "one file cannot be collected: test_a.py: ModuleNotFoundError: No module named 'absent_library'"
    assert ran.err.splitlines()[-1] == f"apprentice: {complaint}"
    document = ran.document()
    assert (document["status"], document["error"]) == ("cannot_run", complaint)
    assert (document["failure"], document["attempts"], document["patch"], document["proof"]) == (None, [], None, None)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("nosuchprogram --fast", "the test command's program 'nosuchprogram' does not exist"),
        ("./run-tests.sh", "the test command's program './run-tests.sh' does not exist"),
        ("python -m pytest 'tests", 'the test command "python -m pytest \'tests" cannot be split into words'),
        ("", "the test command is empty"),
    ],
)
def test_test_commands_that_cannot_be(home: Path, shop: Path, command: str, said: str) -> None:
    """A test command that does not exist or cannot be read is refused before anything runs."""
    ran = apprentice(home, "fix", shop, "--test-command", command, "--json")
    assert ran.code == 2
    assert ran.complaint().startswith(said)
    assert ran.document()["status"] == "cannot_run"


def test_a_dirty_tree_is_not_written_to(home: Path, tmp_path: Path) -> None:
    """--apply refuses where changes are not committed, so that none can be lost."""
    project = committed(tmp_path / "shop", SHOP)
    (project / "shop" / "till.py").write_text(SHOP["shop/till.py"] + "\n# mine\n")
    ran = apprentice(home, "fix", project, "--apply")
    assert (ran.code, ran.complaint()) == (
        2,
        f"{project} has uncommitted changes; commit or stash them before --apply",
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "APPRENTICE_BUDGET_SECOND",
            "5",
            "APPRENTICE_BUDGET_SECOND is not a setting; did you mean APPRENTICE_BUDGET_SECONDS?",
        ),
        ("APPRENTICE_BUDGET_SECONDS", "soon", "APPRENTICE_BUDGET_SECONDS: input should be a valid number"),
        ("APPRENTICE_MAX_COMMENTS", "400", "APPRENTICE_MAX_COMMENTS: input should be less than or equal to 40"),
        ("APPRENTICE_LOG_FORMAT", "xml", "APPRENTICE_LOG_FORMAT: string should match pattern"),
        ("APPRENTICE_DATABASE_URL", "somewhere", "the database URL cannot be read; use sqlite:////"),
        ("APPRENTICE_DATABASE_URL", "mysql://host/name", "databases of kind mysql are not supported; use sqlite:////"),
        ("APPRENTICE_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/name", "the database does not answer: "),
        (
            "APPRENTICE_HOME",
            "/proc/nowhere",
            "/proc/nowhere cannot be used: No such file or directory; set APPRENTICE_HOME",
        ),
    ],
)
def test_settings_that_cannot_be(home: Path, name: str, value: str, said: str) -> None:
    """A misspelt variable gets a did-you-mean, a bad value its name and what it should be."""
    ran = apprentice(home, "stats", **{name: value})
    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint().startswith(said)


def test_review_outside_of_git(home: Path, shop: Path) -> None:
    """There is no change to review where there is no repository."""
    ran = apprentice(home, "review", shop, "--base", "HEAD")
    assert (ran.code, ran.complaint()) == (2, f"{shop} is not inside a git repository; give the root of one")


def test_review_of_unknown_commits(home: Path, tmp_path: Path) -> None:
    """A base or head that names no commit is quoted."""
    project = committed(tmp_path / "shop", SHOP)
    for arguments in (("--base", "nowhere"), ("--base", "HEAD", "--head", "nowhere"), ("--base", "--upload-pack=x")):
        ran = apprentice(home, "review", project, *arguments)
        assert ran.code == 2
        assert ran.complaint() == f"{arguments[-1]!r} names no commit in {project}; see `git branch --all`"


def test_why_of_something_unknown(home: Path) -> None:
    """An id that was never given out is quoted, with where to find others."""
    ran = apprentice(home, "why", "0123456789abcdef")
    assert ran.code == 2
    assert (
        ran.complaint()
        == "no decision, finding or environment of '0123456789abcdef'; `apprentice fix` and `review` print ids"
    )


def test_serve_without_a_secret(home: Path) -> None:
    """Without a webhook secret nothing is listened for."""
    ran = apprentice_process(home, "serve")
    assert ran.code == 2
    assert "set APPRENTICE_WEBHOOK_SECRET" in ran.complaint()


def test_no_sandbox(home: Path, shop: Path, tmp_path: Path) -> None:
    """Without bubblewrap no code is run, and both `fix` and `doctor` say what is missing and how to get it."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "sh", "env", "true"):
        (programs / name).symlink_to(str(shutil.which(name)))
    ran = apprentice(home, "fix", shop, "--json", PATH=str(programs))
    assert (ran.code, ran.document()["status"]) == (2, "cannot_run")
    assert ran.complaint().startswith("no sandbox: bubblewrap is not installed: install it (`apt install bubblewrap`")
    examined = apprentice(home, "doctor", "--json", PATH=str(programs))
    missing = [check["name"] for check in examined.document()["checks"] if check["state"] == "missing"]
    assert (examined.code, missing) == (2, ["sandbox"])


@pytest.mark.sandbox
def test_doctor_on_a_machine_that_has_everything(home: Path) -> None:
    """Every part is tried and named; what only GitHub needs is optional; a program finds the same in JSON."""
    ran = apprentice(home, "doctor", "--json")
    assert (ran.code, ran.err) == (0, "")
    checks = {check["name"]: (check["state"], check["detail"]) for check in ran.document()["checks"]}
    state, detail = checks["control groups"]
    assert state == "ok" or (state == "optional" and "Delegate=yes" in detail)
    assert {name: state for name, (state, _) in checks.items() if name != "control groups"} == {
        "python": "ok",
        "git": "ok",
        "sandbox": "ok",
        "Pythons": "ok",
        "packages": "optional",
        "home": "ok",
        "disk": "ok",
        "database": "ok",
        "types": "ok",
        "embeddings": "ok",
        "model": "ok",
        "GitHub App": "optional",
        "webhook secret": "optional",
        "queue": "ok",
    }
    lines = apprentice_process(home, "doctor").out.splitlines()
    assert [line.split()[0] for line in lines] == [state for state, _ in checks.values()]


def test_no_git(home: Path, tmp_path: Path) -> None:
    """Without git a review says so, rather than that there is no repository."""
    project = committed(tmp_path / "shop", SHOP)
    ran = apprentice(home, "review", project, "--base", "HEAD", PATH=str(tmp_path))
    assert (ran.code, ran.complaint()) == (2, "git is not installed; install it with your package manager")


@pytest.mark.parametrize(
    "arguments", [("frobnicate",), ("fix",), ("fix", ".", "--frob"), ("fix", ".", "--budget", "0")]
)
def test_unknown_commands_and_options(home: Path, arguments: tuple[str, ...]) -> None:
    """A command line that makes no sense is a usage error."""
    ran = apprentice(home, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage:" in ran.err


@pytest.mark.sandbox
def test_why_an_environment(home: Path, shop: Path) -> None:
    """Of a directory `why` shows the plans that were tried, and what came of them; without any it says so."""
    ran = apprentice(home, "why", shop)
    assert (ran.code, ran.complaint()) == (
        2,
        f"no decision, finding or environment of {str(shop)!r}; `apprentice fix` and `review` print ids",
    )
    plan = Plan(source="tox", mends=("added PyYAML: no module yaml",))
    outcome = PlanOutcome(read=plan, plan=plan, built=True, python="3.11.7", passed=3, at=datetime.now(UTC))
    with open_store(f"sqlite:///{home / 'apprentice.db'}") as store:
        PlanMemory(store, repository_name(shop)).record(outcome)
    lines = apprentice(home, "why", shop).out.splitlines()
    assert lines[1:] == [
        "  tox: Python 3.11.7, 3 tests passed, 0 failed, 0 files not collected, in 0 s",
        "    added PyYAML: no module yaml",
    ]
    (shown,) = json.loads(apprentice(home, "why", shop, "--json").out)["environments"]
    assert (shown["source"], shown["worth"]) == ("tox", 1.0)


def test_nothing_failing_is_no_error(home: Path, tmp_path: Path) -> None:
    """A green suite ends with 0, and says that nothing fails."""
    project = written(tmp_path / "shop", SOUND)
    ran = apprentice(home, "fix", project, "--json")
    assert (ran.code, ran.document()["status"]) == (0, "nothing_failing")
    assert [line.split()[:3] for line in ran.err.splitlines()][:1] == [["tests", "run", "on"]]
    assert untimed(apprentice_process(home, "fix", project).out) == "nothing fails: 7 tests; # s\n"


@pytest.mark.parametrize(
    ("command", "unwanted"),
    [
        ("--help", {"torch", "sentence_transformers", "libcst", "alembic", "celery", "fastapi", "github"}),
        ("serve", {"torch", "sentence_transformers", "libcst", "alembic", "github"}),
        ("stats", {"torch", "sentence_transformers", "celery", "fastapi"}),
    ],
)
def test_the_command_starts_light(home: Path, command: str, unwanted: set[str]) -> None:
    """Nothing heavy is imported to print help or to receive webhooks, and no language model to count."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "bot.cli", command],
        cwd=ROOT,
        env=environment(home, {}),
        capture_output=True,
        text=True,
        check=False,
    )
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines() if "|" in line}
    assert "typer" in imported
    assert not unwanted & imported
