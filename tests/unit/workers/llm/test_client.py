"""A model for a task, over endpoints that are passed in."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.retrieval.embeddings import HashedWords
from memory.store import Store
from tests.databases import migrated_store
from workers.job_context import open_job_context
from workers.llm.budgets import Price
from workers.llm.client import PricedModel, models_of, tiers_of
from workers.llm.errors import BudgetSpent, CallFailed, ContextOverflow, ModelUnavailable
from workers.llm.messages import ChatMessage, ChatRole, FinishReason, ModelReply, ModelRequest, Tier, TokenUsage
from workers.settings import WorkerSettings, load

NOW = datetime(2026, 11, 22, tzinfo=UTC)
ASK = ModelRequest(messages=(ChatMessage(role=ChatRole.USER, text="hello"),), purpose="repair", max_tokens=1000)
REPLY = ModelReply(text="hi", calls=(), finish=FinishReason.STOP, usage=TokenUsage(prompt=10, completion=5), model="m")
BUSY = CallFailed("busy", charged=False)
CUT = CallFailed("cut", charged=True)


@dataclass
class Scripted:
    """An endpoint that answers or fails as it is told, and keeps what it was asked."""

    turns: list[ModelReply | Exception]
    asked: list[ModelRequest] = field(default_factory=list)

    def reply(self, ask: ModelRequest) -> ModelReply:
        self.asked.append(ask)
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "memory.db") as opened:
        yield opened


def reply(store: Store, *turns: ModelReply | Exception, ask: ModelRequest = ASK, **settings: object) -> ModelReply:
    tier = PricedModel(endpoint=Scripted(list(turns)), name="m", price=Price(prompt=1.0, cached=1.0, completion=2.0))
    models = models_of(
        load(WorkerSettings, **settings),
        store,
        lambda: NOW,
        random.Random(1),
        tiers={Tier.STRONG: tier, Tier.WEAK: tier},
        sleep=lambda _: None,
    )
    return models("t1", "o/r").reply(ask)


def test_the_accounts_have_the_price(store: Store) -> None:
    """What a reply cost is in them, under the ask's purpose and tier."""
    reply(store, REPLY, ask=replace(ASK, tier=Tier.WEAK))
    (spent,) = store.calls.summary()
    assert (spent.repository, spent.purpose, spent.tier, spent.micros) == ("o/r", "repair", "weak", 20)


def test_each_try_has_its_own_reservation(store: Store) -> None:
    """One that may have been charged stays accounted beside the one that succeeded."""
    assert reply(store, CUT, BUSY, REPLY).text == "hi"
    (spent,) = store.calls.summary()
    assert (spent.calls, spent.failed, spent.estimated, spent.open) == (3, 1, 1, 0)
    assert spent.prompt > 1000


def test_tries_that_may_be_charged_spend_the_budget(store: Store) -> None:
    """Trying again stops where the next try could exceed it."""
    with pytest.raises(BudgetSpent):
        reply(store, CUT, CUT, REPLY, model_tokens_per_run=2500)
    with pytest.raises(BudgetSpent):
        reply(store, REPLY, model_tokens_per_run=2500)


def test_three_failures_are_enough(store: Store) -> None:
    """Then the model is unavailable."""
    with pytest.raises(ModelUnavailable, match=r"^busy \(tries: 3\)$"):
        reply(store, BUSY, BUSY, BUSY, REPLY)


def test_nothing_is_tried_after_the_deadline(store: Store) -> None:
    """A try that would begin after it is not made, nor waited for."""
    with pytest.raises(ModelUnavailable, match=r"^busy \(tries: 1\); no time is left for another$"):
        reply(store, BUSY, REPLY, ask=replace(ASK, deadline=0.0))
    assert reply(store, BUSY, REPLY, ask=replace(ASK, deadline=time.monotonic() + 900.0)).text == "hi"


def test_what_cannot_be_mended_by_trying_is_not_tried(store: Store) -> None:
    """And is not charged."""
    with pytest.raises(ContextOverflow):
        reply(store, ContextOverflow("too long"), REPLY)
    assert store.calls.summary()[0].failed == 1


def test_both_tiers_share_an_endpoint_where_one_model_is_named() -> None:
    """A cheaper model has its own name and price, by default those of the stronger one."""
    given = {"model_base_url": "http://127.0.0.1:1/v1", "model": "big", "model_price": "4,2,8"}
    both = tiers_of(load(WorkerSettings, **given))
    assert both[Tier.STRONG] is both[Tier.WEAK]
    weak = tiers_of(load(WorkerSettings, **given, model_weak="small"))[Tier.WEAK]
    assert (weak.name, weak.price.prompt) == ("small", 4.0)
    priced = tiers_of(load(WorkerSettings, **given, model_weak="small", model_weak_price="1,1,1"))
    assert (priced[Tier.WEAK].price.prompt, priced[Tier.STRONG].price.prompt) == (1.0, 4.0)


def test_a_context_has_a_model_where_one_is_set(tmp_path: Path) -> None:
    """And none by default; the endpoint is made once for all tasks, and nothing is contacted."""
    without = open_job_context(load(WorkerSettings, home=tmp_path), embedder=HashedWords())
    assert without.model("t1", "o/r") is None
    settings = load(WorkerSettings, home=tmp_path, model_base_url="http://127.0.0.1:1/v1", model="toy")
    context = open_job_context(settings, embedder=HashedWords())
    one, other = context.model("t1", "o/r"), context.for_task("t2").model("t2", "o/r")
    assert one is not None
    assert other is not None
    assert vars(one)["tiers"] is vars(other)["tiers"]
