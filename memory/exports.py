"""What people accepted and rejected, as lines for whoever fine-tunes a model, in the chat format that TRL documents.

SFT: trajectories that people accepted (expert iteration: Anthony, Tian and Barber 2017). DPO: of two completions of one
prompt, the chosen and the rejected (Rafailov et al. 2023). KTO: one completion, and whether it was wanted (Ethayarajh et
al. 2024). Nothing leaves a repository that was not named, and no text leaves without `clean`.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from tempfile import NamedTemporaryFile

from memory.model import Attempt, Decision, Finding, Signal, TaskKind
from memory.preferences.features import path_of
from memory.preferences.judged import verdict
from memory.store import Store
from memory.trajectories import accepted, length

LONGEST = 24_000
"""Examples with more characters in one message are left out: what is cut in the middle teaches nonsense."""


LONGEST_RUN = 400_000
"""The same of a whole run of the agent."""


class Form(StrEnum):
    """What to fine-tune with."""

    SFT = "sft"
    DPO = "dpo"
    KTO = "kto"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A completion of a prompt, and what people made of it.

    `verdict` is in [-1, 1], 0 where people were not asked; `proven` tells whether tests carry it. `why` says why it counts
    as it does.
    """

    prompt: str
    completion: str
    verdict: float
    proven: bool
    why: str
    repository: str
    task_id: str
    decision_id: str
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written: lines, what they came from, and what was left out for its length."""

    form: Form
    path: str
    lines: int
    repositories: dict[str, int]
    left_out: int

    def text(self) -> str:
        """One line for people."""
        found = ", ".join(f"{name} {count}" for name, count in self.repositories.items())
        longer = f"; {self.left_out} examples left out as too long" if self.left_out else ""
        return f"{self.lines} lines for {self.form} in {self.path}" + (f" ({found})" if found else "") + longer


def export(
    store: Store,
    form: Form,
    path: Path,
    *,
    repositories: Collection[str],
    clean: Callable[[str], str],
    since: datetime | None = None,
) -> Exported:
    """Write one file, at once or not at all. `clean` takes what looks like a credential out of a text."""
    if form is Form.AGENT:
        return _runs(store, path, repositories=repositories, clean=clean, since=since)
    found = [cleaned(each, clean) for each in examples(store, repositories, since)]
    kept = [each for each in found if max(len(each.prompt), len(each.completion)) <= LONGEST]
    written: defaultdict[str, int] = defaultdict(int)

    def lines() -> Iterator[str]:
        for example, line in WRITERS[form](kept):
            written[example.repository] += 1
            yield json.dumps(line, ensure_ascii=False)

    write_atomically(path, lines())
    return Exported(
        form=form,
        path=str(path),
        lines=sum(written.values()),
        repositories=dict(sorted(written.items())),
        left_out=len(found) - len(kept),
    )


def _runs(
    store: Store, path: Path, *, repositories: Collection[str], clean: Callable[[str], str], since: datetime | None
) -> Exported:
    """The agent's accepted runs, whole."""
    found = list(accepted(store, repositories, clean=clean, since=since))
    kept = [(decision, line) for decision, line in found if length(line) <= LONGEST_RUN]
    write_atomically(path, (json.dumps(line, ensure_ascii=False) for _, line in kept))
    return Exported(
        form=Form.AGENT,
        path=str(path),
        lines=len(kept),
        repositories=dict(sorted(Counter(decision.state.repository for decision, _ in kept).items())),
        left_out=len(found) - len(kept),
    )


def examples(store: Store, repositories: Collection[str], since: datetime | None = None) -> list[Example]:
    """Everything of these repositories that people judged, and what was shown beside it, oldest first."""
    found: list[Example] = []
    for kind in TaskKind:
        heard = [d for d in store.models.heard(kind, since=since) if d.state.repository in repositories]
        signals: defaultdict[str, list[Signal]] = defaultdict(list)
        for signal in store.ledger.live_signals([decision.id for decision in heard]):
            signals[signal.decision_id].append(signal)
        said = {d.id: (d, verdict(signals[d.id])) for d in heard if verdict(signals[d.id])}
        found += _patches(store, said) if kind is TaskKind.REPAIR else _remarks(store, said)
    return sorted(found, key=lambda each: (each.made_at, each.decision_id, each.why))


def _patches(store: Store, said: dict[str, tuple[Decision, float]]) -> Iterator[Example]:
    """The patches that people judged, and the other ones that they were shown and did not take."""
    for decision, opinion in said.values():
        stored, experience = store.tasks.get(decision.task_id), store.experiences.get(decision.id)
        attempts = stored.task.attempts if stored else ()
        attempt = next((each for each in attempts if each.decision_id == decision.id), None)
        if attempt is None or attempt.proof is None or experience is None:
            continue
        prompt = repair_prompt(experience.signature, attempt, earlier=attempts[: attempts.index(attempt)])
        yield _example(decision, prompt, attempt.patch, opinion, "people judged it")
        telling = attempt.proof.telling
        if telling is not None and opinion > 0.0:
            yield _example(decision, prompt, telling.patch, -opinion, "people were shown it and took the other")


