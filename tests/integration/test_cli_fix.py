"""`apprentice fix` and what can be asked about it afterwards, by the real command in the real sandbox."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.command_line import (
    SHOP,
    SOUND,
    TICKETS,
    Ran,
    apprentice,
    apprentice_process,
    committed,
    digest,
    git,
    names,
    written,
)

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

FAILING = "tests/test_till.py::test_discount_from_a_hundred_on"
CHANGE = [
    "--- a/shop/till.py",
    "+++ b/shop/till.py",
    "-        if self.total() > 10000:",
    "+        if self.total() >= 10000:",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An Apprentice that knows nothing yet."""
    return tmp_path / "home"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with one failing test."""
    return written(tmp_path / "shop", SHOP)


def test_the_contract(home: Path, shop: Path) -> None:
    """`fix --json` keeps every key that scripts rely on, PATH stays as it is, and everything can be asked about later."""
    before = digest(shop)
    ran = apprentice_process(home, "fix", shop, "--json", "--seed", "3", "--budget", "600")
    assert ran.code == 0, ran.err
    assert digest(shop) == before, "not even a cache was left in it"
    assert not list(home.rglob("till.py")), "and no copy of it is kept"
    progress_is_told_beside_the_document(ran.err.splitlines())
    document = ran.document()
    assert list(document) == [
        "status",
        "failure",
        "attempts",
        "patch",
        "proof",
        "unproven",
        "question",
        "flaky",
        "set_aside",
        "candidates_tried",
        "test_runs",
        "seconds",
        "proof_seconds",
        "environment_seconds",
        "advice",
        "note",
        "decision_ids",
    ]
    assert (document["status"], document["flaky"]) == ("fixed", [])
    assert changed(document["patch"]) == CHANGE
    assert document["failure"] == {
        "error_type": "AssertionError",
        "family": "assertion",
        "message": document["failure"]["message"],
        "failing_tests": [FAILING],
    }
    assert "assert 0 == 1000" in document["failure"]["message"]
    proof = document["proof"]
    assert (proof["failed_before"], proof["passed_after"]) == ([FAILING], [FAILING])
    assert proof["repeats"] >= 2
    assert proof["suite"] == {
        "passed": 7,
        "failed": 0,
        "skipped": 0,
        "collected": 7,
        "command": "python -m pytest",
    }
    attempts = document["attempts"]
    for attempt in attempts:
        assert set(attempt) == {"strategy", "probability", "candidates", "rivals", "outcome", "reflection"}
        assert 0 < attempt["probability"] <= 1
        assert attempt["reflection"]
    assert [attempt["outcome"] for attempt in attempts[:-1]] == ["nothing_plausible"] * (len(attempts) - 1)
    assert attempts[-1]["outcome"] == "proven"
    assert document["candidates_tried"] == sum(attempt["candidates"] for attempt in attempts)
    assert document["test_runs"] > document["candidates_tried"] > 0
    assert document["seconds"] > 0
    assert len(document["decision_ids"]) == len(attempts)
    the_decision_is_explained(home, document["decision_ids"][-1], attempts[-1]["strategy"])
    of_the_directory = apprentice(home, "why", shop, "--json").document()
    assert of_the_directory["decision_id"] == document["decision_ids"][-1], "the last one"
    the_repair_is_counted(home)
    the_table_is_rebuilt(home)


def progress_is_told_beside_the_document(lines: list[str]) -> None:
    assert lines[0].startswith("tests run on "), "the interpreter is always named"
    assert lines[1:3] == [
        "finding what fails: running the tests that failed last, or all tests",
        f"1 test fails with AssertionError: {FAILING}",
    ]
    assert any(line.startswith("trying strategy ") for line in lines)


def changed(patch: str) -> list[str]:
    return [line for line in patch.splitlines() if line.startswith(("+", "-"))]


def the_decision_is_explained(home: Path, decision: str, strategy: str) -> None:
    explained = apprentice(home, "why", decision, "--json")
    assert (explained.code, explained.err) == (0, "")
    document = explained.document()
    assert (document["decision_id"], document["chosen"], document["kind"]) == (decision, strategy, "repair")
    odds = {option["name"]: option["probability"] for option in document["options"]}
    assert odds[strategy] == document["probability"]
    assert sum(odds.values()) == pytest.approx(1)
    assert document["table"], "what was learned shows at once"
    assert decision in apprentice_process(home, "why", decision).out


def the_repair_is_counted(home: Path) -> None:
    document = apprentice(home, "stats", "--json").document()
    assert {arm["arm"]: (arm["tasks"], arm["fixed"]) for arm in document["arms"]} == {
        "learned": (1, 1),
        "control": (0, 0),
    }
    assert re.search(r"learned +1 +1 \(100%\)", apprentice_process(home, "stats").out)


def the_table_is_rebuilt(home: Path) -> None:
    digests = [apprentice(home, "rebuild").out for _ in range(2)]
    assert re.fullmatch(r"[0-9a-f]{64}\n", digests[0])
    assert digests[0] == digests[1]


@pytest.mark.extended
def test_apply_writes_the_patch_and_nothing_else(home: Path, tmp_path: Path) -> None:
    """--apply changes the one file as the patch says; its mode, everything else and git's index stay, as does what links lead to."""
    project = committed(tmp_path / "shop", SHOP)
    (project / "shop" / "till.py").chmod(0o755)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious\n")
    for name in (".till.py.apprentice", ".till.py.new", ".till.py.tmp", "till.py.orig"):
        (project / "shop" / name).symlink_to(elsewhere)
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "mode")
    here = set(names(project))
    ran = apprentice_process(home, "fix", project, "--apply", "--seed", "3")
    assert ran.code == 0, ran.err
    assert "\napplied:\n" in ran.out
    assert set(names(project)) == here
    assert git(project, "status", "--porcelain") == "M shop/till.py"
    assert (project / "shop" / "till.py").read_text() == SOUND["shop/till.py"]
    assert (project / "shop" / "till.py").stat().st_mode & 0o777 == 0o755
    assert elsewhere.read_text() == "precious\n"


