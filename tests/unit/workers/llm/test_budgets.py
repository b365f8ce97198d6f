"""Which budgets the settings name, and what people read when one is used up."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.store.calls import BudgetLimit, BudgetScope, BudgetUnit, ExceededBudget
from workers.errors import BadInput
from workers.llm.budgets import limits_of, spent
from workers.settings import PREFIX, WebSettings, WorkerSettings, child_environment, known_variables, load

NOW = datetime(2026, 12, 31, 23, 0, tzinfo=UTC)


def test_every_budget_is_a_setting_and_none_is_none() -> None:
    """Tokens by default, money where it is set; 0 is no limit."""
    assert [(each.scope, each.unit, each.most) for each in limits_of(load(WorkerSettings))] == [
        (BudgetScope.RUN, BudgetUnit.TOKENS, 300_000),
        (BudgetScope.REPOSITORY_DAY, BudgetUnit.TOKENS, 2_000_000),
        (BudgetScope.DAY, BudgetUnit.TOKENS, 5_000_000),
    ]
    names = ("run", "day", "repository_day")
    none = {f"model_tokens_per_{name}": 0 for name in names}
    assert limits_of(load(WorkerSettings, **none)) == ()
    money = {f"model_usd_per_{name}": 0.25 for name in names}
    found = limits_of(load(WorkerSettings, **none, **money, model_price="1,1,1"))
    assert [(each.scope, each.unit, each.most) for each in found] == [
        (scope, BudgetUnit.MICROS, 250_000) for scope in (BudgetScope.RUN, BudgetScope.REPOSITORY_DAY, BudgetScope.DAY)
    ]


@pytest.mark.parametrize("scope", BudgetScope)
@pytest.mark.parametrize("unit", BudgetUnit)
def test_a_spent_budget_names_a_setting_that_exists(scope: BudgetScope, unit: BudgetUnit) -> None:
    """One line, with what is to be done."""
    told = str(spent(ExceededBudget(limit=BudgetLimit(scope=scope, unit=unit, most=10), taken=8, wanted=3), NOW))
    assert "\n" not in told
    (setting,) = (word for word in told.split() if word.startswith(PREFIX))
    assert setting in known_variables()


def test_what_is_said_of_a_spent_budget() -> None:
    """Which, how much, and when it renews."""
    day = ExceededBudget(limit=BudgetLimit(scope=BudgetScope.REPOSITORY_DAY, unit=BudgetUnit.MICROS, most=2_500_000), taken=2_490_000, wanted=30_000)  # fmt: skip
    assert str(spent(day, NOW)) == (
        "the model's budget of 2.50 US dollars a day for one repository is used up: 2.49 US dollars are used, "
        "and the next call may use 0.03 US dollars; it renews at 2027-01-01 00:00 UTC; "
        "APPRENTICE_MODEL_USD_PER_REPOSITORY_DAY raises it"
    )
    run = ExceededBudget(limit=BudgetLimit(scope=BudgetScope.RUN, unit=BudgetUnit.TOKENS, most=10), taken=8, wanted=3)
    assert "the next run has its own" in str(spent(run, NOW))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model_base_url": "localhost:8000"}, "MODEL_BASE_URL: write it as https://host/v1"),
        ({"model_base_url": "http://host/v1"}, "MODEL: APPRENTICE_MODEL_BASE_URL is set"),
        ({"model_price": "2.5"}, "MODEL_PRICE: write three prices"),
        ({"model_weak_price": "1,2,-3"}, "MODEL_WEAK_PRICE: write three prices"),
        (
            {"model_usd_per_day": 1},
            "MODEL_USD_PER_DAY: a limit in US dollars needs APPRENTICE_MODEL_PRICE",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(given: dict[str, object], said: str) -> None:
    """At the start, in one line that names the setting."""
    with pytest.raises(BadInput, match=said):
        load(WorkerSettings, **given)


def test_only_workers_see_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The web process gets none of a model's settings, and the key shows nowhere."""
    monkeypatch.setenv("APPRENTICE_MODEL_API_KEY", "secret-1")
    monkeypatch.setenv("APPRENTICE_MODEL_BASE_URL", "http://host/v1")
    for_web = child_environment(WebSettings)
    assert not [name for name in for_web if name.startswith("APPRENTICE_MODEL")]
    assert "secret-1" not in repr(load(WorkerSettings, model="toy"))
