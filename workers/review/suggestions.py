"""Suggestions that were tried. What cannot be proven is not a suggestion block.

Each suggestion is tried by itself, on the unchanged head, because each is applied by itself:

1. as whole changed lines it gives exactly the text that the tool meant, and that text parses;
2. the detectors, reading the file with it, report its rule less often and no rule more often;
3. the covering tests are run without it and with it: some test passes, nothing that passed fails, skips or vanishes.
   Covering are the test files that reach the module through imports, else the whole suite; for a safe fix, of files that
   take too long together, those that ended. Where only comments and layout differ, no test can tell, and none is run.

A fix that its tool calls unsafe needs covering tests: the whole suite does not vouch for it. The worst findings come
first; after `MAX_TRIALS` or when the time is up, the rest keep their suggestion without a proof.
"""

import ast
import inspect
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory.model import Proof, Suggestion, SuiteCount
from memory.parsing import BOM, PARSE_ERRORS, parse_module, parsed
from workers.diffs import replace_lines, split_lines
from workers.line_matching import common_start
from workers.review.detectors.detector import Detection, FixEdit, SourceTree, ToolFix
from workers.review.findings import FindingWithFix, order, seen_in
from workers.review.import_graph import ImportGraph
from workers.sandbox.report import TestReport
from workers.sandbox.test_ids import file_of

MAX_LINES = 20
"""Lines of a suggestion; a longer one has no readers."""


def suggestion_for(fix: ToolFix, text: str, changed: frozenset[int]) -> Suggestion | None:
    """The fix as whole lines, unproven; None when it reaches beyond the changed lines or cannot be written in lines."""
    after = apply_edits(text, fix.edits)
    found = None if after is None else difference(text, after, changed)
    return found and replace(found, safe=fix.safe)


def difference(text: str, after: str, lines: frozenset[int]) -> Suggestion | None:
    """What makes `after` of `text`, as whole lines within `lines`, unproven; None where it reaches beyond them."""
    if after == text:
        return None
    for each in _whole_lines(split_lines(text), split_lines(after)):
        own = range(each.start_line, each.end_line + 1)
        fits = lines.issuperset(own) and len(own) <= MAX_LINES and BOM not in each.replacement  # no comment carries one
        if fits and applied(each, text) == after:
            return each
    return None


def applied(suggestion: Suggestion, text: str) -> str:
    """`text` with the suggestion applied as GitHub applies it."""
    return replace_lines(text, suggestion.start_line, suggestion.end_line, suggestion.replacement)


def apply_edits(text: str, edits: Sequence[FixEdit]) -> str | None:
    """`text` with every edit made; None when they overlap or point outside. A byte order mark is no column."""
    body = text.removeprefix(BOM)
    starts = [0]
    for line in split_lines(body):
        starts.append(starts[-1] + len(line))
    pieces, at = [text[: len(text) - len(body)]], 0
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.column, edit.end_line, edit.end_column)):
        begin, end = _offset(starts, edit.line, edit.column), _offset(starts, edit.end_line, edit.end_column)
        if not at <= begin <= end <= len(body):
            return None
        pieces += [body[at:begin], edit.content]
        at = end
    return "".join([*pieces, body[at:]])


def _offset(starts: Sequence[int], line: int, column: int) -> int:
    """The offset of a place in the text, -1 when it has no such line."""
    return starts[line - 1] + column - 1 if 1 <= line <= len(starts) else -1


def _whole_lines(old: Sequence[str], new: Sequence[str]) -> list[Suggestion]:
    """Ways to write the difference as one replaced block: exactly it, or for an insertion with the line before or after."""
    head = common_start(old, new)
    tail = common_start(old[head:][::-1], new[head:][::-1])
    start, end, new_end = head, len(old) - tail, len(new) - tail
    if start < end:
        return [_block(start, end, new[start:new_end])]
    before = [_block(start - 1, end, new[start - 1 : new_end])] if start > 0 else []
    after = [_block(start, end + 1, new[start : new_end + 1])] if end < len(old) else []
    return before + after


def _block(start: int, end: int, lines: Sequence[str]) -> Suggestion:
    text = "".join(lines).replace("\r\n", "\n")
    replacement = text if text.endswith("\n") or not text else text + "\n"
    return Suggestion(start_line=start + 1, end_line=end, replacement=replacement, proof=None)


MAX_DRAFTS = 60
"""Suggestions that one review considers; there are never more comments than this."""

MAX_TRIALS = 20
"""Suggestions whose tests are run in one review."""


_NO_TEST = SuiteCount(passed=0, failed=0, skipped=0, collected=0)
CHANGES_NO_CODE = Proof(failed_before=(), passed_after=(), before=_NO_TEST, suite=_NO_TEST, repeats=0, command="")
"""The proof of a suggestion that changes no code: no run of tests is needed."""


