"""A town with a model: a scripted server that answers over real HTTP, and the case that its stories are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bot.model_server.script import Script, ScriptedCall, Turn, When
from bot.model_server.server import ModelServer
from tests.stories import town as founding
from tests.stories.pantry import FILES
from tests.stories.town import Town

ISSUE = "What is there cannot be taken"
TEST = """```python
from pantry.shelf import Shelf


def test_the_last_of_it_can_be_taken():
    shelf = Shelf()
    shelf.add("flour", "500 g")
    shelf.take("flour", "500 g")
    assert shelf.amount("flour") == 0
```"""

SHELF = "pantry/shelf.py"
WRONG, RIGHT, BROKEN = "wanted >= self.amount(name)", "wanted > self.amount(name)", "wanted != self.amount(name)"
ALWAYS = When()
SAID = "pantry/shelf.py:25 refused to hand out the last of something."


def call(name: str, when: When = ALWAYS, **arguments: object) -> Turn:
    """A turn that calls one tool, once."""
    return Turn(calls=(ScriptedCall(name=name, arguments=arguments),), times=1, when=when)


def mend(when: When = ALWAYS) -> tuple[Turn, ...]:
    """The right edit, and the end."""
    return (call("edit", when, path=SHELF, old=WRONG, new=RIGHT), call("finish", when, summary=SAID))


def fail(when: When = ALWAYS) -> tuple[Turn, ...]:
    """A wrong edit, and the end."""
    return (call("edit", when, path=SHELF, old=WRONG, new=BROKEN), call("finish", when, summary="Perhaps this."))


@contextmanager
def modelled(
    home: Path, script: Script, *, files: Mapping[str, str] = FILES, **settings: object
) -> Iterator[tuple[Town, ModelServer]]:
    """The town, whose repairs take the one strategy `model:minimal` unless the settings say otherwise."""
    with ModelServer(script) as server:
        given = {
            "model_base_url": server.url,
            "model": "scripted",
            "model_strategies": ("model:minimal",),
            "model_timeout_seconds": 20.0,
        }
        with founding.town(home, files, **{**given, **settings}) as town:
            yield town, server
