"""Suspects, candidates and verdicts: what passes between localisation, templates, search and runners, and in which order;
and the shape of a candidate's edit, by which it can be learned and made again in another place."""

import difflib
import keyword
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, TypeVar

from memory.model import EditShape, Failure
from memory.skills import CONSTANTS, EVERYWHERE, teaches
from workers.line_matching import LineMatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A line that may be at fault; `score` within [0, 1], higher is likelier."""

    path: str
    line: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One edit of one module. `source` is the whole module with the edit made.

    `function` is the dotted qualified name of the innermost function around the edit ("Basket.total"), empty at module level.
    `skills` names those whose edits it makes.
    """

    path: str
    source: str
    line: int
    function: str
    template: str
    strategy: str
    shape: EditShape
    score: float
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenVerdict:
    """The result of a candidate's failing and covering tests: a screen, not yet a proof.

    `passed` counts the failing tests that it made pass; `error_type` is what the first failing one became, `failed`
    the first of all tests that failed.
    """

    candidate: Candidate
    plausible: bool
    passed: int
    error_type: str = ""
    message: str = ""
    failed: str = ""


TIMEOUT, CRASH = "Timeout", "Crash"
"""The error type of a candidate that computed too long, or ended the process that tried it."""


def implausible(candidate: Candidate, error_type: str, message: str) -> ScreenVerdict:
    """The verdict on a candidate whose tests did not end by themselves."""
    return ScreenVerdict(candidate=candidate, plausible=False, passed=0, error_type=error_type, message=message)


MOST_KEPT = 8

_DEAD_ENDS = frozenset({TIMEOUT, CRASH, "NameError", "UnboundLocalError", "SyntaxError", "RecursionError"})
_COMPARES = re.compile(r" (?:==|!=|is|in|<=?|>=?) ")


class NearMisses:
    """The most promising first edits so far."""

    def __init__(self, failure: Failure) -> None:
        self._failure = failure
        self._kept: list[tuple[float, Candidate]] = []

    def add(self, verdict: ScreenVerdict) -> None:
        """Keep a candidate if it is among the best; of equals the first one, which was the likeliest."""
        weight = nearness(verdict, self._failure)
        if weight > 0.0 and "+" not in verdict.candidate.template:
            self._kept.append((weight * verdict.candidate.score, verdict.candidate))
            self._kept = sorted(self._kept, key=lambda kept: -kept[0])[:MOST_KEPT]

    def best(self) -> list[tuple[Candidate, float]]:
        """Each with its weight, within [0, 1]."""
        return [(candidate, weight / candidate.score) for weight, candidate in self._kept if candidate.score]


def nearness(verdict: ScreenVerdict, failure: Failure) -> float:
    """How promising a candidate that failed is as the first of two edits, within [0, 1]; 0: leave it.

    `verdict.passed` counts failing tests that it made pass. Without any, another error than before, or an assertion that
    expects something else than the one that failed, tells that the run got somewhere else.
    """
    total = len(failure.failing_tests)
    if verdict.plausible or verdict.error_type in _DEAD_ENDS:
        return 0.0
    if total > 1 and verdict.passed:
        return 0.5 + 0.5 * min(verdict.passed, total) / total
    if verdict.error_type != failure.error_type:
        raised_before = failure.error_type != "AssertionError"
        return 0.4 if raised_before and verdict.error_type == "AssertionError" else 0.15 if raised_before else 0.0
    before, after = _expected(failure.message), _expected(verdict.message)
    if before and after and before != after:
        return 0.3
    return 0.2 if verdict.message and verdict.message != failure.message and not before else 0.0


def _expected(message: str) -> str:
    asserted = (line.partition("assert ")[2] for line in message.split("\n"))
    found = ((line, _COMPARES.search(line, 1)) for line in asserted)
    return next((line[match.end() :].strip() for line, match in found if match), "")


Option = TypeVar("Option")


LONGEST_NAME = 80


@lru_cache(maxsize=65536)
def likeness(one: str, other: str) -> float:
    """How alike two names look, within [0, 1] (Ratcliff and Obershelp's measure)."""
    return difflib.SequenceMatcher(None, one[:LONGEST_NAME].lower(), other[:LONGEST_NAME].lower()).ratio()


def fading(options: Iterable[Option], *, first: float = 1.0, step: float = 0.25) -> Iterator[tuple[Option, float]]:
    """Each option with a weight that falls with its rank: first, first / (1 + step), first / (1 + 2 step)…"""
    return ((option, first / (1 + step * rank)) for rank, option in enumerate(options))


HEAD = 40
"""So many of the likeliest candidates are tried strategy by strategy; what follows them is tried best first."""

NEAR = 0.75
"""A strategy is open as long as its next candidate scores so much of the best one: what a choice can cost is bounded."""


class CandidateQueue:
    """Reads `candidates`, which come best first, as far as they are asked for.

    Those that were `tried` meanwhile, as replays are, do not count: a turn without anything to try would teach a failure.
    """

    def __init__(
        self, candidates: Iterator[Candidate], *, tried: Callable[[Candidate], bool], head: int = HEAD
    ) -> None:
        self._candidates = candidates
        self._tried = tried
        self._head: dict[str, list[Candidate]] = {}
        for candidate in islice(candidates, head):
            self._head.setdefault(candidate.strategy, []).append(candidate)

    def near(self) -> dict[str, float]:
        """The strategies whose next candidate is about as likely as the best one, with its score as a share of that."""
        for waiting in self._head.values():
            while waiting and self._tried(waiting[0]):
                waiting.pop(0)
        following = {strategy: waiting[0].score for strategy, waiting in self._head.items() if waiting}
        best = max(following.values(), default=0.0) or 1.0
        return {strategy: score / best for strategy, score in following.items() if score >= NEAR * best}

    def of(self, strategy: str) -> Iterator[Candidate]:
        """The next candidates of one strategy, while it is near; those that are not read stay."""
        while strategy in self.near():
            yield self._head[strategy].pop(0)

    def rest(self) -> Iterator[Candidate]:
        """All that is left, best first."""
        waiting = [candidate for candidates in self._head.values() for candidate in candidates]
        yield from sorted(waiting, key=lambda candidate: -candidate.score)
        yield from self._candidates


