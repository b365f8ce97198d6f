"""Payloads of our own making in GitHub's shapes: one sample for each event, and changes laid over it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def payload() -> Callable[..., bytes]:
    """`payload("issues", {"issue": {"body": "…"}})`: the sample, changed there."""

    def build(event: str, changes: dict[str, Any] | None = None) -> bytes:
        sample = json.loads((SAMPLES / f"{event}.json").read_text())
        return json.dumps(laid_over(sample, changes or {})).encode()

    return build


def laid_over(below: object, above: object) -> object:
    if isinstance(below, dict) and isinstance(above, dict):
        return below | {name: laid_over(below.get(name), value) for name, value in above.items()}
    return above
