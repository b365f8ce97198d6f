"""Two tiny cases, a scripted model that needs a lesson for the second, and runs over them in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agent.folder import Record, read
from benchmarks.repair.cases import write_case
from bot.model_server.script import Script, ScriptedCall, Turn, When
from tests.projects import PYPROJECT

ROOT = Path(__file__).parents[2]
LESSON = "The bound itself is allowed, so compare with the size before the new one comes."
OLD, NEW, WRONG = "len(self.held) <= self.size", "len(self.held) < self.size", "len(self.held) != self.size + 2"
PRICE = "1,1,1"


def write_cases(into: Path, *names: str) -> Path:
    """A case folder for each name: a class that holds one thing too many, with its test, and one held out."""
    for name in names:
        source = f"""
class {name.title()}:
    def __init__(self, size):
        self.size = size
        self.held = []

    def put(self, *names):
        for name in names:
            if {OLD}:
                self.held.append(name)
        return len(self.held)
"""
        test = f"""
from {name} import {name.title()}


def test_it_holds_no_more_than_its_size():
    assert [{name.title()}(size).put("a", "b", "c") for size in SIZES] == list(SIZES)
"""
        write_case(
            into / name,
            name=name,
            files={f"{name}.py": source, f"test_{name}.py": test.replace("SIZES", "(1, 2)")}
            | {"pyproject.toml": PYPROJECT},
            held_out={"test_held_out.py": test.replace("SIZES", "(0, 1, 2, 3)")},
            test_command="python -m pytest -q",
            budget_seconds=10.0,
        )
    return into


def edits(name: str, new: str, *texts: str) -> tuple[Turn, ...]:
    """An edit of one case, and the end, wherever these texts are in the prompt."""
    here, done = (f"test_{name}.py::", *texts), f"edited {name}.py"
    arguments: dict[str, object] = {"path": f"{name}.py", "old": OLD, "new": new}
    return (
        Turn(calls=(ScriptedCall(name="edit", arguments=arguments),), when=When(contains=here, lacks=(done,))),
        Turn(calls=(ScriptedCall(name="finish", arguments={"summary": "Done."}),), when=When(contains=(*here, done))),
    )


def script(*, delay: float = 0.0) -> Script:
    """`crate` is repaired at once, `chest` only where a lesson of an earlier try is before the model.

    `delay` are seconds that the first answer about `chest` takes: the time to be killed in.
    """
    late = Turn(say="Wait.", when=When(contains=("test_chest.py::",)), delay=delay, times=1)
    turns = (
        Turn(say=LESSON, when=When(system=("four sentences",))),
        *edits("crate", NEW),
        *((late,) if delay else ()),
        *edits("chest", NEW, LESSON),
        *edits("chest", WRONG),
    )
    return Script(turns=turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs of `python -m benchmarks.agent` whose state stands below `home`."""

    home: Path
    url: str

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "benchmarks.agent", *words, "--into", str(self.home / "runs")]

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "APPRENTICE_MODEL_BASE_URL": self.url,
            "APPRENTICE_MODEL": "scripted",
            "APPRENTICE_MODEL_PRICE": PRICE,
            "APPRENTICE_EMBEDDER": "words",
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Begin one, and go on without waiting for it."""
        piped = subprocess.PIPE
        return subprocess.Popen(
            self.command(*words), cwd=ROOT, env=self.environment, stdout=piped, stderr=piped, text=True
        )

    def done(self, *words: str, code: int = 0) -> str:
        """What one prints, once it has ended with this code."""
        process = self.start(*words)
        out, errors = process.communicate()
        assert process.returncode == code, out + errors
        return out if code in (0, 3) else errors

    def words(self, name: str, *more: str) -> tuple[str, ...]:
        """The arguments of a run over the cases by this name."""
        given = ("--suite", "cases", "--cases", str(self.home / "cases"), "--strategies", "model:related")
        return (*given, "--run-name", name, *more)

    def run(self, name: str, *more: str, code: int = 0) -> str:
        """Such a run, to its end."""
        return self.done(*self.words(name, *more), code=code)

    def records(self, name: str) -> list[Record]:
        return read(self.home / "runs" / name / "records.jsonl")


def told(records: Sequence[Record]) -> list[tuple[int, str, str, int]]:
    """What is the same however often a run was broken off."""
    return [(record.trial, record.case, record.outcome.value, record.steps) for record in records]


def table(out: str) -> list[str]:
    """The rows of the trials."""
    return [line for line in out.splitlines() if line.lstrip().startswith("trial ")]


def figures(out: str) -> list[str]:
    """The rows without their last two columns: tokens are also of how long tests took, which the model is told."""
    return [row.rsplit(maxsplit=2)[0] for row in table(out)]
