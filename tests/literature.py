"""The table of docs/literature.md, and which of the tests that it names did not pass."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tests.pages import read, rows


class Row(NamedTuple):
    """A row of the table after its first column."""

    where: str
    command: str
    effect: str
    left_out: str

    def commands(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.command)


TABLE = {idea: Row(*cells) for idea, cells in rows(read("docs/literature.md")).items()}
COMMANDS = [each for row in TABLE.values() for each in row.commands()]
NODES = [each.removeprefix("pytest ") for each in COMMANDS if each.startswith("pytest ")]


def not_passed(nodes: Sequence[str], reports: Mapping[str, Collection[str]]) -> list[str]:
    """Those of `nodes`, files or tests, that did not pass in all their cases. `reports`: the ids of what ran, by outcome."""
    outcomes: dict[str, set[str]] = {}
    for outcome, ids in reports.items():
        for each in ids:
            test, *_ = re.split(r"[\[@]", each)  # after `@` xdist names the group that it keeps together
            for node in (test, test.partition("::")[0]):
                outcomes.setdefault(node, set()).add(outcome)
    return [node for node in nodes if outcomes.get(node) != {"passed"}]
