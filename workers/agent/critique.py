"""Second thoughts: a model judges findings against written principles, and code decides what its verdict may do.

Bai et al. 2022 (Constitutional AI) for the principles. A verdict may drop what is not grave, and lower a grave finding by
one level; it raises nothing, and where it fails everything stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import assert_never

from memory.model import Severity, TaskKind
from memory.preferences import net_support
from memory.retrieval.embeddings import Embedder
from memory.store import Store
from workers.agent.findings import (
    LONGEST_MESSAGE,
    LONGEST_TITLE,
    CritiqueVerdict,
    CritiqueVerdicts,
    ModelFinding,
    excerpt,
    lowered,
    shortened,
)
from workers.llm.errors import ModelError
from workers.llm.messages import Model, ModelRequest, Tier, first_messages
from workers.llm.prompt_text import PROMPTS, data, prompt
from workers.llm.structured import ask_for
from workers.review.detectors.detector import MODEL

READ, MOST = 2_000, 200
"""Decisions that are looked through, and opinions that are compared with, the last ones."""

NEAREST = 3
LIKE = 0.5
"""Cosine from which a finding is like another at all."""

SAME = 0.85
"""Cosine from which it says the same."""

ENOUGH = 2
"""Rejections of the same without any acceptance, after which a finding is worth less: one may be a mood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintainerOpinion:
    """A finding that a maintainer accepted or rejected, with the `reason` where one was given."""

    text: str
    accepted: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarFinding:
    """An opinion, and the cosine of its text with that of a finding."""

    opinion: MaintainerOpinion
    cosine: float


def opinions(store: Store, repository: str) -> tuple[MaintainerOpinion, ...]:
    """The feedback of a repository's maintainers on the model's findings, newest first, without what they withdrew."""
    decisions = [
        decision
        for decision in store.ledger.with_feedback(TaskKind.REVIEW, limit=READ)
        if decision.state.repository == repository and decision.state.label.startswith(f"{MODEL}-")
    ][:MOST]
    signals = store.ledger.live_signals_of([decision.id for decision in decisions])
    sightings = store.posts.sightings_of([decision.id for decision in decisions])
    reasons = store.reasons.several([signal.id for given in signals.values() for signal in given], str)
    return tuple(
        MaintainerOpinion(
            text=sightings[decision.id].finding.message,
            accepted=score > 0.0,
            reason=" ".join(reasons[signal.id] for signal in signals[decision.id] if signal.id in reasons),
        )
        for decision in decisions
        if (score := net_support(signals[decision.id])) and decision.id in sightings
    )


def nearest(
    texts: Sequence[str], past: Sequence[MaintainerOpinion], embedder: Embedder
) -> list[tuple[SimilarFinding, ...]]:
    """For each text the opinions on similar findings, the nearest first."""
    if not texts or not past:
        return [() for _ in texts]
    cosines = embedder.embed(texts) @ embedder.embed([each.text for each in past]).T
    rows = ([SimilarFinding(opinion=o, cosine=float(c)) for o, c in zip(past, row, strict=True)] for row in cosines)
    return [tuple(sorted((n for n in row if n.cosine >= LIKE), key=lambda n: -n.cosine)) for row in rows]


def is_unwanted(near: Sequence[SimilarFinding]) -> bool:
    """Whether maintainers rejected the same at least twice, and never accepted it."""
    same = [each.opinion.accepted for each in near if each.cosine >= SAME]
    return len(same) >= ENOUGH and not any(same)


MAX_TOKENS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CritiqueResult:
    """The findings that are left, and `notes` on the others for the log."""

    kept: tuple[ModelFinding, ...]
    notes: tuple[str, ...] = ()


def principles(path: Path | None) -> str:
    """The operator's principles, or ours. Settings have checked that the file is there and has some."""
    return (path or PROMPTS / "principles.md").read_text(encoding="utf-8").strip()


