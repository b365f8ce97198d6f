"""Projects whose suites are slow, unsteady or only partly named: what is run for them, and what is believed of it."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.repair.attempt import remembering
from memory.model import AttemptOutcome, Proof, Task, TaskKind
from memory.retrieval.embeddings import HashedWords
from workers.diffs import apply_unified
from workers.errors import CannotRun
from workers.ports import CompletedRun, Limits, Workload
from workers.repair.candidates import Candidate
from workers.repair.classify import failure_of
from workers.repair.engines.search.edit_shapes import shape_of
from workers.repair.engines.search.session import SearchSession
from workers.repair.episode import repair
from workers.repair.judging.proofs import PROOFS
from workers.repair.judging.prove import TIME_IS_UP, Prover
from workers.repair.judging.suite_runs import Unproven
from workers.repair.reproduce import ScreeningTests, reproduce
from workers.repair.running.runner_pool import pool_for
from workers.sandbox.bubblewrap import Bubblewrap
from workers.sandbox.project import Project, discover

pytestmark = [pytest.mark.extended, pytest.mark.sandbox]

LIMITS = Limits(wall_seconds=60, cpu_seconds=60)

SOURCE = "def double(number):\n    return number + number + 1\n\n\ndef half(number):\n    return number // 2\n"
FAILING = "def test_double():\n    from sums import double\n\n    assert double(2) == 4\n"
RIGHT, WRONG = SOURCE.replace(" + 1", ""), SOURCE.replace(" + 1", "").replace("// 2", "* 2")


def project_of(directory: Path, files: Mapping[str, str], command: str | None = None) -> Project:
    for name, text in {"sums.py": SOURCE, **files}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return discover(directory, python=None, test_command=command)


def proven(project: Project, source: str, *, seconds: float = 60.0) -> Proof | Unproven:
    before = reproduce(Bubblewrap(), project, limits=LIMITS)
    failure = failure_of(before.failing_report)
    assert failure is not None
    prover = Prover(Bubblewrap(), project, before, failure, LIMITS, templates=True, deadline=time.monotonic() + seconds)
    return prover.prove({"sums.py": source.encode()})


def test_a_slow_test_that_passes_is_not_taken_for_the_failure(tmp_path: Path) -> None:
    """It is ended early in the first look, and the test that does fail is what there is to repair."""
    slow = """
        import time

        def test_slow():
            began = time.process_time()
            while time.process_time() < began + 1.5:
                pass
    """
    seen = reproduce(Bubblewrap(), project_of(tmp_path, {"test_a.py": slow, "test_b.py": FAILING}), limits=LIMITS)
    failure = failure_of(seen.failing_report)
    assert failure is not None
    assert (failure.error_type, failure.failing_tests) == ("AssertionError", ("test_b.py::test_double",))
    assert not seen.whole, "what the slow test does is left to the proof"


def test_the_tests_that_failed_last_are_run_and_not_the_suite(tmp_path: Path) -> None:
    """They are run twice, at the same time, with a few others of their files; the rest is left to the proof."""
    others = "def test_other(): pass\n\n\ndef test_another(): pass\n"
    files = {"test_a.py": FAILING + others, "test_b.py": "def test_far(): pass\n"}
    project = project_of(tmp_path, files)
    cache = tmp_path / ".pytest_cache/v/cache"
    cache.mkdir(parents=True)
    (cache / "lastfailed").write_text(json.dumps({"test_a.py::test_double": True, "gone.py::test_x": True}))
    seen = reproduce(Bubblewrap(), project, limits=LIMITS)
    assert [result.id for result in seen.failing_report.failing()] == ["test_a.py::test_double"]
    assert set(seen.passing) == {"test_a.py::test_other", "test_a.py::test_another"}
    assert seen.lines["test_a.py::test_double"]["sums.py"] >= {2}
    assert (seen.test_runs, seen.whole) == (2, False)


def test_tests_of_what_fails_are_found_by_name(tmp_path: Path) -> None:
    """Passing tests in other files that name the module which a named test runs show what must not change."""
    half = "from sums import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    files = {"test_a.py": FAILING, "sub/test_half.py": half, "test_far.py": "def test_far(): pass\n"}
    seen = reproduce(Bubblewrap(), project_of(tmp_path, files), limits=LIMITS, named=["test_a.py::test_double"])
    assert seen.passing == ("sub/test_half.py::test_half",)
    assert seen.lines["sub/test_half.py::test_half"]["sums.py"] >= {6}
    assert (seen.test_runs, seen.whole) == (3, False)


def test_what_failed_before_the_changes_is_set_aside(tmp_path: Path) -> None:
    """The tests of changed files run first, and of what fails there that is repaired which did not fail before."""
    old = "def test_old():\n    assert open('gone')\n"
    files = {"sums.py": SOURCE, "test_a.py": f"{FAILING}\n\n{old}", "test_z.py": "def test_z():\n    assert 0\n"}
    project = project_of(tmp_path, files)
    seen = reproduce(Bubblewrap(), project, before={"test_a.py": old.encode(), "test_new.py": None})
    assert [result.id for result in seen.failing_report.failing()] == ["test_a.py::test_double"]
    assert seen.set_aside == {
        "test_a.py::test_old": "it fails without the latest changes of test_a.py, test_new.py, too"
    }
    assert not seen.whole
    assert not seen.broken, "a changed test breaks no code"
    seen = reproduce(Bubblewrap(), project, before={"sums.py": RIGHT.encode()})
    assert [result.id for result in seen.failing_report.failing()] == ["test_a.py::test_double"]
    assert seen.broken
    seen = reproduce(Bubblewrap(), project, before={"sums.py": SOURCE.encode()})
    assert len(seen.failing_report.failing()) == 2, "where all of them failed before, all are looked at"
    assert not seen.broken


def test_tests_that_name_what_was_changed_run_before_the_suite(tmp_path: Path) -> None:
    """Where they fail, the suite is not run to find what else does; where they do not, or not in time, it is."""
    half = "from sums import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    far = "def test_far():\n    assert 0\n"
    project = project_of(tmp_path, {"test_a.py": FAILING, "test_half.py": half, "test_far.py": far})
    seen = reproduce(Bubblewrap(), project, before={"sums.py": RIGHT.encode()})
    assert [result.id for result in seen.failing_report.failing()] == ["test_a.py::test_double"]
    assert (seen.passing, seen.test_runs, seen.whole) == (("test_half.py::test_half",), 3, False)
    (tmp_path / "sums.py").write_text(RIGHT)
    seen = reproduce(Bubblewrap(), project, before={"sums.py": SOURCE.encode()})
    assert [result.id for result in seen.failing_report.failing()] == ["test_far.py::test_far"]
    assert seen.whole


def test_tests_of_the_command_are_run_once_with_a_trace_and_once_without(tmp_path: Path) -> None:
    """Both at the same time: what the command names is taken to fail."""
    files = {"test_a.py": FAILING, "test_b.py": "def test_b():\n    assert 0\n"}
    seen = reproduce(Bubblewrap(), project_of(tmp_path, files, "python -m pytest test_a.py"), limits=LIMITS)
    assert [result.id for result in seen.failing_report.failing()] == ["test_a.py::test_double"]
    assert seen.lines["test_a.py::test_double"]["sums.py"] >= {2}
    assert seen.test_runs == 2


def test_tests_that_pass_again_do_not_hide_those_that_fail(tmp_path: Path) -> None:
    """When nothing of what is named fails, the suite is run."""
    project = project_of(tmp_path, {"test_a.py": "def test_a(): pass\n", "test_b.py": FAILING})
    seen = reproduce(Bubblewrap(), project, limits=LIMITS, named=["test_a.py::test_a"])
    assert [result.id for result in seen.failing_report.failing()] == ["test_b.py::test_double"]
    assert seen.whole


@pytest.mark.parametrize("named", [(), ("test_a.py",)])
def test_a_suite_in_which_nothing_failed_in_time_is_told_with_what_would_help(
    tmp_path: Path, named: tuple[str, ...]
) -> None:
    """Neither a pass of everything nor a failure of the test that was running, whether or not the request names its file."""
    slow = "import time\n\n" + "".join(f"def test_{n}():\n    time.sleep(2)\n\n" for n in range(9))
    with pytest.raises(CannotRun, match=r"no test failed among the first \d, in .*--test-command .*--budget 24"):
        reproduce(Bubblewrap(), project_of(tmp_path, {"test_a.py": slow}), limits=LIMITS, seconds=6, named=named)


def test_a_suite_of_which_no_test_ended_in_time_is_told_with_what_would_help(tmp_path: Path) -> None:
    """A suite may spend all of its time on imports."""
    project = project_of(tmp_path, {"test_a.py": "import time\n\ntime.sleep(60)\n\ndef test_a():\n    pass\n"})
    with pytest.raises(
        CannotRun, match=r"no failing test was found in .*were stopped\. .*--test-command .*--budget 24"
    ):
        reproduce(Bubblewrap(), project, limits=LIMITS, seconds=6)


MOVING = """
    import os
    import pytest
    from sums import double, half

    @pytest.mark.parametrize("number", [2, 4, 6], ids=lambda number: f"{number}-{os.getpid()}-{os.times()}")
    def test_half(number):
        assert half(number) * 2 == number

    @pytest.mark.parametrize("number", [1, 2], ids=lambda number: f"{number}-{os.getpid()}-{os.times()}")
    def test_double(number):
        assert double(number) == 2 * number
