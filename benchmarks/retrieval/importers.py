"""Sets made of what others published, from clones that the user names.

`reports`: bug reports and which are duplicates of which, of `av9ash/gitbugs` (CC BY 4.0). `logs`: failing tests and their
fixes, of `rjust/defects4j` (MIT). `history`: past fixes in any clones.
"""

from __future__ import annotations

import csv
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.retrieval.quality import Case, Question, write
from workers.repair.classify import normalised

DETAIL = 4000
"""So many characters of a report's description are kept: a log behind them says little."""

COMMON = 0.1
"""A file that a larger share of a repository's fixes touched tells nothing about which one is meant."""

_FRAME = re.compile(r"^\s+at ([\w.$<>]+)\(([\w.]+)?")
_LIBRARY = ("java.", "javax.", "sun.", "jdk.", "org.junit.", "junit.", "org.apache.tools.", "com.sun.")
_SAYS_FIX = re.compile(r"\b(fix(es|ed)?|bugs?|bugfix|regression|crash(es)?|incorrect(ly)?|wrong(ly)?)\b", re.IGNORECASE)
_HUNK = re.compile(r"^@@ .*? @@ ?(.*)$", re.MULTILINE)


def reports(clone: Path, into: Path) -> None:
    """One set for each project of gitbugs whose reports are there as text; duplicates of duplicates are duplicates."""
    csv.field_size_limit(1 << 27)
    for pairs in sorted(clone.glob("*/*_bugs-combined.csv")):
        whole = pairs.with_name(pairs.name.replace("-combined", ""))
        if whole.is_file():
            _reports(f"reports-{pairs.parent.name}", whole, pairs, into)


def _reports(name: str, whole: Path, pairs: Path, into: Path) -> None:
    rows = {row["Issue id"].strip(): row for row in _rows(whole)}
    groups = _groups(rows, _rows(pairs))
    texts = {key: (_one_line(row["Summary"]), _one_line(row["Description"])[:DETAIL]) for key, row in rows.items()}
    cases = [Case(id=key, says=says, where=detail) for key, (says, detail) in texts.items()]
    questions = [
        Question(id=key, says=texts[key][0], where=texts[key][1], answers=tuple(sorted(group - {key})))
        for group in groups
        for key in sorted(group)
    ]
    write(into / f"{name}.jsonl", cases, questions)


def _groups(known: Mapping[str, object], pairs: Sequence[Mapping[str, str]]) -> list[set[str]]:
    """The reports that are duplicates of one another."""
    group_of: dict[str, set[str]] = {}
    for row in pairs:
        one = row["Issue id"].strip()
        for other in re.findall(r"\d+", row["Duplicate id"]):
            if one in known and other in known:
                joined = group_of.get(one, {one}) | group_of.get(other, {other})
                group_of.update(dict.fromkeys(joined, joined))
    return list({id(group): group for group in group_of.values()}.values())


def logs(clone: Path, into: Path) -> None:
    """Two sets of the failing tests of Defects4J: which fix mended it, and which other case was in the same file."""
    fixes: dict[str, Case] = {}
    asked: dict[str, tuple[str, str]] = {}
    files: dict[str, set[str]] = {}
    for log in sorted((clone / "framework" / "projects").glob("*/trigger_tests/*")):
        patch = log.parents[1] / "patches" / f"{log.name}.src.patch"
        if patch.is_file():
            key = f"{log.parents[1].name}-{log.name}"
            text = patch.read_text(encoding="utf-8", errors="replace")
            asked[key] = _signature(log.read_text(encoding="utf-8", errors="replace"))
            files[key] = {f"{log.parents[1].name}:{path}" for path in re.findall(r"^--- a/(\S+)", text, re.MULTILINE)}
            where = " ".join(sorted(path.partition(":")[2] for path in files[key]))
            fixes[key] = Case(id=f"fix-{key}", says="", where=where, done=_done(text))
    to_fix = [Question(id=key, says=says, where=at, answers=(f"fix-{key}",)) for key, (says, at) in asked.items()]
    write(into / "logs-to-fix.jsonl", fixes.values(), to_fix)
    cases = [Case(id=key, says=asked[key][0], where=f"{asked[key][1]} {fixes[key].where}") for key in fixes]
    near = {key: tuple(o for o in files if o != key and files[o] & files[key]) for key in files}
    questions = [
        Question(id=k, says=asked[k][0], where=asked[k][1], answers=found) for k, found in near.items() if found
    ]
    write(into / "logs-to-same-file.jsonl", cases, questions)


def _signature(log: str) -> tuple[str, str]:
    """What the first failing test of a log says, and where, as the product's own signature has it for Python."""
    first = log.split("\n--- ")[0].splitlines()
    test = re.split(r"[.:]+", first[0].removeprefix("--- "))[-2:]
    said = [line for line in first[1:] if not _FRAME.match(line)]
    frames = [m.group(1) for line in first if (m := _FRAME.match(line))]
    own = [f for f in frames if not f.startswith(_LIBRARY) and "Test" not in f.rpartition(".")[0].rpartition(".")[2]]
    places = dict.fromkeys(".".join(f.split(".")[-2:]) for f in own)
    return normalised(" ".join(said))[:300], " ".join([*list(places)[:5], *test])


def _done(patch: str) -> str:
    return " ".join(line[1:].strip() for line in patch.splitlines() if re.match(r"[+-](?![+-])", line))[:DETAIL]


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


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return list(csv.DictReader(file))


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
