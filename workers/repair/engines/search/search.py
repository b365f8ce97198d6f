"""Candidates, best first: a lazy best-first walk over suspects, statements and templates.

The score of a candidate is its suspect's score times its template's prior for the family of failure, times what was
learned about the template, times the edit's own weight, times how well it fits what the failure shows. A shape that worked
before is lifted towards 1.

Fixes that take two edits are sought on top of near misses: building on these is what makes multi-edit search feasible
(Angelix: Mechtaev et al. 2016; ARJA: Yuan and Banzhaf 2020; partial-fix chaining: Wong et al. 2021, VarFix).
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count, islice, zip_longest

import libcst as cst

from memory.model import EditShape, Failure, Family
from memory.parsing import PARSE_ERRORS
from memory.skills import composed, name_of, teaches
from workers.line_matching import LineMatcher
from workers.repair.candidates import Candidate, Suspect
from workers.repair.classify import belongs_to_tests
from workers.repair.engines.search.edit_context import Edit, Site
from workers.repair.engines.search.edit_shapes import shape_of
from workers.repair.engines.search.project import ProjectSources
from workers.repair.engines.search.source_slice import Extent, Region, SourceModule, Splice, Unit, spliced
from workers.repair.engines.search.syntax_repair import repaired_syntax
from workers.repair.engines.search.templates import STRATEGIES, Template, all_templates
from workers.repair.judging.ranking import extent_of
from workers.repair.outline import deciding_lines

SYNTAX_STRATEGY = "statements"
"""The strategy of edits of texts that do not parse."""

LIFT = 0.9
"""How far an edit that fits perfectly is lifted to the front. Below 1, so that among its places the suspects still rank."""

PLACE, KIND = 1.2, 0.7
"""How much a suspect's score and a template's prior count beside each other and beside an edit's own weight."""

UNRAISING = 0.64
"""What a statement is worth that does not decide about an error, where a test waits for one in vain."""

REPEATED, MOST_PAIRED = 0.9, 3
"""What an edit at several places is worth beside the same at the least likely one, and up to which place it is made at pairs."""

MADE = 16
"""How many edits of a node are made at a time: most templates make the likeliest first, and few are ever asked for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDraft:
    """An edit that was thought of but not yet made; `learned` where a skill makes it."""

    site: Site
    template: Template
    edit: Edit
    score: float
    learned: bool = False

    @property
    def shape(self) -> EditShape:
        """The edit without its names. Expensive, so it is not computed for every draft."""
        before, after = _texts(self.edit, self.site.region, *self.edit.around)
        return shape_of(self.template.name, before, "\n".join((*self.edit.imports, after)))

    def also_at(self, others: Sequence[EditDraft]) -> EditDraft:
        """This edit with others, which are the same at other places. Its shape is that of the edit at one place."""
        together = (self, *others)
        edit = replace(self.edit, splices=tuple(splice for each in together for splice in each.edit.splices))
        return replace(self, edit=edit, score=REPEATED * min(each.score for each in together))

    def touches(self, other: EditDraft) -> bool:
        """Whether the two edits cannot be made together."""
        (start, end), (other_start, other_end) = self.edit.extent, other.edit.extent
        return start <= other_end and other_start <= end


def _texts(edit: Edit, region: Region, start: int, end: int) -> tuple[str, str]:
    """A region's text between two offsets without and with an edit."""
    inside = [Splice(s.start - start, s.end - start, s.code) for s in edit.splices if start <= s.start <= s.end <= end]
    return region.text(start, end), spliced(region.data[start:end], inside).decode()


