"""Which templates make the fixes that developers made: `python -m benchmarks.repair.real_fixes CLONE...`.

Of each clone, commits that speak of a bug and change one place of one file of code, drawn at random; those that also
change docstrings are left out. Every template's edits are made at the changed lines of the old file; an edit counts when
it gives the new code, layout and comments aside. The tests that a commit adds or changes count as those that fail: what
they show is used, but no test runs, so what a failure's message gives away is not. Every other clone is held out, so that
both halves can be compared.

With --repeated these are commits, of a bug or not, that exchange the same words in two to six lines of one function, and
what counts is a candidate of the search, the changed lines alone being suspected.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import io
import random
import re
import sys
import time
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from os.path import commonprefix
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.repair.importers.commits import Clone, Commit
from memory.model import Failure, Family
from workers.repair.candidates import Suspect
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.project import ProjectSources
from workers.repair.engines.search.search import SearchSpace
from workers.repair.engines.search.source_slice import SourceModule
from workers.repair.engines.search.templates import all_templates
from workers.repair.outline import Outline

LAYOUT = b" \t\n\r()\\,\"'"
LARGEST, SECONDS, SEARCHED = 200_000, 5.0, 20.0
"""Files of more bytes are not read, and one commit gets so many seconds of processor time, in a search more."""

REPEATED, _WORDS = range(2, 7), re.compile(r"\w+|\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A changed file without its comments, the project's texts with the old one in, and the tests that the commit changes."""

    path: str
    old: str
    new: str
    project: dict[str, str]
    failure: Failure


@dataclass
class Count:
    """What was seen of one half of the clones. `alone` counts fixes that no other template makes."""

    commits: int = 0
    made: int = 0
    by: Counter[str] = field(default_factory=Counter)
    alone: Counter[str] = field(default_factory=Counter)

    def add(self, makers: set[str]) -> None:
        """Count a fix that these templates make."""
        self.commits += 1
        self.made += bool(makers)
        self.by.update(makers)
        self.alone.update(makers if len(makers) == 1 else ())


def main() -> None:
    """Print a table of all templates, those that make most fixes first; anew after each clone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.real_fixes", description=__doc__)
    parser.add_argument("clones", type=Path, nargs="+", metavar="CLONE")
    parser.add_argument("--most", type=int, default=60, help="so many commits of a clone")
    parser.add_argument("--repeated", action="store_true", help="commits that make one change at several places")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    halves = (Count(), Count())
    made_by = searched if given.repeated else makers
    for index, clone in enumerate(map(Clone, given.clones)):
        for fix in fixes_of(clone, given.most, random.Random(given.seed), repeated=given.repeated):
            halves[index % 2].add(made_by(fix))
        sys.stdout.write(_table(*halves))
        sys.stdout.flush()


def _table(first: Count, second: Count) -> str:
    names = sorted((t.name for t in all_templates()), key=lambda n: -first.by[n] - second.by[n])
    rows = [("fixes", first.commits, second.commits, 0), ("made by any", first.made, second.made, 0)]
    rows += [(name, first.by[name], second.by[name], first.alone[name] + second.alone[name]) for name in names]
    head = "| template | fixes | of those held out | made by no other |\n| --- | --- | --- | --- |\n"
    return head + "".join(f"| {name} | {one} | {other} | {alone} |\n" for name, one, other, alone in rows) + "\n"


def is_repeated(old: str, new: str) -> bool:
    """Whether a change exchanges the same words in several lines of one function."""
    before, after = old.splitlines(), new.splitlines()
    changes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [change for change in changes if change[0] != "equal"]
    if any(kind != "replace" or end - start != last - first for kind, start, end, first, last in changed):
        return False
    pairs = [
        pair
        for _, start, end, first, last in changed
        for pair in zip(before[start:end], after[first:last], strict=True)
    ]
    lines, outline = [line for _, start, end, _, _ in changed for line in range(start + 1, end + 1)], Outline(old)
    around = {tuple(function.lineno for function in outline.functions_at(line)) for line in lines}
    exchanged = {_exchanged(*map(_WORDS.findall, pair)) for pair in pairs}
    return len(lines) in REPEATED and len(around) == len(exchanged) == 1 and around != {()} and exchanged != {((), ())}


def _exchanged(old: list[str], new: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words between those with which both begin and end."""
    head = len(commonprefix((old, new)))  # noqa: RUF071 - of words
    tail = len(commonprefix((old[head:][::-1], new[head:][::-1])))  # noqa: RUF071
    return tuple(old[head : len(old) - tail]), tuple(new[head : len(new) - tail])


