"""Webhooks that never arrived are asked for again, through the real PyGithub and the playground's delivery log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.playground.models import App
from memory.model.jobs import Delivery
from memory.retrieval.embeddings import HashedWords
from tests.playground import Playground, minting_for
from workers.context import JobContext, open_job_context
from workers.flows import maintenance
from workers.jobs import RedeliverWebhooks
from workers.settings import WorkerSettings, load

NOBODY = "http://127.0.0.1:9/webhook"


@pytest.fixture
def playground() -> Iterator[Playground]:
    with Playground() as running:
        running.add_user("ada")
        running.add_repository("ada/engine", {"README.md": "# engine\n"})
        yield running


@pytest.fixture
def app(playground: Playground) -> App:
    made = playground.add_app("apprentice", owner="ada", webhook_secret="s" * 20)
    playground.set_webhook(made, NOBODY)
    playground.install(made, "ada/engine")
    playground.drain()
    return made


@pytest.fixture
def _minting(playground: Playground, app: App, tmp_path: Path) -> Iterator[None]:
    with minting_for(app, playground, tmp_path):
        yield


def later(playground: Playground, home: Path) -> JobContext:
    """A context for which an hour has passed since the webhooks were tried."""
    settings = load(WorkerSettings, home=home, github_url=playground.url)
    return open_job_context(settings, embedder=HashedWords(), clock=lambda: datetime.now(UTC) + timedelta(hours=1))


def tried(playground: Playground) -> list[str]:
    playground.drain()
    return [delivery.notice.guid for delivery in playground.world.deliveries]


@pytest.mark.usefixtures("_minting")
def test_what_was_never_stored_is_asked_for_again(playground: Playground, tmp_path: Path) -> None:
    """Each lost delivery is sent once more under the same id."""
    before = tried(playground)
    assert before
    assert maintenance.redeliver(RedeliverWebhooks(), later(playground, tmp_path)) == ()
    assert sorted(tried(playground)) == sorted(before * 2)


@pytest.mark.usefixtures("_minting")
def test_what_was_stored_is_left_alone(playground: Playground, tmp_path: Path) -> None:
    """A delivery that reached the database is not asked for, however GitHub saw it end."""
    context, before = later(playground, tmp_path), tried(playground)
    for guid in before:
        context.store.inbox.record_deliveries([Delivery(id=guid, event="ping", received_at=context.clock())])
    maintenance.redeliver(RedeliverWebhooks(), context)
    assert tried(playground) == before


@pytest.mark.usefixtures("_minting")
def test_what_is_on_its_way_is_left_alone(playground: Playground, tmp_path: Path) -> None:
    """A delivery of this minute may still arrive by itself."""
    settings = load(WorkerSettings, home=tmp_path, github_url=playground.url)
    before = tried(playground)
    maintenance.redeliver(RedeliverWebhooks(), open_job_context(settings, embedder=HashedWords()))
    assert tried(playground) == before


def test_without_an_app_there_is_nothing_to_ask(tmp_path: Path) -> None:
    """A machine that is used locally alone asks GitHub nothing."""
    context = open_job_context(load(WorkerSettings, home=tmp_path), embedder=HashedWords())
    assert context.hook() is None
    assert maintenance.redeliver(RedeliverWebhooks(), context) == ()
