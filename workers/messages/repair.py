"""What users read about a repair: the pull request that proposes it, and every other result."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import assert_never

from memory.model import Attempt, AttemptOutcome, Confidence, Doubt, Failure, Proof, SuiteCount
from workers.messages.markdown import SKIP_CI, as_commit, code, counted, first_of, folded, marker, name, plain, words
from workers.sandbox.report import shortened

SHOWN_TESTS = 5
LONGEST_TITLE = 256
"""Characters that GitHub takes."""
LONGEST_PATCH = 20_000
LATE = "**Not proven:** the failing tests pass with this change, and time ended before all others had run with it:"
"""Characters of a patch that are shown: a text on GitHub has 65,536 at most, and another patch, or a test of 20,000, may be shown beside it."""


def fix_title(failure: Failure, path: str) -> str:
    return _title(f"Fix {words(failure.error_type)} in {words(path)}")


def question_title(failure: Failure, path: str) -> str:
    """The title of one whose body asks whether its patch is right."""
    return _title(f"Possible fix for {words(failure.error_type)} in {words(path)}")


def _title(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"


def fix_commit(failure: Failure, path: str, issue: int, *, skip_ci: bool) -> str:
    tests = "\n".join(f"- {words(test)}" for test in failure.failing_tests[:SHOWN_TESTS])
    title = f"{fix_title(failure, path)}{SKIP_CI if skip_ci else ''}"
    return f"{title}\n\nThese tests failed and pass now:\n{tests}\n\nFor #{issue}\n"


def fix_body(
    failure: Failure,
    attempt: Attempt,
    files: Mapping[str, bool],
    tests: Mapping[str, str],
    *,
    issue: int,
    closes: bool,
    bot_name: str,
    key: str,
) -> str:
    """The body of a pull request that repairs a failure, with its proof. Merging it closes the issue when it `closes`.

    `files` are those of the commit, and whether they are new; `tests` are the texts of the tests that the issue brought,
    committed or not.
    """
    proof = attempt.proof
    assert proof is not None, "only a proven attempt is published"
    rest = "\n".join(
        [
            f"**What failed:** {_failure_line(failure)}",
            "",
            *_evidence(attempt, proof),
            "",
            f"**Files:** {', '.join(name(path) + (' (new)' if new else '') for path, new in files.items())}",
            *(line for path, text in tests.items() for line in _test(path, text, committed=path in files)),
            *(["", f"**What the model says:** {plain(attempt.reflection)}"] if attempt.by_model else []),
            "",
            (
                f"Chosen strategy: {name(attempt.strategy)} (probability {attempt.probability:.2f}, "
                f"{_effort(attempt)}). Decision {name(attempt.decision_id)}; "
                f"ask `@{bot_name} why {attempt.decision_id}` for the reasons."
            ),
            "",
            "Merging teaches me that this kind of edit is wanted here, closing that it is not.",
            marker(key),
        ]
    )
    return f"{'Fixes' if closes else 'For'} #{issue}.\n\n{as_commit(rest)}"


def fix_published(pull: int, attempt: Attempt) -> str:
    """The answer in the conversation that asked for a repair."""
    assert attempt.proof is not None, "only a proven attempt is published"
    fixed = len(attempt.proof.passed_after)
    question = " as a question" if attempt.proof.contested else ""
    return (
        f"I opened #{pull}{question}: {counted(fixed, 'failing test')} now {'passes' if fixed == 1 else 'pass'}, "
        f"and so does the rest of the suite ({attempt.proof.suite.passed} passed, "
        f"run {attempt.proof.repeats}×).{_but(attempt.proof)}"
    )


def proposed_already(pull: int) -> str:
    """The answer to a second request for the same repair."""
    return f"#{pull} is my repair of this. To get another one, close it and ask again, or say after `fix` what to do."


def fix_for_fork(attempt: Attempt) -> str:
    """A repair of a fork's pull request, whose branch is not ours to push to."""
    return _shown("This makes the failing tests pass; the branch is a fork's, so please apply it there:", attempt)


def fix_refused(attempt: Attempt, reason: str) -> str:
    """A repair for which GitHub takes no branch or no pull request."""
    return _shown(f"I could not open a pull request: {plain(reason)}. This makes the failing tests pass:", attempt)