class Stream:
    """Candidates in order, before which others can be put while it is read."""

    def __init__(self, candidates: Iterator[Candidate]) -> None:
        self._sources = [candidates]

    def put_first(self, candidates: Iterator[Candidate]) -> None:
        """Have these read next."""
        self._sources.append(candidates)

    @property
    def left(self) -> bool:
        """Whether something may be left to read."""
        return bool(self._sources)

    def __iter__(self) -> Iterator[Candidate]:
        while self._sources:
            following = next(self._sources[-1], None)
            if following is None:
                self._sources.pop()
            else:
                yield following


_TOKEN = re.compile(
    r"""(?P<string>[rbfuRBFU]{0,2}(?<!\\)(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))
      | (?P<number>\d[\w.]*|\.\d[\w.]*)
      | (?P<name>[^\W\d]\w*)
      | (?P<comment>\#[^\n]*)
      | (?P<operator>\*\*=?|//=?|>>=?|<<=?|[-+*/%&|^@=!<>:]=|->|\S)""",
    re.VERBOSE | re.DOTALL,
)

MODEL = "model"
"""The template of edits that a model wrote: no template makes them again, and a model is shown them."""


class _Token(NamedTuple):
    kind: str
    text: str


_DOT = _Token("operator", ".")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def shape_of(template: str, before: str, after: str) -> EditShape:
    """The shape of replacing source `before` by `after`: equal for equal edits under other names.

    An operand that the edit leaves as it is, `self.limit` or `len(rows)`, is one hole, as a name would be.
    """
    old, new = _tokens(before), _tokens(after)
    numbers: dict[str, int] = {}
    return EditShape(
        template=template,
        before=_with_holes(_operands(old, new), numbers),
        after=_with_holes(_operands(new, old), numbers),
    )


def shape_between(before: str, after: str) -> EditShape | None:
    """The shape of a model's edit of a module; None where it is in several places or teaches nothing."""
    old, new = before.splitlines(), after.splitlines()
    changes = LineMatcher(old, new).get_opcodes()
    changed = [(old[a:b], new[c:d]) for kind, a, b, c, d in changes if kind != "equal"]
    if len(changed) != 1:
        return None
    ((removed, added),) = changed
    shape = shape_of(MODEL, "\n".join(removed), "\n".join(added))
    return shape if teaches(shape) else None


def _tokens(text: str) -> list[_Token]:
    return [_Token(m.lastgroup or "", m.group()) for m in _TOKEN.finditer(text) if m.lastgroup != "comment"]


def _operands(tokens: list[_Token], others: list[_Token]) -> list[_Token]:
    """`tokens` with the longest operands that occur in `others` too as one token each."""
    found: list[_Token] = []
    at = 0
    while at < len(tokens):
        end = next((end for end in _ends(tokens, at) if _occurs(tokens[at:end], others)), at + 1)
        found.append(tokens[at] if end == at + 1 else _Token("operand", " ".join(t.text for t in tokens[at:end])))
        at = end
    return found


def _ends(tokens: list[_Token], start: int) -> list[int]:
    """Where a name with attributes, calls and subscripts can end that starts at `start`, the farthest first."""
    if tokens[start].kind != "name" or tokens[start].text in keyword.kwlist or tokens[start - 1 : start] == [_DOT]:
        return []
    ends: list[int] = []
    at = start + 1
    while at < len(tokens):
        if tokens[at] == _DOT and at + 1 < len(tokens):
            at += 2
        elif tokens[at].text in "([" and (closed := _closed(tokens, at)) is not None:
            at = closed
        else:
            break
        ends.append(at)
    return ends[::-1]


def _closed(tokens: list[_Token], opened: int) -> int | None:
    """Past the bracket that closes the one at `opened`."""
    depth = 0
    for at in range(opened, len(tokens)):
        depth += (tokens[at].text in _OPENING) - (tokens[at].text in _CLOSING)
        if depth == 0:
            return at + 1
    return None


def _occurs(run: list[_Token], tokens: list[_Token]) -> bool:
    return any(tokens[at : at + len(run)] == run for at in range(len(tokens) - len(run) + 1))


def _with_holes(tokens: Iterable[_Token], numbers: dict[str, int]) -> str:
    """Token by token, names, operands and larger constants as numbered holes; `numbers` is extended."""
    return " ".join(_hole(kind, token, numbers) for kind, token in tokens)


def _hole(kind: str, token: str, numbers: dict[str, int]) -> str:
    if kind == "operator" or (kind == "name" and token in EVERYWHERE) or (kind == "number" and token in CONSTANTS):
        return token
    if kind == "string":
        quote = token.lstrip("rbfuRBFU")
        prefix = token[: len(token) - len(quote)].lower().replace("u", "")
        return f"{prefix}''" if quote in ("''", '""') else f"{prefix}'${numbers.setdefault(quote, len(numbers))}'"
    return f"${numbers.setdefault(token, len(numbers))}"