def _lifted(score: float, weight: float) -> float:
    return score + (1.0 - score) * LIFT * weight


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """What candidates are proposed from: sources by path, the suspects in them, and the failure. Tests are never edited.

    `weights` multiply the templates' priors. With `repeated`, edits are also made at several places at once.
    """

    sources: Mapping[str, str]
    suspects: Sequence[Suspect]
    failure: Failure
    weights: Mapping[str, float] = field(default_factory=dict)
    repeated: bool = True

    def proposed(
        self, strategies: Sequence[str] | None = None, *, replay: Mapping[EditShape, float] = {}, seed: int = 0
    ) -> Iterator[Candidate]:
        """Candidates, best first, without repetition; every one compiles and differs from the original.

        `strategies` limits to those (None: all of them); beside them, edits in `replay`, by how well they fit, are yielded
        whatever their strategy, so that no strategy at all means those alone. Equal arguments give equal candidates.
        """
        chosen = frozenset(STRATEGIES if strategies is None else strategies)
        search = _Search(self, chosen, replay, seed)
        by_path: dict[str, dict[int, float]] = {}
        for suspect in self.suspects:
            if suspect.path in self.sources and not belongs_to_tests(suspect.path):
                lines = by_path.setdefault(suspect.path, {})
                lines[suspect.line] = max(suspect.score, lines.get(suspect.line, 0.0))
        for path, lines in by_path.items():
            search.push(search.most(max(lines.values())), partial(search.open_module, path, lines))
        texts = {path: self.sources[path] for path in by_path} if self.failure.family is Family.SYNTAX else {}
        return chain(self._syntax_repairs(texts if SYNTAX_STRATEGY in chosen else {}), _candidates(search))

    def _syntax_repairs(self, texts: Mapping[str, str]) -> Iterator[Candidate]:
        """What the texts that do not parse may have been meant to be: no template can be asked, as there is no tree."""
        for path, text in texts.items():
            for made in repaired_syntax(text):
                yield Candidate(
                    path=path,
                    source=made.text,
                    line=made.line,
                    function="",
                    template=made.template,
                    strategy=SYNTAX_STRATEGY,
                    shape=EditShape(template=made.template, before="", after=""),
                    score=made.weight * self.weights.get(made.template, 1.0),
                )

    def on(self, path: str, lines: Collection[int]) -> SearchSpace:
        """The same with the suspects on these lines of a file alone."""
        return replace(self, suspects=[each for each in self.suspects if each.path == path and each.line in lines])

    def rivals(self, plausible: Candidate) -> Iterator[Candidate]:
        """Edits of the same line by the same template in turn with those by every strategy, and with those of the conditions
        that decide whether it runs; then of the same function, then of all that is suspected.

        In turn, as a line alone may have more edits than are tried. Edits of one kind are the likeliest to pass alike, and
        what a line does and when it does so repair one fault. None is repeated: what passes alone would be its own witness.
        """
        space, path = replace(self, repeated=False), plausible.path
        line = space.on(path, (plausible.line,))
        conditions = space.on(path, deciding_lines(self.sources[path], plausible.line))
        alike = (each for each in line.proposed((plausible.strategy,)) if each.template == plausible.template)
        in_turn = zip_longest(alike, line.proposed(), conditions.proposed())
        yield from filter(None, chain.from_iterable(in_turn))
        first, last = extent_of(plausible)
        yield from space.on(path, range(first, last + 1)).proposed()
        yield from space.proposed()

    def pairs(
        self, near: Iterable[tuple[Candidate, float]], replay: Mapping[EditShape, float] = {}
    ) -> Iterator[Candidate]:
        """Second edits of the same file on top of near misses, each with its `nearness`; the likeliest pairs first.

        A pair's template and shape name both of its edits, its line, function and strategy are the first's. Second edits in
        `replay` come forward by how well they fit, so that two learned edits make one patch. Pairs of one meaning may come
        twice, by way of either edit: the caller knows what was tried.
        """
        streams = (self._on_top_of(first, weight, replay) for first, weight in near)
        return heapq.merge(*streams, key=lambda candidate: -candidate.score)

    def _on_top_of(self, first: Candidate, weight: float, replay: Mapping[EditShape, float]) -> Iterator[Candidate]:
        original = self.sources[first.path]
        edited = {**self.sources, first.path: first.source}
        space = replace(self, sources=edited, suspects=list(_moved(first, original, self.suspects)))
        return (_pair(first, each, weight) for each in space.proposed(replay=replay) if each.source != original)


