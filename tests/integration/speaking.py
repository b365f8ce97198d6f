"""A client at a model's server, with its accounts in a store and its waits written down."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import SecretStr

from memory.store import Store
from memory.store.calls import PurposeCost
from workers.llm.budgets import Price
from workers.llm.client import BudgetedModel, PricedModel
from workers.llm.endpoint import ModelEndpoint
from workers.llm.messages import ChatMessage, ChatRole, ModelRequest, Tier, ToolSpec

NOW = datetime(2026, 11, 22, 23, 0, tzinfo=UTC)
KEY = "local-Key-0123456789"
READ_FILE = ToolSpec(name="read_file", description="Read a file.", parameters={"type": "object", "properties": {}})
ASK = ModelRequest(
    messages=(ChatMessage(role=ChatRole.SYSTEM, text="Be brief."), ChatMessage(role=ChatRole.USER, text="Say hello.")),
    purpose="repair",
)


@dataclass
class Speaking:
    """A client at a server, and how long it waited between tries."""

    client: BudgetedModel
    endpoint: ModelEndpoint
    store: Store
    waited: list[float]

    def spent(self) -> PurposeCost:
        (only,) = self.store.calls.summary()
        return only


def speak(store: Store, url: str, *, stream: bool = True, timeout: float = 20.0) -> Speaking:
    endpoint = ModelEndpoint(base_url=url, api_key=SecretStr(KEY), model="toy", timeout_seconds=timeout, stream=stream)
    waited: list[float] = []
    tier = PricedModel(endpoint=endpoint, name="toy", price=Price(prompt=2.0, cached=0.5, completion=10.0))
    client = BudgetedModel(
        tiers={Tier.STRONG: tier, Tier.WEAK: tier},
        calls=store.calls,
        limits=(),
        task_id="t1",
        repository="o/r",
        clock=lambda: NOW,
        rng=random.Random(1),
        sleep=waited.append,
    )
    return Speaking(client=client, endpoint=endpoint, store=store, waited=waited)