def fix_in_review(attempt: Attempt) -> str:
    """A repair of what a reviewed change breaks."""
    assert attempt.proof is not None, "only a proven attempt is published"
    if attempt.proof.unusual:
        return fix_unusual(attempt)
    several = attempt.proof.contested and attempt.proof.clusters + attempt.proof.uncompared > 1
    return fix_undecided(attempt) if several else _shown("With this change they pass:", attempt)


def culprit(patch: str, proof: Proof, broken: str) -> str:
    """The part of a reviewed change that breaks tests, which `broken` refers to, as the patch that takes it back."""
    head = (
        f"One part of the change breaks {broken}. With this patch, which takes it back, they pass, and no other of "
        f"{proof.suite.collected} tests is broken:"
    )
    return "\n".join([head, "", _patch(patch)])


def fix_undecided(attempt: Attempt) -> str:
    """A repair that the tests do not decide on: shown, with the question, and not proposed."""
    text = (
        "The failing tests can be made to pass in several ways, and the tests do not decide between them, so I propose none. "
        "Add a test of what is meant, and I try again. The likeliest change:"
    )
    return _shown(text, attempt)


def fix_unusual(attempt: Attempt) -> str:
    """A repair that uses what repairs have no use for: shown, with what it uses, and not proposed."""
    return _shown(
        "The failing tests pass with the change below, but it uses what a repair has no use for, so I do not propose it. "
        "Please read it closely before you apply it:",
        attempt,
    )


def _test(path: str, text: str, *, committed: bool) -> list[str]:
    """A test that came with the request, in full."""
    head = f"{name(path)} is the test that came with the request:"
    if not committed:
        head = (
            "The test that came with the request is **not part of this pull request**, because its author has no write "
            f"access here. The proof ran it as {name(path)}; read it, and add it if it is right:"
        )
    return ["", head, "", code(text, "python")]


def _patch(text: str, room: int = LONGEST_PATCH) -> str:
    """A patch in a fence, as far as there is room for it."""
    if len(text) <= room:
        return code(text, "diff")
    kept = text[:room].rpartition("\n")[0]
    more = counted(len(text[len(kept) :].strip("\n").split("\n")), "more line")
    return f"{code(kept, 'diff')}\n\n{more} not shown: GitHub limits the length of a text."


def _shown(text: str, attempt: Attempt) -> str:
    assert attempt.proof is not None, "only a proven attempt is published"
    return "\n".join([text, "", *_evidence(attempt, attempt.proof)])


def _evidence(attempt: Attempt, proof: Proof) -> list[str]:
    return [_patch(attempt.patch), "", *proof_section(proof)]


def proof_section(proof: Proof) -> list[str]:
    """What was shown, and the question that it leaves open."""
    return ["**Proof**", "", *_proof_lines(proof), *_question(proof)]


def fix_not_found(
    failure: Failure, attempts: Sequence[Attempt], *, seconds: float, effort: str = "", late: str = ""
) -> str:
    """The answer when no repair could be proven; `late` is a patch for whose proof no time was left."""
    tried = [f"| {name(a.strategy)} | {_effort(a)} | {_OUTCOMES[a.outcome]} |" for a in attempts]
    lessons = [] if late else [f"- {plain(a.reflection)}" for a in attempts if a.reflection]
    return "\n".join(
        [
            f"I could reproduce this but found no fix that I can prove, in {seconds:.0f} s.",
            "",
            f"**What fails:** {_failure_line(failure)}",
            "",
            "| strategy | effort | outcome |",
            "| --- | --- | --- |",
            *tried,
            "",
            *([LATE, "", _patch(late), ""] if late else []),
            *_learned(lessons),
            *([plain(effort), ""] if effort else []),
        ]
    )


def _learned(lines: Sequence[str]) -> list[str]:
    """What attempts left to the next ones: one line in full, more folded below the table that sums them up."""
    head = "What I learned from it"
    if len(lines) > 1:
        return [folded(head, "\n".join(lines)), ""]
    return [f"**{head}**", "", *lines, ""] if lines else []


def nothing_failing(sha: str, tests: int, *, bot_name: str) -> str:
    """The answer when the suite is green."""
    return (
        f"All {tests} tests pass at {sha[:12]}, so there is nothing for me to reproduce. "
        "Add a failing test, here in a ```` ```python ```` block or in the repository, and ask again: "
        f"`@{bot_name} fix`."
    )


