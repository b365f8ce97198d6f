"""Edits are observed on calls like those of the tests, in the sandbox, and agree or are told apart by a call."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memory.model import EditShape, Failure, Family
from tests.projects import PYPROJECT
from workers.ports import Limits
from workers.repair.attempt import Shortlist
from workers.repair.candidates import Candidate
from workers.repair.judging.overfit_signs import EditKind
from workers.repair.judging.ranking import Comparer, PlausibleEdit, PlausibleEdits, clusters, distinguishing_call
from workers.repair.reproduce import ScreeningTests
from workers.repair.running.forkserver import Observe, Observed
from workers.repair.running.runner_pool import RunnerPool, pool_for
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover

pytestmark = pytest.mark.sandbox

LIMITS = Limits(wall_seconds=60, cpu_seconds=20)

SHOP = {
    "pyproject.toml": PYPROJECT,
    "shop/__init__.py": "",
    "shop/till.py": '''
        """Adding up."""
        import functools

        def logged(function):
            @functools.wraps(function)
            def wrapper(*arguments, **named):
                return function(*arguments, **named)
            return wrapper

        class Till:
            def __init__(self, discount=0):
                self.discount = discount
                self.taken = []

            def take(self, amount):
                self.taken.append(amount)
                return self

            @property
            def last(self):
                return self.taken[-1]

            @last.setter
            def last(self, amount):
                self.taken[-1] = amount

            @logged
            def total(self):
                return largest(self.taken) - self.discount

        def largest(amounts: list[int]) -> int:
            """The largest of the amounts.

            >>> largest([4, 2])
            4
            """
            best = amounts[0]
            for amount in amounts:
                if amount < best:
                    best = amount
            return best

        def pairs(amounts):
            for one, other in zip(amounts, amounts[1:]):
                yield one + other
    ''',
    "tests/test_till.py": """
        from shop.till import Till, largest, pairs

        def test_largest():
            assert largest([3, 9, 5]) == 9

        def test_total():
            assert Till(1).take(4).take(6).total() == 5

        def test_pairs():
            assert list(pairs([1, 2, 3])) == [3, 5]

        def test_last():
            till = Till(1).take(4)
            till.last = 6
            assert till.last == 6
    """,
}
TILL = "shop/till.py"
FAILING = ("tests/test_till.py::test_largest", "tests/test_till.py::test_total")
FAILURE = Failure(error_type="AssertionError", family=Family.ASSERTION, message="", frames=(), failing_tests=FAILING)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Project:
    tree = tmp_path_factory.mktemp("shop")
    write(tree, SHOP)
    return discover(tree, python=None, test_command=None)


@pytest.fixture(scope="module")
def screen(shop: Project) -> Iterator[RunnerPool]:
    wanted = ScreeningTests(failing=FAILING, covering=("tests/test_till.py::test_pairs",), seconds=1.0)
    with pool_for(Bubblewrap(), shop, wanted, limits=LIMITS) as opened:
        assert not opened.note
        yield opened


def write(tree: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")


def edit(project: Project, old: str, new: str, function: str = "largest") -> Candidate:
    source = (project.tree / TILL).read_text(encoding="utf-8")
    assert old in source
    edited = source.replace(old, new, 1)
    line = source[: source.index(old)].count("\n") + 1
    shape = EditShape(template="t", before=old, after=new)
    return Candidate(
        path=TILL, source=edited, line=line, function=function, template="t", strategy="s", shape=shape, score=0.5
    )


def wanted(function: str = "largest", *, unedited: bool = False) -> Observe:
    return Observe(path=TILL, function=function, seed=1, inputs=80, seconds=1.0, constants=(), unedited=unedited)


def observed(screen: RunnerPool, candidate: Candidate, observe: Observe) -> Observed:
    seen = screen.observed(candidate, observe)
    assert seen is not None
    return seen


def compared(each: Sequence[tuple[Candidate, Observed]]) -> PlausibleEdits:
    edits = (PlausibleEdit(candidate=edit, observed=seen, kind=EditKind.PLAIN, size=1) for edit, seen in each)
    return PlausibleEdits(edits=tuple(edits), unedited=None, raising=False, thorough=True, suspicion=1.0)


def comparer(project: Project) -> Comparer:
    sources = {TILL: (project.tree / TILL).read_text(encoding="utf-8")}
    return Comparer(sources=sources, failure=FAILURE, suspicion=1.0, verdicts={})


def test_an_edit_is_observed_on_the_calls_of_the_tests_and_on_others(shop: Project, screen: RunnerPool) -> None:
    """The edited function is called as the tests were seen to call it, and with arguments like theirs."""
    seen = observed(screen, edit(shop, "amount < best", "amount > best"), wanted())
    assert (seen.broken, seen.mistyped) == (0, 0)
    by_call = {call.call: call for call in seen.calls}
    assert by_call["largest([3, 9, 5])"].text == "9"
    assert by_call["largest([])"].raised
    assert len([call for call in seen.calls if call.call.startswith("largest")]) > 25
    assert {"pairs([1, 2, 3])", "Till(discount=1, taken=[]).take(4)"} <= by_call.keys()


def test_the_same_seed_observes_the_same(shop: Project, screen: RunnerPool) -> None:
    """Two processes make the same calls, and see the same."""
    candidate = edit(shop, "amount < best", "amount > best")
    assert observed(screen, candidate, wanted()) == observed(screen, candidate, wanted())


def test_edits_that_do_the_same_agree(shop: Project, screen: RunnerPool) -> None:
    """Two ways of writing one thing end alike on every call."""
    edits = [edit(shop, "amount < best", "amount > best"), edit(shop, "amount < best", "best < amount")]
    assert clusters(compared([(each, observed(screen, each, wanted())) for each in edits])) == [[0, 1]]


@pytest.mark.parametrize(
    ("module", "value"),
    [
        ("time", "int(time.time() * 1e6)"),
        ("random", "random.randrange(10**6)"),
        ("uuid", "uuid.uuid4().int"),
        ("secrets", "secrets.randbits(20)"),
    ],
)
def test_time_and_chance_tell_no_edits_apart(shop: Project, screen: RunnerPool, module: str, value: str) -> None:
    """Each call sees the same clock and the same chance, which go on while it runs."""
    codes = (f"best + {value}", f"{value} + best", f"best + ({value} != {value})")
    edits = [edit(shop, "return best", f"import {module}\n    return {code}") for code in codes]
    seen = [(each, observed(screen, each, wanted())) for each in edits]
    assert clusters(compared(seen)) == [[0, 1], [2]]
    assert {call.call: call.text for call in seen[2][1].calls}["largest([3, 9, 5])"] == "4"


@pytest.mark.parametrize(("often", "comparable"), [("len(amounts) == 3", True), ("True", False)])
def test_what_ends_otherwise_each_time_is_not_compared(
    shop: Project, screen: RunnerPool, often: str, comparable: bool
) -> None:
    """Calls that the kernel's chance decides about are left out, and edits are not compared where these are most calls."""
    value = f"({often} and int.from_bytes(open('/dev/urandom', 'rb').read(8), 'big'))"
    edits = tuple(edit(shop, "return best", f"return {code}") for code in (f"best + {value}", f"{value} + best"))
    field = comparer(shop).compared(Shortlist(candidates=edits, thorough=True), screen.observed, 1)
    assert field.comparable() is comparable
    assert (clusters(field) == [[0, 1]]) is comparable


