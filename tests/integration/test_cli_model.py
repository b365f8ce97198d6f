"""`apprentice fix` with a model: the real command as a process, the scripted server, the real sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.model_server.script import Script, ScriptedCall, Turn
from bot.model_server.server import ModelServer
from tests.integration.command_line import SHOP, Ran, apprentice, written

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

NEW_TEST = """from shop.till import Till


def test_a_kettle_alone():
    till = Till()
    till.sell("kettle")
    assert till.discount() == 1000
"""


def call(name: str, **arguments: object) -> Turn:
    return Turn(calls=(ScriptedCall(name=name, arguments=arguments),), times=1)


def test_a_repair_of_several_files_is_applied(tmp_path: Path) -> None:
    """What the model edits, makes and adds as a test is proven, shown as one patch, and written by --apply."""
    turns = (
        call("add_test", path="tests/test_kettle.py", text=NEW_TEST),
        call("edit", path="shop/limits.py", old="", new="FROM = 10000\n"),
        call(
            "edit", path="shop/till.py", old="import price_of\n", new="import price_of\nfrom shop.limits import FROM\n"
        ),
        call("edit", path="shop/till.py", old="> 10000", new=">= FROM"),
        call("finish", summary="shop/till.py:24 left out the bound itself."),
    )
    shop = written(tmp_path / "shop", SHOP)
    with ModelServer(Script(turns=turns)) as server:
        ran = fixed(tmp_path / "home", shop, server, "model:test_first", "--apply")
    assert ran.code == 0, ran.err
    assert ran.document()["attempts"][0]["strategy"] == "model:test_first"
    assert (shop / "shop" / "limits.py").read_text() == "FROM = 10000\n"
    assert (shop / "tests" / "test_kettle.py").read_text() == NEW_TEST
    assert ">= FROM" in (shop / "shop" / "till.py").read_text()
    assert sorted(path.name for path in shop.rglob("*.apprentice")) == []


def test_an_endpoint_that_is_not_there(tmp_path: Path) -> None:
    """Nothing is lost but the model: it is said why, and the exit code is that of a repair that was not found."""
    with ModelServer(Script()) as server:
        gone = server.url
    shop = written(tmp_path / "shop", SHOP)
    ran = apprentice(tmp_path / "home", "fix", shop, "--json", **settings(gone, "model:minimal"))
    assert ran.code == 1, ran.err
    assert "cannot be reached" in ran.document()["attempts"][0]["reflection"]


def fixed(home: Path, shop: Path, server: ModelServer, strategy: str, *options: str) -> Ran:
    return apprentice(home, "fix", shop, "--json", *options, **settings(server.url, strategy))


def settings(url: str, strategy: str) -> dict[str, str]:
    """A model at this address, and the one strategy to be chosen."""
    return {
        "APPRENTICE_MODEL_BASE_URL": url,
        "APPRENTICE_MODEL": "scripted",
        "APPRENTICE_MODEL_STRATEGIES": f'["{strategy}"]',
    }