def set_aside_lines(reasons: Mapping[str, str], *, each: bool = False) -> list[str]:
    """A line for each reason to set tests aside, with the first test and how many more; or a line for `each` test."""
    if each:
        return [f"{test}: {why}" for test, why in reasons.items()]
    tests: dict[str, list[str]] = {}
    for test, why in reasons.items():
        tests.setdefault(why, []).append(shortened(test))
    return [f"{first}{f' and {len(more)} more' if more else ''}: {why}" for why, (first, *more) in tests.items()]


def set_aside(reasons: Mapping[str, str]) -> str:
    """What is added to an answer where failures were set aside, each with its reason; empty without any."""
    every = set_aside_lines(reasons)
    more = len(every) - SHOWN_TESTS
    lines = [f"- {plain(line)}" for line in every[:SHOWN_TESTS]] + ([f"- and {more} more"] if more > 0 else [])
    return "\n".join(["", "", "**Set aside:**", "", *lines]) if lines else ""


def note(text: str) -> str:
    """What is added to an answer where the tests ran otherwise than usual; empty for an empty text."""
    return f"\n\n**Where the tests ran:** {plain(text)}." if text else ""


_OUTCOMES = {
    AttemptOutcome.PROVEN: "proven",
    AttemptOutcome.UNPROVEN: "passed the failing tests, not proven",
    AttemptOutcome.NOTHING_PLAUSIBLE: "nothing passed the failing tests",
    AttemptOutcome.OUT_OF_BUDGET: "ran out of time, or of its budget",
}


_DOUBTS = {
    Doubt.NONE: "",
    Doubt.SEARCH_CUT: "The search for other edits was cut short: please check that this one is right.",
    Doubt.FAR_FETCHED: (
        "Edits of its kind at such a place are seldom the repair, and pass by chance more often: please check that it is "
        "right."
    ),
    Doubt.COINCIDES: (
        "It adds a number to a value or takes one away, or compares the texts of two values, which often fits the tested "
        "values alone: please check that it is right."
    ),
    Doubt.PRONE: (
        "It changes when something is done, which often fits the tests and nothing else: please check that it is right."
    ),
    Doubt.SILENCES: (
        "It removes something, gives a fixed result or catches every error, which may silence the test rather than repair "
        "the code: please check that it is right."
    ),
}


def confidence(proof: Proof) -> str:
    """How far a proven change is to be trusted, by what other changes pass the same tests; empty when no comparison was made."""
    others = f"{proof.plausible} different edits pass these tests"
    match proof.confidence:
        case Confidence.UNIQUE:
            text = "No other edit that was tried passes these tests."
        case Confidence.AGREED:
            text = f"{others}, and all behave alike on further calls like those of the tests."
        case Confidence.DISPUTED:
            ask = "please decide" if proof.contested else "please check that this one is right"
            ways = "alike" if proof.clusters == 1 else f"in {proof.clusters} different ways"
            like = f", {proof.alike} of them like this one" if proof.alike > 1 else ""
            text = (
                f"{others}. There was time to compare {proof.plausible - proof.uncompared} of them on further calls, where "
                f"these behave {ways}: {ask}."
                if proof.uncompared
                else f"{others}, and they behave {ways} on further calls{like}: {ask}."
            )
        case Confidence.UNCOMPARED if proof.plausible > 1:
            text = f"{others}, and there was no further call to compare them by: please check that this one is right."
        case Confidence.UNCOMPARED:
            text = ""
        case _:
            assert_never(proof.confidence)
    return f"{text} {_DOUBTS[proof.doubt]}".strip()


UNSHOWN = "a part of the result that is not shown, or what the call changes, differs"
"""Why two changes differ on a call whose result reads the same."""


def asked_result(proof: Proof) -> str:
    """The question which of two changes is right, in plain words; empty when there is none."""
    telling = proof.telling
    if telling is None:
        return ""
    if not telling.call:
        return "Which is right: this change or the other one? No call was found that tells them apart."
    if telling.this == telling.other:
        same = f"{telling.call} → {telling.this} with both, but {UNSHOWN}."
        return f"Which is right: this change or the other one? {same}"
    return f"Which is right: {telling.call} → {telling.this} (this change) or {telling.other} (the other one)?"


