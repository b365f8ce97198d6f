"""What is proposed first, and how far it is to be trusted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.model import Confidence, Doubt, EditShape
from workers.repair.candidates import Candidate
from workers.repair.judging.overfit_signs import EditKind
from workers.repair.judging.ranking import PlausibleEdit, PlausibleEdits, description_length, ranked
from workers.repair.running.forkserver import Observed, ObservedCall


def candidate(score: float) -> Candidate:
    shape = EditShape(template="t", before="", after="")
    return Candidate(path="a.py", source="", line=1, function="f", template="t", strategy="s", shape=shape, score=score)


def behaves(outcome: str, *, broken: int = 0, mistyped: int = 0) -> Observed:
    call = ObservedCall(key="k", call="f(1)", outcome=outcome, text=outcome, raised=False, inside=True)
    return Observed(calls=(call,), broken=broken, mistyped=mistyped)


def plausible(*each: tuple[float, Observed | None]) -> PlausibleEdits:
    edits = (
        PlausibleEdit(candidate=candidate(score), observed=seen, kind=EditKind.PLAIN, size=1) for score, seen in each
    )
    return PlausibleEdits(edits=tuple(edits), unedited=None, raising=False, thorough=True, suspicion=1.0)


def of_kinds(before: PlausibleEdits, *kinds: EditKind) -> PlausibleEdits:
    return replace(before, edits=tuple(replace(e, kind=kind) for e, kind in zip(before.edits, kinds, strict=True)))


def test_a_single_edit_is_unique() -> None:
    """Nothing else passes the tests, and nothing is to be asked."""
    judged = ranked(plausible((0.5, None)))
    assert (judged.order, judged.confidence, judged.doubt, judged.clusters) == ((0,), Confidence.UNIQUE, Doubt.NONE, 1)
    assert judged.rival is None


def test_edits_that_behave_alike_agree() -> None:
    """The likeliest of them is first."""
    judged = ranked(plausible((0.4, behaves("a")), (0.5, behaves("a"))))
    assert (judged.order, judged.confidence, judged.alike, judged.clusters) == ((1, 0), Confidence.AGREED, 2, 1)


def test_edits_that_behave_differently_are_disputed() -> None:
    """The best of the runner-up is the rival to be shown."""
    judged = ranked(plausible((0.5, behaves("a")), (0.2, behaves("b")), (0.3, behaves("b"))))
    assert (judged.order, judged.confidence, judged.clusters) == ((0, 2, 1), Confidence.DISPUTED, 2)
    assert judged.rival == 2
    assert judged.share == pytest.approx(0.5 / (0.5 + 0.3 + 0.6 * 0.2))


def test_an_edit_that_was_not_observed_is_not_said_to_behave_otherwise() -> None:
    """It stays apart, and one whose behaviour is known to differ is asked about before it."""
    judged = ranked(plausible((0.5, behaves("a")), (0.4, None), (0.2, behaves("b"))))
    assert (judged.clusters, judged.uncompared, judged.confidence) == (2, 1, Confidence.DISPUTED)
    assert (judged.order, judged.rival) == ((0, 1, 2), 2)
    judged = ranked(plausible((0.5, behaves("a")), (0.4, behaves("a")), (0.2, None)))
    assert (judged.clusters, judged.uncompared, judged.confidence, judged.rival) == (1, 1, Confidence.DISPUTED, 2)


def test_several_edits_that_behave_alike_outweigh_a_likelier_one() -> None:
    """What many different edits come to is likelier right than what one does."""
    judged = ranked(plausible((0.5, behaves("a")), (0.4, behaves("b")), (0.4, behaves("b"))))
    assert judged.order == (1, 2, 0)


def test_edits_that_cannot_be_compared_are_not_said_to_agree() -> None:
    """Without any observation, or a common call, nothing is known."""
    assert ranked(plausible((0.5, None), (0.4, None))).confidence is Confidence.UNCOMPARED


@pytest.mark.parametrize(
    ("kind", "thorough", "doubt"),
    [
        (EditKind.PLAIN, True, Doubt.NONE),
        (EditKind.PLAIN, False, Doubt.SEARCH_CUT),
        (EditKind.WIDENED, True, Doubt.PRONE),
        (EditKind.GUARD, False, Doubt.PRONE),
        (EditKind.DELETED, True, Doubt.SILENCES),
        (EditKind.SHIFTED, True, Doubt.COINCIDES),
        (EditKind.AS_TEXT, True, Doubt.COINCIDES),
    ],
)
def test_a_unique_edit_may_be_doubtful(kind: EditKind, thorough: bool, doubt: Doubt) -> None:
    """An edit of a kind that overfits, or one that was found by a search cut short, is asked about."""
    assert ranked(replace(of_kinds(plausible((0.5, None)), kind), thorough=thorough)).doubt is doubt


def test_an_unlikely_edit_is_doubtful_even_if_another_agrees() -> None:
    """Among many edits that were tried some pass by chance."""
    assert ranked(plausible((0.05, None))).doubt is Doubt.FAR_FETCHED
    assert ranked(plausible((0.05, behaves("a")), (0.05, behaves("a")))).doubt is Doubt.FAR_FETCHED
    assert ranked(replace(plausible((0.05, None)), suspicion=0.1)).doubt is Doubt.NONE


def test_a_kind_that_overfits_is_ranked_behind() -> None:
    """Weakening a condition needs far better a place to be proposed before another edit."""
    both = plausible((0.5, behaves("a")), (0.4, behaves("b")))
    assert ranked(of_kinds(both, EditKind.WIDENED, EditKind.PLAIN)).order == (1, 0)


@pytest.mark.parametrize("bad", [behaves("a", broken=1), behaves("a", mistyped=1)])
def test_docstrings_and_annotations_count(bad: Observed) -> None:
    """An edit that breaks an example, or gives another type, that its rival does not, is ranked behind it."""
    assert ranked(plausible((0.5, bad), (0.4, behaves("b")))).order == (1, 0)


@pytest.mark.parametrize(("score", "order"), [(0.5, (1, 0)), (0.3, (1, 0)), (0.1, (0, 1))])
def test_of_edits_that_behave_alike_the_smaller_is_first(score: float, order: tuple[int, ...]) -> None:
    """Which of two edits of about the same worth changes less; one that is far less likely stays behind."""
    large, small = plausible((0.5, behaves("a")), (score, behaves("a"))).edits
    both = replace(plausible(), edits=(replace(large, size=9), replace(small, size=2)))
    assert ranked(both).order == order


@pytest.mark.parametrize(
    ("before", "after", "size"),
    [
        ("abc", "abc", 0),
        ("abc", "abbc", 1),
        ("aa", "aaa", 1),
        ("", "ab", 2),
        ("abc", "axc", 2),
        ("range(n - 1)", "range(n)", 1),
        ("range(n - 1)", "range(n + 1)", 2),
        ("range(n - 1)", "f(n)", 4),
    ],
)
def test_the_size_of_an_edit_is_what_it_writes_and_that_it_removes(before: str, after: str, size: int) -> None:
    """Common beginnings and ends do not count, nor do they overlap; it does not matter how much goes."""
    assert description_length(before, after) == size


def test_edits_without_one_of_them_are_ranked_as_the_others_are() -> None:
    """What was disputed by an edit that breaks the suite is disputed no more."""
    three = plausible((0.5, behaves("a")), (0.4, behaves("b")), (0.3, behaves("a")))
    left = three.only((three.edits[0].candidate, three.edits[2].candidate))
    assert [edit.candidate.score for edit in left.edits] == [0.5, 0.3]
    assert ranked(left).confidence is Confidence.AGREED


def test_of_edits_that_behave_alike_the_accepted_kind_is_first() -> None:
    """Of about equal worth, an edit of a kind that is accepted twice as often comes before a smaller one."""
    small, large = plausible((0.6, behaves("1")), (0.4, behaves("1"))).edits
    both = replace(plausible(), edits=(small, replace(large, size=30)))
    assert ranked(both).order == (0, 1)
    judged = replace(both, edits=(replace(small, weight=0.4), replace(large, size=30, weight=1.5)))
    assert ranked(judged).order == (1, 0)


def test_a_disliked_kind_is_not_far_fetched_for_that() -> None:
    """What verdicts took from an edit's score is no doubt about whether it is right."""
    disliked = plausible((0.05, None))
    assert ranked(disliked).doubt is Doubt.FAR_FETCHED
    edits = tuple(replace(each, weight=0.1) for each in disliked.edits)
    assert ranked(replace(disliked, edits=edits)).doubt is Doubt.NONE
