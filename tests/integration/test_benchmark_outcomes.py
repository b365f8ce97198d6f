"""The benchmark of what suggestions do to tests, on a history of three changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.outcomes import Tally, weigh
from tests.unit.workers.history.conftest import Branch

pytestmark = pytest.mark.sandbox


def test_offered_and_withheld_suggestions_are_told_apart(tmp_path: Path) -> None:
    """What the tests vouch for is offered and loses none; an import with an effect is withheld, and would lose one."""
    branch = Branch(tmp_path)
    branch.commit({"test_jar.py": "import jar\n\n\ndef test():\n    assert jar.empty() == 'empty'\n"})
    good = branch.commit({"jar.py": "import os\n\n\ndef empty():\n    return f'empty'\n"})
    effect = {"names.py": "NAMES = []\n", "plugin.py": "import names\n\nnames.NAMES.append(1)\n"}
    test = "import jar\nimport names\n\n\ndef test():\n    assert jar and names.NAMES\n"
    bad = branch.commit({**effect, "jar.py": "import plugin\n", "test_names.py": test, "test_jar.py": None})
    none = branch.commit({"README.md": "Jars.\n"})
    tally = Tally()
    weigh(tmp_path / ".git", [none, bad, good], tally)
    assert (tally.changes, tally.offered, tally.withheld, tally.tests) == (2, 2, 1, 1)
    assert (tally.lost, tally.untested.total(), dict(tally.rules)) == ([], 1, {"F401": 1, "F541": 1})
    assert tally.would_be_lost == [f"{bad[:10]} jar.py:1 loses 1: test_names.py::test"]
