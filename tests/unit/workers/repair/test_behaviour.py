"""Edits that behave alike are one; what tells two apart is said as simply as can be."""

from __future__ import annotations

from msgspec.structs import replace

from memory.model import DistinguishingCall, EditShape
from workers.repair.candidates import Candidate
from workers.repair.judging.overfit_signs import EditKind
from workers.repair.judging.ranking import PlausibleEdit, PlausibleEdits, clusters, distinguishing_call
from workers.repair.running.forkserver import Observed, ObservedCall


def call(key: str, outcome: str, *, inside: bool = True, raised: bool = False) -> ObservedCall:
    return ObservedCall(key=key, call=f"f({key})", outcome=outcome, text=outcome, raised=raised, inside=inside)


def observed(*calls: ObservedCall) -> Observed:
    return Observed(calls=calls, broken=0, mistyped=0)


EDIT = Candidate(
    path="a.py",
    source="",
    line=1,
    function="f",
    template="t",
    strategy="s",
    shape=EditShape(template="t", before="", after=""),
    score=1.0,
)


def compared(*each: Observed | None, unedited: Observed | None = None, raising: bool = False) -> PlausibleEdits:
    edits = (PlausibleEdit(candidate=EDIT, observed=seen, kind=EditKind.PLAIN, size=1) for seen in each)
    return PlausibleEdits(edits=tuple(edits), unedited=unedited, raising=raising, thorough=True, suspicion=1.0)


ONE = observed(call("1", "a"), call("22", "b"))
OTHER = observed(call("1", "a"), call("22", "c"))


def test_edits_with_the_same_outcomes_are_one_cluster() -> None:
    """Equal outcomes on all common calls make two edits alike, one different outcome does not."""
    assert clusters(compared(ONE, OTHER, ONE)) == [[0, 2], [1]]


def test_an_edit_of_which_nothing_is_known_stands_alone() -> None:
    """What could not be observed agrees with nothing."""
    assert clusters(compared(ONE, None, ONE, None)) == [[0, 2], [1], [3]]


def test_only_calls_that_all_were_put_to_are_compared() -> None:
    """A call that one process came to and another did not tells nothing."""
    more = observed(*ONE.calls, call("333", "d"))
    assert clusters(compared(more, ONE)) == [[0, 1]]
    assert not compared(ONE, observed(call("9", "x"))).comparable()


def test_a_difference_on_a_call_that_breaks_the_habits_of_the_tests_is_none() -> None:
    """What happens on inputs unlike any that the tests use may be nobody's concern."""
    strange = compared(observed(call("1", "a", inside=False)), observed(call("1", "b", inside=False)))
    assert clusters(strange) == [[0, 1]]


def test_a_difference_on_a_call_that_always_raised_is_none_unless_raising_is_the_bug() -> None:
    """Where the unedited code raises an input is probably not allowed, except when that is what is to be repaired."""
    before = observed(call("1", "a"), call("22", "raises", raised=True))
    assert clusters(compared(ONE, OTHER, unedited=before)) == [[0, 1]]
    assert clusters(compared(ONE, OTHER, unedited=before, raising=True)) == [[0], [1]]


def test_the_distinguishing_call_is_a_simple_one_on_which_nothing_raises() -> None:
    """Of those that differ, one whose results can be looked at, and the shortest."""
    left = observed(call("1", "raises", raised=True), call("4444", "a"), call("333", "a"), call("22", "same"))
    right = observed(call("1", "x"), call("4444", "b"), call("333", "b"), call("22", "same"))
    assert distinguishing_call(compared(left, right), 0, 1, "diff") == DistinguishingCall(
        call="f(333)", this="a", other="b", patch="diff"
    )


def test_a_call_whose_results_read_alike_tells_less() -> None:
    """What it does to its arguments may differ; a longer call with other results says more."""
    one, other = replace(call("1", "a"), text="False"), replace(call("1", "b"), text="False")
    shown = distinguishing_call(
        compared(observed(one, call("333", "a")), observed(other, call("333", "b"))), 0, 1, "diff"
    )
    assert shown == DistinguishingCall(call="f(333)", this="a", other="b", patch="diff")
    assert distinguishing_call(compared(observed(one), observed(other)), 0, 1, "diff").call == "f(1)"


def test_nothing_tells_edits_apart_that_are_alike_or_unknown() -> None:
    """There is no call to show, only the other edit."""
    for other in (ONE, None):
        shown = distinguishing_call(compared(ONE, other), 0, 1, "diff")
        assert (shown.call, shown.patch) == ("", "diff")