RunTests = Callable[[Sequence[str], Mapping[str, bytes | None]], TestReport]
"""Runs test files (all when none is named) in the sandbox, on the head with an overlay of files laid over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionDraft:
    """A suggestion not yet proven, and the whole text of its file with it. An `inert` one changes no code."""

    seen: FindingWithFix
    suggestion: Suggestion
    text: str
    inert: bool

    @property
    def path(self) -> str:
        return self.seen.finding.path

    @property
    def rule(self) -> str:
        return self.seen.finding.rule


def drafts(
    seen: Sequence[FindingWithFix], sources: Mapping[str, str], changed: Mapping[str, frozenset[int]]
) -> list[SuggestionDraft]:
    """The fixes on changed lines that leave a file that parses; the worst findings first, and at most `MAX_DRAFTS`."""
    found: list[SuggestionDraft] = []
    for each in sorted(seen, key=lambda each: (-each.finding.severity.rank, order(each.finding))):
        if len(found) >= MAX_DRAFTS:
            break
        path = each.finding.path
        suggestion = suggestion_for(each.fix, sources[path], changed.get(path, frozenset())) if each.fix else None
        if suggestion is not None and parsed(text := applied(suggestion, sources[path])) is not None:
            inert = changes_no_code(sources[path], text)
            found.append(SuggestionDraft(seen=each, suggestion=suggestion, text=text, inert=inert))
    return found


def changes_no_code(before: str, after: str) -> bool:
    """Whether all that differs is comments, layout, and how docstrings without examples are indented: their help stays the same."""
    try:
        return _code(before) == _code(after)
    except PARSE_ERRORS:
        return False


def _code(text: str) -> str:
    tree = parse_module(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False)
            if docstring is not None and ">>>" not in docstring:
                lines = [line.rstrip() for line in inspect.cleandoc(docstring).splitlines()]
                node.body[0] = ast.Expr(ast.Constant("\n".join(lines)))
    return ast.dump(tree)


def that_help(
    found: Sequence[SuggestionDraft],
    head: SourceTree,
    seen: Sequence[FindingWithFix],
    detect: Callable[[SourceTree], Detection],
) -> list[SuggestionDraft]:
    """The drafts after which the detectors report the rule less often and no rule more often; all are read in one run."""
    variants = {f"{number}/{draft.path}": draft.text for number, draft in enumerate(found)}
    detection = detect(replace(head, sources=variants)) if variants else Detection()
    after = _rules_by_path(seen_in(detection.findings, variants))
    before = _rules_by_path(seen)
    return [
        draft
        for variant, draft in zip(variants, found, strict=True)
        if variant not in detection.unread
        and after[variant] <= before[draft.path]
        and after[variant][draft.rule] < before[draft.path][draft.rule]
    ]


def _rules_by_path(seen: Sequence[FindingWithFix]) -> defaultdict[str, Counter[str]]:
    rules = defaultdict[str, Counter[str]](Counter)
    for each in seen:
        rules[each.finding.path][each.finding.rule] += 1
    return rules


@dataclass(slots=True)
class SuggestionProver:
    """Runs the tests that speak for or against a draft; runs each set of tests without a suggestion once."""

    run: RunTests
    imports: ImportGraph
    command: str
    clock: Callable[[], float]
    deadline: float
    _trials: int = 0
    _before: dict[tuple[str, ...], TestReport] = field(default_factory=dict)

    def proof(self, draft: SuggestionDraft) -> Proof | None:
        """The proof that nothing was lost: what passed still passes. None where a test was lost, or nothing was shown."""
        tests = self.imports.tests_of(draft.path)
        if not (tests or draft.suggestion.safe) or self._trials >= MAX_TRIALS or self.clock() >= self.deadline:
            return None
        if tests not in self._before:
            self._before[tests] = self.run(tests, {})
        before = self._before[tests]
        if tests and draft.suggestion.safe and before.out_of_time:
            tests, before = _finished(before)
        if not _speaks(before):
            return None
        self._trials += 1
        after = self.run(tests, {draft.path: draft.text.encode()})
        if not _speaks(after) or before.lost(after):
            return None
        return Proof(
            failed_before=(),
            passed_after=(),
            before=before.count(),
            suite=after.count(),
            repeats=1,
            command=" ".join([self.command, *map(shlex.quote, tests)]),
        )


def _finished(cut: TestReport) -> tuple[tuple[str, ...], TestReport]:
    """The files to whose end a run came before its time was used up, and what it says of these."""
    *files, last = dict.fromkeys(file_of(result.id) for result in cut.results) or [""]
    results = tuple(result for result in cut.results if file_of(result.id) != last)
    return tuple(files), replace(cut, results=results, complete=True, trouble="", out_of_time=False)


def _speaks(report: TestReport) -> bool:
    """Whether a run ended by itself and some test passed."""
    return report.started and report.complete and bool(report.passing())


def suggested(found: Sequence[SuggestionDraft], prover: SuggestionProver | None) -> dict[str, Suggestion]:
    """The suggestions by fingerprint: proven where `prover` could, else unproven if the fix is safe, else none.

    Without a prover (no tests, or they may not be run) only what changes no code is proven.
    """
    suggestions = {}
    for draft in found:
        proof = CHANGES_NO_CODE if draft.inert else prover.proof(draft) if prover else None
        if proof is not None or draft.suggestion.safe:
            suggestions[draft.seen.finding.fingerprint] = replace(draft.suggestion, proof=proof)
    return suggestions