def criticised(
    model: Model,
    found: Sequence[ModelFinding],
    near: Sequence[Sequence[SimilarFinding]],
    sources: Mapping[str, str],
    constitution: str,
) -> CritiqueResult:
    """The findings after one critique of all; `near` are, for each, the opinions on similar findings."""
    liked = [demoted(each) if is_unwanted(its) else each for each, its in zip(found, near, strict=True)]
    if not liked:
        return CritiqueResult(kept=())
    material = "\n\n".join(_material(n, c, near[n - 1], sources[c.path]) for n, c in enumerate(liked, 1))
    messages = first_messages(prompt("critique", principles=constitution), material)
    ask = ModelRequest(messages=messages, purpose="critique", tier=Tier.WEAK, max_tokens=MAX_TOKENS)
    try:
        return judged(liked, ask_for(model, ask, CritiqueVerdicts).verdicts)
    except ModelError as error:
        return CritiqueResult(kept=tuple(liked), notes=(f"no critique, everything is kept: {error}",))


def judged(found: Sequence[ModelFinding], verdicts: Sequence[CritiqueVerdict]) -> CritiqueResult:
    """The findings as the verdicts leave them; of two verdicts about one the first counts, and one without any is kept."""
    by_number = {each.finding: each for each in reversed(verdicts)}
    kept: list[ModelFinding] = []
    notes: list[str] = []
    for number, candidate in enumerate(found, 1):
        verdict = by_number.get(number)
        after = _after(candidate, verdict) if verdict else candidate
        if after is not None:
            kept.append(after)
        if verdict is not None and verdict.verdict == "drop":
            what = "dropped" if after is None else "demoted"
            notes.append(f"{what} by principle {verdict.principle}: {candidate.path}:{candidate.line}")
    return CritiqueResult(kept=tuple(kept), notes=tuple(notes))


def demoted(candidate: ModelFinding) -> ModelFinding:
    """One level less severe."""
    return replace(candidate, severity=lowered(candidate.severity))


def _after(candidate: ModelFinding, verdict: CritiqueVerdict) -> ModelFinding | None:
    match verdict.verdict:
        case "keep":
            return candidate
        case "drop":
            return demoted(candidate) if candidate.grave else None
        case "revise":
            return _revised(candidate, verdict)
        case _:
            assert_never(verdict.verdict)


def _revised(candidate: ModelFinding, verdict: CritiqueVerdict) -> ModelFinding:
    wanted = Severity(verdict.severity or candidate.severity)
    severity = min(candidate.severity, wanted, key=attrgetter("rank"))
    if candidate.grave and severity is not candidate.severity:
        severity = lowered(candidate.severity)
    title = shortened(verdict.title or "", LONGEST_TITLE) or candidate.title
    explanation = verdict.explanation if verdict.explanation is not None else candidate.explanation
    return replace(
        candidate, severity=severity, title=title, explanation=shortened(explanation, LONGEST_MESSAGE - len(title))
    )


def _material(number: int, candidate: ModelFinding, near: Sequence[SimilarFinding], text: str) -> str:
    place = f"{candidate.path}:{candidate.line}-{candidate.end_line}"
    origin = " Found with the author's description at hand." if candidate.described else ""
    parts = [
        f"category: {candidate.category}\nseverity: {candidate.severity}",
        f"title: {candidate.title}\nexplanation: {candidate.explanation}",
    ]
    if candidate.replacement is not None:
        parts.append(f"replacement:\n{candidate.replacement}")
    parts = [
        f"# Finding {number}.{origin}",
        data("finding", "\n".join(parts), code=True),
        data(place, excerpt(text, candidate.line, candidate.end_line), code=True),
    ]
    if near:
        made = "\n".join(_decided(each.opinion) for each in near[:NEAREST])
        parts.append(data("what maintainers here decided on similar findings", made))
    return "\n".join(parts)


def _decided(opinion: MaintainerOpinion) -> str:
    why = f" (because: {opinion.reason})" if opinion.reason else ""
    return f"{'accepted' if opinion.accepted else 'rejected'}: {opinion.text}{why}"
