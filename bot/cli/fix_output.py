"""What `apprentice fix` prints for users: the verdict first, then the change, then what failed and how it was proven."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax

from bot.cli.console import Detail, TextTable, print_tables
from bot.cli.json_output import WORTH_NAMING, advice
from memory.model import Attempt, AttemptOutcome, Confidence, Doubt, Failure, Proof
from workers.messages import repair
from workers.messages.markdown import counted
from workers.repair.result import Repaired, RepairStatus
from workers.sandbox.report import shortened

THEME = "ansi_dark"
"""Of code: colours that the terminal chooses itself, so that they can be read on a light one too."""

SHOWN = 10
"""How many of each kind are listed: failing tests, what was set aside, files that were not read."""


def print_repaired(result: Repaired, out: Console, *, seconds: float, applied: bool, detail: Detail) -> None:
    """The verdict and, unless that is all, what it rests on."""
    out.print(f"[bold]{escape(verdict(result, seconds))}[/]")
    if detail is Detail.VERDICT:
        return
    if result.note:
        out.print(f"note: {result.note}", markup=False)
    proven = result.proven
    if proven is not None and proven.proof is not None:
        _print_change(result, proven, proven.proof, out, applied=applied)
    if result.late:
        out.print(
            "not proven: the failing tests pass with this change, and time ended before all others had run with it:"
        )
        print_code(result.late, out)
    if result.failure is not None:
        _print_failure(result.failure, proven.proof if proven else None, out, detail)
    if proven is not None and proven.proof is not None:
        print_proof(proven.proof, out)
        _print_left(proven.proof, out, detail)
    else:
        nearest = () if detail is Detail.ALL else (_nearest(result.attempts),)  # else all follow
        made = result.environment_seconds
        environment = (
            f"Making the environment: {made:.0f} s, beside the budget."
            if made >= WORTH_NAMING and result.effort
            else ""
        )
        for line in filter(None, (*nearest, environment, advice(result))):
            out.print(line, markup=False)
    print_some(repair.set_aside_lines(result.set_aside, each=detail is Detail.ALL), out, detail, before="set aside: ")
    _print_tests(result.flaky, out, detail, before="failed once, and passed when run again: ")
    if detail is Detail.ALL and result.attempts:
        print_tables([_attempts(result)], out)
    if result.attempts:
        out.print(f"why: apprentice why {(proven or result.attempts[-1]).decision_id}", markup=False)


def _nearest(attempts: Sequence[Attempt]) -> str:
    """What the last attempt came to that found an edit which passes the failing tests, else the last of all."""
    refused = [each for each in attempts if each.outcome is AttemptOutcome.UNPROVEN]
    return next((each.reflection for each in reversed(refused or attempts)), "")


def verdict(result: Repaired, seconds: float) -> str:
    """How a repair ended, in one line, with the counts and the time of the whole command."""
    time = f"{seconds:.1f} s"
    if result.failure is None:
        return f"{_nothing_fails(result)}; {time}"
    tests = _failing(result.failure.failing_tests)
    proven = result.proven
    end = "; ".join([*([repair.effort(result.attempts)] if result.attempts else []), time])
    if proven is None or proven.proof is None:
        more = f" ({result.others} more fail)" if result.others else ""
        return f"not fixed: {tests}{more}, and no change is proven; {end}"
    proof = proven.proof
    passes = f"{_failing(proof.passed_after)} {'passes' if len(proof.passed_after) == 1 else 'pass'}"
    if (reason := why_unsettled(result)) is None:
        failed = f"{proof.suite.failed} failed as before" if proof.suite.failed else "0 failed"
        return f"fixed: {passes} now; suite {proof.suite.passed} passed, {failed}; {end}"
    return f"undecided: {passes} with a change, {reason}; {end}"


def why_unsettled(result: Repaired) -> str | None:
    """Why a change that makes the failing tests pass is not called a fix; None where it is one, or where there is none."""
    if result.settled or (proven := result.proven) is None or (proof := proven.proof) is None:
        return None
    if proof.unusual:
        return f"but {unusual(proof)}"
    if proof.cut:
        return "but the time was up before all tests ran with it"
    if proof.confidence is Confidence.DISPUTED and proof.clusters > 1:
        return f"and with others that behave differently ({proof.plausible} in all)"
    if proof.unlikely:
        far = proof.doubt is Doubt.FAR_FETCHED
        return f"and it is an unlikely edit, {'by its place and its kind' if far else 'of a kind that fits tests by chance'}"
    return f"and with others that could not be compared ({proof.plausible} in all)"


def unusual(proof: Proof) -> str:
    """What in a change asks for a reader."""
    return f"it uses what a repair has no use for ({', '.join(proof.unusual)})"


def print_code(text: str, out: Console, language: str = "diff") -> None:
    """A diff, or other code, in colour, its lines as long as they are."""
    out.print(Syntax("", language, theme=THEME, background_color="default").highlight(text.rstrip("\n")))


def print_some(lines: Sequence[str], out: Console, detail: Detail, *, before: str) -> None:
    """The first lines and how many there are besides, or all of them, with the same text `before` each."""
    shown = lines if detail is Detail.ALL else lines[:SHOWN]
    for line in shown:
        out.print(f"{before}{line}", markup=False)
    if more := len(lines) - len(shown):
        out.print(f"{before}and {more} more (--verbose lists them)", markup=False)


def print_proof(proof: Proof, out: Console) -> None:
    """How a change was proven, and how sure that is."""
    out.print(_proof_line(proof), markup=False)
    if confidence := repair.confidence(proof):
        out.print(f"confidence: {confidence}", markup=False)


def print_question(proof: Proof, out: Console) -> None:
    """The question that the tests leave open, with the other change."""
    if proof.telling is not None:
        out.print(repair.asked_result(proof), markup=False)
        out.print("the other change:")
        print_code(proof.telling.patch, out)


def _print_tests(tests: Sequence[str], out: Console, detail: Detail, *, before: str) -> None:
    """The same for tests, whose long parameters only --verbose prints whole."""
    print_some(tests if detail is Detail.ALL else [*map(shortened, tests)], out, detail, before=before)


def _failing(tests: Sequence[str]) -> str:
    """How many fail; what is named by its file alone cannot be imported."""
    return counted(len(tests), "failing test" if any("::" in test for test in tests) else "failing test file")


def _nothing_fails(result: Repaired) -> str:
    tests = counted(result.tests, "test")
    if result.set_aside:
        return f"nothing to repair: {tests}, and {counted(len(result.set_aside), 'failure')} set aside"
    if result.flaky:
        return f"nothing fails each time: {tests}, {len(result.flaky)} of them failed once"
    return f"nothing fails: {tests}" + (f", {result.skipped} of them skipped" if result.skipped else "")


def _print_change(result: Repaired, proven: Attempt, proof: Proof, out: Console, *, applied: bool) -> None:
    out.print(_next_step(result, proof, applied=applied), markup=False)
    print_code(proven.patch, out)
    print_question(proof, out)


def _next_step(result: Repaired, proof: Proof, *, applied: bool) -> str:
    if applied and why_unsettled(result) is None:
        return "applied:"
    if proof.unusual:
        return "not applied; read it closely before you apply it:"
    if proof.cut:
        return "not applied; give more time (--budget), so that the whole suite can run with it:"
    if result.status is RepairStatus.UNDECIDED:
        return "not applied; add a test of what is meant and run again, or apply it yourself:"
    check = "compare it with the other change below, then " if proof.telling is not None else ""
    return f"not applied; {check}run again with --apply, or pipe --patch into `git apply`:"


def _print_failure(failure: Failure, proof: Proof | None, out: Console, detail: Detail) -> None:
    """What fails or, with a proof, what failed and passes now: a change may repair more tests than the repair began with."""
    tests = failure.failing_tests if proof is None else proof.passed_after
    lines = [line for line in failure.message.splitlines() if line.strip()] or [""]
    message = "\n".join(lines) if detail is Detail.ALL else lines[0][:200]
    what = f"{failure.error_type}: {message}".removesuffix(": ")
    others = len(tests) - len(failure.failing_tests)
    more = f" ({len(failure.failing_tests)} of these tests; it repairs the other {others} too)" if others > 0 else ""
    out.print(f"{'fails' if proof is None else 'failed before'}: {what}{more}", markup=False)
    _print_tests(tests, out, detail, before="  ")


def _print_left(proof: Proof, out: Console, detail: Detail) -> None:
    """The tests that still fail with the change, for which another repair is needed."""
    left = [test for test in proof.failed_before if test not in proof.passed_after]
    if left:
        out.print("still failing with it; run again for these once it is applied:")
        _print_tests(left, out, detail, before="  ")


def _proof_line(proof: Proof) -> str:
    after, before = len(proof.passed_after), _failing(proof.failed_before)
    whole = (
        f"suite {repair.suite_counts(proof.suite)}, run {proof.repeats} times: {proof.command}"
        if proof.suite.collected
        else "no time to run the suite"
    )
    passes = "passes" if after == 1 else "pass"
    return f"proof: {after} of {before} {passes}; {whole}{repair.other_tests(proof)}"


def _attempts(result: Repaired) -> TextTable:
    """Every attempt, and what it taught."""
    return TextTable(
        title="attempts",
        columns=("strategy", "probability", "candidates", "others compared", "outcome"),
        rows=tuple(
            (
                each.strategy,
                f"{each.probability:.2f}",
                str(each.candidates),
                str(each.rivals),
                str(each.outcome).replace("_", " "),
            )
            for each in result.attempts
        ),
        notes=(
            *(each.reflection for each in result.attempts),
            f"{result.test_runs} test runs; {result.proof_seconds:.1f} s for proofs",
        ),
    )
