"""The search: lazy, deduplicated, deterministic, best first; never a test, never a text that does not compile."""

from __future__ import annotations

import itertools
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import dedent
from types import CodeType, FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.model import EditShape, Failure, Family
from workers.repair.candidates import Candidate, Suspect
from workers.repair.engines.search import source_slice
from workers.repair.engines.search.evidence import Evidence
from workers.repair.engines.search.search import SearchSpace
from workers.repair.engines.search.source_slice import SourceModule
from workers.repair.engines.search.templates import STRATEGIES, all_templates, template
from workers.repair.running.in_sandbox.codeswap import fingerprint

STOCK = dedent(
    '''\
    """A store room."""

    class Room:
        """Things by name."""

        def __init__(self, size):
            self.size = size
            self.things = {}

        def put(self, name, count=1):
            """Put some in; the number that did not fit."""
            free = self.size - sum(self.things.values())
            taken = min(count, free)
            if taken < 0:
                return count
            self.things[name] = self.things.get(name, 0) + taken
            return count - taken


    def full(rooms):
        names = []
        for room in rooms:
            if len(room.things) > room.size:
                names.append(room)
        return names
    '''
)


SOME = ("operators", "returns", "names")


def failing(family: Family = Family.ASSERTION, error: str = "AssertionError") -> Failure:
    return Failure(error_type=error, family=family, message="", frames=(), failing_tests=("tests/test_a.py::test_a",))


def suspected(source: str, path: str = "stock.py") -> list[Suspect]:
    return [Suspect(path=path, line=n, score=0.9) for n in range(1, source.count("\n") + 1)]


def candidates(
    source: str = STOCK, weights: Mapping[str, float] = {}, *, repeated: bool = True, **options: object
) -> list[Candidate]:
    chosen = {"strategies": SOME, **options}
    found = suspected(source)
    space = SearchSpace(
        sources={"stock.py": source}, suspects=found, failure=failing(), weights=weights, repeated=repeated
    )
    return list(space.proposed(**chosen))  # type: ignore[arg-type]


@cache
def everything() -> tuple[Candidate, ...]:
    """All candidates of the store room: thousands, so they are made once."""
    return tuple(candidates(strategies=None))


@pytest.mark.parametrize("found", [candidates, pytest.param(everything, marks=pytest.mark.extended)])
def test_candidates_are_complete_modules_that_compile_and_differ(found: Callable[[], Sequence[Candidate]]) -> None:
    """Each candidate is the whole module with one edit; no two compile to the same."""
    meanings = [fingerprint(compile(c.source, "x", "exec")) for c in found()]
    assert len(meanings) > 300
    assert len(set(meanings)) == len(meanings)
    assert fingerprint(compile(STOCK, "x", "exec")) not in meanings


@pytest.mark.extended
def test_candidates_come_best_first() -> None:
    """Scores never rise, and lie within (0, 1]."""
    scores = [c.score for c in everything()]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_equal_arguments_give_equal_candidates() -> None:
    """The seed alone breaks ties: the same seed repeats the order, another may change it but not the set of edits at one place."""
    some = ("boundaries", "returns")
    assert candidates(seed=3, strategies=some) == candidates(seed=3, strategies=some)
    made = [candidates(seed=seed, strategies=some, repeated=False) for seed in (3, 4)]
    meanings = [{fingerprint(compile(each.source, "x", "exec")) for each in found} for found in made]
    assert meanings[0] == meanings[1]


def test_the_likelier_line_comes_first() -> None:
    """A suspect's score decides between equal templates."""
    lines = [Suspect(path="stock.py", line=14, score=0.2), Suspect(path="stock.py", line=23, score=0.9)]
    found = SearchSpace(sources={"stock.py": STOCK}, suspects=lines, failure=failing()).proposed(("operators",))
    first = next(c for c in found if c.template == "comparison_operator")
    assert first.line == 23


@pytest.mark.parametrize("message", ["DID NOT RAISE <class 'ValueError'>", "AssertionError: ValueError not raised"])
def test_where_an_error_is_missing_conditions_of_errors_come_first(message: str) -> None:
    """Of lines that are equally suspected, the one that decides about an error is edited first."""
    source = "def f(a, b):\n    if a:\n        b = 3\n    if b:\n        raise ValueError(b)\n    return b\n"
    lines = [Suspect(path="it.py", line=line, score=0.9) for line in (2, 4)]
    failure = Failure(error_type="Failed", family=Family.ASSERTION, message=message, frames=(), failing_tests=())
    first = next(iter(SearchSpace(sources={"it.py": source}, suspects=lines, failure=failure).proposed(("operators",))))
    assert first.line == 4