def test_an_edit_that_only_fits_the_tests_is_told_apart(shop: Project, screen: RunnerPool) -> None:
    """An edit that passes the same tests by chance is found out by a call that was not in them."""
    listed = Shortlist(
        candidates=(
            edit(shop, "return best", "return amounts[1]"),
            edit(shop, "amount < best", "amount > best"),
            edit(shop, "amount < best", "best < amount"),
        ),
        thorough=True,
    )
    field = comparer(shop).compared(listed, screen.observed, 1)
    assert clusters(field) == [[0], [1, 2]]
    told = distinguishing_call(field, 1, 0, "diff")
    assert told is not None
    assert told.call.startswith("largest(")
    assert told.this != told.other


def test_errors_of_one_type_are_told_apart_by_their_texts(shop: Project, screen: RunnerPool) -> None:
    """An edit that drops what an error tells does not behave like one that keeps it; an address in it tells nothing."""
    raising = "if len(amounts) != 3:\n        raise RuntimeError({})\n    return best"
    arguments = ("'%s amounts' % len(amounts)", "str(len(amounts)) + ' amounts'", "amounts", "object()", "object()")
    edits = [edit(shop, "return best", raising.format(each)) for each in arguments]
    field = compared([(each, observed(screen, each, wanted())) for each in edits])
    assert clusters(field) == [[0, 1], [2], [3, 4]]
    shown = distinguishing_call(field, 0, 2, "diff")
    assert shown.this.startswith("raises RuntimeError('")
    assert shown.other.startswith("raises RuntimeError([")


