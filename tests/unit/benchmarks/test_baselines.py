from __future__ import annotations

import random

import pytest

from benchmarks.learner.baselines import AGENTS, FlatThompson, UpperConfidence, ValueLearner

NAMES = ("swap", "guard", "rename")


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_comes_to_prefer_what_pays(name: str) -> None:
    """After enough rewards the better strategy is chosen most of the time, in its own row and in no other."""
    agent, rng = AGENTS[name](), random.Random(4)
    for _ in range(600):
        chosen = agent.choose("KeyError", NAMES, rng)
        agent.learn("KeyError", chosen, float(rng.random() < {"guard": 0.8}.get(chosen, 0.2)))
    late = [agent.choose("KeyError", NAMES, rng) for _ in range(200)]
    assert late.count("guard") > 100
    assert {agent.choose("TypeError", NAMES, rng) for _ in range(50)} == set(NAMES)


def test_q_learning_is_watkins_update() -> None:
    """Q moves by alpha towards the reward plus the discounted best of what may follow; at the end nothing follows."""
    agent = ValueLearner(alpha=0.5, gamma=0.9)
    agent.learn("E", "guard", 1.0)
    assert agent.q["E", "guard"] == 0.5
    agent.learn("E", "swap", 0.0, following=NAMES)
    assert agent.q["E", "swap"] == pytest.approx(0.5 * 0.9 * 0.5)


def test_decay_lessens_exploration() -> None:
    """Epsilon is multiplied by its decay at every choice."""
    agent, rng = ValueLearner(epsilon=0.5, decay=0.9), random.Random(1)
    for _ in range(10):
        agent.choose("E", NAMES, rng)
    assert agent.epsilon == pytest.approx(0.5 * 0.9**10)


def test_upper_confidence_tries_everything_once_first() -> None:
    """What was never tried has no bound and comes first."""
    agent, rng, chosen = UpperConfidence(), random.Random(2), []
    for _ in NAMES:
        chosen.append(agent.choose("E", NAMES, rng))
        agent.learn("E", chosen[-1], 1.0)
    assert sorted(chosen) == sorted(NAMES)


def test_flat_thompson_counts_fractions() -> None:
    """A reward between 0 and 1 is a fraction of a success."""
    agent = FlatThompson()
    agent.learn("E", "swap", 0.25)
    assert (agent.count["E", "swap"], agent.q["E", "swap"]) == (1, 0.25)