def test_the_call_that_an_error_calls_wrong_comes_first() -> None:
    """A TypeError names the function that got the wrong arguments: its calls lose one before others do."""
    source = "def copied(room, new):\n    new.check(room)\n    new.set(room, room.size)\n    return new\n"
    failure = Failure(
        error_type="TypeError",
        family=Family.TYPE,
        message="Room.set() takes 2 positional arguments but 3 were given",
        frames=(),
        failing_tests=("tests/test_stock.py::test_it",),
    )
    found = SearchSpace(sources={"stock.py": source}, suspects=suspected(source), failure=failure).proposed(["calls"])
    less = [each.source.splitlines()[2].strip() for each in found if each.template == "superfluous_argument"]
    assert set(less[:2]) == {"new.set(room)", "new.set(room.size)"}


def test_a_value_with_the_name_of_a_parameter_is_passed_on_first() -> None:
    """A call that could take what is at hand under the same name gets it before any other argument."""
    source = "def soa(zone, kind=1, txn=None):\n    return zone\n\n\ndef sign(zone, txn):\n    return soa(zone)\n"
    found = [each.source for each in candidates(source, strategies=["calls"])]
    assert "soa(zone, txn=txn)" in found[0]


def test_a_candidate_tells_where_it_is() -> None:
    """Line and dotted function name are those of the edit, in classes and at the top level."""
    found = candidates(strategies=("operators",))
    compared = {(c.line, c.function) for c in found if c.template == "comparison_operator"}
    assert compared == {(14, "Room.put"), (23, "full")}


def test_only_the_chosen_strategies_are_tried() -> None:
    """A strategy limits the candidates to its own templates."""
    assert {c.strategy for c in candidates(strategies=("boundaries", "returns"))} == {"boundaries", "returns"}


@pytest.mark.slow
def test_a_shape_that_worked_before_comes_first() -> None:
    """Replaying lifts an unlikely edit to the front; a smaller weight lifts it less."""
    unlikely = candidates()[-1]
    lifted = candidates(replay={unlikely.shape: 1.0})
    assert lifted[0].shape == unlikely.shape
    half = next(c for c in candidates(replay={unlikely.shape: 0.5}) if c.shape == unlikely.shape)
    assert unlikely.score < half.score < lifted[0].score


def test_replay_alone_yields_only_known_shapes() -> None:
    """The pseudo-strategy takes edits from every template, if their shape worked before."""
    shapes = {candidates(strategies=(s,))[0].shape: 0.5 for s in ("operators", "names")}
    found = candidates(strategies=(), replay=shapes)
    assert {c.shape for c in found} == set(shapes)
    assert candidates(strategies=()) == []


def test_a_shape_learned_in_one_place_is_found_in_another() -> None:
    """The edit that repaired one function is the first one tried on its like under other names."""
    here = "def adult(age, limit):\n    return [age] if age.years > limit else []\n"
    there = "def due(bill, today):\n    note = 'late'\n    return note if bill.day > today else None\n"
    repaired = here.replace(">", ">=")
    shape = next(c.shape for c in candidates(here) if c.source == repaired)
    first = candidates(there, replay={shape: 0.9})[0]
    assert first.source == there.replace(">", ">=")


def test_learned_weights_reorder_templates() -> None:
    """A template that never helps falls behind one that does."""
    found = candidates(weights={"comparison_operator": 0.001})
    ranks = [i for i, c in enumerate(found) if c.template == "comparison_operator"]
    plain = [i for i, c in enumerate(candidates()) if c.template == "comparison_operator"]
    assert min(ranks) > max(plain)


def test_the_search_does_no_more_than_asked() -> None:
    """Regions are parsed when their turn comes: an unlikely one is not read for the first candidate."""
    read: list[str] = []

    class Watched(dict[str, str]):
        def __getitem__(self, key: str) -> str:
            read.append(key)
            return super().__getitem__(key)

    many = Watched({f"m{n}.py": STOCK for n in range(3)})
    suspects = [Suspect(path=p, line=14, score=0.9 if p == "m1.py" else 0.1) for p in many]
    found = SearchSpace(sources=many, suspects=suspects, failure=failing()).proposed(("operators",))
    assert read == []
    assert next(found).path == "m1.py"
    assert read == ["m1.py"]