"""


def test_tests_whose_ids_differ_in_each_process_are_one_by_function(tmp_path: Path) -> None:
    """The failing function is the failing test, a right patch is proven, and one that breaks another function is not."""
    project = project_of(tmp_path, {"test_a.py": MOVING})
    failure = failure_of(reproduce(Bubblewrap(), project, limits=LIMITS).failing_report)
    assert failure is not None
    assert failure.failing_tests == ("test_a.py::test_double",)
    assert isinstance(proven(project, RIGHT), Proof)
    refused = proven(project, WRONG)
    assert isinstance(refused, Unproven)
    assert "test_half[passing 1]" in refused.reason


PART = {"test_a.py": FAILING, "test_b.py": "from sums import half\n\n\ndef test_half():\n    assert half(4) == 2\n"}


def test_a_proof_runs_the_tests_that_the_command_leaves_out(tmp_path: Path) -> None:
    """What breaks one of them is not proven."""
    project = project_of(tmp_path, PART, "python -m pytest test_a.py")
    right, wrong = proven(project, RIGHT), proven(project, WRONG)
    assert isinstance(right, Proof)
    assert right.rest is not None
    assert (right.suite.passed, right.rest.passed, right.unrun) == (1, 2, "")
    assert isinstance(wrong, Unproven)
    assert wrong.reason == "test_b.py::test_half passed before, and not with it"


def test_a_patch_that_leaves_others_failing_where_it_is_fits_the_known_ones_alone(tmp_path: Path) -> None:
    """They run its lines and few that pass do: it is refused. What fails elsewhere, or like others that pass, does not count."""
    source = "def double(number):\n    return number + number + 1\n\n\ndef half(number):\n    return number // 2\n"
    others = "from sums import double, half\n\n\ndef test_three():\n    assert double(3) == 6\n\n\ndef test_far():\n    assert half(4) == 3\n"
    files = {"sums.py": source, "test_a.py": FAILING, "test_b.py": others}
    fitting = source.replace("number + number + 1", "4 if number == 2 else number + number + 1")
    for command in ("python -m pytest test_a.py", None):
        project = project_of(tmp_path, files, command)
        before = reproduce(Bubblewrap(), project, limits=LIMITS, named=["test_a.py::test_double"])
        failure = failure_of(before.failing_report)
        assert failure is not None
        prover = Prover(Bubblewrap(), project, before, failure, LIMITS, templates=True)
        refused = prover.prove({"sums.py": fitting.encode()})
        assert isinstance(refused, Unproven)
        assert refused.reason == "test_b.py::test_three fails where it is, too, and still does with it"
        added = {"extra.py": b"TWO = 2\n"}
        assert isinstance(prover.prove({"sums.py": source.replace(" + 1", "").encode(), **added}), Proof)


def test_tests_that_the_command_leaves_out_judge_what_follows(tmp_path: Path) -> None:
    """Once a proof found them failing, whether or not they failed before, what fails them costs no proof any more."""
    others = "from sums import double\n\n\ndef test_three():\n    assert double(3) == {}\n"
    for expected in (6, 7):
        files = {"test_a.py": FAILING, "test_b.py": others.format(expected)}
        project = project_of(tmp_path, files, "python -m pytest test_a.py")
        before = reproduce(Bubblewrap(), project, limits=LIMITS)
        failure = failure_of(before.failing_report)
        assert failure is not None
        wrong = [SOURCE.replace("number + number + 1", f"{number + 4} - {number}") for number in range(PROOFS + 1)]
        right = RIGHT if expected == 6 else SOURCE.replace("+ 1", "+ number % 2")
        candidates = [candidate("sums.py", source) for source in (*wrong, right)]
        with SearchSession(Bubblewrap(), project, before, failure, print, limits=LIMITS) as bench:
            result = bench.attempt(candidates, strategies=("planted",), deadline=time.monotonic() + 600)
        assert result.outcome is AttemptOutcome.PROVEN
        assert right == apply_unified(SOURCE, result.patch)


def test_what_is_proven_stays_so_when_a_rival_is_refused(tmp_path: Path) -> None:
    """The test that refuses the rival passes with it in the whole suite, though not where that test is screened alone."""
    source = f"READY = []\n\n\n{SOURCE}"
    others = "import sums\n\n\ndef test_first():\n    sums.READY.append(1)\n\n\ndef test_three():\n    assert sums.READY and sums.double(3) == 6\n"
    project = project_of(tmp_path, {"sums.py": source, "test_a.py": FAILING, "test_b.py": others})
    before = reproduce(Bubblewrap(), project, limits=LIMITS, named=["test_a.py::test_double"])
    failure = failure_of(before.failing_report)
    assert failure is not None
    right = source.replace(" + 1", "")
    fitting = source.replace("number + number + 1", "4 if number == 2 else number + number + 1")
    candidates = [candidate("sums.py", each) for each in (right, fitting)]
    with SearchSession(Bubblewrap(), project, before, failure, print, limits=LIMITS) as bench:
        result = bench.attempt(candidates, strategies=("planted",), deadline=time.monotonic() + 600)
    assert result.outcome is AttemptOutcome.PROVEN
    assert right == apply_unified(source, result.patch)


def test_what_is_set_aside_is_not_what_a_patch_repairs(tmp_path: Path) -> None:
    """Though it passes with the patch, it was never tried against it."""
    far = "def test_far():\n    from sums import double\n\n    if double(2) != 4:\n        raise OSError('getaddrinfo failed')\n"
    shown = proven(project_of(tmp_path, {"test_a.py": FAILING, "test_b.py": far}), RIGHT)
    assert isinstance(shown, Proof)
    assert shown.failed_before == shown.passed_after == ("test_a.py::test_double",)


def test_proofs_end_with_the_budget(tmp_path: Path) -> None:
    """When it is used up, that is the reason."""
    refused = proven(project_of(tmp_path, PART), RIGHT, seconds=0.0)
    assert isinstance(refused, Unproven)
    assert refused.reason == "the time was used up before it could be proven"


def test_what_passes_is_shown_where_no_time_was_left_for_its_proof(tmp_path: Path) -> None:
    """As a diff that is no patch; nothing of one that is proven, or refused for what it does."""
    project = project_of(tmp_path, PART)
    before = reproduce(Bubblewrap(), project, limits=LIMITS)
    failure = failure_of(before.failing_report)
    assert failure is not None
    for source, seconds, late in ((RIGHT, 0.0, RIGHT), (RIGHT, 60.0, None), (WRONG, 60.0, None)):
        end = time.monotonic() + seconds
        with SearchSession(Bubblewrap(), project, before, failure, print, limits=LIMITS, proven_by=end) as bench:
            result = bench.attempt(
                [candidate("sums.py", source)], strategies=("planted",), deadline=time.monotonic() + 600
            )
        assert (apply_unified(SOURCE, result.late) if result.late else None) == late
        assert not (result.late and result.patch)


WAITING = "".join(f"def test_{n}():\n    time.sleep(2)\n\n" for n in range(9))


def test_a_right_patch_is_not_refused_for_lack_of_time(tmp_path: Path) -> None:
    """Where the whole suite cannot run with it, it is shown with what ran, and not called a fix; a wrong one is refused."""
    broken = "from sums import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    files = {"test_a.py": FAILING, "test_b.py": broken, "test_c.py": f"import time\n\n{WAITING}"}
    cut = proven(project_of(tmp_path, files), RIGHT, seconds=12.0)
    assert isinstance(cut, Proof)
    assert cut.cut
    assert cut.contested
    assert cut.suite.collected < cut.before.collected == 11
    assert cut.suite.failed == 0, "the test that time ended did not fail"
    assert not cut.unusual
    assert "stopped" in cut.unrun
    assert isinstance(proven(project_of(tmp_path, files), WRONG, seconds=12.0), Unproven)


def test_a_failing_test_that_the_cut_suite_did_not_come_to_has_passed_alone(tmp_path: Path) -> None:
    """It was run before the suite, and says so in the proof."""
    files = {"test_a.py": f"import time\n\n{WAITING}", "test_z.py": FAILING}
    cut = proven(project_of(tmp_path, files), RIGHT, seconds=12.0)
    assert isinstance(cut, Proof)
    assert cut.cut
    assert cut.suite.collected < cut.before.collected == 10
    assert cut.passed_after == ("test_z.py::test_double",)


def test_a_failing_test_that_time_stops_does_not_count_as_failing(tmp_path: Path) -> None:
    """What was too short for it is the time, and the reason says so."""
    waiting = FAILING.replace("    assert", "    time.sleep(7)\n    assert")
    refused = proven(project_of(tmp_path, {"test_a.py": f"import time\n\n{waiting}"}), RIGHT, seconds=3.0)
    assert isinstance(refused, Unproven)
    assert refused.reason == TIME_IS_UP


def test_a_suite_that_is_cut_without_the_patch_too_refuses_none(tmp_path: Path) -> None:
    """Where neither run came to the failing test, as collecting lasts, it does not count as failing with the patch."""
    slow = "import time\n\ntime.sleep(15)\n\n" + "".join(f"def test_{n}():\n    time.sleep(1)\n\n" for n in range(9))
    project = project_of(tmp_path, {"test_a.py": slow, "test_z.py": FAILING})
    before = reproduce(Bubblewrap(), project, limits=LIMITS, named=["test_z.py"])
    failure = failure_of(before.failing_report)
    assert failure is not None
    assert not before.whole
    limits = Limits(wall_seconds=18, cpu_seconds=60)
    deadline = time.monotonic() + 120
    cut = Prover(Bubblewrap(), project, before, failure, limits, templates=True, deadline=deadline).prove(
        {"sums.py": RIGHT.encode()}
    )
    assert isinstance(cut, Proof)
    assert cut.cut
    assert cut.contested
    assert cut.passed_after == ("test_z.py::test_double",)


def test_time_that_ends_before_the_other_tests_do_refuses_no_patch(tmp_path: Path) -> None:
    """Of the tests that the command leaves out those that ran are compared: what breaks one of these is refused."""
    files = {**PART, "test_c.py": f"import time\n\n{WAITING}"}
    project = project_of(tmp_path, files, "python -m pytest test_a.py")
    right = proven(project, RIGHT, seconds=20.0)
    assert isinstance(right, Proof)
    assert right.rest is not None
    assert right.rest.failed == 0
    assert "stopped" in right.unrun
    assert isinstance(proven(project, WRONG, seconds=20.0), Unproven)


def test_a_whole_repair_keeps_its_budget(tmp_path: Path) -> None:
    """No run of its tests may take longer than the budget, whatever the limits of one run are."""
    given: list[float] = []

    class Watched(Bubblewrap):
        def run(self, workload: Workload) -> CompletedRun:
            given.append(workload.limits.wall_seconds)
            return super().run(workload)

    context = remembering(tmp_path / "home", 90.0, 1, HashedWords())
    project = project_of(tmp_path / "project", {"test_a.py": FAILING})
    task = Task(id="t", kind=TaskKind.REPAIR, repository="o/r", sha="s", number=0, created_at=context.clock())
    context.store.tasks.add(task)
    try:
        deps = replace(context.repair_deps(), sandbox=Watched(), limits=Limits(wall_seconds=900, cpu_seconds=900))
        assert repair(task, project, deps).proven
    finally:
        context.store.close()
    assert len(given) > 3
    assert max(given) <= 90.0


def test_programs_that_tests_start_are_traced(tmp_path: Path) -> None:
    """The lines of the program are the test's, and the project's own sitecustomize is loaded in it all the same."""
    test = """
        import subprocess, sys

        def test_program():
            run = subprocess.run([sys.executable, "-m", "tool"], capture_output=True, text=True, check=True)
            assert run.stdout == "customised 4"
    """
    files = {
        "tool.py": "import sys\nfrom sums import double\nprint(sys.mark, double(2), end='')\n",
        "sitecustomize.py": "import sys\nsys.mark = 'customised'\n",
        "test_a.py": test,
    }
    seen = reproduce(Bubblewrap(), project_of(tmp_path, files), limits=LIMITS)
    (failing,) = seen.failing_report.failing()
    assert "customised 5" in failing.message
    assert seen.lines["test_a.py::test_program"]["sums.py"] >= {2}
    assert seen.lines["test_a.py::test_program"]["tool.py"] == {1, 2, 3}


def candidate(path: str, source: str) -> Candidate:
    shape = shape_of("t", "a", "b")
    return Candidate(path=path, source=source, line=1, function="", template="t", strategy="s", shape=shape, score=1.0)


@pytest.mark.parametrize(
    "early", [{"sitecustomize.py": "import sums\n"}, {"pytest.ini": "[pytest]\naddopts = -p sums\n"}]
)
def test_what_is_loaded_before_pytest_costs_no_process_for_each_candidate(
    tmp_path: Path, early: Mapping[str, str]
) -> None:
    """Other modules are tried in forks; an edit of what was loaded early is tried in a process of its own, and rightly."""
    test = FAILING + "\n\ndef test_other():\n    from other import number\n\n    assert number() == 1\n"
    files = {"other.py": "def number():\n    return 0\n", "test_a.py": test, **early}
    project = project_of(tmp_path, files)
    wanted = ScreeningTests(failing=("test_a.py::test_other",), covering=(), seconds=0.1)
    with pool_for(Bubblewrap(), project, wanted, limits=LIMITS, runners=1) as pool:
        assert pool.note == ""
        right = candidate("other.py", "def number():\n    return 1\n")
        assert [v.plausible for v in pool.verdicts([right], deadline=lambda: False)] == [True]
    wanted = ScreeningTests(failing=("test_a.py::test_double",), covering=(), seconds=0.1)
    with pool_for(Bubblewrap(), project, wanted, limits=LIMITS, runners=1) as pool:
        tried = [candidate("sums.py", RIGHT), candidate("sums.py", SOURCE + "\n")]
        assert [v.plausible for v in pool.verdicts(tried, deadline=lambda: False)] == [True, False]


def test_a_warning_of_the_project_in_its_filters_costs_no_process_for_each_candidate(tmp_path: Path) -> None:
    """pytest looks it up before anything of the project may be loaded; the filter holds in the tests all the same."""
    warned = "import warnings\n\n\nclass Odd(UserWarning):\n    pass\n\n\n"
    told = SOURCE.replace("    return", "    warnings.warn('odd', Odd)\n    return", 1)
    files = {
        "sums.py": warned + told,
        "test_a.py": FAILING,
        "pytest.ini": "[pytest]\nfilterwarnings =\n  error\n  ignore::sums.Odd\n",
    }
    project = project_of(tmp_path, files)
    wanted = ScreeningTests(failing=("test_a.py::test_double",), covering=(), seconds=0.1)
    with pool_for(Bubblewrap(), project, wanted, limits=LIMITS, runners=1) as pool:
        right = candidate("sums.py", (warned + told).replace(" + 1", ""))
        assert [v.plausible for v in pool.verdicts([right], deadline=lambda: False)] == [True]
        assert (pool.note, pool.swapped) == ("", 1)
