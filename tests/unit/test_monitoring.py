"""Alerts and dashboard ask for metrics that there are, and leave none out; each alert says what to do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.web.metrics import Metrics, StoredFigures
from memory.measures import DATABASE_BYTES, MEASURES, SUM, CounterMeasure, DurationMeasure
from memory.model.jobs import JobState

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
PROMETHEUS = {"up"}
"""Metrics that Prometheus itself adds."""


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return list(group["rules"])


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MONITORING / "dashboard.json").read_text())
    return found


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    for panel in dashboard()["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def asked(expression: str) -> dict[str, set[str]]:
    """The metrics of an expression, each with the labels that it names."""
    bare = re.sub(r'"[^"]*"', '""', expression)
    found: dict[str, set[str]] = {}
    for name, matchers in re.findall(r"\b([a-z][a-z_]*)(?:\{([^}]*)\})?(?=[\s\[)]|$)", bare):
        if name.startswith("apprentice_") or (matchers and name in PROMETHEUS):
            found.setdefault(name, set()).update(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
    return found


def page() -> str:
    """A page of /metrics on which each measure has a series."""
    measured = []
    for measure in MEASURES:
        labels = tuple("x" for _ in measure.labels)
        of = ("+Inf", SUM) if isinstance(measure, DurationMeasure) else (None,)
        measured += [(measure.name, labels if last is None else (*labels, last), 1.0) for last in of]
    metrics = Metrics()
    metrics.answered("issues", duplicate=False, seconds=0.1)
    metrics.rejected("shed")
    counts = StoredFigures(unfinished={JobState.READY: 1}, alive={"web": 1}, measured=measured)
    return metrics.page(counts).decode()


def exported() -> dict[str, set[str]]:
    """Every name of a series with its labels; Prometheus adds those of the target."""
    found: dict[str, set[str]] = {}
    for line in page().splitlines():
        if not line.startswith("#"):
            name, labels = re.match(r"(\w+)(?:\{(.*)\})? ", line).groups()  # type: ignore[union-attr]
            found.setdefault(name, {"instance", "job"}).update(re.findall(r'(\w+)="', labels or ""))
    return found


def test_each_metric_that_is_asked_for_exists() -> None:
    """Rules and panels name series of /metrics, with labels that they have."""
    there = exported() | {name: {"job"} for name in PROMETHEUS}
    for expression in expressions():
        found = asked(expression)
        assert found, expression
        for name, labels in found.items():
            assert name in there, f"{name} in {expression}"
            assert labels <= there[name], f"{name} in {expression}"
            by = {word for group in re.findall(r"\bby \(([^)]*)\)", expression) for word in group.split(", ")}
            assert by <= {label for each in found for label in there[each]}, expression


def test_each_metric_is_on_the_dashboard() -> None:
    """No metric is exported that no panel shows."""
    shown = {name for panel in dashboard()["panels"] for target in panel["targets"] for name in asked(target["expr"])}
    bare = {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown}
    created = {name for name in exported() if name.endswith("_created")}
    assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in set(exported()) - created} == bare


def test_a_name_that_does_not_exist_is_found() -> None:
    """The reader of expressions finds names within functions, ranges and divisions."""
    given = 'sum(rate(apprentice_a_total{state="x", kind=~"y|apprentice_z"}[5m])) / max(apprentice_b) > apprentice_c'
    assert asked(given) == {"apprentice_a_total": {"state", "kind"}, "apprentice_b": set(), "apprentice_c": set()}


def test_each_alert_says_what_to_do() -> None:
    """docs/alerts.md has a section for each alert, in the order of the file, and for no other."""
    names = [rule["alert"] for rule in rules()]
    text = (ROOT / "docs" / "alerts.md").read_text()
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == names
    for rule in rules():
        assert rule["annotations"]["runbook"] == f"docs/alerts.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in {"page", "ticket"}


def test_counters_of_measures_are_counters() -> None:
    """Each measure is exported as what it is: a counter, a histogram or a gauge."""
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", page(), re.MULTILINE))
    for measure in MEASURES:
        kind = "counter" if isinstance(measure, CounterMeasure) else "gauge"
        assert kinds[measure.name] == ("histogram" if isinstance(measure, DurationMeasure) else kind)
    assert f"{DATABASE_BYTES.name} 1.0" in page()


@pytest.mark.parametrize(
    "arguments",
    [("check", "config", "prometheus.yml"), ("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")],
)
def test_promtool(arguments: tuple[str, ...]) -> None:
    """Prometheus' own tool accepts the files, and the rules fire when they should."""
    done = subprocess.run([promtool(), *arguments], cwd=MONITORING, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_page() -> None:
    """Prometheus can read the page, and its names follow Prometheus' rules."""
    done = subprocess.run([promtool(), "check", "metrics"], input=page(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed: install Prometheus (apt install prometheus)")
    return found