@pytest.mark.parametrize("path", ["tests/helper.py", "test_stock.py", "conftest.py", "gone.py", "broken.py"])
def test_tests_and_what_cannot_be_read_are_left_alone(path: str) -> None:
    """Test files, unknown files and files that do not parse have no candidates."""
    sources = {"tests/helper.py": STOCK, "test_stock.py": STOCK, "conftest.py": STOCK, "broken.py": "def f(:\n  x\n"}
    assert list(SearchSpace(sources=sources, suspects=suspected(STOCK, path), failure=failing()).proposed()) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f(a):\r\n    if a > 1:\r\n        return a\r\n    return 0\r\n",
        "def f(a):\n\tif a > 1:\n\t\treturn 'é→' + a\n\treturn 0",
        "from __future__ import annotations\nx = 1; y = x + 2\nclass A: z = y < 3\n",
        "class A:\n    class B:\n        @property\n        def c(self) -> 'A':\n            return self.d or 0\n",
        "async def f(a):\n    async with a as b:\n        return [x async for x in b if x]\n",
        "def f(a):\n    match a:\n        case [x, 1] if x > 2:\n            return x\n        case _:\n            return 0\n",
        "try:\n    import a\nexcept (ImportError, KeyError):\n    a = None\nelse:\n    a.b(1, *[2], **{})\n",
    ],
)
def test_all_kinds_of_source_are_edited_safely(source: str) -> None:
    """Line ends, tabs, non-ASCII text, nesting and syntax of every kind: candidates compile and differ."""
    found = candidates(source)
    assert len(found) > 5
    for candidate in found:
        compile(candidate.source, "x", "exec")
        assert candidate.source != source


def test_an_edit_leaves_the_rest_of_the_file_alone() -> None:
    """Outside the edited lines every byte stays, so the patch is as small as the edit."""
    for suspect in suspected(STOCK):
        space = SearchSpace(sources={"stock.py": STOCK}, suspects=[suspect], failure=failing())
        for candidate in space.proposed(("operators",)):
            old, new = STOCK.splitlines(), candidate.source.splitlines()
            assert sum(a != b for a, b in itertools.zip_longest(old, new)) == 1


NAMES = st.sampled_from(["a", "b", "rows", "self.x", "f(a)", "0", "3", "None", "'s'", "[]", "a[0]", "f(a, key=b)"])
BINARY = st.sampled_from(["+", "-", "*", "%", "//", "and", "or", "<", "==", "in"])
EXPRESSIONS = st.recursive(
    NAMES,
    lambda e: st.one_of(
        st.tuples(e, BINARY, e).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        e.map(lambda x: f"(not {x})"),
        e.map(lambda x: f"[{x} for i in {x} if {x}]"),
        st.tuples(e, e).map(lambda t: f"({t[0]} if {t[1]} else a)"),
        e.map(lambda x: f"(lambda z: {x})"),
    ),
    max_leaves=5,
)
SIMPLE = st.one_of(
    EXPRESSIONS.map(lambda e: f"return {e}"),
    EXPRESSIONS.map(lambda e: f"b = {e}"),
    EXPRESSIONS.map(lambda e: f"b += {e}"),
    EXPRESSIONS.map(lambda e: f"f({e})"),
    EXPRESSIONS.map(lambda e: f"raise ValueError({e})"),
    st.just("pass"),
)


def _block(header: str, body: list[str]) -> str:
    return "\n".join([header, *(f"    {line}" for part in body for line in part.split("\n"))])


STATEMENTS = st.recursive(
    SIMPLE,
    lambda s: st.one_of(
        st.tuples(EXPRESSIONS, st.lists(s, min_size=1, max_size=2)).map(lambda t: _block(f"if {t[0]}:", t[1])),
        st.tuples(EXPRESSIONS, st.lists(s, min_size=1, max_size=2)).map(lambda t: _block(f"for x in {t[0]}:", t[1])),
        st.lists(s, min_size=1, max_size=2).map(lambda b: _block("try:", b) + "\nexcept KeyError:\n    pass"),
    ),
    max_leaves=4,
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STATEMENTS, min_size=1, max_size=3), st.booleans())
@pytest.mark.extended
def test_whatever_the_source_every_candidate_compiles_and_differs(body: list[str], method: bool) -> None:
    """No template makes a text that is broken or the same, whatever it meets."""
    source = _block("def g(self, a, rows=()):", body) + "\n"
    source = _block("class C:", [source.rstrip()]) + "\n" if method else source
    for candidate in itertools.islice(
        SearchSpace(sources={"m.py": source}, suspects=suspected(source, "m.py"), failure=failing()).proposed(), 300
    ):
        compile(candidate.source, "m.py", "exec")
        assert candidate.source != source


