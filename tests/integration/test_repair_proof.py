"""From a failing suite to a proven patch, or an honest reason why not: real projects, real sandboxes."""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memory.model import AttemptOutcome, Confidence, EditShape, Family, Proof
from tests.projects import PYPROJECT
from workers.diffs import apply_unified
from workers.errors import CannotRun
from workers.ports import Limits
from workers.repair.candidates import Candidate
from workers.repair.classify import failure_of
from workers.repair.engines.search.session import SearchSession
from workers.repair.judging.proofs import PROOFS
from workers.repair.judging.prove import Prover
from workers.repair.judging.suite_runs import Unproven
from workers.repair.reproduce import reproduce, sources_of
from workers.repair.running.runner_pool import TOGETHER
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover
from workers.sandbox.run_tests import run_tests

pytestmark = pytest.mark.sandbox

LIMITS = Limits(wall_seconds=60, cpu_seconds=30)

GARDEN = {
    "pyproject.toml": PYPROJECT,
    "garden/__init__.py": "",
    "garden/beds.py": '''
        """Beds and what grows in them."""
        from garden.units import area

        PLANTS = ["leek", "kale", "pea"]

        class Bed:
            def __init__(self, width, length):
                self.width = width
                self.length = length
                self.rows = []

            def plant(self, name):
                if name not in PLANTS:
                    raise ValueError(name)
                self.rows.append(name)
                return self

            def free(self):
                return area(self.width, self.length) + len(self.rows)

            def first(self):
                return self.rows[0]
    ''',
    "garden/units.py": '''
        """Sizes."""

        def area(width, length):
            return width * length
    ''',
    "tests/conftest.py": """
        import pytest
        from garden.beds import Bed

        @pytest.fixture
        def bed():
            return Bed(2, 3).plant("leek").plant("pea")
    """,
    "tests/test_beds.py": """
        import pytest
        from garden.beds import PLANTS, Bed

        def test_free(bed):
            assert bed.free() == 4

        def test_free_when_empty():
            assert Bed(2, 2).free() == 4

        def test_first(bed):
            assert bed.first() == "leek"

        @pytest.mark.parametrize("name", PLANTS)
        def test_grows(name):
            assert Bed(1, 1).plant(name).rows == [name]
    """,
}

FREE, BEDS = "tests/test_beds.py::test_free", "garden/beds.py"


def project_of(directory: Path, files: Mapping[str, str]) -> Project:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return discover(directory, python=None, test_command=None)


@pytest.fixture
def garden(tmp_path: Path) -> Project:
    return project_of(tmp_path, GARDEN)


def edited(project: Project, old: str, new: str, path: str = BEDS) -> dict[str, bytes]:
    source = (project.tree / path).read_text(encoding="utf-8")
    assert old in source
    return {path: source.replace(old, new, 1).encode()}


def proven(project: Project, overlay: Mapping[str, bytes], named: Sequence[str] = ()) -> Proof | Unproven:
    before = reproduce(Bubblewrap(), project, limits=LIMITS, named=named)
    failure = failure_of(before.failing_report)
    assert failure is not None
    return Prover(Bubblewrap(), project, before, replace(failure, failing_tests=(FREE,)), LIMITS).prove(overlay, seed=1)


def test_a_failure_is_reproduced_with_what_ran(garden: Project) -> None:
    """The failing test, the lines that it ran, and the passing tests to compare it with."""
    seen = reproduce(Bubblewrap(), garden, limits=LIMITS)
    failure = failure_of(seen.failing_report)
    assert failure is not None
    assert failure.failing_tests == (FREE,)
    assert (seen.flaky, seen.set_aside) == ((), {})
    assert len(seen.passing) == 5
    assert seen.lines[FREE].keys() == {"garden/beds.py", "garden/units.py"}
    assert seen.test_runs == 2


