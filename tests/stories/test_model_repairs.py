"""Repairs with a model, as people see them: the scripted server answers over real HTTP, everything else is real."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.model_server.script import Answer, Call, Failure, Has, Script, Turn, When
from bot.model_server.server import ModelServer
from tests.stories import town as founding
from tests.stories.town import Town

pytestmark = pytest.mark.sandbox

ISSUE = "What is there cannot be taken"
TEST = """```python
from pantry.shelf import Shelf


def test_the_last_of_it_can_be_taken():
    shelf = Shelf()
    shelf.add("flour", "500 g")
    shelf.take("flour", "500 g")
    assert shelf.amount("flour") == 0
```"""

WRONG, RIGHT = "if wanted >= self.amount(name):", "if wanted > self.amount(name):"
SHELF = "pantry/shelf.py"


def call(name: str, **arguments: object) -> Turn:
    """A turn that calls one tool, once."""
    return Turn(calls=(Call(name=name, arguments=arguments),), times=1)


EDIT = call("edit", path=SHELF, old=WRONG, new=RIGHT)
GOOD = (
    call("search", text="def take"),
    call("read", path=SHELF),
    EDIT,
    call("run_tests"),
    call("run_tests", tests=["all"]),
    call("finish", summary="pantry/shelf.py:26 refused to hand out the last of something."),
)


@contextmanager
def modelled(home: Path, script: Script, **settings: object) -> Iterator[tuple[Town, ModelServer]]:
    """A town with a model that follows a script."""
    with ModelServer(script) as server:
        given = {
            "model_base_url": server.url,
            "model": "scripted",
            "model_strategies": ("model:minimal",),
            "model_timeout_seconds": 20.0,
        }
        with founding.town(home, **{**given, **settings}) as town:
            yield town, server


def test_a_repair_by_a_model(tmp_path: Path) -> None:
    """The model searches, reads, edits, tests and finishes; what it edited is proven and proposed."""
    with modelled(tmp_path, Script(turns=GOOD)) as (town, server):
        number = town.issue(ISSUE, TEST)
        (pull,) = town.fixes()
        print(town.progress)
        for each in town.answers(number): print(each.body)
        print(pull)
        print(server.usage)
