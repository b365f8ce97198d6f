"""The detector that asks a model: first about the code alone, then with what its author says of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from memory.model import Sighting
from memory.retrieval.embeddings import Embedder
from workers.agent.critique import MaintainerOpinion, criticised, nearest
from workers.agent.findings import (
    MAX_FINDINGS,
    ModelFinding,
    Page,
    ReportedFindings,
    checked,
    raw_of,
    same_place,
    shown,
    unlike,
)
from workers.configuration.schema import ALL_PATHS, PathChoices
from workers.diffs import split_lines
from workers.llm.errors import BudgetSpent, ContextOverflow, ModelError, ModelUnavailable
from workers.llm.messages import Model, ModelRequest, first_messages
from workers.llm.prompt_text import data, prompt, rendered_text, truncated
from workers.llm.structured import ask_for
from workers.review.detectors.detector import MODEL, Category, Delta, Detection, RawFinding
from workers.review.read_report import CODE


def carried_over(earlier: Sequence[Sighting], sources: Mapping[str, str]) -> tuple[RawFinding, ...]:
    """The model's findings of earlier rounds at their lines in `sources` (text by path)."""
    of_model = [each for each in earlier if each.finding.tool == MODEL]
    bare = {path: [" ".join(line.split()) for line in split_lines(text)] for path, text in sources.items()}
    found = (_relocated(each, bare) for each in of_model) if of_model else ()
    return tuple(each for each in found if each is not None)


def merged(carried: Sequence[RawFinding], new: Sequence[ModelFinding], sources: Mapping[str, str]) -> list[RawFinding]:
    """The earlier findings that still hold, each with the fix that was found for it now, and then the new ones."""
    found = [(each, raw_of(each, sources[each.path])) for each in new]
    known = [
        replace(old, fix=next((raw.fix for each, raw in found if same_place(each, old)), old.fix)) for old in carried
    ]
    return [*known, *(raw for each, raw in found if not any(same_place(each, old) for old in carried))]


def _relocated(sighting: Sighting, bare: Mapping[str, Sequence[str]]) -> RawFinding | None:
    finding, place = sighting.finding, sighting.place
    anchor = place.anchor.split("\n")
    path = place.path
    at = min(_starts(anchor, bare.get(path, ())), key=lambda line: abs(line - place.line), default=None)
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
        tool=MODEL,
        rule=finding.rule,
        category=Category(finding.category),
        severity=finding.severity,
        message=place.message,
    )


def _starts(anchor: Sequence[str], lines: Sequence[str]) -> Iterator[int]:
    """The numbers of the lines at which these lines follow one another."""
    for at, line in enumerate(lines):
        if line == anchor[0] and list(lines[at : at + len(anchor)]) == list(anchor):
            yield at + 1


MAX_TOKENS = 6_000
LONGEST_BODY = 6_000
NOT_ASKED = "it was not asked"

Progress = Callable[[str], None]


def reads(path: str) -> bool:
    """Whether it is a text in which a model may find something: code, by its suffix."""
    return PurePosixPath(path).suffix in CODE