def test_what_nothing_here_can_repair_is_set_aside_and_named(tmp_path: Path) -> None:
    """A test that needs the network, one that needs a database and a file that needs a package; the rest is repaired."""
    needy = """
        import socket

        def test_network():
            socket.create_connection(("example.com", 80), 5)

        def test_database():
            raise OSError("connection to server on port 5432 failed: Connection refused")

        def test_wrong():
            assert len("ab") == 3
    """
    files = {"tests/test_needy.py": needy, "tests/test_packaged.py": "import absent_library\n\ndef test_x(): pass"}
    seen = reproduce(Bubblewrap(), project_of(tmp_path, files), limits=LIMITS)
    assert seen.set_aside == {
        "tests/test_needy.py::test_network": "it needs the network, which the sandbox does not have",
        "tests/test_needy.py::test_database": "it needs a service, which the sandbox does not have",
        "tests/test_packaged.py": "it cannot be collected: ModuleNotFoundError: No module named 'absent_library'",
    }
    failure = failure_of(seen.failing_report)
    assert failure is not None and failure.failing_tests == ("tests/test_needy.py::test_wrong",)


def test_a_test_that_fails_once_is_set_aside_and_named(tmp_path: Path) -> None:
    """A test that passes when it is run again is flaky, and nothing is left to repair."""
    moody = """
        import os

        def test_moody():
            assert "APPRENTICE_TRACE" in os.environ

        def test_calm():
            assert True
    """
    seen = reproduce(Bubblewrap(), project_of(tmp_path, {"tests/test_moods.py": moody}), limits=LIMITS)
    assert seen.flaky == ("tests/test_moods.py::test_moody",)
    assert not seen.failing_report.failing()
    assert len(seen.report.results) == 2


def test_a_suite_that_passes_is_run_once(tmp_path: Path) -> None:
    """Nothing failing is seen after one run."""
    seen = reproduce(Bubblewrap(), project_of(tmp_path, {"tests/test_a.py": "def test_a(): pass\n"}), limits=LIMITS)
    assert not seen.failing_report.failing()
    assert seen.test_runs == 1


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("import requirement_nobody_has\ndef test_a(): pass\n", "No module named 'requirement_nobody_has'"),
        ("def test_a(:\n", "SyntaxError"),
        ("from json import nothing_there\ndef test_a(): pass\n", "cannot import name 'nothing_there'"),
        ("VALUE = 1\n", "no tests were collected"),
    ],
)
def test_what_no_edit_can_repair_cannot_be_run(tmp_path: Path, test: str, words: str) -> None:
    """A missing requirement, a broken test file and an empty suite are told apart from a failure, in one line."""
    project = project_of(tmp_path, {"garden/__init__.py": "", "tests/test_a.py": test})
    with pytest.raises(CannotRun, match=words) as told:
        reproduce(Bubblewrap(), project, limits=LIMITS)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "source", ["import jsn\n", "from garden.unit import area\n", "from garden.units import aera\n", "def broken(:\n"]
)
def test_an_import_that_an_edit_can_repair_is_a_failure(tmp_path: Path, source: str) -> None:
    """A slip in the project's own imports keeps tests from being collected, and is there to be repaired."""
    test = "from garden.beds import Bed\ndef test_a(): pass\n"
    files = {
        "garden/__init__.py": "",
        "garden/units.py": "def area(): pass\n",
        "garden/beds.py": source + "class Bed: pass\n",
    }
    seen = reproduce(Bubblewrap(), project_of(tmp_path, {**files, "tests/test_a.py": test}), limits=LIMITS)
    assert [result.id for result in seen.failing_report.failing()] == ["tests/test_a.py"]


@pytest.mark.extended
def test_a_test_that_never_ends_is_a_failure(tmp_path: Path) -> None:
    """The suite is cut at its limit, and the test that was running has failed by time-out."""
    loop = "def test_a(): pass\ndef test_loop():\n    while True: pass\n"
    project = project_of(tmp_path, {"tests/test_a.py": loop, "pyproject.toml": GARDEN["pyproject.toml"]})
    seen = reproduce(Bubblewrap(), project, limits=Limits(wall_seconds=8))
    failure = failure_of(seen.failing_report)
    assert failure is not None
    assert (failure.error_type, failure.failing_tests) == ("Timeout", ("tests/test_a.py::test_loop",))


def test_a_right_patch_is_proven(garden: Project) -> None:
    """The failing test passes, the whole suite does twice, and the proof says so in numbers."""
    shown = proven(garden, edited(garden, "+ len(self.rows)", "- len(self.rows)"))
    assert isinstance(shown, Proof)
    assert shown.failed_before == shown.passed_after == (FREE,)
    assert (shown.before.passed, shown.before.failed, shown.suite.passed, shown.suite.failed) == (5, 1, 6, 0)
    assert shown.repeats == 2


