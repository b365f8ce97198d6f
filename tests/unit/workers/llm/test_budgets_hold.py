"""Budgets under many runs at once: what is accounted is what was charged, and no budget is exceeded."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.store import Store
from memory.store.calls import BudgetLimit, BudgetScope, BudgetUnit
from tests.databases import migrated_store
from workers.llm.budgets import Price, most_of
from workers.llm.client import BudgetedModel, PricedModel
from workers.llm.errors import BudgetSpent, CallFailed, ContextOverflow, ModelError
from workers.llm.messages import ChatMessage, ChatRole, FinishReason, ModelReply, ModelRequest, Tier, TokenUsage

DAY = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
RUNS, THREADS = 1000, 4
PRICE = Price(prompt=2.5, cached=0.25, completion=10.0)
LIMITS = (
    BudgetLimit(scope=BudgetScope.RUN, unit=BudgetUnit.TOKENS, most=1500),
    BudgetLimit(scope=BudgetScope.REPOSITORY_DAY, unit=BudgetUnit.TOKENS, most=60_000),
    BudgetLimit(scope=BudgetScope.DAY, unit=BudgetUnit.TOKENS, most=100_000),
    BudgetLimit(scope=BudgetScope.DAY, unit=BudgetUnit.MICROS, most=600_000),
)


@dataclass
class Provider:
    """An endpoint that fails now and then, and keeps books of its own; a call that breaks off is charged in full."""

    rng: random.Random
    books: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def at(self, day: str, task_id: str, repository: str) -> At:
        return At(self, day, task_id, repository)

    def charge(self, usage: TokenUsage, day: str, task_id: str, repository: str) -> None:
        with self.lock:
            micros = PRICE.micros(usage)
            for key in (("run", task_id, ""), ("day", day, ""), ("repository_day", day, repository)):
                self.books[*key[:2], f"{key[2]} tokens"] += usage.total
                self.books[*key[:2], f"{key[2]} micros"] += micros


@dataclass(frozen=True)
class At:
    """The provider as one run sees it."""

    provider: Provider
    day: str
    task_id: str
    repository: str

    def reply(self, ask: ModelRequest) -> ModelReply:
        most, rng = most_of(ask), self.provider.rng
        luck = rng.random()
        if luck < 0.1:
            raise CallFailed("busy", charged=False)
        if luck < 0.13:
            raise ContextOverflow("too long")
        if luck < 0.2:
            self.provider.charge(most, self.day, self.task_id, self.repository)
            raise CallFailed("cut", charged=True)
        prompt = rng.randint(1, most.prompt)
        usage = TokenUsage(prompt=prompt, cached=rng.randint(0, prompt), completion=rng.randint(0, ask.max_tokens))
        self.provider.charge(usage, self.day, self.task_id, self.repository)
        return ModelReply(text="", calls=(), finish=FinishReason.STOP, usage=usage, model="m")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with migrated_store(tmp_path / "memory.db") as opened:
        yield opened


def client(store: Store, provider: Provider, number: int) -> BudgetedModel:
    when, task_id, repository = DAY + timedelta(days=number % 3), f"t{number}", f"o/r{number % 2}"
    endpoint = provider.at(f"{when:%d}", task_id, repository)
    tier = PricedModel(endpoint=endpoint, name="m", price=PRICE)
    return BudgetedModel(
        tiers={Tier.STRONG: tier},
        calls=store.calls,
        limits=LIMITS,
        task_id=task_id,
        repository=repository,
        clock=lambda: when,
        rng=random.Random(number),
        sleep=lambda _: None,
    )


@pytest.mark.slow
def test_no_budget_is_exceeded_however_many_runs_there_are_at_once(store: Store) -> None:
    """A thousand runs in threads, with failures of every kind: the accounts are the provider's own to the token."""
    provider = Provider(random.Random(11))
    refused: Counter[str] = Counter()

    def run(number: int) -> None:
        chances = random.Random(number)
        model = client(store, provider, number)
        for _ in range(chances.randint(1, 3)):
            words = ChatMessage(role=ChatRole.USER, text="x" * chances.randint(0, 900))
            ask = ModelRequest(messages=(words,), purpose="repair", max_tokens=chances.randint(50, 800))
            try:
                model.reply(ask)
            except BudgetSpent as spent:
                refused[str(spent).partition(" is used up")[0]] += 1
            except ModelError:
                pass

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(RUNS)))
    for (scope, _, unit), taken in provider.books.items():
        for limit in LIMITS:
            if (limit.scope, limit.unit) == (scope, unit.split()[-1]):
                assert taken <= limit.most
    assert len(refused) == len(LIMITS), refused
    spent = store.calls.summary()
    assert sum(each.open for each in spent) == 0
    tokens = sum(each.prompt + each.completion for each in spent)
    days = [key for key in provider.books if key[0] == "day"]
    assert tokens == sum(provider.books[key] for key in days if key[2].endswith("tokens"))
    assert sum(each.micros for each in spent) == sum(provider.books[key] for key in days if key[2].endswith("micros"))
    by_run = {each.task_id: each.tokens for each in store.calls.by_task() if each.tokens}
    assert by_run == {key[1]: n for key, n in provider.books.items() if key[0] == "run" and key[2] == " tokens" and n}


def test_a_call_that_takes_more_than_was_reserved_is_the_last(store: Store) -> None:
    """Where an estimate was too low, the budget is exceeded by that call and by no other."""

    class Greedy:
        def reply(self, ask: ModelRequest) -> ModelReply:
            usage = TokenUsage(prompt=5000, completion=ask.max_tokens)
            return ModelReply(text="", calls=(), finish=FinishReason.STOP, usage=usage, model="m")

    greedy = {Tier.STRONG: PricedModel(endpoint=Greedy(), name="m", price=PRICE)}
    model = replace(client(store, Provider(random.Random(1)), 1), tiers=greedy)
    ask = ModelRequest(messages=(ChatMessage(role=ChatRole.USER, text="hello"),), purpose="repair", max_tokens=10)
    assert model.reply(ask).usage.total == 5010
    with pytest.raises(BudgetSpent):
        model.reply(ask)


def test_what_ends_a_call_unforeseen_leaves_its_reservation(store: Store) -> None:
    """A process that stops in the middle of a call may have been charged for it: the budget is not given back."""

    class Stopped:
        def reply(self, ask: ModelRequest) -> ModelReply:
            raise KeyboardInterrupt

    stopped = {Tier.STRONG: PricedModel(endpoint=Stopped(), name="m")}
    model = replace(client(store, Provider(random.Random(1)), 1), tiers=stopped)
    ask = ModelRequest(messages=(ChatMessage(role=ChatRole.USER, text="hello"),), purpose="repair", max_tokens=1000)
    with pytest.raises(KeyboardInterrupt):
        model.reply(ask)
    (spent,) = store.calls.summary()
    assert (spent.calls, spent.open) == (1, 1)
    with pytest.raises(BudgetSpent):
        model.reply(ask)
