"""A repair without a model loads nothing of the model engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import sys
from pathlib import Path
import bot.local
import workers.flows
import workers.repair.episode
from memory.model import Task, TaskKind
from workers.job_context import open_job_context
from workers.settings import WorkerSettings

context = open_job_context(WorkerSettings(home=Path(sys.argv[1])))
task = Task(id="t", kind=TaskKind.REPAIR, repository="o/r", sha="s", number=0, created_at=context.clock())
assert context.llm_options(task) is None
print(*(name for name in sys.modules if name.startswith(("workers.agent", "workers.llm", "workers.repair.engines.llm"))))
"""


@pytest.mark.slow
def test_nothing_of_the_model_engine_is_loaded(tmp_path: Path) -> None:
    """The flows, the local repair and a context without a model import neither the model engine nor its client."""
    made = subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert made.stdout.split() == []