@pytest.mark.extended
def test_what_the_last_commit_broke(home: Path, tmp_path: Path) -> None:
    """In a clean work tree the tests that name what it changed run first, and before others that fail."""
    project = committed(tmp_path / "shop", SOUND | {"tests/test_far.py": "def test_far():\n    assert 0\n"})
    committed(project, {"shop/till.py": SHOP["shop/till.py"]})
    document = apprentice(home, "fix", project, "--json", "--seed", "3", "--budget", "600").document()
    assert (document["failure"]["failing_tests"], document["set_aside"]) == ([FAILING], [])
    assert changed(document["patch"]) == CHANGE


@pytest.mark.extended
def test_what_cannot_be_fixed(home: Path, tmp_path: Path) -> None:
    """A bug that no edit of one place undoes ends with 1, and with what was tried; PATH stays as it is."""
    lost = SOUND | {"shop/till.py": SOUND["shop/till.py"].replace("self.sales.append((name, count))", "count += 1")}
    project = written(tmp_path / "shop", lost)
    before = digest(project)
    ran = apprentice(home, "fix", project, "--json", "--budget", "40")
    document = ran.document()
    assert (ran.code, document["status"], document["patch"], document["proof"]) == (1, "not_fixed", None, None)
    assert len(document["failure"]["failing_tests"]) == 4
    assert "s to find what fails" in document["advice"]
    assert "give more time (--budget 120)" in document["advice"]
    assert document["attempts"]
    assert digest(project) == before


