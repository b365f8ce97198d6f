"""What a reward model learns from so many pairs: simulated maintainers whose tastes are known, judged anew on fresh reviews.

Each maintainer likes some features of findings and some subjects, tells of three findings in ten, and errs in one of ten.
Compared are the prior, the trained model and the maintainer's own taste, which no model can beat. In the worlds without a
taste the prior is all there is to know: how often a model is let through there is how often the gate fails.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import exp, log

import numpy as np

from benchmarks.report import show, spread
from memory.embed import EMBEDDERS, Embedder
from memory.model import Finding, Severity, Suggestion, TaskKind
from memory.preferences.collecting import embedded, option_of_finding
from memory.preferences.evaluation import calibration_error
from memory.preferences.judged import Judged, Pair, pairs
from memory.preferences.training import Trained, train

SIZES = (25, 50, 100, 200, 400, 800)
FINDINGS, LABELLED, ERRORS = 6, 0.3, 0.1
FRESH = 200
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

SUBJECTS = {
    "B006": ("correctness", "ruff", "mutable default argument {} is shared between calls"),
    "E711": ("style", "ruff", "comparison of {} to None should use is"),
    "F401": ("style", "ruff", "{} is imported but never used"),
    "F841": ("correctness", "ruff", "local variable {} is assigned to but never used"),
    "S105": ("security", "bandit", "possible hardcoded password in {}"),
    "S608": ("security", "bandit", "SQL query built by string formatting from {}"),
    "B904": ("correctness", "ruff", "raise of {} within an except clause without from"),
    "D103": ("documentation", "ruff", "public function {} has no docstring"),
    "PERF401": ("performance", "ruff", "loop over {} can be a list comprehension"),
    "SIM108": ("style", "ruff", "branches that assign {} can be a ternary"),
}
PATHS = ("src/shop/{}.py", "tests/test_{}.py", "docs/{}.md", "shop/settings.py")
NAMES = ("order", "basket", "customer", "invoice", "ticket", "parcel", "tariff", "quote", "batch", "zone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintainer:
    """A taste: what each feature and each rule adds to the log-odds of acceptance, beside what the prior expects."""

    features: dict[str, float]
    rules: dict[str, float]

    def odds(self, finding: Finding) -> float:
        """The log-odds with which a finding is accepted."""
        option = option_of_finding(finding)
        likes = sum(self.features.get(name, 0.0) * value for name, value in option.features.items())
        return option.prior_odds + likes + self.rules.get(finding.rule, 0.0)


def maintainer(rng: random.Random, strength: float) -> Maintainer:
    """Somebody with a taste of this strength: the standard deviation of each liking."""
    names = ("severity", "proven", "size", *(f"path={p}" for p in ("source", "test", "document", "configuration")))
    names += ("category=style", "category=security", "category=correctness", "tool=bandit", "tool=ruff")
    return Maintainer(
        features={name: rng.gauss(0.0, strength) for name in names},
        rules={rule: rng.gauss(0.0, strength) for rule in SUBJECTS},
    )


def finding(rng: random.Random, number: int) -> Finding:
    """Something that a review could have seen."""
    rule = rng.choice(list(SUBJECTS))
    category, tool, message = SUBJECTS[rule]
    name = f"{rng.choice(NAMES)}_{rng.randrange(1000)}"
    suggestion = Suggestion(start_line=1, end_line=1, replacement="x\n" * rng.randint(1, 12), proof=None)
    return Finding(
        fingerprint=f"f{number}",
        path=rng.choice(PATHS).format(rng.choice(NAMES)),
        line=1,
        end_line=1,
        tool=tool,
        rule=rule,
        category=category,
        severity=rng.choice(list(Severity)),
        message=message.format(name),
        anchor=f"{name} = {rng.choice(NAMES)}({rng.choice(NAMES)})",
        suggestion=suggestion if rng.random() < 0.5 else None,
    )


def reviewed(
    who: Maintainer, reviews: int, rng: random.Random, *, begin: int = 0
) -> tuple[list[Judged], dict[str, float]]:
    """What `who` made of the findings of so many reviews, and the true log-odds of each."""
    judged: list[Judged] = []
    truth: dict[str, float] = {}
    for review in range(begin, begin + reviews):
        for number in range(FINDINGS):
            seen = finding(rng, review * FINDINGS + number)
            odds = who.odds(seen)
            wanted = rng.random() < 1.0 / (1.0 + exp(-odds))
            if rng.random() >= LABELLED:
                continue
            wanted ^= rng.random() < ERRORS
            truth[seen.fingerprint] = odds
            judged.append(
                Judged(
                    decision_id=seen.fingerprint,
                    task_id=f"t{review}",
                    kind=TaskKind.REVIEW,
                    repository=f"o/r{review % 3}",
                    label=seen.rule,
                    teacher=review % 4,
                    known_at=BEGIN + timedelta(hours=review),
                    verdict=1.0 if wanted else -1.0,
                    option=option_of_finding(seen),
                )
            )
    return judged, truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One maintainer's model, judged by fresh pairs; `surprise` is its log loss less the prior's, `calibration` its ECE."""

    pairs: int
    accuracy: float
    prior: float
    taste: float
    surprise: float
    calibration: float
    let_through: bool
    training_seconds: float
    embedding_seconds: float


