"""Sets made of what others published, from clones that the user names.

`logs`: failing tests and their fixes, of `rjust/defects4j` (MIT). `history`: past fixes in any clones.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.retrieval.quality import Case, Question, write
from workers.repair.classify import normalised

LONGEST = 4000
"""So many characters of a patch's lines are kept."""

COMMON = 0.1
"""A file that a larger share of a repository's fixes touched tells nothing about which one is meant."""

_FRAME = re.compile(r"^\s+at ([\w.$<>]+)\(([\w.]+)?")
_LIBRARY = ("java.", "javax.", "sun.", "jdk.", "org.junit.", "junit.", "org.apache.tools.", "com.sun.")
_SAYS_FIX = re.compile(r"\b(fix(es|ed)?|bugs?|bugfix|regression|crash(es)?|incorrect(ly)?|wrong(ly)?)\b", re.IGNORECASE)
_HUNK = re.compile(r"^@@ .*? @@ ?(.*)$", re.MULTILINE)


def logs(clone: Path, into: Path) -> None:
    """A set of the failing tests of Defects4J: which fix mended it?"""
    cases: list[Case] = []
    questions: list[Question] = []
    for log in sorted((clone / "framework" / "projects").glob("*/trigger_tests/*")):
        project = log.parents[1]
        patch = project / "patches" / f"{log.name}.src.patch"
        if patch.is_file():
            key = f"{project.name}-{log.name}"
            text = patch.read_text(encoding="utf-8", errors="replace")
            says, where = _signature(log.read_text(encoding="utf-8", errors="replace"))
            files = sorted(set(re.findall(r"^--- a/(\S+)", text, re.MULTILINE)))
            cases.append(Case(id=f"fix-{key}", says="", where=" ".join(files), done=_done(text)))
            questions.append(Question(id=key, says=says, where=where, answers=(f"fix-{key}",)))
    write(into / "logs-to-fix.jsonl", cases, questions)


def _signature(log: str) -> tuple[str, str]:
    """What the first failing test of a log says, and where, as the product's own signature has it for Python."""
    first = log.split("\n--- ")[0].splitlines()
    test = re.split(r"[.:]+", first[0].removeprefix("--- "))[-2:]
    message = [line for line in first[1:] if not _FRAME.match(line)]
    frames = [m.group(1) for line in first if (m := _FRAME.match(line))]
    own = [f for f in frames if not f.startswith(_LIBRARY) and "Test" not in f.rpartition(".")[0].rpartition(".")[2]]
    places = dict.fromkeys(".".join(f.split(".")[-2:]) for f in own)
    return normalised(" ".join(message))[:300], " ".join([*list(places)[:5], *test])


def _done(patch: str) -> str:
    return " ".join(line[1:].strip() for line in patch.splitlines() if re.match(r"[+-](?![+-])", line))[:LONGEST]


def history(clones: Sequence[Path], into: Path) -> None:
    """A set of past fixes: does a fix's message find an earlier fix of the same file? Common files do not count."""
    cases: list[Case] = []
    questions: list[Question] = []
    for clone in clones:
        fixes = list(_fixes(clone))
        often = Counter(path for *_, paths in fixes for path in paths)
        rare = {path for path, times in often.items() if times <= max(2, COMMON * len(fixes))}
        earlier: defaultdict[str, list[str]] = defaultdict(list)
        for at, key, message, hunks, paths in fixes:
            answers = sorted({found for path in paths & rare for found in earlier[path]})
            if answers:
                questions.append(Question(id=key, says=message, answers=tuple(answers), at=at))
            cases.append(Case(id=key, says=message, where=" ".join([*sorted(paths), hunks]), at=at))
            for path in paths & rare:
                earlier[path].append(key)
    write(into / "history.jsonl", cases, questions)


def _fixes(clone: Path) -> Iterator[tuple[int, str, str, str, set[str]]]:
    """Time, id, message, the functions of the hunks, and the Python sources of each commit that speaks of a bug, oldest first."""
    log = ("log", "--no-merges", "--reverse", "-p", "-U0", "--format=%x1e%ct%x1f%H%x1f%B%x1f", "--", "*.py")
    done = subprocess.run(("git", "-C", str(clone), *log), capture_output=True, check=True)
    for record in done.stdout.decode(errors="replace").split("\x1e")[1:]:
        at, key, message, patch = record.split("\x1f", 3)
        paths = {path for path in re.findall(r"^--- a/(\S+)", patch, re.MULTILINE) if "test" not in path}
        if paths and len(paths) <= 5 and _SAYS_FIX.search(message):
            yield int(at), key, _one_line(message)[:1000], " ".join(dict.fromkeys(_HUNK.findall(patch)))[:500], paths


def _one_line(text: str) -> str:
    return " ".join(text.split())
