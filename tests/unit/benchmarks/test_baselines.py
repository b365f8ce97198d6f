from __future__ import annotations

import random

import pytest

from benchmarks.learner.baselines import AGENTS, BayesianQLearning, FlatThompson, Row, UpperConfidence, ValueLearner

GUARD = 1


def rows(error_type: str) -> list[Row]:
    return [(error_type, strategy) for strategy in range(3)]


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_comes_to_prefer_what_pays(name: str) -> None:
    """After enough rewards the better strategy is chosen most of the time, in its own row and in no other."""
    agent, rng = AGENTS[name](), random.Random(4)
    for _ in range(600):
        chosen = agent.choose(rows("KeyError"), rng)
        agent.learn(chosen, float(rng.random() < (0.8 if chosen[1] == GUARD else 0.2)))
    late = [agent.choose(rows("KeyError"), rng) for _ in range(200)]
    assert late.count(("KeyError", GUARD)) > 100
    assert {agent.choose(rows("TypeError"), rng) for _ in range(50)} == set(rows("TypeError"))


def test_q_learning_is_watkins_update() -> None:
    """Q moves by alpha towards the reward plus the discounted best of what may follow; at the end nothing follows."""
    agent = ValueLearner(alpha=0.5, gamma=0.9)
    agent.learn(("E", GUARD), 1.0)
    assert agent.q["E", GUARD] == 0.5
    agent.learn(("E", 0), 0.0, following=rows("E"))
    assert agent.q["E", 0] == pytest.approx(0.5 * 0.9 * 0.5)


def test_bayesian_q_learning_moves_by_the_moments_of_the_return() -> None:
    """A normal-gamma belief of strength 1 comes half-way to the reward and what may follow, and gains half a shape."""
    agent = BayesianQLearning(gamma=1.0, prior=(0.0, 1.0, 2.0, 0.1))
    agent.learn(("E", GUARD), 1.0)
    mean, strength, shape, rate = agent.rows["E", GUARD]
    assert (mean, strength, shape) == (0.5, 2.0, 2.5)
    assert rate == pytest.approx(0.1 + 1.0 / 4.0)
    agent.learn(("E", 0), 0.0, following=[("E", GUARD)])
    assert agent.rows["E", 0][0] == pytest.approx(0.25)


def test_decay_lessens_exploration() -> None:
    """Epsilon is multiplied by its decay at every choice."""
    agent, rng = ValueLearner(epsilon=0.5, decay=0.9), random.Random(1)
    for _ in range(10):
        agent.choose(rows("E"), rng)
    assert agent.epsilon == pytest.approx(0.5 * 0.9**10)


def test_upper_confidence_tries_everything_once_first() -> None:
    """What was never tried has no bound and comes first."""
    agent, rng, chosen = UpperConfidence(), random.Random(2), []
    for _ in rows("E"):
        chosen.append(agent.choose(rows("E"), rng))
        agent.learn(chosen[-1], 1.0)
    assert sorted(chosen) == rows("E")


def test_flat_thompson_counts_fractions() -> None:
    """A reward between 0 and 1 is a fraction of a success."""
    agent = FlatThompson()
    agent.learn(("E", 0), 0.25)
    assert (agent.count["E", 0], agent.q["E", 0]) == (1, 0.25)
