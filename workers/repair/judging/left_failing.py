"""Other failing tests that a patch leaves failing although they fail where it is: then it fits the known ones alone.

What a user names is often a part of what fails. Unrelated failures count for nothing: they run the patched lines no more
often than passing tests do. That share is Tarantula's suspiciousness of the lines (Jones and Harrold 2005), on a sample.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from workers.repair.first_run import function_of
from workers.repair.judging.outcomes import named
from workers.repair.judging.suite_runs import Unproven
from workers.sandbox.report import TestReport
from workers.sandbox.run_tests import TestRun

FAILING_SAMPLE, PASSING_SAMPLE = 12, 36
"""So many tests of each kind are traced, evenly chosen."""

SHARE = 0.5
"""From this share on, of the tests that run the patched lines, those that fail are no coincidence."""

Trace = Callable[[Sequence[str]], TestRun]
"""Runs tests without the patch, with a trace."""


def left_failing(
    left: Mapping[str, float], passing: Sequence[str], patch: Mapping[str, bytes], tree: Path, trace: Trace
) -> Unproven | None:
    """The objection that tests in `left`, which fail without the patch and with it, fail where the patch is; None otherwise.

    `left` says how many seconds each needs; `passing` are those that pass without it.
    """
    if not left:
        return None
    changed = {path: _changed(tree / path, text) for path, text in patch.items()}
    failing, sound = _sample([*left], FAILING_SAMPLE), _sample(passing, PASSING_SAMPLE)
    lines = trace([*failing, *sound]).lines
    of_failing, of_sound = (_running(tests, lines, changed) for tests in (failing, sound))
    failed = len(left) * len(of_failing) / len(failing)
    passed = len(passing) * len(of_sound) / max(len(sound), 1)
    if not of_failing or failed < SHARE * (failed + passed):
        return None
    reason = f"{named(of_failing)} fails where it is, too, and still does with it"
    return Unproven(reason=reason, broken={test: left[test] for test in of_failing})


def failing_in_both(before: TestReport, after: TestReport, known: Collection[str]) -> dict[str, float]:
    """The tests, beside those `known`, that fail before and after, with the seconds of each before."""
    still = {result.id for result in after.failing()}
    both = (result for result in before.failing() if result.id in still and "::" in result.id)
    return {result.id: result.seconds for result in both if not {result.id, function_of(result.id)} & {*known}}


def _changed(file: Path, text: bytes) -> frozenset[int]:
    """The lines of a file that give way to others, and those around what is added; a new file has none."""
    before = file.read_bytes() if file.is_file() else b""
    old, new = (content.decode(errors="replace").splitlines() for content in (before, text))
    found: set[int] = set()
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            found.update(range(start + 1, end + 1) if end > start else (start, start + 1))
    return frozenset(found)


def _sample(tests: Sequence[str], most: int) -> list[str]:
    """So many of them, evenly spread."""
    return [tests[number * len(tests) // most] for number in range(most)] if len(tests) > most else list(tests)


def _running(
    tests: Sequence[str],
    lines: Mapping[str, Mapping[str, frozenset[int]]],
    changed: Mapping[str, frozenset[int]],
) -> list[str]:
    return [
        test for test in tests if any(lines.get(test, {}).get(path, frozenset()) & changed[path] for path in changed)
    ]