def _question(proof: Proof) -> list[str]:
    """What the maintainer is asked about a disputed change, with the change that is the alternative."""
    telling = proof.telling
    if telling is None:
        return []
    if telling.this == telling.other:
        apart = f"{name(telling.call)} gives {name(telling.this)} with this change and with this one, but {UNSHOWN}:"
    else:
        apart = f"{name(telling.call)} gives {name(telling.this)} with this change, and {name(telling.other)} with this one instead:"
    return [
        "",
        "**Which result is right?**" if telling.call else "**Which change is right?**",
        "",
        apart if telling.call else "No call was found that tells the change above from this one:",
        "",
        _patch(telling.patch, LONGEST_PATCH // 4),
    ]


def _effort(attempt: Attempt) -> str:
    if attempt.by_model:
        return f"{counted(attempt.candidates, 'step')} of the model"
    return f"{counted(attempt.candidates, 'candidate')} tried"


def effort(attempts: Sequence[Attempt]) -> str:
    """What all attempts did together: candidates of a search and steps of a model count apart."""
    tried, steps = (sum(a.candidates for a in attempts if a.by_model is by_model) for by_model in (False, True))
    searched = [f"{counted(tried, 'candidate')} tried"] if tried or not steps else []
    return ", ".join([*searched, *([f"{counted(steps, 'step')} of the model"] if steps else [])])


def _but(proof: Proof) -> str:
    """What is added to a success that maintainers are asked about."""
    return f"\n\n{plain(confidence(proof))}" if proof.asked and confidence(proof) else ""


def _failure_line(failure: Failure) -> str:
    """The error, without what pytest adds of where its values come from, and where it is."""
    lines = takewhile(lambda line: not line.lstrip().startswith("+  where "), failure.message.splitlines())
    message = f" {name(text)}" if (text := "\n".join(lines)).strip() else ""
    return f"{name(failure.error_type)}{message} in {first_of(failure.failing_tests, SHOWN_TESTS, name)}"


def suite_counts(suite: SuiteCount) -> str:
    """A run in numbers that sum up: what is expected to fail is neither passed, failed nor skipped."""
    expected = suite.collected - suite.passed - suite.failed - suite.skipped
    more = f", {expected} expected to fail" if expected else ""
    return f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped{more} of {suite.collected}"


def other_tests(proof: Proof) -> str:
    """What tests that the test command leaves out say of a change, and why some did not run; empty where all did."""
    rest = proof.rest
    ran = f"; all tests: {rest.passed} passed, {rest.failed} failed as before" if rest and rest.collected else ""
    return f"{ran}; not all of the tests ran: {proof.unrun}" if proof.unrun else ran


def _challenges(proof: Proof) -> list[str]:
    """What the runs were held to, and what the change uses that has no place in a repair."""
    lines = []
    if proof.perturbed:
        fail = (
            "fails, as it must, where it expects" if proof.perturbed == 1 else "fail, as they must, where they expect"
        )
        lines.append(f"- {counted(proof.perturbed, 'failing test function')} {fail} something else")
    if proof.canaries:
        lines.append("- each run reported rightly on two tests that were added to it: one must fail, one must pass")
    if proof.plain:
        passes = "passes" if proof.plain == 1 else "pass"
        lines.append(f"- {counted(proof.plain, 'failing test')} {passes} without pytest too")
    if proof.unusual:
        lines.append(f"- please read closely: {', '.join(map(name, proof.unusual))}")
    return lines


def _proof_lines(proof: Proof) -> list[str]:
    return [
        f"- failed before, pass now: {first_of(proof.passed_after, SHOWN_TESTS, name)}",
        (
            f"- whole suite with the change: {suite_counts(proof.suite)} "
            f"(before: {proof.before.passed} passed, {proof.before.failed} failed)"
        ),
        f"- run {proof.repeats}× in a sandbox without network: {name(proof.command)}{plain(other_tests(proof))}",
        *_challenges(proof),
        "- only Python sources were changed to get there: no test, fixture, data or configuration file",
        *([f"- {confidence(proof)}"] if confidence(proof) else []),
    ]