@pytest.mark.extended
def test_bugs_that_fail_alike(home: Path, tmp_path: Path) -> None:
    """Where no edit repairs all tests of a failure, one is repaired alone, and the others are listed."""
    bugs = {
        "shop/names.py": "def greeted(name):\n    return 'Dear ' + name\n",
        "tests/test_names.py": (
            "from shop.names import greeted\n\n\n"
            "def test_greeted():\n    assert greeted(' Ada ') == 'Dear Ada'\n\n\n"
            "def test_greeted_long():\n    assert greeted('Grace Hopper ') == 'Dear Grace Hopper'\n"
        ),
    }
    project = written(tmp_path / "shop", SHOP | bugs)
    document = apprentice(home, "fix", project, "--json", "--seed", "3", "--budget", "40").document()
    proof = document["proof"]
    assert (document["status"], changed(document["patch"])[2:]) == (
        "fixed",
        ["-    return 'Dear ' + name", "+    return 'Dear ' + name.strip()"],
    )
    assert {*proof["failed_before"]} - {*proof["passed_after"]} == {FAILING}


@pytest.mark.extended
def test_a_seed_repeats_a_run(shop: Path, tmp_path: Path) -> None:
    """From the same state, the same seed makes the same choices and finds the same patch; time may end the look for rivals."""
    first, second = (
        apprentice(tmp_path / home, "fix", shop, "--json", "--seed", "5", "--budget", "600").document()
        for home in ("one", "two")
    )
    assert first["status"] == "fixed"
    for attempt in (*first["attempts"], *second["attempts"]):
        del attempt["rivals"]
    assert (first["attempts"], first["patch"]) == (second["attempts"], second["patch"])


@pytest.mark.extended
def test_memory_shortens_the_next_repair(home: Path, shop: Path, tmp_path: Path) -> None:
    """A second bug of the same kind, in another project, is fixed by replaying what fixed the first: with fewer candidates."""
    tickets = written(tmp_path / "tickets", TICKETS)
    first, second = (
        fixed(apprentice_process(home, "fix", project, "--json", "--seed", "3", APPRENTICE_EMBEDDER="minilm"))
        for project in (shop, tickets)
    )
    replay = second["attempts"][0]
    assert replay["strategy"] == "replay"
    assert "+    return age >= 65" in str(second["patch"])
    assert replay["rivals"] > replay["candidates"], "an edit that was alone in being tried has its rivals looked for"
    alone = fixed(apprentice(tmp_path / "elsewhere", "fix", tickets, "--json", "--seed", "3"))
    assert second["candidates_tried"] < min(first["candidates_tried"], alone["candidates_tried"])


def fixed(ran: Ran) -> dict[str, object]:
    assert ran.code == 0, ran.err
    return ran.document()


def test_a_run_of_the_tests_has_the_limits_of_the_settings(home: Path, tmp_path: Path) -> None:
    """What fits into the default memory of a run fails under a small limit."""
    greedy = {"pytest.ini": "[pytest]\n", "test_greedy.py": "def test_greedy():\n    assert len(bytes(600 << 20))\n"}
    root = written(tmp_path / "greedy", greedy)
    assert apprentice(home, "fix", root, "--json").document()["status"] == "nothing_failing"
    limits = {"APPRENTICE_SANDBOX_MEMORY_MB": "256", "APPRENTICE_SANDBOX_WALL_SECONDS": "60"}
    limited = apprentice(home, "fix", root, "--json", "--budget", "30", **limits)
    assert limited.document()["failure"]["error_type"] == "MemoryError"


@pytest.mark.extended
def test_a_file_that_is_not_called_as_tests_are(home: Path, tmp_path: Path) -> None:
    """The test command names it, so it is a test: it is run, and the sources are repaired, not it."""
    files = {"tests_x.py" if "test_till" in name else name: text for name, text in SHOP.items()}
    shop = written(tmp_path / "shop", {name: text for name, text in files.items() if not name.endswith(".toml")})
    ran = apprentice(home, "fix", shop, "--test-command", "python -m pytest tests_x.py", "--json", "--seed", "3")
    assert (ran.code, ran.document()["status"]) == (0, "fixed"), ran.err
    assert changed(ran.document()["patch"]) == CHANGE
