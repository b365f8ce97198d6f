"""Which pull requests get a review without a command, and which limits count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from memory.model import Actor
from memory.retrieval.embeddings import HashedWords
from workers.configuration.reading import configuration_of, read_configuration
from workers.context import open_context
from workers.flows.configured import not_wanted
from workers.jobs import RepositoryRef, ReviewPull
from workers.ports import PullRequest
from workers.settings import WorkerSettings

JOB = ReviewPull(
    repository=RepositoryRef(id=7, full_name="kitchen/pantry", installation_id=1),
    actor=Actor(id=1, login="a"),
    number=3,
)
PULL = PullRequest(
    number=3,
    title="t",
    state="open",
    head_ref="h",
    head_sha="0" * 40,
    head_repository_id=7,
    base_ref="main",
    base_sha="1" * 40,
    author=Actor(id=2, login="Finn"),
    labels=("Docs", "wip"),
)


def why(text: str, *, pushed: bool = False, **changes: object) -> str:
    """The reason against a review."""
    chosen = configuration_of([read_configuration(text.encode())])
    return not_wanted(structs.replace(JOB, pushed=pushed), replace(PULL, **changes), chosen)  # type: ignore[arg-type]


def test_without_a_file() -> None:
    """Everything is reviewed but drafts."""
    assert why("") == why("", pushed=True) == why("", head_repository_id=8) == ""
    assert why("", draft=True) == "it is a draft"


@pytest.mark.parametrize(
    ("text", "changes", "reason"),
    [
        ("reviews: {drafts: true}", {"draft": True}, ""),
        ("reviews: {opened: false}", {}, "`reviews.opened: false`"),
        ("reviews: {opened: false}", {"pushed": True}, ""),
        ("reviews: {pushes: false}", {"pushed": True}, "`reviews.pushes: false`"),
        ("reviews: {pushes: false}", {}, ""),
        ("reviews: {forks: false}", {"head_repository_id": 0}, "it comes from a fork"),
        ("reviews: {forks: false}", {}, ""),
        ("reviews: {skip-authors: [finn]}", {}, "by `Finn`"),
        ("reviews: {skip-authors: [fin]}", {}, ""),
        ("reviews: {skip-labels: [none, WIP]}", {}, "the label `WIP`"),
        ("reviews: {skip-labels: [wi]}", {}, ""),
    ],
)
def test_each_choice(text: str, changes: dict[str, object], reason: str) -> None:
    """Each has its own reason, and concerns nothing else; names of accounts and labels have no case."""
    found = why(text, **changes)  # type: ignore[arg-type]
    assert (reason in found) if reason else not found


@pytest.mark.parametrize(
    ("text", "seconds", "comments"),
    [
        ("", 60.0, 10),
        ("limits: {repair-seconds: 20, comments: 3}", 20, 3),
        ("limits: {comments: 0}", 60.0, 0),
        ("limits: {repair-seconds: 9999, comments: 40}", 60.0, 10),
    ],
)
def test_limits_only_narrow(tmp_path: Path, text: str, seconds: float, comments: int) -> None:
    """No file gives more time or more comments than the operator."""
    settings = WorkerSettings(home=tmp_path, budget_seconds=60, max_comments=10)
    context = open_context(settings, embedder=HashedWords())
    with context.store:
        found = context.configured(configuration_of([read_configuration(text.encode())]))
        assert found.settings.budget_seconds == seconds
        assert found.settings.max_comments == comments
        assert found.settings.model_dump(exclude={"budget_seconds", "max_comments"}) == settings.model_dump(
            exclude={"budget_seconds", "max_comments"}
        )
