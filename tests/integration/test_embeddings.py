"""The real embedding model, from its installed package, without a network."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from memory.model import AttemptOutcome, Experience, Family
from memory.retrieval.embeddings import MiniLM
from memory.retrieval.experiences import Experiences
from tests.databases import migrated_store

pytestmark = pytest.mark.extended

ROOT = Path(__file__).parents[2]

LOAD = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"tried to reach {arguments}")

sys.addaudithook(refuse)
from memory.retrieval.embeddings import MiniLM

assert "torch" not in sys.modules
assert MiniLM().embed(["KeyError: 'total'"]).shape == (1, MiniLM.dimensions)
"""


@pytest.fixture(scope="session")
def model() -> MiniLM:
    """Loaded once: it brings torch."""
    return MiniLM()


@pytest.mark.parametrize("seconds", [0, 1, 3])
def test_a_process_may_end_while_the_model_is_loading(seconds: int) -> None:
    """It ends without an error."""
    warm = f"import time; from memory.retrieval.embeddings import MiniLM; MiniLM().warm(); time.sleep({seconds})"
    ended = subprocess.run([sys.executable, "-c", warm], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


FAILURES = (
    "AttributeError: 'NoneType' object has no attribute 'price' in cart.total",
    "IndexError: list index out of range in tokenizer.next_token",
    "ZeroDivisionError: division by zero in stats.average",
    "ModuleNotFoundError: No module named 'simplejson' in loader",
)
"""Kinds of failure, each told again below in other words."""

RETOLD = (
    "AttributeError: None has no field amount while summing the basket",
    "IndexError: reading past the end of the sequence in the parser",
    "ZeroDivisionError: mean of an empty list divides by nothing",
    "ImportError: cannot import the json library in the reader",
)


def test_loading_is_silent_and_offline() -> None:
    """In a fresh process where warnings are errors, embedding prints nothing, opens no connection, and loads lazily."""
    command = [sys.executable, "-W", "error", "-c", LOAD]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_vectors_are_unit_float32_and_repeatable(model: MiniLM) -> None:
    """Rows have length 1, and a text has the same vector alone and in company."""
    together = model.embed(list(FAILURES))
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(FAILURES)), abs=1e-5)
    assert together[1] == pytest.approx(model.embed([FAILURES[1]])[0], abs=1e-4)
    assert model.embed([]).shape == (0, model.dimensions)


def test_similar_failures_rank_nearer(model: MiniLM) -> None:
    """Every retold failure is nearest to the one of its own kind."""
    nearest = (model.embed(list(RETOLD)) @ model.embed(list(FAILURES)).T).argmax(axis=1)
    assert nearest.tolist() == [0, 1, 2, 3]


def test_recall_by_meaning_in_a_real_store(model: MiniLM, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Through the store and the fusion, a failure told in other words recalls its kin first."""
    path = tmp_path_factory.mktemp("memory") / "memory.db"
    with migrated_store(path) as store:
        experiences = Experiences(store, model)
        experiences.warm()
        for i, failure in enumerate(FAILURES):
            error_type, _, signature = failure.partition(": ")
            experiences.remember(
                Experience(
                    id=str(i), repository="o/r", task_id="t", error_type=error_type, family=Family.OTHER,
                    signature=signature, path="a.py", strategy="s", outcome=AttemptOutcome.PROVEN, reflection="",
                    patch="", shape=None, created_at=datetime(2026, 1, 1, tzinfo=UTC),
                )
            )  # fmt: skip
        experiences.warm()
        for i, failure in enumerate(RETOLD[:3]):
            error_type, _, signature = failure.partition(": ")
            found = experiences.recall(
                signature=signature, error_type=error_type, family=Family.OTHER, repository="new/repo", k=2
            )
            assert found[0].experience.id == str(i)
            assert found[0].score > found[1].score
