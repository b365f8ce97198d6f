"""The detector that asks a model: first about the code alone, then with what its author says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from memory.embed import Embedder
from memory.model import Sighting
from workers.agent.conversation import truncated
from workers.agent.reviewing.answers import MOST_FINDINGS, Candidate, Said, SaidFindings
from workers.agent.reviewing.checking import checked, raw_of, same_place, unlike
from workers.agent.reviewing.critique import Opinion, criticised, nearest
from workers.agent.reviewing.showing import Page, halves, shown
from workers.llm.errors import BudgetSpent, ContextOverflow, ModelError, ModelUnavailable
from workers.llm.messages import Ask, Message, Model, Role
from workers.llm.prompting import prompt
from workers.llm.structured import ask_for
from workers.llm.untrusted import data
from workers.patches import split_lines
from workers.review.detectors.detector import MODEL, Category, Delta, Detection, RawFinding
from workers.review.size_limits import CODE


def standing(earlier: Sequence[Sighting], sources: Mapping[str, str]) -> tuple[RawFinding, ...]:
    """The model's findings of earlier rounds at the lines where they stand in `sources` (text by path)."""
    of_model = [each for each in earlier if each.finding.tool == MODEL]
    bare = {path: [" ".join(line.split()) for line in split_lines(text)] for path, text in sources.items()}
    found = (_standing(each, bare) for each in of_model) if of_model else ()
    return tuple(each for each in found if each is not None)


def with_news(stood: Sequence[RawFinding], new: Sequence[Candidate], sources: Mapping[str, str]) -> list[RawFinding]:
    """What stands, each with the remedy that was found for it now, and then what is new."""
    known = [_with_remedy(each, new, sources) for each in stood]
    fresh = [each for each in new if not any(same_place(each, other) for other in stood)]
    return [*known, *(raw_of(each, sources[each.path]) for each in fresh)]


def _standing(sighting: Sighting, bare: Mapping[str, Sequence[str]]) -> RawFinding | None:
    finding, place = sighting.finding, sighting.place
    anchor = place.anchor.split("\n")
    at = _nearest(anchor, bare.get(place.path, ()), place.line)
    path = place.path
    if at is None and path not in bare:
        moved = [(other, line) for other, lines in bare.items() for line in _starts(anchor, lines)]
        path, at = moved[0] if len(moved) == 1 else (path, None)
    if at is None:
        return None
    end = min(at + place.end_line - place.line, len(bare[path]))
    return RawFinding(
        path=path,
        line=at,
        end_line=end,
        column=1,
        tool=MODEL,
        rule=finding.rule,
        category=Category(finding.category),
        severity=finding.severity,
        message=place.message,
    )


def _nearest(anchor: Sequence[str], lines: Sequence[str], near: int) -> int | None:
    return min(_starts(anchor, lines), key=lambda line: abs(line - near), default=None)


def _starts(anchor: Sequence[str], lines: Sequence[str]) -> Iterator[int]:
    """The numbers of the lines at which these lines stand one after the other."""
    for at, line in enumerate(lines):
        if line == anchor[0] and list(lines[at : at + len(anchor)]) == list(anchor):
            yield at + 1


def _with_remedy(stood: RawFinding, new: Sequence[Candidate], sources: Mapping[str, str]) -> RawFinding:
    again = next((each for each in new if same_place(each, stood)), None)
    return stood if again is None else replace(stood, fix=raw_of(again, sources[again.path]).fix)


MOST_TOKENS = 6_000
LONGEST_BODY = 6_000
NOT_ASKED = "it was not asked"

Progress = Callable[[str], None]


def reads(path: str) -> bool:
    """Whether it is a text in which a model may find something: code, by its suffix."""
    return PurePosixPath(path).suffix in CODE


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What the author says of a change; empty where there is nothing."""

    title: str = ""
    body: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What earlier rounds of this change saw, and what people here made of the model's findings before."""

    embedder: Embedder
    earlier: Sequence[Sighting] = ()
    opinions: Sequence[Opinion] = ()


