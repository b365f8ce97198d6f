"""What was stored by an earlier version can still be read."""

from __future__ import annotations

import json

from memory.model import Confidence, Doubt, Proof
from memory.store.database import load

COUNT = {"passed": 1, "failed": 0, "skipped": 0, "collected": 1}


def test_a_proof_without_a_confidence_can_be_read() -> None:
    """Nobody looked for other edits then, so it is asked about and nothing is said of any."""
    stored = {
        "failed_before": ["t"],
        "passed_after": ["t"],
        "before": COUNT,
        "suite": COUNT,
        "repeats": 2,
        "command": "p",
    }
    proof = load(Proof, json.dumps(stored))
    assert (proof.confidence, proof.doubt, proof.plausible) == (Confidence.UNCOMPARED, Doubt.NONE, 1)
    assert proof.telling is None
    assert proof.asked