def test_what_lacks_a_package_is_not_left_to_another_repair(tmp_path: Path) -> None:
    """A file that only the whole suite runs, and that cannot be collected, counts as failing in the suite alone."""
    garden = project_of(tmp_path, {**GARDEN, "tests/test_packaged.py": "import absent_library\n"})
    shown = proven(garden, edited(garden, "+ len(self.rows)", "- len(self.rows)"), (FREE,))
    assert isinstance(shown, Proof)
    assert (shown.failed_before, shown.suite.failed) == ((FREE,), 1)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("command", "challenged"),
    [
        (f"python -m pytest {FREE}", True),
        ("python -m pytest tests/test_beds.py", True),
        ("python -m pytest -k free", False),
    ],
)
def test_a_right_patch_is_proven_by_any_command(garden: Project, command: str, challenged: bool) -> None:
    """One that names a test runs what is added to it, too; one that chooses by words leaves that out, and the proof says so."""
    chosen = replace(garden, test_command=tuple(command.split()))
    shown = proven(chosen, edited(garden, "+ len(self.rows)", "- len(self.rows)"))
    assert isinstance(shown, Proof), shown.reason
    assert (shown.canaries, shown.failed_before) == (challenged, (FREE,))
    assert shown.perturbed == int(challenged)


@pytest.mark.extended
def test_a_test_that_returns_early_with_other_parameters_challenges_a_patch(tmp_path: Path) -> None:
    """Where some parameters expect an error, not each comes to the assertion; those that failed do."""
    free = """
        import pytest
        from garden.beds import Bed

        @pytest.mark.parametrize(("plants", "expected"), [(["leek"], 5), ([], 6), (["stone"], None)])
        def test_free(plants, expected):
            try:
                bed = Bed(2, 3)
                for plant in plants:
                    bed.plant(plant)
                free = bed.free()
            except ValueError:
                if expected is None:
                    return
                raise
            assert free == expected
    """
    garden = project_of(tmp_path, {**GARDEN, "tests/test_beds.py": free})
    before = reproduce(Bubblewrap(), garden, limits=LIMITS)
    failure = failure_of(before.failing_report)
    assert failure is not None
    shown = Prover(Bubblewrap(), garden, before, failure, LIMITS, templates=True).prove(
        edited(garden, "+ len(self.rows)", "- len(self.rows)")
    )
    assert isinstance(shown, Proof), shown.reason
    assert (shown.perturbed, shown.unusual) == (1, ())


@pytest.mark.extended
def test_what_a_change_took_away_may_come_back(tmp_path: Path) -> None:
    """A name that a repair has no use for is none of its own where the file had it before the change."""
    called = GARDEN[BEDS].replace("return self.rows[0]", "return itemgetter(0)(self.rows)")
    garden = project_of(tmp_path, {**GARDEN, BEDS: called})
    patch = edited(garden, "from garden.units", "from operator import attrgetter, itemgetter\nfrom garden.units")
    patch = {path: text.replace(b"+ len(self.rows)", b"- len(self.rows)") for path, text in patch.items()}
    for before, unusual in (({}, True), ({BEDS: patch[BEDS]}, False)):
        seen = reproduce(Bubblewrap(), garden, limits=LIMITS, before=before)
        failure = failure_of(seen.failing_report)
        assert failure is not None
        shown = Prover(Bubblewrap(), garden, seen, failure, LIMITS, templates=True).prove(patch)
        assert isinstance(shown, Proof), shown.reason
        assert bool(shown.unusual) is unusual, shown.unusual


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("+ len(self.rows)", "* len(self.rows)", "test_free still fails when run alone"),
        ("+ len(self.rows)", "- 2", "test_free_when_empty passed before, and not with it"),
        pytest.param(
            '"kale", "pea"]',
            '"pea"]\nBed = None',
            r"test_grows\[kale\] passed before|still fails",
            marks=pytest.mark.extended,
        ),
        pytest.param(
            "return area(self.width, self.length) +",
            "import pytest; pytest.skip('hard'); return",
            "still fails when run alone",
            marks=pytest.mark.extended,
        ),
    ],
)
def test_a_wrong_patch_is_not_proven(garden: Project, old: str, new: str, reason: str) -> None:
    """A patch that repairs nothing, breaks something else, or has tests skipped or vanish, is refused with the reason."""
    shown = proven(garden, edited(garden, old, new))
    assert isinstance(shown, Unproven)
    assert re.search(reason, shown.reason), shown.reason


