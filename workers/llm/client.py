"""A model for one task. Each call is reserved, sent and settled, so that the budgets hold even when a process dies."""

import random
import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from memory.store import Store
from memory.store.calls import BudgetLimit, Calls, Reservation
from workers.llm.budgets import FREE, Price, limits_of, most_of, price_of, spent
from workers.llm.endpoint import ModelEndpoint
from workers.llm.errors import CallFailed, ModelError, ModelUnavailable
from workers.llm.messages import Model, ModelReply, ModelRequest, Tier
from workers.settings import WorkerSettings

TRIES = 3
LONGEST_WAIT = 60.0
"""Seconds: a job that waits longer delays others."""
_FIRST_WAIT = 1.0


def wait_after(failed: CallFailed, *, attempt: int, rng: random.Random, now: datetime) -> float:
    """Seconds to wait after the failure of attempt number `attempt`, counted from 1.

    Waits as long as the endpoint asks, else exponentially longer, with jitter so that workers do not retry all at once.
    Raises ModelUnavailable after the last attempt, and with the time of the next one where the endpoint asks for too long.
    """
    asked = _asked(failed.retry_after, now)
    if asked is not None and asked > LONGEST_WAIT:
        then = now.astimezone(UTC) + timedelta(seconds=asked)
        when = f"the endpoint allows the next call at {then:%Y-%m-%d %H:%M} UTC"
        raise ModelUnavailable(f"{failed} (tries: {attempt}); {when}")
    if attempt >= TRIES:
        raise ModelUnavailable(f"{failed} (tries: {attempt})")
    return _FIRST_WAIT * 2.0 ** (attempt - 1) * rng.uniform(0.5, 1.5) if asked is None else asked


def _asked(header: str, now: datetime) -> float | None:
    """The seconds in a `Retry-After` header, in either of its forms (RFC 9110, 10.2.3); None when it is empty."""
    if re.fullmatch(r"\s*[0-9]+(\.[0-9]+)?\s*", header):
        return min(float(header), timedelta(days=1).total_seconds())
    try:
        then = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    seconds = (then if then.tzinfo else then.replace(tzinfo=UTC)) - now
    return max(0.0, min(seconds.total_seconds(), timedelta(days=1).total_seconds()))


Models = Callable[[str, str], Model]
"""Returns the model with the budgets of a task, by the task's id and its repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedModel:
    """One of the two models: its endpoint, name and price."""

    endpoint: Model
    name: str
    price: Price = FREE


@dataclass(frozen=True, kw_only=True)
class BudgetedModel:
    """Implements `Model` for one task."""

    tiers: Mapping[Tier, PricedModel]
    calls: Calls
    limits: tuple[BudgetLimit, ...]
    task_id: str
    repository: str
    clock: Callable[[], datetime]
    rng: random.Random
    sleep: Callable[[float], None] = time.sleep

    def reply(self, ask: ModelRequest) -> ModelReply:
        """Answer one request, with retries. Raises BudgetSpent before a call that could exceed a budget."""
        attempt = 1
        while True:
            try:
                return self._call(ask)
            except CallFailed as failed:
                wait = wait_after(failed, attempt=attempt, rng=self.rng, now=self.clock())
                if time.monotonic() + wait >= ask.deadline:
                    raise ModelUnavailable(f"{failed} (tries: {attempt}); no time is left for another") from failed
                self.sleep(wait)
                attempt += 1

    def _call(self, ask: ModelRequest) -> ModelReply:
        """One call. After an unexpected error its reservation stays: the endpoint may have charged the call."""
        tier = self.tiers[ask.tier]
        call_id = self._reserved(ask, tier)
        try:
            reply = tier.endpoint.reply(ask)
        except CallFailed as failed:
            (self.calls.settle_as_reserved if failed.charged else self.calls.fail)(call_id)
            raise
        except ModelError:
            self.calls.fail(call_id)
            raise
        usage = reply.usage
        self.calls.settle(
            call_id,
            prompt=usage.prompt,
            cached=usage.cached,
            completion=usage.completion,
            micros=tier.price.micros(usage),
            estimated=usage.estimated,
        )
        return reply

    def _reserved(self, ask: ModelRequest, tier: PricedModel) -> str:
        most, now = most_of(ask), self.clock().astimezone(UTC)
        wanted = Reservation(
            id=uuid.uuid4().hex,
            task_id=self.task_id,
            repository=self.repository,
            purpose=ask.purpose,
            tier=ask.tier,
            model=tier.name,
            tokens=most.total,
            micros=tier.price.micros(most),
            created_at=now,
        )
        exceeded = self.calls.reserve(wanted, self.limits)
        if exceeded is not None:
            raise spent(exceeded, now)
        return wanted.id


def models_of(
    settings: WorkerSettings,
    store: Store,
    clock: Callable[[], datetime],
    rng: random.Random,
    *,
    tiers: Mapping[Tier, PricedModel] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Models:
    """The models that the settings name. Endpoints connect with their first request."""
    found, limits = tiers or tiers_of(settings), limits_of(settings)
    return lambda task_id, repository: BudgetedModel(
        tiers=found,
        calls=store.calls,
        limits=limits,
        task_id=task_id,
        repository=repository,
        clock=clock,
        rng=rng,
        sleep=sleep,
    )


def tiers_of(settings: WorkerSettings) -> Mapping[Tier, PricedModel]:
    """Both models; the same one twice where the settings name no cheaper one."""
    strong = _tiered(settings, settings.model, settings.model_price)
    if settings.model_weak in ("", settings.model):
        return {Tier.STRONG: strong, Tier.WEAK: strong}
    weak = _tiered(settings, settings.model_weak, settings.model_weak_price or settings.model_price)
    return {Tier.STRONG: strong, Tier.WEAK: weak}


def _tiered(settings: WorkerSettings, model: str, price: str) -> PricedModel:
    endpoint = ModelEndpoint(
        base_url=settings.model_base_url,
        api_key=settings.model_api_key,
        model=model,
        timeout_seconds=settings.model_timeout_seconds,
        stream=settings.model_stream,
    )
    return PricedModel(endpoint=endpoint, name=model, price=price_of(price))