def run(reviews: int, seed: int, strength: float, embedder: Embedder) -> Run:
    """Train on what one maintainer said of so many reviews, and ask about other reviews."""
    rng = random.Random(f"preferences:{seed}:{strength}")
    who = maintainer(rng, strength)
    judged, _ = reviewed(who, reviews, rng)
    fresh, truth = reviewed(who, FRESH, rng, begin=10_000)
    begun = time.process_time()
    vectors = embedded(embedder, judged)
    embedding = time.process_time() - begun
    begun = time.process_time()
    trained = train(judged, vectors, embedder=embedder.id, kind=TaskKind.REVIEW, now=BEGIN)
    training = time.process_time() - begun
    asked = pairs(fresh)
    believed = foretold(trained, fresh, embedder)
    expected = {each.decision_id: each.option.prior_odds for each in fresh}
    return Run(
        pairs=trained.trained_on,
        accuracy=right(asked, believed),
        prior=right(asked, expected),
        taste=right(asked, truth),
        surprise=surprise(asked, believed) - surprise(asked, expected),
        calibration=calibration_error(np.array(gaps(asked, believed)), np.ones(len(asked))),
        let_through=not trained.evaluation.refusal,
        training_seconds=training,
        embedding_seconds=embedding,
    )


def foretold(trained: Trained, judged: Sequence[Judged], embedder: Embedder) -> dict[str, float]:
    """The strength of each by a model."""
    options = [each.option for each in judged]
    vectors = embedder.embed([o.text for o in options]).astype(np.float64) if trained.model.dimensions else None
    strengths = trained.model.strengths(options, vectors).tolist()
    return dict(zip((each.decision_id for each in judged), strengths, strict=True))


def right(asked: Sequence[Pair], strength: dict[str, float]) -> float:
    """The share of pairs in the right order; a tie counts a half."""
    return sum((gap > 0) + 0.5 * (gap == 0) for gap in gaps(asked, strength)) / len(asked)


def surprise(asked: Sequence[Pair], strength: dict[str, float]) -> float:
    """The mean log loss of the choices."""
    return sum(log(1.0 + exp(-gap)) for gap in gaps(asked, strength)) / len(asked)


def gaps(asked: Sequence[Pair], strength: dict[str, float]) -> list[float]:
    """How much stronger the better of each pair is held to be."""
    return [strength[pair.better.decision_id] - strength[pair.worse.decision_id] for pair in asked]


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preferences", description=__doc__)
    parser.add_argument("--maintainers", type=int, default=20, help="simulated maintainers for each size")
    parser.add_argument("--reviews", type=int, nargs="+", default=SIZES, help="how many reviews were judged")
    parser.add_argument("--strength", type=float, default=1.0, help="standard deviation of a liking, in log-odds")
    parser.add_argument("--first-seed", type=int, default=1000, help="seeds below 1000 were used while it was made")
    parser.add_argument("--embedder", choices=sorted(EMBEDDERS), default="minilm")
    given = parser.parse_args()
    embedder = EMBEDDERS[given.embedder]()
    embedder.embed(["loaded before the clock runs"])
    seeds = range(given.first_seed, given.first_seed + given.maintainers)
    for strength, title in (
        (given.strength, "maintainers with a taste"),
        (0.0, "maintainers without: the prior is all"),
    ):
        rows = []
        for reviews in given.reviews:
            rows.append((f"{reviews} reviews", report([run(reviews, seed, strength, embedder) for seed in seeds])))
            print(f"{title}, {rows[-1][0]}: {rows[-1][1]}", flush=True)
        show(f"{title}: pairs of fresh reviews in the right order", rows, notes=(f"embedder {embedder.id}",))


def report(runs: Sequence[Run]) -> str:
    """One line: accuracy of prior, model and taste, and how often the model was let through."""
    mean = {name: float(np.mean([getattr(each, name) for each in runs])) for name in Run.__slots__}
    gains = np.array([each.accuracy - each.prior for each in runs])
    half = 1.96 * float(gains.std(ddof=1)) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
    ratio = spread([each.training_seconds / max(each.embedding_seconds, 1e-3) for each in runs])
    return (
        f"{mean['pairs']:.0f} pairs: prior {mean['prior']:.3f}, model {mean['accuracy']:.3f} "
        f"(gain {gains.mean():+.3f} ± {half:.3f}), own taste {mean['taste']:.3f}; log loss {mean['surprise']:+.3f}; "
        f"ECE {mean['calibration']:.3f}; let through {sum(each.let_through for each in runs)} of {len(runs)}; "
        f"training over embedding {ratio}"
    )


if __name__ == "__main__":
    main()
