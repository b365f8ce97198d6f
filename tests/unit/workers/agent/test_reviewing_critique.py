"""What second thoughts may do, and what they may not; what people made of the like."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.model import Severity
from memory.retrieval.embeddings import HashedWords
from tests.unit.workers.agent.reviewed import AFTER, PATH, Answering, candidate
from workers.agent.critique import (
    MaintainerOpinion,
    SimilarFinding,
    criticised,
    demoted,
    is_unwanted,
    judged,
    nearest,
    principles,
)
from workers.agent.findings import CritiqueVerdict, ModelFinding
from workers.errors import BadInput
from workers.llm.errors import BudgetSpent, ModelDeclined, ModelUnavailable
from workers.llm.messages import Tier
from workers.review.detectors.detector import Category
from workers.settings import WorkerSettings, load

SMALL = candidate(severity=Severity.MINOR)
GRAVE = [
    candidate(severity=Severity.MAJOR),
    candidate(severity=Severity.CRITICAL, category=Category.MAINTAINABILITY),
    candidate(severity=Severity.CRITICAL, category=Category.SECURITY),
]


def drop(number: int = 1) -> CritiqueVerdict:
    return CritiqueVerdict(finding=number, verdict="drop", principle=5)


def revise(**changes: object) -> CritiqueVerdict:
    return CritiqueVerdict(finding=1, verdict="revise", principle=7, **changes)  # type: ignore[arg-type]


def test_what_is_small_is_dropped() -> None:
    """A finding that is not grave goes, and the principle is told."""
    made = judged([SMALL], [drop()])
    assert made.kept == ()
    assert made.notes == (f"dropped by principle 5: {PATH}:3",)


@pytest.mark.parametrize("grave", GRAVE)
def test_what_is_grave_stays(grave: ModelFinding) -> None:
    """A verdict lowers a grave finding by one level at most, and never drops it."""
    assert judged([grave], [drop()]).kept == (demoted(grave),)
    assert judged([grave], [revise(severity="info")]).kept == (demoted(grave),)


def test_a_severity_is_never_raised() -> None:
    """What the verdict holds to be worse stays what it was; what it holds to be less is less."""
    assert judged([SMALL], [revise(severity="critical")]).kept == (SMALL,)
    (lower,) = judged([SMALL], [revise(severity="info")]).kept
    assert lower.severity is Severity.INFO


def test_revised_words() -> None:
    """New words are made as harmless as the first ones; an empty title changes nothing."""
    (kept,) = judged([SMALL], [revise(title="", explanation="a\u202e\nb")]).kept
    assert (kept.title, kept.explanation) == (SMALL.title, "a b")


def test_odd_verdicts() -> None:
    """One without a verdict is kept, of two about one the first counts, and numbers of nothing are passed over."""
    keep = CritiqueVerdict(finding=1, verdict="keep")
    assert judged([SMALL, SMALL], [keep, drop(1), drop(0), drop(9), drop(-1)]).kept == (SMALL, SMALL)


@pytest.mark.parametrize("error", [BudgetSpent("spent"), ModelDeclined("no"), ModelUnavailable("gone"), None])
def test_a_failed_critique_keeps_everything(error: Exception | None) -> None:
    """Whatever the model does instead of judging, the findings stay."""
    model = Answering(critique=[error or "fine, all of it"])
    made = criticised(model, [SMALL], [()], {PATH: AFTER}, "1. One.")
    assert made.kept == (SMALL,)
    assert made.notes[0].startswith("no critique, everything is kept: ")


def test_the_critique_is_told_the_principles_and_the_past() -> None:
    """The weak model sees the principles, the finding, its code, and what people made of the like."""
    model = Answering()
    near = (SimilarFinding(opinion=MaintainerOpinion(text="The first is skipped", accepted=False), cosine=0.7),)
    criticised(model, [SMALL], [near], {PATH: AFTER}, "1. Be $kind.")
    (ask,) = model.asked
    assert ask.tier is Tier.WEAK
    assert "1. Be $kind." in ask.messages[0].text
    (told,) = model.told("critique")
    assert "rejected: The first is skipped" in told
    assert "   3   |     total = sum(sums[1:])" in told


def test_nothing_is_asked_of_nothing() -> None:
    """Without findings there is no call."""
    model = Answering()
    assert criticised(model, [], [], {}, "").kept == ()
    assert model.asked == []


def near(*accepted: bool, cosine: float = 0.9) -> list[SimilarFinding]:
    return [SimilarFinding(opinion=MaintainerOpinion(text="x", accepted=each), cosine=cosine) for each in accepted]


@pytest.mark.parametrize(
    ("opinions", "unwanted"),
    [
        (near(False, False), True),
        (near(False), False),
        (near(False, False, True), False),
        (near(False, False, cosine=0.84), False),
        ([*near(False, False), *near(True, cosine=0.84)], True),
        ([], False),
    ],
)
def test_unwanted(opinions: list[SimilarFinding], unwanted: bool) -> None:
    """Rejected twice in the same words and never accepted."""
    assert is_unwanted(opinions) is unwanted


def test_what_is_unwanted_is_demoted_not_dropped() -> None:
    """A grave finding that people rejected twice is said one level lower."""
    (kept,) = criticised(Answering(), [GRAVE[0]], [near(False, False)], {PATH: AFTER}, "1. One.").kept
    assert kept.severity is Severity.MINOR


def test_nearest() -> None:
    """Opinions come by their likeness, without those that are unlike; without any there is nothing to embed."""
    past = [
        MaintainerOpinion(text="open files are never closed", accepted=True),
        MaintainerOpinion(text="sum is wrong", accepted=False),
    ]
    (found,) = nearest(["the sum is wrong"], past, HashedWords())
    assert [each.opinion for each in found] == [past[1]]
    assert nearest(["a", "b"], (), HashedWords()) == [(), ()]


def test_principles(tmp_path: Path) -> None:
    """Ours are ten, and the operator's replace them."""
    assert len(principles(None).splitlines()) == 10
    own = tmp_path / "own.md"
    own.write_text("1. Be kind.\n")
    assert load(WorkerSettings, model_principles=own).model_principles == own
    assert principles(own) == "1. Be kind."


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read: No such file"), (b"\xff", "not UTF-8"), (b"Be kind.", "no principle")]
)
def test_principles_that_are_none(tmp_path: Path, content: bytes | None, said: str) -> None:
    """A file that is missing, no text or without a principle is refused at the start, in one line."""
    own = tmp_path / "own.md"
    if content is not None:
        own.write_bytes(content)
    with pytest.raises(BadInput, match=said) as refused:
        load(WorkerSettings, model_principles=own)
    assert "APPRENTICE_MODEL_PRINCIPLES" in str(refused.value)
