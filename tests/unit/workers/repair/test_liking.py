"""What a reward model makes of plausible candidates."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from memory.embed import HashedWords
from memory.model import EditShape, TaskKind
from memory.preferences.collecting import Taste
from memory.preferences.reward import Hyperparameters, RewardModel
from memory.preferences.training import train
from workers.repair.candidates import Candidate
from workers.repair.liking import liking

BEFORE = "def f(x):\n    return x\n"


def candidate(template: str, source: str) -> Candidate:
    shape = EditShape(template=template, before="", after="")
    return Candidate(
        path="a.py", source=source, line=2, function="f", template=template, strategy="s", shape=shape, score=0.5
    )


def taste(dimensions: tuple[float, ...] = (), **weights: float) -> Taste:
    """People who like these features, and these dimensions of an embedding."""
    empty = train([], {}, embedder="e", kind=TaskKind.REPAIR, now=datetime(2026, 1, 1, tzinfo=UTC))
    chosen = Hyperparameters(l2=1.0, embedding=float(bool(dimensions)))
    model = RewardModel(weights=weights, dimensions=dimensions, embedder="hashed-words-256", hyperparameters=chosen)
    return Taste(replace(empty, model=model), HashedWords())


def test_templates_that_people_like_are_liked() -> None:
    """Candidates are told apart by what made them, and are otherwise alike."""
    both = [candidate("guards", "def f(x):\n    return x or 0\n"), candidate("operators", "def f(x):\n    return -x\n")]
    guards, operators = liking(taste(**{"template=operators": 2.0}), both, [BEFORE] * 2)
    assert operators - guards == 2.0
    assert len(set(liking(taste(), both, [BEFORE] * 2))) == 1


def test_their_patches_are_embedded_where_the_model_asks() -> None:
    """The text of a patch tells candidates of one template apart."""
    both = [candidate("guards", f"def f(x):\n    return x or {word}\n") for word in ("zero", "nothing")]
    dimensions = tuple(HashedWords().embed(["zero"])[0].tolist())
    zero, nothing = liking(taste(dimensions), both, [BEFORE] * 2)
    assert zero > nothing