def test_the_family_of_a_failure_decides_what_is_likely() -> None:
    """Every strategy can be asked about every failure; a name that is not defined asks for imports first."""

    def likeliest(family: Family) -> dict[str, float]:
        return {
            strategy: max(each.prior_for(family) for each in all_templates() if each.strategy == strategy)
            for strategy in STRATEGIES
        }

    for family in Family:
        assert all(0.0 < prior < 1.0 for prior in likeliest(family).values())
    named = likeliest(Family.NAME)
    assert max(named, key=lambda strategy: named[strategy]) == "imports"
    assert named["imports"] > likeliest(Family.ASSERTION)["imports"]


def test_an_error_of_the_project_is_no_less_open_than_a_failed_assertion() -> None:
    """What suits failed assertions suits an error that no builtin is a base of as well."""
    suited = [each for each in all_templates() if Family.ASSERTION in each.families]
    assert suited
    assert [each.name for each in suited if each.prior_for(Family.OTHER) < each.prior] == []


def test_templates_are_found_by_themselves() -> None:
    """Discovery finds one template per name, each in a known strategy with a prior that is a probability."""
    found = all_templates()
    assert len({t.name for t in found}) == len(found) > 60
    assert {t.strategy for t in found} == set(STRATEGIES)
    assert all(0 < t.prior_for(family) < 1 for t in found for family in Family)


def test_every_template_is_shown_to_work() -> None:
    """A template without a before and after in its family's test is not finished."""
    tests = "".join(path.read_text() for path in (Path(__file__).parent / "templates").glob("test_*.py"))
    assert [t.name for t in all_templates() if f'"{t.name}"' not in tests] == []


def test_a_template_of_no_known_strategy_is_refused() -> None:
    """A slip in a strategy's name shows at once."""
    with pytest.raises(ValueError, match="unknown strategy 'operator'"):
        template(object, strategy="operator", prior=0.5)  # type: ignore[arg-type]


def test_regions_cover_what_can_be_suspected() -> None:
    """Functions and loose statements are regions of their own; a class is cut into its members."""
    module = SourceModule("stock.py", STOCK)
    spans = [(e.first_line, e.last_line) for e in module.extents]
    assert spans == [(1, 1), (4, 4), (6, 8), (10, 17), (20, 25)]


@pytest.mark.parametrize("first", ["def a(b):\n", "import os\n\n\ndef a(b):\n"])
def test_a_byte_order_mark_stays_where_it_is(first: str) -> None:
    """Edits of a file that begins with one, in its first line too, are those of the file without it, each behind the mark."""
    plain = first + "    return b + 1\n"
    line = plain.count("\n")
    lines = [Suspect(path="it.py", line=line - 1, score=0.5), Suspect(path="it.py", line=line, score=0.9)]
    without, with_mark = (
        [
            (c.line, c.source)
            for c in SearchSpace(sources={"it.py": text}, suspects=lines, failure=failing()).proposed(SOME)
        ]
        for text in (plain, "\ufeff" + plain)
    )
    assert without
    assert with_mark == [(at, "\ufeff" + source) for at, source in without]