class _Search:
    """A heap of edits and of sources of edits, the most promising first; ties are broken by the seed."""

    def __init__(
        self, space: SearchSpace, strategies: frozenset[str], replay: Mapping[EditShape, float], seed: int
    ) -> None:
        self._space = space
        self._strategies = strategies
        self._replay = replay
        self._project = ProjectSources(space.sources, space.failure)
        replayed = {shape.template for shape in replay}
        self._templates = [t for t in all_templates() if t.strategy in strategies or t.name in replayed]
        self._ties = random.Random(seed)  # noqa: S311  # ties, not secrets
        self._heap: list[tuple[float, float, int, EditDraft | Callable[[], Iterable[EditDraft]]]] = []
        self._numbers = count()
        self._made: dict[tuple[Region, object], list[EditDraft]] = {}

    def push(self, score: float, item: EditDraft | Callable[[], Iterable[EditDraft]], *, last: bool = False) -> None:
        """Add an edit, or a source of edits none of which scores higher; behind those of the same score if it is to be the `last`."""
        heapq.heappush(self._heap, (-score, 1.0 if last else self._ties.random(), next(self._numbers), item))

    def drafts(self) -> Iterator[EditDraft]:
        """Edits in the order of their scores; sources are opened only when nothing better is at hand."""
        while self._heap:
            item = heapq.heappop(self._heap)[-1]
            if isinstance(item, EditDraft):
                yield item
            else:
                for draft in item():
                    self.push(draft.score, draft)

    def repeat(self, draft: EditDraft, shape: EditShape) -> None:
        """Add the edit at this place together with those of its region where it was made before.

        Sibling places often need the same edit (Saha, Saha and Prasad, Harnessing Evolution for Multi-Hunk Program Repair,
        ICSE 2019). Where a shape fits any name, edits are the same that write the same text.
        """
        region = draft.site.region
        key = region, shape if teaches(shape) else (shape.template, *_texts(draft.edit, region, *draft.edit.extent))
        made = self._made.setdefault(key, [])
        if not self._space.repeated or draft.learned or any(draft.touches(other) for other in made):
            return
        pairs = [[other] for other in made] if len(made) < MOST_PAIRED else []
        for repeated in map(draft.also_at, pairs if len(made) < 2 else [*pairs, made]):
            self.push(repeated.score, repeated, last=True)
        made.append(draft)

    def most(self, suspect: float) -> float:
        """The most that any edit can score at a suspect."""
        return max((self._bound(suspect, template) for template in self._templates), default=0.0)

    def _base(self, suspect: float, template: Template) -> float:
        """The score of a template's best edit at a suspect, without replay."""
        learned = self._space.weights.get(template.name, 1.0)
        likely = template.prior_for(self._space.failure.family)
        return min(1.0, math.pow(suspect, PLACE) * math.pow(likely, KIND) * learned)

    def _bound(self, suspect: float, template: Template, weight: float = 1.0) -> float:
        """The most that an edit of a template can score at a suspect, if it weighs no more than `weight`."""
        lifts = [lift for shape, lift in self._replay.items() if shape.template == template.name]
        return _lifted(self._base(suspect, template) * weight, max(lifts, default=0.0))

    def _weighed(self, draft: EditDraft) -> EditDraft | None:
        """The draft with its shape's lift; None where neither a chosen strategy nor a replayed shape includes it."""
        replayed = any(shape.template == draft.template.name for shape in self._replay)
        weight = self._replay.get(draft.shape) if replayed else None
        if weight is not None:
            return replace(draft, score=_lifted(draft.score, weight), learned=True)
        return draft if draft.template.strategy in self._strategies else None

    def open_module(self, path: str, lines: Mapping[int, float]) -> Iterable[EditDraft]:
        try:
            module = SourceModule(path, self._space.sources[path])
        except PARSE_ERRORS:
            return ()
        by_extent: dict[Extent, dict[int, float]] = {}
        for line, score in lines.items():
            if (extent := module.extent_at(line)) is not None:
                by_extent.setdefault(extent, {})[line] = score
        for extent, scores in by_extent.items():
            self.push(self.most(max(scores.values())), partial(self._open_region, module, extent, scores))
        return ()

    def _open_region(self, module: SourceModule, extent: Extent, lines: Mapping[int, float]) -> Iterable[EditDraft]:
        region = module.region(extent)
        if region is None:
            return ()
        for unit, score in _units(region, lines).items():
            site = Site(region, unit, self._project)
            score *= _place(site)
            nodes = tuple(unit.nodes())
            for template in self._templates:
                at = [node for node in nodes if isinstance(node, template.node)]
                if at:
                    self.push(self._bound(score, template), partial(self._drafts, site, template, at, score))
        return ()

    def _drafts(
        self, site: Site, template: Template, nodes: Sequence[cst.CSTNode], suspect: float
    ) -> Iterator[EditDraft]:
        for node in nodes:
            yield from self._some(template.edits(node, site), site, template, suspect, 1.0)

    def _some(
        self, edits: Iterator[Edit], site: Site, template: Template, suspect: float, most: float
    ) -> Iterator[EditDraft]:
        """The next few edits at a node, none of which weighs above `most`; the rest is made when nothing better is at hand."""
        base = self._base(suspect, template)
        some = list(islice(edits, MADE))
        for edit in (edit for edit in some if edit.weight):
            score = base * min(edit.weight, most) * _relevance(edit, site)
            made = EditDraft(site=site, template=template, edit=edit, score=score)
            if (draft := self._weighed(made)) is not None:
                yield draft
        if len(some) == MADE:
            most = min(most, max(edit.weight for edit in some))
            rest = partial(self._some, edits, site, template, suspect, most)
            self.push(self._bound(suspect, template, most), rest)


