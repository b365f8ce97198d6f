from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bot.doctor import CheckState, examine
from bot.processes import process_specs
from memory.rewards import WEIGHTS_VERSION
from memory.store import open_store
from tests.databases import migrated_store
from workers.context import check_worker, open_context
from workers.errors import BadInput
from workers.review.detectors.detector import MODEL, SourceTree
from workers.review.engine import readers_of_changes, readers_of_trees
from workers.sandbox.bubblewrap import Bubblewrap
from workers.setting_types import OWN_DETECTORS
from workers.settings import MintSettings, WebSettings, WorkerSettings, child_environment, load

LENS = {"name": "lens", "command": ["sh", "-c", "lens"], "format": "sarif", "files": ["*.js"]}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("not json", "APPRENTICE_REVIEW_TOOLS: not JSON"),
        (
            [LENS | {"format": "xml"}],
            "APPRENTICE_REVIEW_TOOLS at 0.format: input should be 'sarif', 'rdjson' or 'rdjsonl'",
        ),
        (
            [LENS | {"name": "ruff"}],
            "APPRENTICE_REVIEW_TOOLS at 0.name: ruff is the name of a built-in detector",
        ),
        ([LENS | {"name": "Lens!"}], "APPRENTICE_REVIEW_TOOLS at 0.name: string should match"),
        ([LENS | {"command": []}], "APPRENTICE_REVIEW_TOOLS at 0.command"),
        ([LENS | {"command": ["lens", " "]}], "no word may be empty"),
        ([LENS | {"files": []}], "APPRENTICE_REVIEW_TOOLS at 0.files"),
        ([LENS | {"show": ["/no/such/path"]}], "/no/such/path is not an absolute path that exists"),
        ([LENS | {"show": ["/"]}], "/ would open more of this machine than a tool needs; name the tool's directory"),
        ([LENS | {"show": ["/home"]}], "/home would open more of this machine"),
        ([LENS | {"show": ["/run"]}], "/run would open more of this machine"),
        ([LENS | {"show": ["/proc/self"]}], "/proc/self would open more of this machine"),
        ([LENS | {"show": ["/usr/.."]}], "/usr/.. would open more of this machine"),
        ([LENS | {"extra": 1}], "APPRENTICE_REVIEW_TOOLS at 0.extra"),
        ([LENS, LENS], "two tools have the same name"),
    ],
)
def test_a_wrong_review_tool_is_refused_with_its_place(
    written: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the start, in one line."""
    monkeypatch.setenv("APPRENTICE_REVIEW_TOOLS", written if isinstance(written, str) else json.dumps(written))
    with pytest.raises(BadInput) as refused:
        load(WorkerSettings)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_no_tool_is_shown_our_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that holds our home is refused: other people's code runs beside the tool."""
    (tmp_path / "link").symlink_to(tmp_path)
    for shown in (tmp_path, tmp_path / "link"):
        monkeypatch.setenv("APPRENTICE_REVIEW_TOOLS", json.dumps([LENS | {"show": [str(shown)]}]))
        with pytest.raises(BadInput, match="would show our own files"):
            load(WorkerSettings, home=tmp_path / "home")


@pytest.mark.parametrize("name", [" ", "a b", ".*", "[bot]", "x" * 40])
def test_a_name_that_is_none_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blank name would make a command of every line that begins with its mark."""
    monkeypatch.setenv("APPRENTICE_BOT_NAME", name)
    with pytest.raises(BadInput, match="APPRENTICE_BOT_NAME"):
        load(WebSettings)


@pytest.mark.parametrize("url", ["api.github.com", "127.0.0.1:8080", "https://"])
def test_an_address_of_github_that_is_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address without scheme or host is refused before a process uses it."""
    monkeypatch.setenv("APPRENTICE_GITHUB_URL", url)
    with pytest.raises(BadInput, match="APPRENTICE_GITHUB_URL: "):
        load(MintSettings)


@pytest.mark.parametrize("name", ["HOME", "PYTHON", "MINT_SOCKET", "SEED", "BOT_NAME", "REVIEW_TOOLS"])
def test_an_empty_variable_is_as_if_not_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No state goes into the current directory because a file of variables has a line without a value."""
    usual = load(WorkerSettings)
    monkeypatch.setenv(f"APPRENTICE_{name}", "")
    assert load(WorkerSettings) == usual


def test_the_home_in_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """`~/` is the user's home, also where no shell reads the variable."""
    monkeypatch.setenv("APPRENTICE_HOME", "~/state")
    monkeypatch.setenv("APPRENTICE_MINT_SOCKET", "~/mint.sock")
    settings = load(WorkerSettings)
    assert (settings.home, settings.socket()) == (Path.home() / "state", Path.home() / "mint.sock")


def test_a_relative_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that is relative to the working directory has a database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("APPRENTICE_HOME", "state")
    with open_store(load(WorkerSettings).database()) as store:
        assert store.jobs.delivery_count() == 0
    assert (tmp_path / "state" / "apprentice.db").exists()


@pytest.mark.parametrize("name", ["SANDBOX_WALL_SECONDS", "MODEL_USD_PER_RUN", "LEASE_SECONDS"])
@pytest.mark.parametrize("value", ["inf", "nan"])
def test_a_number_without_an_end_is_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would end in a traceback where it is used."""
    monkeypatch.setenv("APPRENTICE_MODEL_PRICE", "1,1,1")
    monkeypatch.setenv(f"APPRENTICE_{name}", value)
    with pytest.raises(BadInput, match=f"APPRENTICE_{name}: input should be a finite number"):
        load(WorkerSettings)


def test_names_in_lower_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read, so they reach only the process that they are for, and a misspelt one is refused."""
    monkeypatch.setenv("apprentice_webhook_secret", "quiet-words")
    assert load(WebSettings).webhook_secret.get_secret_value() == "quiet-words"
    assert "apprentice_webhook_secret" not in child_environment(WorkerSettings)
    assert "apprentice_webhook_secret" in child_environment(WebSettings)
    monkeypatch.setenv("apprentice_webhook_secrets", "quiet-words")
    with pytest.raises(BadInput, match="apprentice_webhook_secrets is not a setting; did you mean APPRENTICE_WEBHOOK"):
        load(WebSettings)


def test_the_doctor_shows_review_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that can be run are named with what they read; one whose program is missing is told."""
    hidden = tmp_path / "tools" / "lens"
    hidden.parent.mkdir()
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o755)
    tools = [
        LENS,
        LENS | {"name": "lost", "command": ["no-such-lens"]},
        LENS | {"name": "hidden", "command": [str(hidden)]},
        LENS | {"name": "shown", "command": [str(hidden)], "show": [str(hidden.parent)]},
    ]
    monkeypatch.setenv("APPRENTICE_REVIEW_TOOLS", json.dumps(tools))
    checks = {
        check.name: check
        for check in examine(load(WorkerSettings, home=tmp_path), load(WebSettings), load(MintSettings, home=tmp_path))
    }
    assert (checks["review tool lens"].state, checks["review tool lens"].detail) == (
        CheckState.OK,
        "sarif of *.js by sh -c lens",
    )
    assert checks["review tool lost"].state is CheckState.MISSING
    assert "no-such-lens is not visible" in checks["review tool lost"].detail
    assert checks["review tool hidden"].state is CheckState.MISSING
    assert checks["review tool shown"].state is CheckState.OK


def test_review_tools_reach_the_worker_as_they_were_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`apprentice up` passes its settings to its processes, which read the same."""
    monkeypatch.setenv("APPRENTICE_REVIEW_TOOLS", json.dumps([LENS | {"show": [str(tmp_path)]}]))
    settings = load(WorkerSettings)
    worker = next(part for part in process_specs(8080, with_app=False) if "worker" in part.name)
    assert worker.environment is not None
    monkeypatch.setenv("APPRENTICE_REVIEW_TOOLS", worker.environment["APPRENTICE_REVIEW_TOOLS"])
    assert load(WorkerSettings).review_tools == settings.review_tools


def test_model_strategies_reach_the_worker_as_they_were_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of plain words reaches the worker of `apprentice up` whole, as the list of review tools does."""
    monkeypatch.setenv("APPRENTICE_MODEL_STRATEGIES", '["embedded", "model:minimal"]')
    worker = next(each for each in process_specs(8080, with_app=False) if each.name == "worker")
    assert json.loads(worker.environment["APPRENTICE_MODEL_STRATEGIES"]) == ["embedded", "model:minimal"]


def test_no_tool_takes_the_name_of_a_detector_of_ours(tmp_path: Path) -> None:
    """The list of names that are refused is that of our detectors."""
    head = SourceTree(sources={}, target_version="py311")
    of_trees = readers_of_trees(Bubblewrap(), tmp_path, ())
    of_changes = readers_of_changes(Bubblewrap(), tmp_path, head)
    assert {each.name for each in of_trees} | {each.name for each in of_changes} | {MODEL} == OWN_DETECTORS


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("minimal", "APPRENTICE_MODEL_STRATEGIES: not JSON"),
        ('["minimal"]', "'minimal' is no strategy; there are embedded, model:minimal"),
        ('[""]', "'' is no strategy"),
        ("[]", "APPRENTICE_MODEL_STRATEGIES: name at least one of embedded, model:minimal"),
    ],
)
def test_strategies_that_are_none(monkeypatch: pytest.MonkeyPatch, written: str, said: str) -> None:
    """What cannot be chosen is refused under the setting's own name, with what can be."""
    monkeypatch.setenv("APPRENTICE_MODEL_STRATEGIES", written)
    with pytest.raises(BadInput, match=re.escape(said)):
        load(WorkerSettings)


def test_a_job_may_take_as_long_as_what_it_runs(tmp_path: Path) -> None:
    """A worker's jobs have more time than the limits of what they run, the sandbox's among them; a local repair has none."""
    settings = load(WorkerSettings, home=tmp_path, job_seconds=600.0)
    with pytest.raises(BadInput) as caught:
        check_worker(settings, print)
    assert str(caught.value) == (
        "APPRENTICE_JOB_SECONDS must be more than APPRENTICE_BUDGET_SECONDS and "
        "APPRENTICE_SANDBOX_WALL_SECONDS and APPRENTICE_MODEL_SECONDS together, 840"
    )


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        ("BASE_URL", "http://localhost:80a/v1", "write it as https://host/v1, or leave it empty"),
        ("BASE_URL", "http://a..b/v1", "write it as https://host/v1"),
        ("BASE_URL", "http://host:99999/v1", "write it as https://host/v1"),
        ("BASE_URL", "host.example/v1", "write it as https://host/v1"),
        ("API_KEY", "cl\u00e9-0123456789", "a key holds letters, digits and signs of ASCII on one line"),
        ("API_KEY", "one-01234\ntwo-01234", "a key holds letters"),
        ("TIMEOUT_SECONDS", "86401", "input should be less than or equal to 86400"),
    ],
)
def test_a_model_that_cannot_be_reached_so(monkeypatch: pytest.MonkeyPatch, name: str, written: str, said: str) -> None:
    """What the HTTP client would refuse at each request is refused at the start, without the key."""
    monkeypatch.setenv("APPRENTICE_MODEL", "toy")
    monkeypatch.setenv(f"APPRENTICE_MODEL_{name}", written)
    with pytest.raises(BadInput, match=re.escape(said)) as refused:
        load(WorkerSettings)
    assert str(refused.value).startswith(f"APPRENTICE_MODEL_{name}: ")
    assert "0123" not in f"{refused.value} {refused.value.__cause__}"


@pytest.mark.parametrize(
    "url", ["", "https://models.example.org/v1", "http://[::1]:8000/v1", "http://m\u00fcller.example"]
)
def test_an_address_of_a_model(url: str) -> None:
    """Names, addresses and ports as the HTTP client knows them."""
    assert load(WorkerSettings, model_base_url=url, model="toy").model_base_url == url


def test_a_key_from_a_file() -> None:
    """The line feed at its end is no part of it."""
    assert load(WorkerSettings, model_api_key="local-0123\n").model_api_key.get_secret_value() == "local-0123"


def test_a_worker_brings_the_table_up_to_date(tmp_path: Path) -> None:
    """What was learned by the weights of another version is derived anew before a job is taken, and by any command."""
    settings = load(WorkerSettings, home=tmp_path)
    for start in (lambda: check_worker(settings, print), lambda: open_context(settings).store.close()):
        with migrated_store(tmp_path / "apprentice.db") as store:
            store.ledger.rebuild(lambda *_: (), lambda *_: (), "former")
            start()
            assert store.ledger.derived_by() == WEIGHTS_VERSION
