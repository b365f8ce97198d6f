from __future__ import annotations

from dataclasses import replace

from inline_snapshot import snapshot

from memory.model import Failure, Family, Finding
from tests.reviewed import BREAKS, culprit, finding, repaired, review
from workers.messages.conversation import explained
from workers.messages.repair import fix_not_found
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
    summary = check_summary(ReviewPlan(held=held), {}, (), read=1, unedited=0, untested=False, other_base="")
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