def _relevance(edit: Edit, site: Site) -> float:
    """How well an edit fits what the failure shows, within (0, 1]."""
    before, after = _texts(edit, site.region, *edit.extent)
    return site.evidence.relevance(before, "\n".join((*edit.imports, after)))


def _place(site: Site) -> float:
    """How well a statement fits what the failure shows, within (0, 1]; what the message names may be missing in a definition."""
    header = isinstance(site.unit.node, (cst.FunctionDef, cst.ClassDef))
    code = " ".join(site.evidence.named) if header else site.code(site.unit.node)
    worth = site.evidence.place(code, site.function.signature.name if site.function else "")
    return worth * (UNRAISING if site.clues.unraised and not _decides_about_an_error(site.unit.node) else 1.0)


def _decides_about_an_error(statement: cst.CSTNode) -> bool:
    """Whether it raises an error, or is a condition under which one is raised."""
    blocks = [statement.body] if isinstance(statement, cst.If) else []
    lines = [line for block in blocks if isinstance(block, cst.IndentedBlock) for line in block.body]
    inside = (part for line in (statement, *lines) if isinstance(line, cst.SimpleStatementLine) for part in line.body)
    return any(isinstance(part, cst.Raise) for part in inside)


def _units(region: Region, lines: Mapping[int, float]) -> dict[Unit, float]:
    scores: dict[Unit, float] = {}
    for line, score in lines.items():
        if (unit := region.unit_at(line)) is not None:
            scores[unit] = max(score, scores.get(unit, 0.0))
    return scores


def _candidates(search: _Search) -> Iterator[Candidate]:
    seen: dict[Region, set[object]] = {}
    texts: set[tuple[Region, bytes, tuple[str, ...]]] = set()
    for draft in search.drafts():
        region = draft.site.region
        known = seen.setdefault(region, {(region.meaning(region.data), ())})
        edited = region.edited(draft.edit.splices)
        if (region, edited, draft.edit.imports) in texts:
            continue  # spares the compiler, which costs most here
        texts.add((region, edited, draft.edit.imports))
        compiled = region.meaning(edited)
        key = (compiled, draft.edit.imports)
        if compiled is not None and key not in known:
            known.add(key)
            candidate = _candidate(draft, edited)
            yield candidate
            search.repeat(draft, candidate.shape)


def _candidate(draft: EditDraft, edited: bytes) -> Candidate:
    region = draft.site.region
    function = draft.site.function
    return Candidate(
        path=region.module.path,
        source=region.module_source(edited, draft.edit.imports),
        line=region.line(draft.edit.splices[0].start) if draft.edit.splices else draft.site.unit.first_line,
        function=function.qualname if function else "",
        template=draft.template.name,
        strategy=draft.template.strategy,
        shape=draft.shape,
        score=draft.score,
        skills=(name_of(draft.shape),) if draft.learned else (),
    )


ELSEWHERE = 0.5
"""What a second edit is worth outside the function of the first."""


def _moved(first: Candidate, original: str, suspects: Sequence[Suspect]) -> Iterator[Suspect]:
    """The suspects where they are after the first edit; the lines that it wrote are as suspicious as the one it changed."""
    before, after = original.splitlines(), first.source.splitlines()
    here = [s.score for s in suspects if s.path == first.path and s.line == first.line]
    lines: dict[int, int] = {}
    changed: list[int] = []
    for kind, a, b, c, d in LineMatcher(before, after).get_opcodes():
        lines.update({a + i + 1: c + i + 1 for i in range(min(b - a, d - c))} if kind in ("equal", "replace") else {})
        changed += [] if kind == "equal" else range(c + 1, d + 1)
    for suspect in suspects:
        if suspect.path == first.path and suspect.line in lines:
            yield replace(suspect, line=lines[suspect.line])
    for line in changed:
        yield Suspect(path=first.path, line=line, score=max(here, default=0.5))


def _pair(first: Candidate, second: Candidate, weight: float) -> Candidate:
    shape = composed(first.shape, second.shape)
    score = first.score * second.score * (1.0 if second.function == first.function else ELSEWHERE) * weight
    return replace(
        second,
        line=first.line,
        function=first.function,
        strategy=first.strategy,
        template=shape.template,
        shape=shape,
        score=score,
        skills=(*first.skills, *second.skills),
    )
