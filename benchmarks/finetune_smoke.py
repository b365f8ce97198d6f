"""Whether the exports can be trained on: a tiny causal model with random weights, a few steps on the CPU, no quality claimed.

SFT has to lower the loss on the completions; DPO has to raise the margin between chosen and rejected ones over a frozen
copy. Without files, both are exported from a memory that this makes up. docs/fine-tuning.md tells how to train in earnest.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch.nn.functional import cross_entropy, logsigmoid
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.remembered import made_up
from benchmarks.report import show
from memory.exports import Form, export
from memory.store import open_store
from workers.redaction import redact

LONGEST, BATCH = 224, 4
BETA, RATE = 0.1, 1e-3
END = 0


@dataclass(frozen=True, slots=True)
class Tokens:
    """One example as bytes, the model's alphabet; the first `asked` of them are the prompt, which is not learned."""

    ids: torch.Tensor
    asked: int


def read(path: Path, key: str) -> list[Tokens]:
    """The completions under `key` of a conversational export, each after its prompt."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [tokens(line["prompt"][0]["content"], line[key][0]["content"]) for line in lines]


def tokens(prompt: str, completion: str) -> Tokens:
    """The completion, and as much of the prompt's end as there is room for: completions may differ in their last bytes."""
    answer = completion.encode()[: LONGEST - 2]
    asked = prompt.encode()[len(answer) + 1 - LONGEST :]
    return Tokens(torch.tensor([*asked, *answer, END]), len(asked))


def tiny(seed: int) -> GPT2LMHeadModel:
    """Two layers over bytes, from a configuration: nothing is downloaded."""
    torch.manual_seed(seed)
    shape = GPT2Config(
        vocab_size=256, n_positions=LONGEST, n_embd=64, n_layer=2, n_head=2, bos_token_id=END, eos_token_id=END
    )
    shape.resid_pdrop = shape.embd_pdrop = shape.attn_pdrop = 0.0
    return GPT2LMHeadModel(shape)


def log_probability(model: GPT2LMHeadModel, example: Tokens) -> torch.Tensor:
    """The summed log-probability of a completion after its prompt."""
    logits = model(input_ids=example.ids[None]).logits[0, example.asked - 1 : -1]
    return -cross_entropy(logits, example.ids[example.asked :], reduction="sum")


def sft_loss(model: GPT2LMHeadModel, batch: Sequence[Tokens]) -> torch.Tensor:
    """The mean loss of a completion's bytes."""
    length = sum(len(each.ids) - each.asked for each in batch)
    return -torch.stack([log_probability(model, each) for each in batch]).sum() / length


def dpo_margins(
    model: GPT2LMHeadModel, frozen: GPT2LMHeadModel, chosen: Sequence[Tokens], rejected: Sequence[Tokens]
) -> torch.Tensor:
    """How much more than the frozen model this one prefers what was chosen (Rafailov et al. 2023, equation 7)."""
    with torch.no_grad():
        before = [
            log_probability(frozen, c) - log_probability(frozen, r) for c, r in zip(chosen, rejected, strict=True)
        ]
    after = [log_probability(model, c) - log_probability(model, r) for c, r in zip(chosen, rejected, strict=True)]
    return BETA * (torch.stack(after) - torch.stack(before))


def train_sft(model: GPT2LMHeadModel, examples: Sequence[Tokens], steps: int) -> tuple[float, float]:
    """The loss over all examples before and after so many steps."""
    before = float(sft_loss(model, examples).detach())
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE)
    for step in range(steps):
        optimiser.zero_grad()
        torch.autograd.backward(sft_loss(model, turn(examples, step)))
        optimiser.step()
    return before, float(sft_loss(model, examples).detach())


def train_dpo(
    model: GPT2LMHeadModel, chosen: Sequence[Tokens], rejected: Sequence[Tokens], steps: int
) -> tuple[float, float]:
    """The mean margin over all pairs before and after so many steps."""
    frozen = copy.deepcopy(model)
    before = float(dpo_margins(model, frozen, chosen, rejected).mean().detach())
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE / 2)
    for step in range(steps):
        optimiser.zero_grad()
        margins = dpo_margins(model, frozen, turn(chosen, step), turn(rejected, step))
        torch.autograd.backward(-logsigmoid(margins).mean())
        optimiser.step()
    return before, float(dpo_margins(model, frozen, chosen, rejected).mean().detach())


def turn(examples: Sequence[Tokens], step: int) -> list[Tokens]:
    """The batch of a step: the examples in turn, again and again."""
    return [examples[(step * BATCH + place) % len(examples)] for place in range(min(BATCH, len(examples)))]


def main() -> None:
    """Entry point; ends with 1 when the loss does not fall or the margin does not grow."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.finetune_smoke", description=__doc__)
    parser.add_argument("--sft", type=Path, help="made by `apprentice export sft`")
    parser.add_argument("--dpo", type=Path, help="made by `apprentice export dpo`")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with TemporaryDirectory(prefix="apprentice-") as scratch:
        sft, dpo = (given.sft, given.dpo) if given.sft and given.dpo else exported(Path(scratch))
        examples, chosen, rejected = read(sft, "completion"), read(dpo, "chosen"), read(dpo, "rejected")
    if not examples or not chosen:
        parser.error("there is nothing to train on: the export is empty")
    model = tiny(given.seed)
    before, after = train_sft(model, examples, given.steps)
    apart, further = train_dpo(model, chosen, rejected, given.steps)
    rows = [
        ("examples, pairs", f"{len(examples)}, {len(chosen)}"),
        ("SFT loss, nats a byte", f"{before:.3f} to {after:.3f}"),
        ("DPO margin", f"{apart:.3f} to {further:.3f}"),
    ]
    show(f"{given.steps} steps of a model with {model.num_parameters():,} weights", rows)
    sys.exit(0 if after < before and further > apart else 1)


def exported(scratch: Path) -> tuple[Path, Path]:
    """Both exports of a memory that is made up."""
    with open_store(f"sqlite:///{scratch / 'memory.db'}") as store:
        repository = made_up(store, datetime(2026, 1, 1, tzinfo=UTC))
        files = {form: scratch / f"{form}.jsonl" for form in (Form.SFT, Form.DPO)}
        for form, path in files.items():
            export(store, form, path, repositories=[repository], clean=redact)
        return files[Form.SFT], files[Form.DPO]


if __name__ == "__main__":
    main()