def test_a_warning_of_another_thread_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the compiler warns of is an error here, and what a library warns of meanwhile stays a warning."""
    module = SourceModule("stock.py", "def a():\n    return 1\n")
    region = module.region(module.extents[0])
    assert region is not None

    def meanwhile(code: CodeType) -> object:
        warnings.warn("something is loaded", UserWarning, stacklevel=1)
        return code

    monkeypatch.setattr(source_slice, "fingerprint", meanwhile)
    with pytest.warns(UserWarning, match="something is loaded"):
        assert region.meaning(b"def a():\n    return 2\n") is not None
    assert region.meaning(b"def a():\n    return 2 is 2\n") is None


@pytest.mark.extended
def test_an_edit_shape_shows_the_smallest_change() -> None:
    """The shape holds the changed expression alone, with its names as holes."""
    shapes = {c.shape for c in everything() if c.template == "comparison_operator"}
    assert EditShape(template="comparison_operator", before="$0 < 0", after="$0 <= 0") in shapes


def test_a_decorated_definition_is_found_by_its_decorator() -> None:
    """That is the line which the interpreter names for a function whose body does nothing."""
    source = dedent(
        """\
        class Room:
            def __init__(self, size):
                self._size = size

            @property
            def size(self):
                'How much it holds.'
        """
    )
    suspects = [Suspect(path="room.py", line=5, score=0.9)]
    found = SearchSpace(sources={"room.py": source}, suspects=suspects, failure=failing()).proposed(("returns",))
    assert f"{source}        return self._size\n" in [candidate.source for candidate in found]


def test_of_many_edits_at_a_place_few_are_made_for_the_first_ones() -> None:
    """A condition that 300 others could replace: whoever takes five candidates does not wait for all of them."""
    others = "".join(f"    if a > {number}:\n        return {number}\n" for number in range(300))
    source = f"def g(a):\n{others}\n\ndef f(a):\n    if a:\n        return 1\n"
    line = source.count("\n") - 1
    weighed = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal weighed
        weighed += event == "call" and frame.f_code is Evidence.relevance.__code__

    found = SearchSpace(
        sources={"it.py": source}, suspects=[Suspect(path="it.py", line=line, score=0.9)], failure=failing()
    ).proposed(("guards",))
    sys.setprofile(count)
    try:
        first = list(itertools.islice(found, 5))
    finally:
        sys.setprofile(None)
    assert len(first) == 5
    assert weighed < 200


def test_syntax_that_is_newer_than_our_python() -> None:
    """A file with type parameters gets the edits of one without, each once, and keeps them."""
    header = "def full[\n    R: Room,  # any\n](rooms: list[R]) -> list[str]:"
    newer = STOCK.replace("def full(rooms):", header).replace("class Room:", "class Room[T]:")
    line = 1 + newer[: newer.index("len(room.things)")].count("\n")
    suspects = [Suspect(path="stock.py", line=line, score=1.0)]
    found = list(SearchSpace(sources={"stock.py": newer}, suspects=suspects, failure=failing()).proposed(SOME))
    older = STOCK.replace("def full(rooms):", "def full(rooms: list[R]) -> list[str]:")
    plain = [Suspect(path="stock.py", line=line - 2, score=1.0)]
    same = list(SearchSpace(sources={"stock.py": older}, suspects=plain, failure=failing()).proposed(SOME))
    assert {each.shape for each in found} == {each.shape for each in same}
    assert len(found) == len(same)
    assert all(header in each.source for each in found)
    assert len(found) > 10


def test_a_condition_that_would_end_the_process_is_no_region() -> None:
    """LibCST, unlike Python, nests each operand in the one before, and has no stack for thousands; what is beside it is one."""
    text = "def f(a):\n    return a" + " and a" * 20_000 + "\n\n\ndef g(a):\n    return a and a\n"
    program = f"from {SourceModule.__module__} import SourceModule\nmodule = SourceModule('a.py', {text!r})\n"
    program += "print([module.region(each) is None for each in module.extents])\n"
    command, found = [sys.executable, "-c", program], {"PYTHONPATH": str(Path(__file__).parents[4])}
    ran = subprocess.run(command, env=found, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.returncode) == ("[True, False]\n", 0)


def nested(levels: int, ways: int) -> str:
    """A function with one `finally` in the other, and so many ways out of each `try`."""
    blocks = (
        f"{' ' * at}try:\n{' ' * at} if a: return a\n"
        + f"{' ' * at} if a: return a\n" * (ways - 1)
        + f"{' ' * at}finally:\n"
        for at in range(1, levels + 1)
    )
    return f"def f(a):\n{''.join(blocks)}{' ' * (levels + 1)}a()\n"


@pytest.mark.parametrize(("levels", "ways", "is_region"), [(3, 3, True), (14, 1, False), (3, 200, False)])
def test_what_compiles_to_far_more_than_it_holds_is_no_region(levels: int, ways: int, is_region: bool) -> None:
    """The compiler writes what a `finally` holds once more for each way out, again and again where they are nested."""
    module = SourceModule("a.py", nested(levels, ways))
    assert (module.region(module.extents[0]) is not None) is is_region