def _remarks(store: Store, said: dict[str, tuple[Decision, float]]) -> Iterator[Example]:
    seen = store.models.sightings_of(list(said))
    for decision_id, sighting in seen.items():
        decision, opinion = said[decision_id]
        finding = sighting.finding
        proven = finding.suggestion is not None and finding.suggestion.proof is not None
        prompt, completion = review_prompt(finding), remark(finding)
        yield _example(decision, prompt, completion, opinion, "people judged it", proven=proven)


def _example(
    decision: Decision, prompt: str, completion: str, opinion: float, why: str, *, proven: bool = True
) -> Example:
    return Example(
        prompt=prompt,
        completion=completion,
        verdict=opinion,
        proven=proven,
        why=why,
        repository=decision.state.repository,
        task_id=decision.task_id,
        decision_id=decision.id,
        made_at=decision.created_at,
    )


def repair_prompt(signature: str, attempt: Attempt, earlier: Sequence[Attempt]) -> str:
    """What a model is asked: the failure, the code as it is where it was mended, and what was tried before in vain."""
    tried = "".join(f"- {each.reflection}\n" for each in earlier if each.reflection)
    parts = [
        "A test of this Python project fails. Answer with a unified diff that repairs it.",
        f"Failure:\n{signature}",
        f"{path_of(attempt.patch)}:\n{before(attempt.patch)}",
    ]
    return "\n\n".join(parts + ([f"Tried without success:\n{tried}"] if tried else []))


def review_prompt(finding: Finding) -> str:
    """What a model is asked about the code that a finding stands on."""
    return f"Review this code of {finding.path}. Say the one thing that is worth saying.\n\n{finding.anchor}"


def remark(finding: Finding) -> str:
    """What was said of a finding, with the replacement that was suggested."""
    said = f"{finding.rule} ({finding.severity}): {finding.message}"
    return f"{said}\n\n{finding.suggestion.replacement}" if finding.suggestion else said


def before(patch: str) -> str:
    """The lines that a unified diff stands on, as they are without it."""
    hunks = [line for line in patch.splitlines() if line[:1] in (" ", "-") and not line.startswith("--- ")]
    return "\n".join(line[1:] for line in hunks)


def cleaned(example: Example, clean: Callable[[str], str]) -> Example:
    """The example with both of its texts passed through `clean`; half characters, as test output has them, replaced."""
    prompt, completion = (
        clean(text).encode(errors="replace").decode() for text in (example.prompt, example.completion)
    )
    return replace(example, prompt=prompt, completion=completion)


Lines = Iterator[tuple[Example, dict[str, object]]]


def sft(found: Iterable[Example]) -> Lines:
    """What people accepted and tests carry."""
    for each in found:
        if each.verdict > 0.0 and each.proven:
            yield each, {"prompt": _user(each), "completion": _answer(each), "provenance": _provenance(each)}


def dpo(found: Iterable[Example]) -> Lines:
    """Accepted over rejected, wherever both answer one prompt."""
    for _, group in groupby(sorted(found, key=_question), key=_question):
        answers = list(group)
        for chosen in (each for each in answers if each.verdict > 0.0):
            for rejected in (each for each in answers if each.verdict < 0.0 and each.completion != chosen.completion):
                yield (
                    chosen,
                    {
                        "prompt": _user(chosen),
                        "chosen": _answer(chosen),
                        "rejected": _answer(rejected),
                        "provenance": {"chosen": _provenance(chosen), "rejected": _provenance(rejected)},
                    },
                )


def kto(found: Iterable[Example]) -> Lines:
    """Each by itself, and whether it was wanted."""
    for each in found:
        line = {"prompt": _user(each), "completion": _answer(each), "label": each.verdict > 0.0}
        yield each, {**line, "provenance": _provenance(each)}


WRITERS: dict[Form, Callable[[Iterable[Example]], Lines]] = {Form.SFT: sft, Form.DPO: dpo, Form.KTO: kto}


def _question(example: Example) -> tuple[str, str]:
    return example.repository, example.prompt


def _user(example: Example) -> list[dict[str, str]]:
    return [{"role": "user", "content": example.prompt}]


def _answer(example: Example) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": example.completion}]


def _provenance(example: Example) -> dict[str, object]:
    return {
        "repository": example.repository,
        "task_id": example.task_id,
        "decision_id": example.decision_id,
        "made_at": example.made_at.isoformat(),
        "verdict": round(example.verdict, 6),
        "why": example.why,
    }


def write_atomically(path: Path, lines: Iterable[str]) -> None:
    """Write lines beside `path` and put them in its place at the end; what stood there stays until then."""
    with ExitStack() as undone:
        with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            undone.callback(Path(file.name).unlink)
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)  # noqa: PTH105  the atomic one, by its usual name
        undone.pop_all()