def test_a_patch_that_drops_tests_is_not_proven(garden: Project) -> None:
    """Fewer tests collected is no pass, though all that are left pass."""
    overlay = edited(garden, "+ len(self.rows)", "- len(self.rows)")
    overlay = {BEDS: overlay[BEDS].replace(b'"kale", ', b"")}
    shown = proven(garden, overlay)
    assert isinstance(shown, Unproven)
    assert shown.broken.keys() == {"tests/test_beds.py::test_grows[kale]"}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tests/test_beds.py", "decides what counts as passing"),
        (".github/workflows/ci.yml", "is no Python source"),
        ("garden/json.py", "is new, and hides another module of its name"),
        pytest.param("garden/_pytest.py", "decides what counts as passing", marks=pytest.mark.extended),
        pytest.param("garden/msgspec.py", "is new, and hides another module of its name", marks=pytest.mark.extended),
    ],
)
def test_a_patch_of_what_decides_is_refused_unrun(garden: Project, path: str, reason: str) -> None:
    """Tests, CI and the names of other modules are not the fix's to change."""
    assert proven(garden, {path: b""}) == Unproven(reason=f"{path} {reason}")


def test_a_plug_in_is_known_though_the_run_before_died(tmp_path: Path) -> None:
    """What a run has loaded is told before its tests run, so a patch of the project's plug-in is refused all the same."""
    died = {
        "conftest.py": 'pytest_plugins = ["garden.testing"]\n',
        "garden/testing.py": "def pytest_report_header(config): return 'garden'\n",
        "tests/test_death.py": "import os\ndef test_dies(): os._exit(3)\n",
    }
    project = project_of(tmp_path, {**GARDEN, **died})
    assert not run_tests(Bubblewrap(), project, limits=LIMITS).report.complete
    shown = proven(project, {"garden/testing.py": b"def pytest_pyfunc_call(): return True\n"})
    assert shown == Unproven(reason="garden/testing.py decides what counts as passing")


def test_what_tests_inherit_is_no_repair(tmp_path: Path) -> None:
    """A package's classes for tests decide what passes, wherever they lie: no repair edits them. What they call is code."""
    inherited = {
        "garden/contract.py": """
            class Contract:
                def test_free(self):
                    assert free(self.make(2, 3)) == 6

            def free(bed):
                return bed.free() + 1
        """,
        "garden/rules.py": """
            def checked(function):
                def test_checked(self):
                    return function(self)
                return test_checked
        """,
        "tests/test_contract.py": """
            from garden.beds import Bed
            from garden.contract import Contract
            from garden.rules import checked

            class TestBed(Contract):
                make = Bed

                @checked
                def test_around(self):
                    assert Bed(2, 3).free() == 6
        """,
    }
    garden = project_of(tmp_path, {**GARDEN, **inherited})
    before = reproduce(Bubblewrap(), garden, limits=LIMITS)
    assert before.report.inherited().keys() == {"garden/contract.py", "garden/rules.py"}
    assert "garden/contract.py" not in sources_of(garden, before)
    assert {"garden/rules.py", BEDS} < sources_of(garden, before).keys()
    shown = proven(garden, edited(garden, "bed.free() + 1", "bed.free()", "garden/contract.py"))
    assert shown == Unproven(reason="garden/contract.py decides what counts as passing")


def test_what_tests_assert_with_is_no_repair(tmp_path: Path) -> None:
    """Of what a package has for tests, the file in which an assertion fails decides what passes; a client for tests is code."""
    asserting = {
        "garden/testing/checks.py": """
            def equal_(one, other):
                right = one == other
                assert right
        """,
        "garden/helpers.py": """
            def assert_raises(error, function, *arguments):
                raised = False
                try:
                    function(*arguments)
                except error:
                    raised = True
                assert raised
        """,
        "garden/testing/client.py": """
            def sized(bed):
                return bed.free() + 1
        """,
        "tests/test_checks.py": """
            from garden.beds import Bed
            from garden.helpers import assert_raises
            from garden.testing.checks import equal_
            from garden.testing.client import sized

            def test_equal():
                equal_(Bed(2, 3).plant("pea").free(), 5)

            def test_raises():
                assert_raises(ValueError, Bed(2, 3).plant, "pea")

            def test_client():
                assert sized(Bed(2, 3)) == 6
        """,
    }
    garden = project_of(tmp_path, {**GARDEN, **asserting})
    before = reproduce(Bubblewrap(), garden, limits=LIMITS)
    left = sources_of(garden, before).keys()
    assert {"garden/testing/checks.py", "garden/helpers.py"}.isdisjoint(left)
    assert {"garden/testing/client.py", BEDS} <= left
    shown = proven(garden, edited(garden, "right = one == other", "right = True", "garden/testing/checks.py"))
    assert shown == Unproven(reason="garden/testing/checks.py decides what counts as passing")


