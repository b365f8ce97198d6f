"""Which rules a review of a repository asks for, by the real ruff in the real sandbox."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.history import is_selected
from memory.model import PastFinding, Severity
from tests.unit.memory.history.pasts import past
from workers.history.learn import AskedRules, asked_rules
from workers.review.detectors.linters import Ruff
from workers.review.project_options import RuffOptions
from workers.sandbox.bubblewrap import Bubblewrap

pytestmark = pytest.mark.sandbox


def asked(files: dict[str, str]) -> AskedRules:
    return asked_rules(lambda name: files[name].encode() if name in files else None, Bubblewrap())


def test_our_selection_is_what_ruff_makes_of_it() -> None:
    """Each rule that ruff turns on is selected; what is selected besides is in ruff's preview alone, or gone."""
    every, on = Ruff(Bubblewrap(), everything=True).rules(), Ruff(Bubblewrap()).rules()
    assert on["F401"] == "unused import"
    assert {code for code in every if is_selected("ruff", code)} == set(on)


def test_a_selection_without_exceptions_is_honoured() -> None:
    """A repository that selects rules and ignores none gets these, and what is broken rather than disliked."""
    rules = Ruff(Bubblewrap(), RuffOptions(select=("F401", "UP"))).rules()
    assert {"F401", "UP006", "F821"} <= set(rules)
    assert "B006" not in rules


def test_what_ruff_refuses_leaves_our_own_selection() -> None:
    """A code that does not exist costs a repository its choice, and no review."""
    assert Ruff(Bubblewrap(), RuffOptions(select=("XYZ9",))).rules() == Ruff(Bubblewrap()).rules()
    chosen = Ruff(Bubblewrap(), RuffOptions(select=("E501",))).rules()
    assert Ruff(Bubblewrap(), RuffOptions(select=("E501", "E999"))).rules() == chosen, "ruff had E999 once"


def test_the_repositorys_own_file_counts() -> None:
    """What `.github/apprentice.yml` turns off is not reported now, and a severity that it gives is that of the finding."""
    rules = asked({".github/apprentice.yml": "rules: {F401: off, B: critical}\npaths: {exclude: [docs]}\n"})
    assert rules.reported(past(1, rule="F401")) is None
    assert rules.reported(past(1, rule="F841", path="docs/conf.py")) is None
    kept = rules.reported(past(1, rule="B006"))
    assert kept is not None
    assert kept.severity is Severity.CRITICAL


def hole(rule: str) -> PastFinding:
    return replace(past(1, rule=rule, path="a.py"), category="security", severity=Severity.MINOR)


def test_a_history_is_read_by_todays_configuration() -> None:
    """Rules that nobody asks for are left out, those ignored in some files there, and bandit reports what ruff is not asked."""
    ignores = '[lint]\nselect = ["F", "D"]\n[lint.per-file-ignores]\n"tests/**/*.py" = ["D"]\n'
    rules = asked({"ruff.toml": ignores})
    reported = {
        (each.rule, each.path): now and (now.tool, now.rule)
        for each in (
            past(1, rule="F401"),
            past(1, rule="F401", path="pkg/__init__.py"),
            past(1, rule="UP006"),
            past(1, rule="D103"),
            past(1, rule="D103", path="tests/test_a.py"),
            hole("S110"),
            hole("S404"),
        )
        for now in (rules.reported(each),)
    }
    assert reported == {
        ("F401", "a.py"): ("ruff", "F401"),
        ("F401", "pkg/__init__.py"): None,
        ("UP006", "a.py"): None,
        ("D103", "a.py"): ("ruff", "D103"),
        ("D103", "tests/test_a.py"): None,
        ("S110", "a.py"): ("bandit", "B110"),
        ("S404", "a.py"): None,
    }
    assert rules.name("B110") == "try except pass"