def fixes_of(clone: Clone, most: int, rng: random.Random, *, repeated: bool = False) -> Iterator[Fix]:
    """Fixes of one place of a clone, or changes that are `repeated`, as `rng` draws them, `most` at most."""
    modified = (c for c in clone.commits() if [c.changed[path] for path in c.sources] == ["M"])
    commits = [commit for commit in modified if repeated or commit.says_fix]
    rng.shuffle(commits)
    found = 0
    for commit in commits:
        (path,) = commit.sources
        with suppress(SyntaxError, ValueError, RecursionError, tokenize.TokenError):
            if found < most and (repeated or clone.size(commit).hunks == 1):
                old, new = (_bare(clone.file(at, path)) for at in (commit.parent, commit.id))
                if (is_repeated(old, new) or not repeated) and _docstrings(old) == _docstrings(new):
                    found += 1
                    project, failure = {**_texts(clone, commit), path: old}, _failure(clone, commit)
                    yield Fix(path=path, old=old, new=new, project=project, failure=failure)


def _failure(clone: Clone, commit: Commit) -> Failure:
    changed = []
    for path in commit.test_modules:
        before, after = (_tests(clone.file(at, path)) for at in (commit.parent, commit.id))
        changed += [f"{path}::{name}" for name in after if after[name] != before.get(name)]
    return Failure(error_type="", family=Family.ASSERTION, message="", frames=(), failing_tests=tuple(changed))


def _tests(data: bytes | None) -> dict[str, str]:
    """The tests of a file, each as its name and what it does."""
    with suppress(SyntaxError, ValueError):
        nodes = ast.walk(ast.parse((data or b"").decode()))
        tests = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        return {test.name: ast.dump(test) for test in tests if test.name.startswith("test")}
    return {}


def _texts(clone: Clone, commit: Commit) -> dict[str, str]:
    with TemporaryDirectory() as folder:
        at = Path(folder) / "tree"
        clone.export(commit.id, at, "*.py")
        files = (path for path in at.rglob("*.py") if path.is_file() and path.stat().st_size <= LARGEST)
        return {str(path.relative_to(at)): path.read_text(errors="replace") for path in files}


def _bare(data: bytes | None) -> str:
    """A text without its comments, on the same lines."""
    text = (data or b"").decode()
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip() + "\n"
    return "".join(lines)


def _docstrings(text: str) -> list[str | None]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


def makers(fix: Fix) -> set[str]:
    """The templates that make a fix, as far as the time goes."""
    wanted, deadline = ast.dump(ast.parse(fix.new)), time.process_time() + SECONDS
    found: set[str] = set()
    for template, text in _edits(fix):
        if time.process_time() > deadline:
            break
        with suppress(SyntaxError, ValueError):
            found |= {template} if text and template not in found and ast.dump(ast.parse(text)) == wanted else set()
    return found


def searched(fix: Fix) -> set[str]:
    """The template of the candidate that is the fix, as far as the time goes."""
    wanted, deadline = fix.new.encode().translate(None, LAYOUT), time.process_time() + SEARCHED
    suspects = [Suspect(path=fix.path, line=line, score=0.9) for line in changed_lines(fix.old, fix.new)]
    space = SearchSpace(sources=fix.project, suspects=suspects, failure=fix.failure)
    for candidate in takewhile(lambda _: time.process_time() < deadline, space.proposed()):
        if candidate.source.encode().translate(None, LAYOUT) == wanted:
            return {candidate.template}
    return set()


def _edits(fix: Fix) -> Iterator[tuple[str, str]]:
    """Each edit's template, and the module with the edit made where that is the new text but for layout, else ""."""
    wanted = fix.new.encode().translate(None, LAYOUT)
    for site in _sites(fix):
        nodes = tuple(site.unit.nodes())
        for template in all_templates():
            for node in nodes:
                yield from ((template.name, _made(site, edit, wanted)) for edit in template.edits(node, site))


def _made(site: Site, edit: Edit, wanted: bytes) -> str:
    region, inner = site.region, site.region.edited(edit.splices)
    behind = region.module.data[region.start + len(region.data) - region.prefix :]
    text = region.module.data[: region.start] + inner[region.prefix :] + behind
    alike = bool(edit.imports) or text.translate(None, LAYOUT) == wanted
    return region.module_source(inner, edit.imports) if alike else ""


def _sites(fix: Fix) -> Iterator[Site]:
    module, sources = SourceModule(fix.path, fix.old), ProjectSources(fix.project, fix.failure)
    seen: set[int] = set()
    for line in sorted(changed_lines(fix.old, fix.new)):
        extent = module.extent_at(line)
        region = module.region(extent) if extent else None
        unit = region.unit_at(line) if region else None
        if region and unit and id(unit) not in seen:
            seen.add(id(unit))
            yield Site(region, unit, sources)


def changed_lines(old: str, new: str) -> set[int]:
    """The changed lines of the old text; where lines were only added, those before and behind them."""
    before = old.splitlines()
    found: set[int] = set()
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, before, new.splitlines(), autojunk=False).get_opcodes():
        if kind == "insert":
            above = (line for line in range(start, 0, -1) if before[line - 1].strip())
            below = (line for line in range(start + 1, len(before) + 1) if before[line - 1].strip())
            found |= {line for line in (next(above, None), next(below, None)) if line}
        elif kind != "equal":
            found |= set(range(start + 1, end + 1))
    return found


if __name__ == "__main__":
    main()