@pytest.mark.extended
def test_a_comparison_with_nothing_is_a_question(garden: Project) -> None:
    """Where a run has named no plug-in at all, equality shows nothing, and the proof says so."""
    before = reproduce(Bubblewrap(), garden, limits=LIMITS)
    failure = failure_of(before.failing_report)
    assert failure is not None
    unnamed = replace(before, report=replace(before.report, loaded=frozenset()))
    prover = Prover(Bubblewrap(), garden, unnamed, replace(failure, failing_tests=(FREE,)), LIMITS)
    shown = prover.prove(edited(garden, "+ len(self.rows)", "- len(self.rows)"))
    assert isinstance(shown, Proof)
    assert shown.unusual == ("plug-ins and import hooks that cannot be compared, because a run named none",)


@pytest.mark.extended
def test_other_failures_are_listed_and_do_not_block(tmp_path: Path) -> None:
    """A test that failed before for its own reason, and still does, stays in the proof as such."""
    other = "def test_other():\n    assert {}['missing']\n"
    project = project_of(tmp_path, {**GARDEN, "tests/test_other.py": other})
    shown = proven(project, edited(project, "+ len(self.rows)", "- len(self.rows)"))
    assert isinstance(shown, Proof)
    assert set(shown.failed_before) == {FREE, "tests/test_other.py::test_other"}
    assert shown.passed_after == (FREE,)


def test_an_attempt_ends_in_a_proven_patch(garden: Project) -> None:
    """From proposal to proof: the patch applies, is minimal, and carries its proof."""
    seen = reproduce(Bubblewrap(), garden, limits=LIMITS)
    failure = failure_of(seen.failing_report)
    assert failure is not None
    told: list[str] = []
    with SearchSession(Bubblewrap(), garden, seen, failure, told.append, limits=LIMITS) as bench:
        result = bench.attempt(
            bench.proposed(("operators",)), strategies=("operators",), deadline=time.monotonic() + 600
        )
        assert bench.test_runs > result.candidates
    assert result.outcome is AttemptOutcome.PROVEN
    assert result.proof is not None
    assert result.path == BEDS
    source = (garden.tree / BEDS).read_text(encoding="utf-8")
    assert apply_unified(source, result.patch) == source.replace("+ len", "- len")
    assert "is proven after" in result.reflection


@pytest.mark.extended
def test_a_module_that_does_not_parse_is_repaired(tmp_path: Path) -> None:
    """A conflict that a merge left keeps every test from being collected; of its sides the one that passes is proven."""
    conflict = """
        def area(width, length):
        <<<<<<< HEAD
            return width + length
        =======
            return width * length
        >>>>>>> sizes
    """
    test = """
        from garden.units import area

        def test_area():
            assert area(2, 3) == 6
    """
    kept = {name: GARDEN[name] for name in ("pyproject.toml", "garden/__init__.py")}
    project = project_of(tmp_path, {**kept, "garden/units.py": conflict, "tests/test_units.py": test})
    seen = reproduce(Bubblewrap(), project, limits=LIMITS)
    failure = failure_of(seen.failing_report)
    assert failure is not None
    assert failure.family is Family.SYNTAX
    with SearchSession(Bubblewrap(), project, seen, failure, print, limits=LIMITS) as bench:
        result = bench.attempt(
            bench.proposed(("statements",)), strategies=("statements",), deadline=time.monotonic() + 600
        )
    assert result.outcome is AttemptOutcome.PROVEN
    source = (project.tree / "garden" / "units.py").read_text(encoding="utf-8")
    assert "width * length" in apply_unified(source, result.patch)


def made(project: Project, new: str, score: float) -> Candidate:
    source = (project.tree / BEDS).read_text(encoding="utf-8").replace("+ len(self.rows)", new)
    shape = EditShape(template="planted", before="", after=new)
    return Candidate(
        path=BEDS,
        source=source,
        line=20,
        function="Bed.free",
        template="planted",
        strategy="planted",
        shape=shape,
        score=score,
    )