@dataclass(slots=True, kw_only=True)
class _Pass:
    """One way through all parts: what it found, and what was not read and why, by path."""

    found: list[ModelFinding] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    reported: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReviewer:
    """The `ChangeDetector` of a model. `constitution` are the principles that it judges its own findings by.

    `earlier` is what earlier rounds of this change saw, `opinions` the maintainers' feedback on the model's findings;
    `title` and `body` are the author's words.
    """

    model: Model
    embedder: Embedder
    constitution: str
    earlier: Sequence[Sighting] = ()
    opinions: Sequence[MaintainerOpinion] = ()
    title: str = ""
    body: str = ""
    progress: Progress = lambda _line: None
    paths: PathChoices = ALL_PATHS
    name: str = MODEL

    def reads(self, path: str) -> bool:
        return reads(path) and self.paths.hold(path)

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        """See `ChangeDetector`. Where the model fails, its files are unread, and earlier findings are kept."""
        parts, unseen = shown(delta, [path for path in paths if self.reads(path)])
        alone = self._read(parts, delta)
        carried = carried_over(self.earlier, delta.head.sources)
        kept = self._judged(alone.found, delta)
        unread = unseen | alone.unread
        if context := _context_of(self.title, self.body):
            rest = [part for each in parts if (part := tuple(p for p in each if p.path not in unread))]
            described = self._read(rest, delta, context)
            kept += self._judged(unlike(described.found, alone.found), delta)
            unread |= described.unread
        return Detection(findings=tuple(merged(carried, kept, delta.head.sources)), unread=unread)

    def _read(self, parts: Sequence[tuple[Page, ...]], delta: Delta, context: str = "") -> _Pass:
        """Ask about each part until one answer says that no further one will come."""
        made = _Pass()
        lost = ""
        for part in parts:
            if lost:
                made.unread |= _reasons(part, lost)
                continue
            try:
                self._ask(part, delta, context, made)
            except (BudgetSpent, ModelUnavailable) as error:
                lost = str(error)
                made.unread |= _reasons(part, lost)
        if made.reported:
            which = "with the description" if context else "in the code alone"
            self.progress(
                f"{MODEL}: {made.reported} findings {which}, {len(made.found)} of them with a quote on changed lines"
            )
        return made

    def _ask(self, part: tuple[Page, ...], delta: Delta, context: str, made: _Pass) -> None:
        """One request, or two where one is too long. Raises what leaves no hope for the other parts."""
        code = "\n\n".join(page.text for page in part)
        text = f"{code}\n\n{context}" if context else code  # what both passes share comes first, for prompt caches
        messages = first_messages(prompt("review", most=MAX_FINDINGS), text)
        request = ModelRequest(messages=messages, purpose="review", max_tokens=MAX_TOKENS)
        try:
            reported = ask_for(self.model, request, ReportedFindings).findings
        except (BudgetSpent, ModelUnavailable):
            raise
        except ModelError as error:
            half = len(part) // 2
            if not half or not isinstance(error, ContextOverflow):
                made.unread |= _reasons(part, str(error))
                return
            self._ask(part[:half], delta, context, made)
            self._ask(part[half:], delta, context, made)
        else:
            found = checked(reported, {page.path for page in part}, delta, described=bool(context))
            made.reported += len(reported)
            made.found += unlike(found, made.found)

    def _judged(self, found: Sequence[ModelFinding], delta: Delta) -> list[ModelFinding]:
        near = nearest([each.message for each in found], self.opinions, self.embedder)
        judged = criticised(self.model, found, near, delta.head.sources, self.constitution)
        for line in judged.notes:
            self.progress(f"{MODEL}: {line}")
        return list(judged.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaskedReviewer:
    """The `ChangeDetector` in a model's place where it may not be asked: its earlier findings are kept."""

    earlier: Sequence[Sighting]
    name: str = MODEL

    def reads(self, path: str) -> bool:
        return reads(path)

    def compare(self, delta: Delta, paths: Sequence[str]) -> Detection:
        """See `ChangeDetector`: nothing is read."""
        carried = carried_over(self.earlier, delta.head.sources)
        return Detection(findings=carried, unread={path: NOT_ASKED for path in paths if self.reads(path)})


def _context_of(title: str, body: str) -> str:
    """The author's words after the instructions; empty where there are none."""
    given = [("title", title), ("description", truncated(rendered_text(body), LONGEST_BODY))]
    parts = [data(source, text) for source, text in given if text.strip()]
    return "\n\n".join([prompt("review_context"), *parts]) if parts else ""


def _reasons(part: Sequence[Page], why: str) -> Mapping[str, str]:
    return {page.path: f"the model could not be asked: {why}" for page in part}