def test_the_unedited_code_is_observed_on_the_calls_of_an_edit(shop: Project, screen: RunnerPool) -> None:
    """Where it raises as well the input is probably not allowed."""
    candidate = edit(shop, "amount < best", "amount > best")
    before = observed(screen, candidate, wanted(unedited=True))
    by_call = {call.call: call for call in before.calls}
    assert by_call["largest([3, 9, 5])"].text == "3"
    assert by_call["largest([])"].raised


def test_results_of_another_type_and_broken_examples_are_counted(shop: Project, screen: RunnerPool) -> None:
    """An annotation and a docstring's example are held against an edit."""
    seen = observed(screen, edit(shop, "return best", "return str(best)"), wanted())
    assert seen.broken == 1
    assert seen.mistyped > 20


def test_methods_are_called_on_copies_of_what_they_were_called_on(shop: Project, screen: RunnerPool) -> None:
    """What a method does to its object is part of how it ends."""
    quiet = observed(
        screen, edit(shop, "return self\n", "return self  # as it was\n", "Till.take"), wanted("Till.take")
    )
    twice = edit(shop, "self.taken.append(amount)\n", "self.taken.extend([amount, amount])\n", "Till.take")
    other = observed(screen, twice, wanted("Till.take"))
    assert clusters(compared([(twice, quiet), (twice, other)])) == [[0], [1]]


def test_the_use_of_a_property_is_told_as_people_write_it(shop: Project) -> None:
    """Neither reading nor setting it looks like a call."""
    tests = ScreeningTests(failing=(), covering=("tests/test_till.py::test_last",), seconds=1.0)
    with pool_for(Bubblewrap(), shop, tests, limits=LIMITS) as opened:
        seen = observed(opened, edit(shop, "self.taken[-1]\n", "self.taken[0]\n", "Till.last"), wanted("Till.last"))
    calls = {call.call for call in seen.calls}
    assert {"Till(discount=1, taken=[4]).last = 6", "Till(discount=1, taken=[6]).last"} <= calls


def test_endless_and_fatal_edits_are_survived(shop: Project, screen: RunnerPool) -> None:
    """A call that never ends is cut off, and an edit that ends the process leaves nothing known of it."""
    endless = edit(
        shop, "    for amount in amounts:", "    while len(amounts) > 3:\n        pass\n    for amount in amounts:"
    )
    assert "does not end" in {call.text for call in observed(screen, endless, wanted()).calls}
    fatal = edit(shop, "    best = amounts[0]", "    import os\n    os._exit(3)\n    best = amounts[0]")
    assert screen.observed(fatal, wanted()) is None


def test_an_edit_that_has_to_be_imported_anew_is_observed_as_well(shop: Project, screen: RunnerPool) -> None:
    """What cannot be swapped into memory is imported; the calls are the same."""
    fresh = edit(shop, "import functools\n", "import functools\nRATE = 2\n")
    fresh = replace(fresh, source=fresh.source.replace("amount < best", "amount > best"))
    swapped = observed(screen, edit(shop, "amount < best", "amount > best"), wanted())
    seen = observed(screen, fresh, wanted())
    assert clusters(compared([(fresh, seen), (fresh, swapped)])) == [[0, 1]]
    assert len(seen.calls) == len(swapped.calls)
