"""Accepted and rejected work as lines for fine-tuning a model, in the chat format that TRL documents.

SFT: accepted trajectories (expert iteration: Anthony, Tian and Barber 2017). DPO: of two completions of one
prompt, the chosen and the rejected (Rafailov et al. 2023). KTO: one completion, and whether it was wanted (Ethayarajh et
al. 2024). Only the repositories given are exported, and every text passes through `clean`.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from memory.model import Attempt, Decision, Finding, TaskKind
from memory.preferences import net_support
from memory.rewards import acceptance
from memory.store import Store
from memory.store.documents import Trajectory

LONGEST = 24_000
"""Examples with more characters in one message are left out: what is cut in the middle teaches nonsense."""


LONGEST_RUN = 400_000
"""The same of a whole run of the agent."""


class ExportForm(StrEnum):
    """What to fine-tune with."""

    SFT = "sft"
    DPO = "dpo"
    KTO = "kto"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingExample:
    """A completion of a prompt, and its verdict.

    `verdict` is in [-1, 1], 0 without feedback; `proven` is true where tests support it. `why` is the reason for the verdict.
    """

    prompt: str
    completion: str
    verdict: float
    proven: bool
    why: str
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """What was written: lines, what they came from, and what was left out for its length."""

    form: ExportForm
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
    form: ExportForm,
    path: Path,
    *,
    repositories: Collection[str],
    clean: Callable[[str], str],
    since: datetime | None = None,
) -> ExportResult:
    """Write one file, at once or not at all. `clean` takes what looks like a credential out of a text."""
    if form is ExportForm.AGENT:
        runs = [(d.state.repository, line) for d, line in accepted_runs(store, repositories, clean=clean, since=since)]
        kept = [(of, line) for of, line in runs if len(json.dumps(line, ensure_ascii=False)) <= LONGEST_RUN]
        left_out = len(runs) - len(kept)
    else:
        found = [cleaned(each, clean) for each in examples(store, repositories, since)]
        short = [each for each in found if max(len(each.prompt), len(each.completion)) <= LONGEST]
        kept = [(example.decision.state.repository, line) for example, line in WRITERS[form](short)]
        left_out = len(found) - len(short)
    write_atomically(path, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for _, line in kept))
    lines_of = Counter(store.name_of(repository) for repository, _ in kept)
    return ExportResult(
        form=form, path=str(path), lines=len(kept), repositories=dict(sorted(lines_of.items())), left_out=left_out
    )


class KeptCall(msgspec.Struct, frozen=True):
    """A tool that was called, with its arguments as JSON."""

    id: str
    name: str
    arguments: str


class KeptMessage(msgspec.Struct, frozen=True):
    """One message of a run, as it was kept."""

    role: str
    text: str
    calls: tuple[KeptCall, ...] = ()
    call_id: str = ""


def accepted_runs(
    store: Store, repositories: Collection[str], *, clean: Callable[[str], str], since: datetime | None
) -> Iterator[tuple[Decision, dict[str, object]]]:
    """Each accepted run of these repositories as {"messages": […]}, oldest first, every text passed through `clean`."""
    for decision_id, kept in store.trajectories.of_several(repositories, Trajectory).items():
        decision = store.ledger.decision(decision_id)
        if decision is None or (since is not None and decision.created_at < since):
            continue
        mean = acceptance(store.ledger.live_signals([decision_id]))
        if mean is not None and mean > 0.5:
            messages = msgspec.json.decode(kept.messages, type=tuple[KeptMessage, ...])
            yield decision, {"messages": [_message(each, clean) for each in messages]}


def _message(kept: KeptMessage, clean: Callable[[str], str]) -> dict[str, object]:
    message: dict[str, object] = {"role": kept.role, "content": clean(kept.text)}
    if kept.calls:
        functions = [(call.id, {"name": call.name, "arguments": clean(call.arguments)}) for call in kept.calls]
        message["tool_calls"] = [{"id": key, "type": "function", "function": each} for key, each in functions]
    if kept.call_id:
        message["tool_call_id"] = kept.call_id
    return message


def examples(store: Store, repositories: Collection[str], since: datetime | None = None) -> list[TrainingExample]:
    """Everything in these repositories with feedback, and the patches shown beside it, oldest first."""
    found: list[TrainingExample] = []
    for kind in TaskKind:
        judged = [d for d in store.ledger.with_feedback(kind, since=since) if d.state.repository in repositories]
        signals = store.ledger.live_signals_of([decision.id for decision in judged])
        verdicts = {d.id: (d, net_support(signals[d.id])) for d in judged if net_support(signals[d.id])}
        found += _patches(store, verdicts) if kind is TaskKind.REPAIR else _remarks(store, verdicts)
    return sorted(found, key=lambda each: (each.decision.created_at, each.decision.id, each.why))


def _patches(store: Store, verdicts: dict[str, tuple[Decision, float]]) -> Iterator[TrainingExample]:
    """The judged patches, and the ones shown beside them and not chosen."""
    for decision, opinion in verdicts.values():
        stored, experience = store.tasks.get(decision.task_id), store.experiences.get(decision.id)
        attempts = stored.attempts if stored else ()
        attempt = next((each for each in attempts if each.decision_id == decision.id), None)
        if attempt is None or attempt.proof is None or experience is None:
            continue
        judged = TrainingExample(
            prompt=repair_prompt(experience.signature, attempt, earlier=attempts[: attempts.index(attempt)]),
            completion=attempt.patch,
            verdict=opinion,
            proven=True,
            why="judged by maintainers",
            decision=decision,
        )
        yield judged
        telling = attempt.proof.telling
        if telling is not None and opinion > 0.0:
            other = "maintainers chose the other patch"
            yield replace(judged, completion=telling.patch, verdict=-opinion, why=other)


def _remarks(store: Store, verdicts: dict[str, tuple[Decision, float]]) -> Iterator[TrainingExample]:
    for decision_id, sighting in store.posts.sightings_of(list(verdicts)).items():
        decision, opinion = verdicts[decision_id]
        finding = sighting.finding
        yield TrainingExample(
            prompt=review_prompt(finding),
            completion=remark(finding),
            verdict=opinion,
            proven=finding.proven,
            why="judged by maintainers",
            decision=decision,
        )


def _path_of(patch: str) -> str:
    """The file that a unified diff changes; empty where it names none."""
    named = (line[4:].split("\t")[0] for line in patch.splitlines() if line.startswith("+++ "))
    return next(named, "").removeprefix("b/")


def repair_prompt(signature: str, attempt: Attempt, earlier: Sequence[Attempt]) -> str:
    """What a model is asked: the failure, the code before the repair, and earlier failed attempts."""
    tried = "".join(f"- {each.reflection}\n" for each in earlier if each.reflection)
    parts = [
        "A test of this Python project fails. Answer with a unified diff that repairs it.",
        f"Failure:\n{signature}",
        f"{_path_of(attempt.patch)}:\n{before(attempt.patch)}",
    ]
    return "\n\n".join(parts + ([f"Tried without success:\n{tried}"] if tried else []))


def review_prompt(finding: Finding) -> str:
    return f"Review this code of {finding.path}. Say the one thing that is worth saying.\n\n{finding.anchor}"


def remark(finding: Finding) -> str:
    """The message of a finding, with its suggested replacement."""
    message = f"{finding.rule} ({finding.severity}): {finding.message}"
    return f"{message}\n\n{finding.suggestion.replacement}" if finding.suggestion else message


def before(patch: str) -> str:
    """The lines of a unified diff as they are without it."""
    hunks = [line for line in patch.splitlines() if line[:1] in (" ", "-") and not line.startswith("--- ")]
    return "\n".join(line[1:] for line in hunks)


def cleaned(example: TrainingExample, clean: Callable[[str], str]) -> TrainingExample:
    """The example with both of its texts passed through `clean`; half characters, as test output has them, replaced."""
    prompt, completion = (
        clean(text).encode(errors="replace").decode() for text in (example.prompt, example.completion)
    )
    return replace(example, prompt=prompt, completion=completion)


Lines = Iterator[tuple[TrainingExample, dict[str, object]]]


def sft(found: Iterable[TrainingExample]) -> Lines:
    """What maintainers accepted and tests support."""
    return ((each, _line(each)) for each in found if each.verdict > 0.0 and each.proven)


def dpo(found: Iterable[TrainingExample]) -> Lines:
    """Accepted over rejected, wherever both answer one prompt."""
    for _, group in groupby(sorted(found, key=_question), key=_question):
        answers = list(group)
        for chosen in (each for each in answers if each.verdict > 0.0):
            for rejected in (each for each in answers if each.verdict < 0.0 and each.completion != chosen.completion):
                provenance = {"chosen": _provenance(chosen), "rejected": _provenance(rejected)}
                line = {"prompt": _user(chosen), "chosen": _answer(chosen), "rejected": _answer(rejected)}
                yield chosen, {**line, "provenance": provenance}


def kto(found: Iterable[TrainingExample]) -> Lines:
    """Each by itself, and whether it was wanted."""
    return ((each, {**_line(each), "label": each.verdict > 0.0}) for each in found)


WRITERS: dict[ExportForm, Callable[[Iterable[TrainingExample]], Lines]] = {
    ExportForm.SFT: sft,
    ExportForm.DPO: dpo,
    ExportForm.KTO: kto,
}


def _question(example: TrainingExample) -> tuple[str, str]:
    return example.decision.state.repository, example.prompt


def _line(example: TrainingExample) -> dict[str, object]:
    return {"prompt": _user(example), "completion": _answer(example), "provenance": _provenance(example)}


def _user(example: TrainingExample) -> list[dict[str, str]]:
    return [{"role": "user", "content": example.prompt}]


def _answer(example: TrainingExample) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": example.completion}]


def _provenance(example: TrainingExample) -> dict[str, object]:
    return {
        "repository": example.decision.state.repository,
        "task_id": example.decision.task_id,
        "decision_id": example.decision.id,
        "made_at": example.decision.created_at.isoformat(),
        "verdict": round(example.verdict, 6),
        "why": example.why,
    }


def write_atomically(path: Path, text: str) -> None:
    """Write beside `path`, and put it in its place at the end: the old file, or link, stays until then."""
    with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as aside:
        new = Path(aside) / "new"
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
