from __future__ import annotations

from dataclasses import replace

from inline_snapshot import snapshot

from memory.model import AttemptOutcome, Failure, Family, Finding, Severity
from tests.reviewed import BREAKS, culprit, finding, repaired, review
from workers.messages.conversation import explained
from workers.messages.repair import fix_not_found, set_aside
from workers.messages.review import check_summary, finding_comment, review_body
from workers.review.plan import ReviewPlan


def of_rule(rule: str, tool: str = "ruff") -> Finding:
    return finding(rule=rule, tool=tool)


def test_hidden_findings_are_named_by_rule() -> None:
    """With no reason that is not known: little use is expected also where no maintainer rejected anything."""
    held = tuple(map(of_rule, ["D103", "SLF001", "D103", "E1", "E2", "E3", "E4"]))
    line = (
        "7 findings hidden because little use is expected: "
        "2 of D103, 1 of SLF001, 1 of E1, 1 of E2, 1 of E3 and 1 more rule."
    )
    reviewed = review().reviewed
    body = review_body(reviewed, ReviewPlan(held=held), (), sha="0" * 40, reopened=0, bot_name="apprentice", key="k")
    assert line in body.splitlines()
    summary = check_summary(reviewed, ReviewPlan(held=held), ())
    assert line in summary.splitlines()


def test_a_rule_that_does_not_show_its_tool_carries_its_name() -> None:
    """Readers know F401; `misc` tells them nothing."""
    found = (
        of_rule("F401"),
        of_rule("misc", "mypy"),
        of_rule("model-security", "model"),
        of_rule("S.no-eval", "semgrep"),
    )
    shown = [finding_comment(each, with_suggestion=False, bot_name="a").partition(" (")[0] for each in found]
    assert shown == snapshot(["**F401**", "**mypy misc**", "**model-security**", "**semgrep S.no-eval**"])


def test_the_part_that_breaks_tests_follows_these_tests() -> None:
    """What says nothing about the change comes after it, and a test that fails without the change is not denied."""
    reviewed = review(
        tests=replace(BREAKS, failing_before=("tests/test_b.py::test_old",)), culprit=culprit("one\n")
    ).reviewed
    body = review_body(reviewed, ReviewPlan(), (), sha="0" * 40, reopened=0, bot_name="apprentice", key="k")
    lines = [line for line in body.partition("Reviewed 0")[0].splitlines() if line]
    assert (lines[1:3], lines[-1]) == snapshot(
        (
            [
                "- `tests/test_a.py::test_it`: AssertionError: assert 1 == 2 (through `a.py:2`)",
                "One part of the change breaks them. With this patch, which takes it back, they pass, and no other of 3 tests is broken:",
            ],
            "1 test failing without this change too: `tests/test_b.py::test_old`.",
        )
    )


def test_a_reason_is_one_sentence_and_the_figures_are_folded() -> None:
    """A maintainer who asks why reads an answer, and not a page of figures."""
    assert explained("summary", 0.8125, "no verdict on F401 here yet", "Decision 1\nOptions") == snapshot("""\
I chose `summary`, which had a probability of 0.81: no verdict on F401 here yet.

<details><summary>All figures</summary>

```
Decision 1
Options
```

</details>\
""")


def test_a_failure_is_named_without_where_its_values_come_from() -> None:
    """pytest's explanation repeats whole texts, and addresses in memory."""
    message = "assert 10 == 12\n +  where 10 = <built-in method count of str object at 0x7f07>('value')"
    failure = Failure(
        error_type="AssertionError", family=Family.ASSERTION, message=message, frames=(), failing_tests=("t.py::t",)
    )
    line = fix_not_found(failure, [], seconds=1.0).splitlines()[2]
    assert line == snapshot("**What fails:** `AssertionError` `assert 10 == 12` in `t.py::t`")


def test_what_many_attempts_left_is_folded() -> None:
    """The table sums it up; where there is one attempt its words are all that is known."""
    failure = Failure(error_type="KeyError", family=Family.LOOKUP, message="'a'", frames=(), failing_tests=("t.py::t",))
    one, two = (
        replace(repaired("one\n"), strategy=each, reflection=f"{each}: no candidate to try.")
        for each in ("calls", "names")
    )
    assert "**What I learned from it**\n\n- calls" in fix_not_found(failure, [one], seconds=1.0)
    many = fix_not_found(failure, [one, two], seconds=1.0)
    assert "<details><summary>What I learned from it</summary>\n\n- calls: no candidate to try.\n- names: no" in many


def test_a_change_without_time_for_its_proof_is_shown() -> None:
    """Its attempt broke nothing that is known, and its words say only that time ended."""
    failure = Failure(error_type="KeyError", family=Family.LOOKUP, message="'a'", frames=(), failing_tests=("t.py::t",))
    one = replace(
        repaired("one\n"),
        strategy="names",
        outcome=AttemptOutcome.UNPROVEN,
        candidates=2,
        reflection="names: 1 of 2 edits pass the failing tests, and none is proven. The time was used up.",
    )
    assert fix_not_found(failure, [one], seconds=1.0, late=one.patch) == snapshot("""\
I could reproduce this but found no fix that I can prove, in 1 s.

**What fails:** `KeyError` `'a'` in `t.py::t`

| strategy | effort | outcome |
| --- | --- | --- |
| `names` | 2 candidates tried | passed the failing tests, not proven |

**Not proven:** the failing tests pass with this change, and time ended before all others had run with it:

```diff
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,5 +1 @@
 one
-two
-three
-four
-five
```
""")


def test_what_is_set_aside_has_its_own_reason() -> None:
    """A failure that the change did not bring about could be repaired, so the heading gives no other reason."""
    assert set_aside({"t.py::a": "it fails without the changes, too"}) == snapshot("""\


**Set aside:**

- t.py::a: it fails without the changes, too\
""")


def test_findings_of_one_rule_share_a_line_and_not_always_a_message() -> None:
    """A message that holds for the first place alone says so."""
    found = (
        finding(rule="E501", message="long"),
        finding(rule="E501", message="long"),
        finding(rule="F401", message="os unused"),
        finding(rule="F401", message="re unused"),
    )
    body = review_body(
        review().reviewed, ReviewPlan(summary=found), (), sha="0" * 40, reopened=0, bot_name="apprentice", key="k"
    )
    assert [line for line in body.splitlines() if line.startswith("- ")] == snapshot(
        ["- **E501** 2 times, `a.py:1`, `a.py:1`: long", "- **F401** 2 times, `a.py:1`, `a.py:1`: the first: os unused"]
    )


def test_what_is_critical_shows_so_in_the_summary() -> None:
    """Among lines of style a hole would be passed over, so it is also the first."""
    found = (finding(rule="E501", message="long"), finding(Severity.CRITICAL, "a hole", rule="B602"))
    body = review_body(
        review().reviewed, ReviewPlan(summary=found), (), sha="0" * 40, reopened=0, bot_name="apprentice", key="k"
    )
    assert [line for line in body.splitlines() if line.startswith("- ")] == snapshot(
        ["- `a.py:1` **B602** (critical) a hole", "- `a.py:1` **E501** long"]
    )