def test_what_is_plausible_and_wrong_is_passed_over(garden: Project) -> None:
    """Of several candidates that satisfy the screen the likeliest that can be proven wins."""
    seen = reproduce(Bubblewrap(), garden, limits=LIMITS)
    failure = failure_of(seen.failing_report)
    assert failure is not None
    candidates = [
        made(garden, "* 0", 0.9),
        made(garden, "- len(self.rows) * 1", 0.5),
        made(garden, "- len(self.rows)", 0.5),
    ]
    with SearchSession(Bubblewrap(), garden, seen, failure, print, limits=LIMITS) as bench:
        result = bench.attempt(candidates, strategies=("planted",), deadline=time.monotonic() + 600)
    assert result.outcome is AttemptOutcome.PROVEN
    assert result.candidates == 2, "the third is a rival of the second"
    assert result.shape == candidates[2].shape


@pytest.mark.extended
def test_rivals_are_compared_in_the_time_of_the_whole_repair(garden: Project) -> None:
    """What passes at the end of a strategy's time is still compared."""
    seen = reproduce(Bubblewrap(), garden, limits=LIMITS)
    failure = failure_of(seen.failing_report)
    assert failure is not None
    deadline = time.monotonic() + 8.0

    def candidates() -> Iterator[Candidate]:
        yield from (made(garden, f"* {number}", 0.9) for number in range(TOGETHER - 2))
        yield made(garden, "- len(self.rows)", 0.5)
        yield made(garden, "- min(len(self.rows), 3)", 0.5)
        time.sleep(max(0.0, deadline - time.monotonic()))

    with SearchSession(Bubblewrap(), garden, seen, failure, print, limits=LIMITS) as bench:
        result = bench.attempt(candidates(), strategies=("planted",), deadline=deadline)
    assert result.proof is not None
    assert result.proof.plausible == 2
    assert result.proof.confidence in {Confidence.AGREED, Confidence.DISPUTED}


@pytest.mark.extended
def test_what_breaks_the_same_test_as_another_costs_no_proof(garden: Project) -> None:
    """A test that no suspicion led to judges all candidates once a proof found it broken."""
    seen = reproduce(Bubblewrap(), garden, limits=LIMITS)
    failure = failure_of(seen.failing_report)
    assert failure is not None
    unseen = replace(seen, passing=tuple(t for t in seen.passing if t != "tests/test_beds.py::test_free_when_empty"))
    assert len(unseen.passing) == len(seen.passing) - 1
    wrong = [made(garden, f"- {number + 2} + {number}", 0.9) for number in range(PROOFS + 1)]
    with SearchSession(Bubblewrap(), garden, unseen, failure, print, limits=LIMITS) as bench:
        result = bench.attempt(
            [*wrong, made(garden, "- len(self.rows)", 0.1)], strategies=("planted",), deadline=time.monotonic() + 600
        )
    assert result.outcome is AttemptOutcome.PROVEN
    assert "- len(self.rows)" in result.patch


@pytest.mark.extended
def test_an_attempt_without_success_says_what_came_closest(garden: Project) -> None:
    """It is kept for the next attempt; in words that is not said of an edit with which the assertion is not reached."""
    seen = reproduce(Bubblewrap(), garden, limits=LIMITS)
    failure = failure_of(seen.failing_report)
    assert failure is not None
    candidates = [made(garden, "* 0", 0.9), made(garden, "+ self.rows", 0.5), made(garden, "+ 1", 0.5)]
    with SearchSession(Bubblewrap(), garden, seen, failure, print, limits=LIMITS) as bench:
        result = bench.attempt(candidates[:2], strategies=("planted",), deadline=time.monotonic() + 600)
        late = bench.attempt(candidates, strategies=("planted",), deadline=time.monotonic())
        again = bench.attempt(candidates[:2], strategies=("planted",), deadline=time.monotonic() + 600)
    assert result.outcome is AttemptOutcome.NOTHING_PLAUSIBLE
    assert result.moved
    assert result.nearest is not None
    assert result.nearest.error_type == "TypeError"
    assert "TypeError" not in result.reflection
    assert late.outcome is AttemptOutcome.OUT_OF_BUDGET
    assert again.candidates == 0
