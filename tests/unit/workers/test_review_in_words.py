from __future__ import annotations

from inline_snapshot import snapshot

from memory.model import Finding
from tests.reviewed import finding, review
from workers.messages.review import check_summary, finding_comment, review_body
from workers.review.plan import ReviewPlan


def of_rule(rule: str, tool: str = "ruff") -> Finding:
    return finding(rule=rule, tool=tool)


def test_hidden_findings_are_named_by_rule() -> None:
    """With no reason that is not known: little use is expected also where no maintainer rejected anything."""
    held = tuple(map(of_rule, ["D103", "SLF001", "D103", "E1", "E2", "E3", "E4"]))
    line = (
        "7 findings hidden, because little use is expected of them: "
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
