"""How a template is asked for its edits of a small module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from textwrap import dedent

import pytest

from memory.model import Failure
from workers.repair.candidates import Suspect
from workers.repair.classify import family_of
from workers.repair.engines.search.search import SearchSpace
from workers.repair.engines.search.templates import all_templates

Edits = Callable[..., set[str]]

FAINT = 1e-9


@pytest.fixture
def edits() -> Edits:
    """The module texts that one template proposes, every line being suspected."""

    def run(
        template: str,
        before: str,
        *,
        error: str = "AssertionError",
        message: str = "",
        others: Mapping[str, str] = {},
    ) -> set[str]:
        source = dedent(before).lstrip("\n")
        failure = Failure(
            error_type=error,
            family=family_of(error),
            message=message,
            frames=(),
            failing_tests=("tests/test_it.py::test_it",),
        )
        suspects = [Suspect(path="it.py", line=n, score=0.9) for n in range(1, source.count("\n") + 1)]
        # The others come last, so that none of them has made the same edit before.
        faint = {other.name: FAINT for other in all_templates() if other.name != template}
        found = SearchSpace(
            sources={"it.py": source, **others}, suspects=suspects, failure=failure, weights=faint
        ).proposed()
        own = takewhile(lambda candidate: candidate.score > FAINT, found)
        return {candidate.source for candidate in own if candidate.template == template}

    return run
