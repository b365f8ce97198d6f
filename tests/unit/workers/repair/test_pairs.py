"""Second edits build on near misses."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from memory.model import EditShape, Failure, Family
from memory.skills import name_of, parts_of
from workers.repair.candidates import Candidate, ScreenVerdict, Suspect
from workers.repair.engines.search.candidate_order import nearness
from workers.repair.engines.search.search import SearchSpace

BROKEN = "def spread(rows, n):\n    low = max(rows)\n    high = max(rows)\n    return low - high > n\n"
HALF = BROKEN.replace("low = max", "low = min")
WHOLE = HALF.replace("low - high", "high - low")

SUSPECTS = [Suspect(path="it.py", line=line, score=0.8) for line in (2, 3, 4)]


def failing(message: str = "", *, tests: int = 1, error: str = "AssertionError") -> Failure:
    names = tuple(f"tests/test_it.py::test_{n}" for n in range(tests))
    family = Family.ASSERTION if error == "AssertionError" else Family.TYPE
    return Failure(error_type=error, family=family, message=message, frames=(), failing_tests=names)


SPACE = SearchSpace(sources={"it.py": BROKEN}, suspects=SUSPECTS, failure=failing())


def first(source: str = HALF) -> Candidate:
    found = SPACE.proposed()
    return next(candidate for candidate in found if candidate.source == source)


def verdict(*, passed: int = 0, error: str = "AssertionError", message: str = "") -> ScreenVerdict:
    return ScreenVerdict(candidate=first(), plausible=False, passed=passed, error_type=error, message=message)


def test_a_second_edit_completes_the_first() -> None:
    """Where two lines are wrong, mending the one leads to the candidate that mends both."""
    found = list(islice(SPACE.pairs([(first(), 1.0)]), 600))
    whole = next(candidate for candidate in found if candidate.source == WHOLE)
    assert whole.template == "counterpart+swapped_operands"
    assert (whole.line, whole.function) == (2, "spread")


def test_two_learned_edits_make_one_patch() -> None:
    """A learned second edit comes before all others, and the pair names the skills of both of its edits."""
    near = replace(first(), skills=(name_of(first().shape),))
    pairs = {c.source: c for c in SPACE.pairs([(near, 1.0)])}
    second = parts_of(pairs[WHOLE].shape)[1]
    learned = next(SPACE.pairs([(near, 1.0)], replay={second: 1.0}))
    assert learned.source == WHOLE
    assert learned.skills == (name_of(near.shape), name_of(second))
    assert pairs[WHOLE].skills == near.skills
    assert next(iter(pairs)) != WHOLE, "without the skill others come first"


def test_no_pair_is_the_original_again() -> None:
    """The first edit is not simply undone, and each pair differs from the first edit alone."""
    sources = [c.source for c in islice(SPACE.pairs([(first(), 1.0)]), 600)]
    assert len(set(sources)) == len(sources)
    assert BROKEN not in sources
    assert HALF not in sources


def test_suspects_follow_the_lines_that_the_first_edit_moved() -> None:
    """Behind inserted lines the second edit finds the line that was meant, and the inserted ones are open to edits."""
    source = "def f(a, b):\n    c = a\n    return c < b\n"
    longer = source.replace("    c = a\n", "    if not a:\n        return None\n    c = a\n")
    shape = EditShape(template="empty_guard", before="", after="")
    guard = Candidate(
        path="it.py",
        source=longer,
        line=2,
        function="f",
        template="empty_guard",
        strategy="guards",
        shape=shape,
        score=0.4,
    )
    only = [Suspect(path="it.py", line=3, score=0.9)]
    texts = {
        c.source for c in SearchSpace(sources={"it.py": source}, suspects=only, failure=failing()).pairs([(guard, 1.0)])
    }
    assert longer.replace("c < b", "c <= b") in texts
    assert longer.replace("return None", "return False") in texts


def test_several_near_misses_are_taken_best_first() -> None:
    """The pairs of the nearer miss come first, and the scores never rise."""
    other = first(BROKEN.replace("high = max", "high = min"))
    found = list(islice(SPACE.pairs([(first(), 1.0), (other, 0.1)]), 300))
    scores = [candidate.score for candidate in found]
    assert scores == sorted(scores, reverse=True)
    assert "low = min" in found[0].source


TWICE = "def parsed(a, b):\n    low = int(a, 16)\n    high = int(b, 16)\n    return range(low, high)\n"


def test_the_same_edit_is_made_at_several_places() -> None:
    """Two lines that are wrong alike are mended by one candidate, soon after the edits at each of them."""
    space = SearchSpace(sources={"it.py": TWICE}, suspects=SUSPECTS, failure=failing())
    found = [candidate.source for candidate in islice(space.proposed(), 400)]
    decimal = [TWICE.replace(*digits) for digits in (("int(a, 16)", "int(a)"), ("int(b, 16)", "int(b)"))]
    both = TWICE.replace(", 16)", ")")
    assert found.index(both) - max(map(found.index, decimal)) < 10
    mixed = decimal[0].replace("int(b, 16)", "int(b, 17)")
    assert mixed not in found, "other edits are no twins"


def test_a_learned_edit_is_made_at_one_place_at_a_time() -> None:
    """Else the places of one would fill the turn that all learned edits have."""
    space = SearchSpace(sources={"it.py": TWICE}, suspects=SUSPECTS, failure=failing())
    shape = next(each.shape for each in space.proposed() if each.template == "superfluous_argument")
    found = [candidate.source for candidate in space.proposed((), replay={shape: 1.0})]
    assert TWICE.replace("int(a, 16)", "int(a)") in found
    assert TWICE.replace(", 16)", ")") not in found


def test_a_name_is_exchanged_at_several_places_for_the_same_name_only() -> None:
    """The shape of such an edit fits any names; together are those that write the same one."""
    source = "def total(a, b, c):\n    low = min(a, 1)\n    high = max(a, 2)\n    return low + high\n"
    space = SearchSpace(sources={"it.py": source}, suspects=SUSPECTS, failure=failing())
    found = [candidate.source for candidate in islice(space.proposed(("names",)), 400)]
    assert source.replace("(a, 1)", "(b, 1)").replace("(a, 2)", "(b, 2)") in found
    assert source.replace("(a, 1)", "(b, 1)").replace("(a, 2)", "(c, 2)") not in found


@pytest.mark.parametrize(
    ("seen", "failure", "least"),
    [
        (verdict(passed=1), failing(tests=2), 0.7),
        (verdict(message="assert 3 == 8"), failing("assert 2 == 4"), 0.2),
        (verdict(message="assert 2 == 4"), failing("'int' is not iterable", error="TypeError"), 0.3),
        (verdict(message="Lists differ: [7] != [7, 8]\n\nFirst"), failing("Lists differ: [16] != [10]\n\nFirst"), 0.3),
        (verdict(message="3 != 4 : of b"), failing("2 != 1 : of a"), 0.3),
    ],
    ids=["a test passes", "another assertion", "an assertion instead", "other lists of unittest", "others of unittest"],
)
def test_what_changes_the_failure_is_near(seen: ScreenVerdict, failure: Failure, least: float) -> None:
    """A test that passes tells most; another assertion or error tells less, but something."""
    assert nearness(seen, failure) >= least


@pytest.mark.parametrize(
    ("seen", "failure"),
    [
        (verdict(message="assert 3 == 4"), failing("assert 2 == 4")),
        (verdict(message="Lists differ: [] != [10]\n\nSecond"), failing("Lists differ: [16] != [10]\n\nFirst")),
        (verdict(message="4 != 3"), failing("4 != 2")),
        (verdict(error="Timeout"), failing()),
        (verdict(error="NameError", message="name 'x' is not defined"), failing("", error="TypeError")),
        (verdict(error="TypeError"), failing("assert 2 == 4")),
    ],
    ids=[
        "the same assertion",
        "of unittest",
        "its expected value first",
        "no end",
        "a broken name",
        "an error for an assertion",
    ],
)
def test_what_gets_nowhere_is_left(seen: ScreenVerdict, failure: Failure) -> None:
    """Another wrong value in the same assertion, or a run that breaks earlier, is no step forward."""
    assert nearness(seen, failure) == 0.0
