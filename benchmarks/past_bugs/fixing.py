"""Repair a bug as its developer would, with `apprentice fix`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec

from benchmarks.past_bugs.judging import Verdict
from benchmarks.report import commit

MADE = "made"
SEARCH_BEGINS = "trying strategy"
"""The first words of the line that `apprentice fix` writes when it begins to search."""


class _Proof(msgspec.Struct):
    asked: bool = False
    confidence: str = ""
    doubt: str = ""
    share: float = 1.0


class _Attempt(msgspec.Struct):
    reflection: str = ""


class Document(msgspec.Struct):
    """What `apprentice fix --json` prints; as it is made here, the command ended without it."""

    status: str = "ended"
    candidates_tried: int = 0
    error: str = ""
    advice: str | None = None
    attempts: list[_Attempt] = []
    patch: str | None = None
    proof: _Proof | None = None

    @property
    def reason(self) -> str:
        """Why it did not repair, in its own words: its error, or what was tried and what would help; empty where it says neither."""
        reasons = [self.error, *(each.reflection for each in self.attempts[-1:]), self.advice or ""]
        return " ".join(filter(None, reasons))


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One bug. `seconds` is the time of the whole command, `searching_after` that until its search began, if it did.

    `reason` is why it did not repair, as its document says; `verdict` is None where nothing was proposed.
    """

    repository: str
    commit: str
    status: str
    seconds: float
    searching_after: float | None
    candidates: int
    reason: str
    patch: str = ""
    asked: bool = False
    confidence: str = ""
    doubt: str = ""
    share: float = 1.0
    verdict: Verdict | None = None

    @property
    def silent(self) -> bool:
        """Whether it ended without a patch and without a reason; that nothing fails is none, as something does."""
        return not self.patch and not self.reason


def fixed(repository: str, checkout: Path, budget: float) -> Result:
    """What `apprentice fix` does, from its document and its progress; ended after twice its budget."""
    home = checkout.parent / MADE / "home"
    command = (sys.executable, "-m", "bot.cli", "fix", str(checkout), "--json", "--budget", str(budget))
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_")) or name == "PATH"}
    variables = {**kept, "HOME": str(home), "APPRENTICE_HOME": str(home)}
    begun = time.perf_counter()
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(2 * budget, process.kill)
    watchdog.start()
    assert process.stdout is not None and process.stderr is not None
    lines: list[tuple[float, str]] = []
    notes = process.stderr
    reading = threading.Thread(target=lambda: lines.extend((time.perf_counter() - begun, line) for line in notes))
    reading.start()
    output = process.stdout.read()
    process.wait()
    seconds = time.perf_counter() - begun
    watchdog.cancel()
    reading.join()
    document = msgspec.json.decode(output, type=Document) if output.strip() else Document()
    return Result(
        repository=repository,
        commit=commit(),
        status=document.status,
        seconds=round(seconds, 1),
        searching_after=next((round(at, 1) for at, line in lines if line.startswith(SEARCH_BEGINS)), None),
        candidates=document.candidates_tried,
        reason=document.reason,
        patch=document.patch or "",
        **(msgspec.structs.asdict(document.proof) if document.proof else {}),
    )


def line_of(result: Result) -> str:
    """One line: how it ended, and why, or how it was judged."""
    ending = f"{result.status} in {result.seconds:.0f} s, {result.candidates} candidates"
    verdict = result.verdict
    if verdict is None:
        return f"{ending}; {result.reason}"
    judged_as = (
        "the original's code"
        if verdict.same_code
        else f"{verdict.lost} tests lost, {verdict.different} of {verdict.calls} calls differ"
    )
    return f"{ending}; {'right' if verdict.right else 'WRONG'}: {judged_as} {verdict.first}".rstrip()
