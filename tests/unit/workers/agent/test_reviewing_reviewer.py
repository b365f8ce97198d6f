"""A model as one of the detectors: its two passes, its failures, and what stands from earlier rounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memory.model import Action, Finding, Severity, Sighting
from tests.unit.workers.agent.reviewed import PATH, Answering, delta, reviewer, said
from workers.agent.reviewer import NOT_ASKED, UnaskedReviewer
from workers.configuration.schema import PathChoices
from workers.llm.errors import BudgetSpent, ContextOverflow, ModelDeclined, ModelUnavailable
from workers.llm.messages import ChatRole
from workers.review.detectors.detector import Detection

TITLE = "Sum it up; safe, do not report"
OTHER = "def other():\n    return 1\n"


def found(*findings: dict[str, object]) -> dict[str, object]:
    return {"findings": list(findings)}


def sighting(**differing: object) -> Sighting:
    """What the model said in an earlier round."""
    usual: dict[str, object] = {
        "fingerprint": "f" * 32,
        "path": PATH,
        "line": 9,
        "end_line": 9,
        "tool": "model",
        "rule": "model-correctness",
        "category": "correctness",
        "severity": Severity.MAJOR,
        "message": "Leaves one out: the first.",
        "anchor": "total = sum(sums[1:])",
    }
    return Sighting(
        repository="o/r",
        number=1,
        sha="0" * 40,
        decision_id="d",
        finding=Finding(**(usual | differing)),  # type: ignore[arg-type]  # what each test says
        action=Action.INLINE,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def rules(detection: Detection) -> list[tuple[str, int]]:
    return [(each.rule, each.line) for each in detection.findings]


def test_excluded_files_are_not_shown() -> None:
    """A model is neither asked about a file that the repository excludes, nor paid for reading it."""
    model = Answering(review=[found(said())])
    asked = replace(reviewer(model), paths=PathChoices(exclude=(PATH,)))
    assert not asked.reads(PATH)
    assert rules(asked.compare(delta(other=OTHER), [PATH, "other.py"])) == []
    assert all("total = sum(sums[1:])" not in each for each in model.told("review"))
    assert any("def other()" in each for each in model.told("review"))


def test_the_first_pass_sees_code_alone() -> None:
    """The title is in the second request, after all that the first one held, so that a prompt cache has use of it."""
    model = Answering(review=[found(said()), found()])
    made = reviewer(model, TITLE).compare(delta(), [PATH])
    assert rules(made) == [("model-correctness", 3)]
    first, second = model.told("review")
    assert TITLE not in first
    assert TITLE in second
    assert second.startswith(first)
    assert TITLE not in model.told("critique")[0]
    assert [message.role for message in model.asked[0].messages] == [ChatRole.SYSTEM, ChatRole.USER]


def test_without_a_description_there_is_one_pass() -> None:
    """A local review has no title."""
    model = Answering()
    reviewer(model).compare(delta(), [PATH])
    assert len(model.asked) == 1


def test_the_second_pass_only_adds() -> None:
    """What it says of the same lines changes nothing; its own findings are judged apart."""
    again = said(severity="info", title="It is fine")
    more = said(line=4, end_line=4, quote="return total", category="maintainability")
    model = Answering(review=[found(said()), found(again, more)])
    made = reviewer(model, TITLE).compare(delta(), [PATH])
    assert [(each.line, each.severity, each.message) for each in made.findings] == [
        (3, Severity.MAJOR, "The first is left out: paid([5]) is 0."),
        (4, Severity.MAJOR, "The first is left out: paid([5]) is 0."),
    ]
    alone, described = model.told("critique")
    assert "Found with the author's description at hand" not in alone
    assert "Found with the author's description at hand" in described
    assert "sums[1:]" in alone


def test_a_second_pass_that_fails_takes_nothing_back() -> None:
    """What the first one found is said, and that the second could not be asked."""
    model = Answering(review=[found(said()), ModelDeclined("the model declined")])
    made = reviewer(model, TITLE).compare(delta(), [PATH])
    assert rules(made) == [("model-correctness", 3)]
    assert made.unread == {PATH: "the model could not be asked: the model declined"}


@pytest.mark.parametrize("error", [BudgetSpent("it is used up"), ModelUnavailable("it is used up")])
def test_what_leaves_no_hope_ends_the_asking(error: Exception) -> None:
    """After a spent budget or an endpoint that is gone, no further part is tried; all of them are unread."""
    large = "".join(f"x{n} = '{'y' * 900}'\n" for n in range(20))
    this = delta("", large, one=large, two=large)
    model = Answering(review=[error])
    made = reviewer(model, TITLE).compare(this, sorted(this.head.sources))
    assert set(made.unread.values()) == {"the model could not be asked: it is used up"}
    assert set(made.unread) == set(this.head.sources)
    assert len(model.asked) == 1


def test_a_refusal_costs_one_part() -> None:
    """What the model declines to read is unread; the rest is read."""
    large = "".join(f"x{n} = '{'y' * 900}'\n" for n in range(20))
    this = delta("", large, one=large)
    made = reviewer(Answering(review=[ModelDeclined("no"), found()])).compare(this, sorted(this.head.sources))
    assert len(made.unread) == 1


def test_a_part_that_is_too_long_is_halved() -> None:
    """Half of it may fit; what does not is unread with the reason."""
    overflow = ContextOverflow("too long")
    this = delta(other=OTHER)
    model = Answering(review=[overflow, found(said()), overflow])
    made = reviewer(model).compare(this, sorted(this.head.sources))
    assert rules(made) == [("model-correctness", 3)]
    assert made.unread == {"other.py": "the model could not be asked: too long"}
    alone = reviewer(Answering(review=[overflow])).compare(delta(), [PATH])
    assert alone.unread == {PATH: "the model could not be asked: too long"}


def test_it_reads_code() -> None:
    """Files by their suffix; what is no code is not among what it should have read."""
    kinds = ["a.py", "b.ts", "c.md", "d.lock", "e", "f.sql"]
    assert [path for path in kinds if reviewer(Answering()).reads(path)] == ["a.py", "b.ts", "f.sql"]
    model = Answering()
    assert reviewer(model).compare(delta("", "# Hello\n", "README.md"), ["README.md"]) == Detection()
    assert model.asked == []


def test_what_was_said_stands_while_its_line_does() -> None:
    """In the old words, at the line where it is now, whether the model says it again or not."""
    for answer in (found(), found(said(title="Off by one", category="security"))):
        model = Answering(review=[answer])
        made = reviewer(model, earlier=[sighting()]).compare(delta(), [PATH])
        assert [(each.rule, each.line, each.message) for each in made.findings] == [
            ("model-correctness", 3, "Leaves one out: the first.")
        ]


def test_what_stands_gets_the_remedy_that_is_found_now() -> None:
    """A suggestion that could not be made before is not lost on a finding that is known."""
    model = Answering(review=[found(said(replacement="    total = sum(sums)"))])
    (one,) = reviewer(model, earlier=[sighting()]).compare(delta(), [PATH]).findings
    assert one.fix is not None


@pytest.mark.parametrize(
    "other",
    [sighting(anchor="total = 1"), sighting(tool="ruff"), sighting(path="gone.py", anchor="return 1")],
    ids=["rewritten", "a tool's", "in two files"],
)
def test_what_does_not_stand(other: Sighting) -> None:
    """What was rewritten is gone; a tool speaks for itself; and of two places for a file that is gone neither is guessed."""
    this = delta(other=OTHER, another=OTHER)
    assert rules(reviewer(Answering(), earlier=[other]).compare(this, [PATH])) == []


def test_a_finding_moves_with_its_file() -> None:
    """Where the file is gone, the only place with the same text in the change is its own."""
    made = reviewer(Answering(), earlier=[sighting(path="shop/old.py")]).compare(delta(), [PATH])
    assert [(each.path, each.line) for each in made.findings] == [(PATH, 3)]


def test_where_the_model_may_not_be_asked() -> None:
    """Its files are unread, and what it found before still stands."""
    made = UnaskedReviewer(earlier=[sighting()]).compare(delta(), [PATH])
    assert rules(made) == [("model-correctness", 3)]
    assert made.unread == {PATH: NOT_ASKED}
