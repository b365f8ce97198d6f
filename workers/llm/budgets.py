"""The budgets that the settings name, and the error for one that is used up. Pure."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil

from memory.store.calls import BudgetLimit, BudgetScope, BudgetUnit, ExceededBudget
from workers.llm.errors import BudgetSpent
from workers.llm.messages import ModelRequest, TokenUsage
from workers.settings import PREFIX, WorkerSettings

_BYTES_PER_TOKEN = 3
_TOKENS_PER_MESSAGE = 16
_TOKENS_PER_IMAGE = 1600
_TOKENS_OF_INSTRUCTIONS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, which is millionths of a dollar per token."""

    prompt: float
    cached: float
    completion: float

    def micros(self, usage: TokenUsage) -> int:
        """What a call costs, in millionths of a US dollar, rounded up."""
        read = self.prompt * (usage.prompt - usage.cached) + self.cached * usage.cached
        return ceil(read + self.completion * usage.completion)


FREE = Price(prompt=0.0, cached=0.0, completion=0.0)


def price_of(setting: str) -> Price:
    """The price that a setting names as `read,cached,written`; free when it is empty."""
    if not setting:
        return FREE
    prompt, cached, completion = map(float, setting.split(","))
    return Price(prompt=prompt, cached=cached, completion=completion)


def tokens_of(text: str) -> int:
    """Tokens of a text, rounded up. Counts bytes, because other scripts than Latin take a token for one or two characters."""
    return ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def most_of(ask: ModelRequest) -> TokenUsage:
    """The most that a request may use, estimated before it is sent."""
    texts = [message.text for message in ask.messages]
    texts += [call.name + call.arguments for message in ask.messages for call in message.calls]
    described = [*ask.tools, *([ask.schema] if ask.schema else [])]
    texts += [each.name + each.description + json.dumps(dict(each.parameters)) for each in described]
    pictures = sum(len(message.images) for message in ask.messages) * _TOKENS_PER_IMAGE
    frame = len(ask.messages) * _TOKENS_PER_MESSAGE + (_TOKENS_OF_INSTRUCTIONS if described else 0)
    prompt = tokens_of("".join(texts)) + pictures + frame
    return TokenUsage(prompt=prompt, completion=ask.max_tokens, estimated=True)


_MICROS = 1_000_000
_NAMES = {
    BudgetScope.RUN: "for one run",
    BudgetScope.DAY: "a day",
    BudgetScope.REPOSITORY_DAY: "a day for one repository",
}
_WORDS = {BudgetUnit.TOKENS: "tokens", BudgetUnit.MICROS: "usd"}


def limits_of(settings: WorkerSettings) -> tuple[BudgetLimit, ...]:
    """The budgets that are set, the narrowest first."""
    given = [
        (BudgetScope.RUN, settings.model_tokens_per_run, settings.model_usd_per_run),
        (BudgetScope.REPOSITORY_DAY, settings.model_tokens_per_repository_day, settings.model_usd_per_repository_day),
        (BudgetScope.DAY, settings.model_tokens_per_day, settings.model_usd_per_day),
    ]
    found = [BudgetLimit(scope=scope, unit=BudgetUnit.TOKENS, most=tokens) for scope, tokens, _ in given if tokens]
    money = [
        BudgetLimit(scope=scope, unit=BudgetUnit.MICROS, most=round(usd * _MICROS)) for scope, _, usd in given if usd
    ]
    return (*found, *money)


def spent(exceeded: ExceededBudget, now: datetime) -> BudgetSpent:
    """The error for a budget that a call would exceed: which, how much, when it renews, what raises it."""
    limit = exceeded.limit
    setting = f"{PREFIX}MODEL_{_WORDS[limit.unit]}_PER_{limit.scope}".upper()
    in_tokens = limit.unit is BudgetUnit.TOKENS
    most, taken, wanted = (
        f"{number} tokens" if in_tokens else f"{number / _MICROS:.2f} US dollars"
        for number in (limit.most, exceeded.taken, exceeded.wanted)
    )
    tomorrow = now.astimezone(UTC).date() + timedelta(days=1)
    renewal = (
        "the next run has its own" if limit.scope is BudgetScope.RUN else f"it renews at {tomorrow:%Y-%m-%d} 00:00 UTC"
    )
    return BudgetSpent(
        f"the model's budget of {most} {_NAMES[limit.scope]} is used up: {taken} are used, and the next call may use "
        f"{wanted}; {renewal}; {setting} raises it"
    )