@dataclass(slots=True, kw_only=True)
class _Pass:
    """One way through all parts: what it found, and what was not read and why, by path."""

    found: list[Candidate] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    said: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReviewer:
    """The `ChangeDetector` of a model. `constitution` are the principles that it judges its own findings by."""

    model: Model
    memory: Memory
    constitution: str
    description: Description = Description()
    progress: Progress = lambda _line: None
    name: str = MODEL

    def reads(self, path: str) -> bool:
        return reads(path)

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        """See `ChangeDetector`. Where the model fails, its files are unread, and what was found before stands."""
        there = shown(delta, [path for path in paths if self.reads(path)])
        alone = self._read(there.parts, delta)
        stood = standing(self.memory.earlier, delta.head.sources)
        kept = self._judged(alone.found, delta)
        unread = {**there.unread, **alone.unread}
        if told := _told_by(self.description):
            parts = [part for each in there.parts if (part := tuple(p for p in each if p.path not in unread))]
            described = self._read(parts, delta, told)
            kept += self._judged(unlike(described.found, alone.found), delta)
            unread |= described.unread
        return Detection(findings=tuple(with_news(stood, kept, delta.head.sources)), unread=unread)

    def _read(self, parts: Sequence[tuple[Page, ...]], delta: Delta, told: str = "") -> _Pass:
        """Ask about each part until one answer says that no further one will come."""
        made = _Pass()
        lost = ""
        for part in parts:
            if lost:
                made.unread |= _reasons(part, lost)
                continue
            try:
                self._ask_in_halves(part, delta, told, made)
            except (BudgetSpent, ModelUnavailable) as error:
                lost = str(error)
                made.unread |= _reasons(part, lost)
        if made.said:
            which = "with the description" if told else "in the code alone"
            self.progress(f"{MODEL}: {made.said} said {which}, {len(made.found)} of them stand where they say")
        return made

    def _ask_in_halves(self, part: tuple[Page, ...], delta: Delta, told: str, made: _Pass) -> None:
        """One request, or two where one is too long. Raises what leaves no hope for the other parts."""
        try:
            self._ask(part, delta, told, made)
        except ContextOverflow as error:
            smaller = halves(part)
            made.unread |= {} if smaller else _reasons(part, str(error))
            for half in smaller:
                try:
                    self._ask(half, delta, told, made)
                except ContextOverflow as again:
                    made.unread |= _reasons(half, str(again))

    def _ask(self, part: tuple[Page, ...], delta: Delta, told: str, made: _Pass) -> None:
        try:
            said = self._said(part, told)
        except (BudgetSpent, ModelUnavailable, ContextOverflow):
            raise
        except ModelError as error:
            made.unread |= _reasons(part, str(error))
            return
        found = checked(said, {page.path for page in part}, delta, described=bool(told))
        made.said += len(said)
        made.found += unlike(found, made.found)

    def _said(self, part: tuple[Page, ...], told: str) -> list[Said]:
        """What the model says of some files. What both passes share stands first, for prompt caches."""
        code = "\n\n".join(page.text for page in part)
        messages = (
            Message(role=Role.SYSTEM, text=prompt("review", most=MOST_FINDINGS)),
            Message(role=Role.USER, text=f"{code}\n\n{told}" if told else code),
        )
        ask = Ask(messages=messages, purpose="review", max_tokens=MOST_TOKENS)
        return ask_for(self.model, ask, SaidFindings).findings

    def _judged(self, found: Sequence[Candidate], delta: Delta) -> list[Candidate]:
        near = nearest([each.message for each in found], self.memory.opinions, self.memory.embedder)
        judged = criticised(self.model, found, near, delta.head.sources, self.constitution)
        for line in judged.told:
            self.progress(f"{MODEL}: {line}")
        return list(judged.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """The `ChangeDetector` in a model's place where it may not be asked: what it found before still stands."""

    earlier: Sequence[Sighting]
    name: str = MODEL

    def reads(self, path: str) -> bool:
        return reads(path)

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        """See `ChangeDetector`: nothing is read."""
        stood = standing(self.earlier, delta.head.sources)
        return Detection(findings=stood, unread={path: NOT_ASKED for path in paths if self.reads(path)})


def _told_by(description: Description) -> str:
    """The author's words after ours; empty where there are none."""
    said = [("title", description.title), ("description", truncated(description.body, LONGEST_BODY))]
    parts = [data(source, text) for source, text in said if text.strip()]
    return "\n\n".join([prompt("review_context"), *parts]) if parts else ""


def _reasons(part: Sequence[Page], why: str) -> Mapping[str, str]:
    return {page.path: f"the model could not be asked: {why}" for page in part}
